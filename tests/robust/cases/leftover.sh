# What a killed process left has the number of the next one, as in containers: it is in nobody's way, and stays.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; i < 20; i++) print "j" i "," i ",50,1" }' >t.csv
printf 'cluster: {pools: {p: {nodes: 8, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
beside() { # FILE COMMAND...: the command finds FILE.tmp.PID with its own PID
    file=$1
    shift
    # shellcheck disable=SC2016
    sh -c 'echo mine >"$0.tmp.$$" && exec "$@"' "$file" "$@" >out 2>err || fail "exit code $?: $*: $(cat err)"
    [ -e "$file" ] || fail "no $file: $*"
    [ "$(cat "$file".tmp.*)" = mine ] || fail "not what was left: $(ls "$file".tmp.*)"
    rm "$file".tmp.*
}
beside r.db "$orrery" run s.yaml --no-progress -q -o r.db
beside jobs.csv "$orrery" export r.db jobs -o jobs.csv
beside r.html "$orrery" report r.db -o r.html
beside b.tar.gz "$orrery" bundle r.db -o b.tar.gz
clean
