/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_jobs.c - the trace of a state: a row a job.
 *
 *   jobs     one whose pods differ, or that has several subgroups, by a template. Pods that are on
 *            nodes are seats on GPUs: shared ones as their groups say, others the lowest that are
 *            free, for Kubernetes does not tell them
 *   rest     how long they run: given, or drawn from a history
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/traces/native.h>

#include "state_int.h"

#define FOREVER_MS ((orr_ms)3650 * 86400000)
#define LEAVES_MS  30000 /* what is being deleted */

/* --- jobs --- */

struct ask { /* of pods that are alike */
    uint32_t set;
    uint32_t pods, held; /* of these, those on nodes */
    uint32_t first;      /* a pod of them */
};

struct job {
    const struct import_job *is;
    enum orr_kind kind;
    struct ask *asks;
    uint32_t ask_count, ask_capacity;
    uint32_t pods, held, leaving;
    orr_ms since_ms; /* of those that are on nodes */
    double gpus;
    char *on;      /* running_on; NULL: it waits */
    bool anywhere; /* it is where it may not be */
};

static bool same_ask(const struct import_pod *a, const struct import_pod *b)
{
    const struct import_request *x = &a->request, *y = &b->request;
    return a->constraint_key == b->constraint_key && x->kind == y->kind &&
           x->devices == y->devices && !(x->portion < y->portion) && !(x->portion > y->portion) &&
           x->memory_mib == y->memory_mib && memcmp(&x->vec, &y->vec, sizeof x->vec) == 0;
}

static bool waits(const struct import_pod *pod)
{
    return pod->status == ORR_TASK_PENDING || pod->status == ORR_TASK_GATED;
}

static uint32_t set_of(const struct import_job *job, const struct import_pod *pod)
{
    const char *wanted = pod->subset[0] == '\0' ? "default" : pod->subset;
    for (uint32_t s = 0; s < job->set_count; s++) {
        if (job->sets[s].is_pods && strcmp(job->sets[s].name, wanted) == 0) {
            return s;
        }
    }
    return ORR_NONE;
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
           (job->asks[a].set != set || !same_ask(pod, &model->pods[job->asks[a].first]))) {
        a++;
    }
    if (a == job->ask_count) {
        job->asks = ORR_ROOM_FOR_ONE(job->asks, a, job->ask_capacity);
        job->asks[job->ask_count++] = (struct ask){.set = set, .first = p};
    }
    job->asks[a].pods++;
    job->asks[a].held += held;
    job->pods++;
    job->held += held;
    job->leaving += pod->status == ORR_TASK_RELEASING;
    job->gpus += gpus_of(pod);
    if (held && pod->created_s * 1000 > job->since_ms) {
        job->since_ms = pod->created_s * 1000;
    }
}

static enum orr_kind kind_of(const struct import_job *job)
{
    static const char *const serves[] = {"Deployment",       "Service",  "LeaderWorkerSet",
                                         "InferenceService", "Revision", "ReplicaSet"};
    for (size_t i = 0; job->origin != NULL && i < sizeof serves / sizeof serves[0]; i++) {
        if (strcmp(job->origin, serves[i]) == 0) {
            return ORR_KIND_INFERENCE;
        }
    }
    if (job->origin != NULL && strcmp(job->origin, "Notebook") == 0) {
        return ORR_KIND_INTERACTIVE;
    }
    return job->priority >= 125   ? ORR_KIND_INFERENCE
           : job->priority >= 100 ? ORR_KIND_INTERACTIVE
                                  : ORR_KIND_TRAINING;
}

/* --- seats --- */

static bool fits(const struct state_place *place, const struct import_vec *asked)
{
    for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
        if (r != IMPORT_GPU && asked->v[r] > 0 && asked->v[r] > place->left[r]) {
            return false;
        }
    }
    return true;
}

