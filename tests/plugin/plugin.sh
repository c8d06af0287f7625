#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies from outside in whole runs: those that are right, and what each of the wrong ones ends with.
#
#   plugin.sh ORRERY SOURCE MODULES CASE
#
# Each function case_* is one test. Exit: 0 passed, 1 failed, 77 cannot be tested here.
set -eu

orrery=$1 source=$2 modules=$3 name=$4
. "$(dirname "$0")/../scratch.sh"

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

# ---- shared objects ----

case_object_runs() {
    run_to 0 "$modules/widest_first.so"
    [ "$(starts)" = 'a@0 b@10 c@60 d@60' ] || fail "starts: $(starts)"
    run_to 0 "$modules/widest_first.so" --param narrow=true --force
    [ "$(starts)" = 'a@0 b@10 c@60 d@60' ] || fail "starts of the narrow: $(starts)"
}
case_object_in_a_scenario() {
    mkdir s
    cp trace.csv "$modules/widest_first.so" s
    cat >s/s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
policy: {name: widest_first.so, params: {narrow: true}}
END
    "$orrery" run s/s.yaml -q -o run.db || fail 'a name in a scenario starts in its folder'
}
# a scenario in a folder, started from the one above it
from_above() {
    mkdir s
    cp trace.csv s
    cat >s/s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
policy: {name: fifo}
END
}
case_object_from_the_current_folder() {
    from_above
    cp "$modules/widest_first.so" "$modules/lost_work.so" .
    "$orrery" run s/s.yaml --set policy.name=./widest_first.so -q -o run.db || fail '--set of a name'
    "$orrery" run s/s.yaml --set policy=widest_first.so -q --force -o run.db || fail '--set of the short name'
    "$orrery" run s/s.yaml --set policy.name=kai --set policy.params.hooks=./lost_work.so -q --force -o run.db ||
        fail '--set of hooks'
    "$orrery" whatif s/s.yaml --base policy.name=./widest_first.so --set policy.name=easy >out 2>err ||
        fail "whatif --base: $(cat err)"
}
# files_of_policies: what the results say that they are of, by the names alone; each with its right sum
files_of_policies() {
    sqlite3 -separator '  ' run.db "SELECT sha256, path FROM input WHERE format = 'policy'" >sums
    [ ! -s sums ] || sha256sum -c --quiet sums >out 2>err || fail 'not their sums'
    sed 's|.*/||' sums | tr '\n' ' '
}
case_object_is_an_input() {
    cp "$modules/widest_first.so" "$modules/lost_work.so" .
    run_to 0 ./widest_first.so
    [ "$(files_of_policies)" = 'widest_first.so ' ] || fail "files: $(cat sums)"
    run_to 0 kai --param hooks=./lost_work.so --force
    [ "$(files_of_policies)" = 'lost_work.so ' ] || fail "files of hooks: $(cat sums)"
    run_to 0 kai --force
    [ "$(files_of_policies)" = '' ] || fail "files of what is built in: $(cat sums)"
}
case_object_changed_is_not_run_again() { # where an answer needs more runs
    cp "$modules/widest_first.so" mine.so
    run_to 0 ./mine.so
    mv run.db mine.db
    run_to 0 fifo
    printf x >>mine.so
    code=0
    "$orrery" compare mine.db run.db --replicas 2 --shake submit=1s -q --no-progress >out 2>err || code=$?
    [ "$code" -eq 65 ] || fail "exit code $code, expected 65"
    says 'mine.so: is not what the run of mine.db read: put that back, or make mine.db anew'
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
case_object_changed_in_a_sweep() {
    cp "$modules/widest_first.so" mine.so
    swept ./mine.so exp
    "$orrery" sweep run exp -q --no-progress >out 2>err || fail 'run'
    point=$(find exp/points -name '*.db' | sort | head -n 1)
    mv "$point" kept.db
    cp "$modules/bad_default.so" other.so
    cat other.so >mine.so
    code=0
    "$orrery" sweep run exp -q --no-progress >out 2>err || code=$?
    [ "$code" -eq 65 ] || fail "exit code $code, expected 65"
    says '/mine.so: is not what the sweep was planned with; plan it again into another folder'
    cp "$modules/widest_first.so" mine.so
    printf x >>mine.so
    swept ./mine.so exp2
    [ "$(sqlite3 exp/plan.db "SELECT key FROM sweep_point WHERE id = 0")" != \
        "$(sqlite3 exp2/plan.db "SELECT key FROM sweep_point WHERE id = 0")" ] || fail 'another build has the same key'
    # changed while the sweep ran: one point has it, and nobody looked
    mv kept.db "$point"
    sqlite3 "$point" "UPDATE input SET sha256 = 'x' WHERE format = 'policy'"
    code=0
    "$orrery" sweep merge exp -o merged.db >out 2>err || code=$?
    [ "$code" -eq 65 ] && [ ! -e merged.db ] || fail "exit code $code, expected 65"
    says '/mine.so than the sweep was planned with'
}
case_object_missing_names_both_paths() {
    from_above
    for option in --policy=./nobody.so --set=policy.name=./nobody.so; do
        code=0
        "$orrery" run s/s.yaml "$option" -q -o run.db >out 2>err || code=$?
        [ "$code" -eq 66 ] || fail "exit code $code, expected 66"
        says 'there is no file s/./nobody.so, nor ./nobody.so in the current folder'
    done
}
case_object_wrong_parameter() {
    run_to 78 "$modules/widest_first.so" --param narow=true
    says 'did you mean "narrow"?'
}
case_object_missing() {
    run_to 66 ./nobody.so
    says 'there is no file ./nobody.so'
}
case_object_no_object() {
    echo text >text.so
    run_to 78 ./text.so
    says 'cannot be loaded'
}
case_object_no_policy() {
    run_to 78 "$modules/bad_entry.so"
    says 'is a shared object without `orr_policy_entry`, so no policy'
}
case_object_other_contract() {
    run_to 78 "$modules/bad_contract.so"
    says 'is made for another version of the policy contract'
}
case_object_crashes() {
    run_to 70 "$modules/bad.so"
    says 'bad.so: crashed in cycle; no results are kept'
}
case_object_aborts() {
    run_to 70 "$modules/bad.so" --param how=abort
    says 'bad.so: aborted in cycle; no results are kept'
}
case_object_exits() {
    for how in exit quick under; do
        run_to 70 "$modules/bad.so" --param how=$how
        says 'bad.so: ended the process in cycle; no results are kept'
    done
}
case_object_hangs() {
    export ORRERY_POLICY_TIMEOUT=1
    run_to 70 "$modules/bad.so" --param how=hang
    says 'bad.so: did not return from cycle within 1 s'
}
case_object_uses_up_the_stack() {
    run_to 70 "$modules/bad.so" --param how=deep
    says 'bad.so: crashed in cycle; no results are kept'
}
case_object_crashes_at_loading() {
    run_to 70 "$modules/bad_constructor.so"
    says 'bad_constructor.so: crashed in its loading; no results are kept'
}
case_object_wakes_before() {
    for how in none 0 now past; do
        run_to 70 "$modules/bad.so" --param how=wake_$how
        says "bad.so: its wake returned"
        says 'which is not after now (0 ms)'
    done
}
case_object_wakes_for_ever() {
    run_to 0 "$modules/bad.so" --param how=timer
    [ "$(starts)" = 'a@0 b@10 c@60 d@60' ] || fail "starts: $(starts)"
}
case_object_wakes_for_ever_where_nodes_fail() {
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}, failures: {mtbf: 10d, repair: {median: 10m}}}
workload: [{name: t, trace: trace.csv}]
END
    code=0
    timeout 20 "$orrery" run s.yaml --policy "$modules/bad.so" --param how=timer -q -o run.db >out 2>err || code=$?
    [ "$code" -eq 0 ] || fail "exit code $code, expected 0"
    [ "$(starts)" = 'a@0 b@10 c@60 d@60' ] || fail "starts: $(starts)"
}
case_object_wrong_default() {
    run_to 78 "$modules/bad_default.so"
    says 'bad_default.so: the default of parameter how: "maybe" is not crash or'
    code=0
    "$orrery" policies "$modules/bad_default.so" >out 2>err || code=$?
    [ "$code" -eq 78 ] || fail "exit code $code of policies, expected 78"
    says 'the default of parameter how'
}
# a policy that does not end its cycle, and the first signal
ends_at_a_signal() {
    for signal in INT TERM; do
        "$orrery" run --trace trace.csv --cluster 2x8 -q -o run.db --policy "$@" 2>err </dev/null &
        pid=$!
        sleep 1
        kill -s "$signal" "$pid"
        code=0
        wait "$pid" || code=$?
        [ "$code" -eq 130 ] || fail "exit code $code, expected 130"
        [ -z "$(find . -name '*.db*')" ] || fail "results were left: $(ls)"
    done
}
case_object_hangs_and_a_signal() {
    ends_at_a_signal "$modules/bad.so" --param how=hang
}
case_child_asks_and_a_signal() {
    child "$hello"
    echo "while echo '{\"explain\": 0, \"reason\": \"reserved\"}'; do read -r answer; done" >>child.sh
    ends_at_a_signal 'exec:sh child.sh'
}
case_child_never_ends() {
    export ORRERY_POLICY_TIMEOUT=2 # a shell may take one to start
    child "$hello"
    cp child.sh begin.sh
    echo "while echo '{\"explain\": 0, \"reason\": \"reserved\"}'; do read -r answer; done" >>child.sh
    run_to 70 'exec:sh child.sh'
    says 'exec:sh child.sh: did not end its cycle within 2 s'
    cp begin.sh child.sh
    echo "exec yes '{\"explain\": 0, \"reason\": \"reserved\"}'" >>child.sh # and reads nothing
    run_to 70 'exec:sh child.sh'
    says 'within 2 s'
}
case_child_wakes_for_ever() {
    printf 'read -r hello\necho %s\n' "'$hello'" >child.sh
    cat >>child.sh <<'END'
read -r open
now=0
while read -r cycle; do
    for job in $(printf '%s' "$cycle" | grep -o '"submitted", *"job": *[0-9]*' | grep -o '[0-9]*$'); do
        printf '{"place": %s}\n' "$job"
        read -r answer
    done
    now=$((now + 600))
    printf '{"end": true, "wake_s": %s}\n' "$((now + 100000))"
done
END
    cat >trace.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod
a,0,100,1,4
END
    run_to 0 'exec:sh child.sh'
    [ "$(starts)" = 'a@0' ] || fail "starts: $(starts)"
}
# what is done to job a as b comes
harms() {
    run_to 70 "$modules/bad.so" --param how="$1"
    says "policy bad at 10000 ms, job $2"
}
case_object_evicts_for_no_cause() {
    harms cause_99 'a: is evicted with cause 99, which does not exist'
    harms cause_none 'a: is evicted with cause "none", which is the run'
    harms cause_rule 'a: is evicted with cause "max runtime", which is the run'
    harms for_nobody 'a: is evicted for job 77, which does not exist'
    harms for_itself 'a: is evicted for itself'
    harms for_future 'a: is evicted for a job that is not submitted yet'
}
case_object_explains_who_does_not_wait() {
    harms explain_running 'a: is explained, but does not wait'
    harms explain_future 'c: is explained, but is not submitted yet'
    harms proof 'b: is explained by numbers of what does not exist'
}
case_object_shrinks_a_gang() { # what is left of it goes at once
    for how in shrink shrink_all; do
        run_to 0 "$modules/bad.so" --param how=$how
        "$orrery" export run.db jobs | grep -q '^a,.*,0,0,110,0,110,finished,1,' || fail "$how: $("$orrery" export run.db jobs)"
        [ "$(sqlite3 run.db "SELECT group_concat(DISTINCT cause) FROM eviction")" = preempt ] || fail "$how: causes"
        rm run.db
    done
    printf 'job,submit_s,run_s,pods,min_pods,gpus_per_pod\na,0,100,2,1,8\nb,10,50,1,,8\n' >trace.csv
    run_to 0 "$modules/bad.so" --param how=shrink_all
    "$orrery" export run.db jobs | grep -q '^a,.*,finished,1,' || fail "elastic: $("$orrery" export run.db jobs)"
}
case_object_wrong_row() {
    for row in bad_row bad_row_far; do
        run_to 78 "$modules/$row.so"
        says "$row.so: parameter far: its type, its choices or its offset is wrong"
        code=0
        "$orrery" policies "$modules/$row.so" >out 2>err || code=$?
        [ "$code" -eq 78 ] || fail "exit code $code of policies, expected 78"
    done
}
case_object_wrong_name() {
    run_to 78 "$modules/bad_name.so"
    says 'bad_name.so: the `name` of its table is that of a built-in policy'
    run_to 78 "$modules/bad_word.so"
    says 'bad_word.so: the `name` of its table is no word of letters'
    code=0
    "$orrery" policies --new kai >out 2>err || code=$?
    [ "$code" -eq 64 ] || fail "exit code $code of --new, expected 64"
    says 'is the name of a built-in policy'
}
case_object_breaks_its_law() {
    run_to 70 "$modules/bad.so" --param how=part
    says 'policy bad'
}
case_object_explains_by_nothing() {
    run_to 70 "$modules/bad.so" --param how=reason
    says 'policy bad at 0 ms, job a: is explained by reason 250, which does not exist'
    run_to 70 "$modules/bad.so" --param how=no_job
    says 'policy bad at 0 ms: job 77 is explained, which does not exist'
}
case_object_acts_on_nobody() {
    run_to 70 "$modules/bad.so" --param how=place_nobody
    says 'policy bad at 0 ms: job 77 is placed, which does not exist'
    run_to 70 "$modules/bad.so" --param how=place_future
    says 'policy bad at 0 ms, job b: is placed, but is not submitted yet'
    run_to 70 "$modules/bad.so" --param how=evict_nobody
    says 'policy bad at 0 ms: job 77 is evicted, which does not exist'
    run_to 70 "$modules/bad.so" --param how=evict_future
    says 'policy bad at 0 ms, job b: is evicted, but is not submitted yet'
}
case_wrong_timeout() {
    export ORRERY_POLICY_TIMEOUT=soon
    run_to 64 "$modules/widest_first.so"
    says 'ORRERY_POLICY_TIMEOUT: "soon" is not a whole number of seconds'
}

