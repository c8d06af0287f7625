/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analysis_fixture.c - invented results files: a small first-come scheduler with backfilling past
 * jobs that do not fit, on nodes of 8 GPUs. Some attempts are cut short, some jobs never end. */
#include "analysis_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/analysis/views.h>

extern const char fixture_schema[];

#define GPUS_PER_NODE 8
#define LOOK_AHEAD    60
#define MOST_NODES    64

struct made {
    int64_t submit, start, end, work; /* end < 0: none */
    int64_t cut_start, cut_end;       /* of a first attempt, < 0: none */
    uint32_t queue, gpus, node_count, cut_count;
    uint32_t nodes[MOST_NODES], cut_nodes[MOST_NODES];
    uint8_t masks[MOST_NODES], cut_masks[MOST_NODES];
    int state, kind, cut;
};

struct making {
    const struct fixture *fixture;
    struct made *jobs;
    uint8_t *busy;     /* masks of nodes */
    uint32_t *waiting; /* jobs, first come first */
    uint32_t *running; /* jobs */
    uint32_t wait_count, run_count;
    uint64_t seed;
    int64_t end;
    sqlite3 *db;
};

static double draw(struct making *making)
{
    making->seed = making->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(making->seed >> 11) / 9007199254740992.0;
}

void fixture_exec(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        (void)fprintf(stderr, "fixture: %s in: %s\n", message, sql);
        abort();
    }
}

sqlite3 *fixture_open(const char *path)
{
    sqlite3 *db = NULL;
    (void)remove(path);
    if (sqlite3_open(path, &db) != SQLITE_OK) {
        (void)fprintf(stderr, "fixture: %s: %s\n", path, sqlite3_errmsg(db));
        abort();
    }
    fixture_exec(db, "PRAGMA journal_mode = off; PRAGMA synchronous = off");
    fixture_exec(db, fixture_schema);
    fixture_exec(db, orr_views_sql);
    char version[60];
    (void)snprintf(version, sizeof version, "PRAGMA user_version = %d", ORR_RESULTS_VERSION);
    fixture_exec(db, version);
    return db;
}

void fixture_queue_name(const struct fixture *fixture, uint32_t at, char *out, size_t room)
{
    static const char *const strange[] = {
        "vision_lab",     "o'neil \"nlp\"",
        "back\\slash\\n", "gr\xc3\xb6\xc3\237e-\xe6\x9f\x90",
        "`echo hi`",      "@macro $HOME",
        "{/=40 big}^2",   "%s%d 100%",
        "<b>&amp;</b>",   "a-very-long-name-of-a-queue-that-does-not-end"};
    static const char *const plain[] = {"vision", "language", "speech", "robotics",
                                        "ads",    "search",   "maps",   "interns"};
    if (fixture->strange_names && at < sizeof strange / sizeof strange[0]) {
        (void)snprintf(out, room, "%s", strange[at]);
    } else if (at < sizeof plain / sizeof plain[0]) {
        (void)snprintf(out, room, "%s", plain[at]);
    } else {
        (void)snprintf(out, room, "team-%03u", at);
    }
}

/* Work of jobs is long-tailed; the load is set so that the cluster is nearly full by day. */
static void make_jobs(struct making *making)
{
    static const uint32_t sizes[] = {1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32};
    const struct fixture *fixture = making->fixture;
    double weights = 0, load = 0;
    for (uint32_t q = 0; q < fixture->queues; q++) {
        weights += 1.0 / (1.0 + q);
    }
    for (uint32_t i = 0; i < fixture->jobs; i++) {
        struct made *job = &making->jobs[i];
        double u = (double)i / fixture->jobs;
        job->submit = (int64_t)((u + 0.02 * draw(making) * u) * (double)fixture->days * 86400000);
        double pick = draw(making) * weights;
        for (job->queue = 0; job->queue + 1 < fixture->queues; job->queue++) {
            pick -= 1.0 / (1.0 + job->queue);
            if (pick < 0) {
                break;
            }
        }
        job->gpus = sizes[(uint32_t)(draw(making) * 14)];
        while (job->gpus > fixture->nodes * GPUS_PER_NODE / 2) {
            job->gpus /= 2;
        }
        double r = draw(making);
        job->work =
            30000 + (int64_t)(3600000.0 * (0.05 + 6 * r * r * r * r * r * (1 + 9 * draw(making))));
        job->kind = draw(making) < 0.3 ? 1 : 2;
        job->cut = draw(making) < 0.02;
        job->start = job->end = job->cut_start = job->cut_end = -1;
        job->state = 1;
        load += (double)job->gpus * (double)job->work;
    }
    double room = (double)fixture->nodes * GPUS_PER_NODE * (double)fixture->days * 86400000;
    for (uint32_t i = 0; i < fixture->jobs; i++) {
        double day = making->jobs[i].submit % (4 * 86400000) < 2 * 86400000 ? 1.35 : 0.75;
        making->jobs[i].work = 1000 + (int64_t)((double)making->jobs[i].work * day * room / load);
    }
}

