/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_int.h - what the files of this room share. */
#ifndef ORR_SIM_REPLAY_INT_H
#define ORR_SIM_REPLAY_INT_H

#include <orrery/sim/world.h>

void orr_replay__cluster(const struct orr_scenario *scenario, struct orr_cluster *cluster);
void orr_replay__queues(const struct orr_scenario *scenario, struct orr_cluster *cluster,
                        struct orr_queues *queues);
/* Fills in `shown`, once all queues are known. */
void orr_replay__show_queues(const struct orr_scenario *scenario, struct orr_world *world);
struct orr_replay_nodes { /* filters over the nodes made so far, by the text that asked for them */
    const struct orr_scenario *scenario;
    struct orr_cluster *cluster;
    struct orr_idmap known; /* name i: filter i + 1 */
    bool tainted;           /* some pool has taints */
    bool typed;             /* some queue may use only some node types */
    bool flavored;          /* some flavor has tolerations */
    uint32_t *queues;       /* those that names of the part's rows are; ORR_NONE: not looked up */
};
void orr_replay__nodes_init(struct orr_replay_nodes *nodes, const struct orr_scenario *scenario,
                            struct orr_cluster *cluster);
void orr_replay__nodes_release(struct orr_replay_nodes *nodes);
/* Goes on to the rows of another part. */
void orr_replay__nodes_part(struct orr_replay_nodes *nodes, const struct orr_workload *workload);
/* Filters for what a row states (NULL: nothing); 0: every node. */
uint32_t orr_replay__selector(struct orr_replay_nodes *nodes, const char *models,
                              const char *selector);
uint32_t orr_replay__toleration(struct orr_replay_nodes *nodes, const char *queue,
                                const char *tolerations);
/* The nodes of the types that a queue of the world, or one above it, may use. */
uint32_t orr_replay__allowed(struct orr_replay_nodes *nodes, const struct orr_queues *queues,
                             uint32_t queue);

typedef bool orr_replay__admits_fn(const struct orr_replay_nodes *nodes, uint32_t node,
                                   const char *text);
/* The number of the filter for a text, made if it is new; `sort` keeps unlike texts apart:
 * s selectors, t tolerations, q queues, f flavors. */
uint32_t orr_replay__filter(struct orr_replay_nodes *nodes, char sort, const char *text,
                            orr_replay__admits_fn *admits);
bool orr_replay__has_label(const struct orr_replay_nodes *nodes, uint32_t node,
                           const struct orr_scenario_label *label);
/* Does a selector go with the labels, keys that are not among them left aside? */
bool orr_replay__selects(const char *selector, const struct orr_scenario_label *labels,
                         uint32_t count);
bool orr_replay__tolerates(const char *tolerations, const struct orr_scenario_taint *taints,
                           uint32_t count);
/* replay_flavors.c: the cluster's flavors, once no more filters are made. */
void orr_replay__flavors(struct orr_replay_nodes *nodes);
/* What a queue has of each, in the core's units, in the arena; NULL: it states none. */
const struct orr_flavored *orr_replay__flavored(struct orr_arena *arena,
                                                const struct orr_scenario_flavored *from,
                                                uint32_t count);

struct orr_arrivals;
/* Weights of hours and weekdays: given ones, else those of the pattern. */
void orr_replay__pattern(const char *pattern, const double *hours, const double *days,
                         struct orr_arrivals *arrivals);

/* Of the rows of a part those that its filter lets pass, scaled as it says. */
enum orr_status orr_replay__select(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   struct orr_workload *workload, struct orr_err *err) ORR_MUST_USE;

/* Traces that state dates come as far apart as these are, unless the scenario states its start,
 * with which each begins at time 0. Notes say what does not keep its dates, or who does not count
 * from the same ones. */
void orr_replay__one_clock(const struct orr_scenario *scenario, struct orr_world *world);

/* A service as one row, and what it wants when; both are made here. */
enum orr_status orr_replay__service(const struct orr_scenario *scenario,
                                    const struct orr_scenario_part *part,
                                    struct orr_workload *workload,
                                    struct orr_world_service *service, struct orr_err *err);
void orr_replay__drop_service(struct orr_world_service *service);
/* Shares of devices, CPU and memory of equal pods, where the row states none. */
void orr_replay__share_pods(struct orr_row *row, struct orr_row_extra *extra,
                            const struct orr_scenario_pods *pods);

enum { ORR_REPLAY_GROUPS = 16 }; /* kinds of pods of one job */
/* NULL when there is none of the name. */
const struct orr_scenario_template *orr_replay__template(const struct orr_scenario *scenario,
                                                         const char *name);
