/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_int.h - what the files of this room share: places, nodes, schema rows, steps of a load.
 *
 *   bytes -> source -> parse -> shape -> (extends: merge) -> complete -> variant, sets -> fill
 *                      raw      checked,                     defaults   by path         structs
 *                      nodes    short form                   added
 *
 * Everything lives in the arena of the scenario; nothing is freed one by one. After shape, a tree
 * has only known keys and typed scalars in canonical text; named lists are maps by name.
 */
#ifndef ORR_SIM_SCENARIO_INT_H
#define ORR_SIM_SCENARIO_INT_H

#include <orrery/sim/scenario.h>

struct orr_scenario__source {
    const char *name;   /* file as the user wrote it, or "--set" and the like */
    const char *folder; /* of the file, "" for the current one */
    const char *text;   /* checked UTF-8, NUL-terminated */
    size_t bytes;
    const char *shown;      /* what errors repeat instead of the text; NULL: the text */
    uint64_t device, inode; /* which file it is, to refuse cycles; 0, 0: no file */
    bool argument;          /* one line from the command line: no line numbers in errors */
};

struct orr_scenario__at {
    const struct orr_scenario__source *source; /* NULL: made by the program */
    uint32_t line, column;                     /* from 1; columns count characters */
};

enum orr_scenario__kind { ORR_NODE_SCALAR, ORR_NODE_MAP, ORR_NODE_LIST };

struct orr_scenario__node {
    enum orr_scenario__kind kind;
    const char *key;  /* name in the parent map; NULL in lists */
    const char *text; /* of a scalar; NULL: null */
    const char *note; /* origin that is not a place: "default", "--set a=b"; NULL: the place */
    struct orr_scenario__at at, key_at;
    struct orr_scenario__node **children;
    uint32_t child_count, child_capacity;
    uint32_t *slots; /* hash of keys to child index + 1, once there are many */
    uint32_t slot_count;
    bool quoted;  /* scalar in quotes or block style: text, never a number */
    bool implied; /* filled in, so that a later fill may replace it */
    bool whole;   /* replaces what it is merged over instead of joining it */
};

enum orr_scenario__type {
    ORR_TYPE_GROUP,   /* map of known keys */
    ORR_TYPE_NAMES,   /* map of names to groups; written as a list where `listed` says so */
    ORR_TYPE_OPEN,    /* map of any names to scalars */
    ORR_TYPE_OPENS,   /* map of names to such maps */
    ORR_TYPE_WORDS,   /* list of scalars */
    ORR_TYPE_ANY,     /* not looked into */
    ORR_TYPE_EXTENDS, /* read before everything else */
    ORR_TYPE_REFUSED, /* a key that somebody may look for here: `refusal` says what to do */
    ORR_TYPE_TEXT,    /* scalars from here on */
    ORR_TYPE_CHOICE,
    ORR_TYPE_COUNT,
    ORR_TYPE_INTEGER,
    ORR_TYPE_PODS,
    ORR_TYPE_CPU,
    ORR_TYPE_MEMORY,
    ORR_TYPE_DEVICE_MEMORY,
    ORR_TYPE_BANDWIDTH,
    ORR_TYPE_POWER,
    ORR_TYPE_PRICE,
    ORR_TYPE_DURATION,
    ORR_TYPE_MOMENT, /* of the run; a date until orr_scenario__date_events */
    ORR_TYPE_WARMUP,
    ORR_TYPE_TIMESTAMP,
    ORR_TYPE_FACTOR,
    ORR_TYPE_WEIGHT,
    ORR_TYPE_SHARE,
    ORR_TYPE_BOOL,
    ORR_TYPE_SEEDS,
    ORR_TYPE_RANGE, /* of counts from 0 on */
    ORR_TYPE_SPLIT,
    ORR_TYPE_GPU_AMOUNT,
    ORR_TYPE_POD_AMOUNT,
    ORR_TYPE_CPU_AMOUNT,
    ORR_TYPE_MEMORY_AMOUNT,
    ORR_TYPE_KAI_AMOUNT,
    ORR_TYPE_NUMBER
};

struct orr_scenario__file { /* that was read */
    const char *path;
    struct orr_scenario__file *before;
};

