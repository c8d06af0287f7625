# Times that no trace and no scenario means are refused, and never overflow.
printf 'job,submit_s,run_s,gpus,queue\na,0,10,1,q\nb,5,10,1,q\n' >t.csv
wrong() { # CODE TEXT KEYS OF THE PART [LINE]
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 4}}}\nworkload: [{name: t, trace: t.csv%s}]\n%s\n' "$3" "${4:-}" >s.yaml
    expect "$1" "$orrery" run s.yaml -o r.db
    says "$2"
    expect "$1" "$orrery" check s.yaml
}
wrong 78 'days after the first, at most 36500 are possible: look at scale.arrivals' ', scale: {arrivals: 1e-300}'
wrong 78 'look at scale.arrivals' ', scale: {arrivals: 1e-12}'
wrong 78 'look at scale.arrivals and copies' ', copies: 1000000'
for key in 'horizon: ' 'warmup: ' 'execution: {round: ' 'execution: {grace: ' 'shake: {submit: ' \
    'queues: {q: {max_runtime: ' 'policy: {name: kai, latency: {cycle: '; do
    case $key in *'{'*'{'*'{'*) close='}}}' ;; *'{'*'{'*) close='}}' ;; *'{'*) close='}' ;; *) close= ;; esac
    wrong 78 'more than 36500d' '' "${key}9000000000000000s$close"
done
printf 'job,submit_s,run_s,gpus,queue\na,0,10,1,q\nb,99999999999,10,1,q\n' >t.csv
wrong 65 'look at the unit of the times' ''
clean
# a century is possible
printf 'job,submit_s,run_s,gpus,queue\na,0,10,1,q\nb,3153000000,10,1,q\n' >t.csv
printf 'cluster: {pools: {p: {nodes: 1, gpus: 4}}}\nworkload: [{name: t, trace: t.csv, scale: {arrivals: 1e300}}]\nhorizon: 36500d\n' >s.yaml
sound s.yaml
expect 0 "$orrery" run s.yaml --set workload.t.scale.arrivals=1 --force -q -o r.db
is 'SELECT count(*) FROM job WHERE state = 3' 2