/* Fills in what a row leaves to its template. */
void orr_replay__apply_template(struct orr_workload *workload, struct orr_row *row,
                                const struct orr_scenario_template *template);
struct orr_replay_groups { /* of one job, on the way to its shape */
    struct orr_task_group items[ORR_SETS_MAX];
    const struct orr_scenario_role *roles[ORR_SETS_MAX]; /* of each; NULL: none */
    uint32_t count;
    struct orr_task_set sets[ORR_SETS_MAX];
    uint32_t set_count; /* 0: any min_tasks are a gang */
    uint32_t min_tasks; /* 0: all */
};
/* The task groups and sets of a template with roles; not more than there is room for. */
void orr_replay__roles(const struct orr_scenario_template *template,
                       struct orr_replay_groups *groups);

/* Does the policy of a shard resize pods whose templates say how few GPUs they may run with? */
bool orr_replay__resizes(const struct orr_scenario *scenario, uint32_t shard);
/* Has each pod of whole GPUs run with any number of them from `least` on, on its node; 0: with all.
 * Pods stay as they are where a job has roles, an elastic number of pods, slices, or more pods than
 * a shape has sets. `span` is that of the whole job, node_level the topology's level of nodes. */
void orr_replay__resize(struct orr_replay_groups *groups, uint32_t least, uint32_t node_level,
                        struct orr_span span);
/* With all its workers, of a template that has a backlog. */
orr_ms orr_replay__crew_run_ms(const struct orr_scenario_template *template);
/* The number of its crew in the world's terms, added if new. */
uint32_t orr_replay__crew(struct orr_world *world, const struct orr_scenario_template *template);
/* One row as a job; false when the row was rejected (and counted). */
bool orr_replay__job(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                     uint32_t row, struct orr_job_spec *spec);
/* What interruptions cost the job of a row: the row, else the scenario's word for its kind, else
 * for all, else what the policy of its shard is made for. `extra` may be NULL. Returns the index in
 * the world's table. */
uint32_t orr_replay__terms(struct orr_world *world, const struct orr_scenario *scenario,
                           uint32_t shard, enum orr_kind kind, const struct orr_row_extra *extra,
                           uint32_t crew);
/* The same of a service, a part of the workload. */
uint32_t orr_replay__service_terms(struct orr_world *world, const struct orr_scenario *scenario,
                                   enum orr_kind kind, uint32_t part);
/* Loads the profiles that terms name. */
enum orr_status orr_replay__load_profiles(struct orr_world *world,
                                          const struct orr_scenario *scenario,
                                          struct orr_err *err) ORR_MUST_USE;
/* Index of a profile of the scenario, or ORR_NONE. */
uint32_t orr_replay__find_profile(const struct orr_scenario *scenario, const char *name);
/* The index of equal terms, added if new. */
uint32_t orr_replay__put_terms(struct orr_terms_table *table, const struct orr_terms *terms);
/* When a row's job comes, arrivals scaled. */
orr_ms orr_replay__scaled_submit(const struct orr_world_part *part, orr_ms submit);
/* Which copy of its row a job is, from 0. */
orr_ms orr_replay__copy(const struct orr_world_part *part, const struct orr_job_spec *spec);
/* Rejects rows that wait for what never ends. */
void orr_replay__drop_endless(struct orr_world *world);
/* replay_estimate.c: run times that schedulers are given, while specs have their rows' times. */
void orr_replay__estimates(const struct orr_scenario *scenario, struct orr_world *world);
/* Fills in holds and edges, once the jobs are sorted. */
void orr_replay__holds(struct orr_world *world);
/* Cuts and refuses jobs as the rules of their queues say; before the holds are filled in. */
void orr_replay__rules(const struct orr_scenario *scenario, struct orr_world *world);
/* Entitlements in the core's units. */
void orr_replay__entitle(const struct orr_scenario_amounts *amounts,
                         struct orr_entitlement *resources);
/* Fills in the outages and changes of queues, once the first submit is known. */
void orr_replay__events(const struct orr_scenario *scenario, struct orr_world *world);
void orr_replay__refuse(struct orr_world *world, uint32_t job);
/* Checks what a row says of where it runs as the run begins: NULL, or why that cannot be. Nothing
 * is kept. */
const char *orr_replay__running_fault(const struct orr_scenario *scenario, struct orr_world *world,
                                      const struct orr_job_spec *spec,
                                      const struct orr_row_extra *extra);
/* Since when the job of a row runs as the run begins; ORR_MS_NONE: it does not. */
orr_ms orr_replay__runs_since(const struct orr_world *world, uint32_t job);
/* Fills in begin, running jobs and their seats, once the jobs are sorted. */
void orr_replay__state(const struct orr_scenario *scenario, struct orr_world *world);
#endif
