#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# verbs.sh ORRERY DRAW FROM COUNT: verbs that read scenarios, results and traces, on drawn scenarios, a few a seed by turns. What
# each answers is not judged: it ends with an exit code that a user can do something about, and says nothing of a bug.
#
# A soak, not part of continuous integration. Each may take $ORR_RANDOM_LIMIT seconds of CPU (120).
set -eu
orrery=$(realpath "$1") draw=$(realpath "$2") from=$3 count=$4
. "$(dirname "$0")/../scratch.sh"
limit=${ORR_RANDOM_LIMIT:-120} uses=0 bad=0

# try NAME COMMAND...: its exit code is one of sysexits, 0, 1 or 2.
try() {
    name=$1 code=0
    shift
    (ulimit -t "$limit" && exec "$orrery" "$@") >"out.$name" 2>"err.$name" || code=$?
    uses=$((uses + 1))
    case $code in
    0 | 1 | 2 | 64 | 65 | 66 | 69 | 71 | 73 | 75 | 78) ;;
    *) bad=$((bad + 1)) && echo "seed $seed: $name: exit $code: $(head -n 2 "err.$name" | tr '\n' ' ')" ;;
    esac
    if grep -qE 'Sanitizer|runtime error|This is a bug' "err.$name" "out.$name"; then
        bad=$((bad + 1))
        echo "seed $seed: $name: $(grep -hE 'Sanitizer|runtime error|This is a bug' "err.$name" "out.$name" | head -n 1)"
    fi
}
value() { sqlite3 -readonly r.db "SELECT $1"; }

# The middle of the run, the first trace, and what is asked of them.
ask() {
    middle=$(value 'max(1, (begin_ms + end_ms) / 2000) FROM run')s
    trace=$(sed -n 's/.*trace: "\{0,1\}\([^",}]*\).*/\1/p' s.yaml | head -n 1)
    queue=$(value 'name FROM queue LIMIT 1') job=$(value 'name FROM job ORDER BY id DESC LIMIT 1')
    case $((seed % 12)) in
    0) try forecast forecast s.yaml --allow-loss $options --at "$middle" --futures 3 --rehearse 2 --horizon 1d --json ;;
    1) try whatif whatif s.yaml --allow-loss $options --policy fifo && try whatif_kai whatif r.db --policy kai ;;
    2) for by in user queue job; do try "blame_$by" blame r.db --by $by --top 2; done ;;
    3) try faults faults r.db --each node --moments 1 ;;
    4)
        try growth growth r.db --months 3 --rate 20% --objective 'wait_p95_s <= 1h' --replicas 1
        try capacity capacity r.db --objective 'wait_p95_s <= 1h' --replicas 1 --vary cluster.pools.p0.nodes=1..4
        ;;
    5) try tune tune s.yaml --allow-loss --objective "wait_p95_s{queue=$queue} <= 1h" --replicas 1 --tries 6 ;;
    6)
        try replicas run s.yaml -o a.db -q --allow-loss --replicas 3 $options
        try replicas_kai run s.yaml -o b.db -q --allow-loss --replicas 3 $options --policy kai
        try compare compare a=a.db b=b.db --by queue
        ;;
    7) try propose gate --propose r.db && try gate gate r.db --baseline r.db --spec out.propose && try calibrate calibrate s.yaml --allow-loss $options ;;
    8)
        for what in stat fit anonymize; do try "$what" trace $what "$trace" --allow-loss -o "$what.out"; done
        try convert trace convert "$trace" --allow-loss -o c.swf
        try scale trace scale "$trace" --allow-loss --arrivals 2 -o scaled.csv
        try init init --trace "$trace" --allow-loss
        ;;
    9)
        try plot plot r.db -o figures && try dumb plot r.db -t dumb && try diff diff s.yaml r.db
        try at show r.db --at "$middle" && try stability explain r.db --stability --replicas 2
        ;;
    10)
        for table in jobs perfetto openmetrics placement eviction v_waits; do try "$table" export r.db $table; done
        try queue explain r.db --queue "$queue" && try job explain r.db --at "$middle" -- "$job"
        ;;
    11)
        try report report r.db -o r.html && try json run s.yaml --allow-loss $options --json -o j.db
        try save run s.yaml -q --allow-loss $options --save-at "$middle" -o saved.db
        [ ! -e saved.state ] || try from run --from saved.state -o from.db -q
        ;;
    esac
}

seed=$from
while [ "$seed" -lt $((from + count)) ]; do
    mkdir seed && cd seed
    if "$draw" "$seed" . >out 2>err; then
        options=$(cat options)
        try run run s.yaml -o r.db -q --allow-loss $options
        [ ! -e r.db ] || ask
    fi
    cd .. && rm -r seed
    seed=$((seed + 1))
done
echo "$uses uses on $count scenarios from seed $from: $bad bad"
[ "$bad" = 0 ]
