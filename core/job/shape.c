/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/job.h>

#include <string.h>

#include <orrery/base/digest.h>

void orr_shapes_init(struct orr_shapes *shapes)
{
    *shapes = (struct orr_shapes){0};
    orr_arena_init(&shapes->arena);
}

void orr_shapes_release(struct orr_shapes *shapes)
{
    orr_free(shapes->shapes);
    orr_free(shapes->slots);
    orr_arena_release(&shapes->arena);
    *shapes = (struct orr_shapes){0};
}

struct key { /* what makes two shapes the same */
    const struct orr_task_group *groups;
    uint32_t count, min_tasks;
    struct orr_span span;
    const struct orr_task_set *sets;
    uint32_t set_count;
};

static bool same_span(const struct orr_span *a, const struct orr_span *b)
{
    return a->required == b->required && a->preferred == b->preferred &&
           a->slice_level == b->slice_level && a->slice_size == b->slice_size;
}

static uint64_t hash_key(const struct key *key)
{
    struct orr_digest d = ORR_DIGEST_INIT;
    orr_digest_fold(&d, (uint64_t)key->min_tasks << 32 | key->count);
    orr_digest_fold(&d, (uint64_t)key->span.required << 32 | key->span.preferred);
    for (uint32_t i = 0; i < key->count; i++) {
        const struct orr_request *r = &key->groups[i].request;
        orr_digest_fold(&d, (uint64_t)key->groups[i].count << 32 | r->devices);
        orr_digest_fold(&d, (uint64_t)r->gpu_ask << 56 ^ (uint64_t)r->portion);
        orr_digest_fold(&d, (uint64_t)r->cpu_milli);
        orr_digest_fold(&d, (uint64_t)r->mem_bytes);
        orr_digest_fold(&d, r->gpu_model);
        orr_digest_fold(&d, (uint64_t)r->selector << 32 | r->toleration);
        orr_digest_fold(&d, (uint64_t)r->allowed << 32 | r->shard);
        orr_digest_fold(&d, (uint64_t)r->instances << 16 | r->mig_profile);
    }
    for (uint32_t s = 0; s < key->set_count; s++) {
        const struct orr_task_set *set = &key->sets[s];
        orr_digest_fold(&d, (uint64_t)set->parent << 32 | set->min);
        orr_digest_fold(&d, (uint64_t)set->span.required << 32 | set->span.preferred);
    }
    return d.h;
}

static bool same_request(const struct orr_request *a, const struct orr_request *b)
{
    return a->gpu_ask == b->gpu_ask && a->devices == b->devices && a->portion == b->portion &&
           a->cpu_milli == b->cpu_milli && a->mem_bytes == b->mem_bytes &&
           a->gpu_model == b->gpu_model && a->selector == b->selector &&
           a->toleration == b->toleration && a->shard == b->shard && a->allowed == b->allowed &&
           a->instances == b->instances && a->mig_profile == b->mig_profile;
}

static bool same_sets(const struct orr_shape *shape, const struct key *key)
{
    for (uint32_t s = 0; s < key->set_count; s++) {
        const struct orr_task_set *a = &shape->sets[s], *b = &key->sets[s];
        if (a->parent != b->parent || a->is_tasks != b->is_tasks || a->min != b->min ||
            !same_span(&a->span, &b->span)) {
            return false;
        }
    }
    return true;
}

static bool same_shape(const struct orr_shape *shape, const struct key *key)
{
    if (shape->group_count != key->count || shape->min_tasks != key->min_tasks ||
        shape->set_count != key->set_count || !same_sets(shape, key) ||
        !same_span(&shape->span, &key->span)) {
        return false;
    }
    for (uint32_t i = 0; i < key->count; i++) {
        if (shape->groups[i].count != key->groups[i].count ||
            shape->groups[i].set != key->groups[i].set ||
            !same_request(&shape->groups[i].request, &key->groups[i].request)) {
            return false;
        }
    }
    return true;
}

