/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_object.c - a policy from a shared object, each of its calls under guard.
 *
 * The host sees a table of guards. Its parameters begin with a pointer to the object, the policy's
 * own follow: so a guard finds whom to call, also where there is no state yet. */
#include "plugin_int.h"

#include <dlfcn.h>
#include <string.h>

#define HEAD sizeof(max_align_t) /* before the policy's own parameters */

struct orr_plugin__object {
    struct orr_policy policy; /* the guards */
    const struct orr_policy *own;
    struct orr_param *rows;
    char *name; /* as it was asked for */
    void *library;
    int64_t timeout_s;
};

struct guarded { /* the state that the host holds */
    struct orr_plugin__object *object;
    void *state;
    struct orr_err fault; /* of its wish for a cycle; the run ends of it */
};

static struct orr_plugin__object *object_of(const void *params)
{
    return *(struct orr_plugin__object *const *)params;
}

static void enter(const struct orr_plugin__object *object, const char *call)
{
    orr_plugin__enter(object->name, object->timeout_s, call);
}

static const void *own_params(const void *params)
{
    return (const char *)params + HEAD;
}

#define HAS(policy, slot) ((policy)->size > offsetof(struct orr_policy, slot) && (policy)->slot)

/* The call, and what it returns. */
#define GUARDED(type, object, name, call)                                                          \
    do {                                                                                           \
        enter(object, name);                                                                       \
        const type answer = call;                                                                  \
        orr_plugin__leave();                                                                       \
        return answer;                                                                             \
    } while (0)

#define GUARDED_VOID(object, name, call)                                                           \
    do {                                                                                           \
        enter(object, name);                                                                       \
        call;                                                                                      \
        orr_plugin__leave();                                                                       \
    } while (0)

/* --- the guards --- */

static enum orr_status guard_open(const struct orr_host *host, const void *params,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    struct guarded *g = orr_zalloc(1, sizeof *g);
    g->object = object_of(params);
    enter(g->object, "open");
    const enum orr_status status =
        g->object->own->open(host, own_params(params), view, &g->state, err);
    orr_plugin__leave();
    if (status != ORR_OK) {
        const char *name = g->object->name;
        orr_free(g);
        return orr_plugin__said(status, "policy", name, "open", err);
    }
    *state = g;
    return ORR_OK;
}

static void guard_event(void *state, const struct orr_view *view, enum orr_job_event event,
                        uint32_t job)
{
    const struct guarded *g = state;
    GUARDED_VOID(g->object, "event", g->object->own->event(g->state, view, event, job));
}

static void guard_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    const struct guarded *g = state;
    GUARDED_VOID(g->object, "cycle", g->object->own->cycle(g->state, view, txn));
}

static orr_ms guard_wake(void *state, const struct orr_view *view)
{
    struct guarded *g = state;
    enter(g->object, "wake");
    const orr_ms wake = g->object->own->wake(g->state, view);
    orr_plugin__leave();
    if (wake > view->now) {
        return wake;
    }
    (void)orr_fail(&g->fault, ORR_PLUGIN,
                   "policy %s: its wake returned %lld ms, which is not after now (%lld ms); "
                   "ORR_MS_NEVER is no wish; no results are kept",
                   g->object->name, (long long)wake, (long long)view->now);
    return ORR_MS_NEVER;
}

static void guard_close(void *state)
{
    struct guarded *g = state;
    GUARDED_VOID(g->object, "close", g->object->own->close(g->state));
    orr_free(g);
}

static void guard_node(void *state, const struct orr_view *view, uint32_t node)
{
    const struct guarded *g = state;
    GUARDED_VOID(g->object, "node", g->object->own->node(g->state, view, node));
}

static void guard_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    const struct guarded *g = state;
    GUARDED_VOID(g->object, "queue", g->object->own->queue(g->state, view, queue));
}

static enum orr_status guard_audit(void *state, const struct orr_view *view, struct orr_err *err)
{
    const struct guarded *g = state;
    GUARDED(enum orr_status, g->object, "audit", g->object->own->audit(g->state, view, err));
}

