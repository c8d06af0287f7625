/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Native cells to rows and back. What a cell that is not given means is decided here only. */
#include "native_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/mig.h>

const char *const native_column_names[NATIVE_COLUMN_COUNT] = {
#define X(name, type, says) [COL_##name] = #name,
    NATIVE_COLUMN_LIST(X)
#undef X
};

const enum native_type native_column_types[NATIVE_COLUMN_COUNT] = {
#define X(name, type, says) [COL_##name] = NATIVE_##type,
    NATIVE_COLUMN_LIST(X)
#undef X
};

/* Names that other tools' tables give to the same quantity in the same unit. */
const struct orr_csv_alias native_aliases[] = {
    {"job_id", COL_job},
    {"jobid", COL_job},
    {"job_name", COL_job},
    {"id", COL_job},
    {"submit_time", COL_submit_s},
    {"submitted_at", COL_submit_s},
    {"submission_time", COL_submit_s},
    {"arrival_time", COL_submit_s},
    {"submit", COL_submit_s},
    {"duration", COL_run_s},
    {"duration_s", COL_run_s},
    {"run_time", COL_run_s},
    {"runtime", COL_run_s},
    {"runtime_s", COL_run_s},
    {"num_gpus", COL_gpus},
    {"num_gpu", COL_gpus},
    {"gpu_num", COL_gpus},
    {"gpu_count", COL_gpus},
    {"n_gpus", COL_gpus},
    {"ngpus", COL_gpus},
    {"num_pods", COL_pods},
    {"replicas", COL_pods},
    {"vc", COL_queue},
    {"virtual_cluster", COL_queue},
    {"partition", COL_queue},
    {"user_id", COL_user},
    {"user_name", COL_user},
    {"username", COL_user},
    {"job_type", COL_kind},
    {"start_time", COL_recorded_start_s},
    {"started_at", COL_recorded_start_s},
    {"end_time", COL_recorded_end_s},
    {"ended_at", COL_recorded_end_s},
    {"state", COL_recorded_state},
    {"status", COL_recorded_state},
    {NULL, 0},
};

/* --- for people ------------------------------------------------------------------------------- */

static const char *const type_names[] = {
    [NATIVE_TEXT] = "text",          [NATIVE_INSTANT] = "seconds or date",
    [NATIVE_SPAN] = "seconds",       [NATIVE_GRACE] = "seconds, or -1: for ever",
    [NATIVE_COUNT] = "count from 1", [NATIVE_COUNT0] = "count",
    [NATIVE_AMOUNT] = "amount",      [NATIVE_SHARE] = "0.001 to 1",
    [NATIVE_LEVEL] = "0 to 1",       [NATIVE_SWITCH] = "true or false",
    [NATIVE_KIND] = "kind",
};

size_t orr_trace_columns(void)
{
    return NATIVE_COLUMN_COUNT;
}

struct orr_trace_column orr_trace_column(size_t index)
{
    static const char *const says[NATIVE_COLUMN_COUNT] = {
#define X(name, type, text) [COL_##name] = text,
        NATIVE_COLUMN_LIST(X)
#undef X
    };
    return (struct orr_trace_column){native_column_names[index],
                                     type_names[native_column_types[index]], says[index]};
}

const char *orr_trace_column_alias(size_t column, size_t n)
{
    for (const struct orr_csv_alias *alias = native_aliases; alias->name != NULL; alias++) {
        if (alias->column == column && n-- == 0) {
            return alias->name;
        }
    }
    return NULL;
}

_Static_assert(NATIVE_COLUMN_COUNT <= ORR_CSV_COLUMNS_MAX, "columns are bits of one word");

/* The ways to ask for GPUs of a pod: one at most. */
#define GPU_BITS                                                                                   \
    (NATIVE_BIT(gpus_per_pod) | NATIVE_BIT(gpu_fraction) | NATIVE_BIT(gpu_memory_mib) |            \
     NATIVE_BIT(mig_profile))
#define SHARED_BITS (NATIVE_BIT(gpu_fraction) | NATIVE_BIT(gpu_memory_mib))
/* What `gpus`, a total to be split into pods, leaves no room for. */
#define PER_POD_BITS                                                                               \
    (GPU_BITS | NATIVE_BIT(pods) | NATIVE_BIT(gpu_devices) | NATIVE_BIT(min_pods) |                \
     NATIVE_BIT(cpu_milli) | NATIVE_BIT(mem_mib))

