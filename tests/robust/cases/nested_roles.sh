# A stored scenario loads again: a role with roles of its own has no pods, by default either.
printf 'job,submit_s,template\na,0,m\n' >t.csv
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues: {q: {gpu: [8, 1, unlimited]}}
templates:
  m: {run: 1m, roles: {x: {roles: {y: {roles: {z: {gpus_per_pod: 1}}}}}}}
workload: [{name: t, trace: t.csv, queue: q}]
policy: kai
END
sound s.yaml
expect 0 "$orrery" bundle r.db -o b.tar.gz
expect 0 "$orrery" verify b.tar.gz
# a role that a file which extends another makes one of roles
cat >sub.yaml <<'END'
extends: s.yaml
templates: {m: {roles: {x: {roles: {y: {roles: {z: {roles: {zz: {gpus_per_pod: 2}}}}}}}}}}
END
expect 78 "$orrery" check sub.yaml
says 'gpus_per_pod: role "z" has roles of its own'
printf 'templates: {m: {roles: {x: {roles: {y: {roles: {z: {gpus_per_pod: null, roles: {zz: {gpus_per_pod: 2}}}}}}}}}}\nextends: s.yaml\n' >sub.yaml
sound sub.yaml
is 'SELECT mgpu FROM job' 2000
# pods that somebody states beside roles are refused, as before
printf 'cluster: {pools: {p: {nodes: 4, gpus: 8}}}\ntemplates: {m: {run: 1m, roles: {x: {pods: 1, roles: {y: {}}}}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
expect 78 "$orrery" check s.yaml
says 'pods: role "x" has roles of its own'
