/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lim.h - helpers of the limit program: clocks, order statistics. */
#ifndef LIM_H
#define LIM_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned __int128 u128;
typedef uint64_t u64;
typedef uint32_t u32;

static inline double now_clk(clockid_t c)
{
    struct timespec ts;
    clock_gettime(c, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}
#define now_wall() now_clk(CLOCK_MONOTONIC)

static int cmp_dbl(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
typedef struct { double med, min, max, spread; } stat_t;
/* spread = (q75-q25)/median */
static inline stat_t stats(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, cmp_dbl);
    stat_t s = { v[n / 2], v[0], v[n - 1], 0 };
    s.spread = (v[(3 * n) / 4 < n ? (3 * n) / 4 : n - 1] - v[n / 4]) / s.med;
    return s;
}
static inline void *xalloc(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!p) { perror("alloc"); exit(1); }
    return p;
}
#endif
