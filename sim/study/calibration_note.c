/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calibration_note.c - the last calibration of a scenario file, kept beside it in two lines: what
 * the scenario was (a hash of its resolved text and its files), and how far it was off. */
#include "study_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/base/digest.h>
#include <orrery/traces/pack.h>

static void note_path(const struct orr_scenario *scenario, char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s%s%s.calibration", scenario->folder,
                   scenario->folder[0] == '\0' ? "" : "/", scenario->name);
}

/* A file that cannot be read is another one than it was. */
static enum orr_status add_file(const char *path, void *context)
{
    uint64_t *hash = context;
    char sum[ORR_SHA256_TEXT] = "";
    struct orr_err ignored = {0};
    if (path != NULL && orr_file_sha256(path, sum, &ignored) != ORR_OK) {
        sum[0] = '\0';
    }
    *hash = orr_hash_bytes(sum, strlen(sum)) ^ *hash * 31;
    return ORR_OK;
}

/* Of the scenario and the files that it reads. Seeds do not matter to what a calibration says. */
static uint64_t hash_of(const struct orr_scenario *scenario)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    const char *setting = orr_setting_of(&arena, scenario->resolved_yaml);
    uint64_t hash = orr_hash_bytes(setting, strlen(setting));
    orr_arena_release(&arena);
    (void)orr_study__each_file(scenario, add_file, &hash);
    return hash;
}

enum orr_status orr_calibration_keep(const struct orr_scenario *scenario, const char *sentence,
                                     struct orr_err *err)
{
    char path[4200];
    note_path(scenario, path, sizeof path);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    const bool good =
        fprintf(out, "%016llx\n%s\n", (unsigned long long)hash_of(scenario), sentence) > 0;
    return fclose(out) == 0 && good ? ORR_OK : orr_fail(err, ORR_IO, "%s: cannot be written", path);
}

const char *orr_calibration_recall(const struct orr_scenario *scenario, char *text, size_t bytes)
{
    char path[4200], hash[40] = "", wanted[40], sentence[500] = "";
    note_path(scenario, path, sizeof path);
    (void)snprintf(wanted, sizeof wanted, "%016llx\n", (unsigned long long)hash_of(scenario));
    FILE *in = fopen(path, "r");
    const bool read = in != NULL && fgets(hash, sizeof hash, in) != NULL &&
                      fgets(sentence, sizeof sentence, in) != NULL;
    if (in != NULL) {
        (void)fclose(in);
    }
    sentence[strcspn(sentence, "\n")] = '\0';
    (void)snprintf(text, bytes, "%s%s",
                   !read ? "not calibrated: no run of this base was held "
                           "against recorded starts"
                   : strcmp(hash, wanted) == 0
                       ? "calibrated: "
                       : "calibrated before the scenario or a file that it reads was changed: ",
                   read ? sentence : "");
    return text;
}
