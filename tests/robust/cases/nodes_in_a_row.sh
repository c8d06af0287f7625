# Pods of a gang on nodes in a row are one placement and one row; a failure takes some of them out of
# the middle, and so does maintenance while others are in their grace. The views say it node by node.
cat >t.csv <<'END'
job,submit_s,run_s,queue,pods,gpus_per_pod
a,0,400,q,20,1
b,5,300,q,30,1
c,10,200,q,9,1
d,20,300,q,14,1
END
for policy in fifo easy las kube static kai; do
    cat >s.yaml <<END
cluster: {pools: {p: {nodes: 64, gpus: 1}}}
queues: {q: {gpu: [64, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: $policy
execution: {grace: 30s}
END
    sound s.yaml
    is "SELECT sum(nodes), count(*) < 9 FROM placement" "73|1"
    is "SELECT count(*), sum(mgpu), count(DISTINCT node) FROM v_placements WHERE job = 1" "30|30000|30"
    cat >>s.yaml <<END
events: [{at: 100s, fail: n0025, for: 50s}, {at: 103s, maintain: n0027, for: 50s}, {at: 105s, fail: n0028, for: 20s}, {at: 200s, fail: n0001, for: 9s}]
END
    sound s.yaml
    is "SELECT count(*) FROM v_placements AS p JOIN outage AS o ON o.node = p.node AND o.from_ms < p.end_ms AND o.to_ms > p.start_ms" 0
    is "SELECT count(DISTINCT job) FROM eviction" 2
done
