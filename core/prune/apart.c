/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The victims of a scenario: what each lost and is given when it is served. */
#include "dry_run.h"

#include <string.h>

#include "flat_int.h"

/* --- what victims are given when they are served --- */

bool orr_apart__is_limited(const struct orr_session *session, uint32_t job)
{
    bool limited = false;
    for (uint32_t q = session->jobs[job].queue; q != ORR_NONE; q = session->shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            limited = limited || session->shares[q].resource[kind].limit != ORR_UNLIMITED;
        }
    }
    return limited;
}

/* A node counts what it gives of a device in hundredths, rounded up (orr_memory_counted_mgpu): on
 * none is that more than the job is held to ask, but for a few parts such as 0.07: times 100 they
 * are a little more than 7 in double. For these a job is held against limits and, if it is not
 * preemptible, quotas once more, node by node (orr_place__over_capacity_on). */
static bool is_plain_part(const struct orr_session *session, const struct orr_ask *ask,
                          uint32_t job)
{
    const int64_t hundredths = orr_session_portion_mgpu(ask->portion) / (ORR_MGPU / 100);
    return ask->kind == ORR_ASK_FRACTION &&
           (ask->portion * 100 <= (double)hundredths ||
            (session->jobs[job].preemptible && !orr_apart__is_limited(session, job)));
}

bool orr_apart__is_simple(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    const bool active = orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED);
    return (ask->kind == ORR_ASK_WHOLE || ask->kind == ORR_ASK_NO_GPU ||
            is_plain_part(session, ask, task->job)) &&
           ask->mig_mgpu == 0 && task->nominated == ORR_NONE &&
           (active ? task->live.node != ORR_NONE
                   : task->live.status == ORR_TASK_PENDING || !orr_task_may_allocate(task, true));
}

/* Of jobs of one pod set that have their minimum, and whose tasks are all active unless they are
 * all alike. */
static bool is_known(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const struct orr_sset *sets = &session->sets[job->first_set];
    if (job->set_count != 2 || sets[0].min != 1 || !sets[1].is_pods ||
        (int32_t)job->active < sets[1].min || !session->queues[job->queue].usable) {
        return false;
    }
    const bool gang = sets[1].min == (int32_t)job->task_count;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (!orr_apart__is_simple(session, task) ||
            (!gang && task->ask != session->tasks[job->first_task].ask)) {
            return false;
        }
    }
    return true;
}

static uint64_t fingerprint_task(const struct orr_session *session,
                                 const struct orr_apart_victim *victim, uint32_t task)
{
    return orr_scatter(victim->job_fingerprint + (task - session->jobs[victim->job].first_task));
}

/* What it lost, all its tasks or (`is_lost`, by task) some of them, and what it is due: the rest of
 * its gang or, if it has that, one task more (orr_jobview_to_allocate). */
static void list_due(struct orr_victim_search *search, const struct orr_apart_victim *victim,
                     struct orr_apart_loss *loss, const bool *is_lost)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[victim->job];
    const int32_t min = session->sets[job->first_set + 1].min;
    const int32_t left = is_lost == NULL ? 0 : (int32_t)(job->active - victim->lost);
    const uint32_t due = left < min ? (uint32_t)(min - left) : 1;
    uint32_t *due_tasks = loss->due_tasks;
    if (due_tasks == NULL) {
        due_tasks = orr_arena_take(&search->memory, job->task_count, sizeof *due_tasks);
    }
    *loss = (struct orr_apart_loss){.due_tasks = due_tasks,
                                    .elastic_state = (left > min) - (left < min)};
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = orr_task_ask(session, task);
        const bool lost = is_lost == NULL
                              ? orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED)
                              : is_lost[t];
        if (lost) {
            loss->fingerprint += fingerprint_task(session, victim, t);
            orr_session_add_demand(ask, session->min_gpu_memory_mib, &loss->lost_demand);
        }
        if (loss->due < due && (lost || task->live.status == ORR_TASK_PENDING)) {
            loss->due_tasks[loss->due++] = t;
            orr_session_add_demand(ask, session->min_gpu_memory_mib, &loss->demand);
        }
    }
}

