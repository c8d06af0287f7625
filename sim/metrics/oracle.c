/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/oracle.h>

#include <math.h>

#include <orrery/base/mem.h>

enum { BY_HIGH, BY_LOW }; /* heaps: the least `high` first, the greatest `low` first */

/* --- heaps of siblings --- */

static double key_of(const struct orr_oracle *oracle, unsigned heap, uint32_t queue)
{
    const struct orr_oracle_queue *it = &oracle->queues[queue];
    return heap == BY_HIGH ? it->high : -it->low;
}

static void put(struct orr_oracle *oracle, unsigned heap, uint32_t first, uint32_t at,
                uint32_t queue)
{
    oracle->heaps[heap][first + at] = queue;
    oracle->queues[queue].at[heap] = at + 1;
}

/* Moves a queue from a place to where it belongs. */
static void sift(struct orr_oracle *oracle, struct orr_siblings *group, unsigned heap, uint32_t at,
                 uint32_t queue)
{
    const uint32_t *ids = &oracle->heaps[heap][group->first];
    const uint32_t count = group->count[heap];
    const double key = key_of(oracle, heap, queue);
    while (at > 0 && key_of(oracle, heap, ids[(at - 1) / 2]) > key) {
        put(oracle, heap, group->first, at, ids[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count &&
            key_of(oracle, heap, ids[child + 1]) < key_of(oracle, heap, ids[child])) {
            child++;
        }
        if (key_of(oracle, heap, ids[child]) >= key) {
            break;
        }
        put(oracle, heap, group->first, at, ids[child]);
        at = child;
    }
    put(oracle, heap, group->first, at, queue);
}

static void heap_add(struct orr_oracle *oracle, struct orr_siblings *group, unsigned heap,
                     uint32_t queue)
{
    sift(oracle, group, heap, group->count[heap]++, queue);
}

static void heap_remove(struct orr_oracle *oracle, struct orr_siblings *group, unsigned heap,
                        uint32_t queue)
{
    const uint32_t at = oracle->queues[queue].at[heap];
    if (at == 0) {
        return;
    }
    const uint32_t last = oracle->heaps[heap][group->first + --group->count[heap]];
    oracle->queues[queue].at[heap] = 0;
    if (last != queue) {
        sift(oracle, group, heap, at - 1, last);
    }
}

/* --- groups of siblings that are to be looked at --- */

/* The integrals of a level are brought up to now before it changes, and before they are read. */
static void catch_up(const struct orr_oracle *oracle, struct orr_siblings *group)
{
    const double ms = oracle->time - group->time;
    if (ms > 0.0) {
        const bool by_weight = group->weight_count > 0 && group->level > 1.0;
        group->quota_sum += fmin(group->level, 1.0) * ms;
        group->weight_sum += by_weight ? (group->level - 1.0) * ms : 0.0;
        group->time = oracle->time;
    }
}

/* What they divide may be another amount now, or they ask for something else. */
static void look_at(struct orr_oracle *oracle, uint32_t group)
{
    struct orr_siblings *it = &oracle->groups[group];
    if (!it->listed) {
        it->listed = true;
        it->next = oracle->to_look[it->depth];
        oracle->to_look[it->depth] = group;
    }
}

static void stop_moving(struct orr_oracle *oracle, struct orr_siblings *group, uint32_t queue)
{
    const uint32_t at = oracle->queues[queue].moves_at;
    if (at > 0) {
        const uint32_t last = oracle->moving[group->first + --group->moving];
        oracle->moving[group->first + at - 1] = last;
        oracle->queues[last].moves_at = at;
        oracle->queues[queue].moves_at = 0;
    }
}

/* The share of an inner queue goes with the level in another way than before (set_course): those
 * below it may divide another amount. */
static void take_course(struct orr_oracle *oracle, struct orr_siblings *group, uint32_t queue)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    if (it->children == ORR_NONE) {
        return;
    }
    look_at(oracle, it->children);
    if (it->by_quota > 0.0 || it->by_weight > 0.0) {
        oracle->moving[group->first + group->moving++] = queue;
        it->moves_at = group->moving;
    }
}

static void set_level(struct orr_oracle *oracle, struct orr_siblings *group, double level)
{
    if (level < group->level || level > group->level) {
        catch_up(oracle, group);
        group->level = level;
        for (uint32_t i = 0; i < group->moving; i++) {
            look_at(oracle, oracle->queues[oracle->moving[group->first + i]].children);
        }
    }
}

