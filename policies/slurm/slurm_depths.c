/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_depths.c - bf_max_job_part, bf_max_job_user and their like: how many records of a
 * partition, a user, an association or a user in a partition a cycle of backfill tests.
 *
 * What the records of the rest of the queue will count, if nobody starts, is foreseen as two
 * bounds: a record that one depth refuses counts for none of the others. */
#include "slurm_int.h"

#include <string.h>

struct slurm_depth_count { /* records that were tested in this cycle */
    int64_t tested;
    int64_t at_least, at_most; /* with those that are foreseen */
};

struct slurm_depth_class {
    uint32_t at[SLURM_DEPTHS]; /* of depth->counts */
    uint64_t refused_at;       /* the number of the foresight that refuses it */
};

static int64_t most_of(const struct slurm_conf *conf, int depth)
{
    const int64_t most[SLURM_DEPTHS] = {conf->bf_max_job_part, conf->bf_max_job_user,
                                        conf->bf_max_job_assoc, conf->bf_max_job_user_part};
    return most[depth];
}

void orr_slurm__depths_open(struct slurm *slurm)
{
    struct slurm_depths *depths = &slurm->depths;
    orr_idmap_init(&depths->keys);
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        orr_idmap_init(&depths->of[d].keys);
        depths->of[d].most = most_of(&slurm->conf, d);
        depths->any = depths->any || depths->of[d].most > 0;
    }
}

void orr_slurm__depths_close(struct slurm *slurm)
{
    struct slurm_depths *depths = &slurm->depths;
    orr_idmap_release(&depths->keys);
    orr_free(depths->classes);
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        orr_idmap_release(&depths->of[d].keys);
        orr_free(depths->of[d].counts);
    }
}

uint32_t orr_slurm__depth_class(struct slurm *slurm, uint32_t job, uint32_t partition)
{
    enum { PARTITION, USER, ASSOC };
    static const struct {
        uint32_t first, count; /* of a key */
    } parts[SLURM_DEPTHS] = {{PARTITION, 1}, {USER, 1}, {ASSOC, 1}, {PARTITION, 2}};
    struct slurm_depths *depths = &slurm->depths;
    const uint32_t key[] = {partition, slurm->jobs[job].user, slurm->jobs[job].assoc};
    bool added;
    if (!depths->any) {
        return ORR_NONE;
    }
    const uint32_t class = orr_idmap_put(&depths->keys, (const char *)key, sizeof key, &added);
    depths->classes =
        orr_zgrow(depths->classes, &depths->capacity, class + (size_t)1, sizeof *depths->classes);
    for (int d = 0; d < SLURM_DEPTHS && added; d++) {
        struct slurm_depth *depth = &depths->of[d];
        const uint32_t at = orr_idmap_put(&depth->keys, (const char *)&key[parts[d].first],
                                          parts[d].count * sizeof *key, NULL);
        depth->counts =
            orr_zgrow(depth->counts, &depth->capacity, at + (size_t)1, sizeof *depth->counts);
        depths->classes[class].at[d] = at;
    }
    return class;
}

void orr_slurm__depths_begin(struct slurm *slurm)
{
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        struct slurm_depth *depth = &slurm->depths.of[d];
        if (depth->capacity > 0) {
            memset(depth->counts, 0, depth->capacity * sizeof *depth->counts);
        }
    }
}

/* What a record counts for; NULL: there is no such depth. */
static struct slurm_depth_count *count_of(const struct slurm_depths *depths,
                                          const struct slurm_record *record, int d)
{
    const struct slurm_depth *depth = &depths->of[d];
    return depth->most > 0 ? &depth->counts[depths->classes[record->depth_class].at[d]] : NULL;
}

bool orr_slurm__within_depths(struct slurm *slurm, const struct slurm_record *record)
{
    const struct slurm_depths *depths = &slurm->depths;
    const uint32_t array = slurm->jobs[record->job].array;
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        const struct slurm_depth_count *count = count_of(depths, record, d);
        if (count != NULL && count->tested >= depths->of[d].most) {
            return false;
        }
    }
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        struct slurm_depth_count *count = count_of(depths, record, d);
        if (count != NULL) {
            count->tested++;
        }
    }
    return array == ORR_NONE || slurm->array[array].planned < slurm->conf.bf_max_job_array_resv;
}

/* --- what is foreseen of the rest of the queue --- */

void orr_slurm__depths_foresee(struct slurm *slurm)
{
    slurm->depths.foresight++;
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        for (uint32_t i = 0; i < slurm->depths.of[d].capacity; i++) {
            struct slurm_depth_count *count = &slurm->depths.of[d].counts[i];
            count->at_least = count->at_most = count->tested;
        }
    }
}

bool orr_slurm__depths_refuse(struct slurm *slurm, const struct slurm_record *record)
{
    struct slurm_depths *depths = &slurm->depths;
    if (!depths->any) {
        return false;
    }
    struct slurm_depth_class *class = &depths->classes[record->depth_class];
    for (int d = 0; d < SLURM_DEPTHS && class->refused_at != depths->foresight; d++) {
        const struct slurm_depth_count *count = count_of(depths, record, d);
        if (count != NULL && count->at_least >= depths->of[d].most) {
            class->refused_at = depths->foresight;
        }
    }
    return class->refused_at == depths->foresight;
}

/* Is a plan left for the array of a job, whatever becomes of its records before? Depths count those
 * behind too. */
static bool has_plan_left(struct slurm *slurm, const struct slurm_job *job)
{
    struct slurm_array *array = job->array == ORR_NONE ? NULL : &slurm->array[job->array];
    if (array == NULL) {
        return true;
    }
    if (array->foresight != slurm->depths.foresight) {
        array->foresight = slurm->depths.foresight;
        array->foreseen = array->planned;
    }
    return array->foreseen++ < slurm->conf.bf_max_job_array_resv;
}

bool orr_slurm__depths_expect(struct slurm *slurm, const struct slurm_record *record)
{
    const struct slurm_depths *depths = &slurm->depths;
    bool full[SLURM_DEPTHS]; /* may it be used up before the record? */
    int full_count = 0;
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        const struct slurm_depth_count *count = count_of(depths, record, d);
        full[d] = count != NULL && count->at_most >= depths->of[d].most;
        full_count += full[d];
    }
    for (int d = 0; d < SLURM_DEPTHS; d++) {
        struct slurm_depth_count *count = count_of(depths, record, d);
        if (count != NULL) {
            /* where no other depth refuses the record this one counts it, or is used up already */
            const bool counts = full_count == full[d];
            count->at_least += counts && count->at_least < depths->of[d].most;
            count->at_most++;
        }
    }
    return has_plan_left(slurm, &slurm->jobs[record->job]) && full_count == 0;
}
