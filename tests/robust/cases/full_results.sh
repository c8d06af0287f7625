# A full disk while results are written: by SQLite, in the midst of the rows of job, which go into pages without it, and at the last of these.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; i < 20000; i++) print "j" i "," 7 * i "," 30 + i % 50 "," 1 + i % 8 }' >t.csv
printf 'cluster: {pools: {p: {nodes: 20, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
expect 0 "$orrery" run s.yaml -q -o r.db
is 'PRAGMA integrity_check' ok
fills() { # BLOCKS WHY
    code=0
    (ulimit -f $1 && timeout 60 "$orrery" run s.yaml -q -o full.db >out 2>err </dev/null) || code=$?
    [ $code -eq 74 ] || fail "exit code $code at $1 of $blocks blocks: $(cat err)"
    says "full.db: cannot write results: $2"
    [ ! -e full.db ] || fail 'half of the results is there'
    clean
}
blocks=$(($(wc -c <r.db) / 512)) # of ulimit
fills 100 'disk I/O error'
fills $((blocks * 3 / 4)) 'File too large'
fills $((blocks - 1)) 'File too large'
