# A signal while a trace is read ends the program as one during the run does: 130, and nothing is left behind.
# The trace is a pipe that never ends: somebody writes on (rows), writes no more (quiet), or never opened it (nobody).
mkfifo t.csv
printf 'cluster: {pools: {p: {nodes: 8, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
mkdir scratch
export TMPDIR="$PWD/scratch"

writes() {
    case $1 in
    rows) awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; ; i++) print "j" i "," i ",50,1" }' ;;
    quiet) { printf 'job,submit_s,run_s,gpus\nj0,0,50,1\n'; exec sleep 60; } ;;
    esac >t.csv 2>/dev/null
}
# ends SIGNAL WRITER COMMAND...: within ten seconds
ends() {
    signal=$1 writer=$2
    shift 2
    writer_pid=
    [ "$writer" = nobody ] || { writes "$writer" & writer_pid=$!; }
    "$@" >out 2>err </dev/null &
    pid=$!
    sleep 0.7
    kill -"$signal" $pid || fail "over before the signal: $*"
    left=100
    while [ $left -gt 0 ] && kill -0 $pid 2>/dev/null; do
        sleep 0.1
        left=$((left - 1))
    done
    [ $left -gt 0 ] || { kill -KILL $pid; fail "reads on after SIG$signal, $writer: $*"; }
    code=0
    wait $pid || code=$?
    [ -z "$writer_pid" ] || kill $writer_pid 2>/dev/null || true
    [ $code -eq 130 ] || fail "exit code $code after SIG$signal, $writer: $*"
    says interrupted
    clean
    [ ! -e r.db ] || fail "results of an interrupted read, $writer: $*"
    [ -z "$(ls scratch)" ] || fail "$(ls scratch) was left in TMPDIR: $*"
}

for writer in rows quiet nobody; do
    ends TERM $writer "$orrery" run s.yaml --no-progress --keep-partial -o r.db
done
says 'interrupted while the traces were read'
ends HUP rows "$orrery" whatif s.yaml --no-progress --seeds 2 --set cluster.pools.p.nodes+=1
ends TERM quiet "$orrery" capacity s.yaml --no-progress --vary cluster.pools.p.nodes=4..9 --objective 'wait_p95_s <= 1h'
ends TERM quiet "$orrery" forecast s.yaml --at 1h --no-progress
