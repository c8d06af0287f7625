# A machine without memory is no bug: a sentence, exit code 71, and nothing is left behind.
printf 'job,submit_s,run_s,gpus\na,0,10,1\n' >t.csv
printf 'cluster: {pools: {p: {nodes: 1000000, gpus: 10000}}}\nworkload: [{name: t, trace: t.csv}]\n' >large.yaml
printf 'cluster: {pools: {p: {nodes: 8, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >small.yaml
(ulimit -v 2000000 && timeout 60 "$orrery" --version >/dev/null 2>&1) || exit 77 # a sanitizer takes more
code=0
(ulimit -v 2000000 && timeout 60 "$orrery" run large.yaml -q -o r.db >out 2>err) || code=$?
[ $code -eq 71 ] || fail "exit code $code without memory"
says 'orrery: out of memory'
clean
[ ! -e r.db ] || fail 'results in spite of it'
expect 0 "$orrery" run small.yaml -q -o good.db
apiVersion='apiVersion: orrery/v1alpha1\nkind: Snapshot\n'
printf "${apiVersion}nodes: {n: {gpus: 4}}\nqueues: {q: {gpu: [4]}}\njobs: {j: {queue: q, gpus: 1}}\n" >snap.yaml
# from what the program just starts with to what it needs
kib=20000
until (ulimit -v $kib && "$orrery" --version >/dev/null 2>&1); do kib=$((kib + 1000)); done
for verb in 'run small.yaml --force -q -o r.db' 'audit good.db' 'export good.db jobs' 'schedule snap.yaml'; do
    for more in 0 500 1000 2000 4000; do
        code=0
        # shellcheck disable=SC2086
        (ulimit -v $((kib + more)) && timeout 60 "$orrery" $verb >out 2>err) || code=$?
        case $code in
        0) ;;
        71) says 'out of memory' ;;
        *) fail "exit code $code within $((kib + more)) KiB: $verb" ;;
        esac
        clean
    done
done
