# A job that reached its longest run time is away until its requeue delay is over; meanwhile kai
# gives its slot to another job, which is no fault of the books.
printf 'job,submit_s,run_s,queue,gpus_per_pod\na,0,100,r0,1\nb,32,100,r1,1\n' >t.csv
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 1}}}
queues: {r0: {max_runtime: 30s, requeue_delay: 10s}, r1: {}}
execution: {on_evict: keep}
workload: [{name: t, trace: t.csv}]
policy: kai
END
sound s.yaml
is 'SELECT count(*) FROM job WHERE state = 3' 2
