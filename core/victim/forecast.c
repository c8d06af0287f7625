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
        if (!node->ready || node->is_mig || node->shared_count > 0 || idle < 0 || room < 0 ||
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

static void take_worse(const struct orr_session *session, struct orr_queue_rank *worst,
                       const struct orr_queue_rank *other)
{
    if (orr_queue_compare_amounts(session, worst, other) < 0) {
        *worst = *other;
    }
}

void orr_forecast__block(const struct orr_victim_search *search, uint32_t queue,
                         const int64_t *held, const struct orr_demand *job, uint64_t waiting,
                         struct orr_queue_rank *worst)
{
    const struct orr_session *session = search->session;
    stand(session, queue, held, job, worst);
    for (uint32_t d = 0; waiting != 0; d++, waiting >>= 1) {
        if ((waiting & 1u) != 0) {
            struct orr_queue_rank other;
            stand(session, queue, held, &search->forecast->demands[d], &other);
            take_worse(session, worst, &other);
        }
    }
}

/* --- an argument against all scenarios at once --- */

struct lane_bound { /* over the victims of a lane */
    bool any;
    uint32_t last; /* seat that is served last */
    struct orr_demand least;
};

static struct lane_bound bound_lane(const struct orr_forecast *f,
                                    const struct orr_victim_search *search, uint32_t lane)
{
    struct lane_bound bound = {0};
    for (uint32_t s = 1; s < f->seat_count; s++) {
        const struct orr_seat *seat = &f->seats[s];
        if (seat->track != lane) {
            continue;
        }
        if (!bound.any) {
            bound = (struct lane_bound){.any = true, .last = s, .least = seat->demand};
            continue;
        }
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const int64_t amount = seat->demand.v[kind];
            bound.least.v[kind] = amount < bound.least.v[kind] ? amount : bound.least.v[kind];
        }
        bound.last = orr_forecast__is_before(search, bound.last, s) ? s : bound.last;
    }
    return bound;
}

/* Whichever of the lane's jobs are victims: all are served before the preemptor. Each victim that
 * is next in line stands, with what it asks, no worse than the queue stands now; a waiting job
 * before it finds at least one victim not yet placed again. */
static bool all_go_first(struct orr_forecast *f, struct orr_victim_search *search, uint32_t lane,
                         const struct orr_queue_rank *preemptor)
{
    const struct orr_session *session = search->session;
    const struct orr_track *at = &f->tracks[lane];
    const struct lane_bound bound = bound_lane(f, search, lane);
    if (!bound.any) {
        return true;
    }
    static const struct orr_demand nothing;
    const int64_t *held = session->queues[at->queue].allocated;
    struct orr_queue_rank worst;
    struct orr_queue_rank waiting;
    int64_t less[ORR_SHARE_KINDS];
    uint64_t demands = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        less[kind] = held[kind] - bound.least.v[kind];
        const double limit = session->shares[at->queue].resource[kind].limit;
        if (limit != ORR_UNLIMITED && orr_share_units(kind, held[kind]) > limit) {
            return false; /* a victim might not come back */
        }
    }
    stand(session, at->queue, held, &nothing, &worst);
    if (!orr_forecast__demands(search, bound.last, orr_forecast__passed(search, bound.last),
                               &demands)) {
        return false;
    }
    if (demands != 0) {
        orr_forecast__block(search, at->queue, less, &nothing, demands, &waiting);
        take_worse(session, &worst, &waiting);
    }
    return orr_queue_compare_amounts(session, &worst, preemptor) < 0;
}

void orr_forecast__count_size(struct orr_sizes *sizes, const struct orr_seat *seat)
{
    sizes->set |= 1u << seat->gpus;
    sizes->gangs = sizes->gangs || seat->tasks > 1;
    sizes->unlike = sizes->unlike || seat->unlike;
}

uint32_t orr_forecast__gpus(const struct orr_session *session, const struct orr_seat *seat,
                            uint32_t task)
{
    return seat->unlike ? (uint32_t)(orr_task_ask(session, &session->tasks[seat->first_task + task])
                                         ->request.v[ORR_SLOT_GPU] /
                                     ORR_MGPU)
                        : seat->gpus;
}