static bool guard_shares(void *state, const struct orr_view *view, double *mgpu)
{
    const struct guarded *g = state;
    GUARDED(bool, g->object, "shares", g->object->own->shares(g->state, view, mgpu));
}

static bool guard_shares_of(void *state, const struct orr_view *view, enum orr_share_kind kind,
                            double *amounts)
{
    const struct guarded *g = state;
    GUARDED(bool, g->object, "shares_of", g->object->own->shares_of(g->state, view, kind, amounts));
}

static bool guard_cost(void *state, uint32_t nth, struct orr_policy_cost *cost)
{
    const struct guarded *g = state;
    GUARDED(bool, g->object, "cost", g->object->own->cost(g->state, nth, cost));
}

static bool guard_pruned(void *state, uint32_t nth, struct orr_policy_pruned *pruned)
{
    const struct guarded *g = state;
    GUARDED(bool, g->object, "pruned", g->object->own->pruned(g->state, nth, pruned));
}

static bool guard_failed(void *state, struct orr_err *err)
{
    const struct guarded *g = state;
    if (g->fault.status != ORR_OK) {
        return orr_fail(err, ORR_PLUGIN, "%s", g->fault.text) != ORR_OK;
    }
    if (!HAS(g->object->own, failed)) {
        return false;
    }
    GUARDED(bool, g->object, "failed", g->object->own->failed(g->state, err));
}

static void guard_watch(void *state, const struct orr_watcher *watcher)
{
    const struct guarded *g = state;
    GUARDED_VOID(g->object, "watch", g->object->own->watch(g->state, watcher));
}

static uint32_t guard_narrows(void *state, const struct orr_view *view, uint32_t job,
                              uint32_t group)
{
    const struct guarded *g = state;
    GUARDED(uint32_t, g->object, "narrows", g->object->own->narrows(g->state, view, job, group));
}

static const uint64_t *guard_nodes(void *state, const struct orr_view *view, uint32_t job)
{
    const struct guarded *g = state;
    enter(g->object, "nodes");
    const uint64_t *nodes = g->object->own->nodes(g->state, view, job);
    orr_plugin__leave();
    return nodes;
}

static uint32_t guard_grants(void *state, const struct orr_view *view, uint32_t job)
{
    const struct guarded *g = state;
    GUARDED(uint32_t, g->object, "grants", g->object->own->grants(g->state, view, job));
}

static enum orr_status guard_check(const void *params, struct orr_err *err)
{
    const struct orr_plugin__object *object = object_of(params);
    enter(object, "check");
    const enum orr_status status = object->own->check(own_params(params), err);
    orr_plugin__leave();
    return orr_plugin__said(status, "policy", object->name, "check", err);
}

static uint32_t guard_laws(const void *params)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED(uint32_t, object, "laws_with", object->own->laws_with(own_params(params)));
}

static uint32_t guard_heeds(const void *params)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED(uint32_t, object, "heeds", object->own->heeds(own_params(params)));
}

static orr_ms guard_stale_grace_ms(const void *params)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED(orr_ms, object, "stale_grace_ms", object->own->stale_grace_ms(own_params(params)));
}

static bool guard_suspends(const void *params)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED(bool, object, "suspends", object->own->suspends(own_params(params)));
}

static bool guard_starts_least(const void *params, const struct orr_shape *shape)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED(bool, object, "starts_least", object->own->starts_least(own_params(params), shape));
}

static struct orr_bar guard_bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED(struct orr_bar, object, "bars", object->own->bars(own_params(params), view, job));
}

static void guard_bars_of(const void *params, const struct orr_view *view, const uint32_t *jobs,
                          uint32_t count, struct orr_bar *bars)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED_VOID(object, "bars_of",
                 object->own->bars_of(own_params(params), view, jobs, count, bars));
}

static void guard_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED_VOID(object, "remarks", object->own->remarks(own_params(params), say, context));
}

static void guard_unheeded(const void *params, const struct orr_view *view, orr_policy_say_fn *say,
                           void *context)
{
    const struct orr_plugin__object *object = object_of(params);
    GUARDED_VOID(object, "unheeded", object->own->unheeded(own_params(params), view, say, context));
}

