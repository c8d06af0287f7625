/* SPDX-License-Identifier: GPL-3.0-or-later */
/* workload.h - what a trace says: one row a job, in the file's own words.
 *
 * A workload is a dense array of small rows plus tables of the names they use; what few rows state
 * (templates, constraints, checkpoints) lies in a second array that such rows point to. Rows know
 * nothing of clusters: sim/replay is the one place that turns a row into a job of the core.
 *
 * Rows are sorted by (submit_ms, file order). Lifetimes: everything belongs to the workload.
 */
#ifndef ORR_TRACES_WORKLOAD_H
#define ORR_TRACES_WORKLOAD_H

#include <orrery/base/idmap.h>
#include <orrery/base/mem.h>
#include <orrery/base/status.h>

/* kind, priority class of the KAI scheduler it maps to (architecture decision 9) */
enum orr_kind { ORR_KIND_UNKNOWN, ORR_KIND_TRAINING, ORR_KIND_INTERACTIVE, ORR_KIND_INFERENCE };
#define ORR_KIND_COUNT 4
const char *orr_kind_name(enum orr_kind kind);
bool orr_kind_parse(const char *text, size_t bytes, enum orr_kind *out);

/* What only some rows state. Text fields are arena strings, NULL when not given; numbers are -1 and
 * times ORR_MS_NONE when not given. */
struct orr_row_extra {
    const char *template_name, *group, *priority, *gpu_model, *node_selector, *tolerations;
    const char *topology_required, *topology_preferred, *after, *profile, *mig_profile;
    const char *running_on; /* where it runs since running_since_ms: pods on nodes and devices */
    const char *sbatch;     /* options it was submitted with */
    const char *recorded_attempts; /* seconds after recorded_start_ms + seconds of each */
    const char *recorded_state;
    int64_t gpu_fraction_milli; /* milli-GPU of each of gpu_devices devices */
    int64_t gpu_devices;        /* with gpu_fraction or gpu_memory_mib; 1 when not given */
    int64_t gpu_memory_mib;     /* MiB of each of gpu_devices devices */
    int64_t cpu_milli, mem_mib; /* per pod */
    int64_t min_pods;
    int64_t busy_ppm;
    int preemptible; /* 0, 1, or -1 */
    int run_known;   /* the same: its run time is certain */
    orr_ms deadline_ms, eligible_ms, checkpoint_ms, restart_ms;
    orr_ms give_up_ms;          /* that it waits for its first start */
    orr_ms preemption_delay_ms; /* after its submit and each eviction: takes from nobody */
    orr_ms staleness_grace_ms;  /* below its minimum; below 0: for ever */
    orr_ms think_ms;            /* from the end of the jobs of `after` until it is considered */
    /* what only its template states: there is no column */
    orr_ms deadline_after_ms; /* its submit */
    const char *slice_level;
    uint32_t slice_size;
    uint32_t min_gpus; /* that a pod may run with, of its template; 0: all it asks */
    orr_ms checkpoint_cost_ms;
    orr_ms running_since_ms;
    orr_ms recorded_start_ms, recorded_end_ms;
};

struct orr_row {
    orr_ms submit_ms;
    orr_ms run_ms;         /* ORR_MS_NONE: a template with a service or profile work says it */
    orr_ms time_limit_ms;  /* the estimate; ORR_MS_NONE when not given */
    uint32_t job;          /* index in workload names.jobs */
    uint32_t queue;        /* index in queues, or ORR_NONE */
    uint32_t user;         /* index in users, or ORR_NONE */
    uint32_t line;         /* of the file, where the row starts */
    uint32_t gpus;         /* whole devices of the whole job, to be split; 0 when pods are stated */
    uint32_t pods;         /* 0 when only `gpus` is known, or left to the template */
    uint32_t gpus_per_pod; /* ORR_NONE: left to the template; 0 beside a fraction, memory or MIG */
    uint32_t extra;        /* index + 1 in extras, or 0 */
    uint8_t kind;          /* enum orr_kind */
};

/* When a job ran by its record: from start to end, or, where the record tells attempts apart, each
 * of these. */
