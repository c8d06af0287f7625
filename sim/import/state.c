/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.c - a model as a scenario and a trace that begin from it.
 *
 *   state_part.c    jobs that have no part in the run: what they hold is foreign
 *   state_nodes.c   nodes: those that are alike, one after the other by name, are a pool: what they
 *                   give, the labels that pods select by, taints, domains, what others hold there
 *   state_jobs.c    jobs: a row each, and how long they run: stated, or drawn from a history
 *   state_seat.c    where their pods are: on the GPUs that their groups name, else the lowest free
 *                   ones, which Kubernetes does not say
 *   state_roles.c   a job whose pods differ, or that has several subgroups, as a template
 *
 * Queues and the policy's parameters are written here.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/policies/feature.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/yaml.h>

#include "answer.h"
#include "state_int.h"

void state_note(struct writer *w, const char *code, const char *text, uint64_t more)
{
    struct orr_snapshot_state *out = w->out;
    uint32_t f = 0;
    while (f < out->fact_count && strcmp(out->facts[f].code, code) != 0) {
        f++;
    }
    if (f == out->fact_count) {
        ORR_ASSERT(f < ORR_SNAPSHOT_FACTS);
        out->facts[out->fact_count++] = (struct orr_snapshot_fact){
            .code = code, .text = orr_arena_strndup(&out->arena, text, strlen(text))};
    }
    out->facts[f].count += more;
}

static int by_name(const void *a, const void *b, void *context)
{
    const struct writer *w = context;
    return strcmp(w->model->nodes[*(const uint32_t *)a].name,
                  w->model->nodes[*(const uint32_t *)b].name);
}

uint32_t state_find_node(const struct writer *w, const char *name)
{
    return name == NULL ? ORR_NONE : orr_idmap_find(&w->model->node_names, name, strlen(name));
}

bool state_is_held(const struct import_pod *pod)
{
    return orr_status_in(pod->status, ORR_STATES_ACTIVE_USED) || pod->status == ORR_TASK_RELEASING;
}

bool state_waits(const struct import_pod *pod)
{
    return pod->status == ORR_TASK_PENDING;
}

uint32_t state_set_of(const struct import_job *job, const struct import_pod *pod)
{
    const char *wanted = pod->subset[0] == '\0' ? "default" : pod->subset;
    for (uint32_t s = 0; s < job->set_count; s++) {
        if (job->sets[s].is_pods && strcmp(job->sets[s].name, wanted) == 0) {
            return s;
        }
    }
    return ORR_NONE;
}

static void put_amount(FILE *out, const char *name, double value, const char *unit)
{
    if (value < 0) {
        (void)fprintf(out, "%s: unlimited", name);
    } else if (unit[0] == '\0') {
        (void)fprintf(out, "%s: %.12g", name, value);
    } else {
        (void)fprintf(out, "%s: %lld%s", name, llround(value), unit);
    }
}

static void write_queue(struct writer *w, const struct import_queue *queue)
{
    static const struct {
        const char *name, *unit;
        enum orr_share_kind kind;
    } resources[] = {
        {"gpu", "", ORR_SHARE_GPU}, {"cpu", "m", ORR_SHARE_CPU}, {"memory", "B", ORR_SHARE_MEMORY}};
    FILE *out = w->scenario;
    char text[32];
    (void)fputs("  ", out);
    orr_put_quoted(out, queue->name);
    (void)fputs(": {", out);
    if (queue->parent[0] != '\0') {
        (void)fputs("parent: ", out);
        orr_put_quoted(out, queue->parent);
        (void)fputs(", ", out);
    }
    for (size_t r = 0; r < sizeof resources / sizeof resources[0]; r++) {
        const struct orr_share_resource *it = &queue->resource[resources[r].kind];
        (void)fprintf(out, "%s: {", resources[r].name);
        put_amount(out, "quota", it->deserved, resources[r].unit);
        (void)fprintf(out, ", weight: %.12g, ", it->weight < 0 ? 0 : it->weight);
        put_amount(out, "limit", it->limit, resources[r].unit);
        (void)fputs("}, ", out);
    }
    if (queue->preempt_min_runtime != ORR_MS_NONE) {
        (void)fprintf(out, "preempt_min_runtime: %lldms, ", (long long)queue->preempt_min_runtime);
    }
    if (queue->reclaim_min_runtime != ORR_MS_NONE) {
        (void)fprintf(out, "reclaim_min_runtime: %lldms, ", (long long)queue->reclaim_min_runtime);
    }
    (void)orr_format_timestamp(text, queue->created_s * 1000);
    (void)fprintf(out, "priority: %lld, created: %s}\n", (long long)queue->priority, text);
}

