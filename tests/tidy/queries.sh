#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# queries.sh SOURCE FILE...: every named query can be prepared against the schemas and their views. A FILE holds
# `EXPLAIN QUERY;` of each, after a line `-- ROOM.NAME`, as analysis/sql/named_sql.cmake writes it. A second
# database, `base`, is there for queries that compare two.
set -eu
source=$1
shift
command -v sqlite3 >/dev/null 2>&1 || exit 77
[ $# -gt 0 ] || { echo 'no files of queries'; exit 1; }
rm -f base.db
cat "$source/sim/store/schema.sql" "$source/analysis/sql/views.sql" | sqlite3 base.db
for file in "$@"; do
    grep -q '^EXPLAIN' "$file" || { echo "$file: no query"; exit 1; }
    { cat "$source/sim/store/schema.sql" "$source/sim/study/sweep_schema.sql" "$source/sim/study/state_schema.sql" "$source/analysis/sql/views.sql"; echo "ATTACH 'base.db' AS base;"; sed 's/^-- \([a-z0-9_.]*\)$/.print \1/' "$file"; } |
        sqlite3 -bail :memory: >prepared.txt 2>&1 || { grep '^[a-z0-9_]*\.[a-z0-9_]*$' prepared.txt | tail -n 1; tail -n 3 prepared.txt; exit 1; }
done
rm -f prepared.txt base.db