/* --- one queue among its siblings --- */

/* What is less of a share than its digits can tell is no distance. */
#define ROUNDING 1e-12

static void sum_up(struct orr_oracle *oracle, uint32_t queue)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    struct orr_siblings *group = &oracle->groups[it->group];
    const double ms = oracle->time - it->time;
    catch_up(oracle, group);
    if (it->children == ORR_NONE && ms > 0.0) {
        const double excess = (it->fixed - it->held) * ms +
                              it->by_quota * (group->quota_sum - it->quota_sum) +
                              it->by_weight * (group->weight_sum - it->weight_sum);
        if (fabs(excess) > ROUNDING * fmax(it->held, it->demand) * ms) {
            it->excess += excess;
            oracle->apart[group->shard] += fabs(excess);
        }
    }
    it->time = oracle->time;
    it->quota_sum = group->quota_sum;
    it->weight_sum = group->weight_sum;
}

/* From which level on it has all it asks; INFINITY: from none on, or from 1 on by its quota. */
static double full_level(const struct orr_oracle_queue *it)
{
    if (it->demand < it->quota) {
        return isinf(it->quota) ? (double)INFINITY : it->demand / it->quota;
    }
    return it->demand > it->quota && it->weight > 0.0 ? 1.0 + (it->demand - it->quota) / it->weight
                                                      : (double)INFINITY;
}

/* At which level its share, while it grows, is what it holds. */
static double held_level(const struct orr_oracle_queue *it)
{
    if (it->held <= it->by_quota) {
        return it->held / it->by_quota;
    }
    return it->by_weight > 0.0 ? 1.0 + (it->held - it->by_quota) / it->by_weight : (double)INFINITY;
}

/* How its share goes with the level, just above a level or just below it. */
static void set_course(struct orr_oracle_queue *it, double level, bool above)
{
    const double full = full_level(it);
    it->fixed = it->by_quota = it->by_weight = it->low = 0.0;
    it->high = (double)INFINITY;
    if (it->demand <= 0.0) {
        return;
    }
    if (full < (double)INFINITY && (above ? level >= full : level > full)) {
        it->fixed = it->demand;
        it->low = full;
        return;
    }
    it->by_quota = isinf(it->quota) ? it->demand : it->quota;
    it->by_weight = it->demand > it->quota ? it->weight : 0.0;
    it->high = full;
    if (it->children == ORR_NONE && it->held > 0.0) {
        const double held = held_level(it);
        if (held < full && (above ? level >= held : level > held)) {
            it->low = held;
        } else if (held < full) {
            it->high = held;
        }
    }
}

/* Takes it out of the sums of its siblings, or puts it in. */
static void count(struct orr_siblings *group, const struct orr_oracle_queue *it, int sign)
{
    group->fixed += sign * it->fixed;
    group->by_quota += sign * it->by_quota;
    group->by_weight += sign * it->by_weight;
    group->quota_count += it->by_quota > 0.0 ? (uint32_t)sign : 0;
    group->weight_count += it->by_weight > 0.0 ? (uint32_t)sign : 0;
    group->by_quota = group->quota_count > 0 ? group->by_quota : 0.0;
    group->by_weight = group->weight_count > 0 ? group->by_weight : 0.0;
}

static void leave(struct orr_oracle *oracle, uint32_t queue)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    struct orr_siblings *group = &oracle->groups[it->group];
    sum_up(oracle, queue);
    count(group, it, -1);
    heap_remove(oracle, group, BY_HIGH, queue);
    heap_remove(oracle, group, BY_LOW, queue);
    stop_moving(oracle, group, queue);
}

static void join(struct orr_oracle *oracle, uint32_t queue, double level, bool above)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    struct orr_siblings *group = &oracle->groups[it->group];
    set_course(it, level, above);
    count(group, it, 1);
    take_course(oracle, group, queue);
    if (it->high < (double)INFINITY) {
        heap_add(oracle, group, BY_HIGH, queue);
    }
    if (it->low > 0.0) {
        heap_add(oracle, group, BY_LOW, queue);
    }
}

/* --- siblings --- */

/* The level at which they have the amount, if all go on as they do. */
static double level_of(const struct orr_siblings *group)
{
    const double rest = group->amount - group->fixed;
    if (rest <= group->by_quota) {
        return group->quota_count > 0 && rest > 0.0 ? rest / group->by_quota : 0.0;
    }
    return group->weight_count > 0 ? 1.0 + (rest - group->by_quota) / group->by_weight
                                   : (double)INFINITY;
}

