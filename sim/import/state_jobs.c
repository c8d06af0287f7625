/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_jobs.c - jobs as rows of a trace: shape, age, where they run, and for how long. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/traces/durations.h>
#include <orrery/traces/native.h>

#include "kind.h"
#include "state_int.h"

#define FOREVER_MS ((orr_ms)3650 * 86400000)
#define LEAVES_MS  30000 /* what is being deleted */

#define HEADER                                                                                     \
    "job,submit_s,run_s,template,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,gpu_devices,mig_"   \
    "profile,"                                                                                     \
    "cpu_milli,mem_mib,min_pods,queue,kind,priority,preemptible,node_selector,tolerations,"        \
    "topology_required,topology_preferred,preemption_delay_s,staleness_grace_s,running_since_s,"   \
    "running_on,run_known\n"

bool state_same_ask(const struct import_pod *a, const struct import_pod *b)
{
    const struct import_request *x = &a->request, *y = &b->request;
    return a->constraint_key == b->constraint_key && x->kind == y->kind &&
           x->devices == y->devices && !(x->portion < y->portion) && !(x->portion > y->portion) &&
           x->memory_mib == y->memory_mib && memcmp(&x->vec, &y->vec, sizeof x->vec) == 0;
}

static double gpus_of(const struct import_pod *pod)
{
    return pod->request.kind == ORR_ASK_FRACTION ? pod->request.portion * pod->request.devices
           : pod->request.devices > 0            ? pod->request.devices
                                                 : (double)pod->request.vec.v[IMPORT_GPU];
}

static void add_pod(struct job *job, const struct import_model *model, uint32_t p, uint32_t set)
{
    const struct import_pod *pod = &model->pods[p];
    const bool held = state_is_held(pod);
    uint32_t a = 0;
    while (a < job->ask_count &&
           (job->asks[a].set != set || !state_same_ask(pod, &model->pods[job->asks[a].first]))) {
        a++;
    }
    if (a == job->ask_count) {
        job->asks = ORR_ROOM_FOR_ONE(job->asks, a, job->ask_capacity);
        job->asks[job->ask_count++] = (struct ask){.set = set, .first = p};
    }
    job->asks[a].pods++;
    job->asks[a].held += held;
    job->held += held;
    job->leaving += pod->status == ORR_TASK_RELEASING;
    job->gpus += gpus_of(pod);
    if (held) {
        const orr_ms since = pod->bound_ms != ORR_MS_NONE ? pod->bound_ms : pod->created_s * 1000;
        job->since_ms = since > job->since_ms ? since : job->since_ms;
    }
}

/* No history: the same time is taken for each of them. */
static void note_one_time(struct writer *w, bool runs)
{
    char time[32];
    (void)orr_format_span(time, runs ? w->rest->remaining_ms : w->rest->run_ms);
    const char *text =
        runs ? import_format(w->load,
                             "jobs that run: how long they go on is not in a snapshot, taken as %s "
                             "(--remaining)",
                             time)
             : import_format(w->load,
                             "jobs that wait: how long they run is not in a snapshot, taken as %s "
                             "(--run-time, else --remaining)",
                             time);
    state_note(w, runs ? "remaining" : "run-times", text, 1);
}

/* *known: nobody has to guess it. */
static orr_ms run_ms(struct writer *w, const struct job *job, orr_ms age_ms, bool *known)
{
    const struct orr_snapshot_rest *rest = w->rest;
    *known = true;
    if (job->held > 0 && job->leaving == job->held) {
        state_note(w, "leaving", "jobs that are being deleted: they hold their room for 30 s more",
                   1);
        return age_ms + LEAVES_MS;
    }
    age_ms = job->broken ? 0 : age_ms; /* it begins anew */
    if (job->kind == ORR_KIND_INFERENCE) {
        state_note(w, "services", "jobs that serve: they go on beyond the horizon", 1);
        return FOREVER_MS;
    }
    *known = w->durations == NULL && (job->held > 0 ? rest->knows_remaining : rest->knows_run);
    if (w->durations == NULL) {
        note_one_time(w, job->held > 0);
        return job->held > 0 ? age_ms + rest->remaining_ms : rest->run_ms;
    }
    const struct orr_duration_of of = {
        .user = ORR_NONE,
        .queue = orr_idmap_find(&rest->history->queues, job->is->queue, strlen(job->is->queue)),
        .kind = (uint32_t)job->kind,
        .size = (uint32_t)ceil(job->gpus),
        .limit_ms = ORR_MS_NONE};
    const struct orr_duration_draw drawn =
        orr_durations_draw(w->durations, &of, age_ms, rest->seed, job->is->name, 0);
    state_note(w, job->held > 0 ? "remaining" : "run-times",
               job->held > 0
                   ? "jobs that run: how long they go on is drawn from the history, given their "
                     "age"
                   : "jobs that wait: how long they run is drawn from the history",
               1);
    return drawn.run_ms > age_ms ? drawn.run_ms : age_ms + 1000;
}

