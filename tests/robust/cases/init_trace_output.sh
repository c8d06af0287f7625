# init and trace write a file whole or not at all, and never over what they read.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; i < 20; i++) print "j" i "," i ",50,1" }' >t.csv
cp t.csv kept.csv
ln -s t.csv link.csv
for out in t.csv ./t.csv link.csv; do
    expect 73 "$orrery" init --trace t.csv -o $out --force
    says 'is an input too'
    cmp -s t.csv kept.csv || fail "$out: the trace was overwritten"
    clean
done
expect 0 "$orrery" init --trace t.csv -q -o s.yaml
cp s.yaml kept.yaml
expect 73 "$orrery" init --trace t.csv -q -o s.yaml
says 'exists already'
expect 0 "$orrery" init --trace t.csv -q -o s.yaml --force
cmp -s s.yaml kept.yaml || fail 'not the same scenario again'
cat >gen.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
queues: {q: {gpu: [8, 1, unlimited]}}
horizon: 1d
workload:
- name: g
  generate: {sizes: {1: 1}, queues: {q: 1}, arrivals: {per_day: 1000000}, duration: {quantiles: {p0: 1s, p100: 60s}}}
END
# no room: nothing is left of either
for command in "trace gen gen.yaml -o half.csv" "init --trace many.csv -o half.yaml"; do
    awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 200; i++) print i "," i ",50,1,queue" i }' >many.csv
    code=0
    # shellcheck disable=SC2086
    (ulimit -f 8 && timeout 60 "$orrery" $command >out 2>err) || code=$?
    [ $code -eq 74 ] || fail "exit code $code with a full disk: $command"
    clean
    for file in half.*; do
        [ ! -e "$file" ] || fail "$file is half a file"
    done
done
# a signal while the trace is written
"$orrery" trace gen gen.yaml -o half.csv >out 2>err &
pid=$!
until [ -e half.csv.tmp.$pid ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -TERM $pid 2>/dev/null || fail 'the trace was written too soon'
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "exit code $code after SIGTERM"
clean
[ ! -e half.csv ] || fail 'half a trace'
