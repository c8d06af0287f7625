/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_words.c - SchedulerParameters: its words must be known. Those about threads, locks and
 * messages say nothing here; those that decide something in Slurm alone are named as a run begins.
 */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#include "slurm_conf_int.h"

enum word_type { WORD_SECONDS, WORD_MINUTES, WORD_COUNT, WORD_SWITCH, WORD_NOTHING, WORD_UNHEEDED };

#define AT(field) offsetof(struct slurm_conf, field)
static const struct word {
    const char *name;
    enum word_type type;
    size_t offset;
} words[] = {
    {"default_queue_depth", WORD_COUNT, AT(default_queue_depth)},
    {"batch_sched_delay", WORD_SECONDS, AT(batch_sched_delay_ms)},
    {"sched_interval", WORD_SECONDS, AT(sched_interval_ms)},
    {"partition_job_depth", WORD_COUNT, AT(partition_job_depth)},
    {"sched_max_job_start", WORD_COUNT, AT(sched_max_job_start)},
    {"defer", WORD_SWITCH, AT(defer)},
    {"defer_batch", WORD_SWITCH, AT(defer)}, /* all jobs are batch jobs */
    {"max_switch_wait", WORD_SECONDS, AT(max_switch_wait_ms)},
    {"assoc_limit_stop", WORD_SWITCH, AT(assoc_limit_stop)},
    {"preempt_reorder_count", WORD_COUNT, AT(preempt_reorder_count)},
    {"preempt_strict_order", WORD_SWITCH, AT(preempt_strict_order)},
    {"preempt_youngest_first", WORD_SWITCH, AT(preempt_youngest_first)},
    {"bf_interval", WORD_SECONDS, AT(bf_interval_ms)},
    {"bf_window", WORD_MINUTES, AT(bf_window_ms)},
    {"bf_resolution", WORD_SECONDS, AT(bf_resolution_ms)},
    {"bf_window_linear", WORD_SECONDS, AT(bf_window_linear_ms)},
    {"bf_max_job_test", WORD_COUNT, AT(bf_max_job_test)},
    {"bf_max_job_start", WORD_COUNT, AT(bf_max_job_start)},
    {"bf_max_job_part", WORD_COUNT, AT(bf_max_job_part)},
    {"bf_max_job_user", WORD_COUNT, AT(bf_max_job_user)},
    {"bf_max_job_assoc", WORD_COUNT, AT(bf_max_job_assoc)},
    {"bf_max_job_user_part", WORD_COUNT, AT(bf_max_job_user_part)},
    {"bf_job_part_count_reserve", WORD_COUNT, AT(bf_job_part_count_reserve)},
    {"bf_one_resv_per_job", WORD_SWITCH, AT(bf_one_resv_per_job)},
    {"bf_max_job_array_resv", WORD_COUNT, AT(bf_max_job_array_resv)},
    {"bf_node_space_size", WORD_COUNT, AT(bf_node_space_size)},
    {"bf_min_prio_reserve", WORD_COUNT, AT(bf_min_prio_reserve)},
    {"bf_min_age_reserve", WORD_SECONDS, AT(bf_min_age_reserve_ms)},
    {"bf_running_job_reserve", WORD_NOTHING, 0}, /* their limits keep these nodes anyway */
    /* about threads, locks and messages, which take no time here */
    {"bf_continue", WORD_NOTHING, 0},
    {"bf_max_time", WORD_NOTHING, 0},
    {"bf_yield_interval", WORD_NOTHING, 0},
    {"bf_yield_sleep", WORD_NOTHING, 0},
    {"build_queue_timeout", WORD_NOTHING, 0},
    {"max_rpc_cnt", WORD_NOTHING, 0},
    {"max_sched_time", WORD_NOTHING, 0},
    {"sched_max_time", WORD_NOTHING, 0},
    {"sched_min_interval", WORD_NOTHING, 0},
    {"kill_invalid_depend", WORD_NOTHING, 0},
    {"bf_licenses", WORD_UNHEEDED, 0},
    {"nohold_on_prolog_fail", WORD_NOTHING, 0},
    {"enable_user_top", WORD_NOTHING, 0},
    {"Ignore_NUMA", WORD_NOTHING, 0},
    {"default_gbytes", WORD_NOTHING, 0},
    {"salloc_wait_nodes", WORD_NOTHING, 0},
    {"requeue_setup_env_fail", WORD_NOTHING, 0},
    {"sbatch_wait_nodes", WORD_NOTHING, 0},
    {"batch_sched_interval", WORD_NOTHING, 0},
    {"preempt_send_user_signal", WORD_NOTHING, 0},
    {"allow_zero_lic", WORD_NOTHING, 0},
    {"bf_yield_rpc_cnt", WORD_NOTHING, 0},
    {"bf_ignore_newly_avail_nodes", WORD_NOTHING, 0},
    {"bf_hetjob_prio", WORD_NOTHING, 0},
    {"bf_hetjob_immediate", WORD_NOTHING, 0},
    {"bf_allow_magnetic_slot", WORD_NOTHING, 0},
    {"correspond_after_task_cnt", WORD_NOTHING, 0},
    {"delay_boot", WORD_NOTHING, 0},
    {"disable_hetjob_steps", WORD_NOTHING, 0},
    {"disable_job_shrink", WORD_NOTHING, 0},
    {"enable_hetjob_steps", WORD_NOTHING, 0},
    {"enable_job_state_cache", WORD_NOTHING, 0},
    {"extra_row_count", WORD_NOTHING, 0},
    {"ignore_prefer_validation", WORD_NOTHING, 0},
    {"max_depend_depth", WORD_NOTHING, 0},
    {"max_script_size", WORD_NOTHING, 0},
    {"max_submit_line_size", WORD_NOTHING, 0},
    {"no_backup_scheduling", WORD_NOTHING, 0},
    {"no_env_cache", WORD_NOTHING, 0},
    {"permit_job_expansion", WORD_NOTHING, 0},
    {"reduce_completing_frag", WORD_NOTHING, 0}, /* nothing is completing: epilogs take no time */
    {"spec_cores_first", WORD_NOTHING, 0},
    {"step_retry_count", WORD_NOTHING, 0},
    {"step_retry_time", WORD_NOTHING, 0},
    {"whole_hetjob", WORD_NOTHING, 0},
    {"bf_busy_nodes", WORD_UNHEEDED, 0},
    {"bf_topopt_enable", WORD_UNHEEDED, 0},
    {"bf_topopt_iterations", WORD_UNHEEDED, 0},
    {"max_array_tasks", WORD_UNHEEDED, 0},
    {"pack_serial_at_end", WORD_UNHEEDED, 0},
    {"time_min_as_soft_limit", WORD_UNHEEDED, 0},
};
enum { WORD_KINDS = sizeof words / sizeof words[0] };