/* Passes every mark on the way to the level at which they have the amount: each is on the way, for
 * there they would have less, or going down more. */
static void divide(struct orr_oracle *oracle, struct orr_siblings *group)
{
    const uint32_t *high = &oracle->heaps[BY_HIGH][group->first];
    const uint32_t *low = &oracle->heaps[BY_LOW][group->first];
    double level = level_of(group);
    const bool up = group->count[BY_HIGH] > 0 && oracle->queues[*high].high < level;
    while (up && group->count[BY_HIGH] > 0 && oracle->queues[*high].high < level) {
        const uint32_t queue = *high;
        const double mark = oracle->queues[queue].high;
        leave(oracle, queue);
        join(oracle, queue, mark, true);
        level = level_of(group);
    }
    while (!up && group->count[BY_LOW] > 0 && oracle->queues[*low].low > level) {
        const uint32_t queue = *low;
        const double mark = oracle->queues[queue].low;
        leave(oracle, queue);
        join(oracle, queue, mark, false);
        level = level_of(group);
    }
    /* where all are full, the amount alone does not tell the level; rounding may pass a mark */
    level = group->count[BY_LOW] > 0 ? fmax(level, oracle->queues[*low].low) : level;
    level = group->count[BY_HIGH] > 0 ? fmin(level, oracle->queues[*high].high) : level;
    set_level(oracle, group, level);
    group->stale = false;
}

static double share_of(const struct orr_oracle_queue *it, double level)
{
    return it->fixed + it->by_quota * fmin(level, 1.0) +
           (it->by_weight > 0.0 ? it->by_weight * fmax(level - 1.0, 0.0) : 0.0);
}

static void divide_anew(struct orr_oracle *oracle, const int64_t *capacity, uint32_t index)
{
    struct orr_siblings *group = &oracle->groups[index];
    const struct orr_oracle_queue *parent =
        group->parent == ORR_NONE ? NULL : &oracle->queues[group->parent];
    const double amount = parent == NULL ? (double)capacity[group->shard]
                                         : share_of(parent, oracle->groups[parent->group].level);
    if (group->stale || amount < group->amount || amount > group->amount) {
        group->amount = amount;
        divide(oracle, group);
    }
}

/* From the roots down: a division changes what those below divide, and nothing above. */
static void divide_all(struct orr_oracle *oracle, const int64_t *capacity)
{
    for (uint32_t g = 0; g < oracle->shard_count; g++) { /* the roots of each shard */
        look_at(oracle, g);
    }
    for (uint32_t d = 0; d < oracle->depths; d++) {
        while (oracle->to_look[d] != ORR_NONE) {
            const uint32_t group = oracle->to_look[d];
            oracle->to_look[d] = oracle->groups[group].next;
            oracle->groups[group].listed = false;
            divide_anew(oracle, capacity, group);
        }
    }
}

/* --- what changes --- */

/* What a queue above others asks is what they ask, up to its own limit; so up to the root. */
static void demand(struct orr_oracle *oracle, uint32_t queue, double asks)
{
    struct orr_oracle_queue *it = &oracle->queues[queue];
    const double before = it->demand;
    const uint32_t parent = oracle->tree->queues[queue].parent;
    leave(oracle, queue);
    it->demand = fmax(0.0, fmin(asks, it->limit));
    it->held = it->holds;
    join(oracle, queue, oracle->groups[it->group].level, true);
    oracle->groups[it->group].stale = true;
    look_at(oracle, it->group);
    if (parent != ORR_NONE && (it->demand < before || it->demand > before)) {
        struct orr_oracle_queue *above = &oracle->queues[parent];
        above->below += it->demand - before;
        demand(oracle, parent, above->below);
    }
}

static void take_changes(struct orr_oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->changed_count; i++) {
        struct orr_oracle_queue *it = &oracle->queues[oracle->changed[i]];
        it->changed = false;
        demand(oracle, oracle->changed[i], it->asks);
    }
    oracle->changed_count = 0;
}

void orr_oracle_sum(struct orr_oracle *oracle)
{
    for (uint32_t q = 0; q < oracle->tree->count; q++) {
        sum_up(oracle, q);
        oracle->queues[q].time = oracle->queues[q].quota_sum = oracle->queues[q].weight_sum = 0.0;
    }
    for (uint32_t g = 0; g < oracle->group_count; g++) {
        struct orr_siblings *group = &oracle->groups[g];
        group->quota_sum = group->weight_sum = group->time = 0.0;
    }
    oracle->time = 0.0;
    oracle->passes = 0;
}

