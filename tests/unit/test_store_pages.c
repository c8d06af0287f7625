/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that went into pages are read by SQLite, which also checks the file: small pages, so that
 * few rows make a tree of several levels, and integers of every size. */
#include "test_main.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_pages.h"

enum { PAGE_BYTES = 512, TEXT_MOST = 5000 };
#define LOCK_PAGE (0x40000000u / PAGE_BYTES + 1)

struct file {
    char path[32];
    int descriptor;
    uint32_t root;
};

static sqlite3_int64 ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const sqlite3_int64 value = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    return value;
}

static struct file make_file(void)
{
    struct file file = {.path = "pages.XXXXXX"};
    file.descriptor = mkstemp(file.path);
    assert_true(file.descriptor >= 0);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA page_size=512; PRAGMA auto_vacuum=NONE;"
                                  "CREATE TABLE t(id INTEGER PRIMARY KEY, size, value, text);"
                                  "CREATE TABLE behind(a); INSERT INTO behind VALUES(7);",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    file.root = (uint32_t)ask(db, "SELECT rootpage FROM sqlite_schema WHERE name = 't'");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return file;
}

/* What row i holds: 2^k - 1, 2^k, -2^k, -2^k - 1 for every k. */
static int64_t value_of(uint32_t i)
{
    const int64_t power = (int64_t)((uint64_t)1 << (i / 4 % 63));
    const int64_t values[] = {power - 1, power, -power, -power - 1};
    return values[i % 4];
}

static size_t text_bytes(uint32_t i, bool long_texts)
{
    return long_texts ? (size_t)i * 7 % TEXT_MOST : i % 20;
}

static void fill(const struct file *file, uint32_t rows, bool long_texts)
{
    struct orr_err err = {0};
    struct orr_pages *pages;
    assert_int_equal(orr_pages_open(file->descriptor, file->root, &pages, &err), ORR_OK);
    for (uint32_t i = 0; i < rows; i++) {
        char text[TEXT_MOST + 1];
        const size_t bytes = text_bytes(i, long_texts);
        memset(text, 'a' + (int)(i % 26), bytes);
        text[bytes] = '\0';
        struct orr_record *record = orr_pages_record(pages);
        orr_record_null(record);
        orr_record_int(record, (int64_t)bytes);
        orr_record_int(record, value_of(i));
        orr_record_text(record, text);
        assert_int_equal(orr_pages_add(pages, (int64_t)i * 3, &err), ORR_OK);
    }
    assert_int_equal(orr_pages_finish(pages, &err), ORR_OK);
    orr_pages_close(pages);
}

static void check_rows(sqlite3 *db, uint32_t rows)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT id, size, value, text FROM t ORDER BY id", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    for (uint32_t i = 0; i < rows; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_true(sqlite3_column_int64(statement, 0) == (int64_t)i * 3);
        assert_int_equal(sqlite3_column_bytes(statement, 3), sqlite3_column_int(statement, 1));
        assert_true(sqlite3_column_int64(statement, 2) == value_of(i));
        const char *text = (const char *)sqlite3_column_text(statement, 3);
        assert_true(strspn(text, (char[]){(char)('a' + (int)(i % 26)), 0}) == strlen(text));
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(ask(db, "SELECT a FROM behind"), 7);
}

static void check_table(uint32_t rows, bool long_texts)
{
    const struct file file = make_file();
    sqlite3 *db;
    fill(&file, rows, long_texts);
    assert_int_equal(sqlite3_open(file.path, &db), SQLITE_OK);
    assert_int_equal(ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    check_rows(db, rows);
    /* what SQLite writes into the table later finds its place */
    assert_int_equal(
        sqlite3_exec(db, "INSERT INTO t SELECT id + 1, size, value, text FROM t", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    assert_int_equal(ask(db, "SELECT count(*) FROM t"), 2 * rows);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)close(file.descriptor);
    (void)unlink(file.path);
}

static void test_levels(void **state)
{
    (void)state;
    const uint32_t rows[] = {0, 1, 17, 18, 40, 700, 800, 20000};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_table(rows[i], false);
    }
}

static void test_long_texts(void **state)
{
    (void)state;
    check_table(1500, true);
}

/* The page of the lock byte, a gigabyte into the file, is left out. */
static void test_lock_page(void **state)
{
    (void)state;
    const struct file file = make_file();
    const uint32_t before = LOCK_PAGE - 2;
    const uint8_t count[] = {(uint8_t)(before >> 24), (uint8_t)(before >> 16),
                             (uint8_t)(before >> 8), (uint8_t)before};
    assert_int_equal(pwrite(file.descriptor, count, sizeof count, 28), (ssize_t)sizeof count);
    fill(&file, 100, false);
    uint8_t page[PAGE_BYTES];
    assert_int_equal(pread(file.descriptor, page, sizeof page, (off_t)(LOCK_PAGE - 1) * PAGE_BYTES),
                     PAGE_BYTES);
    for (size_t i = 0; i < sizeof page; i++) {
        assert_int_equal(page[i], 0);
    }
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file.path, &db), SQLITE_OK);
    check_rows(db, 100);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)close(file.descriptor);
    (void)unlink(file.path);
}

/* The bytes of the header that make the file one that is not written to. */
static void test_unknown_form(void **state)
{
    (void)state;
    static const struct {
        off_t at;
        uint8_t number[4];
    } changes[] = {
        {24, {0, 0, 0, 9}}, /* changed by who keeps no count of pages */
        {32, {0, 0, 0, 2}}, /* a free page */
        {44, {0, 0, 0, 1}}, /* no types for 0 and 1 */
        {52, {0, 0, 0, 3}}, /* auto_vacuum */
        {56, {0, 0, 0, 2}}  /* UTF-16 */
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct file file = make_file();
        struct orr_err err = {0};
        struct orr_pages *pages;
        assert_int_equal(pwrite(file.descriptor, changes[i].number, 4, changes[i].at), 4);
        assert_int_equal(orr_pages_open(file.descriptor, file.root, &pages, &err), ORR_IO);
        (void)close(file.descriptor);
        (void)unlink(file.path);
    }
}

/* A type of a long text has several bytes and is one column. */
static void test_columns(void **state)
{
    (void)state;
    const struct file file = make_file();
    struct orr_err err = {0};
    struct orr_pages *pages;
    char text[TEXT_MOST + 1];
    memset(text, 'x', TEXT_MOST);
    text[TEXT_MOST] = '\0';
    assert_int_equal(orr_pages_open(file.descriptor, file.root, &pages, &err), ORR_OK);
    struct orr_record *record = orr_pages_record(pages);
    assert_int_equal(orr_record_columns(record), 0);
    orr_record_null(record);
    orr_record_text(record, text);
    orr_record_int(record, 7);
    orr_record_text(record, "");
    assert_int_equal(orr_record_columns(record), 4);
    orr_pages_close(pages);
    (void)close(file.descriptor);
    (void)unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),    cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_lock_page), cmocka_unit_test(test_unknown_form),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
