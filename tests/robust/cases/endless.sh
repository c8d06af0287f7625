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
says 'evictions'
says 'node failure, last a)'
says 'a horizon, or its jobs checkpoints'
clean
# Two jobs that take the cluster from each other by past use, without end: who, by which action, what helps.
printf 'job,submit_s,run_s,gpus_per_pod,pods,queue\na,0,460,1,2,x\nb,9,840,1,2,y\n' >t.csv
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 2}}}
workload: [{name: t, trace: t.csv}]
policy: {name: kai, params: {usage_db: prometheus, window_size: 2m, fetch_interval: 1s, query_resolution: 1s, k_value: 3}}
END
expect 78 "$orrery" run s.yaml -q -o r.db
says 'the run does not come to an end'
says 'of them: reclaim, last '
says 'a for b'
says 'b for a'
says 'a reclaim_min_runtime'
clean
# where they keep what they worked, it ends
echo 'execution: {on_evict: keep}' >>s.yaml
expect 0 "$orrery" run s.yaml -q -o r.db
is "SELECT count(*) = 2 AND sum(evictions) > 2 FROM job WHERE state = 3" 1
rm r.db
# Reclaim takes v's devices for w, and allocate, which sees only h of b, gives them to v again: the same situation comes back.
printf 'job,submit_s,run_s,gpus_per_pod,queue,priority,preemptible\nv,0,100,2,a,50,true\nh,1,5,3,b,100,false\nw,2,5,2,b,50,true\n' >t.csv
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 3}}}
queues: {a: {gpu: [0, 1, unlimited], reclaim_min_runtime: 20s}, b: {gpu: [2, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: {name: kai, params: {queueDepthPerAction.allocate: 1}}
END
cp s.yaml round.yaml
expect 78 "$orrery" run s.yaml -q -o r.db
says 'the run does not come to an end: 00:18:'
says 'the latest 52 evictions (52 of them: reclaim, last v for w)'
clean
# not if something is to happen hours later, nor if work is kept
echo 'events: [{at: 12h, set: {queues.a.gpu.quota: 2, queues.b.gpu.quota: 1}}]' >>s.yaml
expect 0 "$orrery" run s.yaml -q -o r.db
is "SELECT evictions > 2000 FROM job WHERE name = 'v' AND state = 3" 1
rm r.db
(cat round.yaml && echo 'execution: {on_evict: keep}') >s.yaml
expect 0 "$orrery" run s.yaml -q -o r.db
is "SELECT evictions BETWEEN 1 AND 10 FROM job WHERE name = 'v' AND state = 3" 1
rm r.db
# A gang's pod is bound and taken again in every cycle, which past use asks for without end: the job that runs keeps nothing going.
cat >t.csv <<'END'
job,submit_s,run_s,gpus_per_pod,pods,kind,queue
j4,340,1,1,3,training,q
j7,381,25,1,1,interactive,q
j9,142,120,1,3,,q
j16,110,180,1,3,,q
j24,479,0,1,1,,q
j39,461,0,1,3,,q
j52,352,145,1,1,interactive,q
j17,407,60,1,3,,q
END
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 4, gpus: 1}}}
queues: {q: {gpu: [unlimited, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: {name: kai, params: {usage_db: prometheus, queueDepthPerAction.allocate: 3}}
execution: {restart: 5s}
END
expect 78 "$orrery" run s.yaml -q -o r.db
says 'none of 5 jobs that wait or run has ended in the latest 100001 cycles that the policy asked for; give the scenario a horizon'
clean
cat >s.yaml <<'END'
cluster:
  pools: {p: {nodes: 100, gpus: 1}}
  failures: {mtbf: 90s, repair: {median: 1m}}
workload: [{name: t, trace: t.csv}]
END
{ echo job,submit_s,run_s,gpus; seq -f 'j%g,0,100000,1' 100; } >t.csv
# with a horizon it is the user's: it goes on until a signal
(cat s.yaml && echo 'horizon: 36500d') >long.yaml
"$orrery" run long.yaml --no-progress -o r.db >out 2>err &
pid=$!
sleep 2
kill -TERM $pid || fail 'the run was over too soon'
(sleep 20 && kill -KILL $pid) >/dev/null 2>&1 &
guard=$!
code=0
wait $pid || code=$?
kill $guard 2>/dev/null || true
[ $code -eq 130 ] || fail "exit code $code after SIGTERM"
clean
