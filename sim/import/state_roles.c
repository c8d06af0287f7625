/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_roles.c - what pods ask, as cells of a row or as the roles of a template. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/sim/yaml.h>

#include "state_int.h"

char *state_selector_of(struct writer *w, const struct import_pod *pod)
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
        mark = ";";
        orr_free(canonical);
    }
    for (uint32_t r = 0; r < w->model->resources.count; r++) {
        const int64_t least = pod->request.vec.v[IMPORT_EXTENDED + r];
        if (least > 0 && !state_counts_profile(w->model, r)) {
            (void)fprintf(out, "%sresource-%u=yes", mark,
                          (unsigned)state_amount_of(w, IMPORT_EXTENDED + r, least) + 1);
            mark = ";";
        }
    }
    if (w->model->restrict_nodes) {
        (void)fprintf(out, "%sworker-%s=yes", mark,
                      pod->request.kind == ORR_ASK_NO_GPU ? "cpu" : "gpu");
    }
    (void)fclose(out);
    return text;
}

char *state_tolerations_of(const struct import_pod *pod)
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

static const char *level_named(struct writer *w, const char *topology, const char *label)
{
    if (label == NULL || w->topology == NULL || strcmp(topology, w->topology->name) != 0) {
        if (label != NULL) {
            state_note(w, "levels",
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
    for (uint32_t l = 0; l < LEVELS; l++) {
        if (w->levels[l] != NULL && strcmp(w->levels[l], label) == 0) {
            return state_level_names[l];
        }
    }
    return strcmp(label, "kubernetes.io/hostname") == 0 ? "node" : NULL;
}

/* What a set of pods needs beside those that are on nodes which are not there. */
int64_t state_least_of(const struct job *job, uint32_t set)
{
    const int64_t min = job->is->sets[set].min;
    return min < 0 ? min : min > job->gone[set] ? min - job->gone[set] : 0;
}

/* Pods of a set that start together. */
uint32_t state_min_of(const struct job *job, uint32_t set)
{
    uint32_t pods = 0;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        pods += job->asks[a].set == set ? job->asks[a].pods : 0;
    }
    const int64_t min = state_least_of(job, set);
    return min < 0 || min > pods ? pods : (uint32_t)min;
}

bool state_has_gang(const struct job *job)
{
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        uint32_t held = 0;
        for (uint32_t a = 0; a < job->ask_count; a++) {
            held += job->asks[a].set == s ? job->asks[a].held : 0;
        }
        if (job->is->sets[s].is_pods && held < state_min_of(job, s)) {
            return false;
        }
    }
    return true;
}

struct levels state_levels_of(struct writer *w, const struct orr_constraint *constraint)
{
    struct levels levels = {0};
    if (constraint->topology != NULL) {
        levels.required = level_named(w, constraint->topology, constraint->required);
        levels.preferred = level_named(w, constraint->topology, constraint->preferred);
    }
    return levels;
}

static void put_levels(FILE *out, const struct levels *levels)
{
    if (levels->required != NULL || levels->preferred != NULL) {
        (void)fprintf(out, "topology: {%s%s%s%s%s}", levels->required != NULL ? "required: " : "",
                      levels->required != NULL ? levels->required : "",
                      levels->required != NULL && levels->preferred != NULL ? ", " : "",
                      levels->preferred != NULL ? "preferred: " : "",
                      levels->preferred != NULL ? levels->preferred : "");
    }
}

/* What pods that are alike ask, as keys of a role. */
static void put_role(struct writer *w, FILE *out, const struct job *job, const struct ask *ask,
                     uint32_t min, const struct levels *levels)
{
    if (ask->first == ORR_NONE) {
        (void)fprintf(out, "{pods: %u, node_selector: \"pods=missing\"}", (unsigned)ask->pods);
        return;
    }
    const struct import_pod *pod = &w->model->pods[ask->first];
    const struct import_request *request = &pod->request;
    const char *instances = state_instances_of(w, pod);
    char *selector = state_selector_of(w, pod), *tolerations = state_tolerations_of(pod);
    (void)fprintf(out, "{pods: %u, min: %u, cpu: %" PRId64 "m, memory: %" PRId64 "Mi",
                  (unsigned)ask->pods, (unsigned)min, request->vec.v[IMPORT_CPU],
                  request->vec.v[IMPORT_MEMORY] / ORR_MIB);
    if (request->kind == ORR_ASK_FRACTION) {
        (void)fprintf(out, ", gpu_fraction: %.3f, gpu_devices: %u", request->portion,
                      (unsigned)request->devices);
    } else if (request->kind == ORR_ASK_MEMORY) {
        (void)fprintf(out, ", gpu_memory: %" PRId64 "Mi, gpu_devices: %u", request->memory_mib,
                      (unsigned)request->devices);
    } else if (instances != NULL) {
        (void)fprintf(out, ", mig_profile: \"%s\"", instances);
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
    if (levels != NULL && (levels->required != NULL || levels->preferred != NULL)) {
        (void)fputs(", ", out);
        put_levels(out, levels);
    }
    (void)fputs("}", out);
    orr_free(selector);
    orr_free(tolerations);
}

/* A set's names from the root on, so that sorting puts each before what is part of it, and siblings
 * by name, as KAI orders them. */
static const char *path_of(struct writer *w, const struct import_job *job, uint32_t set)
{
    const char *path = "";
    for (; set != 0 && set != ORR_NONE; set = job->sets[set].parent) {
        path = import_format(w->load, "\1%s%s", job->sets[set].name, path);
    }
    return path;
}

struct set_place {
    const char *path;
    uint32_t set, depth; /* depth 1: of the job itself */
};

static int by_path(const void *a, const void *b, void *context)
{
    const struct set_place *x = a, *y = b;
    (void)context;
    return strcmp(x->path, y->path);
}

/* The sets that have pods, or have some that have, in the order of a template's roles; caller
 * frees.
 */
static struct set_place *order_sets(struct writer *w, const struct job *job, uint32_t *count)
{
    const struct import_job *is = job->is;
    struct set_place *places = orr_alloc(is->set_count + (size_t)1, sizeof *places);
    bool *has_pods = orr_zalloc(is->set_count + (size_t)1, sizeof *has_pods);
    for (uint32_t a = 0; a < job->ask_count; a++) {
        for (uint32_t s = job->asks[a].set; s != 0 && s != ORR_NONE; s = is->sets[s].parent) {
            has_pods[s] = true;
        }
    }
    *count = 0;
    for (uint32_t s = 1; s < is->set_count; s++) {
        if (has_pods[s]) {
            const char *path = path_of(w, is, s);
            uint32_t depth = 0;
            for (const char *c = path; *c != '\0'; c++) {
                depth += *c == '\1';
            }
            places[(*count)++] = (struct set_place){.path = path, .set = s, .depth = depth};
        }
    }
    orr_free(has_pods);
    orr_sort(places, *count, sizeof *places, by_path, NULL);
    return places;
}

/* Asks in the order of the roles they become, which running_on follows. */
void state_order_asks(struct writer *w, struct job *job)
{
    uint32_t count, made = 0;
    struct set_place *places = order_sets(w, job, &count);
    struct ask *asks = orr_alloc(job->ask_count + (size_t)1, sizeof *asks);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t a = 0; a < job->ask_count; a++) {
            if (job->asks[a].set == places[i].set) {
                asks[made++] = job->asks[a];
            }
        }
    }
    ORR_ASSERT(made == job->ask_count);
    memcpy(job->asks, asks, made * sizeof *asks);
    orr_free(asks);
    orr_free(places);
}