/* Columns that are fields of the extra record. */
struct extra_field {
    enum native_column column;
    size_t offset; /* of a const char *, or an int64_t (orr_ms is one) */
};

static const struct extra_field extra_texts[] = {
    {COL_template, offsetof(struct orr_row_extra, template_name)},
    {COL_group, offsetof(struct orr_row_extra, group)},
    {COL_priority, offsetof(struct orr_row_extra, priority)},
    {COL_gpu_model, offsetof(struct orr_row_extra, gpu_model)},
    {COL_node_selector, offsetof(struct orr_row_extra, node_selector)},
    {COL_tolerations, offsetof(struct orr_row_extra, tolerations)},
    {COL_topology_required, offsetof(struct orr_row_extra, topology_required)},
    {COL_topology_preferred, offsetof(struct orr_row_extra, topology_preferred)},
    {COL_after, offsetof(struct orr_row_extra, after)},
    {COL_profile, offsetof(struct orr_row_extra, profile)},
    {COL_mig_profile, offsetof(struct orr_row_extra, mig_profile)},
    {COL_running_on, offsetof(struct orr_row_extra, running_on)},
    {COL_recorded_attempts, offsetof(struct orr_row_extra, recorded_attempts)},
    {COL_recorded_state, offsetof(struct orr_row_extra, recorded_state)},
    {COL_sbatch, offsetof(struct orr_row_extra, sbatch)},
};

static const struct extra_field extra_numbers[] = {
    {COL_gpu_fraction, offsetof(struct orr_row_extra, gpu_fraction_milli)},
    {COL_gpu_devices, offsetof(struct orr_row_extra, gpu_devices)},
    {COL_gpu_memory_mib, offsetof(struct orr_row_extra, gpu_memory_mib)},
    {COL_cpu_milli, offsetof(struct orr_row_extra, cpu_milli)},
    {COL_mem_mib, offsetof(struct orr_row_extra, mem_mib)},
    {COL_min_pods, offsetof(struct orr_row_extra, min_pods)},
    {COL_busy, offsetof(struct orr_row_extra, busy_ppm)},
    {COL_deadline_s, offsetof(struct orr_row_extra, deadline_ms)},
    {COL_eligible_s, offsetof(struct orr_row_extra, eligible_ms)},
    {COL_think_s, offsetof(struct orr_row_extra, think_ms)},
    {COL_give_up_s, offsetof(struct orr_row_extra, give_up_ms)},
    {COL_preemption_delay_s, offsetof(struct orr_row_extra, preemption_delay_ms)},
    {COL_staleness_grace_s, offsetof(struct orr_row_extra, staleness_grace_ms)},
    {COL_checkpoint_s, offsetof(struct orr_row_extra, checkpoint_ms)},
    {COL_restart_s, offsetof(struct orr_row_extra, restart_ms)},
    {COL_running_since_s, offsetof(struct orr_row_extra, running_since_ms)},
    {COL_recorded_start_s, offsetof(struct orr_row_extra, recorded_start_ms)},
    {COL_recorded_end_s, offsetof(struct orr_row_extra, recorded_end_ms)},
};

#define TEXT_COUNT   (sizeof extra_texts / sizeof extra_texts[0])
#define NUMBER_COUNT (sizeof extra_numbers / sizeof extra_numbers[0])

static bool is_time(enum native_column column)
{
    return native_column_types[column] == NATIVE_INSTANT ||
           native_column_types[column] == NATIVE_SPAN ||
           native_column_types[column] == NATIVE_GRACE;
}

/* --- what a cell may say --------------------------------------------------------------------- */