struct orr_scenario__note { /* what a file states and no run looks at */
    struct orr_scenario__note *next;
    const char *text;
    struct orr_scenario__at at;
};

struct orr_scenario__load {
    const struct orr_scenario_options *options;
    struct orr_arena *arena;
    struct orr_err *err;
    const char *folder;               /* of the scenario: where names of other files start */
    struct orr_scenario__file *files; /* the last one read; NULL: none */
    uint32_t file_count;
    uint32_t nodes; /* made so far: aliases and defaults multiply what a file says */
    bool sealed;    /* a text without a file: nothing else is read */
    /* KAI objects that stood among the queues of the file in hand; NULL: none */
    struct orr_scenario__node *topology_objects, *shard_object, *configuration_object;
    struct orr_scenario__node *flavor_objects; /* of Kueue's ResourceFlavors, as in `flavors` */
    struct orr_scenario__node *local_objects;  /* Kueue's LocalQueues that state a weight; a list */
    /* Kueue's ClusterQueues whose jobs go by usage (admissionScope), and the others */
    uint32_t usage_queues, other_queues;
    const char *gpu_resource;             /* as Kueue's objects name GPUs; NULL: none does */
    struct orr_scenario__holder *holders; /* scenario_kueue_quota.c: of the queues being read */
    struct orr_scenario__holder *settled; /* of all that were read */
    struct orr_scenario__note *notes;     /* as they were met; none twice */
};

typedef enum orr_status orr_scenario__prepare_fn(struct orr_scenario__load *load,
                                                 struct orr_scenario__node *node);

struct orr_scenario__row {
    const char *key;
    enum orr_scenario__type type;
    const char *fallback; /* canonical text of the default; NULL: none */
    const char *refusal;  /* of ORR_TYPE_REFUSED */
    const struct orr_scenario__row *rows;
    uint32_t row_count;
    size_t offset, offset2;            /* of the field or fields in the struct filled */
    int64_t min, max;                  /* of a count or integer */
    const char *const *choices;        /* NULL ends */
    const char *one;                   /* of names: what one of them is called */
    orr_scenario__prepare_fn *prepare; /* turns other ways of writing into the plain one */
    bool required, listed;
    bool paths;    /* of an open map: {a: {b: 1}} is {a.b: 1}, [a, b] is "a, b" */
    bool fixed;    /* not to be changed by a path */
    bool optional; /* a group or list that is not there when nobody wrote it */
    bool file;     /* text that names a file, from the folder of the file that says it */
    bool no_field; /* checked and shown, but nobody asks */
    bool of_pods;  /* what the pods of a role are: null in a role that has roles of its own */
};

struct orr_scenario__value {
    bool null, unlimited;
    int64_t whole, second; /* base units: ms, bytes, milli, ...; the end of a range; of a moment
                              second says that it is a date, and whole is since 1970 */
    double real;
};

struct orr_scenario_tree {
    struct orr_scenario__node *root;
};

enum { ORR_SCENARIO__DEPTH = 64, ORR_SCENARIO__NODES = 2000000 };
enum { ORR_SCENARIO__BYTES = 16 * 1024 * 1024 };
#define ORR_SCENARIO__LONGEST_MS INT64_C(3153600000000) /* 100 years: integrals over it fit */

/* scenario_source.c: texts, places, errors */
enum orr_status orr_scenario__read(struct orr_scenario__load *load, const char *path,
                                   const struct orr_scenario__at *named_at,
                                   const struct orr_scenario__source **out);
enum orr_status orr_scenario__take_text(struct orr_scenario__load *load,
                                        struct orr_scenario__source *source);
/* An argument of the command line as a text that errors can point into. */
enum orr_status orr_scenario__argument(struct orr_scenario__load *load, const char *option,
                                       const char *text, struct orr_scenario__at *out);
char *orr_scenario__format(struct orr_arena *arena, const char *format, ...) ORR_PRINTF(2, 3);
const char *orr_scenario__folder(struct orr_arena *arena, const char *path);
const char *orr_scenario__join(struct orr_arena *arena, const char *folder, const char *path);
/* scenario_shipped.c: a file of that name among the scenarios and traces that are installed with
 * the program, or in the sources that it was built from; NULL: there is none. */
