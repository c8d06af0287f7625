/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain.c - what the explanations share: finding a job, saying a time, saying a reason. */
#include "explain_int.h"

#include <string.h>

#include <orrery/base/text.h>

const char *orr_explain__clock(orr_ms at, char *out)
{
    char span[32];
    const orr_ms day = 86400000;
    if (at < 0 || at < day) {
        (void)orr_format_span(out, at);
        return out;
    }
    (void)orr_format_span(span, at % day);
    (void)snprintf(out, 40, "day %lld %.20s", (long long)(at / day), span);
    return out;
}

const char *orr_explain__span(orr_ms span, char *out)
{
    return orr_format_rough(out, (double)span / 1000.0);
}

sqlite3_stmt *orr_explain__query(struct orr_results *in, const char *sql, const int64_t *values,
                                 int count)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    for (int i = 0; row != NULL && i < count; i++) {
        (void)sqlite3_bind_int64(row, i + 1, values[i]);
    }
    return row;
}

static orr_ms time_of(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? ORR_MS_NONE
                                                           : sqlite3_column_int64(row, column);
}

static void no_such_job(struct orr_results *in, const char *name)
{
    const char *names[200];
    size_t count = 0;
    char like[300];
    (void)snprintf(like, sizeof like, "%.3s%%", name);
    sqlite3_stmt *row =
        orr_results_prepare(in, "SELECT name FROM job WHERE name LIKE ?1 ORDER BY id LIMIT 200");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, like, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        names[count++] = orr_results_text(in, row, 0);
    }
    if (in->status == ORR_OK) {
        const char *near = orr_nearest(name, names, count);
        in->status = orr_fail(in->err, ORR_DATA, "%s: no job is called \"%s\"%s%s%s", in->path,
                              name, near != NULL ? "; is \"" : "", near != NULL ? near : "",
                              near != NULL ? "\" meant?" : "");
    }
}

bool orr_explain__job(struct orr_results *in, const char *name, struct orr_explain_job *job)
{
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT j.id, j.queue, j.kind, j.name, q.name, k.name, j.user, j.mgpu / 1000.0, j.pods,"
            " j.min_pods, j.state, j.evictions, w.from_ms, j.start_ms, j.end_ms, r.end_ms"
            " FROM job AS j LEFT JOIN queue AS q ON q.id = j.queue LEFT JOIN kind AS k ON"
            " k.id = j.kind JOIN v_waits AS w ON w.job = j.id CROSS JOIN run AS r"
            " WHERE j.name = ?1");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        found = true;
        *job = (struct orr_explain_job){.id = sqlite3_column_int64(row, 0),
                                        .queue = sqlite3_column_int64(row, 1),
                                        .kind = sqlite3_column_int64(row, 2),
                                        .name = orr_results_text(in, row, 3),
                                        .queue_name = orr_results_text(in, row, 4),
                                        .kind_name = orr_results_text(in, row, 5),
                                        .user = orr_results_text(in, row, 6),
                                        .gpus = sqlite3_column_double(row, 7),
                                        .pods = sqlite3_column_int64(row, 8),
                                        .min_pods = sqlite3_column_int64(row, 9),
                                        .state = sqlite3_column_int64(row, 10),
                                        .evictions = sqlite3_column_int64(row, 11),
                                        .submit_ms = time_of(row, 12),
                                        .start_ms = time_of(row, 13),
                                        .end_ms = time_of(row, 14),
                                        .run_end_ms = time_of(row, 15)};
    }
    if (!found && in->status == ORR_OK) {
        no_such_job(in, name);
    }
    return found;
}

/* --- reasons --- */

const char orr_explain__reason_columns[] =
    " r.words, c.allowed_mgpu / 1000.0, c.held_mgpu / 1000.0, q.name, c.free_mgpu / 1000.0,"
    " c.hole_mgpu / 1000.0, c.level, c.domain_mgpu / 1000.0, a.name,"
    " iif(oc.code = 'gate-failed', '', oc.words), iif(orc.code = 'gate-failed', '', orc.words),"
    " iif(op.code = 'gate-failed', '', op.words)"
    " FROM reason_change AS c LEFT JOIN reason AS r ON r.id = c.reason"
    " LEFT JOIN queue AS q ON q.id = c.queue LEFT JOIN job AS a ON a.id = c.ahead"
    " LEFT JOIN outcome AS oc ON oc.id = c.consolidation AND oc.code <> 'not-tried'"
    " LEFT JOIN outcome AS orc ON orc.id = c.reclaim AND orc.code <> 'not-tried'"
    " LEFT JOIN outcome AS op ON op.id = c.preempt AND op.code <> 'not-tried' ";

static bool given(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) != SQLITE_NULL;
}

