/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One cycle on what was read.
 *
 *   read_inputs    files -> documents -> model
 *   configure      the input's settings, then the user's -> the policy's parameters
 *   import_build   model -> session
 *   orr_kai_run    the cycle
 *   answer         decisions, waiting jobs, queues, features, notes: all copied out of the session
 */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/policies/kai.h>
#include <orrery/policies/registry.h>
#include <orrery/traces/source.h>

#include "answer.h"
#include "model.h"
#include "state.h"

#define INPUT_BYTES_MAX ((size_t)2 << 30)

/* --- reading --- */

enum orr_status import_read_file(struct import_load *load,
                                 const struct orr_snapshot_options *options, uint32_t index,
                                 struct import_file **out)
{
    char *text = NULL;
    size_t bytes = 0;
    const char *path = "snapshot";
    if (options->text != NULL) {
        text = orr_strndup(options->text, options->text_bytes);
        bytes = options->text_bytes;
    } else {
        path = options->paths[index];
        enum orr_status status =
            orr_source_read_all(path, INPUT_BYTES_MAX, &text, &bytes, load->err);
        if (status != ORR_OK) {
            return status;
        }
    }
    enum orr_status status = import_parse(load, path, text, bytes, out);
    orr_free(text);
    return status;
}

/* All inputs of the options; sets `now` if they do not. */
static enum orr_status read_inputs(struct import_model *model,
                                   const struct orr_snapshot_options *options)
{
    model->now = options->now;
    struct import_load *load = model->load;
    const uint32_t count = options->text != NULL ? 1 : options->path_count;
    struct import_file **files =
        orr_arena_alloc(load->arena, count + (size_t)1, sizeof(struct import_file *));
    uint32_t documents = 0;
    for (uint32_t f = 0; f < count; f++) {
        enum orr_status status = import_read_file(load, options, f, &files[f]);
        if (status != ORR_OK) {
            return status;
        }
        documents += files[f]->documents->count;
    }
    if (documents == 0) {
        return orr_fail(load->err, ORR_DATA, "%s: there is nothing in it",
                        options->text != NULL ? "snapshot" : options->paths[0]);
    }
    const struct import_value *first = files[0]->documents->first;
    if (first != NULL && import_is_own(first)) {
        if (documents > 1) {
            import_fail(load, first, "a Snapshot stands alone: one document in one file");
        } else {
            import_read_own(model, first);
        }
    } else {
        import_read_kube(model, files, count, options);
    }
    if (import_ok(load) && model->node_count + model->queue_count + model->pod_count == 0) {
        return orr_fail(load->err, ORR_DATA, "%s: no node, queue or pod is in it",
                        options->text != NULL ? "snapshot" : options->paths[0]);
    }
    if (model->node_count == 0) {
        import_note(model, "no node is in the input");
    }
    model->now = model->now != ORR_MS_NONE      ? model->now
                 : model->newest != ORR_MS_NONE ? model->newest
                                                : 0;
    return load->err->status;
}

/* --- parameters --- */

bool import_leaves_out(struct import_model *model, const struct orr_policy *policy,
                       const struct import_param *param)
{
    const struct orr_param_alias *word = orr_policy_word(policy, param->name, param->value);
    const struct orr_param *row = policy->params;
    while (row->name != NULL && strcmp(row->name, param->name) != 0) {
        row++;
    }
    if (!param->optional || row->name != NULL ||
        (word != NULL && word->name != NULL && word->name[0] != '\0')) {
        return false;
    }
    import_note(model, "setting %s = %s %s: %s", param->name, param->value,
                word != NULL && word->name != NULL ? "is not heeded" : "has no effect here",
                word != NULL ? word->why : "it is not a word of version 0.17");
    return true;
}

/* The user's word last: it wins. */
static enum orr_status configure(struct import_model *model, const struct orr_policy *policy,
                                 const struct orr_snapshot_options *options, void *params,
                                 struct orr_err *err)
{
    struct orr_setting *settings =
        orr_zalloc(model->param_count + options->param_count + (size_t)1, sizeof *settings);
    size_t count = 0;
    for (uint32_t i = 0; i < model->param_count; i++) {
        const struct import_param *param = &model->params[i];
        if (import_leaves_out(model, policy, param)) {
            continue;
        }
        settings[count++] = (struct orr_setting){
            .name = param->name, .value = param->value, .origin = param->origin};
    }
    for (uint32_t i = 0; i < options->param_count; i++) {
        const char *text = options->params[i], *equals = strchr(text, '=');
        if (equals == NULL) {
            orr_free(settings);
            return orr_fail(err, ORR_USAGE, "--set %s: write NAME=VALUE", text);
        }
        settings[count++] = (struct orr_setting){
            .name = orr_arena_strndup(model->load->arena, text, (size_t)(equals - text)),
            .value = equals + 1,
            .origin = "--set"};
    }
    enum orr_status status = orr_policy_configure(policy, params, settings, count, err);
    orr_free(settings);
    return status;
}

