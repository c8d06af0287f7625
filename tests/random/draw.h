/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw.h - one random scenario over all features, written as text.
 *
 * The files of a folder: s.yaml, its traces and tables, and `options`, what `orrery run` is given
 * beside it. Every section draws from a stream of its own, so that leaving a feature out
 * (--without) changes nothing else. What later sections have to know stands in struct draw.
 */
#ifndef ORR_TESTS_RANDOM_DRAW_H
#define ORR_TESTS_RANDOM_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <orrery/base/rng.h>

enum { POOLS = 5, SHARDS = 3, QUEUES = 16, TEMPLATES = 8, PROFILES = 5, PARTS = 5, INSTANTS = 12 };
enum { NAME_BYTES = 48 };

struct draw_pool {
    char name[NAME_BYTES];
    uint32_t nodes, nodes_most; /* at the start; with all that events and autoscaling may add */
    uint32_t gpus, rack_size, block_size, shard;
    uint32_t memory_gib; /* of a device; 0: not stated */
    const char *model;   /* NULL: not stated */
    bool autoscaled, cpu, tainted, labelled, zoned;
    bool foreign, numa;
    uint32_t name_count; /* of its first nodes, which have names of their own */
};

struct draw_queue {
    char name[NAME_BYTES];
    uint32_t parent; /* index; UINT32_MAX: none */
    uint32_t shard;
    bool leaf, plain; /* plain: the name can stand in a path */
    bool flavored;    /* its amounts are of flavors */
};

struct draw_template {
    char name[NAME_BYTES];
    bool roles, crew, run; /* has roles; follows a backlog; states its run time */
};

struct draw {
    uint64_t seed;
    struct orr_rng rng;  /* of the section at hand */
    uint32_t breadth;    /* percent: scales how likely features are */
    const char *without; /* names of features left out, joined by commas; NULL: none */
    const char *folder;
    FILE *out;  /* s.yaml */
    bool first; /* nothing stands in the map that is being written */

    uint32_t span_s;             /* in which jobs come; what other times go by */
    uint32_t begin_s;            /* 0: as the first job comes */
    uint32_t horizon_s;          /* 0: none */
    uint32_t instants[INSTANTS]; /* seconds at which much happens at once */
    uint32_t shard_count;
    const char *policy[SHARDS]; /* [0] is the scenario's as well */
    bool statics;               /* some policy is static: quotas are numbers */
    bool suspends;              /* under slurm jobs suspend others: for CPUs, which are scarce */
    struct draw_pool pools[POOLS];
    uint32_t pool_count, gpus, gpus_most; /* gpus: of all nodes; most of one node */
    bool racks, blocks, zones;            /* levels there are */
    bool mig;                             /* some pool has instances */
    const char *topology;                 /* its name, as written */
    struct draw_queue queues[QUEUES];
    uint32_t queue_count;
    char flavors[POOLS][NAME_BYTES]; /* one a pool */
    bool flavored;                   /* some queue is */
    bool configured;                 /* an object of Kueue says what the policy is */
    struct draw_template templates[TEMPLATES];
    uint32_t template_count;
    char profiles[PROFILES][NAME_BYTES];
    uint32_t profile_count;
    char parts[PARTS][NAME_BYTES];
    uint32_t part_count;
};

/* ---- draws: each in a statement of its own, since the order of arguments is the compiler's ----
 */

void stream(struct draw *d, const char *name);
uint32_t below(struct draw *d, uint32_t bound);
/* From 0 to below `bound`, in steps of a tenth. */
double tenths(struct draw *d, uint32_t bound);
uint32_t between(struct draw *d, uint32_t least, uint32_t most);
bool one_in(struct draw *d, uint32_t n);
/* Is the feature there? By a draw of its own: percent, scaled by the scenario's breadth. */
bool has(const struct draw *d, const char *feature, uint32_t percent);
/* The same, for one thing of several: `each` of 100 have it. */
bool has_each(const struct draw *d, const char *feature, uint32_t n, uint32_t each);
/* One of a list that ends with NULL. */
const char *any(struct draw *d, const char *const *list);
/* Seconds, mostly whole and often an instant that others share. */
double instant_s(struct draw *d);
/* A length from 0 to about `most` seconds: often 0, 1, or round. */
double length_s(struct draw *d, double most);
/* MIG instances that a pod asks, as rows and templates write them. */
const char *mig_profile(struct draw *d);
/* A name, now and then an odd one; `n` makes it unique. True if it can stand in a path. */
bool make_name(struct draw *d, char *name, const char *stem, uint32_t n);

/* ---- text ---- */

/* "text" as YAML, quoted. Returned from a ring of buffers: of use for the next few calls. */
const char *quoted(const char *text);
/* Seconds as 12s or 1500ms, from the same ring. */
const char *span(double seconds);
const char *ringed(const char *format, ...) __attribute__((format(printf, 1, 2)));
void open_map(struct draw *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put(struct draw *d, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void open_inner(struct draw *d, const char *key);
void close_map(struct draw *d); /* of an inner one */
void end_map(struct draw *d);   /* of the outermost: ends the line */
FILE *open_file(const struct draw *d, const char *name);
void close_file(FILE *file);
/* A file behind gzip if its name ends so; close_trace ends it. */
FILE *open_trace(const struct draw *d, const char *name);
void close_trace(FILE *file, const char *name);
void make_folder(const struct draw *d, const char *name);

/* ---- draw_course.c: how long generated jobs run, when they and requests come ---- */

void put_duration(struct draw *d);
/* Who waits for the end of a job, and thinks, before the next. */
void put_session(struct draw *d);
void put_arrivals(struct draw *d, uint32_t until_s, bool users);
void put_rate(struct draw *d, const char *file);

/* ---- draw_cluster.c ---- */

/* Node n, from 1, of a pool as scenarios and traces call it; from the ring. */
const char *node_name(const struct draw *d, const struct draw_pool *pool, uint32_t n);

/* ---- sections, in this order ---- */

void draw_extends(struct draw *d); /* draw_run.c: which file has what follows */
void draw_frame(struct draw *d);   /* draw_run.c: times, shards and policies; writes times */
void draw_cluster(struct draw *d); /* draw_cluster.c */
void draw_queues(struct draw *d);  /* draw_queues.c */
/* draw_kueue.c: is the tree of queues one of Kueue's objects? Writes them. */
bool kueue_objects(const struct draw *d);
void draw_kueue_objects(struct draw *d);
void draw_profiles(struct draw *d); /* draw_work.c */
void draw_templates(struct draw *d);
void draw_workload(struct draw *d);
void draw_trace(struct draw *d, const char *file, uint32_t jobs); /* draw_trace.c */
void draw_swf(struct draw *d, const char *file, uint32_t jobs);
/* draw_state.c: jobs that run or wait as the run begins, and how much they come to. */
bool draw_state(struct draw *d, const char *file);
void draw_policy(struct draw *d);    /* draw_policy.c */
void draw_execution(struct draw *d); /* draw_run.c */
void draw_events(struct draw *d);
void draw_variants(struct draw *d); /* and options */

#endif
