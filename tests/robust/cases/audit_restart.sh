# A job that a node's failure, maintenance or drain ends at a time of the grid starts again in the
# same instant: its next attempt is not what the eviction took.
printf 'job,submit_s,run_s,gpus\na,1,100,1\nb,30,10,1\n' >t.csv
for event in 'fail: n0001' 'fail: n0001, for: 5s' 'maintain: n0001, for: 30s' 'drain: n0001, for: 30s'; do
    for grace in 0s 3s; do
        cat >s.yaml <<END
cluster: {pools: {p: {nodes: 3, gpus: 1}}}
workload: [{name: t, trace: t.csv}]
policy: kai
execution: {grace: $grace}
events: [{at: 20s, $event}]
END
        sound s.yaml
    done
done
# A pool that follows the jobs moves one off a node on the grid: its pods are gone behind the cycle of that
# instant, which counts them neither as held nor as waiting.
cat >t.csv <<'T'
job,submit_s,run_s,gpus
a,0,100,1
b,0,12,1
c,1,100,1
d,1,12,1
T
for grace in 0s 3s; do
    cat >s.yaml <<T
cluster: {pools: {p: {nodes: 2, gpus: 2, autoscale: {min: 0, max: 3, provision: 1s, idle: 2s, drain_below: 1}}}}
workload: [{name: t, trace: t.csv}]
policy: kai
execution: {grace: $grace}
T
    sound s.yaml
    is "SELECT count(*) > 0 AND min(at_ms % 1000) = 0 FROM eviction WHERE cause = 'maintenance'" 1
done
