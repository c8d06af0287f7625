/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sort.h - stable sorting only: equal elements keep their order, so results come from data. */
#ifndef ORR_BASE_SORT_H
#define ORR_BASE_SORT_H

#include <orrery/base/units.h>

ORR_API_BEGIN

typedef int orr_compare_fn(const void *a, const void *b, void *context);

/* Stable merge sort. `compare` may use the context, and only reads it. */
void orr_sort(void *items, size_t count, size_t size, orr_compare_fn *compare, const void *context);

/* Comparisons for it without a context: of uint32_t, and of const char * in byte order. */
int orr_compare_u32(const void *a, const void *b, void *context);
int orr_compare_texts(const void *a, const void *b, void *context);

/* Indices 0..count-1 ordered by keys[i], ties by index (radix, O(count)). Caller frees. */
uint32_t *orr_sort_index_by_i64(const int64_t *keys, uint32_t count) ORR_MUST_USE;
/* Puts ids in the order of the keys that they number, ties as they are (radix, O(count)); the key
 * of id i is the int64_t at `stride` times i bytes behind `keys`. */
void orr_sort_ids_by_i64(uint32_t *ids, uint32_t count, const void *keys, size_t stride);
/* Sorts values in place, ascending (radix). */
void orr_sort_i64(int64_t *values, size_t count);
/* The value that sorting would put at `rank` (0: the least; below count). No value may be NAN;
 * their order changes. */
double orr_select(double *values, size_t count, size_t rank);

ORR_API_END

#endif
