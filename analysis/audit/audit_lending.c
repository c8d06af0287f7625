/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_lending.c - kueue: what queues hold of each flavor's GPUs, CPUs, memory and pods, against
 * quotas that cohorts lend and borrow.
 *
 * Resource by resource, of each queue and cohort, by flavor:
 *   subtree   own quota, and of each below what it lends of its subtree
 *   usage     what it holds, or those below it hold beyond what they keep to themselves
 *   law       usage <= subtree + what it may borrow; without anybody above: usage <= subtree
 * A quota that is lowered binds nobody who was admitted before, and pods may be placed long after
 * the admission: then the queues of that tree are not judged any more. Nor is a tree that held more
 * than that as the run began. In the cycle that chooses victims others may take what those still
 * hold: they do not count at that instant, and what they hold beyond it is excused.
 */
#include "audit_int.h"

#include <orrery/base/text.h>
#include <float.h>

#define UNLIMITED DBL_MAX

struct cell {                  /* of a queue and flavor, in devices, milli-CPU, bytes, pods */
    bool stated;               /* it has some: nobody is held to what a queue does not count */
    double quota, limit, lend; /* as stated; UNLIMITED */
    double whole;              /* quota with all below it: stated, or their sum where it is more */
    double subtree, kept, usage; /* kept: of the subtree, lent to nobody */
    double below, lent;          /* of its children: quota, and what they lend */
};

struct lending {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    enum orr_audit_resource kind;
    uint32_t columns;   /* flavors, and all nodes alike as the last */
    struct cell *cells; /* queue * columns + flavor; behind the queues the cohort above them all */
    double *gpus; /* by flavor: of its nodes; what no queue has of them the cohort above owns */
    uint32_t *flavor_of; /* by node; ORR_NONE: of none */
    bool *inner, *flavored_below;
    bool *open;       /* by root: its tree is not judged any more */
    bool *reported;   /* by cell: it is over, and that is a finding already, or excused */
    bool several;     /* some node is of several flavors */
    int64_t most_mib; /* of a device of the shard; 0: none is known */
    uint32_t shard;   /* whose queues these are */
    uint32_t next;    /* of the schedule's changes */
};

static struct cell *cell_at(const struct lending *lending, uint32_t queue, uint32_t flavor)
{
    return &lending->cells[(size_t)queue * lending->columns + flavor];
}

/* Behind the queues: the cohort above those at the top, if there is one for this queue. */
static uint32_t parent_of(const struct lending *lending, uint32_t queue)
{
    const struct orr_schedule *schedule = lending->schedule;
    if (queue == schedule->queue_count) {
        return ORR_NONE;
    }
    const struct orr_audit_queue *is = &schedule->queues[queue];
    return is->parent != ORR_NONE                             ? is->parent
           : is->apart || !schedule->shards[0].cluster_cohort ? ORR_NONE
                                                              : schedule->queue_count;
}

static uint32_t root_of(const struct lending *lending, uint32_t queue)
{
    while (parent_of(lending, queue) != ORR_NONE) {
        queue = parent_of(lending, queue);
    }
    return queue;
}

static double amount_of(double stated)
{
    return stated < 0 ? UNLIMITED : stated;
}

static double sum_of(double a, double b)
{
    return a >= UNLIMITED || b >= UNLIMITED ? UNLIMITED : a + b;
}

/* --- quotas and usage --- */

static void settle_cell(struct lending *lending, uint32_t queue, uint32_t flavor)
{
    struct cell *cell = cell_at(lending, queue, flavor);
    /* a quota without bound below a limit is one of that size */
    const double stated =
        cell->quota >= UNLIMITED && cell->limit < UNLIMITED ? cell->limit : cell->quota;
    const bool owns = cell->below < UNLIMITED && stated > cell->below;
    cell->whole = stated > cell->below ? stated : cell->below;
    cell->subtree = !lending->inner[queue] ? stated
                    : stated >= UNLIMITED  ? UNLIMITED
                                           : sum_of(cell->lent, owns ? stated - cell->below : 0);
    cell->kept = cell->lend >= UNLIMITED      ? 0
                 : cell->subtree >= UNLIMITED ? UNLIMITED
                 : cell->subtree > cell->lend ? cell->subtree - cell->lend
                                              : 0;
}

/* What of its usage the nodes above see. */
static double seen_of(const struct cell *cell)
{
    return cell->usage > cell->kept ? cell->usage - cell->kept : 0;
}

