# Jobs of 0 s end as they start. Those that wait for one come after the cycle of that instant, which
# in rounds is followed by another.
printf 'job,submit_s,run_s,gpus\nj,1,0,1\n' >t.csv
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 1}}}
workload: [{name: t, trace: t.csv}]
policy: kai
execution: {round: 7s}
END
sound s.yaml
cat >t.csv <<'END'
job,submit_s,run_s,gpus,after
j0,1,1,1,
j2,1,1,1,
j7,1,0,8,
j8,1,1,1,j2;j7;j0
END
for round in 0s 5s; do
    cat >s.yaml <<END
cluster: {pools: {p2: {nodes: 1, gpus: 1}, p3: {nodes: 1, gpus: 8}}}
workload: [{name: t, trace: t.csv}]
policy: kai
execution: {round: $round}
END
    sound s.yaml
done
# x waits for z, which ends as it starts, and so comes to wait after the starts of that instant
cat >t.csv <<'END'
job,submit_s,run_s,gpus,after
x,0,1,2,z
a,0,5,1,
b,0,10,1,
z,5,0,1,
END
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
workload: [{name: t, trace: t.csv}]
policy: fifo
END
sound s.yaml
# the rule still bites: y is behind x a moment later
cat >t.csv <<'END'
job,submit_s,run_s,gpus,after
x,0,1,2,z
a,0,5,1,
b,0,10,1,
z,5,0,1,
y,6,1,1,
END
sound s.yaml
expect 0 sqlite3 r.db "UPDATE job SET start_ms = 6000, end_ms = 7000 WHERE name = 'y'"
expect 1 "$orrery" audit r.db
prints 'job y starts before job x'
cat >s.yaml <<'END'
cluster: {pools: {p2: {nodes: 1, gpus: 1}, p3: {nodes: 1, gpus: 8}}}
workload: [{name: t, trace: t.csv}]
policy: kai
END
sound s.yaml
# the rule still bites: a share that was never due is found
expect 0 sqlite3 r.db 'UPDATE fair_share SET mgpu = mgpu + 1000 WHERE rowid = 1'
expect 1 "$orrery" audit r.db
prints 'is stored as'