/* The device that is a shared group of the node, a fresh one for a name that is new. 64: none. */
static unsigned device_of(struct state_writer *w, struct state_place *place, const char *node,
                          const char *name)
{
    const char *key = import_format(w->load, "%s/%s", node, name);
    bool added;
    const uint32_t index = orr_idmap_put(&w->devices, key, strlen(key), &added);
    if (added) {
        w->device_of = ORR_ROOM_FOR_ONE(w->device_of, index, w->device_capacity);
        w->device_of[index] = place->devices == 0 ? 64 : (uint8_t)__builtin_ctzll(place->devices);
        place->devices &= place->devices - (place->devices != 0);
    }
    return w->device_of[index];
}

/* Which devices of its node the pod has; false: there are not so many. */
static bool seat_devices(struct state_writer *w, const struct import_pod *pod,
                         struct state_place *place, uint64_t *mask)
{
    const struct import_request *request = &pod->request;
    const bool shared = request->kind == ORR_ASK_FRACTION || request->kind == ORR_ASK_MEMORY;
    const uint32_t count = shared ? request->devices : (uint32_t)request->vec.v[IMPORT_GPU];
    *mask = 0;
    for (uint32_t d = 0; d < count; d++) {
        unsigned device = place->devices == 0 ? 64 : (unsigned)__builtin_ctzll(place->devices);
        if (shared && d < pod->group_count) {
            device = device_of(w, place, pod->node, pod->groups[d]);
        } else {
            place->devices &= place->devices - (place->devices != 0);
        }
        if (device == 64) {
            return false;
        }
        *mask |= (uint64_t)1 << device;
    }
    return true;
}

static void put_seat(FILE *out, const char *node, uint64_t mask)
{
    (void)fprintf(out, "%s", node);
    const char *mark = ":";
    while (mask != 0) {
        const unsigned first = (unsigned)__builtin_ctzll(mask);
        unsigned last = first;
        while (last < 63 && (mask >> (last + 1) & 1) != 0) {
            last++;
        }
        (void)fprintf(out, last > first ? "%s%u-%u" : "%s%u", mark, first, last);
        mark = ",";
        mask &= last == 63 ? 0 : ~(((uint64_t)1 << (last + 1)) - 1);
    }
}

static bool may_be_on(const struct import_pod *pod, const struct import_node *node)
{
    return import_selects(pod->selector, node) && import_affinity_admits(pod->affinity, node) &&
           import_tolerates(pod->tolerations, node);
}

/* Where its pods are, in the order of its asks; false: they cannot all be there. */
static bool seat_job(struct state_writer *w, struct job *job)
{
    size_t bytes;
    FILE *out = open_memstream(&job->on, &bytes);
    bool good = true;
    ORR_ASSERT(out != NULL);
    for (uint32_t a = 0; a < job->ask_count; a++) {
        (void)fputs(a > 0 ? " | " : "", out);
        const char *blank = "";
        for (uint32_t p = job->is->first_pod; p != ORR_NONE; p = w->model->pods[p].next) {
            const struct import_pod *pod = &w->model->pods[p];
            const uint32_t n = state_find_node(w, pod->node);
            if (!state_is_held(pod) || set_of(job->is, pod) != job->asks[a].set ||
                !same_ask(pod, &w->model->pods[job->asks[a].first])) {
                continue;
            }
            uint64_t mask = 0;
            if (n == ORR_NONE || w->model->nodes[n].allocatable.v[IMPORT_GPU] > 64 ||
                !fits(&w->places[n], &pod->request.vec) ||
                !seat_devices(w, pod, &w->places[n], &mask)) {
                good = false;
                continue;
            }
            for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
                w->places[n].left[r] -= pod->request.vec.v[r];
            }
            job->anywhere = job->anywhere || !may_be_on(pod, &w->model->nodes[n]);
            (void)fputs(blank, out);
            put_seat(out, pod->node, mask);
            blank = " ";
        }
    }
    (void)fclose(out);
    return good;
}

/* --- how long they run --- */

