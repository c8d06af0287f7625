# A job that is never submitted has no placement: not of the first job that was placed, and no
# crash where nothing was placed at all.
printf 'job,submit_s,run_s,gpus,queue\na,100,5,1,q\n' >t.csv
cat >beyond.yaml <<'END'
horizon: 10s
cluster: {pools: {p: {nodes: 1, gpus: 1}}}
queues: {q: {gpu: [1, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
END
sound beyond.yaml

printf 'job,submit_s,run_s,gpus,queue,after\na,0,5,1,q,\nb,1,5,1,q,a\n' >held.csv
for policy in kai kube; do
    cat >held.yaml <<END
horizon: 10s
cluster: {pools: {p: {nodes: 1, gpus: 1}}}
queues: {q: {gpu: [0, 1, 0]}}
policy: $policy
workload: [{name: t, trace: held.csv}]
END
    if [ $policy = kai ]; then sound held.yaml; else expect 0 "$orrery" run held.yaml --force -o r.db; fi
done

# c is held back by d, which outlasts the run; e comes after it
cat >some.csv <<'END'
job,submit_s,run_s,gpus,queue,after
a,0,1,1,q,
d,1,100,1,q,
c,2,5,1,q,d
e,50,5,1,q,
END
for policy in fifo easy las kube kai; do
    sed -e 's/held/some/; s/gpu: .*/gpu: [4, 1, 4]}}/' -e "s/policy: .*/policy: $policy/" held.yaml >some.yaml
    sound some.yaml
    expect 0 "$orrery" export r.db jobs
    prints 'a,q'
    is "SELECT count(*) FROM job WHERE name IN ('c', 'e') AND (node IS NOT NULL OR start_ms IS NOT NULL)" 0
    is "SELECT count(*) FROM v_jobs WHERE job IN ('c', 'e') AND nodes IS NOT NULL AND nodes <> ''" 0
done
