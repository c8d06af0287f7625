# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by recompute.sh and recompute_shares.sh: SCRIPT ORRERY SOURCE_DIR NAME. The metrics of a run, made again by
# recompute.sql from its raw rows, are the stored ones. Each case_* function is one test.
orrery=$1 source=$2
. "$(dirname "$0")/../scratch.sh"

# holds LEAST ORRERY-OPTION...: the run's numbers are made again, at least so many of them.
holds() {
    least=$1
    shift
    code=0
    "$orrery" run "$@" -o run.db --force --quiet --no-progress >out 2>&1 || code=$?
    { [ "$code" = 0 ] || [ "$code" = 1 ]; } || fail "run: $(cat out)" # 1: an expectation is false
    sqlite3 -bail -readonly run.db <"$source/tests/metrics/recompute.sql" >said 2>&1 || fail "$(cat said)"
    grep -q ' compared, 0 differ$' said || fail "$*
$(cat said)"
    [ "$(sed -n 's/ compared.*//p' said)" -ge "$least" ] || fail "$*: few numbers: $(cat said)"
}

has() { # SQL-CONDITION: what a case is about is in the last run
    [ "$(sqlite3 run.db "SELECT $1")" = 1 ] || fail "the run has no $1"
}

# A piece of Philly on too few GPUs: queues with quotas under two departments, a warm-up, and a
# horizon at which thousands still wait.
philly() { # POLICY HORIZON SECONDS-OF-TRACE
    zcat "$source/traces/data/philly.csv.gz" | awk -F, -v span="$3" 'NR == 1 || ($2 > 4000000 && $2 < 4000000 + span)' >philly.csv
    cat <<YAML
cluster: {pools: {p: {nodes: 30, gpus: 8}}}
queues:
  research: {gpu: [160, 1, unlimited]}
  product: {gpu: [80, 3, unlimited]}
  6214e9: {parent: research, gpu: [60, 2, unlimited]}
  11cb48: {parent: research, gpu: [60, 1, 100]}
  b436b2: {parent: research, gpu: [0, 1, unlimited]}
  "103959": {parent: product, gpu: [40, 1, unlimited]}
YAML
    for queue in 0e4a51 23dbec 2869ce 51b7ef 6c71a0 795a4c 7f04ca 925e2b e13805 ed69ec ee9e8c; do
        printf '  "%s": {parent: product, gpu: [2, 1, unlimited]}\n' "$queue"
    done
    printf 'workload: [{name: t, trace: philly.csv}]\npolicy: %s\nwarmup: 12h\nhorizon: %s\n' "$1" "$2"
}
