# Nothing is left behind where whoever reads the answer goes away, or a merge is interrupted.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; i < 20000; i++) print "j" i "," i ",50,1" }' >t.csv
printf 'cluster: {pools: {p: {nodes: 8, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
code=$( (code=0 && { "$orrery" run s.yaml --no-progress -o r.db --trace-cycles 1..20000 2>err || code=$?; } && echo $code >code) | head -n 2 >out; cat code)
[ "$code" -eq 141 ] || fail "exit code $code, expected 141"
[ ! -e r.db ] || fail 'results of a run that was ended'
clean

head -n 3 t.csv >few.csv
sed 's/t.csv/few.csv/' s.yaml >few.yaml
printf 'kind: Sweep\nbase: few.yaml\nreplicas: 60\npoints: [{policy.name: fifo}]\n' >exp.yaml
expect 0 "$orrery" sweep plan exp.yaml -o exp
expect 0 "$orrery" sweep run exp --no-progress
printf 'mine\n' >m.db
"$orrery" sweep merge exp -o m.db --force >out 2>err &
pid=$!
until [ -e m.db.tmp.$pid ] || ! kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid 2>/dev/null || fail 'the merge was over too soon'
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "exit code $code after SIGTERM"
[ "$(cat m.db)" = mine ] || fail 'the existing file was changed'
clean
