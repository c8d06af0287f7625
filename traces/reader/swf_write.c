/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads as Standard Workload Format: what its 18 numbers can hold. */
#include <inttypes.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/edit.h>
#include <orrery/traces/native.h>

static orr_ms seconds(orr_ms ms)
{
    return ms == ORR_MS_NONE ? -1 : (ms + 500) / 1000;
}

/* "u12" of a log that came from SWF is 12 again. */
static int64_t number_of(const struct orr_idmap *names, uint32_t index, char letter)
{
    int64_t number;
    if (index == ORR_NONE) {
        return -1;
    }
    const char *name = orr_idmap_name(names, index);
    return name[0] == letter && orr_parse_i64(name + 1, strlen(name + 1), &number) && number >= 0
               ? number
               : -2;
}

/* All of them are numbers, or none is taken for one. */
static bool all_numbered(const struct orr_idmap *names, char letter)
{
    for (uint32_t i = 0; i < names->count; i++) {
        if (number_of(names, i, letter) < 0) {
            return false;
        }
    }
    return true;
}

static bool jobs_are_numbers(const struct orr_workload *workload)
{
    for (uint32_t r = 0; r < workload->count; r++) {
        const char *name = orr_idmap_name(&workload->jobs, workload->rows[r].job);
        int64_t number;
        if (!orr_parse_i64(name, strlen(name), &number) || number < 0 || name[0] == '+' ||
            (name[0] == '0' && name[1] != '\0')) {
            return false;
        }
    }
    return true;
}

static int status_of(const char *state)
{
    static const struct {
        const char *word;
        int status;
    } words[] = {{"completed", 1}, {"COMPLETED", 1}, {"failed", 0},
                 {"FAILED", 0},    {"cancelled", 5}, {"CANCELLED", 5},
                 {"NODE_FAIL", 0}, {"TIMEOUT", 0},   {"partial", 2}};
    for (size_t i = 0; state != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(state, words[i].word) == 0) {
            return words[i].status;
        }
    }
    return -1;
}

static bool is_word(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] ==
           '\0';
}

static void write_header(const struct orr_workload *workload, bool queues_numbered, FILE *out)
{
    (void)fprintf(out, "; Version: 2.2\n; MaxJobs: %u\n; MaxRecords: %u\n",
                  (unsigned)workload->count, (unsigned)workload->count);
    if (workload->clock_origin_ms != ORR_MS_NONE) {
        (void)fprintf(out, "; UnixStartTime: %" PRId64 "\n", workload->clock_origin_ms / 1000);
    }
    for (uint32_t q = 0; !queues_numbered && q < workload->queues.count; q++) {
        (void)fprintf(out, "; Queue: %u %s\n", (unsigned)q + 1,
                      orr_idmap_name(&workload->queues, q));
    }
}

struct lost {
    uint64_t fractions, instances, none, pods, milliseconds, after;
};

struct numbers {
    int64_t *of;        /* per job: of its row, once that is written; -1 */
    bool queues, users; /* names are numbers, and keep them */
};

/* The job that a row waits for; -1: none, or one that is no line before. */
static int64_t preceding_of(const struct orr_workload *workload, const struct orr_row *row,
                            const struct orr_row_extra *extra, const struct numbers *numbers,
                            struct lost *lost)
{
    if (extra == NULL || extra->after == NULL) {
        return -1;
    }
    const uint32_t job = orr_idmap_find(&workload->jobs, extra->after, strlen(extra->after));
    const int64_t number = job == ORR_NONE ? -1 : numbers->of[job];
    const bool fits = number > 0 && job != row->job; /* it was written already */
    lost->after += !fits;
    return fits ? number : -1;
}

