# A job that can never start, where every pool follows its jobs and a node fails for good.
cat >t.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,5,2,1,q
b,0,4000,1,1,q
c,1,60,1,1,q
END
cat >s.yaml <<'END'
horizon: 1h
cluster: {pools: {p: {nodes: 1, gpus: 1, autoscale: {min: 0, max: 2, provision: 10s}}}}
queues: {q: {gpu: [1, 1, 1]}}
workload: [{name: t, trace: t.csv}]
policy: kai
events: [{at: 30m, fail: n0001}]
END
sound s.yaml
expect 0 "$orrery" explain r.db a
