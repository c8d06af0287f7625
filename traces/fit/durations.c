/* SPDX-License-Identifier: GPL-3.0-or-later */
/* durations.c - run times by group: sorted once by length, then dealt out to the groups of each
 * level, in which they are in order again. */
#include <orrery/traces/durations.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>
#include <orrery/base/sort.h>

struct key { /* of a group: fields that its level does not look at are 0 */
    uint32_t user, queue, kind, size;
    bool limited;
};

struct seen {
    struct key key;
    int64_t run_ms;
    int64_t length; /* ms; with a limit ppm of it */
    bool ended, recent;
};

struct group {
    struct key key;
    uint32_t first, count; /* of the level's curve */
};

struct step { /* of a curve, by length; at one length what ended goes before what goes on */
    int64_t length;
    double alive;         /* share that lives longer, of all of the group */
    double hazard;        /* cumulative, by then */
    double fall;          /* of the logarithm of survival, by then */
    uint32_t ended_later; /* of the group, behind this step */
    bool ended;
};

struct level {
    struct group *groups;
    uint32_t group_count, group_capacity;
    uint32_t *slots; /* hash table of index + 1 */
    uint32_t slot_count;
    struct step *steps; /* group after group */
};

struct orr_durations {
    struct seen *seen;
    uint32_t count, capacity;
    struct level levels[ORR_DURATION_GROUPS];
    struct level recent[ORR_DURATION_GROUPS]; /* of what began lately */
};

struct orr_durations *orr_durations_open(void)
{
    return orr_zalloc(1, sizeof(struct orr_durations));
}

static void release_level(struct level *level)
{
    orr_free(level->groups);
    orr_free(level->slots);
    orr_free(level->steps);
}

void orr_durations_close(struct orr_durations *durations)
{
    for (int l = 0; durations != NULL && l < ORR_DURATION_GROUPS; l++) {
        release_level(&durations->levels[l]);
        release_level(&durations->recent[l]);
    }
    if (durations != NULL) {
        orr_free(durations->seen);
    }
    orr_free(durations);
}

/* Sizes up to a power of two are one class, 0 is one of its own. */
static uint32_t size_class(uint32_t size)
{
    return size == ORR_NONE ? ORR_NONE : size <= 1 ? size : 33u - (uint32_t)__builtin_clz(size - 1);
}

static bool is_limited(const struct orr_duration_of *of)
{
    return of->limit_ms != ORR_MS_NONE && of->limit_ms > 0;
}

static struct key key_of(const struct orr_duration_of *of)
{
    return (struct key){.user = of->user,
                        .queue = of->queue,
                        .kind = of->kind,
                        .size = size_class(of->size),
                        .limited = is_limited(of)};
}

/* a x b / c, c above 0, rounded down, where a x b may be beyond 64 bits. */
static int64_t scale(int64_t a, int64_t b, int64_t c)
{
    return a / c * b + (int64_t)((double)(a % c) * (double)b / (double)c);
}

static int64_t length_of(const struct orr_duration_of *of, orr_ms run_ms)
{
    return run_ms <= 0 ? 0 : is_limited(of) ? scale(run_ms, ORR_PPM, of->limit_ms) : run_ms;
}

static void add(struct orr_durations *durations, const struct orr_duration_of *of, orr_ms run_ms,
                bool ended, bool recent)
{
    durations->seen = ORR_ROOM_FOR_ONE(durations->seen, durations->count, durations->capacity);
    durations->seen[durations->count++] = (struct seen){.key = key_of(of),
                                                        .run_ms = run_ms > 0 ? run_ms : 0,
                                                        .length = length_of(of, run_ms),
                                                        .ended = ended,
                                                        .recent = recent};
}

void orr_durations_add(struct orr_durations *durations, const struct orr_duration_of *of,
                       orr_ms run_ms, bool ended)
{
    add(durations, of, run_ms, ended, false);
}

void orr_durations_add_recent(struct orr_durations *durations, const struct orr_duration_of *of,
                              orr_ms run_ms, bool ended)
{
    add(durations, of, run_ms, ended, true);
}

/* Among all jobs those with a limit and those without are together, by their lengths in ms. */
static bool in_ms(enum orr_duration_group level, bool limited)
{
    return level == ORR_DURATION_ALL || !limited;
}

