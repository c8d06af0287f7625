/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rejects.c - rows that are not taken: counted by reason, the first few kept with their places. */
#include <orrery/traces/workload.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

enum { SHOWN_MAX = 10 };

/* Behind the name that a sentence about a job begins with: job a asks ..., job a: ... */
static const char *behind_job(const char *sentence)
{
    if (strncmp(sentence, "job ", 4) != 0) {
        return sentence;
    }
    const char *asks = strstr(sentence, " asks "), *says = strstr(sentence, ": ");
    const char *end = asks == NULL || (says != NULL && says < asks) ? says : asks;
    return end == NULL ? sentence : end + (end == says ? 2 : 1);
}

/* A sentence without what differs from row to row: the job, what it quotes, numbers. Digits behind
 * a letter are part of a name, as in gpu.product=A100. */
static void reason_of(const char *sentence, char *reason, size_t bytes)
{
    size_t used = 0;
    for (sentence = behind_job(sentence); *sentence != '\0' && used + 1 < bytes;) {
        const char *quoted = *sentence == '"' ? strrchr(sentence + 1, '"') : NULL;
        const bool in_name = used > 0 && isalnum((unsigned char)reason[used - 1]);
        const size_t digits = in_name ? 0 : strspn(sentence, "0123456789");
        if (quoted != NULL) { /* column run_s: "x" is no number */
            sentence = quoted + 1 + (quoted[1] == ' ' && used > 0 && reason[used - 1] == ' ');
            if (used > 2 && reason[used - 2] == ':') {
                reason[--used - 1] = ' ';
            }
        } else if (digits > 0) {
            reason[used++] = 'N';
            sentence += digits;
        } else {
            reason[used++] = *sentence++;
        }
    }
    reason[used] = '\0';
}

static void count(struct orr_rejects *rejects, uint32_t line, const char *sentence)
{
    char reason[sizeof rejects->groups[0].reason];
    uint32_t g = 0;
    reason_of(sentence, reason, sizeof reason);
    while (g < rejects->group_count && strcmp(rejects->groups[g].reason, reason) != 0) {
        g++;
    }
    if (g == ORR_REJECT_GROUPS) { /* the last one is of all that are left */
        g--;
        (void)snprintf(rejects->groups[g].reason, sizeof rejects->groups[g].reason,
                       "other reasons");
    }
    if (g == rejects->group_count) {
        if (g == 0) {
            rejects->groups = orr_zalloc(ORR_REJECT_GROUPS, sizeof *rejects->groups);
        }
        struct orr_reject_group *group = &rejects->groups[rejects->group_count++];
        group->line = line;
        memcpy(group->reason, reason, sizeof reason);
        (void)snprintf(group->first, sizeof group->first, "%.*s", (int)sizeof group->first - 1,
                       sentence);
    }
    rejects->groups[g].rows++;
}

void orr_workload_reject(struct orr_workload *workload, const char *file, uint32_t line,
                         const char *format, ...)
{
    struct orr_rejects *rejects = &workload->rejects;
    char sentence[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    rejects->count++;
    count(rejects, line, sentence);
    if (rejects->shown_count < SHOWN_MAX) {
        const size_t have = strlen(rejects->shown);
        const size_t more = strlen(file) + strlen(sentence) + sizeof ":4294967295: \n";
        rejects->shown_count++;
        rejects->shown = orr_realloc(rejects->shown, have + more, 1);
        (void)snprintf(rejects->shown + have, more, "%s:%u: %s\n", file, (unsigned)line, sentence);
    }
}

char *orr_rejects_text(const struct orr_workload *workload)
{
    const struct orr_rejects *rejects = &workload->rejects;
    const bool more = rejects->count > rejects->shown_count;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    if (rejects->count > 0) {
        (void)fprintf(out, "%llu of %llu row%s rejected%s\n%s", (unsigned long long)rejects->count,
                      (unsigned long long)workload->rows_read, ORR_PLURAL(workload->rows_read),
                      more ? "; the first:" : ":", rejects->shown);
    }
    for (uint32_t g = 0; more && g < rejects->group_count; g++) {
        const struct orr_reject_group *group = &rejects->groups[g];
        (void)fprintf(out, "in all %llu row%s: %s (first in line %u)\n",
                      (unsigned long long)group->rows, ORR_PLURAL(group->rows), group->reason,
                      (unsigned)group->line);
    }
    (void)fclose(out);
    return text;
}
