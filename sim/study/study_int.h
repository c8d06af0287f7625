/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study_int.h - what the files of studies share. */
#ifndef ORR_STUDY_INT_H
#define ORR_STUDY_INT_H

#include <orrery/analysis/results.h>
#include <orrery/sim/study.h>

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

/* Files that a part reads beside its trace: the nth of so many, and the key that names it; NULL:
 * it reads none there. */
enum { ORR_STUDY__PART_FILES = 3 };
const char *orr_study__part_file(const struct orr_scenario_part *part, uint32_t nth,
                                 const char **key);
/* What such a file is called in a bundle. */
const char *orr_study__part_file_name(struct orr_arena *arena, const struct orr_scenario_part *part,
                                      const char *key, const char *path);

/* What a run is expected to keep, by its text: true if it does. `value` is NAN where it was not
 * reached; ORR_SCENARIO, as the status of the results: the run has no such metric. */
bool orr_study__read_objective(struct orr_results *in, const char *text, double *value);

#endif