static void hand_up(struct lending *lending, uint32_t queue, uint32_t flavor, double *quota_at_top)
{
    const struct cell *cell = cell_at(lending, queue, flavor);
    const uint32_t parent = parent_of(lending, queue);
    if (parent == ORR_NONE || parent == lending->schedule->queue_count) {
        *quota_at_top = sum_of(*quota_at_top, cell->whole);
    }
    if (parent != ORR_NONE) {
        struct cell *above = cell_at(lending, parent, flavor);
        above->below = sum_of(above->below, cell->whole);
        above->lent = sum_of(above->lent, cell->subtree < cell->lend ? cell->subtree : cell->lend);
        above->usage += seen_of(cell);
    }
}

/* From what queues state and leaves hold; parents come before their children. */
static void settle(struct lending *lending)
{
    const uint32_t all = lending->schedule->queue_count;
    for (uint32_t f = 0; f < lending->columns; f++) {
        struct cell *top = cell_at(lending, all, f);
        double quota = 0;
        for (uint32_t q = 0; q <= all; q++) {
            struct cell *cell = cell_at(lending, q, f);
            cell->below = cell->lent = 0;
            cell->usage = q == all || lending->inner[q] ? 0 : cell->usage;
        }
        for (uint32_t q = all; q-- > 0;) {
            if (lending->schedule->queues[q].shard == lending->shard) {
                settle_cell(lending, q, f);
                hand_up(lending, q, f, &quota);
            }
        }
        const bool owns = lending->kind == ORR_AUDIT_GPU && quota < lending->gpus[f];
        top->subtree = sum_of(top->lent, owns ? lending->gpus[f] - quota : 0);
    }
}

static void book(struct lending *lending, uint32_t queue, uint32_t flavor, double gpus)
{
    for (; queue != ORR_NONE; queue = parent_of(lending, queue)) {
        struct cell *cell = cell_at(lending, queue, flavor);
        const double before = seen_of(cell);
        cell->usage += gpus;
        gpus = seen_of(cell) - before;
    }
}

/* --- judging --- */

static double most_of(const struct lending *lending, uint32_t queue, uint32_t flavor)
{
    const struct cell *cell = cell_at(lending, queue, flavor);
    const bool is_root = parent_of(lending, queue) == ORR_NONE;
    const double more = cell->limit > cell->whole ? cell->limit - cell->whole : 0;
    const double borrows = is_root ? 0 : cell->limit >= UNLIMITED ? UNLIMITED : more;
    return sum_of(cell->subtree, borrows);
}

static bool is_over(const struct lending *lending, uint32_t queue, uint32_t flavor)
{
    /* milli-GPU round to the nearest */
    return cell_at(lending, queue, flavor)->usage > most_of(lending, queue, flavor) + 0.0005;
}

static void judge_cell(struct lending *lending, uint32_t queue, uint32_t flavor, orr_ms now)
{
    const struct cell *cell = cell_at(lending, queue, flavor);
    const double most = most_of(lending, queue, flavor);
    const bool over = is_over(lending, queue, flavor);
    bool *reported = &lending->reported[(size_t)queue * lending->columns + flavor];
    lending->run->verdict->examined[ORR_AUDIT_LENDING]++;
    if (over && !*reported) {
        static const char *const units[] = {[ORR_AUDIT_GPU] = "GPUs",
                                            [ORR_AUDIT_CPU] = "milli-CPU",
                                            [ORR_AUDIT_MEMORY] = "bytes",
                                            [ORR_AUDIT_PODS] = "pods"};
        const bool all = queue == lending->schedule->queue_count;
        const bool one = lending->kind == ORR_AUDIT_GPU && cell->usage == 1;
        orr_audit__found(
            lending->run, ORR_AUDIT_LENDING, now,
            "%s%s: %.15g %s%s count, and no more than %.15g may with what can be borrowed",
            all ? "all queues" : "queue ", all ? "" : lending->schedule->queues[queue].name,
            cell->usage, one ? "GPU" : units[lending->kind],
            flavor + 1 == lending->columns ? "" : " of a flavor", most);
    }
    *reported = over;
}

/* --- time --- */

static void set_cell(struct lending *lending, uint32_t queue, uint32_t flavor, double quota,
                     double limit)
{
    struct cell *cell = cell_at(lending, queue, flavor);
    const bool lowered = quota < cell->quota || limit < cell->limit;
    cell->quota = quota;
    cell->limit = limit;
    if (lowered) {
        lending->open[root_of(lending, queue)] = true;
    }
}