/* --- loading --- */

#define GUARD(slot, guard) (made->policy.slot = HAS(own, slot) ? (guard) : NULL)

static void put_guards(struct orr_plugin__object *made)
{
    const struct orr_policy *own = made->own;
    uint32_t count = 0;
    /* a slot that is not taken over here is one that the policy does not have */
    made->policy = (struct orr_policy){.abi = own->abi,
                                       .size = sizeof made->policy,
                                       .name = own->name,
                                       .summary = own->summary,
                                       .laws = own->laws,
                                       .cycle_ms = own->cycle_ms,
                                       .aliases = HAS(own, aliases) ? own->aliases : NULL,
                                       .presets = HAS(own, presets) ? own->presets : NULL,
                                       .round_ms = orr_policy_round_ms(own)};
    if (own->size > offsetof(struct orr_policy, abilities)) {
        made->policy.abilities = own->abilities;
    }
    while (own->params[count].name != NULL) {
        count++;
    }
    made->rows = orr_alloc((size_t)count + 1, sizeof *made->rows);
    memcpy(made->rows, own->params, ((size_t)count + 1) * sizeof *made->rows);
    for (uint32_t i = 0; i < count; i++) {
        made->rows[i].offset += HEAD;
    }
    made->policy.params = made->rows;
    made->policy.params_bytes = own->params_bytes + HEAD;
    made->policy.open = guard_open;
    made->policy.event = guard_event;
    made->policy.cycle = guard_cycle;
    made->policy.close = guard_close;
    made->policy.failed = guard_failed;
    GUARD(wake, guard_wake);
    GUARD(check, guard_check);
    GUARD(laws_with, guard_laws);
    GUARD(node, guard_node);
    GUARD(audit, guard_audit);
    GUARD(queue, guard_queue);
    GUARD(heeds, guard_heeds);
    GUARD(shares, guard_shares);
    GUARD(bars, guard_bars);
    GUARD(stale_grace_ms, guard_stale_grace_ms);
    GUARD(cost, guard_cost);
    GUARD(shares_of, guard_shares_of);
    GUARD(pruned, guard_pruned);
    GUARD(watch, guard_watch);
    GUARD(suspends, guard_suspends);
    GUARD(bars_of, guard_bars_of);
    GUARD(remarks, guard_remarks);
    GUARD(unheeded, guard_unheeded);
    GUARD(narrows, guard_narrows);
    GUARD(nodes, guard_nodes);
    GUARD(grants, guard_grants);
    GUARD(starts_least, guard_starts_least);
}

/* Has the row a type, with choices where that needs some, and does its value lie within the
 * parameters? */
static bool is_row(const struct orr_param *row, size_t params_bytes)
{
    size_t bytes = 0;
    switch (row->type) {
    case ORR_PARAM_BOOL: bytes = sizeof(bool); break;
    case ORR_PARAM_CHOICE:
        if (row->choices == NULL) {
            return false;
        }
        bytes = sizeof(int64_t);
        break;
    case ORR_PARAM_INT:
    case ORR_PARAM_TIME: bytes = sizeof(int64_t); break;
    case ORR_PARAM_REAL: bytes = sizeof(double); break;
    case ORR_PARAM_TEXT: bytes = sizeof(const char *); break;
    }
    return bytes > 0 && bytes <= params_bytes && row->offset <= params_bytes - bytes;
}

static enum orr_status refuse_row(const char *name, const struct orr_param *row,
                                  struct orr_err *err)
{
    return orr_fail(err, ORR_SCENARIO,
                    "policy %s: parameter %s: its type, its choices or its offset is wrong, which "
                    "with its bytes is to lie within `params_bytes`",
                    name, row->name);
}

