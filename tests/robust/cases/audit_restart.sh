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