/* KAI's tiers name the plugins that take part; a run's parameters name those that do not. */
static void write_plugins(struct writer *w, const struct orr_policy *kai, const char *comma)
{
    static const char head[] = "plugins.", tail[] = ".enabled";
    const size_t around = sizeof head + sizeof tail - 2;
    for (const struct orr_param *row = kai->params; row->name != NULL; row++) {
        const size_t bytes = strlen(row->name);
        if (bytes <= around || strncmp(row->name, head, sizeof head - 1) != 0 ||
            strcmp(row->name + bytes - sizeof tail + 1, tail) != 0) {
            continue;
        }
        const char *name =
            import_format(w->load, "%.*s", (int)(bytes - around), row->name + sizeof head - 1);
        if (!import_has_plugin(w->model->plugins, name)) {
            (void)fputs(comma, w->scenario);
            orr_put_quoted(w->scenario, row->name);
            (void)fputs(": \"false\"", w->scenario);
            comma = ", ";
        }
    }
}

static int by_pod_priority(const void *a, const void *b, void *context)
{
    const struct import_job *x = *(struct import_job *const *)a;
    const struct import_job *y = *(struct import_job *const *)b;
    (void)context;
    return (x->pod_priority > y->pod_priority) - (x->pod_priority < y->pod_priority);
}

/* Priorities of which no pod preempts: the policy knows classes by these. */
static void write_never_preempts(struct writer *w)
{
    const struct import_model *model = w->model;
    const struct import_job **jobs = orr_alloc(model->job_count + (size_t)1, sizeof *jobs);
    uint32_t count = 0;
    bool some = false;
    for (uint32_t j = 0; j < model->job_count; j++) {
        jobs[count] = &model->jobs[j];
        count += jobs[count]->pod_count > 0;
    }
    orr_sort(jobs, count, sizeof *jobs, by_pod_priority, NULL);
    for (uint32_t first = 0, end = 0; first < count; first = end) {
        uint32_t never = 0;
        for (; end < count && jobs[end]->pod_priority == jobs[first]->pod_priority; end++) {
            never += jobs[end]->never_preempts;
        }
        if (never == end - first) {
            (void)fprintf(w->scenario, "%s%" PRId64, some ? ", " : ", params: {never_preempts: \"",
                          jobs[first]->pod_priority);
            some = true;
        } else if (never > 0) {
            state_note(w, "never-preempts",
                       "jobs with preemptionPolicy Never: others of their priority preempt, and so "
                       "do they, since the policy knows classes by priority",
                       never);
        }
    }
    (void)fputs(some ? "\"}" : "", w->scenario);
    orr_free(jobs);
}

static void write_policy(struct writer *w)
{
    const struct orr_policy *kai = orr_policy_find("kai");
    const char *comma = "";
    if (w->model->policy != NULL) {
        (void)fprintf(w->scenario, "policy: {name: %s", w->model->policy);
        write_never_preempts(w);
        (void)fputs("}\n", w->scenario);
        return;
    }
    (void)fputs("policy:\n  name: kai\n  params: {", w->scenario);
    for (uint32_t i = 0; i < w->model->param_count; i++) {
        const struct import_param *param = &w->model->params[i];
        if (!import_leaves_out(w->model, kai, param)) {
            (void)fputs(comma, w->scenario);
            orr_put_quoted(w->scenario, param->name);
            (void)fputs(": ", w->scenario);
            orr_put_quoted(w->scenario, param->value);
            comma = ", ";
        }
    }
    if (w->model->plugins != NULL) {
        write_plugins(w, kai, comma);
    }
    (void)fputs("}\n", w->scenario);
}

/* What jobs ask that no rule of a run looks at. */
static void note_features(struct writer *w)
{
    const struct import_model *model = w->model;
    for (int f = 0; f < IMPORT_FEATURES; f++) {
        const struct orr_feature *feature = import_feature_row((enum import_feature)f);
        uint64_t jobs = 0;
        for (uint32_t j = 0; j < model->job_count; j++) {
            jobs += !w->left_out[j] && (model->jobs[j].features >> f & 1u) != 0;
        }
        if (jobs > 0) {
            state_note(w, feature->name,
                       import_format(w->load, "jobs with %s: %s", feature->name, feature->means),
                       jobs);
            w->out->facts[w->out->fact_count - 1].unheeded = true;
        }
    }
}