static uint32_t find_slot(const struct orr_shapes *shapes, const struct key *key)
{
    uint32_t mask = shapes->slot_count - 1;
    uint32_t slot = (uint32_t)hash_key(key) & mask;
    while (shapes->slots[slot] != 0 && !same_shape(&shapes->shapes[shapes->slots[slot] - 1], key)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static void rehash(struct orr_shapes *shapes)
{
    shapes->slot_count = shapes->slot_count == 0 ? 64 : shapes->slot_count * 2;
    orr_free(shapes->slots);
    shapes->slots = orr_zalloc(shapes->slot_count, sizeof *shapes->slots);
    for (uint32_t i = 0; i < shapes->count; i++) {
        const struct orr_shape *s = &shapes->shapes[i];
        const struct key key = {s->groups, s->group_count, s->min_tasks,
                                s->span,   s->sets,        s->set_count};
        shapes->slots[find_slot(shapes, &key)] = i + 1;
    }
}

int64_t orr_request_mgpu(const struct orr_request *request)
{
    switch ((enum orr_gpu_ask)request->gpu_ask) {
    case ORR_GPU_WHOLE: return (int64_t)request->devices * ORR_MGPU;
    case ORR_GPU_FRACTION: return (int64_t)request->devices * request->portion;
    case ORR_GPU_NONE: return request->mig_mgpu;
    case ORR_GPU_MEMORY: break;
    }
    return 0;
}

int64_t orr_request_rounding_mgpu(const struct orr_request *request)
{
    return request->gpu_ask != ORR_GPU_FRACTION
               ? 0
               : (int64_t)request->devices *
                     (orr_portion_counted_mgpu((double)request->portion / ORR_MGPU) -
                      request->portion);
}

static struct orr_shape make_shape(struct orr_shapes *shapes, const struct orr_task_group *groups,
                                   uint32_t count)
{
    struct orr_shape shape = {.group_count = count};
    shape.groups = orr_arena_alloc(&shapes->arena, count, sizeof *shape.groups);
    memcpy(shape.groups, groups, count * sizeof *groups);
    for (uint32_t i = 0; i < count; i++) {
        shape.tasks += groups[i].count;
        const int64_t mgpu = groups[i].count * orr_request_mgpu(&groups[i].request);
        shape.gpus_mgpu += mgpu;
        shape.gpus.mgpu[orr_request_gpu_kind(&groups[i].request)] += mgpu;
        shape.cpu_milli += groups[i].count * groups[i].request.cpu_milli;
        shape.mem_bytes += groups[i].count * groups[i].request.mem_bytes;
    }
    return shape;
}

uint32_t orr_shapes_put(struct orr_shapes *shapes, const struct orr_task_group *groups,
                        uint32_t group_count, uint32_t min_tasks)
{
    return orr_shapes_put_within(shapes, groups, group_count, min_tasks, (struct orr_span){0});
}

static uint32_t count_tasks(const struct orr_task_group *groups, uint32_t group_count)
{
    uint32_t tasks = 0;
    ORR_ASSERT(group_count > 0);
    for (uint32_t i = 0; i < group_count; i++) {
        const struct orr_request *request = &groups[i].request;
        ORR_ASSERT((request->gpu_ask == ORR_GPU_NONE) == (request->devices == 0));
        tasks += groups[i].count;
    }
    return tasks;
}

static uint32_t put(struct orr_shapes *shapes, const struct key key)
{
    if (shapes->count * 2 >= shapes->slot_count) {
        rehash(shapes);
    }
    uint32_t slot = find_slot(shapes, &key);
    if (shapes->slots[slot] != 0) {
        return shapes->slots[slot] - 1;
    }
    shapes->shapes = ORR_ROOM_FOR_ONE(shapes->shapes, shapes->count, shapes->capacity);
    struct orr_shape *shape = &shapes->shapes[shapes->count];
    *shape = make_shape(shapes, key.groups, key.count);
    shape->min_tasks = key.min_tasks;
    shape->span = key.span;
    shape->set_count = key.set_count;
    if (key.set_count > 0) {
        shape->sets = orr_arena_alloc(&shapes->arena, key.set_count, sizeof *shape->sets);
        memcpy(shape->sets, key.sets, key.set_count * sizeof *key.sets);
    }
    shapes->slots[slot] = ++shapes->count;
    return shapes->count - 1;
}

uint32_t orr_shapes_put_within(struct orr_shapes *shapes, const struct orr_task_group *groups,
                               uint32_t group_count, uint32_t min_tasks, struct orr_span span)
{
    const uint32_t tasks = count_tasks(groups, group_count);
    const struct key key = {groups, group_count, min_tasks == 0 ? tasks : min_tasks, span, NULL, 0};
    return put(shapes, key);
}

/* The least of the sum over `min` members, each of which needs so much. */
static int64_t least_sum(int64_t *needs, uint32_t count, uint32_t min)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < min; i++) {
        uint32_t least = i;
        for (uint32_t k = i + 1; k < count; k++) {
            least = needs[k] < needs[least] ? k : least;
        }
        sum += needs[least];
        needs[least] = needs[i];
    }
    return sum;
}

/* The least that completes the whole, when sets of tasks need so much each: `need` has what these
 * need, the rest is filled in. */
static int64_t least_whole(const struct orr_task_set *sets, uint32_t set_count, int64_t *need)
{
    for (uint32_t s = set_count; s-- > 0;) { /* members come after what they are in */
        int64_t members[ORR_SETS_MAX];
        uint32_t count = 0;
        for (uint32_t m = s + 1; m < set_count && !sets[s].is_tasks; m++) {
            if (sets[m].parent == s) {
                members[count++] = need[m];
            }
        }
        ORR_ASSERT(sets[s].is_tasks || (sets[s].min <= count && sets[s].min > 0));
        need[s] = sets[s].is_tasks ? need[s] : least_sum(members, count, sets[s].min);
    }
    return need[0];
}

