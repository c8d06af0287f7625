# A protection that ends between two cycles of a shard on a grid is looked at in the next one, and not over and
# over at the moment that it ends.
cat >t.csv <<'END'
job,submit_s,run_s,queue,gpus_per_pod
a,0.5,30,q,1
b,0.5,30,q,1
c,2,5,r,1
END
run() { # POOL OF ANOTHER SHARD
    cat >s.yaml <<END
cluster: {pools: {a: {nodes: 2, gpus: 1, shard: sa}$1}}
queues: {q: {shard: sa, gpu: [0, 1, unlimited], reclaim_min_runtime: 4500ms}, r: {shard: sa, gpu: [1, 1, unlimited]}$2}
workload: [{name: t, trace: t.csv}]
policy: kai
END
    sound s.yaml
    # both started at 1 s: protected to 5.5 s, so that one is evicted at 6 s
    is "SELECT e.at_ms || ' ' || j.start_ms FROM eviction AS e CROSS JOIN job AS j WHERE j.name = 'c'" '6000 7000'
}
run '' ''
run ', b: {nodes: 1, gpus: 1, shard: sb}' ', x: {shard: sb}'
