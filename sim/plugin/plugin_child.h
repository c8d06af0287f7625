/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_child.h - a policy that is a child process: what reads, writes and answers share. */
#ifndef ORR_SIM_PLUGIN_CHILD_H
#define ORR_SIM_PLUGIN_CHILD_H

#include <sqlite3.h>
#include <string.h>

#include <orrery/analysis/json.h>

#include "plugin_int.h"
#include "plugin_pipe.h"

#define ORR_CHILD_PROTOCOL 1

enum orr_child_query {
    ORR_CHILD_IS_OBJECT,
    ORR_CHILD_HELLO,
    ORR_CHILD_MEMBERS,
    ORR_CHILD_WORDS,
    ORR_CHILD_MESSAGE,
    ORR_CHILD_SEATS,
    ORR_CHILD_SHARES,
    ORR_CHILD_JOBS,
    ORR_CHILD_QUERIES
};

struct orr_child_event {
    uint32_t job;
    uint8_t event; /* enum orr_job_event */
};

enum { ORR_CHILD_BARS_LIMIT = 1u << 0, ORR_CHILD_BARS_QUOTA = 1u << 1 };

struct orr_plugin__child {
    struct orr_policy policy;
    struct orr_param *rows;
    char *name;        /* exec:COMMAND */
    char own_name[64]; /* as it calls itself */
    struct orr_pipe pipe;
    sqlite3 *db; /* no file: it takes JSON apart */
    sqlite3_stmt *queries[ORR_CHILD_QUERIES];
    uint32_t heeds, bars; /* ORR_HEEDS_*, ORR_CHILD_BARS_* */
    double *shares;       /* per queue: mgpu; below 0: none */
    bool shares_changed;
    const struct orr_host *host;
    struct orr_child_event *events;
    uint32_t event_count, event_capacity;
    bool *queue_changed; /* per queue: its entitlement is another than the child knows */
    int32_t *idle_sent;  /* per node: GPUs */
    int16_t *mig_sent;   /* per node and MIG profile: instances; NULL: there are no profiles */
    struct orr_seat *seats;
    uint32_t seat_count, seat_capacity;
    orr_ms wake_ms;
    struct orr_err err; /* why it cannot go on */
};

struct orr_child_turn {
    struct orr_plugin__child *child;
    const struct orr_view *view;
    struct orr_txn *txn;
    char *line;
    bool done;
};

/* What a message may have: its members, and which types of JSON each may be of. */
struct orr_child_member {
    const char *name, *types, *what;
};
#define ORR_CHILD_MEMBERS_MAX 16 /* of one message */

/* plugin_child_read.c: takes apart what the child writes; a row lives until the next is asked for.
 */
sqlite3_stmt *orr_child__ask(struct orr_plugin__child *child, enum orr_child_query query,
                             const char *line);

static inline bool orr_child__is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static inline bool orr_child__is_integer(sqlite3_stmt *row, int type_column)
{
    const unsigned char *type = sqlite3_column_text(row, type_column);
    return type != NULL && strcmp((const char *)type, "integer") == 0;
}

/* Why the run ends; what the child wrote comes first. */
enum orr_status orr_child__refuse(struct orr_plugin__child *child, const char *line,
                                  const char *why);
enum orr_status orr_child__read(struct orr_plugin__child *child, char **line);
/* Is the word one of a list, in which blanks part them? */
bool orr_child__is_among(const char *word, const char *list);
/* Has it members that such a message does not have, of another type, or twice? */
enum orr_status orr_child__look_at(struct orr_plugin__child *child, const char *line,
                                   const char *message, const struct orr_child_member *members);
/* Its first words. */
enum orr_status orr_child__take_hello(struct orr_plugin__child *child, char *line);

/* plugin_child_send.c: what the child is sent. */
struct orr_json orr_child__begin(struct orr_plugin__child *child, const char *type);
void orr_child__send_world(struct orr_plugin__child *child, const struct orr_view *view);
void orr_child__send_cycle(struct orr_plugin__child *child, const struct orr_view *view);
void orr_child__send_progress(const struct orr_plugin__child *child, struct orr_json *json,
                              const struct orr_view *view, uint32_t job);
void orr_child__answer(struct orr_plugin__child *child, enum orr_reason reason);

/* plugin_child_turn.c: takes one request of the child and answers it. */
enum orr_status orr_child__take_turn(struct orr_child_turn *t);

/* plugin_child.c */
bool orr_child__shares(void *state, const struct orr_view *view, double *mgpu);

#endif
