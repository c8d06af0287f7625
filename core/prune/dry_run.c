/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "dry-run" outside flat worlds: served in fair order on the books of nodes, the preemptor
 * finds no place; or, in consolidation, one of the victims does not; or reclaim's validator refuses
 * what those lose that find none.
 *
 * The order is the literal one over the whole tree of queues, of what queues would hold. Where the
 * preemptor and all victims ask whole GPUs and these decide on every node (victim_index.c), they
 * are counted (gpu_counts.c); a job that has to stay in a domain of a topology or prefers to, and
 * asks nothing else, is sketched on the counts, as what domains have left is a sum of them. Else,
 * where parts of devices are asked or something else may be short, all placing is sketched
 * (place_sketch.c): books and choices are the literal ones, on the nodes that a simulation opens. A
 * victim that comes back is held against the limits above it as the preemptor is: once that has its
 * place, a queue above both may hold too much for both.
 *
 * Room only shrinks as victims come back. Once the open nodes have fewer places for tasks of as few
 * GPUs as the preemptor's smallest than it has tasks, it finds none, whatever comes.
 *
 * Where victims lose more than they are given back when they are served, the validator's units are
 * asked about that much first: whatever else is lost only leaves a queue less when a unit is taken.
 * It does not tell whether the preemptor finds a place, so it is asked once a scenario was
 * rejected, when how far this one gets no longer counts.
 *
 * As long as all that are served come back, who is served next does not hang on where they go. So
 * they are popped first and placed afterwards, which is left out where those who were popped are
 * known to leave the preemptor no place (seen_before.c).
 */
#include "apart.h"

#include <string.h>

#include <orrery/base/sort.h>

#include "flat_int.h"
#include "seen_before.h"

struct orr_dry_run {
    struct orr_gpu_counts *counts; /* NULL: GPUs do not decide on every node, or more is asked */
    bool by_sketch;                /* of the preemptor it is known what a sketch would do */
    bool constrained;              /* the preemptor is */
    bool counted;                  /* of the scenario: GPUs are counted, */
    struct orr_sketch *sketch;     /* on those or on books; NULL: nobody is constrained */
    uint32_t *nodes;               /* with a sketch: those that are open */
    uint32_t open_count;
    bool *is_open;   /* by node */
    uint32_t *roomy; /* nodes with room before anything is tried */
    uint32_t roomy_count;
    bool places_counted; /* of the probe that goes on: */
    /* Of the preemptor's tasks the least GPUs of one, 0: some ask none, or parts; and how many such
     * tasks the feasible nodes have room for. */
    int32_t least_gpus;
    int64_t places_before;
    int32_t *freed; /* by node: GPUs; scratch, all 0 between */
    /* Of a scenario: the same of all open nodes; with a sketch by node too, after so many changes
     * of nodes. Between scenarios as if nobody were a victim. */
    int64_t places;
    int32_t *places_on;
    size_t seen_touched;
    uint32_t *line; /* victims in the order in which they are served, in orr_apart */
    uint32_t line_count;
};

static bool is_sketched(const struct orr_session *session, uint32_t task)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
    return orr_ask_is_shared(ask) || orr_ask_is_whole_gpus(ask);
}

static bool has_one_pod_set(const struct orr_session *session, const struct orr_sjob *job)
{
    bool one = orr_prune__only_pod_set(session, job) != ORR_NONE;
    for (uint32_t s = job->first_set; one && s < job->first_set + job->set_count; s++) {
        one = session->sets[s].is_pods || session->sets[s].min == 1;
    }
    return one;
}

/* A sketch tells where its tasks go, and where others go before. */
static bool may_be_sketched(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    bool may = session->v017 == NULL && session->numa == NULL &&
               (session->hooks == NULL || session->hooks->node_score == NULL) &&
               has_one_pod_set(session, &session->jobs[search->job]);
    for (uint32_t i = 0; may && i < search->tasks.count; i++) {
        const uint32_t t = search->tasks.tasks[i];
        may = session->tasks[t].live.status == ORR_TASK_PENDING &&
              t == search->tasks.tasks[0] + i && is_sketched(session, t) &&
              orr_apart__is_simple(session, &session->tasks[t]);
    }
    for (uint32_t n = 0; may && n < session->node_count; n++) {
        may = session->nodes[n].idle.v[ORR_SLOT_GPU] % ORR_MGPU == 0 &&
              session->nodes[n].releasing.v[ORR_SLOT_GPU] % ORR_MGPU == 0;
    }
    return may;
}