static const struct orr_number bounds[] = {
    [NATIVE_INSTANT] = {NULL, 1000, -ORR_INSTANT_MAX_MS, ORR_INSTANT_MAX_MS},
    [NATIVE_SPAN] = {NULL, 1000, 0, ORR_DURATION_MAX_MS},
    [NATIVE_GRACE] = {NULL, 1000, -1000, ORR_DURATION_MAX_MS},
    [NATIVE_COUNT] = {NULL, 1, 1, ORR_COUNT_MAX},
    [NATIVE_COUNT0] = {NULL, 1, 0, ORR_COUNT_MAX},
    [NATIVE_AMOUNT] = {NULL, 1, 0, 1000000000},
    [NATIVE_SHARE] = {NULL, 1000, 1, 1000},
    [NATIVE_LEVEL] = {NULL, 1000000, 0, 1000000},
};

struct orr_number native_bounds(enum native_column column)
{
    struct orr_number number = bounds[native_column_types[column]];
    number.column = native_column_names[column];
    return number;
}

static bool parse_switch(struct orr_text text, int64_t *out)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"0", "1"}, {"no", "yes"}, {"False", "True"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (int value = 0; value < 2; value++) {
            if (orr_text_is(text, words[i][value])) {
                *out = value;
                return true;
            }
        }
    }
    return false;
}

bool native_parse_word(enum native_column column, struct orr_text text, int64_t *out)
{
    enum orr_kind kind = ORR_KIND_UNKNOWN;
    if (native_column_types[column] == NATIVE_SWITCH) {
        return parse_switch(text, out);
    }
    if (!orr_kind_parse(text.at, text.bytes, &kind)) {
        return false;
    }
    *out = (int64_t)kind;
    return true;
}

const char *native_text_fault(enum native_column column, struct orr_text text)
{
    char asked[ORR_MIG_NAME_MAX + 8], profile[ORR_MIG_NAME_MAX];
    uint32_t instances;
    if (column != COL_mig_profile || text.bytes == 0) {
        return NULL;
    }
    (void)snprintf(asked, sizeof asked, "%.*s", (int)text.bytes, text.at);
    return text.bytes < sizeof asked && orr_mig_parse(asked, profile, &instances)
               ? NULL
               : "is no profile such as 1g.5gb, nor 1g.5gb*2 for two instances";
}

/* --- what makes a job ------------------------------------------------------------------------ */

static const char *gpus_fault(const struct native_values *values)
{
    for (unsigned i = 0; i < NATIVE_COLUMN_COUNT; i++) {
        if ((values->given & PER_POD_BITS) >> i & 1) {
            return native_column_names[i];
        }
    }
    return NULL;
}

static const char *pods_fault(const struct native_values *values)
{
    uint64_t ways = values->given & GPU_BITS;
    bool from_template = native_has(values, NATIVE_BIT(template));
    int64_t pods = native_has(values, NATIVE_BIT(pods)) ? values->number[COL_pods] : 1;
    if ((ways & (ways - 1)) != 0) {
        return "states GPUs in more than one way: gpus_per_pod, gpu_fraction, gpu_memory_mib and "
               "mig_profile exclude each other";
    }
    if (native_has(values, NATIVE_BIT(gpu_devices)) && !native_has(values, SHARED_BITS) &&
        !from_template) {
        return "column gpu_devices: needs gpu_fraction or gpu_memory_mib beside it";
    }
    if (ways == 0 && !from_template && !native_has(values, NATIVE_BIT(cpu_milli))) {
        return "states no GPUs: give gpus, or gpus_per_pod (0 for a job without GPUs)";
    }
    if (native_has(values, NATIVE_BIT(min_pods)) && values->number[COL_min_pods] > pods &&
        (native_has(values, NATIVE_BIT(pods)) || !from_template)) {
        return "column min_pods: is more than the pods of the job";
    }
    if (native_has(values, NATIVE_BIT(gpus_per_pod)) &&
        pods * values->number[COL_gpus_per_pod] > ORR_COUNT_MAX) {
        return "column gpus_per_pod: the GPUs of all pods are out of range";
    }
    if (native_has(values, NATIVE_BIT(gpu_memory_mib)) && values->number[COL_gpu_memory_mib] == 0) {
        return "column gpu_memory_mib: \"0\" is out of range";
    }
    return NULL;
}