struct orr_recorded {
    orr_ms start_ms, end_ms; /* ORR_MS_NONE: not recorded */
    const char *attempts;    /* that are left, BEGIN+SECONDS by blanks, counted from the start */
    size_t bytes;            /* of them; 0: it is one from start to end */
};
struct orr_recorded orr_recorded_of(const struct orr_row_extra *extra);
/* The next time that it ran; false: there is none. The end may be ORR_MS_NONE. */
bool orr_recorded_next(struct orr_recorded *record, orr_ms *start_ms, orr_ms *end_ms);
/* Are they attempts, one after the other? */
bool orr_attempts_are_right(const char *attempts, size_t bytes);

enum { ORR_REJECT_GROUPS = 16 };
struct orr_reject_group { /* rows that are not taken for one reason */
    char reason[160];     /* the sentence without what differs: its job, what it quotes, numbers */
    char first[300];      /* the whole sentence of the first of them */
    uint32_t line;        /* of that row */
    uint64_t rows;
};
struct orr_rejects {
    uint64_t count; /* rows not taken */
    char *shown;    /* the first ten as "file:line: sentence\n"; "" when none */
    uint32_t shown_count;
    struct orr_reject_group *groups; /* in the order of their first rows */
    uint32_t group_count;
};

struct orr_workload {
    struct orr_row *rows;
    uint32_t count, capacity;
    struct orr_row_extra *extras;
    uint32_t extra_count, extra_capacity;
    struct orr_idmap jobs, queues, users;
    struct orr_arena arena; /* extra strings */
    uint64_t rows_read;     /* rows seen in the file, taken or not */
    struct orr_rejects rejects;
    char
        *notes; /* "file: sentence\n" lines: what was accepted but is worth knowing; "" when none */
    orr_ms clock_origin_ms; /* wall-clock formats: ms since 1970 of time 0; else ORR_MS_NONE */
    int64_t stated_gpus;    /* of the cluster, as the head of the file says; 0: it does not */
    const char *format;     /* as --format names it; NULL: nothing was read */
    char sha256[65];        /* of the file as it lies on disk */
    int64_t file_bytes;
};

/* Takes memory; every init needs a release. A second release does no harm. */
void orr_workload_init(struct orr_workload *workload);
void orr_workload_release(struct orr_workload *workload);

/* What the native format keeps of a name or another text; readers reject what is longer. */
#define ORR_NAME_MAX 1000
/* A character of a text as it is written: bytes that are no UTF-8 become U+FFFD and their two
 * hexadecimal digits, one by one, so that two names stay two. */
struct orr_name_part {
    size_t took;  /* of the text */
    size_t bytes; /* of what is written */
    char text[6];
};
struct orr_name_part orr_name_part(const char *text, size_t bytes);
/* Bytes that a text takes where it is written: one that is no UTF-8 takes five. */
size_t orr_name_written(const char *text, size_t bytes);

/* A new last row: nothing given, no names. Borrowed until the next push. */
struct orr_row *orr_workload_push(struct orr_workload *workload);
/* Counts a rejected row and keeps its sentence if it is among the first. For readers, and for
 * replay, which rejects what only the cluster can tell (a job larger than the cluster). */
void orr_workload_reject(struct orr_workload *workload, const char *file, uint32_t line,
                         const char *format, ...) ORR_PRINTF(4, 5);
/* How many were rejected, the first with their places, and of more than those how many for which
 * reason; "" of none. The caller frees it. */
char *orr_rejects_text(const struct orr_workload *workload);
void orr_workload_note(struct orr_workload *workload, const char *file, const char *format, ...)
    ORR_PRINTF(3, 4);
/* The extra record of a row, made with everything "not given" on first use. */
struct orr_row_extra *orr_workload_extra(struct orr_workload *workload, struct orr_row *row);
/* Every instant that an extra record states, or that all rows state, is so much later. The clock's
 * origin stays as it is. */
void orr_row_extra_move(struct orr_row_extra *extra, orr_ms by_ms);
void orr_workload_move(struct orr_workload *workload, orr_ms by_ms);
/* Stable sort by submit time. Notes it if the rows were not in order. */
void orr_workload_sort(struct orr_workload *workload, const char *file);

#endif
