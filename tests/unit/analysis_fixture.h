/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analysis_fixture.h - invented results files for the tests of analysis. */
#ifndef ANALYSIS_FIXTURE_H
#define ANALYSIS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct fixture {
    uint32_t queues, nodes, jobs;
    int64_t days;      /* from the first submit to the last */
    int64_t origin_ms; /* < 0: a clock of its own */
    int strange_names; /* quotes, backslashes, commands ... as names of queues */
};

/* The name of queue `at` (0 first). */
void fixture_queue_name(const struct fixture *fixture, uint32_t at, char *out, size_t room);

/* A database with the tables and views of a results file and nothing in it. */
sqlite3 *fixture_open(const char *path);
void fixture_exec(sqlite3 *db, const char *sql);

/* Writes a whole results file: a first-come run with gangs, evictions and unfinished jobs. */
void fixture_write(const char *path, const struct fixture *fixture);

#endif
