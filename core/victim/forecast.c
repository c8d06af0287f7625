/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a scenario can work, found out on counts of free GPUs instead of by simulating it.
 *
 *   open        is the world plain enough? who may lose something, lane by lane
 *   hopeless    an argument that no scenario of the search can work
 *   may_work    one scenario: who is served in which order, and does the preemptor find room
 *
 * A plain world: whole GPUs of nodes that nobody shares, no other resource that could be short, no
 * constraints, gangs that are evicted and placed as a whole, and all queues concerned siblings, so
 * that the next one served is the first by comparison. Other worlds are simulated.
 *
 * Pops of jobs that are neither victims nor the preemptor change nothing but the head of their
 * queue. So a lane's jobs up to its next party are one block, served when the worst of them is the
 * first among the lanes; of waiting jobs only their distinct demands matter.
 */
#include "forecast_int.h"

#include <string.h>

/* --- is the world plain? --- */

static bool plain_ask(const struct orr_session *session, const struct orr_ask *ask)
{
    if (ask->kind != ORR_ASK_WHOLE || ask->legacy_mig || ask->request.v[ORR_SLOT_GPU] <= 0 ||
        ask->request.v[ORR_SLOT_GPU] % ORR_MGPU != 0 ||
        (session->rules.predicates && (ask->affinity != ORR_NONE || ask->tolerance != ORR_NONE))) {
        return false;
    }
    for (uint32_t s = ORR_SLOT_EXTENDED; s < session->slot_count; s++) {
        if (ask->request.v[s] != 0) {
            return false;
        }
    }
    return true;
}

static bool same_request(const struct orr_session *session, uint32_t a, uint32_t b)
{
    return a == b || memcmp(&session->asks[a].request, &session->asks[b].request,
                            sizeof session->asks[a].request) == 0;
}

/* The only pod set of a job without constraints, or ORR_NONE. */
static uint32_t only_pod_set(const struct orr_session *session, const struct orr_sjob *job)
{
    uint32_t found = ORR_NONE;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        const struct orr_sset *set = &session->sets[s];
        if ((set->constraint.topology != NULL && session->rules.topology) ||
            (set->is_pods ? found != ORR_NONE : set->min != 1)) {
            return ORR_NONE;
        }
        found = set->is_pods ? s : found;
    }
    return found;
}

/* All of the job runs, or waits for what is being released, and as one piece. */
static bool plain_victim(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const uint32_t set = only_pod_set(session, job);
    if (set == ORR_NONE || session->sets[set].min != (int32_t)job->task_count) {
        return false;
    }
    uint32_t pipelined = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (!orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) ||
            task->live.node == ORR_NONE || task->nominated != ORR_NONE ||
            !plain_ask(session, orr_task_ask(session, task))) {
            return false;
        }
        pipelined += task->live.status == ORR_TASK_PIPELINED;
    }
    return pipelined == 0 || pipelined == job->task_count;
}

static bool plain_preemptor(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (only_pod_set(session, &session->jobs[search->job]) == ORR_NONE) {
        return false;
    }
    const uint32_t ask = session->tasks[search->tasks.tasks[0]].ask;
    for (uint32_t i = 0; i < search->tasks.count; i++) {
        const struct orr_stask *task = &session->tasks[search->tasks.tasks[i]];
        if (task->live.status != ORR_TASK_PENDING || task->nominated != ORR_NONE ||
            !same_request(session, task->ask, ask)) {
            return false;
        }
    }
    return plain_ask(session, &session->asks[ask]);
}

/* Most of a slot that any request asks with each GPU, rounded up. */
static void find_densities(const struct orr_session *session, int64_t densest[ORR_SLOTS_MAX])
{
    memset(densest, 0, ORR_SLOTS_MAX * sizeof *densest);
    densest[ORR_SLOT_PODS] = 1; /* a node that takes no pods takes none that counts as no pod */
    for (uint32_t a = 0; a < session->ask_count; a++) {
        const struct orr_ask *ask = &session->asks[a];
        const int64_t gpus = ask->request.v[ORR_SLOT_GPU] / ORR_MGPU;
        for (uint32_t s = 0; s < session->slot_count && plain_ask(session, ask); s++) {
            const int64_t each = (ask->request.v[s] + gpus - 1) / gpus;
            densest[s] = each > densest[s] ? each : densest[s];
        }
    }
}

/* Node by node: whatever GPUs are free for a task, there is enough of all else. */
static bool gpus_decide(const struct orr_session *session, const struct orr_snode *node,
                        const int64_t densest[ORR_SLOTS_MAX])
{
    const int64_t gpus = node->allocatable.v[ORR_SLOT_GPU] / ORR_MGPU;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        const int64_t releasing = node->releasing.v[s] < 0 ? node->releasing.v[s] : 0;
        if (s != ORR_SLOT_GPU && node->idle.v[s] + releasing < densest[s] * gpus) {
            return false;
        }
    }
    return true;
}