static bool asks_gpus_alone(const struct orr_session *session, uint32_t task)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
    bool alone = orr_flat__asks_whole_gpus(session, ask);
    for (uint32_t s = 0; alone && s < session->slot_count; s++) {
        alone = s == ORR_SLOT_GPU || s == ORR_SLOT_PODS || ask->request.v[s] == 0;
    }
    return alone;
}

/* What is counted tells where its tasks go. */
static bool may_be_counted(const struct orr_victim_search *search, const struct orr_dry_run *run)
{
    const struct orr_session *session = search->session;
    bool may = orr_victim_index_now(search->session)->uneven_nodes == 0 &&
               (run->constrained ? run->by_sketch : orr_flat__is_preemptor(search));
    for (uint32_t i = 0; may && run->constrained && i < search->tasks.count; i++) {
        may = asks_gpus_alone(session, search->tasks.tasks[i]);
    }
    return may;
}

static struct orr_dry_run *open_run(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    struct orr_dry_run *run = orr_arena_alloc(memory, 1, sizeof *run);
    const bool allowed = orr_flat__rules_allow(session);
    run->by_sketch = allowed && may_be_sketched(search);
    run->constrained = orr_apart__is_constrained(session, search->job);
    if (allowed && may_be_counted(search, run)) {
        run->counts = orr_gpu_counts_make(memory, session);
    }
    if (run->counts != NULL || run->by_sketch) {
        run->nodes = orr_arena_take(memory, session->node_count, sizeof *run->nodes);
        run->is_open = orr_arena_alloc(memory, session->node_count, sizeof *run->is_open);
        run->freed = orr_arena_alloc(memory, session->node_count, sizeof *run->freed);
        run->places_on = orr_arena_take(memory, session->node_count, sizeof *run->places_on);
        run->roomy = orr_arena_take(memory, session->node_count, sizeof *run->roomy);
        for (uint32_t n = 0; n < session->node_count; n++) {
            if (session->victim_index->whole[n] > 0) {
                run->roomy[run->roomy_count++] = n;
            }
        }
        run->line = orr_arena_take(memory, session->job_count, sizeof *run->line);
    }
    return run;
}

/* What a sketched node has room for, by its GPUs alone. */
static int32_t places_of(const struct orr_dry_run *run, const struct orr_session *session,
                         uint32_t node)
{
    const struct orr_snode *at = &session->nodes[node];
    const int64_t gpus = (at->idle.v[ORR_SLOT_GPU] + at->releasing.v[ORR_SLOT_GPU]) / ORR_MGPU;
    return gpus > 0 ? (int32_t)gpus / run->least_gpus : 0;
}

/* Of as many of the preemptor's tasks as are tried. */
static int32_t find_least_gpus(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    int32_t least = INT32_MAX;
    for (uint32_t i = 0; i < search->k; i++) {
        const uint32_t task = search->tasks.tasks[i];
        const bool parts = orr_ask_is_shared(orr_task_ask(session, &session->tasks[task]));
        const int32_t gpus = parts ? 0 : orr_task_gpus(session, task);
        least = gpus < least ? gpus : least;
    }
    return least;
}

/* Nodes that are not feasible have no room until their victims leave. */
static void count_places(const struct orr_victim_search *search, struct orr_dry_run *run)
{
    const struct orr_session *session = search->session;
    if (run->places_counted) {
        return;
    }
    run->places_counted = true;
    run->least_gpus = find_least_gpus(search);
    run->places_before = 0;
    for (uint32_t n = 0; n < session->node_count && run->least_gpus > 0; n++) {
        run->places_on[n] = places_of(run, session, n);
        run->places_before += search->feasible[n] ? run->places_on[n] : 0;
    }
}

/* After victims left, or a job was sketched on books; on nodes that were touched since, up to
 * `end`.
 */