# ---- hooks inside kai ----

# Two jobs of one queue that are victims: a (2 GPUs since 0 s) and b (6 GPUs since 10 s); c comes at 100 s.
hooked() {
    cat >trace.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod,priority
a,0,1000,1,2,0
b,10,1000,1,6,0
c,100,50,1,2,10
END
    code=0
    "$orrery" run --trace trace.csv --cluster 1x8 --policy kai -q --force -o run.db "$@" >out 2>err || code=$?
}
evicted() { "$orrery" export run.db attempt | awk -F, 'NR > 1 { printf "%s", substr("abc", $1 + 1, 1) }'; }
loses() {
    wanted=$1
    shift
    hooked "$@"
    [ "$code" -eq 0 ] || fail "exit code $code: $(cat err)"
    [ "$(evicted)" = "$wanted" ] || fail "lost its place: $(evicted), expected $wanted"
}
refuses_hooks() {
    wanted=$1 sentence=$2
    shift 2
    hooked "$@"
    [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted"
    [ -z "$(find . -name '*.db*')" ] || fail "results were left: $(ls)"
    says "$sentence"
}
case_hooks_order_victims() {
    loses b
    loses a --param "hooks=$modules/lost_work.so"
    loses b --param "hooks=$modules/hooks.so"
    loses a --param "hooks=$modules/hooks.so" --param hooks_with=victims
    loses a --param "hooks=$modules/hooks.so" --param hooks_with=filter
    loses a --param "hooks=$modules/hooks.so" --param hooks_with=jobs
}
case_hooks_score_nodes() {
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,100,1,2\nb,10,100,1,2\n' >trace.csv
    for with in none score; do
        "$orrery" run --trace trace.csv --cluster 2x8 --policy kai --param "hooks=$modules/hooks.so" \
            --param hooks_with=$with -q --force -o run.db
        "$orrery" export run.db jobs | awk -F, 'NR > 1 { printf "%s@%s ", $1, $NF }'
    done >out
    [ "$(cat out)" = 'a@n0001:2 b@n0001:2 a@n0001:2 b@n0002:2 ' ] || fail "places: $(cat out)"
}
case_hooks_order_queues() {
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {x: {gpu: [0, 1, unlimited]}, y: {gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai}
END
    cat >trace.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,1,x
b,0,10,1,3,y
c,5,10,1,3,x
d,6,10,1,3,y
END
    for with in none queues; do
        "$orrery" run s.yaml -q --force -o run.db --param reclaim=false --param "hooks=$modules/hooks.so" --param hooks_with=$with
        starts
    done >out
    [ "$(cat out)" = 'a@0 b@0 c@20 d@10a@0 b@0 c@10 d@20' ] || fail "starts: $(cat out)"
}
case_hooks_of_nothing() { # decide what kai decides, whose ways are other ones
    cp "$modules/hooks.so" .
    for hooks in '' --param=hooks=hooks.so; do
        "$orrery" run "$source/scenarios/mixed/mixed.yaml" --policy kai --set horizon=2d ${hooks:+"$hooks"} --json --force -o run.db |
            grep -o '"digest":[^,]*'
    done >out
    [ "$(sort out | uniq -c | awk '{ print $1 }')" = 2 ] || fail "digests: $(cat out)"
}
case_hooks_wrong() {
    refuses_hooks 66 'hooks ./nobody.so: there is no file' --param hooks=./nobody.so
    refuses_hooks 78 'without `orr_kai_hooks_entry`, so no hooks' --param "hooks=$modules/widest_first.so"
    refuses_hooks 78 "made for another version of kai's hooks" --param "hooks=$modules/hooks_contract.so"
    refuses_hooks 78 'has none of node_score, queue_order' --param "hooks=$modules/hooks_none.so"
    refuses_hooks 78 'hooks.so: its open failed and does not say why' --param "hooks=$modules/hooks.so" --param hooks_with=refuse
    refuses_hooks 70 'node_score returned a number that is not finite' --param "hooks=$modules/hooks.so" --param hooks_with=nan
    refuses_hooks 70 'hooks.so: ended the process in node_score; no results are kept' --param "hooks=$modules/hooks.so" --param hooks_with=exit
    refuses_hooks 70 'hooks.so: crashed in node_score; no results are kept' --param "hooks=$modules/hooks.so" --param hooks_with=crash
    export ORRERY_POLICY_TIMEOUT=1
    refuses_hooks 70 'did not return from node_score within 1 s' --param "hooks=$modules/hooks.so" --param hooks_with=hang
}

# ---- a new one, as its user would start it ----

case_new() {
    "$orrery" policies --new mine_2 >out 2>err || fail 'policies --new'
    CFLAGS="-Werror -I$source/core/include -I$source/core/base/include" ORRERY=$orrery sh ./mine_2_test.sh >out 2>err ||
        fail 'its test'
    code=0
    CFLAGS='' PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=/nowhere ORRERY=$orrery sh ./mine_2_test.sh >out 2>err || code=$?
    [ "$code" -eq 1 ] || fail "exit code $code without headers, expected 1"
    says 'pkg-config knows no orrery-core: set PKG_CONFIG_PATH'
    "$orrery" policies ./mine_2.so >out 2>err || fail 'policies ./mine_2.so'
    grep -q '^  backfill (bool; default true)$' out || fail 'its parameters'
    code=0
    "$orrery" policies --new mine_2 >out 2>err || code=$?
    [ "$code" -eq 73 ] || fail "exit code $code where the files are there, expected 73"
    says 'mine_2.c: File exists'
}
case_new_wrong_name() {
    code=0
    "$orrery" policies --new 2nd-one >out 2>err || code=$?
    [ "$code" -eq 64 ] && [ ! -e 2nd-one.c ] || fail "exit code $code, expected 64"
    says 'a name of small letters, digits and _'
}

# ---- child processes ----

case_child_runs() {
    child "$hello" '{"place": 0, "on": [[0, 1], [1, 1]]}' '{"end": true}' \
        '{"explain": 1, "reason": "no-capacity"}' '{"end": true, "wake_s": 15}' \
        '{"evict": 0, "for": 1}' '{"end": true}' '{"place": 1}' '{"end": true}' \
        '{"progress": [1]}' '{"rate": 1, "on": [[0, 1]]}' '{"end": true}' '{"place": 2}' \
        '{"place": 0}' '{"end": true}' '{"place": 3}' '{"end": true}' '{"end": true}' '{"end": true}' \
        '{"end": true}' '{"end": true}'
    run_to 0 'exec:sh child.sh'
    [ "$(starts)" = 'a@0 b@15 c@30 d@40' ] || fail "starts: $(starts)"
}
case_child_is_an_input() {
    child "$hello"
    cat >>child.sh <<'END'
while read -r cycle; do echo '{"end": true}'; done
END
    cp child.sh 'my child.sh'
    echo weights >w.bin
    echo before >log
    run_to 0 "exec:cd . && exec sh './my child.sh' --model=w.bin 2> log"
    [ "$(files_of_policies)" = 'my child.sh w.bin ' ] || fail "files: $(cat sums)"
    swept 'exec:sh child.sh' exp
    echo '# another' >>child.sh
    code=0
    "$orrery" sweep run exp -q --no-progress >out 2>err || code=$?
    [ "$code" -eq 65 ] || fail "exit code $code, expected 65"
    says '/child.sh: is not what the sweep was planned with'
}
# Pods of MIG instances go where the child has seen that there are some; every count is the one it reckons itself.
mig_world() {
    cat >s.yaml <<'END'
cluster: {pools: {a: {nodes: 2, gpus: 2, mig: {1g.5gb: 3}}, b: {nodes: 1, gpus: 0, mig: {3g.20gb: 2}}, c: {nodes: 1, gpus: 4}}}
workload: [{name: t, trace: mig.csv}]
END
    cat >mig.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod,mig_profile
a,0,100,2,,1g.5gb*2
b,10,50,2,,3g.20gb
c,20,30,1,2,
d,30,40,2,,1g.5gb
e,40,10,1,,1g.5gb*2
END
}
case_child_hears_of_instances() {
    need_python
    mig_world
    cat >first_fit.py <<'END'
import json, sys
def ask(message):
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())
told = open("told", "w")
hello = sys.stdin.readline()
print('{"protocol": 1, "name": "first-fit"}', flush=True)
nodes, jobs, waiting, held = {}, {}, [], {}
for line in sys.stdin:
    told.write(line)
    told.flush()
    message = json.loads(line)
    for node in message["nodes"]:
        nodes.setdefault(node["node"], {}).update(node)
    if message["type"] == "open":
        continue
    for event in message["events"]:
        job = event["job"]
        if event["event"] == "submitted":
            jobs[job] = event
            waiting.append(job)
        elif event["event"] == "ended":
            held.pop(job)
    for n, node in nodes.items():
        for profile, count in node.get("mig", {}).items():
            used = sum(k for seats in held.values() for m, p, k in seats if (m, p) == (n, profile))
            assert node["idle_mig"][profile] == count - used, (message, node, held)
    taken = {}  # in this cycle: the next one says what is idle then
    for job in list(waiting):
        group, on, left = jobs[job]["groups"][0], [], jobs[job]["pods"]
        profile, each = group.get("mig_profile"), group.get("instances")
        for n, node in nodes.items():
            room = (node["idle_mig"].get(profile, 0) - taken.get((n, profile), 0)) // each if profile else node["idle_gpus"] // int(group["gpus_per_pod"])
            if min(room, left) > 0:
                on.append([n, min(room, left)])
                left -= min(room, left)
        if left == 0:
            assert ask({"place": job, "on": on})["ok"]
            waiting.remove(job)
            held[job] = [(n, profile, pods * each) for n, pods in on] if profile else []
            for n, profile, count in held[job]:
                taken[n, profile] = taken.get((n, profile), 0) + count
    print('{"end": true}', flush=True)
END
    "$orrery" run s.yaml --policy 'exec:python3 first_fit.py' -q -o run.db 2>err || fail "exit code $?"
    [ "$(starts)" = 'a@0 b@10 c@20 d@30 e@100' ] || fail "starts: $(starts)"
    grep -F -q '"gpus":2,"model":null,"mig":{"1g.5gb":3},"idle_gpus":2,"idle_mig":{"1g.5gb":3}}' told || fail "nodes: $(sed -n 1p told)"
    grep -F -q '"gpus":4,"model":null,"mig":{},"idle_gpus":4,"idle_mig":{}}' told || fail "nodes: $(sed -n 1p told)"
    grep -F -q '"groups":[{"pods":2,"gpus_per_pod":2,"mig_profile":"1g.5gb","instances":2}]' told || fail "groups: $(sed -n 2p told)"
    grep -F -q '"groups":[{"pods":1,"gpus_per_pod":2}]' told || fail 'groups of devices'
    "$orrery" run --trace trace.csv --cluster 2x8 --policy 'exec:python3 first_fit.py' -q -o plain.db 2>err || fail 'without instances'
    ! grep mig told || fail 'without instances'
}
case_child_environment_of_instances() {
    need_python
    mig_world
    cat >steps.py <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from orrery_gym import OrreryEnv
env = OrreryEnv("s.yaml", window=2, orrery=sys.argv[1])
row, info = env.reset(seed=1)
assert row[0] == 1.0 and abs(row[1] - 4 / 20) < 1e-6, row  # 8 devices, 6 of 1g and 2 of 3g
row, reward, over, cut, info = env.step(0)
assert abs(row[0] - 16 / 20) < 1e-6, row
env.close()
END
    python3 steps.py "$orrery" "$source/sim/plugin/examples" >out 2>err || fail 'steps.py'
}
case_child_example() {
    need_python
    run_to 0 fifo --param order=shortest --param backfill=true
    built_in=$(starts)
    run_to 0 "exec:python3 '$source/sim/plugin/examples/shortest_first.py'" --force
    [ "$(starts)" = "$built_in" ] || fail "$(starts), fifo says $built_in"
}
case_child_environment() {
    need_python
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
END
    cat >steps.py <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from orrery_gym import OrreryEnv
env = OrreryEnv("s.yaml", window=3, orrery=sys.argv[1])
assert env.observation_space.shape == (10,) and env.action_space.n == 4
for episode in range(2):
    row, info = env.reset(seed=episode)
    assert len(row) == 10 and row[0] == 1.0 and row[1] == 0.5, row
    total, over, steps = 0.0, False, 0
    while not over:
        action = next((i for i in range(3) if steps % 4 == i), 3)
        row, reward, over, cut, info = env.step(action)
        assert all(0.0 <= x <= 1.0 for x in row) and reward <= 0.0 and not cut
        total, steps = total + reward, steps + 1
    assert info["waiting"] == 0 and total < 0.0, (info, total)
    print(steps, round(total * 3600))
row, info = env.reset(seed=1)
env.step(0)  # a, 8 of 16 GPUs
row, reward, over, cut, info = env.step(0)  # time passes: no job is there
refusals, steps = 0, 2
while not over:  # an agent that only ever wants the first job
    row, reward, over, cut, info = env.step(0)
    refusals, steps = refusals + info["refused"], steps + 1
    assert steps < 100
assert refusals > 0
env.close()
END
    python3 steps.py "$orrery" "$source/sim/plugin/examples" >out 2>err || fail 'steps.py'
    [ "$(sed -n 1p out)" = "$(sed -n 2p out)" ] || fail 'two episodes differ'
}
case_child_environment_expects() { # an expectation that is false is no failure of the episode
    need_python
    mkdir tmp
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
expect: [wait_p95_s <= 1]
END
    cat >numpy.py <<'END'
float32 = "float32"
def array(row, dtype):
    return (dtype, row)
END
    cat >steps.py <<'END'
import sys
sys.path[:0] = [".", sys.argv[2]]
from orrery_gym import OrreryEnv
env = OrreryEnv("s.yaml", window=3, orrery=sys.argv[1])
row, info = env.reset(seed=1)
assert row[0] == "float32" and len(row[1]) == 10, row
over = False
while not over:
    row, reward, over, cut, info = env.step(0)
    if not over and info["refused"]:
        env.step(3)
env.close()
END
    TMPDIR=$PWD/tmp python3 steps.py "$orrery" "$source/sim/plugin/examples" >out 2>err || fail 'steps.py'
    [ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"
}
case_child_forgets_jobs() {
    child "$hello" '{"place": 0}' '{"end": true}'
    echo "while read -r answer; do echo '{\"end\": true}'; done" >>child.sh
    run 'exec:sh child.sh' >/dev/null
    "$orrery" run --trace trace.csv --cluster 2x8 --policy 'exec:sh child.sh' --force -o run.db >out
    grep -q '^forgotten   3 jobs wait at the end, and the policy says of none why: first b$' out || fail "$(cat out)"
    "$orrery" run --trace trace.csv --cluster 2x8 --policy fifo --force -o run.db >out
    ! grep -q '^forgotten' out || fail 'fifo forgets none'
}
case_child_missing() {
    run_to 70 'exec:./nobody'
    says 'policy exec:./nobody: ended with exit code 127'
}
case_child_dies() {
    child "$hello" '{"end": true}'
    run_to 70 'exec:sh child.sh'
    says 'policy exec:sh child.sh: ended with exit code 0 in the middle of a run'
}
case_child_is_killed() {
    child "$hello"
    echo 'kill -9 $$' >>child.sh
    run_to 70 'exec:sh child.sh'
    says 'died of signal 9'
}
case_child_hangs() {
    export ORRERY_POLICY_TIMEOUT=1
    child "$hello"
    echo 'sleep 100' >>child.sh
    run_to 70 'exec:sh child.sh'
    says 'did not answer within 1 s'
    sleep 1
    ! pgrep -f "$dir" >/dev/null 2>&1 || fail 'it is still there'
}
case_child_never_reads() {
    export ORRERY_POLICY_TIMEOUT=1
    printf 'sleep 100\n' >child.sh
    run_to 70 'exec:sh child.sh'
    says 'within 1 s'
}
# what the child says after its hello, and what it is told of that
refused() {
    child "$hello" "$1" '{"end": true}'
    run_to 70 'exec:sh child.sh'
    says "$2"
}
case_child_garbage() { refused 'place 0' 'wrote "place 0": no JSON object of one line'; }
case_child_no_object() { refused '[1]' 'no JSON object of one line'; }
case_child_unknown() { refused '{"start": 0}' 'none of "place", "evict"'; }
case_child_no_job() { refused '{"place": 99}' 'there is no such job'; }
case_child_no_number() { refused '{"place": "a"}' 'its "place" is not the number of a job'; }
case_child_future_job() { refused '{"place": 3}' 'there is no such job'; }
case_child_over_allocates() { refused '{"place": 0, "on": [[0, 3]]}' 'has not so many pods to place'; }
case_child_full_node() { refused '{"place": 0, "on": [[0, 2], [0, 1]]}' 'node 0 no room for them (0 fit)'; }
case_child_no_node() { refused '{"place": 0, "on": [[7, 1]]}' '"on" names a node that there is not'; }
case_child_evicts_nobody() { refused '{"evict": 0}' 'the job does not run'; }
case_child_no_reason() { refused '{"explain": 0, "reason": "mood"}' 'there is no such reason'; }
case_child_wakes_before() { refused '{"end": true, "wake_s": 0}' '"wake_s" is not after now'; }
case_child_loose_messages() {
    refused '{"place": 0, "On": [[0, 1], [1, 1]]}' 'its "place" has no member "On"; the members are place, on, group'
    refused '{"place": 0, "evict": 1}' 'its "place" has no member "evict"'
    refused '{"place": 0, "place": 1}' 'its "place" is there twice'
    refused '{"place": 0, "on": [[0, 2]], "group": "zz"}' 'its "group" is not the number of a group'
    refused '{"place": 0, "group": 0}' '"group" goes with "on"'
    refused '{"place": 0, "on": []}' '"on" names no node'
    refused '{"place": 0, "on": ["[0, 2]"]}' '"on" is a list of [node, pods]'
    refused '{"place": 0, "on": [[0, 2, 1]]}' '"on" is a list of [node, pods]'
    refused '{"rate": 0}' '"on" names no node'
    refused '{"evict": 0, "for": "x"}' 'its "for" is not the number of a job'
    refused '{"progress": 0}' 'its "progress" is not a list of jobs'
    refused '{"end": false}' 'its "end" is not true'
    refused '{"end": true, "wake_s": true}' 'its "wake_s" is not seconds'
}
case_child_explains_who_runs() {
    child "$hello" '{"place": 0}' '{"end": true}' '{"explain": 0, "reason": "no-capacity"}'
    run_to 70 'exec:sh child.sh'
    says '"reason": "no-capacity"}": the job does not wait'
}
case_child_hears_of_queues() { # the limit of a queue, and the seed
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
queues: {a: {gpu: [4, 1, 6]}, b: {gpu: [4, 1, 6]}}
workload: [{name: t, trace: trace.csv}]
events: [{at: 1m, set: {queues.b.gpu.limit: 5}}]
END
    printf 'job,submit_s,run_s,gpus,queue\na,0,100,4,a\nb,70,10,4,b\n' >trace.csv
    cat >child.sh <<'END'
read -r hello
echo '{"protocol": 1, "name": "mine", "limit": true}'
while read -r line; do
    echo "$line" >>heard
    for job in $(printf '%s' "$line" | grep -o '"submitted", *"job": *[0-9]*' | grep -o '[0-9]*$'); do
        printf '{"place": %s}\n' "$job"
        read -r answer
    done
    case $line in *'"cycle"'*) echo '{"end": true}' ;; esac
done
END
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --seed 7 --force -o run.db >out 2>err || fail "$(cat err)"
    ! grep -q 'not heeded.*limit' out || fail 'its limits are heeded'
    grep -q '"type":"open","now_s":0,"seed":7,' heard || fail "open: $(sed -n 1p heard)"
    grep -q '"now_s":0,.*"queues":\[\]}$' heard || fail "no queue: $(sed -n 2p heard)"
    [ "$(grep -c '"queues":\[{"queue":1,"quota_gpus":4,"limit_gpus":5,"weight":1}\]}$' heard)" -eq 1 ] || fail "queues: $(cat heard)"
}
case_child_has_no_futures() { # each would be a run of its own, of one child
    child "$hello"
    code=0
    "$orrery" forecast --trace trace.csv --cluster 2x8 --policy 'exec:sh child.sh' --at 20 --futures 2 --rehearse 0 -j 1 >out 2>err || code=$?
    [ "$code" -eq 78 ] || fail "exit code $code, expected 78"
    says 'policy exec:sh child.sh is another process, which cannot be at two runs at a time'
}
case_child_part_of_a_gang() {
    refused '{"place": 0, "on": [[0, 1]]}' 'policy mine'
}
case_child_other_protocol() {
    child '{"protocol": 2, "name": "mine"}'
    run_to 70 'exec:sh child.sh'
    says 'its "protocol" is not 1'
}
case_child_name_of_a_built_in() {
    child '{"protocol": 1, "name": "fifo"}'
    run_to 70 'exec:sh child.sh'
    says 'its "name" is that of a built-in policy'
    ! grep -q 'exec:.*: policy' err || fail "the command stands there twice: $(cat err)"
}
case_child_no_name() {
    child '{"protocol": 1, "name": "a b"}'
    run_to 70 'exec:sh child.sh'
    says 'its "name" is no word'
}
# what is wrong with its first line
hello_refused() {
    child "$1"
    run_to 70 'exec:sh child.sh'
    says "$2"
}
case_child_unknown_member() {
    hello_refused '{"protocol": 1, "name": "mine", "gangs": true}' \
        'its hello has no member "gangs"; the members are protocol, name, gang, limit, topology, '
    hello_refused '{"protocol": 1, "name": "mine", "gang": "no"}' 'its "gang" is not true or false'
    hello_refused '{"protocol": 1, "name": "mine", "heeds": ["prio"]}' 'its "heeds" has no word "prio"; the words are priority queues '
    hello_refused '{"protocol": 1, "name": "mine", "heeds": "work"}' 'its "heeds" is not a list of words'
}
case_child_wrong_lists() {
    hello_refused '{"protocol": 1, "name": "mine", "abilities": ["part"]}' \
        'its "abilities" has no word "part"; the words are stale-gangs parts scale losses'
    hello_refused '{"protocol": 1, "name": "mine", "abilities": [""]}' 'its "abilities" has no word ""'
    hello_refused '{"protocol": 1, "name": "mine", "bars": ["limit", "gpus"]}' 'its "bars" has no word "gpus"; the words are limit quota'
    hello_refused '{"protocol": 1, "name": "mine", "shares": 1}' 'its "shares" is not true or false'
    refused '{"end": true, "shares": [[0, 1]]}' 'its hello does not say that it has "shares"'
    hello='{"protocol": 1, "name": "mine", "shares": true}'
    for shares in '[[7, 1]]' '[[0, -1]]' '[["a", 1]]' '[[0]]' '[0]' '[[0, 4], "x"]' '["[0, 5]"]'; do
        refused "{\"end\": true, \"shares\": $shares}" '"shares" is a list of [queue, GPUs], of queues that hold jobs'
    done
    refused '{"end": true, "shares": {"a": [0, 1]}}' 'its "shares" is not a list of [queue, GPUs]'
}
# what_it_hears MEMBERS: places all it hears of; its share grows by a GPU a cycle. Job a loses a pod with its node, b passes the limit of its queue.
what_it_hears() {
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 4}}, failures: {mtbf: 30m, repair: {median: 4m}}}
queues: {a: {gpu: [4, 1, 6]}}
workload: [{name: t, trace: trace.csv}]
horizon: 2h
warmup: 0s
END
    printf 'job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue\na,0,20000,2,1,3,a\nb,5,100,2,2,4,a\n' >trace.csv
    cat >child.sh <<END
