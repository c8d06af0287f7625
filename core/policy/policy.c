/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/policy.h>

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/core/place.h>

const struct orr_host *orr_policy_host(void)
{
    static const struct orr_host host = {
        .abi = ORR_POLICY_ABI,
        .size = sizeof host,
        .place = orr_txn_place,
        .pipeline = orr_txn_pipeline,
        .evict = orr_txn_evict,
        .checkpoint = orr_txn_checkpoint,
        .rollback = orr_txn_rollback,
        .explain = orr_txn_explain,
        .place_consolidated = orr_place_consolidated,
        .best_fit = orr_ledger_best_fit,
        .most_idle = orr_ledger_most_idle,
        .room_for = orr_ledger_room_for,
        .alloc = orr_zalloc,
        .free = orr_free,
        .prove = orr_ledger_prove,
        .explain_by = orr_txn_explain_by,
        .place_on = orr_txn_place_on,
        .evict_for = orr_txn_evict_for,
        .evict_tasks = orr_txn_evict_tasks,
        .suspend = orr_txn_suspend,
        .resume = orr_txn_resume,
        .progress = orr_view_progress,
        .rate_at = orr_view_rate_at,
    };
    return &host;
}

/* milli-GPU of the tasks that a job keeps. */
static int64_t kept_mgpu(const struct orr_view *view, uint32_t job)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    int64_t sum = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold == ORR_HOLD_KEPT) {
            sum += placement->tasks *
                   orr_request_task_mgpu(&shape->groups[placement->group].request,
                                         orr_cluster_type(view->cluster, placement->node));
        }
    }
    return sum;
}

struct orr_job_progress orr_view_progress(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const bool runs = view->jobs[job].phase == ORR_JOB_RUNNING;
    const orr_ms ran = runs ? view->now - view->jobs[job].start_ms : 0;
    struct orr_job_progress progress = {.work_ms = spec->work_ms,
                                        .done_ms = ran,
                                        .rate_ppm = runs ? ORR_PPM : 0,
                                        .deadline_ms = ORR_MS_NONE};
    if (view->work != NULL && view->work->progress != NULL) {
        view->work->progress(view->work->self, view, job, &progress);
    } else {
        progress.service = runs ? ran * kept_mgpu(view, job) : 0;
    }
    if (view->work != NULL && view->work->deadline_ms != NULL) {
        progress.deadline_ms = view->work->deadline_ms(view->work->self, view, job);
    }
    if (progress.work_ms > 0) {
        progress.estimate_error_ppm =
            (int64_t)(((double)spec->estimate_ms / (double)progress.work_ms - 1.0) * ORR_PPM);
    }
    progress.estimated_left_ms = spec->estimate_ms - progress.done_ms;
    return progress;
}

int64_t orr_view_rate_at(const struct orr_view *view, uint32_t job, const struct orr_seat *seats,
                         uint32_t count)
{
    return view->work == NULL || view->work->rate_at == NULL
               ? ORR_PPM
               : view->work->rate_at(view->work->self, view, job, seats, count);
}

/* A slot that the policy's table is long enough to have. */
#define HAS(policy, slot) ((policy)->size > offsetof(struct orr_policy, slot) && (policy)->slot)

uint32_t orr_policy_laws(const struct orr_policy *policy, const void *params)
{
    return HAS(policy, laws_with) ? policy->laws_with(params) : policy->laws;
}

bool orr_policy_suspends(const struct orr_policy *policy, const void *params)
{
    return HAS(policy, suspends) && policy->suspends(params);
}

void orr_policy_unheeded(const struct orr_policy *policy, const void *params,
                         const struct orr_view *view, orr_policy_say_fn *say, void *context)
{
    if (HAS(policy, unheeded)) {
        policy->unheeded(params, view, say, context);
    }
}

bool orr_policy_starts_least(const struct orr_policy *policy, const void *params,
                             const struct orr_shape *shape)
{
    return HAS(policy, starts_least) && policy->starts_least(params, shape);
}

