/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_trace.c - the rows of a trace. */
#include "draw.h"

#include <string.h>

/* Columns a trace may have; `shape` and those after it only where no template or total stands. */
enum column {
    JOB,
    SUBMIT,
    RUN,
    TEMPLATE,
    GPUS,
    PODS,
    MIN_PODS,
    GPUS_PER_POD,
    GPU_FRACTION,
    GPU_MEMORY,
    GPU_DEVICES,
    MIG,
    CPU,
    MEM,
    QUEUE,
    USER,
    GROUP,
    KIND,
    PRIORITY,
    PREEMPTIBLE,
    MODEL,
    SELECTOR,
    TOLERATIONS,
    REQUIRED,
    PREFERRED,
    LIMIT,
    DEADLINE,
    AFTER,
    THINK,
    ELIGIBLE,
    GIVE_UP,
    DELAY,
    GRACE,
    PROFILE,
    CHECKPOINT,
    RESTART,
    BUSY,
    BEGAN,
    ENDED,
    STATE,
    KNOWN,
    SBATCH,
    NOTE,
    COLUMNS
};

static const char *const names[COLUMNS] = {
    [JOB] = "job",
    [SUBMIT] = "submit_s",
    [RUN] = "run_s",
    [TEMPLATE] = "template",
    [GPUS] = "gpus",
    [PODS] = "pods",
    [MIN_PODS] = "min_pods",
    [GPUS_PER_POD] = "gpus_per_pod",
    [GPU_FRACTION] = "gpu_fraction",
    [GPU_MEMORY] = "gpu_memory_mib",
    [GPU_DEVICES] = "gpu_devices",
    [MIG] = "mig_profile",
    [CPU] = "cpu_milli",
    [MEM] = "mem_mib",
    [QUEUE] = "queue",
    [USER] = "user",
    [GROUP] = "group",
    [KIND] = "kind",
    [PRIORITY] = "priority",
    [PREEMPTIBLE] = "preemptible",
    [MODEL] = "gpu_model",
    [SELECTOR] = "node_selector",
    [TOLERATIONS] = "tolerations",
    [REQUIRED] = "topology_required",
    [PREFERRED] = "topology_preferred",
    [LIMIT] = "time_limit_s",
    [DEADLINE] = "deadline_s",
    [AFTER] = "after",
    [ELIGIBLE] = "eligible_s",
    [THINK] = "think_s",
    [GIVE_UP] = "give_up_s",
    [DELAY] = "preemption_delay_s",
    [GRACE] = "staleness_grace_s",
    [PROFILE] = "profile",
    [CHECKPOINT] = "checkpoint_s",
    [RESTART] = "restart_s",
    [BUSY] = "busy",
    [BEGAN] = "recorded_start_s",
    [ENDED] = "recorded_end_s",
    [KNOWN] = "run_known",
    [STATE] = "recorded_state",
    [SBATCH] = "sbatch",
    [NOTE] = "x_note",
};

struct row {
    char cell[COLUMNS][2 * NAME_BYTES];
};

static void set(struct row *row, enum column column, const char *text)
{
    (void)snprintf(row->cell[column], sizeof row->cell[column], "%s", text);
}

static void set_number(struct row *row, enum column column, double value)
{
    (void)snprintf(row->cell[column], sizeof row->cell[column], "%.12g", value);
}