read -r hello
echo '{"protocol": 1, "name": "mine"$1}'
n=0
while read -r line; do
    echo "\$line" >>heard
    case \$line in *submitted* | *'"changed"'*) echo '{"place": 0}' && read -r answer ;; esac
    n=\$((n + 1))
    case \$line in *'"cycle"'*) echo "{\"end\": true${2-}}" ;; esac
done
END
    rm -f heard
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --force -o run.db >out 2>err || fail "$(cat err)"
}
case_child_abilities() {
    what_it_hears ''
    ! grep -q '"event":"changed"' heard || fail 'it hears of changes'
    grep -q '"event":"requeued","job":0' heard || fail 'a job that lost a pod goes on'
    what_it_hears ', "abilities": ["losses"]'
    grep -q '"event":"changed","job":0,"next_pods":1' heard || fail 'it does not hear what job a lacks'
}
case_child_bars() {
    what_it_hears ''
    [ "$("$orrery" export run.db never | wc -l)" -le 1 ] || fail 'a bar that nobody declared'
    what_it_hears ', "bars": ["limit"]'
    "$orrery" export run.db never | grep -q '8000,6000' || fail "never: $("$orrery" export run.db never)"
}
case_child_shares() {
    what_it_hears ', "shares": true' ', \"shares\": [[0, $n]]'
    "$orrery" export run.db fair_share | head -n 3 >shares
    printf 'queue,at_ms,mgpu\n0,0,2000\n0,5000,3000\n' | cmp -s - shares || fail "shares: $(cat shares)"
}
case_child_heeds_topology() { # two pods that require one rack, put into two
    cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 4, rack_size: 1, block_size: 2}}}