void state_open_history(struct writer *w)
{
    const struct orr_workload *history = w->rest->history;
    if (history == NULL) {
        return;
    }
    w->durations = orr_durations_open();
    for (uint32_t r = 0; r < history->count; r++) {
        const struct orr_row *row = &history->rows[r];
        struct orr_job_fact fact;
        orr_workload_fact(history, row, &fact);
        if (fact.run_ms == ORR_MS_NONE) {
            continue;
        }
        const struct orr_duration_of of = {.user = ORR_NONE,
                                           .queue = row->queue,
                                           .kind = (uint32_t)row->kind,
                                           .size =
                                               (uint32_t)((fact.mgpu + ORR_MGPU - 1) / ORR_MGPU),
                                           .limit_ms = ORR_MS_NONE};
        orr_durations_add(w->durations, &of, fact.run_ms, true);
    }
    orr_durations_sort(w->durations);
}

static void put_cell(FILE *out, const char *text)
{
    const bool plain = strpbrk(text, ",\"\r\n") == NULL;
    if (plain) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        (void)fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    }
    (void)fputc('"', out);
}

static void put_seconds(FILE *out, orr_ms ms)
{
    char text[32];
    (void)orr_format_seconds(text, ms);
    (void)fprintf(out, "%s", text);
}

/* The cells from pods to min_pods of pods that are all alike. */
static void put_shape(struct writer *w, const struct job *job)
{
    const struct ask *ask = &job->asks[0];
    const struct import_request *request = &w->model->pods[ask->first].request;
    const uint32_t min = state_min_of(job, ask->set);
    const char *instances = state_instances_of(w, &w->model->pods[ask->first]);
    (void)fprintf(w->trace, ",%u,", (unsigned)ask->pods);
    if (request->kind == ORR_ASK_FRACTION) {
        (void)fprintf(w->trace, ",%.3f,,%u", request->portion, (unsigned)request->devices);
    } else if (request->kind == ORR_ASK_MEMORY) {
        (void)fprintf(w->trace, ",,%" PRId64 ",%u", request->memory_mib,
                      (unsigned)request->devices);
    } else if (instances != NULL) {
        (void)fprintf(w->trace, ",,,");
    } else {
        (void)fprintf(w->trace, "%" PRId64 ",,,", request->vec.v[IMPORT_GPU]);
    }
    (void)fprintf(w->trace, ",%s", instances == NULL ? "" : instances);
    (void)fprintf(w->trace, ",%" PRId64 ",%" PRId64 ",", request->vec.v[IMPORT_CPU],
                  request->vec.v[IMPORT_MEMORY] / ORR_MIB);
    if (min < ask->pods) {
        (void)fprintf(w->trace, "%u", (unsigned)(min > 0 ? min : 1));
        if (job->kind != ORR_KIND_INFERENCE) {
            state_note(w, "elastic",
                       "jobs of several pods that start with fewer: each takes its run time, "
                       "however many of its pods find room, and those that find none do no work",
                       1);
        }
    }
}

/* The cells of the periods of a job's own. In a run a delay counts from its submit and what evicts
 * it there. */
