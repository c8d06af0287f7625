/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views of a results file, against numbers worked out by hand, and the queries of the README. */
#include "test_main.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_fixture.h"

/* Five jobs on two nodes: one alone, a gang, a fraction that still runs, one that never started,
 * one that was evicted; a sixth is never submitted. */
static const char rows[] =
    "INSERT INTO run "
    "VALUES(1,'hand','horizon','fifo','',1,'0','','','0',NULL,0,0,100000,200000,16000,"
    "1000,'stated');"
    "INSERT INTO kind VALUES(0,'train');"
    "INSERT INTO queue VALUES(0,'root','root',NULL,0,100,-1,-1,1),(1,'a','a',0,1,100,8,-1,1),"
    "(2,'b_''x\"','b_''x\"',0,1,100,8,-1,1),(3,'idle','idle',0,1,100,8,-1,1);"
    "INSERT INTO node "
    "VALUES(0,'n0001','p',8,NULL,NULL,NULL,NULL,NULL,0),"
    "(1,'n0002','p',8,NULL,NULL,NULL,NULL,NULL,0),"
    "(2,'cpu','p',0,NULL,NULL,NULL,NULL,NULL,0);"
    "INSERT INTO reason VALUES(1,'no_capacity','full'),(2,'fragmented','in pieces');"
    "INSERT INTO job VALUES"
    "(1,'j1',1,'u',0,1,2000,0,0,0,10000,10000,10000,3,0,0,3,1,0,1,0,50),"
    "(2,'j2',2,NULL,0,2,16000,1000,1000,10000,30500,20500,20500,3,0,NULL,NULL,1,10000,2,1,50),"
    "(3,'j3',1,'u',0,1,500,2000,2000,30500,NULL,1,1,2,0,1,1,1,30500,1,2,50),"
    "(4,'j4',2,'v',0,1,8000,3000,3000,NULL,NULL,1,1,1,0,NULL,NULL,0,NULL,1,3,50),"
    "(5,'j5',1,'v',0,1,4000,40000,40000,40000,80000,20000,20000,3,1,1,240,2,60000,1,4,50),"
    "(6,'j6',1,'v',0,1,4000,500000,500000,NULL,NULL,1,1,0,0,NULL,NULL,0,NULL,1,4,50);"
    "INSERT INTO attempt VALUES(5,1,40000,50000,'preempt');"
    "INSERT INTO placement VALUES(2,1,0,2,1,8000,255,10000,30500,0)," /* on two nodes in a row */
    "(5,1,0,1,1,4000,15,40000,50000,0);"
    "INSERT INTO ask "
    "VALUES(0,0,1,2,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0),"
    "(1,0,2,8,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0),(2,0,1,1,500,NULL,0,0,NULL,0,0,NULL,0,NULL,0),"
    "(3,0,1,8,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0),"
    "(4,0,1,4,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0);"
    "INSERT INTO reason_change(job,at_ms,reason) "
    "VALUES(4,3000,1),(4,20000,2),(2,1000,1),(3,30500,1);";

static int open_db(void **state)
{
    sqlite3 *db = fixture_open(":memory:");
    fixture_exec(db, rows);
    *state = db;
    return 0;
}

static int close_db(void **state)
{
    return sqlite3_close(*state);
}

/* Columns by |, rows by newlines; NULL is empty. */
static void expect(void **state, const char *sql, const char *expected)
{
    sqlite3_stmt *row = NULL;
    char text[4000] = "";
    assert_int_equal(sqlite3_prepare_v2(*state, sql, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            const char *cell = (const char *)sqlite3_column_text(row, i);
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "|" : "",
                           cell != NULL ? cell : "");
        }
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "\n");
    }
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    assert_string_equal(text, expected);
}

static void jobs__are_words_and_seconds(void **state)
{
    expect(state, "SELECT * FROM v_jobs ORDER BY job",
           "j1|a|u|train|1|2.0|0.0|0.0|10.0|0.0|10.0|finished|0|n0001:2\n"
           "j2|b_'x\"||train|2|16.0|1.0|10.0|30.5|9.0|20.5|finished|0|n0001:8 n0002:8\n"
           "j3|a|u|train|1|0.5|2.0|30.5||28.5||running|0|n0002:0.5\n"
           "j4|b_'x\"|v|train|1|8.0|3.0|||||pending|0|\n"
           "j5|a|v|train|1|4.0|40.0|40.0|80.0|0.0|40.0|finished|1|n0002:4\n"
           "j6|a|v|train|1|4.0|500.0|||||not submitted|0|\n");
}

static void placements__join_both_places(void **state)
{
    expect(state, "SELECT * FROM v_placements ORDER BY job, nr, node",
           "1|1|0|1|2000|3|0|10000|0\n"
           "2|1|0|1|8000|255|10000|30500|0\n"
           "2|1|1|1|8000|255|10000|30500|0\n"
           "3|1|1|1|500|1|30500||0\n"
           "5|1|0|1|4000|15|40000|50000|0\n"
           "5|2|1|1|4000|240|60000|80000|0\n");
}

