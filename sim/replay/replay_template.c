/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_template.c - what a row leaves to its template.
 *
 * A row says less and the template the rest: whatever the row states stays. Rows of a generator
 * share their extra record, which is then filled once for all of them.
 */
#include "replay_int.h"

#include <string.h>

const struct orr_scenario_template *orr_replay__template(const struct orr_scenario *scenario,
                                                         const char *name)
{
    for (uint32_t i = 0; i < scenario->template_count; i++) {
        if (strcmp(scenario->templates[i].name, name) == 0) {
            return &scenario->templates[i];
        }
    }
    return NULL;
}

static void fill_text(const char **field, const char *text)
{
    *field = *field == NULL ? text : *field;
}

static void fill_time(orr_ms *field, orr_ms ms)
{
    *field = *field == ORR_MS_NONE ? ms : *field;
}

static void fill_number(int64_t *field, int64_t number)
{
    *field = *field < 0 && number > 0 ? number : *field;
}

void orr_replay__share_pods(struct orr_row *row, struct orr_row_extra *extra,
                            const struct orr_scenario_pods *pods)
{
    if (row->gpus > 0) {
        return; /* it says its shape */
    }
    /* the record of a generator's rows has the template's own share already: the same thing */
    bool own = extra->gpu_fraction_milli > 0 || extra->gpu_memory_mib > 0 ||
               extra->mig_profile != NULL || row->gpus_per_pod != ORR_NONE;
    if (!own) {
        row->gpus_per_pod = pods->gpus;
        if (pods->gpu_fraction > 0.0) {
            extra->gpu_fraction_milli = (int64_t)(pods->gpu_fraction * ORR_MGPU + 0.5);
        }
        fill_number(&extra->gpu_memory_mib, pods->gpu_memory_mib);
        fill_text(&extra->mig_profile, pods->mig_profile);
        fill_number(&extra->gpu_devices, pods->gpu_devices);
    } else if (row->gpus_per_pod == ORR_NONE) {
        row->gpus_per_pod = 0;
    }
    if (row->pods == 0) {
        row->pods = pods->pods;
        fill_number(&extra->min_pods, pods->min_pods);
    }
    fill_number(&extra->cpu_milli, pods->cpu_milli);
    fill_number(&extra->mem_mib, pods->mem_bytes / ORR_MIB);
}

void orr_replay__apply_template(struct orr_workload *workload, struct orr_row *row,
                                const struct orr_scenario_template *template)
{
    struct orr_row_extra *extra = orr_workload_extra(workload, row);
    if (template->role_count == 0) {
        orr_replay__share_pods(row, extra, &template->pods);
    }
    fill_time(&row->run_ms, template->run_ms);
    fill_text(&extra->gpu_model, template->gpu_model);
    fill_text(&extra->node_selector, template->node_selector);
    fill_text(&extra->tolerations, template->tolerations);
    if (extra->topology_required == NULL && extra->topology_preferred == NULL) {
        extra->topology_required = template->topology_required;
        extra->topology_preferred = template->topology_preferred;
    }
    extra->slice_level = template->slice.level;
    extra->slice_size = template->slice.size;
    extra->min_gpus = template->min_gpus;
    fill_text(&extra->profile, template->profile);
    fill_text(&extra->priority, template->priority);
    fill_time(&extra->checkpoint_ms, template->checkpoint_ms);
    fill_time(&extra->restart_ms, template->restart_ms);
    fill_time(&extra->checkpoint_cost_ms, template->checkpoint_cost_ms);
    fill_time(&extra->preemption_delay_ms, template->preemption_delay_ms);
    fill_time(&extra->staleness_grace_ms, template->staleness_grace_ms);
    fill_time(&extra->deadline_after_ms, template->deadline_ms);
    if (extra->busy_ppm < 0 && template->busy > 0.0) {
        extra->busy_ppm = (int64_t)(template->busy * 1e6 + 0.5);
    }
    if (extra->preemptible < 0 && template->preemptible != NULL) {
        extra->preemptible = strcmp(template->preemptible, "true") == 0;
    }
}

static struct orr_request request_of(const struct orr_scenario_pods *pods)
{
    struct orr_request request = {
        .gpu_model = ORR_NONE, .cpu_milli = pods->cpu_milli, .mem_bytes = pods->mem_bytes};
    if (pods->gpu_fraction > 0.0) {
        request.gpu_ask = ORR_GPU_FRACTION;
        request.portion = (int64_t)(pods->gpu_fraction * ORR_MGPU + 0.5);
        request.devices = pods->gpu_devices;
    } else if (pods->gpu_memory_mib > 0) {
        request.gpu_ask = ORR_GPU_MEMORY;
        request.portion = pods->gpu_memory_mib;
        request.devices = pods->gpu_devices;
    } else if (pods->gpus > 0) {
        request.gpu_ask = ORR_GPU_WHOLE;
        request.devices = pods->gpus;
    }
    return request;
}