const char *native_fault(const struct native_values *values)
{
    if (!native_has(values, NATIVE_BIT(job))) {
        return "column job: is empty, or not there";
    }
    if (!native_has(values, NATIVE_BIT(submit_s))) {
        return "column submit_s: is empty, or not there";
    }
    if (native_has(values, NATIVE_BIT(think_s)) && !native_has(values, NATIVE_BIT(after))) {
        return "column think_s: needs after, the jobs whose end it counts from";
    }
    if (!native_has(values, NATIVE_BIT(run_s) | NATIVE_BIT(template))) {
        return "column run_s: is empty, or not there, and no template says what runs";
    }
    if (native_has(values, NATIVE_BIT(running_on)) !=
        native_has(values, NATIVE_BIT(running_since_s))) {
        return "states one of running_since_s and running_on: both or none";
    }
    if (native_has(values, NATIVE_BIT(recorded_attempts))) {
        const struct orr_text attempts = values->text[COL_recorded_attempts];
        if (!native_has(values, NATIVE_BIT(recorded_start_s))) {
            return "column recorded_attempts: needs recorded_start_s, which they count from";
        }
        if (!orr_attempts_are_right(attempts.at, attempts.bytes)) {
            return "column recorded_attempts: is not BEGIN+SECONDS by blanks, one attempt after "
                   "the "
                   "other";
        }
    }
    if (!native_has(values, NATIVE_BIT(gpus))) {
        return pods_fault(values);
    }
    return gpus_fault(values) == NULL ? NULL
                                      : "column gpus: is the total of the job, to be split into "
                                        "pods, and excludes columns that describe a pod";
}

/* --- values to row --------------------------------------------------------------------------- */

static const char *remember(struct orr_workload *workload, struct native_memory *memory,
                            enum native_column column, struct orr_text text)
{
    const char *have = memory->text[column];
    if (have == NULL || !orr_text_is(text, have)) {
        memory->text[column] = orr_arena_strndup(&workload->arena, text.at, text.bytes);
    }
    return memory->text[column];
}

static void take_extra(struct orr_workload *workload, struct orr_row *row,
                       const struct native_values *values, struct native_memory *memory)
{
    char *extra = (char *)orr_workload_extra(workload, row);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        enum native_column column = extra_texts[i].column;
        if (values->given >> column & 1) {
            const char *text = remember(workload, memory, column, values->text[column]);
            memcpy(extra + extra_texts[i].offset, &text, sizeof text);
        }
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        enum native_column column = extra_numbers[i].column;
        if (values->given >> column & 1) {
            memcpy(extra + extra_numbers[i].offset, &values->number[column], sizeof(int64_t));
        }
    }
    struct orr_row_extra *record = &workload->extras[row->extra - 1];
    if (native_has(values, NATIVE_BIT(run_known))) {
        record->run_known = (int)values->number[COL_run_known];
    }
    if (native_has(values, NATIVE_BIT(preemptible))) {
        record->preemptible = (int)values->number[COL_preemptible];
    }
    if (native_has(values, SHARED_BITS) && record->gpu_devices < 0) {
        record->gpu_devices = 1;
    }
}

/* Columns that are fields of the row itself. */
#define ROW_BITS                                                                                   \
    (NATIVE_BIT(job) | NATIVE_BIT(submit_s) | NATIVE_BIT(run_s) | NATIVE_BIT(time_limit_s) |       \
     NATIVE_BIT(queue) | NATIVE_BIT(user) | NATIVE_BIT(gpus) | NATIVE_BIT(pods) |                  \
     NATIVE_BIT(gpus_per_pod) | NATIVE_BIT(kind))

static void take_shape(struct orr_row *row, const struct native_values *values)
{
    if (native_has(values, NATIVE_BIT(gpus))) {
        row->gpus = (uint32_t)values->number[COL_gpus];
        return;
    }
    bool from_template = native_has(values, NATIVE_BIT(template));
    row->pods = from_template ? 0 : 1;
    if (native_has(values, NATIVE_BIT(pods))) {
        row->pods = (uint32_t)values->number[COL_pods];
    }
    if (native_has(values, NATIVE_BIT(gpus_per_pod))) {
        row->gpus_per_pod = (uint32_t)values->number[COL_gpus_per_pod];
    } else {
        row->gpus_per_pod = from_template && !native_has(values, GPU_BITS) ? ORR_NONE : 0;
    }
}