const char *orr_scenario__shipped(struct orr_arena *arena, const char *name);
/* A file as named from a folder. One that is not there is looked for by its path below "../" among
 * those: a scenario that ships with the program may be copied to anywhere. */
const char *orr_scenario__data(struct orr_arena *arena, const char *folder, const char *name);
enum orr_status orr_scenario__fail(const struct orr_scenario__load *load,
                                   const struct orr_scenario__at *at, const char *format, ...)
    ORR_PRINTF(3, 4);
enum orr_status orr_scenario__fail_as(const struct orr_scenario__load *load, enum orr_status status,
                                      const struct orr_scenario__at *at, const char *format, ...)
    ORR_PRINTF(4, 5);
/* The place `bytes` further on in the text that starts at `at` and stands on one line. */
struct orr_scenario__at orr_scenario__at_byte(struct orr_scenario__at at, const char *text,
                                              size_t bytes);
const char *orr_scenario__origin(struct orr_arena *arena, const struct orr_scenario__node *node);

/* scenario_node.c: trees */
struct orr_scenario__node *orr_scenario__node(struct orr_scenario__load *load,
                                              enum orr_scenario__kind kind,
                                              struct orr_scenario__at at);
struct orr_scenario__node *orr_scenario__scalar(struct orr_scenario__load *load, const char *text,
                                                const char *note, struct orr_scenario__at at);
/* The key must be new in a map (NULL in a list). */
void orr_scenario__add(struct orr_scenario__load *load, struct orr_scenario__node *parent,
                       const char *key, struct orr_scenario__at key_at,
                       struct orr_scenario__node *child);
/* The child of a name or NULL. */
struct orr_scenario__node *orr_scenario__find(const struct orr_scenario__node *map,
                                              const char *key);
/* NULL also where `map` is none, or its child is null. */
const struct orr_scenario__node *orr_scenario__below(const struct orr_scenario__node *map,
                                                     const char *key);
struct orr_scenario__node *orr_scenario__copy(struct orr_scenario__load *load,
                                              const struct orr_scenario__node *node);
/* Makes `node` hold what `from` holds, under its own key. */
void orr_scenario__replace(struct orr_scenario__node *node, const struct orr_scenario__node *from);
/* Lays `over` on top of `base`: maps by key, everything else replaced. */
void orr_scenario__merge(struct orr_scenario__load *load, struct orr_scenario__node *base,
                         const struct orr_scenario__node *over);
/* Turns null into an empty map or list. */
void orr_scenario__become(struct orr_scenario__node *node, enum orr_scenario__kind kind);
bool orr_scenario__is_null(const struct orr_scenario__node *node);

/* scenario_yaml.c: a list with one child for each document of the source */
enum orr_status orr_scenario__parse(struct orr_scenario__load *load,
                                    const struct orr_scenario__source *source,
                                    struct orr_scenario__node **out);

/* scenario_value.c: typed scalars. `why` holds ORR_SCENARIO__WHY bytes. */
enum { ORR_SCENARIO__WHY = 240 };
bool orr_scenario__value_parse(const struct orr_scenario__row *row, const char *text,
                               struct orr_scenario__value *value, char *why);
const char *orr_scenario__value_text(struct orr_arena *arena, const struct orr_scenario__row *row,
                                     const struct orr_scenario__value *value);
/* value op operand, checked against the row; op is one of + - *. */
bool orr_scenario__value_change(const struct orr_scenario__row *row,
                                struct orr_scenario__value *value, char op, const char *operand,
                                char *why);
void orr_scenario__value_store(const struct orr_scenario__row *row, const char *text,
                               const struct orr_scenario__value *value, void *base);
bool orr_scenario__is_scalar(enum orr_scenario__type type);
bool orr_scenario__is_number(enum orr_scenario__type type);
const char *orr_scenario__real_text(struct orr_arena *arena, double real);