static void put_periods(struct writer *w, const struct import_job *is)
{
    (void)fputc(',', w->trace);
    if (is->preemption_delay > 0) {
        put_seconds(w->trace, is->preemption_delay);
        if (is->last_eviction != ORR_MS_NONE &&
            is->last_eviction + is->preemption_delay > w->model->now) {
            state_note(w, "preemption-delay",
                       "jobs evicted less than their preemptionDelay ago: it counts from their "
                       "creation, they may take from others too early",
                       1);
        }
    }
    (void)fputc(',', w->trace);
    if (is->staleness_grace != ORR_MS_NONE) {
        put_seconds(w->trace, is->staleness_grace < 0 ? -1000 : is->staleness_grace);
    }
}

static void write_row(struct writer *w, struct job *job)
{
    const struct import_job *is = job->is;
    const orr_ms now = w->model->now / 1000 * 1000;
    const bool plain = job->ask_count == 1 && is->set_count == 2;
    orr_ms submit = is->created_s * 1000 - now, since = job->since_ms - now;
    since = is->last_start != ORR_MS_NONE ? is->last_start - now : since;
    since = since > 0 ? 0 : since < submit ? submit : since;
    submit = submit > 0 ? 0 : submit;
    put_cell(w->trace, is->name);
    (void)fputc(',', w->trace);
    put_seconds(w->trace, submit);
    (void)fputc(',', w->trace);
    bool known;
    put_seconds(w->trace, run_ms(w, job, job->on == NULL ? 0 : -since, &known));
    (void)fprintf(w->trace, ",%s", plain ? "" : state_template_of(w, job));
    if (plain) {
        put_shape(w, job);
    } else {
        (void)fputs(",,,,,,,,,", w->trace);
    }
    (void)fputc(',', w->trace);
    put_cell(w->trace, is->queue);
    (void)fprintf(w->trace, ",%s,%" PRId64 ",%s,", orr_kind_name(job->kind),
                  w->model->policy != NULL ? is->pod_priority : is->priority,
                  is->preemptible ? "true" : "false");
    char *selector = state_selector_of(w, &w->model->pods[job->pods[0]]);
    char *tolerations = state_tolerations_of(&w->model->pods[job->pods[0]]);
    put_cell(w->trace, plain && !job->anywhere ? selector : "");
    (void)fputc(',', w->trace);
    put_cell(w->trace, !plain ? "" : job->anywhere ? "*" : tolerations);
    orr_free(selector);
    orr_free(tolerations);
    const struct levels own =
        plain ? state_levels_of(w, &is->sets[1].constraint) : (struct levels){0};
    const struct levels all = state_levels_of(w, &is->sets[0].constraint);
    const char *required = all.required != NULL ? all.required : own.required;
    const char *preferred = all.preferred != NULL ? all.preferred : own.preferred;
    (void)fprintf(w->trace, ",%s,%s", required != NULL ? required : "",
                  preferred != NULL ? preferred : "");
    put_periods(w, is);
    (void)fputc(',', w->trace);
    if (job->on != NULL) {
        put_seconds(w->trace, since);
    }
    (void)fputc(',', w->trace);
    put_cell(w->trace, job->on != NULL ? job->on : "");
    (void)fputs(known ? ",true\n" : ",\n", w->trace);
}

/* The order in which KAI takes and gives up the pods of a job; a run has its own index for it. */
static int by_task_order(const void *a, const void *b, void *context)
{
    const struct import_model *model = context;
    const struct import_pod *x = &model->pods[*(const uint32_t *)a];
    const struct import_pod *y = &model->pods[*(const uint32_t *)b];
    if (x->order_class != y->order_class) {
        return x->order_class < y->order_class ? -1 : 1;
    }
    if (x->has_priority != y->has_priority) {
        return x->has_priority ? -1 : 1;
    }
    if (x->has_priority && x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return x->created_s != y->created_s ? (x->created_s < y->created_s ? -1 : 1)
                                        : strcmp(x->uid, y->uid);
}

/* Pods of a gang that runs in part may be gone for good: it is below its minimum until KAI ends it,
 * so that no node may take them here. */
static void add_missing(struct writer *w, struct job *job, uint32_t set)
{
    uint32_t pods = 0;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        pods += job->asks[a].set == set ? job->asks[a].pods : 0;
    }
    if (job->is->sets[set].is_pods && state_least_of(job, set) > pods) {
        job->asks = ORR_ROOM_FOR_ONE(job->asks, job->ask_count, job->ask_capacity);
        job->asks[job->ask_count++] = (struct ask){
            .set = set, .first = ORR_NONE, .pods = (uint32_t)state_least_of(job, set) - pods};
        state_note(
            w, "lost-pods",
            "subgroups of gangs of which some pods run and others are not there: these never come",
            1);
    }
}

