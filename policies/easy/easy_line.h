/* SPDX-License-Identifier: GPL-3.0-or-later */
/* easy_line.h - jobs that wait, in order, of which the first that ends in time is found without
 * looking at all of them.
 *
 * A line is a treap by key. A node is a job's, and knows the shortest estimate below it and whether
 * a job below it has an open reason. The nodes of all lines of a policy stand in one array by job:
 * a job waits in one line at most. */
#ifndef ORR_POLICIES_EASY_LINE_H
#define ORR_POLICIES_EASY_LINE_H

#include <orrery/base/units.h>

struct easy_node {
    int64_t key; /* the lower, the earlier; no two are equal */
    orr_ms estimate_ms, least_ms;
    uint32_t left, right;  /* jobs, or ORR_NONE */
    uint32_t line;         /* in which it waits, counted from 1; 0: in none */
    bool open, below_open; /* another reason may still come; the same of any below */
};

struct easy_nodes {
    struct easy_node *of; /* by job */
    uint32_t capacity;
};

/* Lines begin as ORR_NONE. `nodes->of[job]` has key, estimate_ms and open. */
void orr_easy__put(struct easy_nodes *nodes, uint32_t *line, uint32_t job);
void orr_easy__take(struct easy_nodes *nodes, uint32_t *line, uint32_t job);
/* The first of a line; ORR_NONE: nobody waits there. */
uint32_t orr_easy__first(const struct easy_nodes *nodes, uint32_t line);
/* The first with a key above `after` and an estimate of no more than `longest_ms`, or ORR_NONE. */
uint32_t orr_easy__next(const struct easy_nodes *nodes, uint32_t line, int64_t after,
                        orr_ms longest_ms);
/* The first with a key above `after` that has an open reason, or ORR_NONE. */
uint32_t orr_easy__next_open(const struct easy_nodes *nodes, uint32_t line, int64_t after);
/* The reason of a job of the line is open, or is not any more. */
void orr_easy__set_open(struct easy_nodes *nodes, uint32_t line, uint32_t job, bool open);

#endif
