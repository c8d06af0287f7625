/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_hooks.c - hooks of kai from a shared object, each of their calls under guard. */
#include <orrery/policies/kai_hooks.h>

#include <dlfcn.h>
#include <string.h>

#include "plugin_int.h"

struct orr_plugin__hooks {
    struct orr_kai_hooks guards;
    const struct orr_kai_hooks *own;
    char *name; /* as it was asked for */
    void *library;
    int64_t timeout_s;
};

static void enter(const struct orr_plugin__hooks *hooks, const char *call)
{
    orr_plugin__enter(hooks->name, hooks->timeout_s, call);
}

/* --- the guards: `self` is what `open` made --- */

struct guarded {
    const struct orr_plugin__hooks *hooks;
    void *self; /* the plug-in's */
};

static void guard_close(void *self)
{
    struct guarded *g = self;
    if (g->hooks->own->close != NULL) {
        enter(g->hooks, "close");
        g->hooks->own->close(g->self);
        orr_plugin__leave();
    }
    orr_free(g);
}

static double guard_node_score(void *self, const struct orr_view *view, uint32_t job,
                               uint32_t group, const struct orr_kai_node *node)
{
    const struct guarded *g = self;
    enter(g->hooks, "node_score");
    const double score = g->hooks->own->node_score(g->self, view, job, group, node);
    orr_plugin__leave();
    return score;
}

static int guard_queue_order(void *self, const struct orr_view *view, const struct orr_kai_queue *a,
                             const struct orr_kai_queue *b)
{
    const struct guarded *g = self;
    enter(g->hooks, "queue_order");
    const int sign = g->hooks->own->queue_order(g->self, view, a, b);
    orr_plugin__leave();
    return sign;
}

static int guard_job_order(void *self, const struct orr_view *view, uint32_t a, uint32_t b)
{
    const struct guarded *g = self;
    enter(g->hooks, "job_order");
    const int sign = g->hooks->own->job_order(g->self, view, a, b);
    orr_plugin__leave();
    return sign;
}

static int guard_victim_order(void *self, const struct orr_view *view, uint32_t a, uint32_t b)
{
    const struct guarded *g = self;
    enter(g->hooks, "victim_order");
    const int sign = g->hooks->own->victim_order(g->self, view, a, b);
    orr_plugin__leave();
    return sign;
}

static bool guard_victim_filter(void *self, const struct orr_view *view, enum orr_action action,
                                uint32_t preemptor, uint32_t victim)
{
    const struct guarded *g = self;
    enter(g->hooks, "victim_filter");
    const bool may = g->hooks->own->victim_filter(g->self, view, action, preemptor, victim);
    orr_plugin__leave();
    return may;
}

/* *self is the object that was given to orr_kai_use_hooks. */
static enum orr_status guard_open(const struct orr_host *host, const char *with,
                                  const struct orr_view *view, void **self, struct orr_err *err)
{
    struct guarded *g = orr_alloc(1, sizeof *g);
    *g = (struct guarded){.hooks = *self, .self = (void *)(uintptr_t)host};
    enum orr_status status = ORR_OK;
    if (g->hooks->own->open != NULL) {
        enter(g->hooks, "open");
        status = g->hooks->own->open(host, with, view, &g->self, err);
        orr_plugin__leave();
    }
    if (status != ORR_OK) {
        const char *name = g->hooks->name;
        orr_free(g);
        return orr_plugin__said(status, "hooks", name, "open", err);
    }
    *self = g;
    return ORR_OK;
}

/* --- loading --- */

#define HAS(own, slot)   ((own)->size > offsetof(struct orr_kai_hooks, slot) && (own)->slot != NULL)
#define GUARD(own, slot) (HAS(own, slot) ? guard_##slot : NULL)

static enum orr_status look_at(const char *name, const struct orr_kai_hooks *own,
                               struct orr_err *err)
{
    if (own == NULL || own->abi != ORR_KAI_HOOKS_ABI) {
        return orr_fail(err, ORR_SCENARIO,
                        "hooks %s: are made for another version of kai's hooks, this is version "
                        "%u; compile them again with the headers of this program "
                        "(orrery/policies/kai_hooks.h)",
                        name, ORR_KAI_HOOKS_ABI);
    }
    if (own->size < offsetof(struct orr_kai_hooks, node_score) || own->name == NULL) {
        return orr_fail(err, ORR_SCENARIO, "hooks %s: their table has no name", name);
    }
    if (!HAS(own, node_score) && !HAS(own, queue_order) && !HAS(own, job_order) &&
        !HAS(own, victim_order) && !HAS(own, victim_filter)) {
        return orr_fail(err, ORR_SCENARIO,
                        "hooks %s: their table has none of node_score, queue_order, job_order, "
                        "victim_order, victim_filter",
                        name);
    }
    return ORR_OK;
}

static enum orr_status load(struct orr_plugin__hooks *made, const char *folder, struct orr_err *err)
{
    orr_kai_hooks_entry_fn *entry;
    void *symbol;
    const enum orr_status status =
        orr_plugin__library_open(made->name, folder, ORR_KAI_HOOKS_ENTRY, "hooks", made->timeout_s,
                                 &made->library, &symbol, err);
    if (status != ORR_OK) {
        return status;
    }
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    enter(made, ORR_KAI_HOOKS_ENTRY);
    made->own = entry(ORR_KAI_HOOKS_ABI);
    orr_plugin__leave();
    return look_at(made->name, made->own, err);
}

enum orr_status orr_plugin__hooks_open(const char *name, const char *folder,
                                       struct orr_plugin__hooks **hooks, struct orr_err *err)
{
    struct orr_plugin__hooks *made = orr_zalloc(1, sizeof *made);
    made->name = orr_strdup(name);
    enum orr_status status = orr_plugin__timeout_s(&made->timeout_s, err);
    status = status == ORR_OK ? load(made, folder, err) : status;
    if (status != ORR_OK) {
        orr_plugin__hooks_close(made);
        return status;
    }
    made->guards = (struct orr_kai_hooks){.abi = ORR_KAI_HOOKS_ABI,
                                          .size = sizeof made->guards,
                                          .name = made->name,
                                          .open = guard_open,
                                          .close = guard_close,
                                          .node_score = GUARD(made->own, node_score),
                                          .queue_order = GUARD(made->own, queue_order),
                                          .job_order = GUARD(made->own, job_order),
                                          .victim_order = GUARD(made->own, victim_order),
                                          .victim_filter = GUARD(made->own, victim_filter)};
    *hooks = made;
    return ORR_OK;
}

void orr_plugin__hooks_close(struct orr_plugin__hooks *hooks)
{
    if (hooks != NULL) {
        orr_plugin__unguard();
        if (hooks->library != NULL) {
            (void)dlclose(hooks->library);
        }
        orr_free(hooks->name);
        orr_free(hooks);
    }
}

void orr_plugin__hooks_bind(struct orr_plugin__hooks *hooks, void *params)
{
    orr_kai_use_hooks(params, &hooks->guards, hooks);
}
