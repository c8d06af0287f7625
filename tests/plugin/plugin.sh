#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies from shared objects, hooks inside kai, and what --new writes, in whole runs: those that are right, and what each of the wrong ones ends with.
#
#   plugin.sh ORRERY SOURCE MODULES CASE
#
# Each function case_* is one test. Exit: 0 passed, 1 failed, 77 cannot be tested here.
set -eu

# shellcheck disable=SC2034
orrery=$1 source=$2 modules=$3 name=$4
. "$(dirname "$0")/../scratch.sh"
. "$(dirname "$0")/common.sh"

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
case_object_from_a_state() { # what runs as the run begins does not wait
    cat >trace.csv <<'END'
job,submit_s,run_s,pods,gpus_per_pod,running_since_s,running_on
r,0,500,1,4,0,n0001
w,10,100,1,6,,
END
    cat >s.yaml <<'END'
begin: 60s
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
END
    "$orrery" run s.yaml --policy "$modules/widest_first.so" --check-books -q -o run.db 2>err || fail "$(cat err)"
    [ "$(starts)" = 'r@0 w@500' ] || fail "starts: $(starts)"
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
case_object_is_asked_what_it_says() { # remarks, unheeded and starts_least of its table; narrows, where nodes can be ordered
    cat >trace.csv <<'END'
job,submit_s,run_s,pods,min_pods,gpus_per_pod
e,0,10,32,1,1
f,0,10,1,1,1
g,0,10,1,1,1
h,0,10,1,1,1
END
    cat >s.yaml <<'END'
horizon: 1h
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
END
    "$orrery" run s.yaml --policy "$modules/bad_slots.so" --param how=timer -o run.db --force --no-progress >out 2>&1 || fail "$(cat out)"
    grep -q 'how: bears on nothing' out && grep -q 'four jobs' out || fail "what it says: $(cat out)"
    [ "$(sqlite3 run.db 'SELECT count(*) FROM job')" = 4 ] || fail 'e can start with its minimum'
    sed 's/gpus: 8/gpus: 8, autoscale: {max: 3, provision: 1m, idle: 1h}/' s.yaml >grown.yaml
    code=0
    "$orrery" run grown.yaml --policy "$modules/bad_slots.so" --param how=timer -q -o grown.db 2>err || code=$?
    [ "$code" -eq 70 ] || fail "exit code $code"
    says 'bad_slots.so: crashed in narrows; no results are kept'
    code=0
    "$orrery" run s.yaml --policy "$modules/bad_slots.so" --param how=least_crash -q -o least.db 2>err || code=$?
    [ "$code" -eq 70 ] || fail "exit code $code"
    says 'bad_slots.so: crashed in starts_least; no results are kept'
}
case_object_is_asked_for_nodes() { # by autoscaled pools: jobs that may use the first node alone are no reason to order others
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,600,1,8\nb,0,600,1,8\n' >trace.csv
    cat >s.yaml <<'END'
horizon: 1h
cluster: {pools: {p: {nodes: 1, gpus: 8, autoscale: {max: 3, provision: 1m, idle: 1h}}}}
workload: [{name: t, trace: trace.csv}]
END
    "$orrery" run s.yaml --policy "$modules/bad_slots.so" --param how=nodes -q -o run.db --force 2>err || fail "$(cat err)"
    [ "$(sqlite3 run.db 'SELECT count(*) FROM away WHERE to_ms IS NOT NULL')" = 0 ] || fail 'a node was ordered'
    code=0
    "$orrery" run s.yaml --policy "$modules/bad_slots.so" --param how=nodes_crash -q -o crash.db 2>err || code=$?
    [ "$code" -eq 70 ] || fail "exit code $code"
    says 'bad_slots.so: crashed in nodes; no results are kept'
    "$orrery" run s.yaml --policy fifo -q -o run.db --force
    [ "$(sqlite3 run.db 'SELECT count(*) FROM away WHERE to_ms IS NOT NULL')" = 1 ] || fail 'no node was ordered for b'
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
case_object_hangs_and_a_signal() {
    ends_at_a_signal "$modules/bad.so" --param how=hang
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
refuses_hooks() {
    wanted=$1 sentence=$2
    shift 2
    hooked "$@"
    [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted"
    [ -z "$(find . -name '*.db*')" ] || fail "results were left: $(ls)"
    says "$sentence"
}
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
        "$orrery" run "$source/scenarios/mixed/mixed.yaml" --policy kai --set horizon=2d ${hooks:+"$hooks"} --json --force -o run.db >json
        grep -o '"digest":[^,]*' json
    done >out
    [ "$(sort out | uniq -c | awk '{ print $1 }')" = 2 ] || fail "digests: $(cat out)"
    ! grep '"asked": [1-9]' json || fail 'a pruner was asked, and knows nothing of hooks'
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

"case_$name"