static void recount_places(const struct orr_session *session, struct orr_dry_run *run, size_t end)
{
    const struct orr_sketch *sketch = run->sketch;
    for (; run->least_gpus > 0 && run->seen_touched < end; run->seen_touched++) {
        const uint32_t n = sketch->touched[run->seen_touched];
        const int32_t now = places_of(run, session, n);
        run->places += now - run->places_on[n];
        run->places_on[n] = now;
    }
}

/* Room for the preemptor only shrinks as victims come back. */
static bool is_hopeless(const struct orr_victim_search *search, const struct orr_dry_run *run)
{
    return run->least_gpus > 0 && run->places < (int64_t)search->k;
}

static void open_node(struct orr_dry_run *run, uint32_t node)
{
    if (!run->is_open[node]) {
        run->nodes[run->open_count++] = node;
        run->is_open[node] = true;
    }
}

/* For sketches: nodes that are feasible, and those of victims. */
static void list_open_nodes(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_apart *s = search->refuter.apart;
    for (uint32_t n = 0; n < session->node_count; n++) {
        if (search->feasible[n]) {
            open_node(s->run, n);
        }
    }
    for (uint32_t i = 0; i < s->taken_count; i++) {
        open_node(s->run, session->tasks[s->taken[i]].live.node);
    }
}

static bool open_sketch(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    bool known = true;
    run->sketch = &session->victim_index->sketch;
    orr_sketch_start(run->sketch, session);
    list_open_nodes(search);
    for (uint32_t i = 0; known && i < s->taken_count; i++) {
        known = is_sketched(session, s->taken[i]);
        if (known) {
            orr_sketch_evict(run->sketch, s->taken[i]);
        }
    }
    run->seen_touched = 0;
    recount_places(session, run, run->sketch->touched_count);
    return known;
}

static bool are_counted(const struct orr_session *session, const struct orr_apart *s)
{
    const struct orr_dry_run *run = s->run;
    bool counted = run->counts != NULL && (run->by_sketch || !s->any_constrained);
    for (uint32_t i = 0; counted && i < s->taken_count; i++) {
        counted =
            orr_flat__asks_whole_gpus(session, orr_task_ask(session, &session->tasks[s->taken[i]]));
    }
    for (uint32_t v = 0; counted && s->any_constrained && v < s->victim_count; v++) {
        const struct orr_apart_victim *victim = &s->victims[v];
        for (uint32_t i = 0; counted && victim->constrained && i < victim->due; i++) {
            counted = asks_gpus_alone(session, s->tasks[victim->due_at + i]);
        }
    }
    return counted;
}

static void open_counts(const struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    const struct orr_dry_run *run = s->run;
    for (uint32_t i = 0; i < run->roomy_count; i++) {
        if (search->feasible[run->roomy[i]]) {
            orr_gpu_counts_open(run->counts, run->roomy[i]);
        }
    }
    for (uint32_t i = 0; i < s->taken_count; i++) {
        orr_gpu_counts_evict(run->counts, s->taken[i]);
    }
    orr_gpu_counts_start(run->counts, run->least_gpus);
}

/* Constrained jobs are sketched on the counts. */
static void sketch_on_counts(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_dry_run *run = search->refuter.apart->run;
    run->sketch = &session->victim_index->sketch;
    orr_sketch_start_on_counts(run->sketch, session, run->counts);
    list_open_nodes(search);
}

/* False: it is not known what becomes of some victim. */
static bool open_nodes(const struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    run->counted = are_counted(search->session, s);
    if (run->counted) {
        open_counts(search);
        run->places = run->counts->places;
        if (run->constrained || s->any_constrained) {
            sketch_on_counts(search);
        }
        return true;
    }
    run->places = run->places_before;
    return run->by_sketch && open_sketch(search);
}

static void close_nodes(const struct orr_session *session, struct orr_dry_run *run)
{
    if (run->sketch != NULL) {
        const size_t touched = run->sketch->touched_count;
        orr_sketch_end(run->sketch);
        run->seen_touched = 0;
        recount_places(session, run, touched);
        for (uint32_t i = 0; i < run->open_count; i++) {
            run->is_open[run->nodes[i]] = false;
        }
        run->open_count = 0;
    }
    if (run->counted) {
        orr_gpu_counts_close(run->counts);
    }
    run->sketch = NULL;
    run->counted = false;
}