/* What a level looks at; false: something of it is not known. */
static bool at_level(enum orr_duration_group level, const struct key *all, struct key *key)
{
    const bool by_user = level == ORR_DURATION_USER_LIKE || level == ORR_DURATION_USER;
    const bool by_queue = level == ORR_DURATION_USER_LIKE || level == ORR_DURATION_LIKE;
    const bool by_size = by_queue || level == ORR_DURATION_SIZE;
    const bool by_kind = by_size || level == ORR_DURATION_KIND;
    *key = (struct key){.user = by_user ? all->user : 0,
                        .queue = by_queue ? all->queue : 0,
                        .kind = by_kind ? all->kind : 0,
                        .size = by_size ? all->size : 0,
                        .limited = !in_ms(level, all->limited)};
    return key->user != ORR_NONE && key->queue != ORR_NONE && key->kind != ORR_NONE &&
           key->size != ORR_NONE;
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->user == b->user && a->queue == b->queue && a->kind == b->kind && a->size == b->size &&
           a->limited == b->limited;
}

static uint32_t hash_of(const struct key *key)
{
    const uint32_t fields[] = {key->user, key->queue, key->kind, key->size, key->limited};
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        h = (h ^ fields[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

/* The slot of a key: that of its group, or where it would be. */
static uint32_t *slot_of(const struct level *level, const struct key *key)
{
    uint32_t at = hash_of(key) & (level->slot_count - 1);
    while (level->slots[at] != 0 && !same_key(&level->groups[level->slots[at] - 1].key, key)) {
        at = (at + 1) & (level->slot_count - 1);
    }
    return &level->slots[at];
}

static void grow_slots(struct level *level)
{
    orr_free(level->slots);
    level->slot_count = level->slot_count == 0 ? 64 : level->slot_count * 2;
    level->slots = orr_zalloc(level->slot_count, sizeof *level->slots);
    for (uint32_t g = 0; g < level->group_count; g++) {
        *slot_of(level, &level->groups[g].key) = g + 1;
    }
}

static uint32_t put_group(struct level *level, const struct key *key)
{
    if (level->group_count * 2 >= level->slot_count) {
        grow_slots(level);
    }
    uint32_t *slot = slot_of(level, key);
    if (*slot == 0) {
        level->groups = ORR_ROOM_FOR_ONE(level->groups, level->group_count, level->group_capacity);
        level->groups[level->group_count++] = (struct group){.key = *key};
        *slot = level->group_count;
    }
    return *slot - 1;
}

/* Kaplan-Meier, Nelson-Aalen: those that end at one length take their part of those that lived
 * until then. For the fall of the logarithm one more was alive, who lives on: else nobody would. */
static void make_curve(struct step *steps, uint32_t count)
{
    double alive = 1.0, hazard = 0.0, fall = 0.0;
    for (uint32_t i = 0, next = 0; i < count; i = next) {
        uint32_t ended = 0;
        for (next = i; next < count && steps[next].length == steps[i].length; next++) {
            ended += steps[next].ended;
        }
        const double at_risk = (double)(count - i);
        alive *= (at_risk - ended) / at_risk;
        hazard += ended / at_risk;
        fall += log((at_risk + 1.0) / (at_risk + 1.0 - ended));
        for (uint32_t s = i; s < next; s++) {
            steps[s].alive = alive;
            steps[s].hazard = hazard;
            steps[s].fall = fall;
        }
    }
    uint32_t later = 0;
    for (uint32_t i = count; i > 0; i--) {
        steps[i - 1].ended_later = later;
        later += steps[i - 1].ended;
    }
}

/* Of all that was seen, or of what is recent. */
static void make_level(const struct orr_durations *durations, const uint32_t *order,
                       enum orr_duration_group which, bool recent, struct level *level)
{
    uint32_t *group = orr_alloc(durations->count + (size_t)1, sizeof *group);
    for (uint32_t i = 0; i < durations->count; i++) {
        const struct seen *seen = &durations->seen[order[i]];
        struct key key;
        const bool known = (seen->recent || !recent) && at_level(which, &seen->key, &key);
        group[i] = known ? put_group(level, &key) : ORR_NONE;
        if (known) {
            level->groups[group[i]].count++;
        }
    }
    uint32_t room = 0;
    for (uint32_t g = 0; g < level->group_count; g++) {
        level->groups[g].first = room;
        room += level->groups[g].count;
        level->groups[g].count = 0;
    }
    level->steps = orr_alloc(room + (size_t)1, sizeof *level->steps);
    for (uint32_t i = 0; i < durations->count; i++) {
        if (group[i] != ORR_NONE) {
            struct group *of = &level->groups[group[i]];
            const struct seen *seen = &durations->seen[order[i]];
            level->steps[of->first + of->count++] = (struct step){
                .length = in_ms(which, seen->key.limited) ? seen->run_ms : seen->length,
                .ended = seen->ended};
        }
    }
    for (uint32_t g = 0; g < level->group_count; g++) {
        make_curve(&level->steps[level->groups[g].first], level->groups[g].count);
    }
    orr_free(group);
}

/* Caller frees. */
static uint32_t *order_by(const struct orr_durations *durations, bool by_ms)
{
    int64_t *keys = orr_alloc(durations->count + (size_t)1, sizeof *keys);
    for (uint32_t i = 0; i < durations->count; i++) {
        const struct seen *seen = &durations->seen[i];
        keys[i] = (by_ms ? seen->run_ms : seen->length) * 2 + !seen->ended;
    }
    uint32_t *order = orr_sort_index_by_i64(keys, durations->count);
    orr_free(keys);
    return order;
}

void orr_durations_sort(struct orr_durations *durations)
{
    uint32_t *by_ms = order_by(durations, true), *by_length = order_by(durations, false);
    for (int l = 0; l < ORR_DURATION_GROUPS; l++) {
        const enum orr_duration_group which = (enum orr_duration_group)l;
        const uint32_t *order = in_ms(which, true) ? by_ms : by_length;
        make_level(durations, order, which, false, &durations->levels[l]);
        make_level(durations, order, which, true, &durations->recent[l]);
    }
    orr_free(by_ms);
    orr_free(by_length);
}

/* NULL: nothing of the kind was seen. */
static const struct group *find_group(const struct level *level, enum orr_duration_group which,
                                      const struct key *all)
{
    struct key key;
    if (level->slot_count == 0 || !at_level(which, all, &key)) {
        return NULL;
    }
    const uint32_t slot = *slot_of(level, &key);
    return slot == 0 ? NULL : &level->groups[slot - 1];
}

/* Steps that are no longer than that. */
static uint32_t steps_to(const struct step *steps, uint32_t count, int64_t age)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (steps[middle].length <= age) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Of a job that has not begun: none. */
static uint32_t steps_until(const struct step *steps, uint32_t count, int64_t age)
{
    return age <= 0 ? 0 : steps_to(steps, count, age);
}

/* The first step behind which no more than a share of `alive` lives. `count`: there is none. */
static uint32_t step_at(const struct step *steps, uint32_t count, uint32_t from, double alive)
{
    uint32_t low = from, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (steps[middle].alive <= alive) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static int64_t longest_of(const struct step *steps, uint32_t count, int64_t age)
{
    const int64_t last = steps[count - 1].length > age ? steps[count - 1].length : age;
    return last > 0 ? last : 1;
}

static const double tail_most = 100.0; /* times the longest */

static double length_at(const struct step *steps, uint32_t count, int64_t age, double p)
{
    const uint32_t from = steps_until(steps, count, age);
    const double now = from == 0 ? 1.0 : steps[from - 1].alive;
    const double alive = (1.0 - p) * now;
    const uint32_t at = now > 0.0 ? step_at(steps, count, from, alive) : count;
    if (at < count) {
        return (double)steps[at].length;
    }
    const double end = now > 0.0 ? steps[count - 1].alive / now : 1.0;
    const double times = (end > 0.0 ? end : 1.0) / (1.0 - p);
    return (double)longest_of(steps, count, age) * (times < tail_most ? times : tail_most);
}

struct curve { /* of the group that is asked */
    const struct step *steps;
    uint32_t count, ended; /* ended: later than the age */
    enum orr_duration_group group;
    int64_t age; /* in its unit */
};

/* The curve of a group of that level, if there is one. */
static void ask_level(const struct level *level, enum orr_duration_group which,
                      const struct orr_duration_of *of, orr_ms age_ms, struct curve *curve)
{
    const struct key all = key_of(of);
    const struct group *group = find_group(level, which, &all);
    if (group == NULL) {
        return;
    }
    curve->group = which;
    curve->steps = &level->steps[group->first];
    curve->count = group->count;
    curve->age = in_ms(which, is_limited(of)) ? age_ms : length_of(of, age_ms);
    const uint32_t from = steps_until(curve->steps, curve->count, curve->age);
    curve->ended =
        from == curve->count ? 0 : curve->steps[from].ended_later + curve->steps[from].ended;
}

/* The user says more than the time, and the time more than what is asked for. */
static const struct ask {
    enum orr_duration_group group;
    bool recent;
} asks[] = {
    {ORR_DURATION_USER_LIKE, true}, {ORR_DURATION_USER_LIKE, false}, {ORR_DURATION_USER, true},
    {ORR_DURATION_USER, false},     {ORR_DURATION_LIKE, true},       {ORR_DURATION_SIZE, true},
    {ORR_DURATION_KIND, true},      {ORR_DURATION_ALL, true},        {ORR_DURATION_LIKE, false},
    {ORR_DURATION_SIZE, false},     {ORR_DURATION_KIND, false},      {ORR_DURATION_ALL, false}};

/* Count 0: nothing was seen. */
static struct curve find_curve(const struct orr_durations *durations,
                               const struct orr_duration_of *of, orr_ms age_ms)
{
    struct curve curve = {.group = ORR_DURATION_ALL};
    for (size_t i = 0; i < sizeof asks / sizeof asks[0] && curve.ended < ORR_DURATION_ENOUGH; i++) {
        const struct level *levels = asks[i].recent ? durations->recent : durations->levels;
        ask_level(&levels[asks[i].group], asks[i].group, of, age_ms, &curve);
    }
    return curve;
}

/* A length of the curve as a run time of such a job, above its age. */
static orr_ms run_of(const struct curve *curve, const struct orr_duration_of *of, orr_ms age_ms,
                     double length)
{
    const double run =
        in_ms(curve->group, is_limited(of)) ? length : length / ORR_PPM * (double)of->limit_ms;
    const double most = 9.0e15; /* what a double and sums of times hold */
    const orr_ms least = age_ms > 0 ? age_ms + 1 : 1,
                 run_ms = (orr_ms)((run < most ? run : most) + 0.5);
    return run_ms > least ? run_ms : least;
}

struct orr_duration_draw orr_durations_quantile(const struct orr_durations *durations,
                                                const struct orr_duration_of *of, orr_ms age_ms,
                                                double p)
{
    const struct curve curve = find_curve(durations, of, age_ms);
    struct orr_duration_draw draw = {
        .run_ms = ORR_MS_NONE, .group = curve.group, .ended = curve.ended};
    if (curve.count > 0) {
        draw.run_ms = run_of(&curve, of, age_ms, length_at(curve.steps, curve.count, curve.age, p));
    }
    return draw;
}

static uint32_t steps_within(const struct curve *curve, const struct orr_duration_of *of,
                             orr_ms until_ms)
{
    return curve->count == 0 || until_ms < 0
               ? 0
               : steps_to(curve->steps, curve->count,
                          in_ms(curve->group, is_limited(of)) ? until_ms : length_of(of, until_ms));
}

void orr_durations_hazards(const struct orr_durations *durations, const struct orr_duration_of *of,
                           const orr_ms *until_ms, uint32_t count, double *hazards)
{
    const struct curve curve = find_curve(durations, of, 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t to = steps_within(&curve, of, until_ms[i]);
        hazards[i] = to == 0 ? 0.0 : curve.steps[to - 1].hazard;
    }
}

void orr_durations_falls(const struct orr_durations *durations, const struct orr_duration_of *of,
                         orr_ms age_ms, const orr_ms *until_ms, uint32_t count, double *falls)
{
    const struct curve curve = find_curve(durations, of, age_ms);
    const uint32_t from = curve.count == 0 ? 0 : steps_until(curve.steps, curve.count, curve.age);
    const double before = from == 0 ? 0.0 : curve.steps[from - 1].fall;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t to = steps_within(&curve, of, until_ms[i]);
        falls[i] = (to == 0 ? 0.0 : curve.steps[to - 1].fall) - before;
    }
}

/* The first step at which it has fallen as much. `count`: there is none. */
static uint32_t step_of_fall(const struct step *steps, uint32_t count, double fall)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (steps[middle].fall >= fall) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

orr_ms orr_durations_at_fall(const struct orr_durations *durations,
                             const struct orr_duration_of *of, orr_ms age_ms, double fall)
{
    const struct curve curve = find_curve(durations, of, age_ms);
    if (curve.count == 0) {
        return ORR_MS_NONE;
    }
    const struct step *steps = curve.steps;
    const uint32_t from = steps_until(steps, curve.count, curve.age);
    const double until = (from == 0 ? 0.0 : steps[from - 1].fall) + fall;
    const uint32_t at = step_of_fall(steps, curve.count, until);
    if (at < curve.count) {
        return run_of(&curve, of, age_ms, (double)steps[at].length);
    }
    const double times = exp(fmin(until - steps[curve.count - 1].fall, log(tail_most)));
    return run_of(&curve, of, age_ms, times * (double)longest_of(steps, curve.count, curve.age));
}

struct orr_duration_draw orr_durations_draw(const struct orr_durations *durations,
                                            const struct orr_duration_of *of, orr_ms age_ms,
                                            uint64_t seed, const char *name, uint64_t future)
{
    char stream[600];
    (void)snprintf(stream, sizeof stream, "run-time/%.580s", name);
    struct orr_rng rng = orr_rng_stream(seed, stream, future);
    return orr_durations_quantile(durations, of, age_ms, orr_rng_unit(&rng));
}