uint32_t orr_policy_narrows(const struct orr_policy *policy, void *state,
                            const struct orr_view *view, uint32_t job, uint32_t group)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    return HAS(policy, narrows) ? policy->narrows(state, view, job, group)
                                : shape->groups[group].request.allowed;
}

const uint64_t *orr_policy_nodes(const struct orr_policy *policy, void *state,
                                 const struct orr_view *view, uint32_t job)
{
    return HAS(policy, nodes) ? policy->nodes(state, view, job) : NULL;
}

uint32_t orr_policy_grants(const struct orr_policy *policy, void *state,
                           const struct orr_view *view, uint32_t job)
{
    const uint32_t lacks = orr_ledger_lacks(view->ledger, job);
    const uint32_t granted = HAS(policy, grants) ? policy->grants(state, view, job) : lacks;
    return granted < lacks ? granted : lacks;
}

orr_ms orr_policy_stale_grace_ms(const struct orr_policy *policy, const void *params)
{
    if (!orr_policy_able(policy, ORR_ABLE_STALE_GANGS)) {
        return 0;
    }
    return HAS(policy, stale_grace_ms) ? policy->stale_grace_ms(params) : ORR_MS_NEVER;
}

uint32_t orr_policy_heeds(const struct orr_policy *policy, const void *params)
{
    const uint32_t stated = HAS(policy, heeds) ? policy->heeds(params) : 0;
    const bool limits = (orr_policy_laws(policy, params) & ORR_LAW_LIMIT) != 0;
    return stated | (limits ? ORR_HEEDS_LIMITS : 0);
}

bool orr_policy_shares(const struct orr_policy *policy, void *state, const struct orr_view *view,
                       enum orr_share_kind kind, double *amounts)
{
    return HAS(policy, shares_of) ? policy->shares_of(state, view, kind, amounts)
                                  : policy->shares(state, view, amounts);
}

bool orr_policy_cost(const struct orr_policy *policy, void *state, uint32_t nth,
                     struct orr_policy_cost *cost)
{
    return HAS(policy, cost) && policy->cost(state, nth, cost);
}

bool orr_policy_pruned(const struct orr_policy *policy, void *state, uint32_t nth,
                       struct orr_policy_pruned *pruned)
{
    return HAS(policy, pruned) && policy->pruned(state, nth, pruned);
}

bool orr_policy_failed(const struct orr_policy *policy, void *state, struct orr_err *err)
{
    return HAS(policy, failed) && policy->failed(state, err);
}

enum orr_status orr_policy_fail_late(const char *policy, uint32_t job, struct orr_err *err)
{
    return orr_fail(err, ORR_PLUGIN,
                    "policy %s takes no job that was not known when it was opened, and job %u is "
                    "one: open a ledger and the policy anew",
                    policy, (unsigned)job);
}

bool orr_policy_may_bar(const struct orr_policy *policy)
{
    return HAS(policy, bars_of) || HAS(policy, bars);
}

void orr_policy_bars_of(const struct orr_policy *policy, const void *params,
                        const struct orr_view *view, const uint32_t *jobs, uint32_t count,
                        struct orr_bar *bars)
{
    if (HAS(policy, bars_of)) {
        policy->bars_of(params, view, jobs, count, bars);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        bars[i] = HAS(policy, bars) ? policy->bars(params, view, jobs[i])
                                    : (struct orr_bar){.reason = ORR_REASON_NONE};
    }
}

struct orr_bar orr_policy_bars(const struct orr_policy *policy, const void *params,
                               const struct orr_view *view, uint32_t job)
{
    struct orr_bar bar = {.reason = ORR_REASON_NONE};
    orr_policy_bars_of(policy, params, view, &job, 1, &bar);
    return bar;
}