/* Of a gang that comes back whole or not at all. A task that is pipelined may come back where it
 * was (gpu_counts.c). */
static uint64_t find_like(const struct orr_session *session, const struct orr_apart_victim *victim)
{
    const struct orr_sjob *job = &session->jobs[victim->job];
    uint64_t like = job->queue;
    if (victim->constrained || !victim->counted || victim->whole.due < job->active ||
        job->pending > 0) {
        return 0;
    }
    for (uint32_t i = 0; i < victim->whole.due; i++) {
        const struct orr_stask *task = &session->tasks[victim->whole.due_tasks[i]];
        const bool pipelined = task->live.status == ORR_TASK_PIPELINED;
        orr_fingerprint_word(&like, task->ask);
        orr_fingerprint_word(&like, pipelined ? task->live.node : ORR_NONE);
    }
    return like;
}

static struct orr_apart_victim *make_victim(struct orr_victim_search *search, uint32_t index)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[index];
    struct orr_apart_victim *victim = orr_arena_alloc(&search->memory, 1, sizeof *victim);
    victim->job = index;
    victim->queue = job->queue;
    victim->active = job->active;
    victim->none_waits = job->pending == 0;
    victim->constrained = orr_prune__is_constrained(session, job);
    victim->limited = orr_apart__is_limited(session, index);
    victim->counted = orr_dry_run__may_count(session, index, victim->constrained);
    orr_victim__fingerprint_job(&victim->job_fingerprint, session, index);
    victim->loss = &victim->whole;
    if (is_known(session, index)) {
        list_due(search, victim, &victim->whole, NULL);
        victim->like = find_like(session, victim);
    }
    return victim;
}

static inline struct orr_apart_victim *find_victim(struct orr_victim_search *search, uint32_t job)
{
    struct orr_apart_victim **of_job = &search->refuter.apart->of_job[job];
    if (*of_job == NULL) {
        *of_job = make_victim(search, job);
    }
    return *of_job;
}

uint64_t orr_apart__fingerprint_task(struct orr_victim_search *search, uint32_t task)
{
    return fingerprint_task(search->session, find_victim(search, search->session->tasks[task].job),
                            task);
}

/* --- the victims of a scenario --- */

