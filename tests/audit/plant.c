/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plant.c - changes a results file by hand: plant R.db SQL. It is a fault if nothing changes. */
#include <stdio.h>

#include <sqlite3.h>

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    if (argc != 3 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "usage: plant R.db SQL\n");
        return 2;
    }
    int failed = sqlite3_exec(db, argv[2], NULL, NULL, &message) != SQLITE_OK;
    if (!failed && sqlite3_total_changes(db) == 0) {
        (void)fprintf(stderr, "nothing changed: %s\n", argv[2]);
        failed = 1;
    }
    if (message != NULL) {
        (void)fprintf(stderr, "%s: %s\n", message, argv[2]);
    }
    (void)sqlite3_close(db);
    return failed;
}