/* Are its quotas of all nodes alike? */
static bool is_plain(const struct lending *lending, uint32_t queue)
{
    return !lending->schedule->queues[queue].flavored && !lending->flavored_below[queue];
}

static void take_change(struct lending *lending, const struct orr_audit_queue_change *change)
{
    const struct orr_schedule *schedule = lending->schedule;
    const bool plain = is_plain(lending, change->queue), gpus = lending->kind == ORR_AUDIT_GPU;
    if (plain && gpus) {
        set_cell(lending, change->queue, lending->columns - 1, amount_of(change->gpu_quota),
                 amount_of(change->gpu_limit));
    }
    for (uint32_t f = 0; f < schedule->flavored_count; f++) {
        const struct orr_audit_flavored *flavored = &schedule->flavored[f];
        const bool all = flavored->flavor == ORR_NONE;
        if (flavored->queue == change->queue && flavored->at_ms == change->at_ms &&
            flavored->kind == lending->kind && (!all || (plain && !gpus))) {
            set_cell(lending, change->queue, all ? lending->columns - 1 : flavored->flavor,
                     amount_of(flavored->quota), amount_of(flavored->limit));
        }
    }
}

static void take_changes(struct lending *lending, orr_ms until)
{
    const struct orr_schedule *schedule = lending->schedule;
    const uint32_t first = lending->next;
    while (lending->next < schedule->queue_change_count &&
           schedule->queue_changes[lending->next].at_ms <= until) {
        take_change(lending, &schedule->queue_changes[lending->next++]);
    }
    if (lending->next > first) {
        settle(lending);
    }
}

/* A pod that asks for memory of a device counts as what it is of the largest device, wherever it
 * runs: it is admitted before it has a node. Pods that ask in several ways are not told apart: none
 * of such a job counts. */
static double gpus_counted(const struct lending *lending, const struct orr_audit_span *span)
{
    const struct orr_audit_job *job = &lending->schedule->jobs[span->job];
    const int64_t mgpu = job->mib <= 0 || lending->most_mib <= 0 ? span->mgpu
                         : job->mixed                            ? 0
                                                                 : span->pods * job->devices *
                                            orr_audit__memory_mgpu(job->mib, lending->most_mib);
    return (double)mgpu / ORR_MGPU;
}

static double amount_held(const struct lending *lending, const struct orr_audit_span *span)
{
    return lending->kind == ORR_AUDIT_GPU    ? gpus_counted(lending, span)
           : lending->kind == ORR_AUDIT_CPU  ? (double)span->cpu_milli
           : lending->kind == ORR_AUDIT_PODS ? (double)span->pods
                                             : (double)span->mem_bytes;
}

/* Which column a span counts for; ORR_NONE: none, or it cannot be told. */
static uint32_t column_of(const struct lending *lending, const struct orr_audit_span *span)
{
    const struct orr_schedule *schedule = lending->schedule;
    const uint32_t queue = schedule->jobs[span->job].queue;
    if (queue == ORR_NONE) {
        return ORR_NONE;
    }
    const uint32_t flavor = !schedule->queues[queue].flavored ? lending->columns - 1
                            : span->node == ORR_NONE          ? ORR_NONE
                                                              : lending->flavor_of[span->node];
    return flavor != ORR_NONE && cell_at(lending, queue, flavor)->stated ? flavor : ORR_NONE;
}

static void take(struct lending *lending, const struct orr_audit_edge *edge)
{
    const struct orr_schedule *schedule = lending->schedule;
    const struct orr_audit_span *span = &schedule->spans[edge->span];
    const uint32_t flavor = column_of(lending, span);
    if (flavor != ORR_NONE && edge->kind != ORR_AUDIT_LEAVES) { /* what is in its grace counts */
        const double held = amount_held(lending, span);
        book(lending, schedule->jobs[span->job].queue, flavor,
             edge->kind == ORR_AUDIT_TAKES ? held : -held);
    }
}

