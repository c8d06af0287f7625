/* SPDX-License-Identifier: GPL-3.0-or-later */
/* units.h - the units every room counts in.
 *
 * Time is int64 milliseconds on the run's clock. The ledger counts whole numbers: milli-GPU (1000
 * is one device), milli-CPU, bytes of memory. Doubles appear only in shares, weights and reports.
 */
#ifndef ORR_BASE_UNITS_H
#define ORR_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t orr_ms; /* a time or a duration, milliseconds */
/* Products that 64 bits do not hold: GPU time of a queue (100,000 GPUs for three years), exact
 * decimals. */
__extension__ typedef __int128 orr_wide;

#define ORR_MS_NEVER     INT64_MAX  /* later than anything */
#define ORR_MS_NONE      INT64_MIN  /* not known, not given */
#define ORR_NONE         UINT32_MAX /* no such index */
#define ORR_UNLIMITED    (-1.0)     /* quota or limit without a bound, as KAI writes it */
#define ORR_MGPU         1000       /* milli-GPU in one device */
#define ORR_PPM          1000000    /* parts per million: a rate of 1 */

#define ORR_KIB          ((int64_t)1024)
#define ORR_MIB          (ORR_KIB * 1024)
#define ORR_GIB          (ORR_MIB * 1024)

#define ORR_MUST_USE     __attribute__((warn_unused_result))
#define ORR_PRINTF(f, a) __attribute__((format(printf, f, a)))
/* Not within the function that calls it: what is seldom needed takes registers from what is not. */
#define ORR_APART        __attribute__((noinline))
#define ORR_NORETURN     __attribute__((noreturn))
#define ORR_EXPORT       __attribute__((visibility("default")))

/* Around what a public header declares: for C++, and to be seen in the shared library. */
#ifdef __cplusplus
#define ORR_API_BEGIN                                                                              \
    extern "C" {                                                                                   \
    _Pragma("GCC visibility push(default)")
#define ORR_API_END                                                                                \
    _Pragma("GCC visibility pop")                                                                  \
    }
#else
#define ORR_API_BEGIN _Pragma("GCC visibility push(default)")
#define ORR_API_END   _Pragma("GCC visibility pop")
#endif

#endif