/* Integrals begin anew from time to time: small ones are differences of which more digits count. */
void orr_oracle_pass(struct orr_oracle *oracle, const int64_t *capacity, double ms)
{
    take_changes(oracle);
    divide_all(oracle, capacity);
    oracle->time += ms;
    if (++oracle->passes > 8 * oracle->tree->count) {
        orr_oracle_sum(oracle);
    }
}

void orr_oracle_queue_change(struct orr_oracle *oracle)
{
    for (uint32_t q = 0; q < oracle->tree->count; q++) {
        const struct orr_entitlement *e = &oracle->tree->queues[q].resources[oracle->kind];
        struct orr_oracle_queue *queue = &oracle->queues[q];
        queue->limit = e->limit < 0.0 ? (double)INFINITY : e->limit * oracle->unit;
        queue->quota = e->quota < 0.0 ? (double)INFINITY : e->quota * oracle->unit;
        queue->weight = e->weight > 0.0 ? e->weight : 0.0;
    }
    for (uint32_t q = 0; q < oracle->tree->count; q++) {
        demand(oracle, q,
               oracle->queues[q].children == ORR_NONE ? oracle->queues[q].asks
                                                      : oracle->queues[q].below);
    }
}

/* --- the tree --- */

/* Adds the children of a queue, or at the top (ORR_NONE) the roots of a shard. */
static void add_group(struct orr_oracle *oracle, uint32_t parent, uint32_t shard, uint32_t *used)
{
    const struct orr_queues *tree = oracle->tree;
    const uint32_t at = oracle->group_count++;
    const uint32_t depth = parent == ORR_NONE ? 0 : tree->queues[parent].depth + 1;
    oracle->groups[at] =
        (struct orr_siblings){.parent = parent, .shard = shard, .first = *used, .depth = depth};
    for (; oracle->depths <= depth; oracle->depths++) {
        oracle->to_look[oracle->depths] = ORR_NONE;
    }
    for (uint32_t q = 0; q < tree->count; q++) {
        if (tree->queues[q].parent == parent &&
            (parent != ORR_NONE || tree->queues[q].shard == shard)) {
            oracle->queues[q].group = at;
            (*used)++;
        }
    }
    if (parent != ORR_NONE) {
        oracle->queues[parent].children = at;
    }
}

void orr_oracle_open(struct orr_oracle *oracle, const struct orr_queues *tree, uint32_t shard_count,
                     enum orr_share_kind kind)
{
    size_t room = tree->count;
    uint32_t used = 0;
    *oracle = (struct orr_oracle){
        .tree = tree,
        .kind = kind,
        .shard_count = shard_count,
        .unit = kind == ORR_SHARE_GPU ? ORR_MGPU : 1.0,
        .queues = orr_zalloc(room, sizeof *oracle->queues),
        .groups = orr_alloc(shard_count + room, sizeof *oracle->groups),
        .heaps = {orr_alloc(room, sizeof **oracle->heaps), orr_alloc(room, sizeof **oracle->heaps)},
        .moving = orr_alloc(room, sizeof *oracle->moving),
        .to_look = orr_alloc(room + 1, sizeof *oracle->to_look),
        .changed = orr_alloc(room, sizeof *oracle->changed),
        .apart = orr_zalloc(shard_count, sizeof *oracle->apart),
    };
    for (uint32_t q = 0; q < tree->count; q++) {
        oracle->queues[q].children = ORR_NONE;
    }
    for (uint32_t s = 0; s < shard_count; s++) {
        add_group(oracle, ORR_NONE, s, &used);
    }
    for (uint32_t q = 0; q < tree->count; q++) {
        if (tree->queues[q].child_count > 0) {
            add_group(oracle, q, tree->queues[q].shard, &used);
        }
    }
    orr_oracle_queue_change(oracle);
}

void orr_oracle_close(struct orr_oracle *oracle)
{
    orr_free(oracle->queues);
    orr_free(oracle->groups);
    orr_free(oracle->heaps[BY_HIGH]);
    orr_free(oracle->heaps[BY_LOW]);
    orr_free(oracle->moving);
    orr_free(oracle->to_look);
    orr_free(oracle->changed);
    orr_free(oracle->apart);
    *oracle = (struct orr_oracle){0};
}
