#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# sql_in_c.sh SOURCE: queries are named ones of .sql files, which tidy.queries prepares. In C stand only words of the
# connection (PRAGMA, BEGIN, COMMIT, ATTACH), the select from a table whose name a user gives, and the word that makes stored views temporary ones.
set -eu
cd "$1"
find core policies traces sim analysis -name '*.[ch]' | sort | xargs grep -nE '"[^"]*(SELECT |INSERT (OR [A-Z]+ )?INTO |UPDATE [a-z]|DELETE FROM |CREATE (TEMP |VIRTUAL |UNIQUE )*(TABLE|VIEW|INDEX) |DROP (TABLE|VIEW) |WITH [a-z_]+ AS)' |
    grep -vE '^analysis/results/results\.c:[0-9]+:.*"[^"]*CREATE (TEMP )?VIEW "|^analysis/export/export\.c:[0-9]+:.*"SELECT \* FROM \\"%w\\""' || exit 0
echo 'name these queries in a .sql file of the room'
exit 1
