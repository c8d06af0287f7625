# A machine without memory is no bug: a sentence, exit code 71, and nothing is left behind.
printf 'job,submit_s,run_s,gpus\na,0,10,1\n' >t.csv
printf 'cluster: {pools: {p: {nodes: 1000000, gpus: 10000}}}\nworkload: [{name: t, trace: t.csv}]\n' >large.yaml
(ulimit -v 2000000 && timeout 60 "$orrery" --version >/dev/null 2>&1) || exit 77 # a sanitizer takes more
code=0
(ulimit -v 2000000 && timeout 60 "$orrery" run large.yaml -q -o r.db >out 2>err) || code=$?
[ $code -eq 71 ] || fail "exit code $code without memory"
says 'orrery: out of memory'
clean
[ ! -e r.db ] || fail 'results in spite of it'