void orr_explain__reason(struct orr_results *in, sqlite3_stmt *row, int first, FILE *out)
{
    enum {
        WORDS,
        ALLOWED,
        HELD,
        QUEUE,
        FREE,
        HOLE,
        LEVEL,
        DOMAIN,
        AHEAD,
        CONSOLIDATION,
        RECLAIM,
        PREEMPT
    };
    static const char *const actions[] = {"consolidation", "reclaim", "preempt"};
    static const char *const gates[] = {"fewer GPUs are free in total than it asks",
                                        "its queue's fair share does not cover it",
                                        "its queue's quota does not cover it"};
    (void)fputs(orr_results_text(in, row, first + WORDS), out);
    if (given(row, first + ALLOWED)) {
        (void)fprintf(out, "; %s may hold %g GPUs",
                      given(row, first + QUEUE) ? orr_results_text(in, row, first + QUEUE)
                                                : "its queue",
                      sqlite3_column_double(row, first + ALLOWED));
        if (given(row, first + HELD)) {
            (void)fprintf(out, " and holds %g", sqlite3_column_double(row, first + HELD));
        }
    }
    if (given(row, first + FREE)) {
        (void)fprintf(out, "; free on nodes it may use: %g GPUs",
                      sqlite3_column_double(row, first + FREE));
    }
    if (given(row, first + HOLE)) {
        (void)fprintf(out, ", at most %g whole on one node",
                      sqlite3_column_double(row, first + HOLE));
    }
    if (given(row, first + LEVEL) && given(row, first + DOMAIN)) {
        (void)fprintf(out, ", at most %g in one %s", sqlite3_column_double(row, first + DOMAIN),
                      orr_results_text(in, row, first + LEVEL));
    }
    if (given(row, first + AHEAD)) {
        (void)fprintf(out, "; behind job %s", orr_results_text(in, row, first + AHEAD));
    }
    for (int i = 0; i < 3; i++) {
        if (given(row, first + CONSOLIDATION + i)) {
            const char *words = orr_results_text(in, row, first + CONSOLIDATION + i);
            (void)fprintf(out, "; %s: %s", actions[i], words[0] != '\0' ? words : gates[i]);
        }
    }
}

/* --- queues at a time --- */

void orr_explain__siblings(struct orr_results *in, int64_t queue, orr_ms at, FILE *out)
{
    const int64_t values[] = {queue, at};
    sqlite3_stmt *row = orr_explain__query(
        in,
        "WITH RECURSIVE below(id, top) AS ("
        " SELECT id, id FROM queue WHERE parent IS (SELECT parent FROM queue WHERE id = ?1)"
        " UNION ALL SELECT q.id, b.top FROM queue AS q JOIN below AS b ON q.parent = b.id),"
        " held(top, mgpu, jobs) AS ("
        " SELECT b.top, sum(p.mgpu), count(DISTINCT p.job) FROM v_placements AS p"
        " JOIN job AS j ON j.id = p.job JOIN below AS b ON b.id = j.queue"
        " WHERE p.start_ms <= ?2 AND coalesce(p.end_ms, 9e18) > ?2 GROUP BY b.top),"
        " share(top, mgpu, own) AS ("
        " SELECT b.top, sum(s.share_mgpu), sum(s.policy_share_mgpu) FROM series AS s"
        " JOIN below AS b ON b.id = s.queue"
        " WHERE s.at_ms = (SELECT max(at_ms) FROM series WHERE at_ms <= ?2) GROUP BY b.top)"
        " SELECT q.name, o.gpu_quota, coalesce(h.mgpu, 0) / 1000.0, coalesce(h.jobs, 0),"
        " s.mgpu / 1000.0, q.id = ?1, o.gpu_limit, o.gpu_weight FROM queue AS q JOIN v_owed AS o"
        " ON o.queue = q.id AND o.from_ms <= ?2 AND coalesce(o.to_ms, 9e18) > ?2"
        " LEFT JOIN held AS h ON h.top = q.id LEFT JOIN share AS s ON s.top = q.id"
        " WHERE q.parent IS (SELECT parent FROM queue WHERE id = ?1)"
        " ORDER BY coalesce(h.mgpu, 0) DESC, q.id",
        values, 2);
    (void)fprintf(out, "  %-24s %8s %8s %8s %10s %8s %6s  %s\n", "queue", "quota", "weight",
                  "limit", "entitled", "holds", "jobs", "");
    while (orr_results_step(in, row)) {
        const double quota = sqlite3_column_double(row, 1), held = sqlite3_column_double(row, 2);
        const double limit = sqlite3_column_double(row, 6);
        char bound[24] = "none", right[24] = "-";
        if (limit >= 0) {
            (void)snprintf(bound, sizeof bound, "%g", limit);
        }
        if (given(row, 4)) {
            (void)snprintf(right, sizeof right, "%.1f", sqlite3_column_double(row, 4));
        }
        (void)fprintf(out, "%s %-24.24s %8g %8g %8s %10s %8g %6lld  %s\n",
                      sqlite3_column_int(row, 5) != 0 ? " >" : "  ", orr_results_text(in, row, 0),
                      quota, sqlite3_column_double(row, 7), bound, right, held,
                      (long long)sqlite3_column_int64(row, 3),
                      quota >= 0 && held > quota ? "over its quota" : "");
    }
}