static orr_ms run_ms(struct state_writer *w, const struct job *job, orr_ms age_ms)
{
    const struct orr_snapshot_rest *rest = w->rest;
    if (job->held > 0 && job->leaving == job->held) {
        state_tell(w, "leaving", "jobs that are being deleted: they hold their room for 30 s more",
                   1);
        return age_ms + LEAVES_MS;
    }
    if (job->kind == ORR_KIND_INFERENCE) {
        state_tell(w, "services", "jobs that serve: they go on beyond the horizon", 1);
        return FOREVER_MS;
    }
    if (w->durations == NULL) {
        state_tell(
            w, job->held > 0 ? "remaining" : "run-times",
            job->held > 0
                ? "jobs that run: how long they go on is not in a snapshot, taken as --remaining"
                : "jobs that wait: how long they run is not in a snapshot, taken as --run-time",
            1);
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
    state_tell(w, job->held > 0 ? "remaining" : "run-times",
               job->held > 0
                   ? "jobs that run: how long they go on is drawn from the history, given their "
                     "age"
                   : "jobs that wait: how long they run is drawn from the history",
               1);
    return drawn.run_ms > age_ms ? drawn.run_ms : age_ms + 1000;
}

static void open_history(struct state_writer *w)
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

/* --- what they ask --- */

static char *selector_of(struct state_writer *w, const struct import_pod *pod)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const char *mark = "";
    IMPORT_EACH(want, pod->selector)
    {
        (void)fprintf(out, "%s%s=%s", mark, want->key, want->kind == IMPORT_TEXT ? want->text : "");
        mark = ";";
    }
    const struct import_value *required =
        import_get(pod->affinity, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    if (required != NULL) {
        char *canonical = import_canonical(required);
        const uint32_t a = orr_idmap_find(&w->affinities, canonical, strlen(canonical));
        (void)fprintf(out, "%saffinity-%u=yes", mark, (unsigned)a + 1);
        orr_free(canonical);
    }
    (void)fclose(out);
    return text;
}

static char *tolerations_of(const struct import_pod *pod)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const char *mark = "";
    IMPORT_EACH(it, pod->tolerations)
    {
        const char *key = import_label(it, "key"), *value = import_label(it, "value");
        const char *effect = import_label(it, "effect"), *op = import_label(it, "operator");
        const bool exists = op != NULL && strcmp(op, "Exists") == 0;
        if (effect != NULL && strcmp(effect, "PreferNoSchedule") == 0) {
            continue;
        }
        if (key == NULL || key[0] == '\0') {
            (void)fprintf(out, "%s%s", exists ? mark : "", exists ? "*" : "");
        } else {
            (void)fprintf(out, "%s%s", mark, key);
            if (!exists && value != NULL && value[0] != '\0') {
                (void)fprintf(out, "=%s", value);
            }
            if (effect != NULL && effect[0] != '\0') {
                (void)fprintf(out, ":%s", effect);
            }
        }
        mark = ";";
    }
    (void)fclose(out);
    return text;
}

static const char *level_named(struct state_writer *w, const char *topology, const char *label)
{
    if (label == NULL || w->topology == NULL || strcmp(topology, w->topology->name) != 0) {
        if (label != NULL) {
            state_tell(w, "levels",
                       "jobs or subgroups that ask for a level which is not carried over", 1);
        }
        return NULL;
    }
    for (uint32_t l = 0; l < w->topology->level_count; l++) {
        const char *alias = w->topology->aliases[l];
        if (alias != NULL && strcmp(alias, label) == 0) {
            label = w->topology->labels[l];
        }
    }
    for (uint32_t l = 0; l < STATE_LEVELS; l++) {
        if (w->levels[l] != NULL && strcmp(w->levels[l], label) == 0) {
            return state_level_names[l];
        }
    }
    return strcmp(label, "kubernetes.io/hostname") == 0 ? "node" : NULL;
}

/* --- rows --- */

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

/* Pods of a set that start together. */
static uint32_t min_of(const struct job *job, uint32_t set)
{
    uint32_t pods = 0;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        pods += job->asks[a].set == set ? job->asks[a].pods : 0;
    }
    const int64_t min = job->is->sets[set].min;
    return min < 0 || min > pods ? pods : (uint32_t)min;
}

static bool has_gang(const struct job *job)
{
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        uint32_t held = 0;
        for (uint32_t a = 0; a < job->ask_count; a++) {
            held += job->asks[a].set == s ? job->asks[a].held : 0;
        }
        if (job->is->sets[s].is_pods && held < min_of(job, s)) {
            return false;
        }
    }
    return true;
}

