#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies that are child processes, in whole runs: those that are right, and what each of the wrong ones ends with.
#
#   child.sh ORRERY SOURCE MODULES CASE
#
# Each function case_* is one test. Exit: 0 passed, 1 failed, 77 cannot be tested here.
set -eu

# shellcheck disable=SC2034
orrery=$1 source=$2 modules=$3 name=$4
. "$(dirname "$0")/../scratch.sh"
. "$(dirname "$0")/common.sh"

case_child_asks_and_a_signal() {
    child "$hello"
    echo "while echo '{\"explain\": 0, \"reason\": \"reserved\"}'; do read -r answer; done" >>child.sh
    ends_at_a_signal 'exec:sh child.sh'
}
case_child_never_ends() {
    export ORRERY_POLICY_TIMEOUT=5 # a shell may take some of them to start
    child "$hello"
    cp child.sh begin.sh
    echo "while echo '{\"explain\": 0, \"reason\": \"reserved\"}'; do read -r answer; done" >>child.sh
    run_to 70 'exec:sh child.sh'
    says 'exec:sh child.sh: did not end its cycle within 5 s'
    cp begin.sh child.sh
    echo "exec yes '{\"explain\": 0, \"reason\": \"reserved\"}'" >>child.sh # and reads nothing
    run_to 70 'exec:sh child.sh'
    says 'within 5 s'
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
received = open("received", "w")
hello = sys.stdin.readline()
print('{"protocol": 1, "name": "first-fit"}', flush=True)
nodes, jobs, waiting, held = {}, {}, [], {}
for line in sys.stdin:
    received.write(line)
    received.flush()
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
    grep -F -q '"gpus":2,"model":null,"mig":{"1g.5gb":3},"idle_gpus":2,"idle_mig":{"1g.5gb":3}}' received || fail "nodes: $(sed -n 1p received)"
    grep -F -q '"gpus":4,"model":null,"mig":{},"idle_gpus":4,"idle_mig":{}}' received || fail "nodes: $(sed -n 1p received)"
    grep -F -q '"groups":[{"pods":2,"gpus_per_pod":2,"mig_profile":"1g.5gb","instances":2}]' received || fail "groups: $(sed -n 2p received)"
    grep -F -q '"groups":[{"pods":1,"gpus_per_pod":2}]' received || fail 'groups of devices'
    "$orrery" run --trace trace.csv --cluster 2x8 --policy 'exec:python3 first_fit.py' -q -o plain.db 2>err || fail 'without instances'
    ! grep mig received || fail 'without instances'
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
# Did the child never start, or is it dead, whether or not somebody has waited for it?
is_gone() {
    [ -e pid ] || return 0
    state=$(sed 's/.*) //; s/ .*//' "/proc/$(cat pid)/stat" 2>/dev/null) || return 0
    [ "$state" = Z ] || [ -z "$state" ]
}
case_child_hangs() {
    export ORRERY_POLICY_TIMEOUT=1
    child "$hello"
    echo 'echo $$ >pid; sleep 100' >>child.sh
    run_to 70 'exec:sh child.sh'
    says 'did not answer within 1 s'
    tries=0
    until is_gone; do # whoever takes in orphans may take a while to wait for it
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail 'it is still there'
        sleep 0.1
    done
}
case_child_never_reads() {
    export ORRERY_POLICY_TIMEOUT=1
    printf 'sleep 100\n' >child.sh
    run_to 70 'exec:sh child.sh'
    says 'within 1 s'
}
# what the child says after its hello, and what it gets in answer
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
case_child_wakes_too_late() { refused '{"end": true, "wake_s": 1e300}' '"wake_s" is above 1e12 s; null is no wish'; }
case_child_rates_what_cannot_be() { # a: two pods of 4 GPUs; b: one of 8
    refused '{"rate": 0, "on": [[0, 9]]}' '"on" is out of range: the group of job 0 has 2 pods, and of them node 0 holds 2 at most'
    refused '{"rate": 0, "on": [[0, 2], [1, 1]]}' 'has 2 pods'
    sed 's/^a,.*/a,0,100,3,4/' trace.csv >t.csv
    mv t.csv trace.csv
    refused '{"rate": 0, "on": [[1, 1], [0, 2], [1, 2]]}' '"on" is out of range'
    refused '{"rate": 0, "on": [[1, 3]]}' 'has 3 pods, and of them node 1 holds 2 at most'
}
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
    echo "$line" >>received
    for job in $(printf '%s' "$line" | grep -o '"submitted", *"job": *[0-9]*' | grep -o '[0-9]*$'); do
        printf '{"place": %s}\n' "$job"
        read -r answer
    done
    case $line in *'"cycle"'*) echo '{"end": true}' ;; esac
