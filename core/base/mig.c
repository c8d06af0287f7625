/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mig.c - names of MIG profiles, as users, traces and Kubernetes write them. */
#include <orrery/base/mig.h>

#include <string.h>

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* What is behind a number that begins with no zero; NULL: there is no such number. */
static const char *behind_number(const char *at)
{
    return at[0] == '0' || strspn(at, DIGITS) == 0 ? NULL : at + strspn(at, DIGITS);
}

/* Is it nothing but words that begin with a letter, each behind a mark? */
static bool are_attributes(const char *at)
{
    while (*at != '\0' && strchr("+-.", *at) != NULL && strspn(at + 1, LETTERS) > 0) {
        at += 1 + strspn(at + 1, LETTERS DIGITS);
    }
    return *at == '\0';
}

uint32_t orr_mig_gpus(const char *profile)
{
    const char *slices = behind_number(profile);
    const char *memory =
        slices != NULL && strncmp(slices, "g.", 2) == 0 ? behind_number(slices + 2) : NULL;
    if (memory == NULL || slices - profile > 3 || strncmp(memory, "gb", 2) != 0 ||
        !are_attributes(memory + 2) || strlen(profile) >= ORR_MIG_NAME_MAX) {
        return 0;
    }
    uint32_t gpus = 0;
    for (const char *digit = profile; digit < slices; digit++) {
        gpus = gpus * 10 + (uint32_t)(*digit - '0');
    }
    return gpus;
}

bool orr_mig_parse(const char *text, char profile[ORR_MIG_NAME_MAX], uint32_t *instances)
{
    const size_t bytes = strcspn(text, "*");
    const char *digit = text + bytes + (text[bytes] == '*');
    *instances = text[bytes] == '*' ? 0 : 1;
    if (bytes >= ORR_MIG_NAME_MAX) {
        return false;
    }
    memcpy(profile, text, bytes);
    profile[bytes] = '\0';
    for (; *digit >= '0' && *digit <= '9' && *instances < 1000; digit++) {
        *instances = *instances * 10 + (uint32_t)(*digit - '0');
    }
    return *digit == '\0' && *instances > 0 && *instances < 1000 && orr_mig_gpus(profile) > 0;
}