/* False: it is not known what its job would be given. */
static bool take_task(struct orr_victim_search *search, const struct orr_victim *of)
{
    struct orr_apart *s = search->refuter.apart;
    struct orr_apart_victim *victim = find_victim(search, of->job);
    if (s->is_lost[of->task] || victim->whole.due == 0 ||
        !orr_status_in(search->session->tasks[of->task].live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
        return false;
    }
    if (!s->is_victim[of->job]) {
        s->is_victim[of->job] = true;
        s->victims[s->victim_count++] = victim;
        victim->lost = 0;
    }
    victim->lost++;
    s->is_lost[of->task] = true;
    s->taken[s->taken_count++] = of->task;
    return true;
}

/* Now it is known how many tasks it lost. */
static void finish_victim(struct orr_victim_search *search, struct orr_apart_victim *victim)
{
    struct orr_apart *s = search->refuter.apart;
    if (victim->lost < victim->active) {
        list_due(search, victim, &victim->part, s->is_lost);
        victim->loss = &victim->part;
    }
    s->any_constrained |= victim->constrained;
    s->any_short |= victim->lost > victim->loss->due;
    s->all_counted &= victim->counted;
}

void orr_apart__forget(struct orr_victim_search *search)
{
    struct orr_apart *s = search->refuter.apart;
    if (s == NULL) {
        return;
    }
    while (s->taken_count > 0) {
        s->is_lost[s->taken[--s->taken_count]] = false;
    }
    while (s->victim_count > 0) {
        struct orr_apart_victim *victim = s->victims[--s->victim_count];
        s->is_victim[victim->job] = false;
        victim->loss = &victim->whole;
    }
}

/* --- opening --- */

/* NULL: the pruner knows nothing of such a world. */
static struct orr_apart *open_apart(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    if (!session->rules.proportion || orr_victim_index_now(session)->uncounted_nodes > 0) {
        return NULL;
    }
    struct orr_apart *s = orr_arena_alloc(memory, 1, sizeof *s);
    s->of_job = orr_arena_alloc(memory, session->job_count, sizeof(struct orr_apart_victim *));
    s->victims = orr_arena_take(memory, session->job_count, sizeof(struct orr_apart_victim *));
    s->is_victim = orr_arena_alloc(memory, session->job_count, sizeof *s->is_victim);
    s->is_lost = orr_arena_alloc(memory, session->task_count, sizeof *s->is_lost);
    s->is_back = orr_arena_alloc(memory, session->task_count, sizeof *s->is_back);
    s->taken = orr_arena_take(memory, session->task_count, sizeof *s->taken);
    const size_t most = ELASTIC_STATES * (search->candidate_count + (size_t)1);
    s->line = orr_arena_take(memory, most, sizeof *s->line);
    s->in_line = orr_arena_alloc(memory, most / 64 + 1, sizeof *s->in_line);
    s->in_place = orr_arena_take(memory, most, sizeof(struct orr_apart_victim *));
    s->all_places = orr_arena_take(memory, search->candidate_count + (size_t)1, sizeof *s->places);
    s->served = orr_arena_take(memory, search->candidate_count + (size_t)1, sizeof *s->served);
    s->place = orr_arena_take(memory, session->job_count, sizeof *s->place);
    s->waits_before = orr_arena_take(memory, most, sizeof *s->waits_before);
    s->hypothetical = orr_arena_take(memory, session->queue_count, sizeof *s->hypothetical);
    return s;
}

bool orr_apart__take(struct orr_victim_search *search)
{
    if (!search->refuter.apart_known) {
        search->refuter.apart_known = true;
        search->refuter.apart = open_apart(search);
    }
    struct orr_apart *s = search->refuter.apart;
    const struct orr_victims *victims = &search->scenario;
    bool known = s != NULL && victims->count > 0;
    for (uint32_t i = 0; known && i < victims->count; i++) {
        known = take_task(search, &victims->items[i]);
    }
    if (!known) {
        return false;
    }
    s->any_constrained = s->any_short = false;
    s->all_counted = true;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        finish_victim(search, s->victims[v]);
    }
    return true;
}

/* --- in line --- */

/* Once for each number of tasks that the preemptor is tried with. */
static void line_up_all(struct orr_victim_search *search, const struct orr_order *order)
{
    const struct orr_refuter *refuter = &search->refuter;
    const struct orr_sjob *jobs = search->session->jobs;
    struct orr_apart *s = refuter->apart;
    struct orr_order_entry *own = s->served; /* nobody is listed yet */
    const uint32_t prepared = orr_order_prepare(order, &search->view, 1, own);
    ORR_ASSERT(prepared == 1); /* it was popped from an order */
    s->line_for = search->k;
    s->line_count = 0;
    uint32_t queue = ORR_NONE;
    uint64_t waits = 0;
    for (uint32_t m = 0, w = 0; m < refuter->mark_count; m++) {
        const struct orr_order_entry *mark = &refuter->marks[m];
        const bool is_own = mark->view.job == search->job;
        if (is_own && mark->elastic_state != own->elastic_state) {
            continue;
        }
        waits = jobs[mark->view.job].queue == queue ? waits : 0;
        queue = jobs[mark->view.job].queue;
        for (; w < refuter->waiting_count &&
               orr_order_compare_built(search->session, &refuter->waiting[w], mark) < 0;
             w++) {
            if (jobs[refuter->waiting[w].view.job].queue == queue) {
                orr_fingerprint__demand(&waits, &refuter->waiting[w].demand);
            }
        }
        s->waits_before[s->line_count] = waits;
        s->place[mark->view.job][mark->elastic_state + 1] = s->line_count;
        s->line[s->line_count++] = is_own ? *own : *mark;
    }
    s->own_state = own->elastic_state;
}