static bool plain_nodes(struct orr_forecast *f, const struct orr_session *session)
{
    int64_t densest[ORR_SLOTS_MAX];
    find_densities(session, densest);
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        const int64_t idle = node->idle.v[ORR_SLOT_GPU];
        const int64_t room = idle + node->releasing.v[ORR_SLOT_GPU];
        if (node->allocatable.v[ORR_SLOT_GPU] == 0) {
            continue; /* it takes no GPU task */
        }
        if (!node->ready || node->is_mig || node->shared_count > 0 || room < 0 ||
            idle % ORR_MGPU != 0 || room % ORR_MGPU != 0 ||
            node->allocatable.v[ORR_SLOT_GPU] > ORR_FORECAST_GPUS * ORR_MGPU ||
            room > node->allocatable.v[ORR_SLOT_GPU] || !gpus_decide(session, node, densest)) {
            return false;
        }
        f->idle[n] = (int32_t)(idle / ORR_MGPU);
        f->base[n] = (int32_t)(room / ORR_MGPU);
        f->room_in_all += f->base[n];
        f->most_idle = f->idle[n] > f->most_idle ? f->idle[n] : f->most_idle;
        const int32_t gpus = (int32_t)(node->allocatable.v[ORR_SLOT_GPU] / ORR_MGPU);
        f->largest_node = gpus > f->largest_node ? gpus : f->largest_node;
    }
    return true;
}

/* --- lanes and seats --- */

static bool has_limit(const struct orr_session *session, uint32_t queue)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (session->shares[queue].resource[kind].limit != ORR_UNLIMITED) {
            return true;
        }
    }
    return false;
}

/* The lane of a queue, or ORR_NONE if it is no sibling of the others or has a limit above it. */
static uint32_t track_of(struct orr_forecast *f, struct orr_victim_search *search, uint32_t queue)
{
    const struct orr_session *session = search->session;
    for (uint32_t l = f->track_count; l-- > 0;) {
        if (f->tracks[l].queue == queue) {
            return l;
        }
    }
    const uint32_t parent = session->shares[queue].parent;
    if (!session->queues[queue].usable ||
        (f->track_count > 0 && session->shares[f->tracks[0].queue].parent != parent)) {
        return ORR_NONE;
    }
    for (uint32_t q = parent; q != ORR_NONE; q = session->shares[q].parent) {
        if (has_limit(session, q)) {
            return ORR_NONE;
        }
    }
    f->tracks[f->track_count] =
        (struct orr_track){.queue = queue, .limited = has_limit(session, queue)};
    return f->track_count++;
}

static bool add_seat(struct orr_forecast *f, struct orr_victim_search *search, uint32_t job,
                     uint32_t first_task, uint32_t tasks)
{
    const struct orr_session *session = search->session;
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[first_task]);
    const uint32_t track = track_of(f, search, session->jobs[job].queue);
    if (track == ORR_NONE) {
        return false;
    }
    struct orr_seat *seat = &f->seats[f->seat_count];
    search->session->jobs[job].mark = f->seat_count++;
    *seat = (struct orr_seat){.job = job,
                              .track = track,
                              .gpus = (uint32_t)(ask->request.v[ORR_SLOT_GPU] / ORR_MGPU),
                              .first_task = first_task,
                              .tasks = tasks,
                              .pipelined =
                                  session->tasks[first_task].live.status == ORR_TASK_PIPELINED};
    for (uint32_t i = 0; i < tasks; i++) {
        const struct orr_ask *one = orr_task_ask(session, &session->tasks[first_task + i]);
        orr_session_add_demand(session, one, 0, &seat->demand);
        seat->unlike = seat->unlike || one->request.v[ORR_SLOT_GPU] != ask->request.v[ORR_SLOT_GPU];
    }
    return true;
}

static bool add_seats(struct orr_forecast *f, struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (!add_seat(f, search, search->job, search->tasks.tasks[0], 1)) {
        return false;
    }
    for (uint32_t i = 0; i < search->candidate_count; i++) {
        const uint32_t job = search->candidates[i].job;
        if (!plain_victim(session, job) || !add_seat(f, search, job, session->jobs[job].first_task,
                                                     session->jobs[job].task_count)) {
            return false;
        }
    }
    return true;
}

/* Among siblings that differ in one resource alone there is always a first; KAI's comparison of
 * allocatable shares is no order of more. */
static bool plain_queues(const struct orr_forecast *f, const struct orr_session *session)
{
    const uint32_t one = f->tracks[0].queue;
    uint32_t differing = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const double share = orr_share_allocatable(&session->shares[one].resource[kind]);
        bool differs = false;
        for (uint32_t q = 0; q < session->queue_count && !differs; q++) {
            const double other = orr_share_allocatable(&session->shares[q].resource[kind]);
            differs = session->shares[q].parent == session->shares[one].parent &&
                      (other > share || other < share);
        }
        differing += differs;
    }
    return differing <= 1;
}

