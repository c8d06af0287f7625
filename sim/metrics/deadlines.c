/* SPDX-License-Identifier: GPL-3.0-or-later */
/* deadlines.c - jobs that are to be done by a time: met or missed, and how late. */
#include <math.h>

#include "summary_int.h"

struct counted { /* of one part of the workload, or of all */
    struct orr_deadlines *out;
    int64_t *late; /* keys of a tally */
    uint32_t count, capacity;
    double tardy_s;
};

/* One job: what is not done yet will be later than the run has seen. */
static void count_job(struct counted *c, const struct orr_run *run, uint32_t job, orr_ms deadline)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    const bool done = state->phase == ORR_JOB_FINISHED;
    const bool left = state->phase == ORR_JOB_WITHDRAWN;
    const orr_ms late = (done ? state->end_ms : run->end_ms) - deadline;
    const bool never = orr_summary__is_never(run, job); /* whatever time is left */
    if (!never) {
        c->late = ORR_ROOM_FOR_ONE(c->late, c->count, c->capacity);
        c->late[c->count++] = orr_tally__key(late, !done);
    }
    c->out->met += done && late <= 0;
    c->out->missed += left || never || late > 0;
    c->out->open += !done && !left && !never && late <= 0;
    c->tardy_s += done && late > 0 ? (double)late / 1000.0 : 0.0;
}

static void fill_in(struct counted *c)
{
    const uint64_t decided = c->out->met + c->out->missed;
    c->out->met_share = decided > 0 ? (double)c->out->met / (double)decided : (double)NAN;
    c->out->lateness = orr_tally__of_keys(c->late, c->count);
    c->out->tardiness_mean_s =
        c->out->lateness.started > 0 ? c->tardy_s / (double)c->out->lateness.started : (double)NAN;
    orr_free(c->late);
}

void orr_summary__deadlines(const struct orr_world *world, const struct orr_run *run,
                            struct orr_summary *summary)
{
    struct counted all = {.out = &summary->deadlines};
    struct counted *parts = orr_zalloc(world->part_count + (size_t)1, sizeof *parts);
    for (uint32_t p = 0; p < world->part_count; p++) {
        parts[p].out = &summary->parts[p].deadlines;
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const orr_ms deadline = orr_world_deadline_ms(world, j);
        if (deadline != ORR_MS_NONE && orr_summary__in_window(world, run, summary, j)) {
            count_job(&all, run, j, deadline);
            count_job(&parts[orr_world_part_of(world, j)], run, j, deadline);
        }
    }
    fill_in(&all);
    for (uint32_t p = 0; p < world->part_count; p++) {
        fill_in(&parts[p]);
    }
    orr_free(parts);
}
