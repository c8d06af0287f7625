# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced. judge FOLDER: runs s.yaml there and whatever can judge the results; prints one line: `right`,
# `empty` (no job is left to run), or what is wrong. Needs $orrery, $here and $limit (seconds of CPU a program; ten times as long on the clock).

# try NAME CODES PROGRAM...: runs it; unless its exit code is among CODES the scenario is judged wrong.
try() {
    name=$1 codes=$2 code=0
    shift 2
    (ulimit -t "$limit" && exec timeout -k 5 "${limit}0" "$@") >"$name.out" 2>"$name.err" </dev/null || code=$?
    case " $codes " in
    *" $code "*) return 0 ;;
    esac
    if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
        echo "$name: beyond $limit s of CPU"
    else
        echo "$name: exit $code: $(cat "$name.err" "$name.out" | grep -v '^ *$' | head -n "${ORR_RANDOM_LINES:-3}" | cut -c 1-300 | tr '\n' '|')"
    fi
    return 1
}

# easy's variant unguarded keeps no promise by design; nothing else may be broken then.
lawful() {
    try audit '0 1' "$orrery" audit r.db || return 1
    [ "$code" = 1 ] || return 0
    case $(sqlite3 -readonly r.db "SELECT count(*) FROM shard WHERE policy_params LIKE '%variant=unguarded%'") in
    0) ;;
    *) awk '$3 ~ /^[1-9][0-9]*$/ && $1 != "promise" { other = 1 } END { exit other }' audit.out && return 0 ;;
    esac
    echo "audit: $(grep -v '^ *$' audit.out | awk '$3 ~ /^[1-9][0-9]*$/ || / at [-0-9.]+ s: /' | head -n 5 | cut -c 1-300 | tr '\n' '|')"
    return 1
}

# The numbers of the store, made again; not what it could not know (recompute.sql says what).
made_again() {
    try recompute 0 sqlite3 -bail -readonly r.db ".read $here/../metrics/recompute.sql" || return 1
    tail -n 1 recompute.out | grep -q ' compared, 0 differ$' ||
        { echo "recompute: $(tail -n 1 recompute.out): $(sed -n 1,3p recompute.out | tr '\n' ';')"; return 1; }
}

# What can never start is known before anything runs, with the reasons (needs jq). A run that was cut may not have come to all;
# one that waits for others may come when an event has taken its nodes.
foreseen() {
    try check '0 1' "$orrery" check s.yaml --allow-loss --json $options || return 1
    command -v jq >/dev/null || return 0
    before=$(jq -r '.never | to_entries[] | "\(.key)|\(.value)"' check.out | sort)
    after=$(sqlite3 -readonly r.db 'SELECT r.code, count(*) FROM never AS n JOIN reason AS r ON r.id = n.reason GROUP BY r.code' | sort)
    cut=$(sqlite3 -readonly r.db "SELECT status = 'horizon' FROM run")
    foreseen=$(jq .never_startable check.out) found=$(sqlite3 -readonly r.db 'SELECT count(*) FROM never')
    [ "$before" = "$after" ] || { [ "$cut" = 1 ] && [ "$foreseen" -gt "$found" ]; } ||
        { [ "$foreseen" -lt "$found" ] && grep -Eqs 'set: \{cluster.pools|fail: "[^"]*"\}' s.yaml base.yaml; } ||
        { echo "check: never $before, the run: $after" | tr '\n' ' '; return 1; }
}

# What was stored can be read back: the experiment bundled and repeated without a look at its books, and by
# turns what else reads it. Figures are most of a report, hence its long turn.
told_again() {
    try bundle 0 "$orrery" bundle r.db -o b.tar.zst || return 1
    try verify 0 "$orrery" verify b.tar.zst --sample 0 -j 1 || return 1
    case $(($1 % 16)) in
    0) try report 0 "$orrery" report r.db -o r.html ;;
    1 | 5 | 9 | 13) try explain 0 "$orrery" explain r.db -- "$(sqlite3 -readonly r.db 'SELECT name FROM job ORDER BY id DESC LIMIT 1')" ;;
    2 | 6 | 10 | 14) try export 0 "$orrery" export r.db jobs ;;
    3 | 7 | 11 | 15) foreseen ;;
    *)
        sqlite3 -readonly r.db 'SELECT scenario_resolved FROM run' >stored.yaml
        try show 0 "$orrery" show stored.yaml --resolved
        ;;
    esac
}

# An expectation may be false (exit 1); a trace may leave nothing to run, or kueue not know such quotas (65); a run may be endless (78).
judge() (
    cd "$1"
    options=$(cat options)
    try run '0 1 64 65 78' "$orrery" run s.yaml -o r.db -q --check-books --allow-loss $options || return 0
    if [ ! -e r.db ]; then
        if grep -Eq 'no job is left to run|under kueue a cohort owns|Kueue has only limits on|must be of flavors too|(preemption.borrow|borrow_within_cohort) (needs|has no place)|not together with strict_v017|kueue: jobs ask for MIG instances' run.err; then
            echo empty
        elif grep -q 'the run does not come to an end: .* give the scenario a horizon' run.err; then
            echo right # refused as endless, which it says how to mend
        elif grep -q 'cannot be where running_on says' run.err; then
            echo right # an event by the begin took the node of a job that runs then
        elif grep -q ': warmup: the last submit, .* is within the warm-up of' run.err && grep -q '^warmup: ' ./*.yaml; then
            sed -i '/^warmup: /d' ./*.yaml # refused as it should be; all else is judged without
            cd .. && judge "$1"
        else
            echo "run: $(head -n 2 run.err | tr '\n' ' ')"
        fi
        return 0
    fi
    lawful || return 0
    made_again || return 0
    told_again "$1" || return 0
    echo right
)