done
END
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --seed 7 --force -o run.db >out 2>err || fail "$(cat err)"
    ! grep -q 'not heeded.*limit' out || fail 'its limits are heeded'
    grep -q '"type":"open","now_s":0,"seed":7,' received || fail "open: $(sed -n 1p received)"
    grep -q '"now_s":0,.*"queues":\[\]}$' received || fail "no queue: $(sed -n 2p received)"
    [ "$(grep -c '"queues":\[{"queue":1,"quota_gpus":4,"limit_gpus":5,"weight":1}\]}$' received)" -eq 1 ] || fail "queues: $(cat received)"
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
# what_it_gets MEMBERS: places all that come; its share grows by a GPU a cycle. Job a loses a pod with its node, b passes the limit of its queue.
what_it_gets() {
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
    echo "\$line" >>received
    case \$line in *submitted* | *'"changed"'*) echo '{"place": 0}' && read -r answer ;; esac
    n=\$((n + 1))
    case \$line in *'"cycle"'*) echo "{\"end\": true${2-}}" ;; esac
done
END
    rm -f received
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --force -o run.db >out 2>err || fail "$(cat err)"
}
case_child_serves() { # a service is known by `scales`, and what it lacks comes with events; a job has a user
    printf 'time_s,rate\n0,1\n60,2\n120,2\n180,1\n240,1\n300,1\n' >rate.csv
    printf 'job,submit_s,run_s,gpus_per_pod,user\na,0,60,1,ann\nb,0,60,1,\n' >trace.csv
    cat >s.yaml <<'END'
horizon: 6m
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
workload:
- {name: t, trace: trace.csv}
- {name: s, kind: inference, service: {gpus_per_pod: 1, replicas: 1..2, rate: rate.csv, service_time: 1s, target_utilisation: 1, scale_interval: 1m, scale_down_window: 0s}}
END
    cat >child.sh <<'END'
read -r hello
echo '{"protocol": 1, "name": "mine", "abilities": ["scale"]}'
read -r open
while read -r cycle; do
    for job in $(printf '%s' "$cycle" | grep -o '"\(submitted\|changed\)", *"job": *[0-9]*' | grep -o '[0-9]*$'); do
        printf '{"place": %s}\n' "$job"
        read -r answer
    done
    printf '%s' "$cycle" | grep -o '"user":[^,]*,"scales":[a-z]*' >>received
    echo '{"end": true}'
done
END
    "$orrery" run s.yaml --policy 'exec:sh child.sh' --check-books -q -o run.db 2>err || fail "$(cat err)"
    printf '"user":"ann","scales":false\n"user":null,"scales":false\n"user":null,"scales":true\n' | sort >wanted
    sort received | cmp -s wanted - || fail "it got: $(cat received)"
    held=$(sqlite3 run.db "SELECT group_concat((start_ms / 1000) || '-' || (end_ms / 1000), ' ') FROM (SELECT p.start_ms, p.end_ms
      FROM v_placements AS p JOIN job AS j ON j.id = p.job WHERE j.name = 's' ORDER BY p.start_ms)")
    [ "$held" = '0-360 120-240' ] || fail "the service held: $held"
}
case_child_abilities() {
    what_it_gets ''
    ! grep -q '"event":"changed"' received || fail 'it gets changes'
    grep -q '"event":"requeued","job":0' received || fail 'a job that lost a pod goes on'
    what_it_gets ', "abilities": ["losses"]'
    grep -q '"event":"changed","job":0,"next_pods":1' received || fail 'it does not get what job a lacks'
}
case_child_bars() {
    what_it_gets ''
    [ "$("$orrery" export run.db never | wc -l)" -le 1 ] || fail 'a bar that nobody declared'
    what_it_gets ', "bars": ["limit"]'
    "$orrery" export run.db never | grep -q '8000,6000' || fail "never: $("$orrery" export run.db never)"
}
case_child_shares() {
    what_it_gets ', "shares": true' ', \"shares\": [[0, $n]]'
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