/* The fewest tasks with which the whole could be complete. */
static uint32_t fewest_tasks(const struct orr_task_set *sets, uint32_t set_count)
{
    int64_t need[ORR_SETS_MAX];
    for (uint32_t s = 0; s < set_count; s++) {
        need[s] = sets[s].min;
    }
    return (uint32_t)least_whole(sets, set_count, need);
}

static int64_t task_amount(const struct orr_request *request, enum orr_share_kind kind,
                           bool counted)
{
    return kind == ORR_SHARE_CPU ? request->cpu_milli
           : kind == ORR_SHARE_MEMORY
               ? request->mem_bytes
               : orr_request_mgpu(request) + (counted ? orr_request_rounding_mgpu(request) : 0);
}

/* What the `min` tasks of a set (0: of the whole) ask that ask least. */
static int64_t least_of_tasks(const struct orr_shape *shape, uint32_t set, uint32_t min,
                              enum orr_share_kind kind, bool counted)
{
    int64_t sum = 0, last = -1;
    for (uint32_t left = min; left > 0;) {
        int64_t next = INT64_MAX, count = 0;
        for (uint32_t g = 0; g < shape->group_count; g++) {
            const int64_t amount = task_amount(&shape->groups[g].request, kind, counted);
            if (amount > last && amount <= next && (set == 0 || shape->groups[g].set == set)) {
                count = (amount < next ? 0 : count) + shape->groups[g].count;
                next = amount;
            }
        }
        ORR_ASSERT(count > 0); /* no set needs more tasks than it has */
        const uint32_t taken = count < left ? (uint32_t)count : left;
        sum += next * taken;
        left -= taken;
        last = next;
    }
    return sum;
}

static int64_t least_of_shape(const struct orr_shape *shape, enum orr_share_kind kind, bool counted)
{
    int64_t need[ORR_SETS_MAX] = {0};
    for (uint32_t s = 0; s < shape->set_count; s++) {
        const struct orr_task_set *set = &shape->sets[s];
        need[s] = set->is_tasks ? least_of_tasks(shape, s, set->min, kind, counted) : 0;
    }
    return shape->set_count > 0 ? least_whole(shape->sets, shape->set_count, need)
                                : least_of_tasks(shape, 0, shape->min_tasks, kind, counted);
}

int64_t orr_shape_least(const struct orr_shape *shape, enum orr_share_kind kind)
{
    return least_of_shape(shape, kind, false);
}

int64_t orr_shape_least_counted_mgpu(const struct orr_shape *shape)
{
    return least_of_shape(shape, ORR_SHARE_GPU, true);
}

uint32_t orr_shapes_put_sets(struct orr_shapes *shapes, const struct orr_task_group *groups,
                             uint32_t group_count, const struct orr_task_set *sets,
                             uint32_t set_count)
{
    ORR_ASSERT(set_count > 0 && set_count <= ORR_SETS_MAX && group_count <= ORR_SETS_MAX);
    (void)count_tasks(groups, group_count);
    const struct key key = {groups,       group_count, fewest_tasks(sets, set_count),
                            sets[0].span, sets,        set_count};
    ORR_ASSERT(key.min_tasks > 0);
    return put(shapes, key);
}

bool orr_shape_satisfied(const struct orr_shape *shape, const uint32_t *tasks_of_group)
{
    uint32_t have[ORR_SETS_MAX] = {0}; /* tasks, or members that are satisfied */
    for (uint32_t g = 0; g < shape->group_count; g++) {
        have[shape->groups[g].set] += tasks_of_group[g];
    }
    for (uint32_t s = shape->set_count; s-- > 1;) {
        have[shape->sets[s].parent] += have[s] >= shape->sets[s].min;
    }
    return have[0] >= shape->sets[0].min;
}

bool orr_shape_has(const struct orr_shape *shape, uint32_t set, uint32_t group)
{
    uint32_t at = shape->groups[group].set;
    while (at != set && at != ORR_NONE) {
        at = shape->sets[at].parent;
    }
    return at == set;
}

bool orr_shape_has_slices(const struct orr_shape *shape)
{
    bool slices = shape->span.slice_level > 0;
    for (uint32_t s = 1; s < shape->set_count; s++) {
        slices = slices || shape->sets[s].span.slice_level > 0;
    }
    return slices;
}

bool orr_shape_is_bound(const struct orr_shape *shape)
{
    bool bound = shape->span.required > 0 || shape->span.preferred > 0;
    for (uint32_t s = 1; s < shape->set_count; s++) {
        const struct orr_span *span = &shape->sets[s].span;
        bound = bound || span->required > 0 || span->preferred > 0;
    }
    return bound && shape->tasks > 1;
}
