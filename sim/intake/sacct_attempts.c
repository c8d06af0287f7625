/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sacct_attempts.c - attempts of jobs that Slurm requeued: rows of one id become one job, whose
 * last attempt says how long it runs. */
#include "sacct_attempts.h"

#include <stdio.h>

void sacct_attempts_add(struct sacct_attempts *attempts, struct sacct_job *job,
                        const struct sacct_job *from, uint32_t state)
{
    attempts->list = ORR_ROOM_FOR_ONE(attempts->list, attempts->count, attempts->capacity);
    attempts->list[attempts->count++] = (struct sacct_attempt){.start_ms = from->start_ms,
                                                               .end_ms = from->end_ms,
                                                               .run_ms = from->run_ms,
                                                               .state = state,
                                                               .before = job->attempt};
    job->attempt = attempts->count;
    job->attempts = job->attempts < UINT16_MAX ? (uint16_t)(job->attempts + 1) : UINT16_MAX;
}

bool sacct_attempts_have(const struct sacct_attempts *attempts, const struct sacct_job *job,
                         const struct sacct_job *more, uint32_t state)
{
    bool found = false;
    for (uint32_t a = job->attempt; a > 0 && !found; a = attempts->list[a - 1].before) {
        const struct sacct_attempt *attempt = &attempts->list[a - 1];
        found = attempt->start_ms == more->start_ms && attempt->end_ms == more->end_ms &&
                attempt->run_ms == more->run_ms && attempt->state == state &&
                attempt->start_ms != ORR_MS_NONE;
    }
    return found;
}

static double gpu_h(const struct sacct_job *job)
{
    return (double)job->gpus * (double)job->run_ms / 3.6e6;
}

void sacct_attempts_join(struct sacct_attempts *attempts, struct sacct_job *job,
                         const struct sacct_job *more, uint32_t state)
{
    const bool later = more->start_ms == ORR_MS_NONE || job->start_ms == ORR_MS_NONE
                           ? more->submit_ms >= job->submit_ms
                           : more->start_ms >= job->start_ms;
    const struct sacct_job had = *job;
    sacct_attempts_add(attempts, job, more, state);
    job->earlier_gpu_h += later ? gpu_h(&had) : gpu_h(more);
    if (later) {
        job->run_ms = more->run_ms;
        job->end_ms = more->end_ms;
        job->gpus = more->gpus;
        job->cpus = more->cpus;
        job->nodes = more->nodes;
        job->limit_ms = more->limit_ms;
        job->unlimited = more->unlimited;
        job->state = state;
    }
    if (more->submit_ms < job->submit_ms) {
        job->submit_ms = more->submit_ms;
        job->eligible_ms = more->eligible_ms;
    }
    if (more->start_ms != ORR_MS_NONE &&
        (job->start_ms == ORR_MS_NONE || more->start_ms < job->start_ms)) {
        job->start_ms = more->start_ms;
    }
}

bool sacct_attempts_words(const struct sacct_attempts *attempts, const struct orr_idmap *names,
                          const struct sacct_job *job, char *text, size_t bytes)
{
    enum { LIST_MAX = 64, LONGEST = 64 }; /* of a text: blank, seconds, colon and state */
    const struct sacct_attempt *list[LIST_MAX];
    const size_t most = bytes / LONGEST < LIST_MAX ? bytes / LONGEST : LIST_MAX;
    uint32_t count = 0, a = job->attempt;
    for (; a > 0 && count < most; a = attempts->list[a - 1].before) {
        list[count++] = &attempts->list[a - 1];
    }
    size_t used = 0;
    text[0] = '\0';
    while (count > 0) {
        const struct sacct_attempt *attempt = list[--count];
        const char *state =
            attempt->state == ORR_NONE ? "?" : orr_idmap_name(names, attempt->state);
        used += (size_t)snprintf(text + used, bytes - used, "%s%lld:", used > 0 ? " " : "",
                                 (long long)(attempt->run_ms / 1000));
        for (int i = 0; i < 40 && state[i] != '\0'; i++) { /* states are words: no quotes here */
            const bool letter = (state[i] >= 'A' && state[i] <= 'Z') ||
                                (state[i] >= 'a' && state[i] <= 'z') || state[i] == '_';
            text[used++] = letter ? state[i] : '?';
        }
        text[used] = '\0';
    }
    return a == 0;
}

bool sacct_attempts_spans(const struct sacct_attempts *attempts, const struct sacct_job *job,
                          char text[ORR_NAME_MAX + 1])
{
    struct intake_span *spans = orr_alloc(job->attempts, sizeof *spans);
    uint32_t count = 0;
    for (uint32_t a = job->attempt; a > 0 && count < job->attempts;
         a = attempts->list[a - 1].before) {
        const struct sacct_attempt *attempt = &attempts->list[a - 1];
        if (attempt->start_ms != ORR_MS_NONE) {
            const orr_ms end_ms = attempt->end_ms != ORR_MS_NONE
                                      ? attempt->end_ms
                                      : attempt->start_ms + attempt->run_ms;
            spans[count++] = (struct intake_span){attempt->start_ms, end_ms};
        }
    }
    const bool fits = intake_attempts(spans, count, job->start_ms, text);
    orr_free(spans);
    return fits;
}
