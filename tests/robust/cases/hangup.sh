# A closed terminal ends a run as Ctrl-C does: 130, and nothing is left behind. Under nohup it does not.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; i < 200000; i++) print "j" i "," i ",50,1" }' >t.csv
printf 'cluster: {pools: {p: {nodes: 8, gpus: 8}}}\nworkload: [{name: t, trace: t.csv, copies: 20}]\n' >s.yaml
for signal in HUP TERM; do
    "$orrery" run s.yaml --no-progress -o r.db >out 2>err &
    pid=$!
    until [ -e r.db.tmp.$pid ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -$signal $pid 2>/dev/null || fail 'the run was over too soon'
    code=0
    wait $pid || code=$?
    [ $code -eq 130 ] || fail "exit code $code after SIG$signal"
    clean
done
sed 's/, copies: 20//' s.yaml >short.yaml
(trap '' HUP && exec "$orrery" run short.yaml --no-progress -q -o r.db >out 2>err) &
pid=$!
until [ -e r.db.tmp.$pid ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -HUP $pid 2>/dev/null || true
code=0
wait $pid || code=$?
[ $code -eq 0 ] || fail "exit code $code under nohup"
[ -e r.db ] || fail 'no results under nohup'