struct levels {
    const char *required, *preferred;
};

static struct levels levels_of(struct state_writer *w, const struct orr_constraint *constraint)
{
    struct levels levels = {0};
    if (constraint->topology != NULL) {
        levels.required = level_named(w, constraint->topology, constraint->required);
        levels.preferred = level_named(w, constraint->topology, constraint->preferred);
    }
    return levels;
}

/* What pods that are alike ask, as keys of a role. */
static void put_role(struct state_writer *w, FILE *out, const struct job *job,
                     const struct ask *ask, uint32_t min)
{
    const struct import_pod *pod = &w->model->pods[ask->first];
    const struct import_request *request = &pod->request;
    char *selector = selector_of(w, pod), *tolerations = tolerations_of(pod);
    (void)fprintf(out, "{pods: %u, min: %u, cpu: %" PRId64 "m, memory: %" PRId64 "Mi",
                  (unsigned)ask->pods, (unsigned)min, request->vec.v[IMPORT_CPU],
                  request->vec.v[IMPORT_MEMORY] / ORR_MIB);
    if (request->kind == ORR_ASK_FRACTION) {
        (void)fprintf(out, ", gpu_fraction: %.3f, gpu_devices: %u", request->portion,
                      (unsigned)request->devices);
    } else if (request->kind == ORR_ASK_MEMORY) {
        (void)fprintf(out, ", gpu_memory: %" PRId64 "Mi, gpu_devices: %u", request->memory_mib,
                      (unsigned)request->devices);
    } else {
        (void)fprintf(out, ", gpus_per_pod: %" PRId64, request->vec.v[IMPORT_GPU]);
    }
    if (selector[0] != '\0' && !job->anywhere) {
        (void)fputs(", node_selector: ", out);
        orr_put_quoted(out, selector);
    }
    if (tolerations[0] != '\0' || job->anywhere) {
        (void)fputs(", tolerations: ", out);
        orr_put_quoted(out, job->anywhere ? "*" : tolerations);
    }
    const struct levels levels = levels_of(w, &job->is->sets[ask->set].constraint);
    if (levels.required != NULL || levels.preferred != NULL) {
        (void)fprintf(out, ", topology: {%s%s%s%s%s}", levels.required != NULL ? "required: " : "",
                      levels.required != NULL ? levels.required : "",
                      levels.required != NULL && levels.preferred != NULL ? ", " : "",
                      levels.preferred != NULL ? "preferred: " : "",
                      levels.preferred != NULL ? levels.preferred : "");
    }
    (void)fputs("}", out);
    orr_free(selector);
    orr_free(tolerations);
}

/* The name of the template that the job's roles make, written at the end. */
static const char *template_of(struct state_writer *w, const struct job *job)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    uint32_t subgroups = 0, nested = 0;
    bool mixed = false;
    ORR_ASSERT(out != NULL);
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        subgroups += job->is->sets[s].parent == 0;
        nested += job->is->sets[s].parent != 0;
    }
    (void)fputs("{", out);
    const int64_t needs = job->is->sets[0].min;
    if (needs >= 0 && needs < subgroups && nested == 0) {
        (void)fprintf(out, "min_subgroups: %" PRId64 ", ", needs);
    }
    (void)fputs("roles: {", out);
    uint32_t *rest = orr_zalloc(job->is->set_count + (size_t)1, sizeof *rest);
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        rest[s] = min_of(job, s);
    }
    for (uint32_t a = 0; a < job->ask_count; a++) {
        const struct ask *ask = &job->asks[a];
        const uint32_t min = rest[ask->set] < ask->pods ? rest[ask->set] : ask->pods;
        rest[ask->set] -= min;
        mixed = mixed || (min < ask->pods && a > 0 && job->asks[a - 1].set == ask->set);
        (void)fprintf(out, "%sr%u: ", a > 0 ? ", " : "", (unsigned)a + 1);
        put_role(w, out, job, ask, min);
    }
    (void)fputs("}}", out);
    (void)fclose(out);
    orr_free(rest);
    if (nested > 0) {
        state_tell(w, "nested",
                   "jobs with subgroups of subgroups: their pods need one another as if all "
                   "were of the job itself",
                   1);
    }
    if (mixed) {
        state_tell(w, "mixed",
                   "subgroups of pods that differ, of which some suffice: the first ones are "
                   "taken for those",
                   1);
    }
    const uint32_t index = orr_idmap_put(&w->templates, text, strlen(text), NULL);
    orr_free(text);
    return import_format(w->load, "t%u", (unsigned)index + 1);
}