/* --- placing --- */

/* All or none. */
static bool place_tasks(const struct orr_victim_search *search, struct orr_jobview view,
                        bool constrained, uint32_t *tasks, uint32_t count)
{
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    const bool placed =
        run->counted && !constrained
            ? orr_gpu_counts_place(run->counts, tasks, count)
            : orr_sketch_job(run->sketch, view,
                             (struct orr_task_list){.tasks = tasks, .count = count}, s->is_lost,
                             (struct orr_node_list){.nodes = run->nodes, .count = run->open_count});
    if (run->counted) {
        run->places = run->counts->places;
    } else {
        recount_places(search->session, run, run->sketch->touched_count);
    }
    return placed;
}

/* --- serving --- */

/* What reclaim's validator says about what the victims that are not `back` lose, and the others
 * beyond what they are due; `at_least`: as if all were back, of the units alone. */
static bool may_lose(const struct orr_victim_search *search, const struct orr_victims *potential,
                     bool at_least)
{
    struct orr_apart *s = search->refuter.apart;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        const uint32_t *due = &s->tasks[s->victims[v].due_at];
        for (uint32_t i = 0; i < s->victims[v].due; i++) {
            s->is_back[due[i]] = at_least || s->victims[v].back;
        }
    }
    const bool may = at_least ? orr_victim__may_take(search, potential, s->is_back)
                              : orr_victim__may_reclaim(search, potential, s->is_back);
    for (uint32_t i = 0; i < s->task_count; i++) {
        s->is_back[s->tasks[i]] = false;
    }
    return may;
}

bool orr_victim__loses_too_much(const struct orr_victim_search *search,
                                const struct orr_victims *potential)
{
    const struct orr_apart *s = search->refuter.apart;
    bool any = false;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        any = any || s->victims[v].lost > s->victims[v].due;
    }
    return any && !may_lose(search, potential, true);
}

/* By what would be held. */
static bool passes_limit(const struct orr_victim_search *search, uint32_t q,
                         const struct orr_demand *demand)
{
    const struct orr_session *session = search->session;
    bool over = false;
    for (; q != ORR_NONE && session->rules.proportion; q = session->shares[q].parent) {
        const int64_t *holds = search->refuter.apart->hypothetical[q];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double limit = session->shares[q].resource[kind].limit;
            over = over || (limit != ORR_UNLIMITED && orr_demand_asks(demand, kind) &&
                            limit < orr_demand_on(holds[kind], demand, kind));
        }
    }
    return over;
}

static bool is_over_capacity(const struct orr_victim_search *search)
{
    return orr_job_over_quota(search->session, search->job, &search->demand) ||
           passes_limit(search, search->session->jobs[search->job].queue, &search->demand);
}

struct serving { /* of a scenario */
    struct orr_victim_search *search;
    const struct orr_victims *potential;
    struct orr_order *order;
    uint32_t left; /* to be popped */
    uint64_t line; /* 0: none is kept */
    bool own_turn; /* the preemptor is the last in it */
    bool placed;   /* it has its places, which its queue is charged for */
    bool started;  /* queues are as if all victims had been evicted */
};

static bool pop(struct serving *serving, struct orr_jobview *view)
{
    const bool popped = serving->left > 0 && orr_order_pop(serving->order, view);
    serving->left -= popped;
    return popped;
}

static bool place_preemptor(struct serving *serving)
{
    struct orr_victim_search *search = serving->search;
    serving->placed = !is_over_capacity(search) &&
                      place_tasks(search, search->view, search->refuter.apart->run->constrained,
                                  search->tasks.tasks, search->k);
    if (serving->placed) {
        orr_apart__charge(search->session, search->refuter.apart,
                          search->session->jobs[search->job].queue, &search->demand, 1);
    }
    return serving->placed;
}

static bool place_victim(const struct orr_victim_search *search,
                         const struct orr_apart_victim *victim)
{
    return place_tasks(search, orr_jobview_whole(victim->job), victim->constrained,
                       &search->refuter.apart->tasks[victim->due_at], victim->due);
}