static void judge(struct lending *lending, const struct orr_audit_edge *edge)
{
    const struct orr_schedule *schedule = lending->schedule;
    const struct orr_audit_span *span = &schedule->spans[edge->span];
    const uint32_t flavor = column_of(lending, span);
    const struct orr_audit_job *job = &schedule->jobs[span->job];
    uint32_t queue = job->queue;
    if (edge->kind != ORR_AUDIT_TAKES || flavor == ORR_NONE || amount_held(lending, span) <= 0) {
        return;
    }
    bool *open = &lending->open[root_of(lending, queue)];
    const bool given = orr_audit__was_given(job, span->start_ms);
    *open = *open || given; /* what was given may be too much */
    for (; queue != ORR_NONE && !*open; queue = parent_of(lending, queue)) {
        judge_cell(lending, queue, flavor, edge->at_ms);
    }
}

/* Those that begin to leave at an instant: their usage goes off, or is there again. */
static void set_leaving(struct lending *lending, const struct orr_audit_edge *edges, size_t count,
                        bool counts)
{
    const struct orr_schedule *schedule = lending->schedule;
    for (size_t e = 0; e < count; e++) {
        const struct orr_audit_span *span = &schedule->spans[edges[e].span];
        const uint32_t flavor = column_of(lending, span);
        if (edges[e].kind == ORR_AUDIT_LEAVES && flavor != ORR_NONE) {
            const double held = amount_held(lending, span);
            book(lending, schedule->jobs[span->job].queue, flavor, counts ? held : -held);
        }
    }
}

/* What is over only by those that leave is so for as long as they do: it is not found later. */
static void excuse(struct lending *lending, const struct orr_audit_edge *edge)
{
    const struct orr_schedule *schedule = lending->schedule;
    const struct orr_audit_span *span = &schedule->spans[edge->span];
    const uint32_t flavor = column_of(lending, span);
    if (edge->kind != ORR_AUDIT_TAKES || flavor == ORR_NONE) {
        return;
    }
    for (uint32_t q = schedule->jobs[span->job].queue; q != ORR_NONE; q = parent_of(lending, q)) {
        lending->reported[(size_t)q * lending->columns + flavor] = is_over(lending, q, flavor);
    }
}

static void walk(struct lending *lending)
{
    size_t count;
    struct orr_audit_edge *edges = orr_audit__edges(lending->schedule, &count);
    for (size_t i = 0; i < count;) {
        const orr_ms now = edges[i].at_ms;
        const size_t first = i;
        take_changes(lending, now);
        for (; i < count && edges[i].at_ms == now; i++) {
            take(lending, &edges[i]);
        }
        set_leaving(lending, &edges[first], i - first, false);
        for (size_t e = first; e < i; e++) {
            judge(lending, &edges[e]);
        }
        set_leaving(lending, &edges[first], i - first, true);
        for (size_t e = first; e < i; e++) {
            excuse(lending, &edges[e]);
        }
    }
    orr_free(edges);
}

/* --- what holds as the run begins --- */

static void set_flavors(struct lending *lending)
{
    const struct orr_schedule *schedule = lending->schedule;
    for (uint32_t n = 0; n < schedule->node_count; n++) {
        const struct orr_audit_node *node = &schedule->nodes[n];
        lending->flavor_of[n] = ORR_NONE;
        lending->most_mib = node->gpu_mib > lending->most_mib ? node->gpu_mib : lending->most_mib;
        if (schedule->flavor_count == 0) { /* else flavors divide them */
            lending->gpus[lending->columns - 1] += (double)orr_audit__counted_gpus(node);
        }
    }
    for (uint32_t i = 0; i < schedule->flavor_node_count; i++) {
        const struct orr_audit_flavor_node *of = &schedule->flavor_nodes[i];
        const struct orr_audit_node *node = &schedule->nodes[of->node];
        lending->several = lending->several || lending->flavor_of[of->node] != ORR_NONE;
        lending->flavor_of[of->node] = of->flavor;
        lending->gpus[of->flavor] += (double)orr_audit__counted_gpus(node);
    }
}

/* Of queues without flavors: GPUs as they state them, other resources without bound. */
static void set_plain_cell(struct lending *lending, uint32_t queue)
{
    const struct orr_audit_queue *is = &lending->schedule->queues[queue];
    struct cell *cell = cell_at(lending, queue, lending->columns - 1);
    const bool gpus = lending->kind == ORR_AUDIT_GPU;
    cell->stated = true;
    cell->quota = gpus ? amount_of(is->gpu_quota) : UNLIMITED;
    cell->limit = gpus ? amount_of(is->gpu_limit) : UNLIMITED;
}