/* It is one of the scenario. */
static void mark(const struct orr_apart *s, uint32_t job, int elastic_state,
                 struct orr_apart_victim *victim)
{
    const uint32_t place = s->place[job][elastic_state + 1];
    s->in_line[place / 64] |= UINT64_C(1) << (place % 64);
    s->in_place[place] = victim;
}

/* Two scenarios go on the same where those that are left ask the same, in the same order among each
 * other and those that wait: where GPUs are counted, gangs are known by what they ask, by what
 * those ask that wait before them, and by how many are behind them in their queue. How many wait
 * before them does not tell: in a flat world searches with other candidates list others of the same
 * jobs (waiting_fingerprint.c). */
static uint64_t find_key(const struct orr_apart *s, const struct orr_apart_victim *victim,
                         uint32_t place, uint32_t behind)
{
    const bool alike = s->run->counted && victim->like != 0 && victim->loss == &victim->whole;
    return alike ? orr_scatter(victim->like + s->waits_before[place] + behind)
                 : victim->loss->fingerprint;
}

/* Of those that are marked, who no longer are then. Returns how many tasks the victims among them
 * may lose. */
static uint32_t find_keys(const struct orr_victim_search *search, struct orr_apart *s)
{
    const uint32_t own_queue = search->session->jobs[search->job].queue;
    uint32_t queue = ORR_NONE, behind = 0, active = 0;
    mark(s, search->job, s->own_state, NULL);
    s->places = s->all_places + search->candidate_count + 1;
    s->place_count = 0;
    s->run->lost = 0;
    s->run->left = s->waits_before[s->place[search->job][s->own_state + 1]];
    for (uint32_t w = s->line_count / 64 + 1; w-- > 0; s->in_line[w] = 0) {
        for (uint64_t bits = s->in_line[w]; bits != 0; s->place_count++) { /* the last one first */
            const uint32_t bit = 63u - (uint32_t)__builtin_clzll(bits);
            const uint32_t place = 64 * w + bit;
            struct orr_apart_victim *victim = s->in_place[place];
            const uint32_t of = victim == NULL ? own_queue : victim->queue;
            bits ^= UINT64_C(1) << bit;
            behind = of == queue ? behind + 1 : 0;
            queue = of;
            *--s->places = place;
            if (victim != NULL) {
                victim->key = find_key(s, victim, place, behind);
                s->run->left += victim->key;
                s->run->lost += victim->loss->fingerprint;
                active += victim->active;
            }
        }
    }
    return active;
}

void orr_apart__line_up(struct orr_victim_search *search, const struct orr_order *order)
{
    struct orr_apart *s = search->refuter.apart;
    if (s->line_for != search->k) {
        line_up_all(search, order);
    }
    for (uint32_t v = 0; v < s->victim_count; v++) {
        mark(s, s->victims[v]->job, s->victims[v]->loss->elastic_state, s->victims[v]);
    }
    (void)find_keys(search, s);
}

bool orr_apart__line_up_window(struct orr_victim_search *search, uint32_t from, uint32_t to)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victim *potential = search->potential.items;
    struct orr_apart *s = search->refuter.apart;
    uint32_t tasks = 0;
    s->run->counted = true;
    for (uint32_t n = from; n < to; n++) {
        uint32_t at = orr_capacities_last_on(c, c->bearing[n]);
        for (; at != ORR_NONE; at = potential[at].before, tasks++) {
            struct orr_apart_victim *victim = find_victim(search, potential[at].job);
            if (victim->like == 0) {
                memset(s->in_line, 0, (s->line_count / 64 + 1) * sizeof *s->in_line);
                return false;
            }
            mark(s, victim->job, victim->whole.elastic_state, victim);
        }
    }
    const bool all = find_keys(search, s) == tasks;
    s->lined_up = all ? search->scenarios : 0;
    return all;
}
