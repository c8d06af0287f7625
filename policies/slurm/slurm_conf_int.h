/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf_int.h - what the files that read slurm.conf do for each other. */
#ifndef ORR_SLURM_CONF_INT_H
#define ORR_SLURM_CONF_INT_H

#include <orrery/policies/slurm_lines.h>

#include "slurm_int.h"

struct slurm_span {
    const char *at;
    size_t bytes;
};

struct slurm_reader {
    struct slurm_conf *conf;
    const struct orr_view *view; /* NULL: only syntax is looked at */
    const char *origin;          /* for errors */
    struct orr_slurm_line line;  /* of slurm_conf or sacctmgr; number 0: a parameter */
    struct slurm_passed *passed; /* what is not heeded; NULL: nobody asks */
    struct orr_err *err;
};

struct slurm_passed {
    orr_policy_say_fn *say; /* of what decides in Slurm, or looks like a key that is heeded */
    void *context;
    char remarked[2000]; /* of what, each once, as many as there is room for */
    uint32_t count;
    char names[400]; /* the others, likewise */
};

/* slurm_conf.c: texts. */
enum orr_status orr_slurm__complain(const struct slurm_reader *reader, struct slurm_span value,
                                    const char *what);
/* Says of a part of a text that it is not heeded, and why; or once of each NAME or NAME=VALUE. */
void orr_slurm__say(const struct slurm_reader *reader, struct slurm_span part, const char *why);
void orr_slurm__remark(const struct slurm_reader *reader, struct slurm_span part, const char *why);
/* A key that nothing heeds, beside those of its kind of line that are: one that decides in Slurm, a
 * slip, or one that bears on nothing here. */
void orr_slurm__pass_over(const struct slurm_reader *reader, struct slurm_span name,
                          struct slurm_span value, const char *const *heeded, size_t count);
/* ":4:9", where a part of a line stands in its text; "" of what is in no line. */
enum { SLURM_PLACE_BYTES = 240 };
const char *orr_slurm__place(const struct slurm_reader *reader, const char *part,
                             char out[SLURM_PLACE_BYTES]);
bool orr_slurm__is(struct slurm_span text, const char *word);
/* The next item of a list joined by commas; false: there is none. */
bool orr_slurm__next_item(struct slurm_span *list, struct slurm_span *item);
struct slurm_span orr_slurm__value_in(struct slurm_span item);
bool orr_slurm__yes(struct slurm_span text, bool *out);
/* The next NAME=VALUE of a line, quotes taken off. */
bool orr_slurm__next_pair(struct slurm_span *line, struct slurm_span *name,
                          struct slurm_span *value);

/* slurm_text.c: "CPU=1.0,Mem=0.25G,GRES/gpu=2": by resource weights of a unit, 0 where none is
 * stated, or amounts, -1 where none is; memory in MiB. */
enum orr_status orr_slurm__tres(const struct slurm_reader *reader, struct slurm_span list,
                                bool weights, double *out);

/* slurm_assoc.c: the tables of sacctmgr. */
enum orr_status orr_slurm__sacctmgr_read(struct slurm_reader *reader, const char *text);

/* slurm_nodesets.c: lines NodeSet=, and features of lines NodeName= that they name nodes by. */
enum orr_status orr_slurm__read_node_set(const struct slurm_reader *reader, struct slurm_span name,
                                         struct slurm_span rest);
void orr_slurm__note_features(const struct slurm_reader *reader, struct slurm_span hosts,
                              struct slurm_span features);
/* Its nodes; NULL: there is no such set. */
const uint64_t *orr_slurm__node_set(const struct slurm_conf *conf, const char *name);

/* slurm_access.c: is it in a list joined by commas? */
bool orr_slurm__is_named(const char *names, const char *name);

/* slurm_access.c: says which names in lists of a partition sacctmgr does not have. */
void orr_slurm__look_at_access(const struct slurm_reader *reader,
                               const struct slurm_partition *partition);

/* slurm_decides.c: what is not heeded by a key that decides in Slurm, "" if its value says what is
 * done here; NULL of other keys. */
const char *orr_slurm__decides(struct slurm_span name, struct slurm_span value);

/* slurm_keys.c: a line's key, if the table has it; all at their defaults; those set as parameters.
 */
enum orr_status orr_slurm__read_key(const struct slurm_reader *reader, struct slurm_span name,
                                    struct slurm_span value);
/* "REQUEUE", "SUSPEND,GANG": NOT_STATED of none, or "cluster"; WITHIN beside it is asked for by
 * `within`. */
enum orr_status orr_slurm__preempt_mode(const struct slurm_reader *reader, struct slurm_span value,
                                        uint8_t *mode, bool *within);
enum orr_status orr_slurm__default_keys(struct slurm_reader *reader);
enum orr_status orr_slurm__param_keys(struct slurm_reader *reader,
                                      const struct slurm_params *params);

/* slurm_words.c */
enum orr_status orr_slurm__read_scheduler(const struct slurm_reader *reader,
                                          struct slurm_span list);

/* slurm_licenses.c: "matlab:4,ansys". */
enum orr_status orr_slurm__read_licenses(const struct slurm_reader *reader, struct slurm_span list);

/* slurm_nodes.c: lines PartitionName=, NodeName=, DownNodes=, SwitchName=. */
enum orr_status orr_slurm__read_partition(const struct slurm_reader *reader, struct slurm_span name,
                                          struct slurm_span rest);
enum orr_status orr_slurm__read_node(const struct slurm_reader *reader, struct slurm_span hosts,
                                     struct slurm_span rest);
enum orr_status orr_slurm__read_down_nodes(const struct slurm_reader *reader,
                                           struct slurm_span hosts, struct slurm_span rest);
enum orr_status orr_slurm__read_switch(const struct slurm_reader *reader, struct slurm_span name,
                                       struct slurm_span rest);
struct slurm_partition *orr_slurm__new_partition(struct slurm_conf *conf,
                                                 const struct orr_view *view,
                                                 struct slurm_span name);
void orr_slurm__all_nodes(struct slurm_partition *partition, const struct orr_view *view);

#endif