static void write_head(struct writer *w)
{
    char text[32], span[32];
    (void)orr_format_timestamp(text, w->model->now / 1000 * 1000);
    (void)orr_format_span(span, w->rest->horizon_ms);
    (void)fprintf(w->scenario,
                  "# A cluster as it was at %s. Edit it as any scenario; the jobs are in %s.\n"
                  "apiVersion: orrery/v1alpha1\nkind: Scenario\nstart: %s\nbegin: 0s\n"
                  "horizon: %llds\n",
                  text, w->trace_name, text, (long long)(w->rest->horizon_ms / 1000));
}

/* Without what others hold, as a run counts them. */
static void count_gpus(struct writer *w)
{
    const struct import_model *model = w->model;
    int64_t instances = 0, of_instances = 0;
    for (uint32_t n = 0; n < model->node_count; n++) {
        const int64_t *left = w->places[n].left;
        w->out->gpus += (double)left[IMPORT_GPU];
        for (uint32_t r = 0; r < model->resources.count; r++) {
            const int64_t count = left[IMPORT_EXTENDED + r];
            if (state_counts_profile(model, r) && count > 0) {
                instances += count;
                of_instances += count * orr_mig_gpus(state_profile_of(model, r));
            }
        }
    }
    w->out->gpus += (double)of_instances;
    if (instances > 0) {
        const char *text = import_format(w->load,
                                         "MIG instances: each counts as the GPUs that its profile "
                                         "names, 1g as 1 and 3g as 3, together as %" PRId64,
                                         of_instances);
        state_note(w, "mig-gpus", text, (uint32_t)instances);
    }
}

static void write_all(struct writer *w)
{
    const struct import_model *model = w->model;
    w->order = orr_alloc(model->node_count + (size_t)1, sizeof *w->order);
    w->places = orr_zalloc(model->node_count + (size_t)1, sizeof *w->places);
    state_leave_out_instances(w);
    for (uint32_t n = 0; n < model->node_count; n++) {
        w->order[n] = n;
    }
    orr_sort(w->order, model->node_count, sizeof *w->order, by_name, w);
    w->out->nodes = model->node_count;
    w->out->queues = model->queue_count;
    state_leave_out_jobs(w);
    note_features(w);
    state_collect_amounts(w);
    state_collect_keys(w);
    state_choose_levels(w);
    state_collect_foreign(w);
    count_gpus(w);
    state_find_pools(w);
    state_open_history(w);
    write_head(w);
    state_write_cluster(w);
    (void)fputs("queues:\n", w->scenario);
    for (uint32_t q = 0; q < model->queue_count; q++) {
        write_queue(w, &model->queues[q]);
    }
    write_policy(w);
    (void)fprintf(w->scenario, "workload:\n- {name: jobs, trace: %s, keep_impossible: true}\n",
                  w->trace_name);
    state_write_jobs(w);
    if (w->templates.count > 0) {
        (void)fputs("templates:\n", w->scenario);
    }
    for (uint32_t t = 0; t < w->templates.count; t++) {
        (void)fprintf(w->scenario, "  t%u: %s\n", (unsigned)t + 1,
                      orr_idmap_name(&w->templates, t));
    }
    state_note(w, "arrivals", "jobs that come after now: none, add a workload part for them", 0);
    state_note(w, "usage", "past use of queues: 0, as in KAI's own tool", 0);
}

enum orr_status import_write_state(struct import_model *model, const struct orr_snapshot_rest *rest,
                                   const char *trace_name, FILE *scenario, FILE *trace,
                                   struct orr_snapshot_state *out)
{
    struct writer w = {.model = model,
                       .rest = rest,
                       .out = out,
                       .load = model->load,
                       .scenario = scenario,
                       .trace = trace,
                       .trace_name = trace_name};
    struct orr_idmap *const maps[] = {&w.keys, &w.affinities, &w.amounts, &w.devices, &w.templates};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_init(maps[i]);
    }
    out->form = import_format(model->load, "%s", model->form != NULL ? model->form : "");
    out->form = orr_arena_strndup(&out->arena, out->form, strlen(out->form));
    out->now = model->now;
    write_all(&w);
    for (uint32_t n = 0; n < model->note_count && n < ORR_SNAPSHOT_FACTS; n++) {
        const char *text = model->notes[n].text;
        out->notes[out->note_count++] =
            (struct orr_snapshot_note){.text = orr_arena_strndup(&out->arena, text, strlen(text)),
                                       .count = model->notes[n].count};
    }
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_release(maps[i]);
    }
    if (w.durations != NULL) {
        orr_durations_close(w.durations);
    }
    orr_free(w.order);
    orr_free(w.places);
    orr_free(w.left_out);
    orr_free(w.affine);
    orr_free(w.asked);
    orr_free(w.device_of);
    return model->load->err->status;
}
