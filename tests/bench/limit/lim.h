/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lim.h - helpers of the limit program: clocks, RNG, order statistics. */
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
#define now_cpu()  now_clk(CLOCK_THREAD_CPUTIME_ID)

/* xoshiro256++ seeded by splitmix64 */
typedef struct { u64 s[4]; } rng_t;
static inline u64 rotl64(u64 x, int k) { return (x << k) | (x >> (64 - k)); }
static inline void rng_seed(rng_t *r, u64 seed)
{
    for (int i = 0; i < 4; i++) {
        u64 z = (seed += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        r->s[i] = z ^ (z >> 31);
    }
}
static inline u64 rng_u64(rng_t *r)
{
    u64 *s = r->s, out = rotl64(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3];
    s[2] ^= t; s[3] = rotl64(s[3], 45);
    return out;
}
static inline double rng_u01(rng_t *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }
static inline double rng_exp(rng_t *r) { return -log(1.0 - rng_u01(r)); }
static inline double rng_normal(rng_t *r) /* Box-Muller, one half used: setup only */
{
    return sqrt(-2.0 * log(1.0 - rng_u01(r))) * cos(6.283185307179586 * rng_u01(r));
}

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