static void collect_pods(struct writer *w, struct job *job)
{
    uint32_t gone = 0;
    job->gone = orr_zalloc(job->is->set_count + (size_t)1, sizeof *job->gone);
    for (uint32_t p = job->is->first_pod; p != ORR_NONE; p = w->model->pods[p].next) {
        const struct import_pod *pod = &w->model->pods[p];
        const uint32_t set = state_set_of(job->is, pod);
        if (set != ORR_NONE && state_is_held(pod) && state_find_node(w, pod->node) == ORR_NONE) {
            job->gone[set]++;
            gone++;
        } else if (set != ORR_NONE && (state_waits(pod) || state_is_held(pod))) {
            job->pods = ORR_ROOM_FOR_ONE(job->pods, job->pod_count, job->pod_capacity);
            job->pods[job->pod_count++] = p;
        }
    }
    if (gone > 0) {
        state_note(w, "no-node",
                   "jobs with pods on nodes that are not there: these pods are passed over", 1);
    }
    orr_sort(job->pods, job->pod_count, sizeof *job->pods, by_task_order, w->model);
    for (uint32_t i = 0; i < job->pod_count; i++) {
        add_pod(job, w->model, job->pods[i], state_set_of(job->is, &w->model->pods[job->pods[i]]));
    }
    for (uint32_t s = 1; s < job->is->set_count && job->held > 0; s++) {
        add_missing(w, job, s);
    }
    state_order_asks(w, job);
}

static void write_job(struct writer *w, const struct import_job *is)
{
    struct job job = {.is = is,
                      .kind = import_kind_of(is->origin, w->model->policy == NULL, is->priority),
                      .since_ms = is->created_s * 1000};
    if (!w->left_out[is - w->model->jobs]) {
        collect_pods(w, &job);
    }
    if (job.ask_count > 0) {
        if (job.held > 0 && !state_has_gang(&job)) {
            state_note(
                w, "below-gang",
                "gangs of which fewer pods run than they need: they stand still, and run anew once "
                "they are whole",
                1);
            job.broken = true;
        }
        if (job.held > 0 && !state_seat_job(w, &job)) {
            state_note(
                w, "no-seat",
                "jobs that cannot be where they are, as their nodes have less than what is on "
                "them: they wait here",
                1);
            orr_free(job.on);
            job.on = NULL;
            job.held = 0;
        }
        w->out->running += job.on != NULL;
        w->out->waiting += job.on == NULL;
        if (job.anywhere) {
            state_note(w, "elsewhere",
                       "jobs that are where their selectors or taints would not let them "
                       "start: theirs are passed over",
                       1);
        }
        write_row(w, &job);
    } else {
        w->out->left_out++;
    }
    orr_free(job.on);
    orr_free(job.asks);
    orr_free(job.pods);
    orr_free(job.gone);
}

static int by_age(const void *a, const void *b, void *context)
{
    const struct writer *w = context;
    const struct import_job *x = &w->model->jobs[*(const uint32_t *)a];
    const struct import_job *y = &w->model->jobs[*(const uint32_t *)b];
    return x->created_s != y->created_s ? (x->created_s < y->created_s ? -1 : 1)
                                        : strcmp(x->name, y->name);
}

void state_write_jobs(struct writer *w)
{
    const struct import_model *model = w->model;
    uint32_t *order = orr_alloc(model->job_count + (size_t)1, sizeof *order);
    for (uint32_t j = 0; j < model->job_count; j++) {
        order[j] = j;
    }
    orr_sort(order, model->job_count, sizeof *order, by_age, w);
    (void)fputs(HEADER, w->trace);
    for (uint32_t j = 0; j < model->job_count; j++) {
        if (model->jobs[order[j]].set_count > 0) {
            write_job(w, &model->jobs[order[j]]);
        }
    }
    orr_free(order);
}
