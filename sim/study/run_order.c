/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run_order.c - which of a study's runs begins next. Runs of one seed have the same arrivals, so
 * that one that takes long does so under most settings, while other seeds may be a hundred times as
 * fast. Seeds that no run has had yet come first, in the order of the study. Of the others the
 * longest begins first (LPT: Graham 1969, "Bounds on multiprocessing timing anomalies"), so that no
 * long run begins where all the others end. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "study_int.h"

struct of_seed {
    uint32_t next; /* its first run that has not begun; ORR_NONE: all have */
    uint32_t at_work;
    orr_ms begun_ms;   /* the latest of its runs; ORR_MS_NONE: none has */
    orr_ms longest_ms; /* of those that have ended */
};

struct orr_study__order {
    struct of_seed *seeds;          /* in the order of their first runs */
    uint32_t seed_count, untouched; /* the first seed that no run has had */
    uint32_t *seed_of, *after;      /* by run: in `seeds`; the next run of its seed */
    orr_ms *begun_ms;               /* by run */
};

struct orr_study__order *orr_study__order_open(const uint64_t *seeds, uint32_t count)
{
    struct orr_study__order *order = orr_zalloc(1, sizeof *order);
    order->seeds = orr_alloc(count + (size_t)1, sizeof *order->seeds);
    order->seed_of = orr_alloc(count + (size_t)1, sizeof *order->seed_of);
    order->after = orr_alloc(count + (size_t)1, sizeof *order->after);
    order->begun_ms = orr_alloc(count + (size_t)1, sizeof *order->begun_ms);
    uint32_t *sorted = orr_sort_index_by_i64((const int64_t *)seeds, count);
    for (uint32_t i = 0; i < count; i++) { /* ties by number: each run follows the one before it */
        const bool first = i == 0 || seeds[sorted[i]] != seeds[sorted[i - 1]];
        order->after[sorted[i]] = ORR_NONE;
        order->seed_of[sorted[i]] = first ? ORR_NONE : sorted[i - 1];
        if (!first) {
            order->after[sorted[i - 1]] = sorted[i];
        }
    }
    for (uint32_t r = 0; r < count; r++) {
        const uint32_t before = order->seed_of[r];
        order->seed_of[r] = before == ORR_NONE ? order->seed_count : order->seed_of[before];
        if (before == ORR_NONE) {
            order->seeds[order->seed_count++] =
                (struct of_seed){.next = r, .begun_ms = ORR_MS_NONE};
        }
    }
    orr_free(sorted);
    return order;
}

void orr_study__order_close(struct orr_study__order *order)
{
    orr_free(order->seeds);
    orr_free(order->seed_of);
    orr_free(order->after);
    orr_free(order->begun_ms);
    orr_free(order);
}

/* The seed whose runs took longest so far, those at work included; ORR_NONE: all have begun. */
static uint32_t longest_seed(const struct orr_study__order *order, orr_ms now_ms)
{
    uint32_t longest = ORR_NONE;
    orr_ms most_ms = 0;
    for (uint32_t s = 0; s < order->seed_count; s++) {
        const struct of_seed *seed = &order->seeds[s];
        const orr_ms working_ms = seed->at_work > 0 ? now_ms - seed->begun_ms : 0;
        const orr_ms ms = working_ms > seed->longest_ms ? working_ms : seed->longest_ms;
        if (seed->next != ORR_NONE && (longest == ORR_NONE || ms > most_ms)) {
            longest = s;
            most_ms = ms;
        }
    }
    return longest;
}

uint32_t orr_study__order_next(struct orr_study__order *order, orr_ms now_ms)
{
    const uint32_t s =
        order->untouched < order->seed_count ? order->untouched++ : longest_seed(order, now_ms);
    if (s == ORR_NONE) {
        return ORR_NONE;
    }
    struct of_seed *seed = &order->seeds[s];
    const uint32_t run = seed->next;
    seed->next = order->after[run];
    seed->at_work++;
    seed->begun_ms = order->begun_ms[run] = now_ms;
    return run;
}

void orr_study__order_ended(struct orr_study__order *order, uint32_t run, orr_ms now_ms)
{
    struct of_seed *seed = &order->seeds[order->seed_of[run]];
    const orr_ms ms = now_ms - order->begun_ms[run];
    seed->at_work--;
    seed->longest_ms = ms > seed->longest_ms ? ms : seed->longest_ms;
}
