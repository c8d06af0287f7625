/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a job waits: KAI's reason and the numbers that prove it. */
#include "answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/core/attempt.h>
#include <orrery/core/jobview.h>
#include <orrery/core/reason.h>

const char *import_say(struct orr_snapshot *out, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return orr_arena_strndup(&out->arena, text, strlen(text));
}

static const struct orr_fit_detail *detail_of(const struct orr_session *session, uint32_t index)
{
    const struct orr_fit_detail *own = &session->details[index];
    const uint32_t placement_class = session->jobs[index].placement_class;
    if (own->asked > 0 || placement_class == ORR_NONE) {
        return own;
    }
    for (uint32_t j = 0; j < session->job_count; j++) { /* one was asked for all of its kind */
        if (session->jobs[j].placement_class == placement_class &&
            session->details[j].reason == ORR_FIT_POD_SCHEDULING_ERRORS) {
            return &session->details[j];
        }
    }
    return own;
}

static const char *why_bound(const struct orr_session *session, const struct orr_fit_detail *d,
                             struct orr_snapshot *out)
{
    static const char *const kinds[ORR_SHARE_KINDS] = {
        [ORR_SHARE_CPU] = "milli-CPU", [ORR_SHARE_MEMORY] = "bytes", [ORR_SHARE_GPU] = "GPUs"};
    if (d->queue == ORR_NONE) {
        return "a bound of its queue";
    }
    const bool limit = d->reason == ORR_FIT_OVER_LIMIT;
    const bool one_gpu = d->kind == ORR_SHARE_GPU && d->requested > 0.999 && d->requested < 1.001;
    return import_say(out, "asks %.10g %s; queue %s has %s %.10g and holds %.10g%s", d->requested,
                      one_gpu ? "GPU" : kinds[d->kind], session->queues[d->queue].name,
                      limit ? "limit" : "quota", d->bound, d->held,
                      limit ? "" : " that cannot be preempted");
}

/* --- what is left after the cycle, in GPUs --- */

struct room {
    double all, most;  /* in all; in the one place that has most */
    double largest;    /* of nodes: what one would have if it were empty */
    double closed;     /* the same of nodes that are not ready, or cordoned */
    const char *where; /* a node there; NULL: nothing is left */
};

static void add_place(struct room *room, double free, const char *where)
{
    room->all +=
        free > 0 ? free : 0; /* what was promised beyond what is idle takes from no other */
    if (free > room->most) {
        room->most = free;
        room->where = where;
    }
}

static struct room room_on_nodes(const struct orr_session *session)
{
    struct room room = {0};
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const double whole = (double)node->allocatable.v[ORR_SLOT_GPU] / ORR_MGPU;
        if (!node->ready) {
            room.closed = whole > room.closed ? whole : room.closed;
        } else {
            add_place(&room, (double)node->idle.v[ORR_SLOT_GPU] / ORR_MGPU, node->name);
            room.largest = whole > room.largest ? whole : room.largest;
        }
    }
    return room;
}

static struct room room_on_devices(const struct orr_session *session)
{
    struct room room = {0};
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        if (node->ready && node->idle.v[ORR_SLOT_GPU] >= ORR_MGPU) {
            add_place(&room, 1, node->name);
        }
        for (uint32_t i = 0; node->ready && i < node->shared_count; i++) {
            const int64_t free = node->gpu_memory_mib - node->shared[i].allocated;
            add_place(&room, (double)free / (double)node->gpu_memory_mib, node->name);
        }
    }
    return room;
}

/* Of one device, of nodes that say how much theirs have. */
static int64_t most_memory_mib(const struct orr_session *session)
{
    int64_t most = 0;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        if (!node->ready || !node->has_gpu_memory_label) {
            continue;
        }
        int64_t free = node->idle.v[ORR_SLOT_GPU] >= ORR_MGPU ? node->gpu_memory_mib : 0;
        for (uint32_t i = 0; i < node->shared_count; i++) {
            const int64_t left = node->gpu_memory_mib - node->shared[i].allocated;
            free = left > free ? left : free;
        }
        most = free > most ? free : most;
    }
    return most;
}