static bool plain_rules(const struct orr_session_rules *rules)
{
    return !rules->literal && !rules->numa && rules->gpu_placement == ORR_PLACEMENT_BINPACK;
}

/* Lists who is in the backlog and does not wait. False: it lacks some that do. */
static bool list_absent(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_forecast *f = search->forecast;
    f->absent = orr_arena_alloc(&f->arena, session->changed_count + (size_t)1, sizeof *f->absent);
    f->absent[f->absent_count++] = search->job;
    for (uint32_t i = 0; i < session->changed_count; i++) {
        const uint32_t j = session->changed_jobs[i];
        const struct orr_sjob *job = &session->jobs[j];
        const bool listed =
            j < session->backlog->job_count && session->backlog->lane_of_job[j] != ORR_NONE;
        if (j == search->job || (job->pending == 0 && !listed)) {
            continue;
        }
        if (job->pending == 0) {
            f->absent[f->absent_count++] = j;
        } else if (!listed || job->pending != job->task_count) {
            return false;
        }
    }
    return true;
}

void orr_victim__open_forecast(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (!plain_rules(&session->rules) || session->abandoned || session->backlog == NULL ||
        !plain_preemptor(search) || session->backlog->unready_count > 0) {
        return;
    }
    struct orr_forecast *f = orr_zalloc(1, sizeof *f);
    search->forecast = f;
    orr_arena_init(&f->arena);
    f->seats = orr_arena_alloc(&f->arena, search->candidate_count + (size_t)1, sizeof *f->seats);
    f->tracks = orr_arena_alloc(&f->arena, session->queue_count + (size_t)1, sizeof *f->tracks);
    f->base = orr_arena_alloc(&f->arena, session->node_count, sizeof *f->base);
    f->idle = orr_arena_alloc(&f->arena, session->node_count, sizeof *f->idle);
    f->elastic_state = orr_jobview_elastic_state(session, search->view);
    if (!list_absent(search) || !plain_nodes(f, session) || !add_seats(f, search) ||
        !plain_queues(f, session)) {
        orr_victim__close_forecast(search);
    }
}

void orr_victim__close_forecast(struct orr_victim_search *search)
{
    if (search->forecast != NULL) {
        orr_arena_release(&search->forecast->arena);
        orr_free(search->forecast);
        search->forecast = NULL;
    }
}

/* --- the jobs that wait between seats --- */

/* Of a party as it would be in the order: evicted, so below its minimum. */
struct orr_order_entry orr_forecast__entry(const struct orr_victim_search *search, uint32_t seat)
{
    const struct orr_seat *s = &search->forecast->seats[seat];
    struct orr_order_entry entry = {
        .view = orr_jobview_whole(s->job), .elastic_state = -1, .demand = s->demand};
    if (seat == 0) {
        entry.view = search->view;
        entry.elastic_state = search->forecast->elastic_state;
    }
    return entry;
}

bool orr_forecast__is_before(const struct orr_victim_search *search, uint32_t a, uint32_t b)
{
    const struct orr_order_entry one = orr_forecast__entry(search, a);
    const struct orr_order_entry other = orr_forecast__entry(search, b);
    return orr_order_compare_jobs(search->session, &one, &other) < 0;
}

/* Negative: all that wait in the lane are served before the party, positive: none, 0: by age. */
static int lane_against(const struct orr_victim_search *search, const struct orr_lane *lane,
                        uint32_t seat)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->forecast->seats[seat].job];
    const int waiting = session->backlog->classes[lane->class].elastic_state;
    const int own = seat == 0 ? search->forecast->elastic_state : -1;
    if (session->rules.priority && lane->priority != job->priority) {
        return lane->priority > job->priority ? -1 : 1;
    }
    return session->rules.elastic ? waiting - own : 0;
}

static bool is_older(const struct orr_lane_item *item, const struct orr_sjob *job)
{
    return item->created_s != job->created_s ? item->created_s < job->created_s
                                             : strcmp(item->name, job->name) < 0;
}

