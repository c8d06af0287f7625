# SPDX-License-Identifier: GPL-3.0-or-later
# What plugin.sh and child.sh share: a small trace, runs of it, and what a run with a fault has to say. The caller has set
# orrery, source, modules and is in a folder of its own.
cat >trace.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod
a,0,100,2,4
b,10,50,1,8
c,20,10,2,2
d,30,10,1,4
END

# run POLICY OPTION...: 16 GPUs on two nodes. run_to CODE ...: the exit code; no results but with 0.
run() {
    policy=$1
    shift
    "$orrery" run --trace trace.csv --cluster 2x8 --policy "$policy" -q -o run.db "$@"
}
run_to() {
    wanted=$1 code=0
    shift
    run "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted"
    [ "$wanted" -eq 0 ] || [ -z "$(find . -name '*.db*')" ] || fail "results were left: $(ls)"
}
says() { grep -F -q -e "$1" err || fail "stderr does not say: $1"; }
starts() {
    "$orrery" export run.db jobs |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { printf "%s%s@%s", (NR > 2 ? " " : ""), $(at["job"]), $(at["start_s"]) }'
}
# child LINE...: what a child process says, a line an answer; it reads one before each but the first two.
child() {
    printf '#!/bin/sh\nread -r hello\n' >child.sh
    for line in "$@"; do
        printf "printf '%%s\\\\n' '%s'\nread -r answer\n" "$line" >>child.sh
    done
}
hello='{"protocol": 1, "name": "mine"}'
need_python() { command -v python3 >/dev/null 2>&1 || exit 77; }
# files_of_policies: what the results say that they are of, by the names alone; each with its right sum
files_of_policies() {
    sqlite3 -separator '  ' run.db "SELECT sha256, path FROM input WHERE format = 'policy'" >sums
    [ ! -s sums ] || sha256sum -c --quiet sums >out 2>err || fail 'not their sums'
    sed 's|.*/||' sums | tr '\n' ' '
}
# Two points of one setting, one of them run with another build.
swept() { # POLICY
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
END
    printf 'kind: Sweep\nbase: s.yaml\nreplicas: 2\naxes: {policy: {policy.name: ["%s"]}}\n' "$1" >exp.yaml
    "$orrery" sweep plan exp.yaml -o "$2" -q >out 2>err || fail 'plan'
}
# a policy that does not end its cycle, and the first signal
ends_at_a_signal() {
    for signal in INT TERM; do
        "$orrery" run --trace trace.csv --cluster 2x8 -q -o run.db --policy "$@" 2>err </dev/null &
        pid=$!
        while [ ! -e "run.db.tmp.$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
        kill -s "$signal" "$pid"
        code=0
        wait "$pid" || code=$?
        [ "$code" -eq 130 ] || fail "exit code $code, expected 130"
        [ -z "$(find . -name '*.db*')" ] || fail "results were left: $(ls)"
    done
}