bool import_has_plugin(const void *context, const char *name)
{
    const struct import_value *tiers = context;
    IMPORT_EACH(tier, tiers)
    {
        IMPORT_EACH(plugin, import_get(tier, "plugins"))
        {
            const char *given = import_label(plugin, "name");
            if (given != NULL && strcmp(given, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* --- the cycle --- */

static bool is_true(const struct orr_policy *policy, const void *params, const char *name)
{
    for (const struct orr_param *row = policy->params; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            char text[64];
            orr_params_format(row, params, text, sizeof text);
            return strcmp(text, "true") == 0;
        }
    }
    return true;
}

/* What the policy of a run adds to KAI's rules, which a single session does not know: refused
 * where it is set. */
static enum orr_status refuse_of_runs(const struct orr_policy *policy, const void *params,
                                      struct orr_err *err)
{
    static const char *const names[] = {"hooks", "victim_order", "ageing", "reservation"};
    void *defaults = orr_zalloc(1, policy->params_bytes);
    enum orr_status status = ORR_OK;
    orr_params_init(policy->params, defaults);
    for (const struct orr_param *row = policy->params; row->name != NULL; row++) {
        for (size_t i = 0; i < sizeof names / sizeof *names && status == ORR_OK; i++) {
            char text[256], usual[256];
            orr_params_format(row, params, text, sizeof text);
            orr_params_format(row, defaults, usual, sizeof usual);
            if (strcmp(row->name, names[i]) == 0 && strcmp(text, usual) != 0) {
                status = orr_fail(err, ORR_USAGE,
                                  "%s: heeded in runs only; run the snapshot: orrery run SNAPSHOT",
                                  row->name);
            }
        }
    }
    orr_free(defaults);
    return status;
}

/* Pods hold more of a node than it has: a mistake in a snapshot that was written by hand, or a node
 * that lost devices. */
static void note_overfull(struct import_model *model, const struct orr_session *session)
{
    static const struct {
        uint32_t slot;
        int64_t unit;
        const char *name;
    } kinds[] = {{ORR_SLOT_GPU, ORR_MGPU, "GPUs"},
                 {ORR_SLOT_CPU, 1, "milli-CPU"},
                 {ORR_SLOT_MEMORY, 1, "bytes of memory"},
                 {ORR_SLOT_PODS, 1, "pods"}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const struct orr_snode *first = NULL;
        uint32_t count = 0;
        for (uint32_t n = 0; n < session->node_count; n++) {
            const struct orr_snode *node = &session->nodes[n];
            if (node->idle.v[kinds[k].slot] < 0) {
                first = first == NULL ? node : first;
                count++;
            }
        }
        if (first != NULL) {
            const double has = (double)first->allocatable.v[kinds[k].slot],
                         over = -(double)first->idle.v[kinds[k].slot];
            import_note(model,
                        "%u node%s hold%s more %s than %s: node %.100s has %.10g, its pods hold "
                        "%.10g",
                        count, ORR_PLURAL(count), ORR_ONE(count, "s", ""), kinds[k].name,
                        ORR_ONE(count, "it has", "they have"), first->name,
                        has / (double)kinds[k].unit, (has + over) / (double)kinds[k].unit);
        }
    }
}

static void run_cycle(struct import_model *model, const struct orr_policy *policy,
                      const void *params, struct orr_snapshot *out)
{
    struct orr_session session;
    orr_session_init(&session);
    orr_kai_set_rules(params, &session.rules);
    if (model->plugins != NULL) {
        orr_kai_set_plugins(&session.rules, import_has_plugin, model->plugins);
    }
    if (!is_true(policy, params, "full_hierarchy_fairness")) {
        import_flatten_queues(model);
    }
    session.rules.reserves_shared = model->reserves;
    import_build(model, &session);
    session.details = orr_zalloc(session.job_count + (size_t)1, sizeof *session.details);
    enum orr_action actions[ORR_ACTIONS];
    const uint32_t count = orr_kai_actions(params, actions);
    orr_session_open(&session, model->now);
    note_overfull(model, &session);
    import_answer_start(model, &session, out);
    orr_kai_run(&session, actions, count);
    import_answer(model, &session, out);
    orr_session_close(&session);
    orr_free(session.details);
    orr_session_release(&session);
}

static enum orr_status schedule(struct import_model *model,
                                const struct orr_snapshot_options *options,
                                struct orr_snapshot *out, struct orr_err *err)
{
    const char *name = options->policy != NULL ? options->policy : "kai";
    const struct orr_policy *policy = orr_policy_find(name);
    if (policy == NULL) {
        return orr_fail(err, ORR_USAGE, "unknown policy \"%s\"; `orrery policies` lists them",
                        name);
    }
    if (strcmp(name, "kai") != 0) {
        return orr_fail(err, ORR_USAGE,
                        "policy %s decides in runs only; a snapshot is decided by kai, objects of "
                        "Kueue by kueue",
                        name);
    }
    enum orr_status status = read_inputs(model, options);
    if (status != ORR_OK) {
        return status;
    }
    void *params = orr_zalloc(1, policy->params_bytes);
    status = configure(model, policy, options, params, err);
    if (status == ORR_OK) {
        status = refuse_of_runs(policy, params, err);
    }
    if (status == ORR_OK) {
        out->policy = policy->name;
        run_cycle(model, policy, params, out);
    }
    orr_free(params);
    return status;
}

static enum orr_status run_once(const struct orr_snapshot_options *options,
                                struct orr_snapshot *out, struct orr_err *err)
{
    struct orr_err local = {0};
    struct orr_arena arena;
    struct import_load load = {.arena = &arena, .err = err != NULL ? err : &local};
    struct import_model model;
    *out = (struct orr_snapshot){0};
    orr_arena_init(&out->arena);
    orr_arena_init(&arena);
    import_model_init(&model, &load);
    enum orr_status status = schedule(&model, options, out, load.err);
    import_model_release(&model);
    orr_arena_release(&arena);
    return status;
}

/* --- what hangs on a defect of v0.17 --- */

/* As the real scheduler, so far as it is soon done: with more scenarios nothing is said. */
static const char *const as_v017[] = {"strict_v017=true", "scenarioSearchBudgets.action=300"};

static bool is_same(const struct orr_snapshot_decision *a, const struct orr_snapshot_decision *b)
{
    const bool evicts = strcmp(a->kind, "evict") == 0; /* from where it is */
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->action, b->action) == 0 &&
           strcmp(a->pod, b->pod) == 0 && strcmp(a->job, b->job) == 0 &&
           (evicts || strcmp(a->node, b->node) == 0);
}

/* The first decision of one answer that the other lacks. */
static const struct orr_snapshot_decision *first_alone(const struct orr_snapshot *one,
                                                       const struct orr_snapshot *other)
{
    for (uint32_t i = 0; i < one->decision_count; i++) {
        bool found = i < other->decision_count && is_same(&one->decisions[i], &other->decisions[i]);
        for (uint32_t k = 0; k < other->decision_count && !found; k++) {
            found = is_same(&one->decisions[i], &other->decisions[k]);
        }
        if (!found) {
            return &one->decisions[i];
        }
    }
    return NULL;
}

static bool was_cut_short(const struct orr_snapshot *answer)
{
    for (uint32_t w = 0; w < answer->waiting_count; w++) {
        for (int s = 0; s < ORR_SNAPSHOT_SEARCHES; s++) {
            const char *code = answer->waiting[w].searches[s].code;
            if (code != NULL && strcmp(code, orr_outcome_code(ORR_OUTCOME_SPENT)) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void add_note(struct orr_snapshot *out, const char *who,
                     const struct orr_snapshot_decision *d)
{
    const size_t bytes = 200 + strlen(d->pod) + strlen(d->node == NULL ? "" : d->node);
    char *text = orr_arena_alloc(&out->arena, bytes, 1);
    (void)snprintf(text, bytes,
                   "a decision hangs on a defect of KAI v0.17 (strict_v017, `orrery policies "
                   "kai`): only %s would %s %s%s%s (%s)",
                   who, d->kind, d->pod, d->node == NULL ? "" : " on ",
                   d->node == NULL ? "" : d->node, d->action);
    struct orr_snapshot_note *notes =
        orr_arena_alloc(&out->arena, out->note_count + (size_t)1, sizeof *notes);
    for (uint32_t i = 0; i < out->note_count; i++) {
        notes[i] = out->notes[i];
    }
    notes[out->note_count] = (struct orr_snapshot_note){.text = text, .count = 1};
    out->notes = notes;
    out->note_count++;
}

/* Decides a second time with the defects, unless the first time or the budget was the user's. */
static void compare_with_v017(const struct orr_snapshot_options *options, struct orr_snapshot *out)
{
    const size_t added = sizeof as_v017 / sizeof as_v017[0];
    const char **params = orr_alloc(options->param_count + added, sizeof *params);
    bool stated = false;
    for (size_t i = 0; i < options->param_count; i++) {
        params[i] = options->params[i];
        stated = stated || strncmp(params[i], "strict_v017=", 12) == 0 ||
                 strncmp(params[i], "scenarioSearchBudgets.", 22) == 0;
    }
    for (size_t i = 0; i < added; i++) {
        params[options->param_count + i] = as_v017[i];
    }
    struct orr_snapshot_options again = *options;
    again.params = params;
    again.param_count = options->param_count + (uint32_t)added;
    struct orr_err ignored = {0};
    struct orr_snapshot other;
    if (!stated && run_once(&again, &other, &ignored) == ORR_OK) {
        const struct orr_snapshot_decision *ours = first_alone(out, &other);
        const struct orr_snapshot_decision *theirs = first_alone(&other, out);
        if (!was_cut_short(&other) && (ours != NULL || theirs != NULL)) {
            add_note(out, theirs != NULL ? "the real v0.17" : "this answer",
                     theirs != NULL ? theirs : ours);
        }
    }
    if (!stated) {
        orr_snapshot_release(&other);
    }
    orr_free(params);
}

enum orr_status orr_snapshot_run(const struct orr_snapshot_options *options,
                                 struct orr_snapshot *out, struct orr_err *err)
{
    const enum orr_status status = run_once(options, out, err);
    if (status == ORR_OK) {
        compare_with_v017(options, out);
    }
    return status;
}

void orr_snapshot_release(struct orr_snapshot *schedule)
{
    orr_arena_release(&schedule->arena);
}

/* --- as a scenario --- */

/* A packed file is known by its name: unpacking it would cost as much as reading it. */
static bool is_packed_json(const char *path)
{
    static const char *const ends[] = {".json.gz", ".json.zst", ".json.xz", ".json.bz2"};
    const size_t bytes = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t end = strlen(ends[i]);
        if (bytes > end && strcmp(path + bytes - end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A scenario may be written as JSON too. */
static bool is_scenario(const char *head)
{
    static const char *const words[] = {"Scenario", "\"cluster\"", "\"workload\"", "\"extends\""};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(head, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static size_t read_head(const char *path, char *head, size_t most)
{
    FILE *file = fopen(path, "rb");
    const size_t bytes = file == NULL ? 0 : fread(head, 1, most - 1, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    head[bytes] = '\0';
    return bytes;
}

bool orr_snapshot_is_scenario(const char *path)
{
    static const char *const keys[] = {"kind: Scenario", "\ncluster:", "\nworkload:", "\nextends:"};
    char head[4096] = "\n";
    (void)read_head(path, head + 1, sizeof head - 1);
    bool found = head[1] == '{' && is_scenario(head);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        found = found || strstr(head, keys[i]) != NULL;
    }
    return found && !orr_snapshot_is_one(path);
}

bool orr_snapshot_is_one(const char *path)
{
    char head[4096];
    const size_t bytes = read_head(path, head, sizeof head);
    if (strlen(path) > 4 && strcmp(path + strlen(path) - 4, ".zip") == 0 && bytes > 43 &&
        memcmp(head, "PK", 2) == 0) { /* one file, named in its header */
        return memcmp(head + 30, "snapshot.json", 13) == 0;
    }
    const size_t mark = strncmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* as some shells write it */
    const char *first = head + mark + strspn(head + mark, " \t\r\n");
    return is_packed_json(path) ||
           (*first == '{' && strstr(head, "\"") != NULL && !is_scenario(head)) ||
           strstr(head, "kind: List") != NULL || strstr(head, "kind: Snapshot") != NULL;
}

enum orr_status orr_snapshot_write(const struct orr_snapshot_options *options,
                                   const struct orr_snapshot_rest *rest, const char *trace_name,
                                   FILE *scenario, FILE *trace, struct orr_snapshot_state *out,
                                   struct orr_err *err)
{
    struct orr_err local = {0};
    struct orr_arena arena;
    struct import_load load = {.arena = &arena, .err = err != NULL ? err : &local};
    struct import_model model;
    *out = (struct orr_snapshot_state){0};
    orr_arena_init(&out->arena);
    orr_arena_init(&arena);
    import_model_init(&model, &load);
    enum orr_status status = read_inputs(&model, options);
    if (status == ORR_OK && model.node_count == 0) { /* one cycle says why all wait; no run can */
        status = orr_fail(load.err, ORR_DATA,
                          "%s: no node is in it%s%s, and no run is without: `kubectl get "
                          "nodes,queues,podgroups,pods -A -o json` prints nodes too",
                          options->paths[0], options->shard != NULL ? " of shard " : "",
                          options->shard != NULL ? options->shard : "");
    }
    if (status == ORR_OK) {
        status = import_write_state(&model, rest, trace_name, scenario, trace, out);
    }
    import_model_release(&model);
    orr_arena_release(&arena);
    return status;
}

void orr_snapshot_state_release(struct orr_snapshot_state *state)
{
    orr_arena_release(&state->arena);
}
