/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calibration_note.c - calibrations of a scenario file, kept beside it, the newest last, two lines
 * each: what the scenario was (a hash of its resolved text and its files), and how far it was off.
 * The same file may be calibrated under several policies. */
#include "study_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/base/digest.h>
#include <orrery/traces/pack.h>

enum { NOTES_MOST = 16 };

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

struct note {
    char hash[24], sentence[500];
};

/* The notes of the file; returns how many. A file that is not there, or no such file, has none. */
static uint32_t read_notes(const char *path, struct note notes[NOTES_MOST])
{
    uint32_t count = 0;
    FILE *in = fopen(path, "r");
    while (in != NULL && count < NOTES_MOST &&
           fgets(notes[count].hash, sizeof notes[count].hash, in) != NULL &&
           fgets(notes[count].sentence, sizeof notes[count].sentence, in) != NULL) {
        notes[count].hash[strcspn(notes[count].hash, "\n")] = '\0';
        notes[count].sentence[strcspn(notes[count].sentence, "\n")] = '\0';
        count++;
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    return count;
}

static void hash_text(const struct orr_scenario *scenario, char out[24])
{
    (void)snprintf(out, 24, "%016llx", (unsigned long long)hash_of(scenario));
}

enum orr_status orr_calibration_keep(const struct orr_scenario *scenario, const char *sentence,
                                     struct orr_err *err)
{
    char path[4200], hash[24];
    struct note notes[NOTES_MOST];
    note_path(scenario, path, sizeof path);
    hash_text(scenario, hash);
    const uint32_t count = read_notes(path, notes);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    bool good = true;
    for (uint32_t n = count == NOTES_MOST; n < count; n++) {
        if (strcmp(notes[n].hash, hash) != 0) {
            good = fprintf(out, "%s\n%s\n", notes[n].hash, notes[n].sentence) > 0 && good;
        }
    }
    good = fprintf(out, "%s\n%s\n", hash, sentence) > 0 && good;
    return fclose(out) == 0 && good ? ORR_OK : orr_fail(err, ORR_IO, "%s: cannot be written", path);
}

const char *orr_calibration_recall(const struct orr_scenario *scenario, char *text, size_t bytes)
{
    char path[4200], hash[24];
    struct note notes[NOTES_MOST];
    note_path(scenario, path, sizeof path);
    hash_text(scenario, hash);
    const uint32_t count = read_notes(path, notes);
    uint32_t found = 0;
    while (found < count && strcmp(notes[found].hash, hash) != 0) {
        found++;
    }
    (void)snprintf(text, bytes, "%s%s",
                   count == 0 ? "not calibrated: no run of this base was held against recorded "
                                "starts"
                   : found < count ? "calibrated: "
                                   : "calibrated with another setting, or before the scenario or a "
                                     "file that it reads was changed: ",
                   count == 0 ? "" : notes[found < count ? found : count - 1].sentence);
    return text;
}
