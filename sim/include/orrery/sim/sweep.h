/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep.h - an experiment of many runs: planned once, run anywhere, merged into one file.
 *
 * A sweep is a folder:
 *   plan.db          every point: its resolved scenario, seed and key (sweep_schema.sql)
 *   points/KEY.db    results of a point, whole or not there
 *   points/KEY.err   why its last run failed
 * The key is a hash of scenario, seed, program, and of the files that the run reads: traces,
 * profiles, policies from outside. Nothing else is remembered: whoever finds no results of a point
 * may run it, two that run the same write the same, and a merge asks no engine.
 */
#ifndef ORR_SIM_SWEEP_H
#define ORR_SIM_SWEEP_H

#include <orrery/base/mem.h>
#include <orrery/sim/study.h>

#define ORR_SWEEP_KEY 17 /* bytes of a key with its end */

struct orr_sweep_point {
    char key[ORR_SWEEP_KEY];
    uint32_t arm;
    uint64_t seed;
    const char *label; /* of its arm */
};

struct orr_sweep {
    const char *folder, *name; /* name: of the base's scenario */
    const char *scenario_folder;
    struct orr_sweep_point *points; /* in the order of the plan: number i is index i */
    const char **scenarios;         /* an arm's resolved text */
    uint32_t point_count, arm_count;
    orr_ms time_ms;          /* limits of a run; 0: none */
    uint64_t memory_bytes;   /* 0: none */
    uint32_t allow_loss_ppm; /* as in orr_trace_options */
    struct orr_arena arena;
};

/* Writes the plan of an experiment (sweep_spec.h) into a folder that has none yet, and makes the
 * folder. Every scenario is resolved and checked as orr_point_check does, in processes of which the
 * options say how many; its runs may reject allow_loss_ppm of the rows, as in orr_trace_options.
 * ORR_CANT_CREATE, ORR_IO, and what orr_sweep_spec_load and orr_point_check fail with; then nothing
 * is left. */
enum orr_status orr_sweep_plan(const char *spec, const char *folder, uint32_t allow_loss_ppm,
                               const struct orr_study_options *check,
                               struct orr_err *err) ORR_MUST_USE;

/* The plan in a folder, unless another version of the program made it. ORR_NO_INPUT, ORR_DATA. On
 * failure nothing is left. */
enum orr_status orr_sweep_open(const char *folder, struct orr_sweep *sweep,
                               struct orr_err *err) ORR_MUST_USE;
void orr_sweep_close(struct orr_sweep *sweep);

enum orr_sweep_state { ORR_SWEEP_DONE, ORR_SWEEP_FAILED, ORR_SWEEP_MISSING };
/* By the files there are; `why` gets the last failure's sentence, or of missing results that they
 * are no whole file; "" where there is nothing to say. */
enum orr_sweep_state orr_sweep_state(const struct orr_sweep *sweep, uint32_t point, char *why,
                                     size_t bytes);

/* The exit code that a failure's sentence begins with; 0: none. */
int orr_sweep_failure_code(const char *why);

/* Runs points `first` to before `first + count` that have no results, those that failed too. A
 * failure is kept as KEY.err and stops no other. ORR_DATA: a file that points read is not as it was
 * planned with. Options' `ended` gets the number of a point. */
enum orr_status orr_sweep_run(const struct orr_sweep *sweep, uint32_t first, uint32_t count,
                              const struct orr_study_options *options,
                              struct orr_err *err) ORR_MUST_USE;

/* Removes what killed processes have left of these points, and returns how many files that were. A
 * process that lives holds a lock on its file, on other machines too, as far as the file system
 * shares locks. */
uint32_t orr_sweep_remove_stale(const struct orr_sweep *sweep, uint32_t first, uint32_t count);

struct orr_sweep_merged {
    uint32_t points, holes;
};
/* One file with the plan and what came of every point: the same bytes whatever happened on the way.
 * Holes are refused unless `partial`. `path` must be free to be replaced. ORR_DATA: a file is not
 * the results of its point, or a hole; ORR_CANT_CREATE, ORR_IO. */
enum orr_status orr_sweep_merge(const struct orr_sweep *sweep, const char *path, bool partial,
                                struct orr_sweep_merged *merged, struct orr_err *err) ORR_MUST_USE;

/* A scenario with `replicas` seeds from its own on, a process each, as a merged file of one
 * setting at point->output, which is replaced: the same bytes whatever `study` says of processes.
 * Of the point's options scenario, allow_loss_ppm, check_books and `warn` are looked at. Fails as
 * orr_sweep_plan, orr_study_run and orr_sweep_merge do, and leaves nothing then. */
enum orr_status orr_sweep_replicate(const struct orr_point_options *point, uint32_t replicas,
                                    const struct orr_study_options *study,
                                    struct orr_err *err) ORR_MUST_USE;

#endif
