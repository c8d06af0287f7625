/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_licenses.c - licenses of the cluster: those that slurm.conf counts, and what jobs ask and
 * hold of them.
 *
 * A job holds its licenses from its start to its end, also while it is suspended. One that lacks
 * some waits and blocks nobody; nobody is evicted for licenses, and backfill plans none. */
#include <string.h>

#include <orrery/base/text.h>

#include "slurm_conf_int.h"

/* "matlab:4" or "matlab", which is one of it. False: it is neither. */
static bool next_license(struct slurm_span *list, struct slurm_span *name, int64_t *count,
                         bool *makes_sense)
{
    while (list->bytes > 0 && (*list->at == ',' || *list->at == ';')) {
        list->at++;
        list->bytes--;
    }
    size_t bytes = 0;
    while (bytes < list->bytes && list->at[bytes] != ',' && list->at[bytes] != ';') {
        bytes++;
    }
    const char *colon = bytes == 0 ? NULL : memchr(list->at, ':', bytes);
    *name = (struct slurm_span){list->at, colon == NULL ? bytes : (size_t)(colon - list->at)};
    *count = 1;
    *makes_sense = name->bytes > 0 &&
                   (colon == NULL || (orr_parse_i64(colon + 1, bytes - name->bytes - 1, count) &&
                                      *count >= 0 && *count <= INT32_MAX));
    list->at += bytes;
    list->bytes -= bytes;
    return bytes > 0;
}

static uint32_t find(const struct slurm_conf *conf, struct slurm_span name)
{
    uint32_t l = 0;
    while (l < conf->license_count && (strlen(conf->licenses[l].name) != name.bytes ||
                                       memcmp(conf->licenses[l].name, name.at, name.bytes) != 0)) {
        l++;
    }
    return l;
}

enum orr_status orr_slurm__read_licenses(const struct slurm_reader *reader, struct slurm_span list)
{
    struct slurm_conf *conf = reader->conf;
    struct slurm_span name;
    int64_t count;
    bool makes_sense;
    conf->license_count = 0;
    while (next_license(&list, &name, &count, &makes_sense)) {
        if (!makes_sense) {
            return orr_slurm__complain(reader, name, "is no license: NAME or NAME:COUNT");
        }
        const uint32_t l = find(conf, name);
        if (l == conf->license_count) {
            conf->licenses =
                ORR_ROOM_FOR_ONE(conf->licenses, conf->license_count, conf->license_capacity);
            conf->licenses[conf->license_count++] =
                (struct slurm_license){orr_arena_strndup(&conf->arena, name.at, name.bytes), 0};
        }
        conf->licenses[l].total += count;
    }
    return ORR_OK;
}

/* --- of jobs --- */

bool orr_slurm__ask_licenses(struct slurm *slurm, const char *text, size_t bytes, uint32_t *asked)
{
    const struct slurm_conf *conf = &slurm->conf;
    struct slurm_licenses *licenses = &slurm->licenses;
    struct slurm_span list = {text, bytes}, name;
    int64_t count, *counts = orr_zalloc(conf->license_count, sizeof *counts);
    bool valid = true, makes_sense;
    while (valid && next_license(&list, &name, &count, &makes_sense)) {
        const uint32_t l = find(conf, name);
        valid =
            makes_sense && l < conf->license_count && counts[l] + count <= conf->licenses[l].total;
        if (valid) {
            counts[l] += count;
        }
    }
    if (valid) {
        *asked = orr_idmap_put(&licenses->keys, (const char *)counts,
                               conf->license_count * sizeof *counts, NULL);
        licenses->asked =
            orr_zgrow(licenses->asked, &licenses->capacity,
                      (*asked + (size_t)1) * conf->license_count, sizeof *licenses->asked);
        memcpy(&licenses->asked[*asked * (size_t)conf->license_count], counts,
               conf->license_count * sizeof *counts);
    }
    orr_free(counts);
    return valid;
}

static const int64_t *asked_by(const struct slurm *slurm, uint32_t job)
{
    const uint32_t asked = slurm->jobs[job].licenses;
    return asked == ORR_NONE ? NULL
                             : &slurm->licenses.asked[asked * (size_t)slurm->conf.license_count];
}

bool orr_slurm__lacks_licenses(const struct slurm *slurm, uint32_t job)
{
    const int64_t *asked = asked_by(slurm, job);
    bool lacks = false;
    for (uint32_t l = 0; asked != NULL && l < slurm->conf.license_count && !lacks; l++) {
        lacks = asked[l] > 0 && slurm->licenses.used[l] + asked[l] > slurm->conf.licenses[l].total;
    }
    return lacks && slurm->jobs[job].state != SLURM_RUNS;
}

void orr_slurm__count_licenses(struct slurm *slurm, uint32_t job, bool in)
{
    const int64_t *asked = asked_by(slurm, job);
    for (uint32_t l = 0; asked != NULL && l < slurm->conf.license_count; l++) {
        slurm->licenses.used[l] += in ? asked[l] : -asked[l];
    }
}

/* --- open and close --- */

void orr_slurm__licenses_open(struct slurm *slurm)
{
    orr_idmap_init(&slurm->licenses.keys);
    slurm->licenses.used =
        orr_zalloc(slurm->conf.license_count + (size_t)1, sizeof *slurm->licenses.used);
}

void orr_slurm__licenses_close(struct slurm *slurm)
{
    orr_idmap_release(&slurm->licenses.keys);
    orr_free(slurm->licenses.asked);
    orr_free(slurm->licenses.used);
}
