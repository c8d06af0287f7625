/* SPDX-License-Identifier: GPL-3.0-or-later */
/* classes_fit.c - a trace as classes: rows of one queue, kind and shape, those of one user close
 * together as a burst, the bursts of one step of time as a class. Tables keep the mean exactly.
 */
#include <orrery/traces/classes.h>

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>

#define DAY_MS  ((orr_ms)86400000)
#define HOUR_MS ((orr_ms)3600000)
#define PI      3.14159265358979323846

struct fact { /* a row that is fitted */
    uint32_t row, queue, user, gpus, pods, gpus_per_pod;
    int64_t fraction_milli, cpu_milli, mem_mib;
    orr_ms at, run_ms;
    uint8_t kind;
    double rank; /* of its run time within its shape, -0.5 to 0.5 */
};

struct burst {
    uint32_t first, count; /* facts */
    int64_t step;
};

struct fitting {
    const struct orr_workload *workload;
    const struct orr_classes_options *options;
    struct fact *facts;
    struct burst *bursts;
    uint32_t fact_count, burst_count, burst_capacity;
    orr_ms first_ms, last_ms;
    struct orr_classes_fitted *out;
};

/* --- which rows ------------------------------------------------------------------------------ */

static bool take_fact(const struct orr_workload *workload, uint32_t r, struct fact *fact)
{
    const struct orr_row *row = &workload->rows[r];
    const struct orr_row_extra *extra = row->extra == 0 ? NULL : &workload->extras[row->extra - 1];
    *fact = (struct fact){.row = r,
                          .queue = row->queue,
                          .user = row->user,
                          .gpus = row->gpus,
                          .pods = row->gpus > 0 ? 0 : row->pods,
                          .gpus_per_pod = row->gpus > 0 ? 0 : row->gpus_per_pod,
                          .cpu_milli = extra == NULL ? -1 : extra->cpu_milli,
                          .mem_mib = extra == NULL ? -1 : extra->mem_mib,
                          .at = row->submit_ms,
                          .run_ms = row->run_ms,
                          .kind = row->kind};
    if (extra != NULL && extra->gpu_fraction_milli > 0) {
        fact->fraction_milli = extra->gpu_fraction_milli;
    }
    const bool odd = extra != NULL && (extra->template_name != NULL || extra->mig_profile != NULL ||
                                       extra->gpu_memory_mib > 0 || extra->gpu_devices > 1);
    return row->run_ms != ORR_MS_NONE && !odd && fact->gpus_per_pod != ORR_NONE &&
           (row->gpus > 0 || row->pods > 0);
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Of one queue, kind and shape. */
static int compare_shapes(const struct fact *a, const struct fact *b)
{
    const uint64_t x[] = {a->queue, a->kind,         a->gpus,
                          a->pods,  a->gpus_per_pod, (uint64_t)a->fraction_milli};
    const uint64_t y[] = {b->queue, b->kind,         b->gpus,
                          b->pods,  b->gpus_per_pod, (uint64_t)b->fraction_milli};
    int order = 0;
    for (int i = 0; i < 6 && order == 0; i++) {
        order = compare_u64(x[i], y[i]);
    }
    return order;
}

static int by_burst(const void *a, const void *b, void *context)
{
    const struct fact *x = a, *y = b;
    (void)context;
    int order = compare_shapes(x, y);
    order = order != 0 ? order : compare_u64(x->user, y->user);
    order = order != 0 ? order : (x->at > y->at) - (x->at < y->at);
    return order != 0 ? order : compare_u64(x->row, y->row);
}

static int by_run(const void *a, const void *b, void *context)
{
    const struct fact *facts = context;
    const orr_ms x = facts[*(const uint32_t *)a].run_ms, y = facts[*(const uint32_t *)b].run_ms;
    return (x > y) - (x < y);
}

static int64_t step_of(const struct fitting *fitting, orr_ms at)
{
    const orr_ms step = fitting->options->step_ms;
    return step == 0 ? 0 : at / step - (at % step < 0);
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* Ranks of the run times of facts first..first + count; equal ones share the middle of theirs. */
static void rank(struct fact *facts, const uint32_t *members, uint32_t count)
{
    uint32_t *order = orr_alloc(count, sizeof *order);
    memcpy(order, members, count * sizeof *order);
    orr_sort(order, count, sizeof *order, by_run, facts);
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        while (end < count && facts[order[end]].run_ms == facts[order[i]].run_ms) {
            end++;
        }
        for (uint32_t k = i; k < end; k++) {
            facts[order[k]].rank = ((double)i + (double)end) / 2.0 / (double)count - 0.5;
        }
        i = end;
    }
    orr_free(order);
}

/* How like run times of one burst are: the mean product of ranks over pairs of a burst, as a part
 * of their variance, turned into the correlation of normal numbers with such ranks. Each burst
 * weighs as many as it has jobs. */
static double alike(const struct fitting *fitting, const struct burst *bursts, uint32_t count)
{
    double products = 0.0, weights = 0.0, variance = 0.0, jobs = 0.0;
    for (uint32_t b = 0; b < count; b++) {
        double sum = 0.0, squares = 0.0;
        for (uint32_t i = 0; i < bursts[b].count; i++) {
            const double rank = fitting->facts[bursts[b].first + i].rank;
            sum += rank;
            squares += rank * rank;
        }
        variance += squares;
        jobs += bursts[b].count;
        if (bursts[b].count > 1) {
            products += (sum * sum - squares) / (bursts[b].count - 1.0);
            weights += bursts[b].count;
        }
    }
    if (weights <= 0.0 || variance <= 0.0) {
        return 0.0;
    }
    const double of_ranks = products / weights / (variance / jobs);
    const double of_normals = 2.0 * sin(PI / 6.0 * (of_ranks > 1.0 ? 1.0 : of_ranks));
    return of_normals < 0.0 ? 0.0 : of_normals > 0.999 ? 0.999 : of_normals;
}

/* Three digits: a model tells no more of single jobs than it has to. */
static double rounded(double value)
{
    if (!(value >= 0.0005)) {
        return 0.0;
    }
    const double unit = pow(10.0, floor(log10(value)) - 2.0);
    return floor(value / unit + 0.5) * unit;
}

/* --- tables ---------------------------------------------------------------------------------- */

/* The share below the k-th of `rows` rows: three fifths of them for nine tenths of the values, a
 * fifth for all but a hundredth, a fifth for that, since sums hang on the largest. */
static double edge_of(uint32_t k, uint32_t rows)
{
    static const double at[] = {0.0, 0.6, 0.8, 1.0}, share[] = {0.0, 0.9, 0.99, 1.0};
    const double along = (double)k / rows;
    int i = 0;
    while (i < 2 && along > at[i + 1]) {
        i++;
    }
    return k == rows ? 1.0
                     : share[i] + (along - at[i]) / (at[i + 1] - at[i]) * (share[i + 1] - share[i]);
}

/* The mean of the sorted values from the place `from` to the place `until`, parts of values too. */
static double mean_between(const int64_t *values, uint32_t count, double from, double until)
{
    double sum = 0.0;
    for (uint32_t i = (uint32_t)from; i < count && (double)i < until; i++) {
        const double low = (double)i > from ? (double)i : from;
        const double high = i + 1.0 < until ? i + 1.0 : until;
        sum += (double)values[i] * (high - low);
    }
    return sum / (until - from);
}

/* All values, or `most` means of neighbours. */
static struct orr_steps table_of(struct orr_arena *arena, int64_t *values, uint32_t count,
                                 uint32_t most, double scale)
{
    const uint32_t kept = count < most ? count : most;
    double *means = orr_arena_alloc(arena, (size_t)kept + 1, sizeof *means);
    double *sums = orr_arena_alloc(arena, (size_t)kept + 1, sizeof *sums);
    double from = 0.0;
    orr_sort_i64(values, count);
    for (uint32_t k = 0; k < kept; k++) {
        const double until = count <= most ? k + 1.0 : count * edge_of(k + 1, kept);
        means[k] = rounded(mean_between(values, count, from, until) * scale);
        sums[k] = from = until;
    }
    return (struct orr_steps){means, sums, kept};
}

/* Each user with the bursts that are theirs. */
static struct orr_steps users_of(const struct fitting *fitting, const struct burst *bursts,
                                 uint32_t count)
{
    struct orr_arena *arena = &fitting->out->classes.arena;
    int64_t *users = orr_alloc(count, sizeof *users);
    uint32_t named = 0, kept = 0;
    for (uint32_t b = 0; b < count; b++) {
        const uint32_t user = fitting->facts[bursts[b].first].user;
        if (user != ORR_NONE) {
            users[named++] = user;
        }
    }
    if (named < count) {
        orr_free(users);
        return (struct orr_steps){0}; /* some have none: nobody is told apart */
    }
    orr_sort_i64(users, named);
    double *values = orr_arena_alloc(arena, named, sizeof *values);
    double *sums = orr_arena_alloc(arena, named, sizeof *sums);
    for (uint32_t i = 0; i < named; i++) {
        if (i == 0 || users[i] != users[i - 1]) {
            values[kept++] = (double)users[i];
        }
        sums[kept - 1] = i + 1.0;
    }
    orr_free(users);
    return (struct orr_steps){values, sums, kept};
}

/* --- classes --------------------------------------------------------------------------------- */

/* The mean of what a pod is given, where every job of the class says it. */
static int64_t mean_of(const struct fitting *fitting, const struct burst *bursts, uint32_t count,
                       size_t field)
{
    double sum = 0.0, jobs = 0.0;
    for (uint32_t b = 0; b < count; b++) {
        for (uint32_t i = 0; i < bursts[b].count; i++) {
            int64_t amount;
            memcpy(&amount, (const char *)&fitting->facts[bursts[b].first + i] + field,
                   sizeof amount);
            if (amount < 0) {
                return -1;
            }
            sum += (double)amount;
            jobs += 1.0;
        }
    }
    return (int64_t)(sum / jobs + 0.5);
}

static void give_tables(const struct fitting *fitting, const struct burst *bursts, uint32_t count,
                        struct orr_arrival_class *class)
{
    struct orr_arena *arena = &fitting->out->classes.arena;
    const struct orr_classes_options *options = fitting->options;
    uint32_t jobs = 0, gaps = 0, runs = 0;
    for (uint32_t b = 0; b < count; b++) {
        jobs += bursts[b].count;
    }
    int64_t *sizes = orr_alloc(count, sizeof *sizes), *gap = orr_alloc(jobs, sizeof *gap);
    int64_t *run = orr_alloc(jobs, sizeof *run);
    uint32_t *members = orr_alloc(jobs, sizeof *members);
    for (uint32_t b = 0; b < count; b++) {
        sizes[b] = bursts[b].count;
        for (uint32_t i = 0; i < bursts[b].count; i++) {
            const struct fact *fact = &fitting->facts[bursts[b].first + i];
            members[runs] = bursts[b].first + i;
            run[runs++] = fact->run_ms;
            if (i > 0) {
                gap[gaps++] = fact->at - fact[-1].at;
            }
        }
    }
    rank(fitting->facts, members, runs);
    class->alike = rounded(alike(fitting, bursts, count));
    class->jobs = table_of(arena, sizes, count, options->burst_values, 1.0);
    class->gap_s = table_of(arena, gap, gaps, options->burst_values, 0.001);
    class->run_s = table_of(arena, run, runs, options->values, 0.001);
    class->users = users_of(fitting, bursts, count);
    orr_free(members);
    orr_free(run);
    orr_free(gap);
    orr_free(sizes);
}

static void give_class(struct fitting *fitting, const struct burst *bursts, uint32_t count)
{
    struct orr_classes *classes = &fitting->out->classes;
    const struct fact *fact = &fitting->facts[bursts[0].first];
    const orr_ms step = fitting->options->step_ms;
    classes->items = ORR_ROOM_FOR_ONE(classes->items, classes->count, classes->capacity);
    struct orr_arrival_class *class = &classes->items[classes->count++];
    *class = (struct orr_arrival_class){.kind = (enum orr_kind)fact->kind,
                                        .has_kind = fact->kind != ORR_KIND_UNKNOWN,
                                        .gpus = fact->gpus,
                                        .pods = fact->pods,
                                        .gpus_per_pod = fact->gpus_per_pod,
                                        .gpu_fraction_milli = fact->fraction_milli,
                                        .from_ms = fitting->first_ms,
                                        .until_ms = fitting->last_ms + 1,
                                        .bursts = count};
    if (fact->queue != ORR_NONE) {
        const char *name = orr_idmap_name(&fitting->workload->queues, fact->queue);
        class->queue = orr_arena_strndup(&classes->arena, name, strlen(name));
    }
    if (step > 0) {
        const orr_ms from = bursts[0].step * step;
        class->from_ms = from > class->from_ms ? from : class->from_ms;
        class->until_ms = from + step < class->until_ms ? from + step : class->until_ms;
    }
    class->cpu_milli = mean_of(fitting, bursts, count, offsetof(struct fact, cpu_milli));
    class->mem_mib = mean_of(fitting, bursts, count, offsetof(struct fact, mem_mib));
    give_tables(fitting, bursts, count, class);
}

static int by_class(const void *a, const void *b, void *context)
{
    const struct fitting *fitting = context;
    const struct burst *x = a, *y = b;
    int order = compare_shapes(&fitting->facts[x->first], &fitting->facts[y->first]);
    order = order != 0 ? order : (x->step > y->step) - (x->step < y->step);
    return order;
}

static void find_bursts(struct fitting *fitting)
{
    for (uint32_t i = 0; i < fitting->fact_count; i++) {
        const struct fact *fact = &fitting->facts[i];
        const bool same = i > 0 && compare_shapes(fact, fact - 1) == 0 &&
                          fact->user == fact[-1].user &&
                          fact->at - fact[-1].at <= fitting->options->gap_ms;
        if (same) {
            fitting->bursts[fitting->burst_count - 1].count++;
            continue;
        }
        fitting->bursts =
            ORR_ROOM_FOR_ONE(fitting->bursts, fitting->burst_count, fitting->burst_capacity);
        fitting->bursts[fitting->burst_count++] =
            (struct burst){.first = i, .count = 1, .step = step_of(fitting, fact->at)};
    }
}

/* --- what is between ------------------------------------------------------------------------- */

/* Sums of ranks and of what groups of them have in common. */
struct between {
    double squares, common;
};

static void add_group(struct between *between, double sum, double count)
{
    between->common += count > 0.0 ? sum * sum / count : 0.0;
}

/* Ranks the facts of the bursts [from, end), which are of one shape. */
static void rank_shape(struct fitting *fitting, uint32_t from, uint32_t end)
{
    uint32_t jobs = 0, m = 0;
    for (uint32_t k = from; k < end; k++) {
        jobs += fitting->bursts[k].count;
    }
    uint32_t *members = orr_alloc(jobs, sizeof *members);
    for (uint32_t k = from; k < end; k++) {
        for (uint32_t i = 0; i < fitting->bursts[k].count; i++) {
            members[m++] = fitting->bursts[k].first + i;
        }
    }
    rank(fitting->facts, members, jobs);
    orr_free(members);
}

/* Adds up the ranks of these bursts, burst by burst and step by step. */
static void add_shape(const struct fitting *fitting, uint32_t from, uint32_t end,
                      struct between *bursts, struct between *steps)
{
    double step_sum = 0.0, step_jobs = 0.0;
    for (uint32_t k = from; k < end; k++) {
        double sum = 0.0;
        if (k > from && fitting->bursts[k].step != fitting->bursts[k - 1].step) {
            add_group(steps, step_sum, step_jobs);
            step_sum = step_jobs = 0.0;
        }
        for (uint32_t i = 0; i < fitting->bursts[k].count; i++) {
            const double rank = fitting->facts[fitting->bursts[k].first + i].rank;
            sum += rank;
            bursts->squares += rank * rank;
        }
        add_group(bursts, sum, fitting->bursts[k].count);
        step_sum += sum;
        step_jobs += fitting->bursts[k].count;
    }
    add_group(steps, step_sum, step_jobs);
}

/* Facts of one shape are together, bursts of it in the order of their steps. */
static void measure_between(struct fitting *fitting)
{
    struct between bursts = {0}, steps = {0};
    for (uint32_t b = 0, end; b < fitting->burst_count; b = end) {
        end = b + 1;
        while (end < fitting->burst_count &&
               compare_shapes(&fitting->facts[fitting->bursts[end].first],
                              &fitting->facts[fitting->bursts[b].first]) == 0) {
            end++;
        }
        rank_shape(fitting, b, end);
        add_shape(fitting, b, end, &bursts, &steps);
    }
    const double all = bursts.squares;
    fitting->out->between_bursts = all > 0.0 ? bursts.common / all : 0.0;
    fitting->out->between_steps = all > 0.0 ? steps.common / all : 0.0;
}

/* When bursts begin: relative to their mean. */
static void measure_clock(struct fitting *fitting, orr_ms origin_ms)
{
    struct orr_classes_fitted *out = fitting->out;
    for (uint32_t b = 0; b < fitting->burst_count; b++) {
        const orr_ms at = fitting->facts[fitting->bursts[b].first].at + origin_ms;
        const int64_t hour = at / HOUR_MS - (at % HOUR_MS < 0);
        const int64_t day = hour / 24 - (hour % 24 < 0);
        out->hours[(hour % 24 + 24) % 24] += 24.0 / fitting->burst_count;
        out->days[((day + 3) % 7 + 7) % 7] += 7.0 / fitting->burst_count;
    }
}

void orr_classes_fit(const struct orr_workload *workload, const struct orr_classes_options *options,
                     orr_ms origin_ms, struct orr_classes_fitted *out)
{
    struct fitting fitting = {.workload = workload, .options = options, .out = out};
    *out = (struct orr_classes_fitted){0};
    orr_classes_init(&out->classes);
    fitting.facts = orr_alloc((size_t)workload->count + 1, sizeof *fitting.facts);
    for (uint32_t r = 0; r < workload->count; r++) {
        fitting.fact_count += take_fact(workload, r, &fitting.facts[fitting.fact_count]);
    }
    out->jobs = fitting.fact_count;
    out->left_out = workload->count - fitting.fact_count;
    if (fitting.fact_count > 0) {
        fitting.first_ms = fitting.facts[0].at; /* rows are sorted */
        fitting.last_ms = fitting.facts[fitting.fact_count - 1].at;
        orr_sort(fitting.facts, fitting.fact_count, sizeof *fitting.facts, by_burst, NULL);
        find_bursts(&fitting);
        out->bursts = fitting.burst_count;
        orr_sort(fitting.bursts, fitting.burst_count, sizeof *fitting.bursts, by_class, &fitting);
        measure_between(&fitting);
        measure_clock(&fitting, origin_ms);
    }
    for (uint32_t b = 0; b < fitting.burst_count;) {
        uint32_t end = b;
        while (end < fitting.burst_count &&
               by_class(&fitting.bursts[b], &fitting.bursts[end], &fitting) == 0) {
            end++;
        }
        give_class(&fitting, &fitting.bursts[b], end - b);
        b = end;
    }
    orr_free(fitting.bursts);
    orr_free(fitting.facts);
}
