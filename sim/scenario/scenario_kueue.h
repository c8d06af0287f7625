/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue.h - what the files scenario_kueue*.c share. */
#ifndef ORR_SIM_SCENARIO_KUEUE_H
#define ORR_SIM_SCENARIO_KUEUE_H

#include "scenario_int.h"

/* What rows ask, and pods, of which there can be quota as well. */
enum { KUEUE_GPU, KUEUE_CPU, KUEUE_MEMORY, KUEUE_RESOURCES };
enum { KUEUE_PODS = KUEUE_RESOURCES, KUEUE_QUOTAS };

const char *orr_scenario__text_below(const struct orr_scenario__node *map, const char *key);
void orr_scenario__add_text(struct orr_scenario__load *load, struct orr_scenario__node *map,
                            const char *key, const char *text, struct orr_scenario__at at);
struct orr_scenario__node *orr_scenario__add_map(struct orr_scenario__load *load,
                                                 struct orr_scenario__node *map, const char *key,
                                                 struct orr_scenario__at at);
/* The weight that a ClusterQueue, Cohort or LocalQueue states, as a number; NULL: none. */
enum orr_status orr_scenario__read_weight(struct orr_scenario__load *load,
                                          const struct orr_scenario__node *spec, const char **out);

/* scenario_kueue_fields.c: what no run looks at is noted; a scalar where a map belongs is an error.
 */
enum orr_status orr_scenario__check_fields(struct orr_scenario__load *load, const char *kind,
                                           const struct orr_scenario__node *object);
/* One of the words, ended by NULL; `out` stays as it is where nothing is stated. */
enum orr_status orr_scenario__read_word(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *map, const char *key,
                                        const char *const *words, const char **out);

/* Which resource of ours a name of Kubernetes is; KUEUE_RESOURCES: none. */
int orr_scenario__resource_of(const char *name);
/* The same of quotas, pods among them; KUEUE_QUOTAS: none. */
int orr_scenario__quota_of(const char *name);
/* Is there a Cohort object of the name? */
bool orr_scenario__has_cohort(struct orr_scenario__load *load, const char *name);
/* Reads the quotas of a ClusterQueue or Cohort. What it has is written into `queue` by
 * orr_scenario__settle_cohorts, which also puts those of cohorts among the queues. */
enum orr_status orr_scenario__add_holder(struct orr_scenario__load *load, const char *name,
                                         bool cohort, const struct orr_scenario__node *spec,
                                         struct orr_scenario__node *queue);

#endif