/* Seven pods: all kinds are needed for 95 % of them. */
static void typical__are_the_most_frequent(void **state)
{
    expect(state, "SELECT gpus, gpu_mgpu, pods, round(share * 7, 9) FROM v_typical",
           "8|1000|3|3.0\n4|1000|2|2.0\n2|1000|1|1.0\n1|500|1|1.0\n");
}

static void allocation__is_exact(void **state)
{
    expect(
        state, "SELECT * FROM v_allocation ORDER BY queue, at_ms",
        "0|a|2000\n10000|a|0\n30500|a|500\n40000|a|4500\n50000|a|500\n60000|a|4500\n80000|a|500\n"
        "10000|b_'x\"|16000\n30500|b_'x\"|0\n");
}

static void queue_depth__counts_what_waits(void **state)
{
    expect(state, "SELECT * FROM v_queue_depth ORDER BY queue, at_ms",
           "2000|a|1|500\n30500|a|0|0\n50000|a|1|4000\n60000|a|0|0\n"
           "1000|b_'x\"|1|16000\n3000|b_'x\"|2|24000\n10000|b_'x\"|1|8000\n");
}

/* It wants a second pod ten seconds before it ends, and has none between its attempts. */
static void replicas__tell_what_was_wanted_and_had(void **state)
{
    fixture_exec(*state, "INSERT INTO wanted VALUES(5,40000,1,4000),(5,70000,2,8000)");
    expect(state, "SELECT * FROM v_replicas ORDER BY from_ms",
           "5|40000|50000|1|1\n5|50000|60000|1|0\n5|60000|70000|1|1\n5|70000|80000|2|1\n");
    fixture_exec(*state, "DELETE FROM wanted");
}

static void node_use__is_cut_to_the_window(void **state)
{
    expect(state, "SELECT node, gpus, placements, round(gpu_h, 6), window_use FROM v_node_use",
           "n0001|8|3|0.062222|0.28\nn0002|8|3|0.091319|0.3484375\ncpu|0|0|0.0|\n");
}

/* What a gang holds on nodes that follow each other is one row, and counts on each of them. */
static void node_use__knows_ranges_of_nodes(void **state)
{
    fixture_exec(*state, "INSERT INTO placement VALUES(5,9,0,2,1,1000,1,0,3600000,0)");
    expect(state, "SELECT node, placements, round(gpu_h, 6) FROM v_node_use",
           "n0001|4|1.062222\nn0002|4|1.091319\ncpu|0|0.0\n");
    expect(state, "SELECT node, nodes, mgpu FROM v_ranges WHERE nr = 9", "0|2|1000\n");
    expect(state, "SELECT node, mgpu FROM v_placements WHERE nr = 9 ORDER BY 1",
           "0|1000\n1|1000\n");
    expect(state, "SELECT mgpu FROM v_holdings WHERE end_ms = 3600000", "2000\n");
    fixture_exec(*state, "DELETE FROM placement WHERE nr = 9");
}

static void wait_cdf__counts_jobs_that_never_started(void **state)
{
    expect(state, "SELECT * FROM v_wait_cdf WHERE scope = 'all'",
           "all||0.0|2|5|0.4\nall||9.0|1|5|0.6\nall||28.5|1|5|0.8\n");
    expect(state,
           "SELECT label, wait_s, n, share FROM v_wait_cdf WHERE scope = 'queue' AND "
           "label <> 'a'",
           "b_'x\"|9.0|2|0.5\n");
}

static void reason_intervals__end_at_the_start_or_the_end_of_the_run(void **state)
{
    expect(state, "SELECT * FROM v_reason_intervals ORDER BY job, from_ms",
           "2|1000|10000|no_capacity|full\n4|3000|20000|no_capacity|full\n"
           "4|20000|200000|fragmented|in pieces\n");
}

static void queues__have_quantiles_by_nearest_rank(void **state)
{
    expect(state,
           "SELECT queue, jobs, started, finished, evictions, wait_p50_s, wait_p95_s, wait_max_s "
           "FROM v_queues",
           "a|3|3|2|1|0.0|28.5|28.5\nb_'x\"|2|1|1|0|9.0||9.0\nidle|0|0|0|0|||\n");
}

static void views__say_what_they_are(void **state)
{
    expect(state, "SELECT name FROM sqlite_schema WHERE type = 'view' AND instr(sql, '--') = 0",
           "");
}

/* Whoever opens a file with sqlite3 finds out what its tables hold. */
static void tables__say_what_they_are(void **state)
{
    expect(state, "SELECT name FROM sqlite_schema WHERE type = 'table' AND instr(sql, '--') = 0",
           "");
}