static enum orr_status set_word(const struct slurm_reader *reader, const struct word *word,
                                struct slurm_span item)
{
    char *at = (char *)reader->conf + word->offset;
    const struct slurm_span value = orr_slurm__value_in(item);
    int64_t number;
    if (word->type == WORD_UNHEEDED) {
        orr_slurm__remark(reader, item, "is not heeded: policy slurm has nothing like it");
    }
    if (word->type == WORD_NOTHING || word->type == WORD_UNHEEDED) {
        return ORR_OK;
    }
    if (word->type == WORD_SWITCH) {
        *(bool *)at = true;
        return ORR_OK;
    }
    if (!orr_parse_i64(value.at, value.bytes, &number) || number < -1 || number > UINT32_MAX) {
        return orr_slurm__complain(reader, item, "needs a whole number from -1 to 4294967295");
    }
    if (word->type == WORD_COUNT) {
        *(int64_t *)(void *)at = number;
    } else {
        *(orr_ms *)(void *)at = number * (word->type == WORD_MINUTES ? 60000 : 1000);
    }
    return ORR_OK;
}

enum orr_status orr_slurm__read_scheduler(const struct slurm_reader *reader, struct slurm_span list)
{
    struct slurm_span item;
    enum orr_status status = ORR_OK;
    while (status == ORR_OK && orr_slurm__next_item(&list, &item)) {
        const char *sign = memchr(item.at, '=', item.bytes);
        const struct slurm_span name = {item.at,
                                        sign == NULL ? item.bytes : (size_t)(sign - item.at)};
        const struct word *word = NULL;
        const char *names[WORD_KINDS];
        for (int w = 0; w < WORD_KINDS; w++) {
            names[w] = words[w].name;
            word = orr_slurm__is(name, words[w].name) ? &words[w] : word;
        }
        if (word == NULL) {
            char text[64], what[200];
            (void)snprintf(text, sizeof text, "%.*s", (int)(name.bytes < 60 ? name.bytes : 60),
                           name.at);
            const char *near = orr_nearest(text, names, WORD_KINDS);
            (void)snprintf(what, sizeof what, "is no word of SchedulerParameters that is known%s%s",
                           near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
            return orr_slurm__complain(reader, item, what);
        }
        status = set_word(reader, word, item);
    }
    return status;
}
