/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study_int.h - what the files of studies share. */
#ifndef ORR_STUDY_INT_H
#define ORR_STUDY_INT_H

#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/sim/study.h>

/* The name of a file without its folder; within `path`. */
static inline const char *orr_study__last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The way from the folder of a file to another folder, such as "../data" or "."; false: one of them
 * is not there, or it is too long. */
bool orr_study__way(const char *file, const char *folder, char *way, size_t bytes);
/* The folder, or where it is not there, what the way from the file leads to, if that is. In the
 * arena. */
const char *orr_study__place(const char *file, const char *folder, const char *way,
                             struct orr_arena *arena);

/* What a change costs all jobs but one, of a run with it and the results without it. Texts live in
 * the arena. Fails as orr_results_open. */
enum orr_status orr_study__help_cost(const char *results, const char *changed, const char *job,
                                     struct orr_arena *arena, struct orr_help_cost *cost,
                                     struct orr_err *err) ORR_MUST_USE;

/* Did a run of orr_rerun_of decide as its results say? ORR_DATA: it did not. */
enum orr_status orr_study__check_rerun(const char *results, const char *again,
                                       struct orr_err *err) ORR_MUST_USE;

/* Is a file still that of the checksum ("": none is known)? `of`: what read it, and
 * what to do. ORR_DATA; one that cannot be read is not looked at, for the run itself says where it
 * looked. */
enum orr_status orr_study__check_input(const char *path, const char *sha256, const char *of,
                                       struct orr_err *err) ORR_MUST_USE;

struct orr_study__verdict { /* what a process says at its end */
    enum orr_status status;
    bool done;       /* it came to its end, of one that shares a run */
    orr_ms start_ms; /* of a probe */
    char text[sizeof((struct orr_err *)0)->text];
};
/* trunk.c: a point by itself; and one that others are up to a time, each in a process of its own
 * from there on, `width` of all at a time. The first failure of any. */
struct orr_study__verdict orr_study__run_alone(const struct orr_point_options *options);
struct orr_study__verdict orr_study__run_trunk(const struct orr_point_options *options,
                                               struct orr_point_options *others, uint32_t count,
                                               uint32_t width);

/* run_order.c: the order in which the runs of a study begin, by the seed of each; close it. `seeds`
 * may be released before. Times are of one clock. */
struct orr_study__order;
struct orr_study__order *orr_study__order_open(const uint64_t *seeds, uint32_t count);
void orr_study__order_close(struct orr_study__order *order);
/* The run that begins now, each once; ORR_NONE: all have begun. */
uint32_t orr_study__order_next(struct orr_study__order *order, orr_ms now_ms);
/* A run that had begun has ended. */
void orr_study__order_ended(struct orr_study__order *order, uint32_t run, orr_ms now_ms);

/* Files that a part reads beside its trace: the nth of so many, and the key that names it; NULL:
 * it reads none there. */
enum { ORR_STUDY__PART_FILES = 3 };
const char *orr_study__part_file(const struct orr_scenario_part *part, uint32_t nth,
                                 const char **key);
/* Each file that the workload of a scenario and its profiles read, in an order of its own; NULL
 * where one may be stated and is not. An error of `each` ends it. */
typedef enum orr_status orr_study__file_fn(const char *path, void *context);
enum orr_status orr_study__each_file(const struct orr_scenario *scenario, orr_study__file_fn *each,
                                     void *context);
/* What such a file is called in a bundle. */
const char *orr_study__part_file_name(struct orr_arena *arena, const struct orr_scenario_part *part,
                                      const char *key, const char *path);

/* point_changes.c: the first job of the name, as results have it; ORR_DATA: there is none. */
enum orr_status orr_study__find_job(const struct orr_world *world, const char *name, uint32_t *job,
                                    struct orr_err *err) ORR_MUST_USE;
/* Takes away whom the change names, and gives its job another priority, or fewer pods and so much
 * more run time as keeps its work the same. ORR_DATA: no such job, or one that would be another
 * with fewer pods. */
enum orr_status orr_study__change_job(struct orr_world *world, const struct orr_job_change *change,
                                      struct orr_err *err) ORR_MUST_USE;
/* Adds outages as the scenario could have listed them, one for each row of neighbours. */
void orr_study__lose_nodes(struct orr_world *world, const struct orr_node_loss *loss);

/* What a run is expected to keep, by its text: true if it does. `value` is NAN where it was not
 * reached; ORR_SCENARIO, as the status of the results: the run has no such metric. */
bool orr_study__read_objective(struct orr_results *in, const char *text, double *value);

/* What a search for an amount is about (objectives.c): the expectations that the options add, or
 * else those of the scenario. */
struct orr_study__objectives {
    struct orr_scenario scenario;
    const struct orr_study_objective *objectives; /* in the arena */
    uint32_t count;
    uint32_t replicas, needed; /* runs of an amount; how many of them have to keep an objective */
    uint64_t seed;             /* of the first replica */
};
/* `replicas`, `needed`: 0: as many as the scenario has seeds, all. Fails as orr_scenario_load does;
 * ORR_USAGE: nothing is expected, or more runs are needed than there are. The caller releases the
 * scenario where it does not fail. */
enum orr_status orr_study__list_objectives(const struct orr_scenario_options *options,
                                           uint32_t replicas, uint32_t needed,
                                           struct orr_arena *arena,
                                           struct orr_study__objectives *out,
                                           struct orr_err *err) ORR_MUST_USE;
/* The replicas of one amount: points of the options with these settings more (copied) and seeds
 * from `seed` on. In the arena; where they write is the caller's. */
struct orr_point_options *orr_study__replicas(struct orr_arena *arena,
                                              const struct orr_scenario_options *options,
                                              const char *const *sets, uint32_t set_count,
                                              uint64_t seed, uint32_t count);

/* unheeded_shares.c: jobs of queues that may use fewer GPUs of the shard than it has, whatever fair
 * shares the oracle divides. */
void orr_study__say_shares(const struct orr_world *world, uint32_t shard,
                           const struct orr_engine_shard *of, orr_say_fn *say, void *context);

#endif