static struct room room_in_domains(const struct orr_session *session,
                                   const struct orr_topology_level *level)
{
    struct room room = {0};
    for (uint32_t d = 0; d < level->domain_count; d++) {
        double free = 0;
        const char *where = NULL;
        for (uint32_t n = 0; n < session->node_count; n++) {
            if (level->domain_of_node[n] == d && session->nodes[n].ready) {
                free += (double)session->nodes[n].idle.v[ORR_SLOT_GPU] / ORR_MGPU;
                where = session->nodes[n].name;
            }
        }
        add_place(&room, free, where);
    }
    return room;
}

static const char *gpus_of(double gpus, char out[40])
{
    (void)snprintf(out, 40, "%.10g GPU%s", gpus, ORR_PLURAL(gpus));
    return out;
}

static const char *say_room(const struct orr_session *session, uint32_t task,
                            struct orr_snapshot *out)
{
    const struct orr_ask *ask = task != ORR_NONE ? &session->asks[session->tasks[task].ask] : NULL;
    if (ask != NULL && ask->kind == ORR_ASK_WHOLE) {
        const struct room room = room_on_nodes(session);
        const double asked = (double)ask->request.v[ORR_SLOT_GPU] / ORR_MGPU;
        char gpus[40];
        if (asked > room.largest && asked <= room.closed) {
            return import_say(out,
                              "; it asks %s on one node: one that is not ready or cordoned has "
                              "%.10g, the others no more than %.10g",
                              gpus_of(asked, gpus), room.closed, room.largest);
        }
        if (asked > room.largest) {
            return import_say(out,
                              "; it asks %s on one node, and none has more than %.10g: "
                              "it must be split into smaller pods to run here at all",
                              gpus_of(asked, gpus), room.largest);
        }
        return import_say(out, "; it asks %s, %.10g are left, at most %.10g on one node",
                          gpus_of(asked, gpus), room.all, room.most);
    }
    if (ask != NULL && ask->kind == ORR_ASK_FRACTION) {
        return import_say(out, "; it asks %.10g of %u GPU%s, at most %.10g of one is left",
                          ask->portion, ask->devices, ORR_PLURAL(ask->devices),
                          room_on_devices(session).most);
    }
    if (ask != NULL && ask->kind == ORR_ASK_MEMORY) {
        return import_say(out, "; it asks %lld MiB of %u GPU%s, at most %lld MiB of one are left",
                          (long long)ask->memory_mib, ask->devices, ORR_PLURAL(ask->devices),
                          (long long)most_memory_mib(session));
    }
    return "";
}

static const char *why_nodes(const struct orr_session *session, const struct orr_fit_detail *d,
                             struct orr_snapshot *out)
{
    char text[800];
    int used =
        d->asked == 1
            ? snprintf(text, sizeof text, "no node takes its pod")
            : snprintf(text, sizeof text, "%u of %u pod%s find%s a node, and none takes the next",
                       d->placed, d->asked, ORR_PLURAL(d->asked), ORR_ONE(d->placed, "s", ""));
    for (int m = 1, named = 0; m < ORR_MISFITS; m++) {
        if (d->misfits[m] > 0 && used > 0 && (size_t)used < sizeof text) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s %s on %u of %u",
                             named++ > 0 ? "," : ":", orr_misfit_words((enum orr_misfit)m),
                             d->misfits[m], d->nodes);
        }
    }
    return import_say(out, "%s%s", text, say_room(session, d->task, out));
}

/* --- topology --- */

/* GPUs of the pods at or below a set that the job would start next. */
static double asked_below(const struct orr_session *session, uint32_t job, uint32_t set)
{
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, orr_jobview_whole(job), false, &tasks);
    int64_t sum = 0;
    for (uint32_t i = 0; i < tasks.count; i++) {
        const struct orr_stask *task = &session->tasks[tasks.tasks[i]];
        sum += orr_set_is_below(session, task->set, set)
                   ? session->asks[task->ask].request.v[ORR_SLOT_GPU]
                   : 0;
    }
    orr_task_list_release(&tasks);
    return (double)sum / ORR_MGPU;
}

