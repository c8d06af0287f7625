/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store.h - one results file a run: SQLite, written under a temporary name, synced, renamed.
 *
 * A results file either is whole or is not there: every failure, a full disk included, removes the
 * temporary file and reports its cause. Schema: sim/store/schema.sql; PRAGMA user_version is
 * ORR_STORE_VERSION.
 */
#ifndef ORR_SIM_STORE_H
#define ORR_SIM_STORE_H

#include <signal.h>

#include <orrery/sim/summary.h>

#define ORR_STORE_VERSION 26

struct orr_store_meta { /* of table run_meta: not part of the result */
    const char *key, *value;
};

struct orr_store_input {
    const struct orr_scenario *scenario;
    const struct orr_world *world;
    const struct orr_run *run;
    const struct orr_summary *summary;
    const struct orr_engine_shard *shards; /* one for each of the scenario's */
    uint64_t seed;
    const char *orrery_version;
    const char *views_sql; /* executed at the end; owned by analysis, handed in by the caller */
    const struct orr_store_meta *meta;
    size_t meta_count;
    const volatile sig_atomic_t *interrupted; /* stop writing once it is not 0; or NULL */
    bool totals_only; /* run, queues, metrics and expectations, which is what merged files hold */
};

struct orr_store;

/* Makes the temporary file beside `path`, so that a folder that cannot be written is found before a
 * long run. ORR_CANT_CREATE, also when `path` exists and force is false. */
enum orr_status orr_store_open(const char *path, bool force, struct orr_store **store,
                               struct orr_err *err) ORR_MUST_USE;
/* The temporary file's path, for a signal handler that ends the process at once. */
const char *orr_store_temporary(const struct orr_store *store);
/* Writes everything into the temporary file. ORR_IO, or ORR_INTERRUPTED, which closes the store. */
enum orr_status orr_store_write(struct orr_store *store, const struct orr_store_input *input,
                                struct orr_err *err) ORR_MUST_USE;
/* Syncs what was written and puts the file in its place. Closes the store in any case. ORR_IO, or
 * ORR_CANT_CREATE. */
enum orr_status orr_store_keep(struct orr_store *store, struct orr_err *err) ORR_MUST_USE;
/* Gives up: the temporary file goes. NULL is allowed. */
void orr_store_abandon(struct orr_store *store);
const char *orr_store_sqlite_version(void);

#endif