static void put_seconds(FILE *out, orr_ms ms)
{
    char text[32];
    (void)orr_format_seconds(text, ms);
    (void)fprintf(out, "%s", text);
}

#define HEADER                                                                                     \
    "job,submit_s,run_s,template,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,gpu_devices,"       \
    "cpu_milli,mem_mib,min_pods,queue,kind,priority,preemptible,node_selector,tolerations,"        \
    "topology_required,topology_preferred,running_since_s,running_on\n"

/* The cells from pods to min_pods of pods that are all alike. */
static void put_shape(struct state_writer *w, const struct job *job)
{
    const struct ask *ask = &job->asks[0];
    const struct import_request *request = &w->model->pods[ask->first].request;
    const uint32_t min = min_of(job, ask->set);
    (void)fprintf(w->trace, ",%u,", (unsigned)ask->pods);
    if (request->kind == ORR_ASK_FRACTION) {
        (void)fprintf(w->trace, ",%.3f,,%u", request->portion, (unsigned)request->devices);
    } else if (request->kind == ORR_ASK_MEMORY) {
        (void)fprintf(w->trace, ",,%" PRId64 ",%u", request->memory_mib,
                      (unsigned)request->devices);
    } else {
        (void)fprintf(w->trace, "%" PRId64 ",,,", request->vec.v[IMPORT_GPU]);
    }
    (void)fprintf(w->trace, ",%" PRId64 ",%" PRId64 ",", request->vec.v[IMPORT_CPU],
                  request->vec.v[IMPORT_MEMORY] / ORR_MIB);
    if (min < ask->pods) {
        (void)fprintf(w->trace, "%u", (unsigned)(min > 0 ? min : 1));
    }
}

static void write_row(struct state_writer *w, struct job *job)
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
    put_seconds(w->trace, run_ms(w, job, job->on == NULL ? 0 : -since));
    (void)fprintf(w->trace, ",%s", plain ? "" : template_of(w, job));
    if (plain) {
        put_shape(w, job);
    } else {
        (void)fputs(",,,,,,,,", w->trace);
    }
    (void)fputc(',', w->trace);
    put_cell(w->trace, is->queue);
    (void)fprintf(w->trace, ",%s,%" PRId64 ",%s,", orr_kind_name(job->kind), is->priority,
                  is->preemptible ? "true" : "false");
    char *selector = selector_of(w, &w->model->pods[job->asks[0].first]);
    char *tolerations = tolerations_of(&w->model->pods[job->asks[0].first]);
    put_cell(w->trace, plain && !job->anywhere ? selector : "");
    (void)fputc(',', w->trace);
    put_cell(w->trace, !plain ? "" : job->anywhere ? "*" : tolerations);
    orr_free(selector);
    orr_free(tolerations);
    const struct levels own = plain ? levels_of(w, &is->sets[1].constraint) : (struct levels){0};
    const struct levels all = levels_of(w, &is->sets[0].constraint);
    const char *required = all.required != NULL ? all.required : own.required;
    const char *preferred = all.preferred != NULL ? all.preferred : own.preferred;
    (void)fprintf(w->trace, ",%s,%s,", required != NULL ? required : "",
                  preferred != NULL ? preferred : "");
    if (job->on != NULL) {
        put_seconds(w->trace, since);
    }
    (void)fputc(',', w->trace);
    put_cell(w->trace, job->on != NULL ? job->on : "");
    (void)fputc('\n', w->trace);
}