void native_take(struct orr_workload *workload, struct orr_row *row,
                 const struct native_values *values, struct native_memory *memory)
{
    row->submit_ms = values->number[COL_submit_s];
    if (native_has(values, NATIVE_BIT(run_s))) {
        row->run_ms = values->number[COL_run_s];
    }
    if (native_has(values, NATIVE_BIT(time_limit_s))) {
        row->time_limit_ms = values->number[COL_time_limit_s];
    }
    if (native_has(values, NATIVE_BIT(queue))) {
        row->queue =
            orr_name_index(&workload->queues, &memory->last_queue, values->text[COL_queue]);
    }
    if (native_has(values, NATIVE_BIT(user))) {
        row->user = orr_name_index(&workload->users, &memory->last_user, values->text[COL_user]);
    }
    if (native_has(values, NATIVE_BIT(kind))) {
        row->kind = (uint8_t)values->number[COL_kind];
    }
    take_shape(row, values);
    if (native_has(values, ~ROW_BITS)) {
        take_extra(workload, row, values, memory);
    }
}

/* --- row to values --------------------------------------------------------------------------- */

static void give_number(struct native_values *values, enum native_column column, int64_t number)
{
    values->given |= (uint64_t)1 << column;
    values->number[column] = number;
}

static void give_text(struct native_values *values, enum native_column column, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        values->given |= (uint64_t)1 << column;
        values->text[column] = (struct orr_text){text, strlen(text)};
    }
}

static void give_extra(struct native_values *values, const struct orr_row_extra *record)
{
    const char *extra = (const char *)record;
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        const char *text;
        memcpy(&text, extra + extra_texts[i].offset, sizeof text);
        give_text(values, extra_texts[i].column, text);
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        enum native_column column = extra_numbers[i].column;
        int64_t number;
        memcpy(&number, extra + extra_numbers[i].offset, sizeof number);
        if (number != (is_time(column) ? ORR_MS_NONE : -1)) {
            give_number(values, column, number);
        }
    }
    if (record->run_known >= 0) {
        give_number(values, COL_run_known, record->run_known);
    }
    if (record->preemptible >= 0) {
        give_number(values, COL_preemptible, record->preemptible);
    }
    if (native_has(values, SHARED_BITS) && record->gpu_devices == 1) {
        values->given &= ~NATIVE_BIT(gpu_devices); /* what it means when it is not given */
    }
}

/* After give_extra: what a shape needs said depends on it. */
static void give_shape(struct native_values *values, const struct orr_row *row)
{
    bool from_template = native_has(values, NATIVE_BIT(template));
    if (row->gpus > 0) {
        give_number(values, COL_gpus, row->gpus);
        return;
    }
    if (from_template ? row->pods > 0 : row->pods > 1) {
        give_number(values, COL_pods, row->pods);
    }
    bool means_zero = native_has(values, GPU_BITS) ||
                      (!from_template && native_has(values, NATIVE_BIT(cpu_milli)));
    if (row->gpus_per_pod != ORR_NONE && (row->gpus_per_pod > 0 || !means_zero)) {
        give_number(values, COL_gpus_per_pod, row->gpus_per_pod);
    }
}

void native_give(const struct orr_workload *workload, const struct orr_row *row,
                 struct native_values *values)
{
    values->given = 0;
    give_text(values, COL_job, orr_idmap_name(&workload->jobs, row->job));
    give_number(values, COL_submit_s, row->submit_ms);
    if (row->run_ms != ORR_MS_NONE) {
        give_number(values, COL_run_s, row->run_ms);
    }
    if (row->time_limit_ms != ORR_MS_NONE) {
        give_number(values, COL_time_limit_s, row->time_limit_ms);
    }
    if (row->queue != ORR_NONE) {
        give_text(values, COL_queue, orr_idmap_name(&workload->queues, row->queue));
    }
    if (row->user != ORR_NONE) {
        give_text(values, COL_user, orr_idmap_name(&workload->users, row->user));
    }
    if (row->kind != ORR_KIND_UNKNOWN) {
        give_number(values, COL_kind, row->kind);
    }
    if (row->extra != 0) {
        give_extra(values, &workload->extras[row->extra - 1]);
    }
    give_shape(values, row);
}