/* Every table, view and column stands in the README, columns in a line of their table. */
static void readme__names_everything(void **state)
{
    char text[100000];
    FILE *file = fopen(ANALYSIS_README, "r");
    assert_non_null(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = '\0';
    (void)fclose(file);
    assert_true(bytes < sizeof text - 1);
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(*state,
                                        "SELECT m.name, '`' || m.name || '`', '`' || p.name || '`'"
                                        " FROM sqlite_schema AS m, pragma_table_info(m.name) AS p"
                                        " WHERE m.type = 'table'",
                                        -1, &row, NULL),
                     SQLITE_OK);
    int columns = 0;
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(row, 1);
        const char *column = (const char *)sqlite3_column_text(row, 2);
        bool found = false;
        for (char *line = text; !found && (line = strstr(line, "\n| `")) != NULL; line++) {
            char *end = strchr(line + 1, '\n');
            char kept = *end;
            *end = '\0';
            char *names = strstr(line + 3, " | ");
            char *where = strstr(line, table);
            found =
                names != NULL && where != NULL && where < names && strstr(names, column) != NULL;
            *end = kept;
        }
        if (!found) {
            fail_msg("the README does not name column %s of table %s", column, table);
        }
        columns++;
    }
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    assert_true(columns > 100);
    assert_int_equal(sqlite3_prepare_v2(*state,
                                        "SELECT name FROM sqlite_schema WHERE type = 'view'", -1,
                                        &row, NULL),
                     SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        char quoted[100];
        (void)snprintf(quoted, sizeof quoted, "| `%s` |",
                       (const char *)sqlite3_column_text(row, 0));
        assert_non_null(strstr(text, quoted));
    }
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
}

/* Readers such as pandas and R give a column one type. Each table and view of an invented file. */
static void columns__are_of_one_type(void **state)
{
    const struct fixture fixture = {.queues = 3, .nodes = 4, .jobs = 500, .days = 2};
    sqlite3 *db = NULL;
    sqlite3_stmt *names = NULL;
    int columns = 0;
    (void)state;
    fixture_write("analysis_types.db", &fixture);
    assert_int_equal(sqlite3_open("analysis_types.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT s.name, c.name FROM sqlite_master AS s JOIN"
                                        " pragma_table_info(s.name) AS c WHERE s.type IN"
                                        " ('table', 'view')",
                                        -1, &names, NULL),
                     SQLITE_OK);
    while (sqlite3_step(names) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(names, 0);
        const char *column = (const char *)sqlite3_column_text(names, 1);
        sqlite3_stmt *row = NULL;
        char sql[300];
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(DISTINCT typeof(\"%s\")) FROM %s WHERE \"%s\" IS NOT NULL",
                       column, table, column);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        if (sqlite3_column_int(row, 0) > 1) {
            fail_msg("column %s of %s mixes types", column, table);
        }
        assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
        columns++;
    }
    assert_int_equal(sqlite3_finalize(names), SQLITE_OK);
    assert_true(columns > 200);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)remove("analysis_types.db");
}

/* Every ```sql block of the README has an answer in an invented file. */
static void readme__queries_run(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 3, .nodes = 4, .jobs = 500, .days = 2, .origin_ms = -1};
    fixture_write("analysis_readme.db", &fixture);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open("analysis_readme.db", &db), SQLITE_OK);
    FILE *file = fopen(ANALYSIS_README, "r");
    assert_non_null(file);
    char line[1000], sql[4000] = "";
    int inside = 0, queries = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "```", 3) != 0) {
            if (inside && strlen(sql) + strlen(line) < sizeof sql) {
                memcpy(sql + strlen(sql), line, strlen(line) + 1);
            }
            continue;
        }
        inside = strcmp(line, "```sql\n") == 0;
        if (!inside && sql[0] != '\0') {
            sqlite3_stmt *row = NULL;
            assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
            assert_int_equal(sqlite3_step(row), SQLITE_ROW);
            assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
            queries++;
        }
        sql[0] = '\0';
    }
    (void)fclose(file);
    assert_int_equal(queries, 10);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)remove("analysis_readme.db");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs__are_words_and_seconds),
        cmocka_unit_test(placements__join_both_places),
        cmocka_unit_test(typical__are_the_most_frequent),
        cmocka_unit_test(allocation__is_exact),
        cmocka_unit_test(queue_depth__counts_what_waits),
        cmocka_unit_test(replicas__tell_what_was_wanted_and_had),
        cmocka_unit_test(node_use__is_cut_to_the_window),
        cmocka_unit_test(node_use__knows_ranges_of_nodes),
        cmocka_unit_test(wait_cdf__counts_jobs_that_never_started),
        cmocka_unit_test(reason_intervals__end_at_the_start_or_the_end_of_the_run),
        cmocka_unit_test(queues__have_quantiles_by_nearest_rank),
        cmocka_unit_test(views__say_what_they_are),
        cmocka_unit_test(tables__say_what_they_are),
        cmocka_unit_test(columns__are_of_one_type),
        cmocka_unit_test(readme__names_everything),
        cmocka_unit_test(readme__queries_run),
    };
    return cmocka_run_group_tests(tests, open_db, close_db);
}