/* MIG, and other resources that a run does not know. */
static bool asks_mig(struct state_writer *w, const struct job *job)
{
    bool mig = false, other = false;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        const struct import_request *request = &w->model->pods[job->asks[a].first].request;
        for (uint32_t r = 0; r < w->model->resources.count; r++) {
            const bool asked = request->vec.v[IMPORT_EXTENDED + r] > 0;
            const bool is_mig = strstr(orr_idmap_name(&w->model->resources, r), "/mig-") != NULL;
            mig = mig || (asked && is_mig);
            other = other || (asked && !is_mig);
        }
    }
    if (mig) {
        state_tell(w, "mig",
                   "jobs that ask for MIG instances: they are left out, for runs do not know "
                   "them yet",
                   1);
    } else if (other) {
        state_tell(w, "resources",
                   "jobs that ask for resources other than CPU, memory and GPUs: these "
                   "are passed over",
                   1);
    }
    return mig;
}

/* Can a run hold jobs of its queue? */
static bool has_queue(struct state_writer *w, const struct import_job *job)
{
    const struct import_model *model = w->model;
    bool leaf = orr_idmap_find(&model->queue_names, job->queue, strlen(job->queue)) != ORR_NONE;
    for (uint32_t q = 0; q < model->queue_count && leaf; q++) {
        leaf = strcmp(model->queues[q].parent, job->queue) != 0;
    }
    if (!leaf) {
        state_tell(w, "queues",
                   "jobs of a queue that is not there, or has children: they are left out", 1);
    }
    return leaf;
}

static void collect_pods(struct state_writer *w, struct job *job)
{
    bool gated = true;
    for (uint32_t p = job->is->first_pod; p != ORR_NONE; p = w->model->pods[p].next) {
        const struct import_pod *pod = &w->model->pods[p];
        const uint32_t set = set_of(job->is, pod);
        if (set != ORR_NONE && (waits(pod) || state_is_held(pod))) {
            add_pod(job, w->model, p, set);
            gated = gated && pod->status == ORR_TASK_GATED;
        }
    }
    if (job->ask_count > 0 && gated) {
        state_tell(w, "gated", "jobs whose pods have scheduling gates: they are left out", 1);
        job->ask_count = 0;
    }
    for (uint32_t a = 0; a < job->ask_count; a++) { /* pods that are still to be made */
        const int64_t min = job->is->sets[job->asks[a].set].min;
        if (job->ask_count == 1 && min > job->asks[a].pods) {
            job->asks[a].pods = (uint32_t)min;
            state_tell(w, "missing-pods", "gangs whose pods are not all there: taken as whole", 1);
        }
    }
}

static void write_job(struct state_writer *w, const struct import_job *is)
{
    struct job job = {.is = is, .kind = kind_of(is), .since_ms = is->created_s * 1000};
    collect_pods(w, &job);
    if (job.ask_count > 0 && has_queue(w, is) && !asks_mig(w, &job)) {
        const bool gang = job.held > 0 && has_gang(&job);
        if (job.held > 0 && !gang) {
            state_tell(w, "below-gang",
                       "gangs of which fewer pods run than they need: they wait here, "
                       "and what they hold is free",
                       1);
            job.held = job.leaving = 0;
        }
        if (gang && !seat_job(w, &job)) {
            state_tell(w, "no-seat",
                       "jobs that cannot be where they are (a node that is not there, or "
                       "more than it has): they wait here",
                       1);
            orr_free(job.on);
            job.on = NULL;
            job.held = 0;
        }
        w->out->running += job.on != NULL;
        w->out->waiting += job.on == NULL;
        if (job.anywhere) {
            state_tell(w, "elsewhere",
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
}

static int by_age(const void *a, const void *b, void *context)
{
    const struct state_writer *w = context;
    const struct import_job *x = &w->model->jobs[*(const uint32_t *)a];
    const struct import_job *y = &w->model->jobs[*(const uint32_t *)b];
    return x->created_s != y->created_s ? (x->created_s < y->created_s ? -1 : 1)
                                        : strcmp(x->name, y->name);
}

void state_write_jobs(struct state_writer *w)
{
    const struct import_model *model = w->model;
    open_history(w);
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