/* How many of its members a set needs, where that is not all of them. */
static void put_min(FILE *out, const struct import_job *job, uint32_t set)
{
    int64_t members = 0;
    for (uint32_t s = 1; s < job->set_count; s++) {
        members += job->sets[s].parent == set;
    }
    const int64_t min = job->sets[set].min;
    if (min > 0 && min < members) {
        (void)fprintf(out, "min_subgroups: %" PRId64 ", ", min);
    }
}

/* A set of pods as one role, or, of pods that differ, as a role of several. */
static void put_pod_set(struct writer *w, FILE *out, const struct job *job, uint32_t set)
{
    const struct levels levels = state_levels_of(w, &job->is->sets[set].constraint);
    uint32_t asks = 0, nr = 0, rest = state_min_of(job, set);
    bool mixed = false;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        asks += job->asks[a].set == set;
    }
    if (asks > 1) {
        (void)fputs("{", out);
        put_levels(out, &levels);
        (void)fputs(levels.required != NULL || levels.preferred != NULL ? ", roles: {" : "roles: {",
                    out);
    }
    for (uint32_t a = 0; a < job->ask_count; a++) {
        const struct ask *ask = &job->asks[a];
        if (ask->set != set) {
            continue;
        }
        const uint32_t min = rest < ask->pods ? rest : ask->pods;
        rest -= min;
        mixed = mixed || (min < ask->pods && asks > 1);
        nr++;
        if (asks > 1) {
            (void)fprintf(out, "%sr%03u: ", nr > 1 ? ", " : "", (unsigned)nr);
        }
        put_role(w, out, job, ask, min, asks > 1 ? NULL : &levels);
    }
    (void)fputs(asks > 1 ? "}}" : "", out);
    if (mixed) {
        state_note(w, "mixed",
                   "subgroups of pods that differ, of which some suffice: the first ones are "
                   "taken for those",
                   1);
    }
}

/* The name of the template that the job's roles make, written at the end. */
const char *state_template_of(struct writer *w, const struct job *job)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    uint32_t count, depth = 1;
    ORR_ASSERT(out != NULL);
    struct set_place *places = order_sets(w, job, &count);
    (void)fputs("{", out);
    put_min(out, job->is, 0);
    (void)fputs("roles: {", out);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t set = places[i].set;
        const bool first = i == 0 || places[i].depth > depth;
        for (; depth > places[i].depth; depth--) {
            (void)fputs("}}", out);
        }
        depth = places[i].depth;
        (void)fprintf(out, "%ss%03u: ", first ? "" : ", ", (unsigned)i + 1);
        if (job->is->sets[set].is_pods) {
            put_pod_set(w, out, job, set);
        } else {
            const struct levels levels = state_levels_of(w, &job->is->sets[set].constraint);
            (void)fputs("{", out);
            put_min(out, job->is, set);
            put_levels(out, &levels);
            (void)fputs(levels.required != NULL || levels.preferred != NULL ? ", roles: {"
                                                                            : "roles: {",
                        out);
        }
    }
    for (; depth > 1; depth--) {
        (void)fputs("}}", out);
    }
    (void)fputs("}}", out);
    (void)fclose(out);
    orr_free(places);
    const uint32_t index = orr_idmap_put(&w->templates, text, strlen(text), NULL);
    orr_free(text);
    return import_format(w->load, "t%u", (unsigned)index + 1);
}