/* One after the other; SOLVED: it may be. */
static enum orr_outcome serve(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    const bool weighed = search->action == ORR_ACTION_RECLAIM && session->rules.proportion;
    struct orr_jobview view;
    while ((all_must || weighed || !serving->placed) && pop(serving, &view)) {
        if (view.job == search->job) {
            if (!place_preemptor(serving)) {
                return ORR_OUTCOME_NOT_PLACED;
            }
            continue;
        }
        struct orr_apart_victim *victim = &s->victims[s->slot_of[view.job] - 1];
        const bool back =
            !passes_limit(search, session->jobs[victim->job].queue, &victim->demand) &&
            place_victim(search, victim);
        if (all_must && (!back || victim->due < victim->lost)) {
            return ORR_OUTCOME_NOT_PLACED;
        }
        if (back) {
            orr_apart__give_back(session, s, victim);
            if (!serving->placed && is_hopeless(search, s->run)) {
                return ORR_OUTCOME_NOT_PLACED;
            }
        }
    }
    if (!serving->placed) {
        return ORR_OUTCOME_NOT_PLACED;
    }
    return weighed && !may_lose(search, serving->potential, false) ? ORR_OUTCOME_REJECTED
                                                                   : ORR_OUTCOME_SOLVED;
}

/* The order in which all are served, from its beginning. */
static void start_order(struct serving *serving)
{
    const struct orr_session *session = serving->search->session;
    struct orr_victim_search *search = serving->search;
    struct orr_apart *s = search->refuter.apart;
    struct orr_order *order = serving->order;
    serving->started = true;
    orr_order_restart(order);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        orr_apart__evict(session, s, &s->victims[v]);
    }
    const struct orr_order_entry *served = orr_apart__entries(search, order, &serving->left);
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])s->hypothetical;
    orr_order_build_over(order, search->waiting, search->waiting_count, orr_apart__unlisted(s),
                         served, serving->left);
}

/* --- popped first, placed afterwards --- */

/* So many of the preemptor's places are gone at least once the victim is back. */
static int64_t places_taken(const struct orr_victim_search *search,
                            const struct orr_apart_victim *victim)
{
    const struct orr_apart *s = search->refuter.apart;
    int64_t places = 0;
    for (uint32_t i = 0; i < victim->due && s->run->least_gpus > 0; i++) {
        places += orr_task_gpus(search->session, s->tasks[victim->due_at + i]) / s->run->least_gpus;
    }
    return places;
}

/* Places on the nodes that are going to be open, by the whole GPUs of victims. */
static int64_t count_places_ahead(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_apart *s = search->refuter.apart;
    const int32_t *whole = session->victim_index->whole;
    struct orr_dry_run *run = s->run;
    int64_t places = run->places_before;
    for (uint32_t i = 0; i < s->taken_count; i++) {
        const uint32_t n = session->tasks[s->taken[i]].live.node;
        const int32_t before = whole[n] + run->freed[n];
        run->freed[n] += orr_task_gpus(session, s->taken[i]);
        places += (whole[n] + run->freed[n]) / run->least_gpus - before / run->least_gpus;
    }
    for (uint32_t i = 0; i < s->taken_count; i++) {
        run->freed[session->tasks[s->taken[i]].live.node] = 0;
    }
    return places;
}

/* Pops until it is the preemptor's turn, or it has too few places left. A limit of a queue may end
 * the line too: such an answer is not noted, as it holds only for what queues hold now. */
static enum orr_line pop_line(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    const bool counts = run->least_gpus > 0;
    int64_t places = counts ? count_places_ahead(search) : 0;
    struct orr_jobview view;
    if (counts && places < (int64_t)search->k) {
        return ORR_LINE_FAILS;
    }
    start_order(serving);
    while (!serving->own_turn && (!counts || places >= (int64_t)search->k) && pop(serving, &view)) {
        serving->line = orr_seen__join_line(search, serving->line, view.job);
        serving->own_turn = view.job == search->job;
        if (serving->own_turn && is_over_capacity(search)) {
            return ORR_LINE_FAILS;
        }
        if (!serving->own_turn) {
            const uint32_t at = s->slot_of[view.job] - 1;
            struct orr_apart_victim *victim = &s->victims[at];
            if ((all_must && victim->due < victim->lost) ||
                passes_limit(search, search->session->jobs[view.job].queue, &victim->demand)) {
                return ORR_LINE_BREAKS;
            }
            orr_apart__give_back(search->session, s, victim);
            run->line[run->line_count++] = at;
            places -= places_taken(search, victim);
        }
    }
    return orr_seen__line(search, serving->line);
}

