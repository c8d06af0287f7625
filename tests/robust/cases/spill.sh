# Arrays in files: a run of 120,000 jobs is the same, and needs none of the memory that they would take of the process's own.
awk 'BEGIN { print "job,submit_s,run_s,gpus,user"
    for (i = 0; i < 120000; i++) printf "j%d,%d,%d,%d,u%d\n", i, 3 * i, 60 + i * 7919 % 2000, 1 + i % 4 * (i % 3), i % 500 }' >t.csv
printf 'cluster: {pools: {p: {nodes: 400, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
"$orrery" run s.yaml --spill none -o whole.db -q
# private: of the process's own; what it maps of files does not count
private() { ulimit -d 20000 && "$orrery" run s.yaml --spill "$1" -o r.db -q; }
"$orrery" run s.yaml --spill 1Mi -o r.db -q
[ "$(sqlite3 r.db 'SELECT digest FROM run')" = "$(sqlite3 whole.db 'SELECT digest FROM run')" ] || fail 'another digest'
for table in job metric; do
    sqlite3 r.db "SELECT * FROM $table" >a
    sqlite3 whole.db "SELECT * FROM $table" >b
    [ "$table" = job ] || sed -i '/^scheduler_busy\|^cycle_max/d' a b # measured, not computed
    cmp a b || fail "another $table"
done
rm r.db
(private 1Mi >out 2>err) || exit 77 # a sanitizer takes more
rm r.db
code=0
(private none >out 2>err) || code=$?
[ $code -eq 71 ] || fail "exit code $code without memory: the limit tests nothing"
expect 64 "$orrery" run s.yaml --spill 10
says 'is neither a size such as 128Mi'
clean
[ -z "$(ls -A | grep '^\.orrery-spill')" ] || fail 'a file is left'