/* scenario_schema.c, scenario_schema_work.c: the rows */
enum {
    ORR_SCENARIO__PART_ROWS = 16,
    ORR_SCENARIO__TEMPLATE_ROWS = 30,
    ORR_SCENARIO__PROFILE_ROWS = 12
};
extern const struct orr_scenario__row orr_scenario__part_rows[];
extern const struct orr_scenario__row orr_scenario__template_rows[];
extern const struct orr_scenario__row orr_scenario__profile_rows[];
const struct orr_scenario__row *orr_scenario__role_row(void);
/* A file of profiles. */
const struct orr_scenario__row *orr_scenario__profile_file_row(void);
const struct orr_scenario__row *orr_scenario__root_row(void);
const struct orr_scenario__row *orr_scenario__node_type_row(void);
const struct orr_scenario__row *orr_scenario__kai_queue_row(void);
const struct orr_scenario__row *orr_scenario__row_find(const struct orr_scenario__row *group,
                                                       const char *key);
/* The row of a path of keys below the root, "" for names: "cluster.pools", "queues", ... */
const struct orr_scenario__row *orr_scenario__row_at(const char *first, const char *second);

/* scenario_shape.c: checks keys and types and brings values into short form */
enum orr_status orr_scenario__shape(struct orr_scenario__load *load,
                                    const struct orr_scenario__row *row,
                                    struct orr_scenario__node *node);
/* Checks the text of one scalar and makes it canonical. */
enum orr_status orr_scenario__shape_scalar(struct orr_scenario__load *load,
                                           const struct orr_scenario__row *row,
                                           struct orr_scenario__node *node);
enum orr_status orr_scenario__no_such(const struct orr_scenario__load *load,
                                      const struct orr_scenario__at *at, const char *what,
                                      const char *word, const char *const *known, size_t count);
/* The text is no MIG profile; `such` is what would be one. */
enum orr_status orr_scenario__no_mig(const struct orr_scenario__load *load,
                                     const struct orr_scenario__at *at, const char *key,
                                     const char *text, const char *such);
enum orr_status orr_scenario__wrong_kind(const struct orr_scenario__load *load,
                                         const struct orr_scenario__node *node, const char *wanted);
const char *orr_scenario__key(const struct orr_scenario__node *node);
orr_scenario__prepare_fn orr_scenario__prepare_amounts, orr_scenario__prepare_policy,
    orr_scenario__prepare_workload, orr_scenario__prepare_duration, orr_scenario__prepare_rate,
    orr_scenario__prepare_latency, orr_scenario__prepare_lend, orr_scenario__prepare_word;

/* scenario_topology.c: Topology objects of KAI and Kueue, kept until the root leaves room */
orr_scenario__prepare_fn orr_scenario__prepare_topology;
enum orr_status orr_scenario__keep_topology(struct orr_scenario__load *load,
                                            struct orr_scenario__node *object);
enum orr_status orr_scenario__place_topologies(struct orr_scenario__load *load,
                                               struct orr_scenario__node *root);
/* scenario_check.c: widest first, the last one the node */
enum orr_status orr_scenario__check_levels(const struct orr_scenario__load *load,
                                           const struct orr_scenario__node *levels);

/* scenario_kai.c: KAI's SchedulingShard, and objects beside queues */
enum orr_status orr_scenario__check_object_keys(struct orr_scenario__load *load,
                                                const struct orr_scenario__node *object);
bool orr_scenario__is_kind(const struct orr_scenario__node *object, const char *kind);
bool orr_scenario__is_kai_object(const struct orr_scenario__node *object);
enum orr_status orr_scenario__convert_shard(struct orr_scenario__load *load,
                                            const struct orr_scenario__node *object,
                                            struct orr_scenario__node **out);
/* Keeps one that was met among queues, and puts what was kept where the root leaves room. */
enum orr_status orr_scenario__keep_object(struct orr_scenario__load *load,
                                          struct orr_scenario__node *object);
enum orr_status orr_scenario__place_objects(struct orr_scenario__load *load,
                                            struct orr_scenario__node *root);

/* scenario_flavors.c: what queues have of flavors. `sum` makes their amounts the sums, with the
 * note below, wherever no other was written. */
extern const char orr_scenario__sum_note[];
enum orr_status orr_scenario__sum_flavors(struct orr_scenario__load *load,
                                          struct orr_scenario__node *root);
void orr_scenario__fill_flavors(struct orr_arena *arena, struct orr_scenario *scenario,
                                const struct orr_scenario__node *root);
void orr_scenario__fill_flavored(struct orr_arena *arena, const struct orr_scenario *scenario,
                                 const struct orr_scenario__node *node,
                                 struct orr_scenario_queue *queue);