workload: [{name: t, trace: trace.csv}]
END
    printf 'job,submit_s,run_s,pods,gpus_per_pod,topology_required\na,0,100,2,2,rack\n' >trace.csv
    child '{"protocol": 1, "name": "mine"}' '{"place": 0, "on": [[0, 1], [1, 1]]}' '{"end": true}' '{"end": true}'
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --force -o run.db >out 2>err || fail 'a child that does not heed it'
    grep -q 'the topology that 1 job or its roles ask for: policy mine places its pods without it' out || fail 'no note'
    child '{"protocol": 1, "name": "mine", "topology": true}' '{"place": 0, "on": [[0, 1], [1, 1]]}' '{"end": true}'
    code=0
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --force -o run.db >out 2>err || code=$?
    [ "$code" -eq 70 ] || fail "exit code $code, expected 70"
    says 'policy mine at 0 ms, job a: '
}
case_child_started_elsewhere() { # again from another folder: the error says from which
    child "$hello" '{"place": 0}' '{"end": true}'
    echo "while read -r answer; do echo '{\"end\": true}'; done" >>child.sh
    run_to 0 'exec:sh child.sh' --force
    cp run.db twice.db
    mkdir other
    cd other
    code=0
    "$orrery" compare ../run.db ../twice.db --replicas 2 >out 2>err || code=$?
    [ "$code" -eq 70 ] || fail "exit code $code, expected 70"
    says "; its command was started in $PWD"
}
case_child_endless_line() {
    printf 'read -r hello\nyes x | tr -d "\\n"\n' >child.sh
    run_to 70 'exec:sh child.sh'
    says 'wrote a line of over a MiB'
}

"case_$name"