static void write_job(const struct orr_workload *workload, uint32_t r, int64_t number,
                      const struct numbers *numbers, struct lost *lost, FILE *out)
{
    const struct orr_row *row = &workload->rows[r];
    const struct orr_row_extra *extra = row->extra != 0 ? &workload->extras[row->extra - 1] : NULL;
    struct orr_job_fact fact;
    orr_workload_fact(workload, row, &fact);
    const int64_t gpus = (fact.mgpu + ORR_MGPU - 1) / ORR_MGPU;
    lost->fractions += fact.mgpu % ORR_MGPU != 0;
    lost->instances += fact.of_instances;
    lost->none += gpus == 0;
    lost->pods += row->gpus == 0 && fact.pods > 1;
    lost->milliseconds +=
        fact.submit_ms % 1000 != 0 || (fact.run_ms != ORR_MS_NONE && fact.run_ms % 1000 != 0);
    const orr_ms wait = fact.start_ms == ORR_MS_NONE ? -1 : seconds(fact.start_ms - fact.submit_ms);
    const int64_t user = row->user == ORR_NONE ? -1
                         : numbers->users      ? number_of(&workload->users, row->user, 'u')
                                               : row->user + (int64_t)1;
    const int64_t queue = row->queue == ORR_NONE ? -1
                          : numbers->queues      ? number_of(&workload->queues, row->queue, 'q')
                                                 : row->queue + (int64_t)1;
    const int64_t before = preceding_of(workload, row, extra, numbers, lost);
    const orr_ms think = before < 0 || extra->think_ms == ORR_MS_NONE ? -1000 : extra->think_ms;
    numbers->of[row->job] = number;
    (void)fprintf(out,
                  "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " -1 -1 %" PRId64
                  " %" PRId64 " -1 %d %" PRId64 " -1 -1 %" PRId64 " -1 %" PRId64 " %" PRId64 "\n",
                  number, seconds(fact.submit_ms), wait, seconds(fact.run_ms), gpus > 0 ? gpus : -1,
                  gpus > 0 ? gpus : -1, seconds(fact.limit_ms),
                  status_of(extra != NULL ? extra->recorded_state : NULL), user, queue, before,
                  think / 1000);
}

void orr_trace_write_swf(struct orr_workload *workload, FILE *out)
{
    const struct numbers numbers = {
        .of = orr_alloc(workload->jobs.count + (size_t)1, sizeof(int64_t)),
        .queues = all_numbered(&workload->queues, 'q'),
        .users = all_numbered(&workload->users, 'u')};
    const bool jobs_numbered = jobs_are_numbers(workload);
    struct lost lost = {0};
    memset(numbers.of, 0xff, (workload->jobs.count + (size_t)1) * sizeof *numbers.of);
    write_header(workload, numbers.queues, out);
    for (uint32_t r = 0; r < workload->count; r++) {
        const char *name = orr_idmap_name(&workload->jobs, workload->rows[r].job);
        int64_t number = r + (int64_t)1;
        if (jobs_numbered) {
            (void)orr_parse_i64(name, strlen(name), &number);
        }
        write_job(workload, r, number, &numbers, &lost, out);
    }
    orr_free(numbers.of);
    const char *file = "swf";
    if (!jobs_numbered && workload->count > 0) {
        orr_workload_note(workload, file, "jobs lose their names: they are numbers from 1 on");
    }
    if (!numbers.users && workload->users.count > 0) {
        orr_workload_note(workload, file, "users lose their names: they are numbers from 1 on");
    }
    for (uint32_t q = 0; !numbers.queues && q < workload->queues.count; q++) {
        if (!is_word(orr_idmap_name(&workload->queues, q))) {
            orr_workload_note(workload, file,
                              "names of queues that are no words are not read back");
            break;
        }
    }
    if (lost.fractions > 0) {
        orr_workload_note(workload, file, "jobs with parts of GPUs have whole ones: %llu",
                          (unsigned long long)lost.fractions);
    }
    if (lost.instances > 0) {
        orr_workload_note(workload, file,
                          "jobs of MIG instances have as many whole GPUs as these count: %llu",
                          (unsigned long long)lost.instances);
    }
    if (lost.pods > 0) {
        orr_workload_note(workload, file, "jobs of several pods are a total of GPUs: %llu",
                          (unsigned long long)lost.pods);
    }
    if (lost.none > 0) {
        orr_workload_note(workload, file, "jobs without GPUs have no processors: %llu",
                          (unsigned long long)lost.none);
    }
    if (lost.after > 0) {
        orr_workload_note(workload, file,
                          "jobs that wait for several, or for later ones, wait for none: %llu",
                          (unsigned long long)lost.after);
    }
    if (lost.milliseconds > 0) {
        orr_workload_note(workload, file, "times are rounded to seconds: of %llu job%s",
                          (unsigned long long)lost.milliseconds, ORR_PLURAL(lost.milliseconds));
    }
}
