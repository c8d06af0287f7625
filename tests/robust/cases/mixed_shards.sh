# What a shard decides does not depend on who schedules another one: under kai a gang that lost a pod
# may go on below its minimum for a while, beside a shard of kube too, whose gangs end at once.
cat >t.csv <<'END'
job,submit_s,run_s,queue,pods,gpus_per_pod,min_pods
a,1,300,qa,3,1,2
b,2,200,qa,2,1,2
c,1,300,qb,2,1,2
d,5,100,qb,1,1,1
END
run() { # POLICY OF SHARD sb
    cat >s.yaml <<END
cluster: {pools: {a: {nodes: 4, gpus: 1, shard: sa}, b: {nodes: 3, gpus: 1, shard: sb}}}
queues: {qa: {shard: sa}, qb: {shard: sb}}
workload: [{name: t, trace: t.csv}]
policy: {name: kai, shards: {sb: {name: $1}}}
events: [{at: 30s, fail: a-0001, for: 50s}, {at: 33s, fail: a-0002, for: 50s}, {at: 40s, fail: a-0003, for: 50s},
         {at: 45s, fail: a-0004, for: 50s}, {at: 50s, fail: b-0001, for: 5s}]
END
    sound s.yaml
    sqlite3 r.db "SELECT p.job, p.nr, p.node, p.start_ms, p.end_ms FROM v_placements AS p JOIN job AS j ON j.id = p.job
        WHERE j.name IN ('a', 'b') ORDER BY 1, 2, 3, 4" >"$1.jobs"
}
run kai
run kube
cmp kai.jobs kube.jobs || fail "the shard of kai decides otherwise beside kube: $(diff kai.jobs kube.jobs)"
# c lost a pod, and under kube the other one goes with it
is "SELECT count(*) FROM attempt AS a JOIN job AS j ON j.id = a.job WHERE j.name = 'c' AND a.end_ms = 50000" 1

# as it was found: a pool that shrinks under a gang
cat >t.csv <<'END'
job,submit_s,run_s,queue,pods,gpus_per_pod,min_pods
j39,1511.947,563,q,1,2,
j40,1511,535,q,7,8,1
j45,1602,2010,q,2,2,
END
cat >s.yaml <<'END'
horizon: 240m
seeds: 776
cluster: {pools: {p0: {nodes: 6, gpus: 8, shard: sa}, p2: {nodes: 4, gpus: 8, shard: sa}, p3: {nodes: 0, gpus: 0, shard: sb}}}
queues: {r: {shard: sa}, q: {parent: r}}
workload:
- {name: t, trace: t.csv}
- {name: g0, generate: {arrivals: {per_hour: 1}, duration: 90s, sizes: {3: 1}, queues: {q: 1}}}
policy: {name: kai, shards: {sb: {name: kube}}}
events: [{at: 1902s, set: {cluster.pools.p0.nodes: 0}}]
END
sound s.yaml