static void name_job(struct draw *d, struct row *row, uint32_t j)
{
    static const char *const odd[] = {"j%u,x", "j\"%u\"", "job %u", "%u", "j%u;", "\303\251%u"};
    const bool plain = !has(d, "odd-names", 15) || one_in(d, 2);
    char name[NAME_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(name, sizeof name, plain ? "j%u" : odd[below(d, sizeof odd / sizeof odd[0])], j);
#pragma GCC diagnostic pop
    set(row, JOB, name);
}

static void set_share(struct draw *d, struct row *row)
{
    if (one_in(d, 2)) {
        static const char *const parts[] = {"0.5", "0.25", "0.1", "0.9", "1", "0.333", NULL};
        set(row, GPU_FRACTION, any(d, parts));
    } else {
        set_number(row, GPU_MEMORY, 1024.0 * between(d, 1, 60));
    }
    if (one_in(d, 5)) {
        set_number(row, GPU_DEVICES, between(d, 1, 2));
    }
}

static void set_shape(struct draw *d, struct row *row)
{
    const uint32_t pods = one_in(d, 2) ? 1 : between(d, 1, one_in(d, 4) ? 7 : 3);
    set_number(row, PODS, pods);
    if (has(d, "elastic", 40) && one_in(d, 2)) {
        set_number(row, MIN_PODS, between(d, 1, pods));
    }
    if (d->mig && one_in(d, 3)) {
        set(row, MIG, mig_profile(d));
    } else if (has(d, "shares", 35) && one_in(d, 2)) {
        set_share(d, row);
    } else {
        set_number(row, GPUS_PER_POD,
                   one_in(d, d->suspends ? 2 : 12)
                       ? 0
                       : between(d, 1, one_in(d, 3) ? d->gpus_most + 1 : 2));
    }
    const bool states = has(d, "cpu", 35) && one_in(d, 2);
    if (states || d->suspends) {
        set_number(row, CPU, 500.0 * below(d, 9));
        set_number(row, MEM, one_in(d, 2) ? 0.0 : 1024.0 * below(d, 30));
    }
}

/* What a row asks: a template, a total, or pods. */
static void set_ask(struct draw *d, struct row *row, bool totals)
{
    if (d->template_count > 0 && one_in(d, 2)) {
        const struct draw_template *template = &d->templates[below(d, d->template_count)];
        set(row, TEMPLATE, template->name);
        if (template->crew || (template->run && one_in(d, 2))) {
            row->cell[RUN][0] = '\0';
        }
        if (!template->roles && one_in(d, 4)) {
            set_number(row, PODS, between(d, 4, 5));
        }
    } else if (totals) {
        set_number(row, GPUS, between(d, 1, one_in(d, 3) ? 2 * d->gpus_most : 2));
    } else {
        set_shape(d, row);
    }
}

static void set_owner(struct draw *d, struct row *row)
{
    static const char *const kinds[] = {"training", "interactive", "inference", "unknown", NULL};
    static const char *const priorities[] = {"train", "build", "inference", "build-preemptible",
                                             "60",    "99",    "100",       NULL};
    if (d->queue_count > 0 && !one_in(d, 6)) {
        uint32_t q = below(d, d->queue_count);
        while (!d->queues[q].leaf && !one_in(d, 30)) {
            q = (q + 1) % d->queue_count;
        }
        set(row, QUEUE, d->queues[q].name);
    } else if (d->queue_count == 0 && one_in(d, 2)) {
        set(row, QUEUE, one_in(d, 2) ? "a" : "b");
    }
    if (one_in(d, 2)) {
        (void)snprintf(row->cell[USER], sizeof row->cell[USER], "u%u", below(d, 4));
    }
    if (has(d, "groups", 20) && one_in(d, 2)) {
        (void)snprintf(row->cell[GROUP], sizeof row->cell[GROUP], "g%u", below(d, 4));
    }
    if (one_in(d, 2)) {
        set(row, KIND, any(d, kinds));
    }
    if (has(d, "priorities", 40) && one_in(d, 2)) {
        set(row, PRIORITY, any(d, priorities));
    }
    if (has(d, "priorities", 40) && one_in(d, 4)) {
        set(row, PREEMPTIBLE, one_in(d, 2) ? "true" : "false");
        set(row, KNOWN, one_in(d, 2) ? "true" : "false");
    }
}

static const char *level(struct draw *d)
{
    return d->blocks && one_in(d, 3)  ? "block"
           : d->racks && one_in(d, 2) ? "rack"
           : d->zones && one_in(d, 3) ? "zone"
                                      : "node";
}

static void set_constraints(struct draw *d, struct row *row)
{
    static const char *const selectors[] = {"team=red", "team=red|blue", "team=green",
                                            "pool=p0",  "pool=p0|p1",    NULL};
    static const char *const tolerations[] = {"team=red:NoSchedule", "*", "slow;gone", "team",
                                              NULL};
    static const char *const models[] = {"H100", "A100|H100", "T4", NULL};
    if (has(d, "models", 15) && one_in(d, 4)) {
        set(row, MODEL, any(d, models));
    }
    if (has(d, "labels", 25) && one_in(d, 3)) {
        set(row, SELECTOR, any(d, selectors));
    }
    if (has(d, "taints", 20) && one_in(d, 2)) {
        set(row, TOLERATIONS, any(d, tolerations));
    }
    if (has(d, "levels", 30) && one_in(d, 3)) {
        const enum column column = one_in(d, 2) ? REQUIRED : PREFERRED;
        set(row, column, level(d));
    }
}

static void set_times(struct draw *d, struct row *row, uint32_t j)
{
    if (has(d, "limits", 25) && one_in(d, 2)) {
        set_number(row, LIMIT, 1.0 + length_s(d, d->span_s / 2.0));
    }
    if (has(d, "deadlines", 20) && one_in(d, 2)) {
        set_number(row, DEADLINE, instant_s(d));
    }
    if (has(d, "holds", 25) && one_in(d, 4)) {
        set_number(row, ELIGIBLE, instant_s(d));
    }
    if (has(d, "holds", 25) && j > 0 && one_in(d, 4)) {
        const uint32_t first = below(d, j);
        const char *between_them = one_in(d, 2) ? ";" : " ";
        const uint32_t second = one_in(d, 12) ? j + 1 : below(d, j);
        (void)snprintf(row->cell[AFTER], sizeof row->cell[AFTER], "j%u%sj%u", first, between_them,
                       second);
        if (one_in(d, 3)) {
            set_number(row, THINK, length_s(d, d->span_s / 8.0));
        }
    }
    if (has(d, "give-up", 25) && one_in(d, 4)) {
        set_number(row, GIVE_UP, 1.0 + length_s(d, d->span_s / 4.0));
    }
    if (has(d, "job-periods", 20) && one_in(d, 3)) {
        set_number(row, DELAY, length_s(d, d->span_s / 8.0));
        const bool ever = one_in(d, 4);
        set_number(row, GRACE, ever ? -1.0 : length_s(d, 30.0));
    }
    if (has(d, "checkpoints", 30) && one_in(d, 4)) {
        set_number(row, CHECKPOINT, length_s(d, d->span_s / 6.0));
        set_number(row, RESTART, length_s(d, 9.0));
    }
    if (d->profile_count > 0 && one_in(d, 3)) {
        set(row, PROFILE, d->profiles[below(d, d->profile_count)]);
    }
    if (has(d, "busy", 25) && one_in(d, 3)) {
        set_number(row, BUSY, 0.05 * below(d, 21));
    }
}

/* What really became of it; nothing in a run goes by it. */
static void set_recorded(struct draw *d, struct row *row)
{
    static const char *const states[] = {"COMPLETED", "FAILED", "killed, by \"u1\"", NULL};
    const double start_s = instant_s(d);
    set_number(row, BEGAN, start_s);
    set_number(row, ENDED, start_s + length_s(d, d->span_s / 3.0));
    set(row, STATE, any(d, states));
}

static void write_cell(FILE *file, const char *text)
{
    if (strpbrk(text, ",\" ;") == NULL) {
        (void)fputs(text, file);
        return;
    }
    (void)fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            (void)fputc('"', file);
        }
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

static void write_row(FILE *file, const enum column *order, const struct row *row)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        if (c > 0) {
            (void)fputc(',', file);
        }
        write_cell(file, row == NULL ? names[order[c]] : row->cell[order[c]]);
    }
    (void)fputc('\n', file);
}