/* Where a domain has enough GPUs in all: are they in too small parts for one of the pods? */
static const char *say_largest(const struct orr_session *session, uint32_t job, uint32_t set,
                               struct orr_snapshot *out)
{
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, orr_jobview_whole(job), false, &tasks);
    int64_t largest = 0;
    for (uint32_t i = 0; i < tasks.count; i++) {
        const struct orr_stask *task = &session->tasks[tasks.tasks[i]];
        const int64_t asked = session->asks[task->ask].request.v[ORR_SLOT_GPU];
        const bool below = orr_set_is_below(session, task->set, set);
        largest = below && asked > largest ? asked : largest;
    }
    orr_task_list_release(&tasks);
    const double most = room_on_nodes(session).most, one = (double)largest / ORR_MGPU;
    char gpus[40];
    return one > most ? import_say(out, "; a pod asks %s on one node, at most %.10g are left there",
                                   gpus_of(one, gpus), most)
                      : "";
}

/* What the pods at or below a set ask of a resource in all, and in what amounts: pods that are
 * alike take a node's in whole pods, others in any. */
struct want {
    int64_t asked, unit;
};

static struct want want_below(const struct orr_session *session, uint32_t job, uint32_t set,
                              uint32_t slot)
{
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, orr_jobview_whole(job), false, &tasks);
    struct want want = {.unit = -1};
    for (uint32_t i = 0; i < tasks.count; i++) {
        const struct orr_stask *task = &session->tasks[tasks.tasks[i]];
        if (orr_set_is_below(session, task->set, set)) {
            const int64_t each = session->asks[task->ask].request.v[slot];
            want.asked += each;
            want.unit = want.unit == -1 || want.unit == each ? each : 1;
        }
    }
    orr_task_list_release(&tasks);
    want.unit = want.unit > 0 ? want.unit : 1;
    return want;
}

/* What the ready nodes of a domain (level NULL: all nodes) have left of a resource in such amounts.
 */
static int64_t usable_in(const struct orr_session *session, const struct orr_topology_level *level,
                         uint32_t domain, uint32_t slot, int64_t unit)
{
    int64_t sum = 0;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const bool inside = level == NULL || level->domain_of_node[n] == domain;
        sum +=
            node->ready && inside && node->idle.v[slot] > 0 ? node->idle.v[slot] / unit * unit : 0;
    }
    return sum;
}

/* Most that is left of a resource in a domain with enough GPUs; -1: none has enough. */
static int64_t most_beside_gpus(const struct orr_session *session, uint32_t job, uint32_t set,
                                const struct orr_topology_level *level, uint32_t slot)
{
    const struct want gpus = want_below(session, job, set, ORR_SLOT_GPU);
    const struct want want = want_below(session, job, set, slot);
    const uint32_t domains = level == NULL ? 1 : level->domain_count;
    int64_t most = -1;
    for (uint32_t d = 0; d < domains; d++) {
        if (usable_in(session, level, d, ORR_SLOT_GPU, gpus.unit) >= gpus.asked) {
            const int64_t left = usable_in(session, level, d, slot, want.unit);
            most = left > most ? left : most;
        }
    }
    return most;
}

