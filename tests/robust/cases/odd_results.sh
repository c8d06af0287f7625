# A results file that somebody changed is refused before a query never ends.
printf 'job,submit_s,run_s,gpus,queue\na,0,10,1,q\nb,1,10,1,q\n' >t.csv
expect 0 "$orrery" run --trace t.csv --cluster 1x1 -q -o good.db
each() { # TEXT
    for verb in 'explain r.db --queue q' 'explain r.db a' 'audit r.db' 'report r.db' 'export r.db jobs' 'compare good.db r.db'; do
        # shellcheck disable=SC2086
        expect 65 timeout 10 "$orrery" $verb
        says "$1"
    done
    clean
}
cp good.db r.db
expect 0 sqlite3 r.db "UPDATE queue SET parent = id WHERE name = 'q'"
each 'is a queue below itself'
cp good.db r.db
expect 0 sqlite3 r.db 'ALTER TABLE job RENAME TO old; CREATE VIEW job AS
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT old.* FROM old, n'
each 'is a view, not a table'
# nor is a changed view asked: the program reads through its own
for view in $(sqlite3 good.db "SELECT name FROM sqlite_schema WHERE type = 'view'"); do
    sqlite3 good.db "SELECT 'DROP VIEW $view; CREATE VIEW $view AS WITH RECURSIVE
        n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ' || group_concat('i AS ' || name) || ' FROM n;'
        FROM pragma_table_info('$view')"
done >endless.sql
cp good.db r.db
expect 0 sqlite3 r.db '.read endless.sql'
for verb in 'explain r.db --queue q' 'explain r.db b' 'audit r.db' 'report r.db' \
    'export r.db v_jobs' 'show r.db'; do
    # shellcheck disable=SC2086
    expect 0 timeout 10 "$orrery" $verb
done
expect 0 "$orrery" export good.db v_jobs
mv out good.csv
expect 0 "$orrery" export r.db v_jobs
cmp -s out good.csv || fail 'another v_jobs'
clean
# rows that are there twice, which no program writes (a sanitizer sees what is not closed then)
for table in shard_pool shard_queue ask job; do
    cp good.db r.db
    expect 0 sqlite3 r.db "CREATE TABLE old AS SELECT * FROM $table; DROP TABLE $table;
        CREATE TABLE $table AS SELECT * FROM old UNION ALL SELECT * FROM old; DROP TABLE old"
    "$orrery" audit r.db >out 2>err || true
    [ ! -s err ] || fail "audit with $table doubled"
    expect 0 "$orrery" report r.db
    [ ! -s err ] || fail "report with $table doubled"
    clean
done