/* The line is shortened to those who come back. */
static enum orr_line place_line(struct serving *serving)
{
    const struct orr_victim_search *search = serving->search;
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    for (uint32_t i = 0; i < run->line_count; i++) {
        if (!place_victim(search, &s->victims[run->line[i]])) {
            run->line_count = i;
            return search->action == ORR_ACTION_CONSOLIDATION ? ORR_LINE_FAILS : ORR_LINE_BREAKS;
        }
        if (is_hopeless(search, run)) {
            return ORR_LINE_FAILS;
        }
    }
    return serving->own_turn && !place_preemptor(serving) ? ORR_LINE_FAILS : ORR_LINE_STANDS;
}

static void restore_victims(const struct orr_session *session, struct orr_apart *s)
{
    for (uint32_t v = 0; v < s->victim_count; v++) {
        orr_apart__restore(session, s, &s->victims[v]);
    }
}

/* Pops the line again, which has its places, and then perhaps one who did not come back. */
static void pop_again(struct serving *serving, bool one_more)
{
    const struct orr_session *session = serving->search->session;
    struct orr_apart *s = serving->search->refuter.apart;
    struct orr_jobview view;
    restore_victims(session, s);
    start_order(serving);
    serving->own_turn = false;
    for (uint32_t i = 0; i < s->run->line_count; i++) {
        (void)pop(serving, &view);
        orr_apart__give_back(session, s, &s->victims[s->run->line[i]]);
    }
    if (one_more) {
        (void)pop(serving, &view);
    }
}

/* On open nodes, once it is known how far the line stands. */
static enum orr_outcome serve_on_nodes(struct serving *serving, enum orr_line line)
{
    const struct orr_victim_search *search = serving->search;
    struct orr_dry_run *run = search->refuter.apart->run;
    if (serving->line == 0) {
        start_order(serving);
    } else if (line == ORR_LINE_BREAKS) {
        run->line_count = 0;
        pop_again(serving, false);
    } else {
        line = place_line(serving);
        orr_seen__note_line(search, serving->line, line);
        if (line == ORR_LINE_BREAKS) {
            pop_again(serving, true);
        }
    }
    return line == ORR_LINE_FAILS ? ORR_OUTCOME_NOT_PLACED : serve(serving);
}

static enum orr_outcome serve_tree(struct orr_victim_search *search,
                                   const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    struct serving serving = {.search = search,
                              .potential = potential,
                              .order = orr_victim_index_order(search->session),
                              .line = orr_seen__start_line(search)};
    enum orr_outcome outcome = ORR_OUTCOME_NOT_PLACED;
    orr_victim__list_waiting(search);
    count_places(search, s->run);
    s->run->line_count = 0;
    const enum orr_line line = serving.line == 0 ? ORR_LINE_STANDS : pop_line(&serving);
    if (line != ORR_LINE_FAILS) {
        if (!open_nodes(search)) {
            outcome = ORR_OUTCOME_SOLVED;
        } else if (!is_hopeless(search, s->run)) {
            outcome = serve_on_nodes(&serving, line);
        }
        close_nodes(session, s->run);
    }
    if (serving.placed) {
        orr_apart__charge(session, s, session->jobs[search->job].queue, &search->demand, -1);
    }
    if (serving.started) {
        restore_victims(session, s);
    }
    return outcome;
}

void orr_victim__start_dry_runs(struct orr_victim_search *search)
{
    if (search->refuter.apart != NULL && search->refuter.apart->run != NULL) {
        search->refuter.apart->run->places_counted = false;
    }
}

/* SOLVED: nothing is known, or the scenario may be. */
enum orr_outcome orr_victim__run_dry(struct orr_victim_search *search,
                                     const struct orr_victims *potential)
{
    struct orr_apart *s = search->refuter.apart;
    if (s->run == NULL) {
        s->run = open_run(search);
    }
    return s->run->counts != NULL || s->run->by_sketch ? serve_tree(search, potential)
                                                       : ORR_OUTCOME_SOLVED;
}