/* Does the pattern, up to its "=", stand for the name? At most one star a part between dots. */
static bool stands_for(const char *pattern, const char *name)
{
    while (*pattern != '\0' && *pattern != '=') {
        if (*pattern == '*') {
            pattern++;
            const size_t most = strcspn(name, "."), rest = strcspn(pattern, ".=");
            if (most < rest || memcmp(name + most - rest, pattern, rest) != 0 || most == rest) {
                return false;
            }
            name += most;
            pattern += rest;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

static bool is_row(const struct orr_policy *policy, const char *name)
{
    const struct orr_param *row = policy->params;
    while (row->name != NULL && strcmp(row->name, name) != 0) {
        row++;
    }
    return row->name != NULL;
}

const struct orr_param_alias *orr_policy_word(const struct orr_policy *policy, const char *name,
                                              const char *value)
{
    const struct orr_param_alias *word = HAS(policy, aliases) ? policy->aliases : NULL;
    if (word == NULL || is_row(policy, name)) {
        return NULL;
    }
    for (; word->alias != NULL; word++) {
        const char *only = strchr(word->alias, '=');
        if (stands_for(word->alias, name) && (only == NULL || strcmp(only + 1, value) == 0)) {
            return word;
        }
    }
    return NULL;
}

static enum orr_status set(const struct orr_policy *policy, void *params, const char *name,
                           const char *value, struct orr_err *err)
{
    const struct orr_param_alias *word = orr_policy_word(policy, name, value);
    if (word == NULL) {
        return orr_params_set(policy->params, params, name, value, err);
    }
    if (word->name == NULL) {
        return ORR_OK;
    }
    if (word->name[0] == '\0') {
        return orr_fail(err, ORR_SCENARIO, "parameter %s: \"%s\" is refused: %s", name, value,
                        word->why);
    }
    return orr_params_set(policy->params, params, word->name, value, err);
}

static enum orr_status unknown_preset(const struct orr_policy *policy, const char *name,
                                      struct orr_err *err)
{
    const char *names[32];
    size_t count = 0;
    for (const struct orr_preset *p = policy->presets; p->name != NULL && count < 32; p++) {
        names[count++] = p->name;
    }
    const char *near = orr_nearest(name, names, count);
    return orr_fail(err, ORR_SCENARIO, "unknown preset \"%s\"%s%s%s", name,
                    near == NULL ? "" : " (did you mean \"", near == NULL ? "" : near,
                    near == NULL ? "" : "\"?)");
}

static enum orr_status apply_preset(const struct orr_policy *policy, void *params, const char *name,
                                    struct orr_err *err)
{
    const struct orr_preset *preset = policy->presets;
    while (preset->name != NULL && strcmp(preset->name, name) != 0) {
        preset++;
    }
    if (preset->name == NULL) {
        return unknown_preset(policy, name, err);
    }
    enum orr_status status = ORR_OK;
    for (const char *const *s = preset->settings; s[0] != NULL && status == ORR_OK; s += 2) {
        status = set(policy, params, s[0], s[1], err);
    }
    return status;
}

/* "spread, no-reclaim" */
static enum orr_status apply_presets(const struct orr_policy *policy, void *params,
                                     const char *list, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    while (*list != '\0' && status == ORR_OK) {
        char name[64];
        list += strspn(list, ", ");
        const size_t bytes = strcspn(list, ", ");
        (void)snprintf(name, sizeof name, "%.*s", (int)(bytes < 63 ? bytes : 63), list);
        list += bytes;
        if (bytes > 0) {
            status = apply_preset(policy, params, name, err);
        }
    }
    return status;
}

static bool is_preset(const struct orr_policy *policy, const struct orr_setting *setting)
{
    return HAS(policy, presets) && strcmp(setting->name, ORR_PRESET_PARAM) == 0;
}

enum orr_status orr_policy_configure(const struct orr_policy *policy, void *params,
                                     const struct orr_setting *settings, size_t count,
                                     struct orr_err *err)
{
    orr_params_init(policy->params, params);
    for (size_t i = 0; i < 2 * count; i++) { /* presets, then the others */
        const struct orr_setting *s = &settings[i % count];
        enum orr_status status = ORR_OK;
        if (is_preset(policy, s) && i < count) {
            status = apply_presets(policy, params, s->value, err);
        } else if (!is_preset(policy, s) && i >= count) {
            status = set(policy, params, s->name, s->value, err);
        }
        if (status != ORR_OK) {
            orr_err_prefix(err, "%s: policy %s", s->origin == NULL ? "policy.params" : s->origin,
                           policy->name);
            return status;
        }
    }
    enum orr_status status = HAS(policy, check) ? policy->check(params, err) : ORR_OK;
    if (status != ORR_OK && !orr_policy_place(policy, settings, count, err)) {
        /* no single one is to blame: the first shows the place */
        orr_err_prefix(err, "%s: policy %s",
                       count == 0 || settings[0].origin == NULL ? "policy.params"
                                                                : settings[0].origin,
                       policy->name);
    }
    return status;
}

/* The setting whose name begins the text. */
static const struct orr_setting *named_in(const char *text, const struct orr_setting *settings,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = strlen(settings[i].name);
        if (strncmp(text, settings[i].name, bytes) == 0 && text[bytes] == ':') {
            return &settings[i];
        }
    }
    return NULL;
}

bool orr_policy_place(const struct orr_policy *policy, const struct orr_setting *settings,
                      size_t count, struct orr_err *err)
{
    const struct orr_setting *setting = err == NULL ? NULL : named_in(err->text, settings, count);
    if (setting == NULL) {
        return false;
    }
    const size_t file = orr_setting_file_bytes(setting);
    const char *rest = err->text + strlen(setting->name);
    const char *end = rest[1] == '<' ? strchr(rest, '>') : NULL; /* a file within that one */
    if (end != NULL && end[1] == ':') {
        char placed[sizeof err->text];
        (void)snprintf(placed, sizeof placed, "%.*s%s", (int)(end - rest - 2), rest + 2, end + 1);
        memcpy(err->text, placed, sizeof placed);
    } else if (file > 0 && rest[1] >= '0' && rest[1] <= '9') {
        char placed[sizeof err->text];
        (void)snprintf(placed, sizeof placed, "%.*s%s", (int)file, setting->origin, rest);
        memcpy(err->text, placed, sizeof placed);
    } else {
        orr_err_prefix(err, "%s: policy %s",
                       setting->origin == NULL ? "policy.params" : setting->origin, policy->name);
    }
    return true;
}

struct remarks {
    const struct orr_policy *policy;
    const struct orr_setting *settings;
    size_t count;
    orr_policy_say_fn *say;
    void *context;
};

static void say_placed(const char *text, void *context)
{
    const struct remarks *remarks = context;
    struct orr_err remark = {0};
    (void)orr_fail(&remark, ORR_DATA, "%s", text);
    (void)orr_policy_place(remarks->policy, remarks->settings, remarks->count, &remark);
    remarks->say(remark.text, remarks->context);
}

/* What a policy places by; NULL: it has no such parameters. */
static const struct orr_placer_params *placer_params(const struct orr_policy *policy,
                                                     const void *params)
{
    const struct orr_param *row = policy->params;
    while (row != NULL && row->name != NULL && row->choices != orr_placement_names) {
        row++;
    }
    return row == NULL || row->name == NULL
               ? NULL
               : (const struct orr_placer_params *)((const char *)params + row->offset);
}

void orr_policy_remarks(const struct orr_policy *policy, const void *params,
                        const struct orr_setting *settings, size_t count, orr_policy_say_fn *say,
                        void *context)
{
    struct remarks remarks = {policy, settings, count, say, context};
    if (HAS(policy, remarks)) {
        policy->remarks(params, say_placed, &remarks);
    }
    const struct orr_placer_params *placer = placer_params(policy, params);
    if (placer != NULL && placer->typical_jobs > 0 && placer->choice != ORR_PLACEMENT_FGD) {
        say_placed("typical_jobs: bears on nothing: only placement fgd looks at typical tasks",
                   &remarks);
    }
}