uint32_t orr_forecast__count_before(const struct orr_victim_search *search, uint32_t index,
                                    uint32_t seat, uint32_t from)
{
    const struct orr_lane *lane = &search->session->backlog->lanes[index];
    const struct orr_sjob *job = &search->session->jobs[search->forecast->seats[seat].job];
    const uint32_t all = lane->end - lane->first;
    const int against = lane_against(search, lane, seat);
    const struct orr_lane_item *items = lane->items + lane->first;
    if (against != 0 || from == all) {
        return against < 0 ? all : from;
    }
    if (!is_older(&items[from], job)) {
        return from;
    }
    uint32_t low = from + 1;
    for (uint32_t high = all; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_older(&items[middle], job)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t orr_forecast__count_absent(const struct orr_victim_search *search, uint32_t index,
                                    uint32_t from, uint32_t to)
{
    const struct orr_session *session = search->session;
    const struct orr_forecast *f = search->forecast;
    const struct orr_lane *lane = &session->backlog->lanes[index];
    const struct orr_lane_item *items = lane->items + lane->first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->absent_count && from < to; i++) {
        const struct orr_sjob *job = &session->jobs[f->absent[i]];
        count += session->backlog->lane_of_job[f->absent[i]] == index &&
                 (from == 0 || is_older(&items[from - 1], job)) && !is_older(&items[to - 1], job);
    }
    return count;
}

static bool same_demand(const struct orr_demand *a, const struct orr_demand *b)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (a->v[kind] != b->v[kind]) {
            return false;
        }
    }
    return a->gpus_by_memory >= b->gpus_by_memory && a->gpus_by_memory <= b->gpus_by_memory;
}

/* False: there are more distinct demands than can be told apart. */
static bool add_demand(struct orr_forecast *f, const struct orr_demand *demand, uint64_t *set)
{
    uint32_t d = 0;
    while (d < f->demand_count && !same_demand(&f->demands[d], demand)) {
        d++;
    }
    if (d == ORR_FORECAST_DEMANDS) {
        return false;
    }
    if (d == f->demand_count) {
        f->demands[f->demand_count++] = *demand;
    }
    *set |= UINT64_C(1) << d;
    return true;
}

static const struct orr_backlog_leaf *leaf_of(const struct orr_victim_search *search, uint32_t seat)
{
    const struct orr_forecast *f = search->forecast;
    return &search->session->backlog->leaves[f->tracks[f->seats[seat].track].queue];
}

uint32_t *orr_forecast__passed(struct orr_victim_search *search, uint32_t seat)
{
    return orr_arena_alloc(&search->forecast->arena, leaf_of(search, seat)->count + (size_t)1,
                           sizeof(uint32_t));
}

bool orr_forecast__demands(struct orr_victim_search *search, uint32_t seat, uint32_t *passed,
                           uint64_t *set)
{
    const struct orr_backlog *backlog = search->session->backlog;
    const struct orr_backlog_leaf *leaf = leaf_of(search, seat);
    for (uint32_t i = 0; i < leaf->count; i++) {
        const uint32_t index = leaf->lanes[i];
        const struct orr_lane *lane = &backlog->lanes[index];
        const uint32_t from = passed[i];
        const uint32_t to = orr_forecast__count_before(search, index, seat, from);
        passed[i] = to;
        if (to - from > orr_forecast__count_absent(search, index, from, to) &&
            !add_demand(search->forecast, &backlog->classes[lane->class].demand, set)) {
            return false;
        }
    }
    return true;
}

/* --- standing of a block --- */

static void stand(const struct orr_session *session, uint32_t queue, const int64_t *held,
                  const struct orr_demand *job, struct orr_queue_rank *out)
{
    const struct orr_contender who = {.queue = queue, .allocated = held, .job = job};
    *out = orr_queue_rank_of(session, &who);
}

void orr_forecast__take_worse(const struct orr_session *session, struct orr_queue_rank *worst,
                              const struct orr_queue_rank *other)
{
    if (orr_queue_compare_amounts(session, worst, other) < 0) {
        *worst = *other;
    }
}

/* A standing only gets worse with what a job asks: of demands that are no more than another one
 * nothing need be worked out. */
void orr_forecast__block(const struct orr_victim_search *search, uint32_t queue,
                         const int64_t *held, const struct orr_demand *job, uint64_t waiting,
                         struct orr_queue_rank *worst)
{
    const struct orr_session *session = search->session;
    const struct orr_demand *demands = search->forecast->demands;
    const struct orr_demand *most = job;
    for (uint64_t bits = waiting; bits != 0; bits &= bits - 1) {
        const struct orr_demand *one = &demands[__builtin_ctzll(bits)];
        most = orr_demand_at_most(most, one) ? one : most;
    }
    stand(session, queue, held, most, worst);
    if (waiting == 0) {
        return;
    }
    if (!orr_demand_at_most(job, most)) {
        struct orr_queue_rank own;
        stand(session, queue, held, job, &own);
        orr_forecast__take_worse(session, worst, &own);
    }
    for (uint64_t bits = waiting; bits != 0; bits &= bits - 1) {
        const struct orr_demand *one = &demands[__builtin_ctzll(bits)];
        if (!orr_demand_at_most(one, most)) {
            struct orr_queue_rank other;
            stand(session, queue, held, one, &other);
            orr_forecast__take_worse(session, worst, &other);
        }
    }
}