enum orr_status orr_scenario__check_flavors(const struct orr_scenario__load *load,
                                            const struct orr_scenario *scenario,
                                            const struct orr_scenario__node *root);
/* Labels of a map, taints of a list of words. */
struct orr_scenario_label *orr_scenario__labels(struct orr_arena *arena,
                                                const struct orr_scenario__node *map,
                                                uint32_t *count);
struct orr_scenario_taint *orr_scenario__taints(struct orr_arena *arena,
                                                const struct orr_scenario__node *words,
                                                uint32_t *count);

/* scenario_kueue.c: Kueue's objects */
bool orr_scenario__is_kueue_object(const struct orr_scenario__node *object);
/* An object that is neither KAI's nor Kueue's: true, with a note. */
bool orr_scenario__pass_other(struct orr_scenario__load *load,
                              const struct orr_scenario__node *object);
enum orr_status orr_scenario__convert_kueue(struct orr_scenario__load *load,
                                            struct orr_scenario__node *object,
                                            struct orr_scenario__node *out);
/* Weights of LocalQueues become words of their queues. */
enum orr_status orr_scenario__settle_local_queues(struct orr_scenario__load *load,
                                                  struct orr_scenario__node *queues);
/* Once all are read: their amounts are written, and cohorts become queues above them. */
enum orr_status orr_scenario__settle_cohorts(struct orr_scenario__load *load,
                                             struct orr_scenario__node *queues);
/* Quotas of cohorts follow what queues below them have now, and limits the quotas, wherever no
 * other was written. */
enum orr_status orr_scenario__follow_quotas(struct orr_scenario__load *load,
                                            const struct orr_scenario__node *root) ORR_MUST_USE;
/* Applies something to the tree, and adds to `set` what values that follow others have become. */
typedef enum orr_status orr_scenario__apply_fn(void *context);
enum orr_status orr_scenario__state_followers(struct orr_scenario__load *load,
                                              const struct orr_scenario__node *root,
                                              orr_scenario__apply_fn *apply, void *context,
                                              struct orr_scenario__node *set) ORR_MUST_USE;
/* scenario_events.c: dates of events become times of the run, when all that may change the start
 * has. */
enum orr_status orr_scenario__date_events(const struct orr_scenario__load *load,
                                          const struct orr_scenario__node *root) ORR_MUST_USE;
/* scenario_sets.c: for each event that sets something, so that the resolved text says it too. */
enum orr_status orr_scenario__state_events(struct orr_scenario__load *load,
                                           struct orr_scenario__node *root) ORR_MUST_USE;
/* scenario_kueue_config.c */
enum orr_status orr_scenario__convert_configuration(struct orr_scenario__load *load,
                                                    const struct orr_scenario__node *object,
                                                    struct orr_scenario__node **out);
/* Takes the Configuration that a ConfigMap has as text; *taken false: it has none. */
enum orr_status orr_scenario__take_config_map(struct orr_scenario__load *load,
                                              const struct orr_scenario__node *object, bool *taken);
/* Of the flavors that are kept, where gate TopologyAwareScheduling is off. */
void orr_scenario__drop_topologies(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *object);
/* scenario_kueue_fields.c: a text of the arena. */
void orr_scenario__note(struct orr_scenario__load *load, struct orr_scenario__at at,
                        const char *text);

/* scenario_queues.c */
orr_scenario__prepare_fn orr_scenario__prepare_queues;

/* scenario_events.c: a list becomes a map by numbers from 1 on; names of nodes and racks */
orr_scenario__prepare_fn orr_scenario__prepare_events;
enum orr_status orr_scenario__fill_events(struct orr_scenario__load *load,
                                          struct orr_scenario *scenario,
                                          const struct orr_scenario__node *events);

/* scenario_sets.c: what they set while a run goes on */
enum orr_status orr_scenario__fill_sets(const struct orr_scenario__load *load,
                                        struct orr_scenario *scenario,
                                        const struct orr_scenario__node *root);

/* scenario_profiles.c */
orr_scenario__prepare_fn orr_scenario__prepare_profiles;
enum orr_status orr_scenario__fill_profiles(struct orr_scenario__load *load,
                                            struct orr_scenario *scenario,
                                            const struct orr_scenario__node *profiles);