void draw_trace(struct draw *d, const char *file, uint32_t jobs)
{
    FILE *out = open_trace(d, file);
    enum column order[COLUMNS];
    for (uint32_t c = 0; c < COLUMNS; c++) {
        order[c] = (enum column)c;
    }
    for (uint32_t c = COLUMNS - 1; c > 0 && has(d, "column-order", 10); c--) {
        const uint32_t other = below(d, c + 1);
        const enum column held = order[c];
        order[c] = order[other];
        order[other] = held;
    }
    write_row(out, order, NULL);
    const bool totals = one_in(d, 8);
    for (uint32_t j = 0; j < jobs; j++) {
        struct row row = {0};
        name_job(d, &row, j);
        set_number(&row, SUBMIT, instant_s(d));
        set_number(&row, RUN, one_in(d, 8) ? 0.0 : length_s(d, d->span_s / 3.0));
        set_ask(d, &row, totals);
        set_owner(d, &row);
        set_constraints(d, &row);
        set_times(d, &row, j);
        if (has(d, "recorded", 20) && one_in(d, 2)) {
            set_recorded(d, &row);
        }
        if (has(d, "sbatch", 30) && one_in(d, 2)) {
            static const char *const options[] = {"--partition=a",
                                                  "--partition=b --nice=-5",
                                                  "--partition=a,b",
                                                  "--nodes=2",
                                                  "--nodes=1-3 --nice=40",
                                                  "--exclusive",
                                                  "--array=first%2",
                                                  "--array=first",
                                                  "--priority=7",
                                                  "--array=second%1 --partition=b",
                                                  "--qos=high",
                                                  "--qos=low",
                                                  NULL};
            set(&row, SBATCH, any(d, options));
        }
        write_row(out, order, &row);
    }
    close_trace(out, file);
}

void draw_swf(struct draw *d, const char *file, uint32_t jobs)
{
    FILE *out = open_trace(d, file);
    double submit_s = 0.0;
    (void)fputs("; UnixStartTime: 1700000000\n", out);
    for (uint32_t j = 0; j < jobs; j++) {
        submit_s += one_in(d, 2) ? 0.0 : below(d, d->span_s / jobs + 1);
        const double run_s = length_s(d, d->span_s / 3.0);
        const uint32_t processors = between(d, 1, one_in(d, 3) ? d->gpus : 2);
        const uint32_t wait_s = below(d, 9);
        const double estimate_s = run_s + below(d, 60);
        const uint32_t state = below(d, 2);
        const uint32_t user = between(d, 1, 4);
        const uint32_t queue = between(d, 1, 3);
        const bool after = has(d, "sessions", 25) && one_in(d, 3);
        const int before = after ? (int)below(d, j + 2) : -1; /* itself, too */
        const int think_s = after ? (int)below(d, 90) - 1 : -1;
        (void)fprintf(out, "%u %.0f %u %.0f %u -1 -1 %u %.0f -1 %u %u -1 -1 %u -1 %d %d\n", j + 1,
                      submit_s, wait_s, run_s, processors, processors, estimate_s, state, user,
                      queue, before, think_s);
    }
    close_trace(out, file);
}