/* How many roles are part of a role, or of none. */
static uint32_t members_of(const struct orr_scenario_template *template, uint32_t parent)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < template->role_count; r++) {
        count += template->roles[r].parent == parent;
    }
    return count;
}

/* The stages of its backlog, as long as they take with all workers; caller frees. */
static struct orr_stage *make_stages(const struct orr_scenario_template *template,
                                     struct orr_crew *crew)
{
    const struct orr_scenario_autoscale *plan = &template->autoscale;
    const struct orr_scenario_pods *pods = NULL;
    for (uint32_t r = 0; r < template->role_count; r++) {
        const struct orr_scenario_role *role = &template->roles[r];
        pods = !role->is_set && strcmp(role->name, plan->role) == 0 ? &role->pods : pods;
    }
    ORR_ASSERT(pods != NULL && plan->stage_count > 0); /* the scenario was checked */
    struct orr_stage *stages = orr_alloc(plan->stage_count, sizeof *stages);
    orr_ms end_ms = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct orr_scenario_stage *from = &plan->stages[s];
        uint32_t at_once = orr_crew_at_once(from->tasks, pods->pods, plan->slots);
        end_ms += (from->tasks * from->each_ms + at_once - 1) / at_once;
        stages[s] = (struct orr_stage){.tasks = from->tasks, .end_ms = end_ms};
    }
    *crew = (struct orr_crew){.min = pods->min_pods > 0 ? pods->min_pods : pods->pods,
                              .max = pods->pods,
                              .slots = plan->slots,
                              .idle_ms = plan->idle_ms,
                              .stages = stages,
                              .stage_count = plan->stage_count};
    return stages;
}

static bool same_crew(const struct orr_crew *a, const struct orr_crew *b)
{
    bool same = a->min == b->min && a->max == b->max && a->slots == b->slots &&
                a->idle_ms == b->idle_ms && a->stage_count == b->stage_count;
    for (uint32_t s = 0; s < a->stage_count && same; s++) {
        same =
            a->stages[s].tasks == b->stages[s].tasks && a->stages[s].end_ms == b->stages[s].end_ms;
    }
    return same;
}

/* The workers of a crew are the last group of their shape. */
static void put_crew_last(const char *role, struct orr_replay_groups *groups)
{
    const uint32_t last = groups->count - 1;
    for (uint32_t g = 0; g < last; g++) {
        if (strcmp(groups->roles[g]->name, role) == 0) {
            const struct orr_task_group group = groups->items[g];
            const struct orr_scenario_role *own = groups->roles[g];
            groups->items[g] = groups->items[last];
            groups->roles[g] = groups->roles[last];
            groups->items[last] = group;
            groups->roles[last] = own;
            return;
        }
    }
}

void orr_replay__roles(const struct orr_scenario_template *template,
                       struct orr_replay_groups *groups)
{
    *groups = (struct orr_replay_groups){0};
    groups->sets[groups->set_count++] =
        (struct orr_task_set){.parent = ORR_NONE,
                              .min = template->min_subgroups > 0 ? template->min_subgroups
                                                                 : members_of(template, ORR_NONE)};
    for (uint32_t r = 0; r < template->role_count; r++) {
        const struct orr_scenario_role *role = &template->roles[r];
        const struct orr_scenario_pods *pods = &role->pods;
        const uint32_t set = groups->set_count++; /* that of role r is r + 1 */
        groups->sets[set] =
            (struct orr_task_set){.parent = role->parent == ORR_NONE ? 0 : role->parent + 1,
                                  .is_tasks = !role->is_set,
                                  .min = role->is_set         ? role->min_subgroups
                                         : pods->min_pods > 0 ? pods->min_pods
                                                              : pods->pods};
        if (role->is_set && role->min_subgroups == 0) {
            groups->sets[set].min = members_of(template, r);
        }
        if (!role->is_set) {
            groups->roles[groups->count] = role;
            groups->items[groups->count++] = (struct orr_task_group){
                .request = request_of(pods), .count = pods->pods, .set = set};
        }
    }
    if (template->autoscale.given) {
        put_crew_last(template->autoscale.role, groups);
    }
}

orr_ms orr_replay__crew_run_ms(const struct orr_scenario_template *template)
{
    struct orr_crew crew;
    struct orr_stage *stages = make_stages(template, &crew);
    orr_ms run_ms = stages[crew.stage_count - 1].end_ms;
    orr_free(stages);
    return run_ms;
}

uint32_t orr_replay__crew(struct orr_world *world, const struct orr_scenario_template *template)
{
    struct orr_terms_table *table = &world->terms;
    struct orr_crew crew;
    struct orr_stage *stages = make_stages(template, &crew);
    for (uint32_t c = 0; c < table->crew_count; c++) { /* a handful */
        if (same_crew(&table->crews[c], &crew)) {
            orr_free(stages);
            return c + 1;
        }
    }
    table->crews = ORR_ROOM_FOR_ONE(table->crews, table->crew_count, table->crew_capacity);
    table->crews[table->crew_count++] = crew;
    return table->crew_count;
}