static int by_submit(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    return (x->submit > y->submit) - (x->submit < y->submit);
}

static uint32_t bits(uint8_t mask)
{
    uint32_t count = 0;
    for (; mask != 0; mask &= (uint8_t)(mask - 1)) {
        count++;
    }
    return count;
}

/* Lowest free devices of a node. */
static uint8_t take(uint8_t busy, uint32_t gpus)
{
    uint8_t mask = 0;
    for (uint32_t d = 0; d < GPUS_PER_NODE && gpus > 0; d++) {
        if ((busy >> d & 1) == 0) {
            mask |= (uint8_t)(1u << d);
            gpus--;
        }
    }
    return mask;
}

static int try_start(struct making *making, struct made *job, int64_t now)
{
    uint32_t left = job->gpus, found = 0, each = left < GPUS_PER_NODE ? left : GPUS_PER_NODE;
    uint32_t chosen[MOST_NODES];
    for (uint32_t n = 0; n < making->fixture->nodes && left > 0; n++) {
        if (GPUS_PER_NODE - bits(making->busy[n]) >= each) {
            chosen[found++] = n;
            left -= each < left ? each : left;
        }
    }
    if (left > 0) {
        return 0;
    }
    job->node_count = found;
    for (uint32_t i = 0; i < found; i++) {
        job->nodes[i] = chosen[i];
        job->masks[i] = take(making->busy[chosen[i]], each);
        making->busy[chosen[i]] |= job->masks[i];
    }
    job->start = now;
    job->end = now + job->work;
    if (job->cut && job->cut_end < 0) {
        job->end = now + job->work / 2 + 1;
    }
    job->state = 2;
    return 1;
}

static void finish(struct making *making, struct made *job)
{
    for (uint32_t i = 0; i < job->node_count; i++) {
        making->busy[job->nodes[i]] &= (uint8_t)~job->masks[i];
    }
    if (job->cut && job->cut_end < 0) {
        job->cut_start = job->start;
        job->cut_end = job->end;
        job->cut_count = job->node_count;
        memcpy(job->cut_nodes, job->nodes, sizeof job->nodes);
        memcpy(job->cut_masks, job->masks, sizeof job->masks);
        job->state = 1;
        job->start = job->end = -1;
        making->waiting[making->wait_count++] = (uint32_t)(job - making->jobs);
        return;
    }
    job->state = 3;
}

static void start_some(struct making *making, int64_t now)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < making->wait_count; i++) {
        uint32_t at = making->waiting[i];
        if (i < LOOK_AHEAD && try_start(making, &making->jobs[at], now)) {
            making->running[making->run_count++] = at;
        } else {
            making->waiting[kept++] = at;
        }
    }
    making->wait_count = kept;
}

/* Until shortly after the last submit, so that some jobs never end and some never start. */
static void schedule(struct making *making)
{
    uint32_t next = 0;
    int64_t stop = making->jobs[making->fixture->jobs - 1].submit;
    stop += stop / 30;
    for (;;) {
        int64_t now = next < making->fixture->jobs ? making->jobs[next].submit : INT64_MAX;
        for (uint32_t i = 0; i < making->run_count; i++) {
            int64_t end = making->jobs[making->running[i]].end;
            now = end < now ? end : now;
        }
        if (now > stop) {
            break;
        }
        uint32_t kept = 0;
        for (uint32_t i = 0; i < making->run_count; i++) {
            struct made *job = &making->jobs[making->running[i]];
            if (job->end <= now) {
                finish(making, job);
            } else {
                making->running[kept++] = making->running[i];
            }
        }
        making->run_count = kept;
        while (next < making->fixture->jobs && making->jobs[next].submit <= now) {
            making->waiting[making->wait_count++] = next++;
        }
        start_some(making, now);
    }
    for (uint32_t i = 0; i < making->run_count; i++) {
        making->jobs[making->running[i]].end = -1;
    }
    making->end = stop;
}

static void bind_time(sqlite3_stmt *row, int at, int64_t ms)
{
    (void)(ms < 0 ? sqlite3_bind_null(row, at) : sqlite3_bind_int64(row, at, ms));
}

