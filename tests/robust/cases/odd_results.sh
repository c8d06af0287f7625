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
