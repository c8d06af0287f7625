#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run that is held at a time goes on as one that is not: in a process forked there, and from a state that was saved.
#
#   fork.sh ORRERY WORK_DIR SOURCE_DIR FORK_TIMES DRAW [TIMES SEEDS]
# TIMES random times of each of SEEDS random scenarios (services, failures, elastic gangs, rounds, past usage, ...) under every
# policy. More: 100 10.
set -eu

orrery=$1 work=$2 source=$3 fork_times=$4 draw=$5 times=${6:-3} seeds=${7:-3}
. "$(dirname "$0")/../scratch.sh"

exits() { # CODE COMMAND...
    wanted=$1 code=0
    shift
    "$orrery" "$@" >out 2>err || code=$?
    [ "$code" = "$wanted" ] || fail "exit $code, not $wanted: orrery $*: $(cat out err)"
}
digest() { sqlite3 "$1" "SELECT digest FROM run"; }

# Forked: the scenarios that say what they are for, under policies of each kind; then random ones under all.
ran=0 refused=0
held() { # SCENARIO POLICY SEED
    code=0
    "$fork_times" "$1" "$2" "$times" "$3" >out 2>err || code=$?
    case $code in
    0) ran=$((ran + 1)) ;;
    77) refused=$((refused + 1)) ;; # not every policy takes every scenario
    *) fail "$1 under $2 goes on otherwise where it is held (seed $3): exit $code" ;;
    esac
}
policies=$("$orrery" policies | sed -n 's/^\([a-z]*\)  *[^ ].*/\1/p' | sed '/^orrery$/d')
[ "$(printf '%s\n' "$policies" | wc -l)" -ge 15 ] || fail "not all policies: $policies"
seed=1
while [ "$seed" -le "$seeds" ]; do
    mkdir "d$seed"
    "$draw" "$seed" "d$seed" >out
    held "d$seed/s.yaml" - "$seed"
    for policy in $policies; do held "d$seed/s.yaml" "$policy" "$seed"; done
    seed=$((seed + 1))
done
for name in inference gang hoarding turns; do held "$source/scenarios/whatif/$name/$name.yaml" - 1; done
[ "$ran" -gt "$refused" ] || fail "$ran ran, $refused were refused"

# Saved: a quota that changes in the middle as if the scenario had listed it.
cp "$source"/scenarios/whatif/reclaim/* .
mv reclaim.yaml s.yaml
grep -q '^  research:' s.yaml || fail "the scenario has no queue research"
exits 0 run s.yaml -o whole.db -q --no-progress
exits 0 run s.yaml -o r.db --save-at 6h -q --no-progress
[ "$(digest r.db)" = "$(digest whole.db)" ] || fail "saving changes the run"
exits 0 run --from r.state -o on.db -q --no-progress
[ "$(digest on.db)" = "$(digest whole.db)" ] || fail "the rest is another"
"$orrery" run --from r.state -o less.db -q --no-progress --set queues.research.gpu.quota-=2 2>err || true
cat s.yaml >listed.yaml
echo 'events: [{at: 6h, set: {queues.research.gpu.quota: -=2}}]' >>listed.yaml
"$orrery" run listed.yaml -o listed.db -q --no-progress 2>err || true
[ "$(digest less.db)" = "$(digest listed.db)" ] || fail "what is set from then on is not an event of that time"
[ "$(digest less.db)" != "$(digest whole.db)" ] || fail "the change changes nothing"

# One that does not come there is refused; so is what cannot change in the middle, and what a state says already.
cp r.state lie.state
sqlite3 lie.state "UPDATE state SET digest = '0123456789abcdef'"
exits 65 run --from lie.state -o no.db --no-progress
grep -q 'does not come there' err || fail "$(cat err)"
[ ! -e no.db ] || fail "half a file"
exits 78 run --from r.state -o no.db --no-progress --set policy.name=fifo
exits 64 run --from r.state -o no.db --no-progress --policy fifo
exits 64 run --from r.state s.yaml -o no.db --no-progress
exits 64 run s.yaml --state x.state
exits 65 run --from s.yaml -o no.db
exits 66 run --from none.state -o no.db
printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,100,1,1\nb,50,100,1,1\n' >t.csv
exits 0 run --trace t.csv --cluster 1x1 --policy fifo -o t.db --save-at 1m -q --no-progress
printf 'c,60,100,1,1\n' >>t.csv
exits 65 run --from t.state -o no.db --no-progress
grep -q 't.csv: is not the trace' err || fail "$(cat err)"
printf '%s scenarios and policies held at %s times, %s refused\n' "$ran" "$times" "$refused"