static void write_row(sqlite3_stmt *row)
{
    if (sqlite3_step(row) != SQLITE_DONE) {
        abort();
    }
    (void)sqlite3_reset(row);
    (void)sqlite3_clear_bindings(row);
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "fixture: %s in: %s\n", sqlite3_errmsg(db), sql);
        abort();
    }
    return row;
}

static void write_placement(sqlite3_stmt *row, const struct made *job, uint32_t id, int nr, int cut)
{
    uint32_t count = cut ? job->cut_count : job->node_count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t mask = cut ? job->cut_masks[i] : job->masks[i];
        (void)sqlite3_bind_int64(row, 1, id);
        (void)sqlite3_bind_int(row, 2, nr);
        (void)sqlite3_bind_int64(row, 3, cut ? job->cut_nodes[i] : job->nodes[i]);
        (void)sqlite3_bind_int64(row, 4, (int64_t)bits(mask) * 1000);
        (void)sqlite3_bind_int64(row, 5, mask);
        bind_time(row, 6, cut ? job->cut_start : job->start);
        bind_time(row, 7, cut ? job->cut_end : job->state == 3 ? job->end : -1);
        write_row(row);
    }
}

static void write_job(struct making *making, sqlite3_stmt *row, uint32_t at)
{
    const struct made *job = &making->jobs[at];
    char name[40], user[40];
    (void)snprintf(name, sizeof name, "job-%06u", at);
    (void)snprintf(user, sizeof user, "u%02u", (at * 7919u) % 40u);
    (void)sqlite3_bind_int64(row, 1, at);
    (void)sqlite3_bind_text(row, 2, name, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_int64(row, 3, job->queue + 1);
    (void)sqlite3_bind_text(row, 4, user, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_int(row, 5, job->kind);
    (void)sqlite3_bind_int64(row, 6, (job->gpus + 7) / 8);
    (void)sqlite3_bind_int64(row, 7, (int64_t)job->gpus * 1000);
    (void)sqlite3_bind_int64(row, 8, job->submit);
    bind_time(row, 9, job->cut_end >= 0 ? job->cut_start : job->start);
    bind_time(row, 10, job->state == 3 ? job->end : -1);
    (void)sqlite3_bind_int64(row, 11, job->work);
    (void)sqlite3_bind_int(row, 12, job->state);
    (void)sqlite3_bind_int(row, 13, job->cut_end >= 0);
    if (job->state >= 2 && job->node_count == 1) {
        (void)sqlite3_bind_int64(row, 14, job->nodes[0]);
        (void)sqlite3_bind_int64(row, 15, job->masks[0]);
    }
    (void)sqlite3_bind_int(row, 16, (job->cut_end >= 0) + (job->state >= 2));
    bind_time(row, 17, job->state >= 2 ? job->start : job->cut_start);
    write_row(row);
}

static void write_jobs(struct making *making)
{
    sqlite3_stmt *jobs =
        prepared(making->db, "INSERT INTO job VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?8,?9,"
                             "?10,?11,?11,?12,?13,?14,?15,?16,?17,?6,?7*100+?6,50)");
    sqlite3_stmt *placements =
        prepared(making->db, "INSERT INTO placement VALUES(?1,?2,?3,1,1,?4,?5,?6,?7,0)");
    sqlite3_stmt *attempts =
        prepared(making->db, "INSERT INTO attempt VALUES(?1,1,?2,?3,'reclaim')");
    sqlite3_stmt *reasons =
        prepared(making->db, "INSERT INTO reason_change(job,at_ms,reason) VALUES(?1,?2,?3)");
    sqlite3_stmt *evictions =
        prepared(making->db, "INSERT INTO eviction VALUES(?1,?2,?2,'reclaim',1,1,NULL,NULL,0)");
    sqlite3_stmt *times =
        prepared(making->db, "INSERT INTO job_time VALUES(?1,?2,0,?3,0,0,0,0,0,0,0,0,0,0,0)");
    for (uint32_t i = 0; i < making->fixture->jobs; i++) {
        const struct made *job = &making->jobs[i];
        write_job(making, jobs, i);
        if (job->cut_end >= 0) {
            (void)sqlite3_bind_int64(attempts, 1, i);
            (void)sqlite3_bind_int64(attempts, 2, job->cut_start);
            (void)sqlite3_bind_int64(attempts, 3, job->cut_end);
            write_row(attempts);
            write_placement(placements, job, i, 1, 1);
            const int64_t lost = (int64_t)job->gpus * 1000 * (job->cut_end - job->cut_start);
            const int64_t until = job->state == 2 ? making->end : job->end;
            (void)sqlite3_bind_int64(evictions, 1, i);
            (void)sqlite3_bind_int64(evictions, 2, job->cut_end);
            write_row(evictions);
            (void)sqlite3_bind_int64(times, 1, i);
            (void)sqlite3_bind_int64(
                times, 2, job->state >= 2 ? (int64_t)job->gpus * 1000 * (until - job->start) : 0);
            (void)sqlite3_bind_int64(times, 3, lost);
            write_row(times);
        }
        if (job->state >= 2 && job->node_count > 1) {
            write_placement(placements, job, i, job->cut_end >= 0 ? 2 : 1, 0);
        }
        if (job->start != job->submit) {
            (void)sqlite3_bind_int64(reasons, 1, i);
            (void)sqlite3_bind_int64(reasons, 2, job->submit);
            (void)sqlite3_bind_int64(reasons, 3, 1 + (job->gpus > 8));
            write_row(reasons);
        }
    }
    fixture_exec(making->db, "INSERT INTO ask SELECT DISTINCT shape,0,pods,mgpu/pods/1000,1000,"
                             "NULL,0,0,NULL,0,0,NULL,0,NULL,0 FROM job");
    (void)sqlite3_finalize(jobs);
    (void)sqlite3_finalize(placements);
    (void)sqlite3_finalize(attempts);
    (void)sqlite3_finalize(reasons);
    (void)sqlite3_finalize(evictions);
    (void)sqlite3_finalize(times);
}

/* Adds amount x time of an interval to the buckets it covers. */
static void spread(double *buckets, int64_t count, int64_t step, int64_t from, int64_t to,
                   double amount)
{
    for (int64_t b = from / step; b < count && b * step < to; b++) {
        int64_t first = b * step > from ? b * step : from;
        int64_t last = (b + 1) * step < to ? (b + 1) * step : to;
        buckets[b] += amount * (double)(last - first) / (double)step;
    }
}

/* Equal division of the capacity, no queue above what it holds and asks for. */
static void divide(double *share, const double *held, const double *asked, uint32_t queues,
                   int64_t buckets, int64_t at, double capacity)
{
    double left = capacity;
    for (int round = 0; round < 12 && left > 1; round++) {
        uint32_t open = 0;
        for (uint32_t q = 0; q < queues; q++) {
            int64_t i = (int64_t)q * buckets + at;
            open += share[i] + 1 < held[i] + asked[i];
        }
        double part = open > 0 ? left / open : 0;
        for (uint32_t q = 0; q < queues; q++) {
            int64_t i = (int64_t)q * buckets + at;
            double want = held[i] + asked[i] - share[i];
            double more = want > part ? part : want > 0 ? want : 0;
            share[i] += more;
            left -= more;
        }
    }
}

static void write_series(struct making *making, int64_t step)
{
    uint32_t queues = making->fixture->queues;
    int64_t count = (making->end + step - 1) / step;
    size_t cells = (size_t)queues * (size_t)count;
    double *all = calloc(cells * 4, sizeof *all);
    double *held = all, *asked = all + cells, *jobs = all + 2 * cells, *share = all + 3 * cells;
    if (all == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < making->fixture->jobs; i++) {
        const struct made *job = &making->jobs[i];
        size_t row = (size_t)job->queue * (size_t)count;
        int64_t first = job->cut_end >= 0 ? job->cut_start : job->start;
        double mgpu = job->gpus * 1000.0;
        int64_t until[2] = {first >= 0 ? first : making->end,
                            job->start >= 0 ? job->start : making->end};
        spread(held + row, count, step, job->cut_start, job->cut_end, mgpu);
        if (job->start >= 0) {
            spread(held + row, count, step, job->start, job->end >= 0 ? job->end : making->end,
                   mgpu);
        }
        spread(asked + row, count, step, job->submit, until[0], mgpu);
        spread(jobs + row, count, step, job->submit, until[0], 1);
        if (job->cut_end >= 0) {
            spread(asked + row, count, step, job->cut_end, until[1], mgpu);
            spread(jobs + row, count, step, job->cut_end, until[1], 1);
        }
    }
    sqlite3_stmt *row = prepared(making->db, "INSERT INTO series VALUES(?1,?2,?3,?4,?5,?6,?7)");
    for (int64_t b = 0; b < count; b++) {
        divide(share, held, asked, queues, count, b, making->fixture->nodes * 8000.0);
        for (uint32_t q = 0; q < queues; q++) {
            int64_t i = (int64_t)q * count + b;
            (void)sqlite3_bind_int64(row, 1, b * step);
            (void)sqlite3_bind_int64(row, 2, q + 1);
            (void)sqlite3_bind_double(row, 3, held[i]);
            (void)sqlite3_bind_double(row, 4, asked[i]);
            (void)sqlite3_bind_double(row, 5, jobs[i]);
            (void)sqlite3_bind_double(row, 6, share[i]);
            if (q % 2 == 0) {
                (void)sqlite3_bind_double(row, 7, share[i] * 0.9);
            }
            write_row(row);
        }
    }
    (void)sqlite3_finalize(row);
    char sql[500];
    (void)snprintf(
        sql, sizeof sql,
        "INSERT INTO room SELECT at_ms, max(0, %u - sum(allocated_mgpu)), 0.4 * max(0, %u -"
        " sum(allocated_mgpu)) FROM series GROUP BY at_ms; INSERT INTO startable SELECT"
        " at_ms, 'cluster', idle_mgpu / 2000, 0 FROM room UNION ALL SELECT at_ms, 'node',"
        " min(8, idle_mgpu / 1000), 0 FROM room",
        making->fixture->nodes * 8000, making->fixture->nodes * 8000);
    fixture_exec(making->db, sql);
    free(all);
}

static void write_rest(struct making *making, int64_t step)
{
    const struct fixture *fixture = making->fixture;
    char sql[1000];
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO run VALUES(1,'three_teams','horizon','kai','',1,'0123456789abcdef',"
                   "'','','0.1.0',%s,%lld,%lld,%lld,%lld,%u,%lld,'stated')",
                   fixture->origin_ms < 0 ? "NULL" : "1507000000000",
                   (long long)making->jobs[0].submit, (long long)making->jobs[0].submit,
                   (long long)making->jobs[fixture->jobs - 1].submit, (long long)making->end,
                   fixture->nodes * 8000, (long long)step);
    fixture_exec(making->db, sql);
    fixture_exec(making->db,
                 "INSERT INTO kind VALUES(0,'unknown'),(1,'interactive'),(2,'training');"
                 "INSERT INTO queue VALUES(0,'root','root',NULL,0,100,-1,-1,1);"
                 "INSERT INTO reason VALUES(1,'no_capacity','too few GPUs are free'),"
                 "(2,'fragmented','the free GPUs are on too many nodes')");
    sqlite3_stmt *row = prepared(
        making->db, "INSERT INTO node VALUES(?1,?2,'main',8,'a100',NULL,NULL,NULL,NULL,0)");
    for (uint32_t n = 0; n < fixture->nodes; n++) {
        char name[60];
        (void)snprintf(name, sizeof name, fixture->strange_names && n == 1 ? "n_%%d'%u" : "n%04u",
                       n + 1);
        (void)sqlite3_bind_int64(row, 1, n);
        (void)sqlite3_bind_text(row, 2, name, -1, SQLITE_TRANSIENT);
        write_row(row);
    }
    (void)sqlite3_finalize(row);
    row = prepared(making->db, "INSERT INTO queue VALUES(?1,?2,?2,0,1,100,?3,-1,1)");
    for (uint32_t q = 0; q < fixture->queues; q++) {
        char name[80];
        fixture_queue_name(fixture, q, name, sizeof name);
        (void)sqlite3_bind_int64(row, 1, q + 1);
        (void)sqlite3_bind_text(row, 2, name, -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_double(row, 3, q % 3 == 2 ? -1 : fixture->nodes * 4.0 / (1.0 + q));
        write_row(row);
    }
    (void)sqlite3_finalize(row);
}

void fixture_write(const char *path, const struct fixture *fixture)
{
    struct making making = {.fixture = fixture, .seed = 42, .db = fixture_open(path)};
    making.jobs = calloc(fixture->jobs, sizeof *making.jobs);
    making.busy = calloc(fixture->nodes, 1);
    making.waiting = calloc((size_t)fixture->jobs * 2, sizeof *making.waiting);
    making.running = calloc((size_t)fixture->jobs * 2, sizeof *making.running);
    if (making.jobs == NULL || making.busy == NULL || making.waiting == NULL ||
        making.running == NULL) {
        abort();
    }
    make_jobs(&making);
    qsort(making.jobs, fixture->jobs, sizeof *making.jobs, by_submit);
    schedule(&making);
    int64_t step = making.end / 2000 / 60000 * 60000;
    step = step > 60000 ? step : 60000;
    fixture_exec(making.db, "BEGIN");
    write_rest(&making, step);
    write_jobs(&making);
    write_series(&making, step);
    fixture_exec(making.db, "COMMIT");
    (void)sqlite3_close(making.db);
    free(making.jobs);
    free(making.busy);
    free(making.waiting);
    free(making.running);
}