/* Where a domain has enough GPUs: is there a resource that each such domain has too little of? */
static const char *say_lacking(const struct orr_session *session, uint32_t job, uint32_t set,
                               const struct orr_topology_level *level, struct orr_snapshot *out)
{
    static const struct {
        uint32_t slot;
        double unit;
        const char *words;
    } others[] = {{ORR_SLOT_CPU, 1000.0, "CPUs"},
                  {ORR_SLOT_MEMORY, 1024.0 * 1024.0 * 1024.0, "GiB of memory"},
                  {ORR_SLOT_PODS, 1.0, "pod slots"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const int64_t asked = want_below(session, job, set, others[i].slot).asked;
        const int64_t most = most_beside_gpus(session, job, set, level, others[i].slot);
        if (most >= 0 && most < asked) {
            return import_say(out, "; it asks %.10g %s, and its pods find at most %.10g of them%s",
                              (double)asked / others[i].unit, others[i].words,
                              (double)most / others[i].unit,
                              level == NULL ? "" : " in one that has enough GPUs");
        }
    }
    return "";
}

/* Enough GPUs are left in all: what keeps the pods from them? */
static const char *say_obstacle(const struct orr_session *session, uint32_t job, uint32_t set,
                                const struct orr_topology_level *level, struct orr_snapshot *out)
{
    const char *largest = say_largest(session, job, set, out);
    return largest[0] != '\0' ? largest : say_lacking(session, job, set, level, out);
}

static const char *why_topology(const struct orr_session *session, uint32_t job,
                                struct orr_snapshot *out)
{
    const struct orr_sjob *sjob = &session->jobs[job];
    for (uint32_t s = sjob->first_set; s < sjob->first_set + sjob->set_count; s++) {
        const struct orr_constraint *c = &session->sets[s].constraint;
        if (c->topology == NULL) {
            continue;
        }
        const struct orr_topology *topology = orr_session_find_topology(session, c->topology);
        const char *named = c->required != NULL ? c->required : c->preferred;
        if (topology == NULL || named == NULL) {
            return import_say(out,
                              topology == NULL ? "there is no topology %s"
                                               : "no level of topology %s is named",
                              c->topology);
        }
        const struct orr_topology_level *level = orr_topology_find_level(topology, named);
        if (level == NULL) {
            return import_say(out, "topology %s has no level %s", c->topology, named);
        }
        const struct room room = room_in_domains(session, level);
        const double asked = asked_below(session, job, s);
        if (c->required == NULL) {
            return import_say(
                out,
                "topology %s cannot hold it, neither in one domain of level %s nor in "
                "all; it asks %.10g GPU%s, %.10g are left%s",
                c->topology, named, asked, ORR_PLURAL(asked), room.all,
                asked <= room.all ? say_obstacle(session, job, s, NULL, out) : "");
        }
        return import_say(
            out,
            "no domain of topology %s, required level %s, can hold it; it asks %.10g GPU%s, "
            "%.10g are left, at most %.10g in one%s%s%s",
            c->topology, named, asked, ORR_PLURAL(asked), room.all, room.most,
            room.where != NULL ? ", that of node " : "", room.where != NULL ? room.where : "",
            asked <= room.most ? say_obstacle(session, job, s, level, out) : "");
    }
    return "no domain of its topology can hold it";
}

/* --- readiness --- */

uint32_t import_count_in(const struct orr_session *session, const struct orr_sjob *job,
                         uint32_t states)
{
    uint32_t count = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        count += orr_status_in(session->tasks[t].live.status, states);
    }
    return count;
}

void import_list_searches(const struct orr_sjob *job, struct orr_snapshot_waiting *row)
{
    static const enum orr_action searches[ORR_SNAPSHOT_SEARCHES] = {
        ORR_ACTION_CONSOLIDATION, ORR_ACTION_RECLAIM, ORR_ACTION_PREEMPT};
    static const char *const gates[ORR_SNAPSHOT_SEARCHES] = {
        "not tried further: fewer GPUs (or less of their memory) than it asks are free or come "
        "free in total, without what is promised to others",
        ("not tried further: its queue's fair share (its quota, for what cannot be preempted) does "
         "not cover it"),
        "not tried further: its queue's quota does not cover it"};
    for (int i = 0; i < ORR_SNAPSHOT_SEARCHES; i++) {
        const enum orr_outcome outcome = (enum orr_outcome)job->outcomes[searches[i]];
        const bool tried = outcome != ORR_OUTCOME_NOT_TRIED;
        row->searches[i] = (struct orr_snapshot_search){
            .action = orr_action_name(searches[i]),
            .code = tried ? orr_outcome_code(outcome) : NULL,
            .words = !tried                        ? NULL
                     : outcome == ORR_OUTCOME_GATE ? gates[i]
                                                   : orr_outcome_words(outcome)};
    }
}

#define STATES_HERE (ORR_STATES_ALIVE & ~ORR_STATUS_BIT(ORR_TASK_GATED))

/* The first pod set that has too few, and how many there are in all. */
static const char *why_not_ready(const struct orr_session *session, const struct import_job *job,
                                 struct orr_snapshot *out)
{
    const struct orr_sjob *sjob = &session->jobs[job->id];
    const uint32_t there = import_count_in(session, sjob, STATES_HERE);
    for (uint32_t s = sjob->first_set; s < sjob->first_set + sjob->set_count; s++) {
        const struct orr_sset *set = &session->sets[s];
        const uint32_t here =
            orr_jobview_count(session, orr_jobview_whole(job->id), s, STATES_HERE);
        if (set->is_pods && set->min > 0 && here < (uint32_t)set->min) {
            return import_say(out,
                              "of its %u pod%s, %u %s there and not gated: %s%s%s%u of the %d it "
                              "needs",
                              job->pod_count, ORR_PLURAL(job->pod_count), there,
                              ORR_ONE(there, "is", "are"), sjob->set_count > 2 ? "subgroup " : "",
                              sjob->set_count > 2 ? set->name : "",
                              sjob->set_count > 2 ? " has " : "", here, set->min);
        }
    }
    return "fewer of its subgroups have their pods than its minimum";
}