static void take_stated(struct lending *lending, const struct orr_audit_flavored *stated)
{
    const bool all = stated->flavor == ORR_NONE;
    if (stated->at_ms != ORR_MS_NONE || stated->kind != lending->kind ||
        (all && !is_plain(lending, stated->queue))) {
        return;
    }
    struct cell *cell =
        cell_at(lending, stated->queue, all ? lending->columns - 1 : stated->flavor);
    cell->lend = amount_of(stated->lend);
    cell->stated = true;
    if (!all || lending->kind != ORR_AUDIT_GPU) {
        cell->quota = amount_of(stated->quota);
        cell->limit = amount_of(stated->limit);
    }
}

/* A queue that has GPUs of some flavor counts those of every flavor. */
static void count_all_gpus(struct lending *lending, uint32_t queue)
{
    bool any = false;
    for (uint32_t f = 0; f < lending->columns; f++) {
        any = any || cell_at(lending, queue, f)->stated;
    }
    for (uint32_t f = 0; f < lending->columns && lending->kind == ORR_AUDIT_GPU; f++) {
        cell_at(lending, queue, f)->stated = any;
    }
}

/* What it does not state is 0, or all it may lend. */
static void set_cells(struct lending *lending)
{
    const struct orr_schedule *schedule = lending->schedule;
    for (uint32_t c = 0; c < (schedule->queue_count + 1) * lending->columns; c++) {
        lending->cells[c] = (struct cell){.limit = UNLIMITED, .lend = UNLIMITED};
    }
    for (uint32_t q = schedule->queue_count; q-- > 0;) {
        const struct orr_audit_queue *queue = &schedule->queues[q];
        if (queue->parent != ORR_NONE && (queue->flavored || lending->flavored_below[q])) {
            lending->flavored_below[queue->parent] = true;
        }
        if (queue->parent != ORR_NONE) {
            lending->inner[queue->parent] = true;
        }
        if (is_plain(lending, q)) {
            set_plain_cell(lending, q);
        }
    }
    for (uint32_t i = 0; i < schedule->flavored_count; i++) {
        take_stated(lending, &schedule->flavored[i]);
    }
    for (uint32_t q = 0; q < schedule->queue_count; q++) {
        count_all_gpus(lending, q);
    }
}

/* Some queue states something of it. */
static bool is_counted(const struct orr_schedule *schedule, enum orr_audit_resource kind)
{
    bool counted = kind == ORR_AUDIT_GPU;
    for (uint32_t i = 0; i < schedule->flavored_count && !counted; i++) {
        counted = schedule->flavored[i].kind == kind;
    }
    return counted;
}

static void judge_kind(struct orr_audit_run *run, enum orr_audit_resource kind)
{
    const struct orr_schedule *schedule = run->schedule;
    const size_t queues = schedule->queue_count + (size_t)1;
    struct lending lending = {.run = run,
                              .schedule = schedule,
                              .kind = kind,
                              .columns = schedule->flavor_count + 1,
                              .shard = schedule->node_count > 0 ? schedule->nodes[0].shard : 0};
    lending.cells = orr_zalloc(queues * lending.columns, sizeof *lending.cells);
    lending.gpus = orr_zalloc(lending.columns, sizeof *lending.gpus);
    lending.flavor_of = orr_zalloc(schedule->node_count + (size_t)1, sizeof *lending.flavor_of);
    lending.flavored_below = orr_zalloc(queues, sizeof *lending.flavored_below);
    lending.inner = orr_zalloc(queues, sizeof *lending.inner);
    lending.open = orr_zalloc(queues, sizeof *lending.open);
    lending.reported = orr_zalloc(queues * lending.columns, sizeof *lending.reported);
    set_flavors(&lending);
    set_cells(&lending);
    settle(&lending);
    if (!lending.several) { /* else nobody can say which of its flavors a job was admitted with */
        walk(&lending);
    }
    orr_free(lending.cells);
    orr_free(lending.gpus);
    orr_free(lending.flavor_of);
    orr_free(lending.flavored_below);
    orr_free(lending.inner);
    orr_free(lending.open);
    orr_free(lending.reported);
}

void orr_audit__lending(struct orr_audit_run *run)
{
    const bool judged = orr_audit__on(run, ORR_AUDIT_LENDING) && run->schedule->queue_count > 0;
    for (int kind = 0; judged && kind < ORR_AUDIT_RESOURCES; kind++) {
        if (is_counted(run->schedule, (enum orr_audit_resource)kind) &&
            !run->schedule->shards[0].transformed[kind]) {
            judge_kind(run, (enum orr_audit_resource)kind);
        }
    }
}