/* Is each default a value of its parameter? */
static enum orr_status look_at_rows(const char *name, const struct orr_policy *own,
                                    struct orr_err *err)
{
    void *values = orr_zalloc(own->params_bytes + 1, 1);
    struct orr_err wrong = {0};
    enum orr_status status = ORR_OK;
    for (const struct orr_param *row = own->params; row->name != NULL; row++) {
        if (!is_row(row, own->params_bytes)) {
            orr_free(values);
            return refuse_row(name, row, err);
        }
    }
    for (const struct orr_param *row = own->params; status == ORR_OK && row->name != NULL; row++) {
        status = row->fallback == NULL && row->type != ORR_PARAM_TEXT
                     ? orr_fail(&wrong, ORR_SCENARIO, "parameter %s: has no default", row->name)
                     : orr_params_set(own->params, values, row->name, row->fallback, &wrong);
    }
    orr_free(values);
    return status == ORR_OK
               ? ORR_OK
               : orr_fail(err, ORR_SCENARIO, "policy %s: the default of %s", name, wrong.text);
}

/* Whatever it returned as its table: nothing of it is used before it has been looked at. */
static enum orr_status look_at(const char *name, const struct orr_policy *own, struct orr_err *err)
{
    static const char advice[] = "compile it again with the headers of this program "
                                 "(orrery/core/policy.h)";
    if (own == NULL || own->abi != ORR_POLICY_ABI) {
        return orr_fail(err, ORR_SCENARIO,
                        "policy %s: is made for another version of the policy contract, this is "
                        "version %u; %s",
                        name, ORR_POLICY_ABI, advice);
    }
    if (own->size < offsetof(struct orr_policy, check)) {
        return orr_fail(err, ORR_SCENARIO, "policy %s: its table has %u bytes, of at least %zu; %s",
                        name, (unsigned)own->size, offsetof(struct orr_policy, check), advice);
    }
    const char *lacks = own->name == NULL      ? "name"
                        : own->summary == NULL ? "summary"
                        : own->params == NULL  ? "params"
                        : own->open == NULL    ? "open"
                        : own->event == NULL   ? "event"
                        : own->cycle == NULL   ? "cycle"
                        : own->close == NULL   ? "close"
                                               : NULL;
    if (lacks != NULL) {
        return orr_fail(err, ORR_SCENARIO, "policy %s: its table has no `%s`", name, lacks);
    }
    const char *fault = orr_plugin__name_fault(own->name);
    return fault == NULL
               ? look_at_rows(name, own, err)
               : orr_fail(err, ORR_SCENARIO, "policy %s: the `name` of its table %s", name, fault);
}

static enum orr_status load(struct orr_plugin__object *made, const char *folder,
                            struct orr_err *err)
{
    orr_policy_entry_fn *entry;
    void *symbol;
    const enum orr_status status =
        orr_plugin__library_open(made->name, folder, ORR_POLICY_ENTRY, "policy", made->timeout_s,
                                 &made->library, &symbol, err);
    if (status != ORR_OK) {
        return status;
    }
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    enter(made, ORR_POLICY_ENTRY);
    made->own = entry(ORR_POLICY_ABI);
    orr_plugin__leave();
    return look_at(made->name, made->own, err);
}

enum orr_status orr_plugin__object_open(const char *name, const char *folder,
                                        struct orr_plugin__object **object, struct orr_err *err)
{
    struct orr_plugin__object *made = orr_zalloc(1, sizeof *made);
    made->name = orr_strdup(name);
    enum orr_status status = orr_plugin__timeout_s(&made->timeout_s, err);
    status = status == ORR_OK ? load(made, folder, err) : status;
    if (status != ORR_OK) {
        orr_plugin__object_close(made);
        return status;
    }
    put_guards(made);
    *object = made;
    return ORR_OK;
}

void orr_plugin__object_close(struct orr_plugin__object *object)
{
    if (object != NULL) {
        orr_plugin__unguard();
        if (object->library != NULL) {
            (void)dlclose(object->library);
        }
        orr_free(object->rows);
        orr_free(object->name);
        orr_free(object);
    }
}

const struct orr_policy *orr_plugin__object_policy(const struct orr_plugin__object *object)
{
    return &object->policy;
}

void orr_plugin__object_bind(struct orr_plugin__object *object, void *params)
{
    memcpy(params, &object, sizeof object);
}