/* scenario_extend.c: one file and those it extends */
enum orr_status orr_scenario__load_file(struct orr_scenario__load *load,
                                        const struct orr_scenario__source *source,
                                        struct orr_scenario__node **out);
enum orr_status orr_scenario__single(struct orr_scenario__load *load,
                                     const struct orr_scenario__source *source,
                                     struct orr_scenario__node **out);

/* scenario_complete.c: defaults and node types */
enum orr_status orr_scenario__complete(struct orr_scenario__load *load,
                                       struct orr_scenario__node *root);
/* Defaults of one group of rows, and of those below it. */
enum orr_status orr_scenario__complete_group(struct orr_scenario__load *load,
                                             const struct orr_scenario__row *group,
                                             struct orr_scenario__node *node);
/* The one document of a file, checked by the rows of `group` and with their defaults. */
enum orr_status orr_scenario__document(struct orr_scenario__load *load, const char *path,
                                       const struct orr_scenario__row *group,
                                       struct orr_scenario__node **out);
/* Once more for what follows from other values, after these were set. */
enum orr_status orr_scenario__complete_cluster(struct orr_scenario__load *load,
                                               struct orr_scenario__node *root);

/* scenario_set.c: changes by path */
struct orr_scenario__change {
    const char *path;
    struct orr_scenario__at path_at;
    const char *value; /* may begin with = += -= *= when `op` is 0 */
    struct orr_scenario__at value_at;
    char op; /* '=', '+', '-', '*'; 0: it is at the start of the value */
    const char *note;
};
enum orr_status orr_scenario__change(struct orr_scenario__load *load,
                                     struct orr_scenario__node *root,
                                     const struct orr_scenario__change *change);
enum orr_status orr_scenario__change_all(struct orr_scenario__load *load,
                                         struct orr_scenario__node *root);
/* Parameters belong to the policy they were written for: where another one is named they go, and it
 * starts from its own defaults. */
void orr_scenario__forget_params(const struct orr_scenario__node *root, const char *policy);

/* scenario_command.c: the tree of a run without a file */
enum orr_status orr_scenario__from_command(struct orr_scenario__load *load,
                                           struct orr_scenario__node **out);

/* scenario_fill.c, scenario_fill_work.c, scenario_check.c, scenario_expect.c */
/* The scalars of a group, by its rows, into the struct at `base`. */
void orr_scenario__fill_group(const struct orr_scenario__row *group,
                              const struct orr_scenario__node *node, void *base);
enum orr_status orr_scenario__fill_parts(struct orr_scenario__load *load,
                                         struct orr_scenario *scenario,
                                         const struct orr_scenario__node *parts);
enum orr_status orr_scenario__fill_templates(struct orr_scenario__load *load,
                                             struct orr_scenario *scenario,
                                             const struct orr_scenario__node *templates);
enum orr_status orr_scenario__fill(struct orr_scenario__load *load, struct orr_scenario *scenario,
                                   const struct orr_scenario__node *root);
/* A taint in Kubernetes' words; false if it is none. Its texts are of the arena. */
bool orr_scenario__taint(struct orr_arena *arena, const char *text,
                         struct orr_scenario_taint *taint);
/* scenario_names.c: of nodes, racks and blocks */
enum orr_status orr_scenario__check_names(const struct orr_scenario__load *load,
                                          const struct orr_scenario *scenario,
                                          const struct orr_scenario__node *pools) ORR_MUST_USE;
enum orr_status orr_scenario__check(const struct orr_scenario__load *load,
                                    const struct orr_scenario *scenario,
                                    const struct orr_scenario__node *root);
/* Autoscaled pools without a price beside others that have one. */
void orr_scenario__note_prices(struct orr_scenario__load *load, const struct orr_scenario *scenario,
                               const struct orr_scenario__node *root);
enum orr_status orr_scenario__expect(const struct orr_scenario__load *load,
                                     const struct orr_scenario__node *node,
                                     struct orr_scenario_expect *expect);

/* scenario_emit.c */
char *orr_scenario__emit(struct orr_arena *arena, const struct orr_scenario__node *root);

#endif