/* What the attempt to allocate found; NULL: there was none. */
static const char *why_unplaced(const struct orr_session *session, uint32_t job,
                                const struct orr_fit_detail *detail, enum orr_fit_reason reason,
                                struct orr_snapshot *out)
{
    switch (reason) {
    case ORR_FIT_OVER_LIMIT:
    case ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA: return why_bound(session, detail, out);
    case ORR_FIT_POD_SCHEDULING_ERRORS: return why_nodes(session, detail, out);
    case ORR_FIT_TOPOLOGY: return why_topology(session, job, out);
    case ORR_FIT_NONE:
    case ORR_FIT_QUEUE_DOES_NOT_EXIST:
    case ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED:
    case ORR_FIT_QUEUE_DEPTH:
    case ORR_FIT_REASONS: break;
    }
    return NULL;
}

static const char *why_delayed(const struct orr_session *session, uint32_t job,
                               const struct orr_fit_detail *detail, struct orr_snapshot *out)
{
    const char *unplaced =
        why_unplaced(session, job, detail, (enum orr_fit_reason)detail->reason, out);
    return import_say(out, "it may evict others %lld s after it was created or evicted last%s%s",
                      (long long)(session->jobs[job].preemption_delay / 1000),
                      unplaced != NULL ? "; " : "", unplaced != NULL ? unplaced : "");
}

void import_explain(const struct import_model *model, const struct orr_session *session,
                    const struct import_job *job, struct orr_snapshot_waiting *row,
                    struct orr_snapshot *out)
{
    const struct orr_sjob *sjob = &session->jobs[job->id];
    const struct orr_fit_detail *detail = detail_of(session, job->id);
    if (sjob->queue == ORR_NONE) {
        row->code = orr_fit_reason_code(ORR_FIT_QUEUE_DOES_NOT_EXIST);
        const uint32_t queue = orr_idmap_find(&model->queue_names, job->queue, strlen(job->queue));
        row->why = import_say(
            out, "%s queue %s%s",
            queue == ORR_NONE ? "there is no" : "without a way up to a root:", job->queue,
            queue != ORR_NONE && model->queues[queue].left_out
                ? ", which project-level fairness leaves out"
                : "");
        return;
    }
    if (!session->queues[sjob->queue].usable) {
        row->code = "QueueIsNotALeaf";
        row->why = import_say(out, "queue %s has queues below it; jobs go into leaves", job->queue);
        return;
    }
    if (!orr_jobview_ready(session, orr_jobview_whole(job->id))) {
        row->code = "NotReady";
        row->why = why_not_ready(session, job, out);
        return;
    }
    if (import_count_in(session, sjob, ORR_STATUS_BIT(ORR_TASK_PIPELINED)) > 0) {
        row->code = "Pipelined";
        row->why = "its place is being freed";
        return;
    }
    /* What allocate found stays KAI's message, even if a later action gave the job a delay. */
    enum orr_fit_reason reason = (enum orr_fit_reason)sjob->reason;
    row->code = orr_fit_reason_code(reason);
    row->why = why_unplaced(session, job->id, detail, reason, out);
    switch (reason) {
    case ORR_FIT_OVER_LIMIT:
    case ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA:
    case ORR_FIT_POD_SCHEDULING_ERRORS:
    case ORR_FIT_TOPOLOGY: break;
    case ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED:
        row->why = why_delayed(session, job->id, detail, out);
        break;
    case ORR_FIT_QUEUE_DEPTH:
        row->why = "more jobs of its queue come before it than queueDepthPerAction looks at";
        break;
    case ORR_FIT_NONE:
    case ORR_FIT_QUEUE_DOES_NOT_EXIST:
    case ORR_FIT_REASONS:
        row->code = "Waiting";
        row->why = "nothing was tried for it in this cycle";
        break;
    }
}