/* If all victims come back, there is as little room as before, which is less than the preemptor
 * needs. If a single task does not, no node has the room it asked, from then on. So the preemptor
 * gets nothing
 * - if no victim is larger than its tasks, and none is a gang;
 * - if all victims ask the same: whatever is where, their places are as many as they are;
 * - if there are two sizes, the smaller divides the larger, and the larger fills a node: small
 * tasks go to nodes already begun before they begin another, and begin one only if all others are
 * full, so that what is left over then is enough for the large ones. */
bool orr_forecast__leave_nothing(const struct orr_forecast *f, const struct orr_sizes *sizes)
{
    uint32_t small = 1;
    uint32_t large = ORR_FORECAST_GPUS;
    while (small < ORR_FORECAST_GPUS && (sizes->set >> small & 1u) == 0) {
        small++;
    }
    while (large > small && (sizes->set >> large & 1u) == 0) {
        large--;
    }
    const bool two = sizes->set == (1u << small | 1u << large);
    if (sizes->unlike) {
        return false;
    }
    return small == large || (!sizes->gangs && large <= f->seats[0].gpus) ||
           (two && large % small == 0 && (int32_t)large >= f->largest_node &&
            f->most_idle < (int32_t)small);
}

static bool all_leave_nothing(const struct orr_forecast *f)
{
    struct orr_sizes sizes = {0};
    for (uint32_t s = 1; s < f->seat_count; s++) {
        orr_forecast__count_size(&sizes, &f->seats[s]);
    }
    return orr_forecast__leave_nothing(f, &sizes);
}

/* With all victims together some node would pass KAI's filter of single nodes. */
static bool accumulate_enough(const struct orr_forecast *f, const struct orr_session *session)
{
    int32_t *room = orr_alloc(session->node_count, sizeof *room);
    bool enough = false;
    memcpy(room, f->base, session->node_count * sizeof *room);
    for (uint32_t s = 1; s < f->seat_count && !enough; s++) {
        for (uint32_t t = 0; t < f->seats[s].tasks; t++) {
            const uint32_t node = session->tasks[f->seats[s].first_task + t].live.node;
            room[node] += (int32_t)orr_forecast__gpus(session, &f->seats[s], t);
            enough = enough || room[node] >= (int32_t)f->seats[0].gpus;
        }
    }
    orr_free(room);
    return enough;
}

bool orr_forecast__compare_tracks(struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    const struct orr_session *session = search->session;
    const uint32_t own = f->seats[0].track;
    const uint32_t queue = f->tracks[own].queue;
    struct orr_queue_rank preemptor;
    uint64_t demands = 0;
    if (!orr_forecast__demands(search, 0, orr_forecast__passed(search, 0), &demands)) {
        return false;
    }
    orr_forecast__block(search, queue, session->queues[queue].allocated, &f->seats[0].demand,
                        demands, &preemptor);
    for (uint32_t t = 0; t < f->track_count; t++) {
        f->tracks[t].goes_first = t != own && search->action == ORR_ACTION_RECLAIM &&
                                  session->rules.proportion &&
                                  all_go_first(f, search, t, &preemptor);
    }
    return true;
}

bool orr_victim__hopeless(struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    if (f == NULL || f->room_in_all >= (int64_t)f->seats[0].gpus || !all_leave_nothing(f) ||
        !orr_forecast__compare_tracks(search)) {
        return false;
    }
    for (uint32_t t = 0; t < f->track_count; t++) {
        if (t != f->seats[0].track && !f->tracks[t].goes_first) {
            return false;
        }
    }
    if (search->action != ORR_ACTION_RECLAIM) {
        return false;
    }
    orr_victim__reached(search, accumulate_enough(f, search->session) ? ORR_OUTCOME_NOT_PLACED
                                                                      : ORR_OUTCOME_FILTERED);
    return true;
}
