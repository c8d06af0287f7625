# A run in which nothing ever ends says so; a long one hears a signal, however many failures it has seen.
printf 'job,submit_s,run_s,gpus\na,0,100000,1\n' >t.csv
cat >s.yaml <<'END'
cluster:
  pools: {p: {nodes: 2, gpus: 1}}
  failures: {mtbf: 90s, repair: {median: 1m}}
workload: [{name: t, trace: t.csv}]
END
expect 78 "$orrery" run s.yaml -q -o r.db
says 'the run does not come to an end'
says 'a horizon'
clean
# with a horizon it is the user's: it goes on until a signal
(cat s.yaml && echo 'horizon: 36500d') >long.yaml
"$orrery" run long.yaml --no-progress -o r.db >out 2>err &
pid=$!
sleep 2
kill -TERM $pid || fail 'the run was over too soon'
(sleep 20 && kill -KILL $pid) 2>/dev/null &
guard=$!
code=0
wait $pid || code=$?
kill $guard 2>/dev/null || true
[ $code -eq 130 ] || fail "exit code $code after SIGTERM"
clean
