#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What prunes policy kai's searches changes no decision: cuts of worlds decided with all pruners,
# with none, and with each refutation tried all the same.
#
#   prune.sh ORRERY CASE [SEED ROWS NODES]      a soak, by WORLD as CASE: other seeds, windows (by the seed) and sizes
set -eu

orrery=$1
case=$(echo "$2" | tr - _)
rows_given=${4:-}
seed=${3:-1} rows=${4:-1000} nodes=${5:-6}
first=$((14000 + (seed - 1) * 397 % 50000)) # most worlds draw nothing: their window makes them others
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

digest_of() { # WORLD PRUNE [OPTION...]
    world=$1 prune=$2
    shift 2
    "$orrery" run "$world.yaml" --prune="$prune" "$@" --json --no-progress --force -o "$dir/run.db" >"$dir/run.json"
    sed -n 's/^  "digest": "\(.*\)",$/\1/p' "$dir/run.json"
}

agrees() { # WORLD [OPTION...]
    what=$1
    shift
    on=$(digest_of "$what" on "$@")
    for how in off verify; do
        other=$(digest_of "$what" "$how" "$@")
        [ -n "$on" ] && [ "$on" = "$other" ] || { echo "$what: $on, --prune=$how $other"; exit 1; }
    done
}

same() { # WORLD [OPTION...]
    sh "$here/../bench/worlds/worlds.sh" "$dir" -s "$seed" -f "$first" -r "$rows" -n "$nodes" "$1"
    of=$dir/$1
    shift
    agrees "$of" "$@"
}

refutes() { # [NAME], after `same`: some pruner, or this one, had something to say
    tr -d '\n' <"$dir/run.json" | grep -q "\"name\": \"${1:-[a-z-]*}\",[^}]*\"refuted\": [1-9]" ||
        { echo "nothing was refuted by ${1:-any}"; exit 1; }
}

asks() { # NAME, after a run
    tr -d '\n' <"$dir/run.json" | grep -q "\"name\": \"$1\",[^}]*\"asked\": [1-9]" || { echo "$1 was not asked"; exit 1; }
}

refutes_most() { # NAME [N], after a run: of what this one was asked, all but a half or one in N
    tr -d '\n' <"$dir/run.json" | sed -n "s/.*\"name\": \"$1\",[^}]*\"asked\": \([0-9]*\),[^}]*\"refuted\": \([0-9]*\).*/\1 \2/p" |
        awk -v n="${2:-2}" '{ most = n * ($1 - $2) < $1 } END { exit !most }' || { echo "$1 did not refute most"; exit 1; }
}

case_plain() { same plain && refutes; }
case_departments() { same departments && refutes && { [ -n "$rows_given" ] || refutes dry-run; }; }
case_popped_from_last() { # by that child a department is ranked, so that equal jobs behind each other count
    first=15985 rows=1800 nodes=7
    same departments
}
case_deep() { same deep && { [ -n "$rows_given" ] || refutes dry-run; }; }
case_limits() { same limits && refutes; }
case_cpu() { same cpu; }
case_cpu_short() { same cpu-short; }
case_elastic() { # with the rule off who comes back is lost too
    same elastic && { [ -n "$rows_given" ] || refutes; } &&
        agrees "$dir/elastic" --set policy.params.allow_consolidating_reclaim=false
}
case_candidates_change() { # victims that ask the same, behind as many of those that wait and may count, but other ones
    cat >"$dir/change.csv" <<END
job,submit_s,run_s,queue,pods,gpus_per_pod,priority
fill 6,0,9000,c,1,6,125
stays,1,9000,b,1,1,50
ends,2,1098,b,1,1,50
before,3,1097,b,1,3,55
other 1,4,9000,a,1,2,50
other 2,5,9000,a,1,2,50
fill 5,6,9000,c,1,5,125
fill 4,7,9000,c,1,4,125
waits 6,200,500,b,1,6,80
waits 5,200,500,b,1,5,70
waits 8,200,500,b,1,8,60
moves,1000,100,d,1,8,50
fill 3,1090,60,c,1,3,125
between,1100,9000,b,1,1,75
after,1100,9000,b,1,3,65
END
    cat >"$dir/change.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 4, gpus: 8, gpu_model: P100}}}
queues:
  a: {gpu: [0, 1, unlimited], priority: 200, preempt_min_runtime: 2d, reclaim_min_runtime: 2d}
  b: {gpu: [8, 1, 9], preempt_min_runtime: 2d, reclaim_min_runtime: 2d}
  c: {gpu: [18, 1, unlimited]}
  d: {gpu: [0, 1, unlimited]}
workload: [{name: change, trace: change.csv}]
policy: {name: kai}
horizon: 1300s
END
    agrees "$dir/change"
}
case_gang_of_ones() { # a gang of pods with one GPU each needs no whole nodes, in a window of as many nodes as it has pods
    awk -v OFS=, 'BEGIN {
        print "job", "submit_s", "run_s", "pods", "gpus_per_pod", "queue", "priority"
        for (n = 0; n < 4; n++) { # a node each; where the last one ends goes a pod of the gang
            print "two " n, 3 * n, 9000, 1, 2, "b", 50
            print "one " n, 3 * n + 1, 9000, 1, 1, "a", 50
            print "ends " n, 3 * n + 2, 48 - 3 * n, 1, 1, "d", 50
        }
        print "gang", 51, 9000, 4, 1, "b", 60
        print "wants", 100, 9000, 1, 4, "c", 50
    }' >"$dir/ones.csv"
    cat >"$dir/ones.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 4, gpus: 4, gpu_model: P100}}}
queues: {a: {gpu: [0, 1, unlimited]}, b: {gpu: [12, 1, unlimited]}, c: {gpu: [4, 1, unlimited]}, d: {gpu: [0, 1, unlimited]}}
workload: [{name: ones, trace: ones.csv}]
policy: {name: kai}
horizon: 200s
END
    agrees "$dir/ones"
    refutes aggregate
}
case_elastic_elsewhere() { # windows without elastic jobs are those of a flat world
    cat >"$dir/windows.csv" <<END
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,min_pods
parts,0,90000,2,1,a,training,1
stays,1,90000,1,1,c,interactive,
holds,2,90000,1,1,b,training,
one,3,90000,1,1,a,training,
two,4,90000,1,1,a,training,
more,5,90000,1,2,b,training,
wants,10,900,1,1,b,training,
END
    cat >"$dir/windows.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 2, gpus: 4, gpu_model: P100}}}
queues: {a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}, c: {gpu: [1, 1, unlimited]}}
workload: [{name: windows, kind: training, trace: windows.csv}]
policy: {name: kai}
horizon: 1000s
END
    agrees "$dir/windows"
    refutes aggregate
}
case_recorded() { # victims of an earlier scenario among the same ones: the validator goes through the others first
    first=47400 rows=510 nodes=3
    same elastic --set horizon=26000s
}
case_fractions() { same fractions && refutes dry-run; }
case_parts_that_cost_more() { # than they ask: times 100 they are a little more than 28 and 57 in double
    first=15985 rows=250 nodes=3
    sh "$here/../bench/worlds/worlds.sh" "$dir" -s 1 -f "$first" -r "$rows" -n "$nodes" fractions
    sed -i 's/,0\.25$/,0.28/; s/,0\.5$/,0.57/' "$dir/fractions.csv"
    agrees "$dir/fractions"
    digest_of "$dir/fractions" on >/dev/null
    refutes_most dry-run 10
}
case_kinds() { same kinds && refutes; }
case_topology() { same topology && refutes; }
case_models() { same models && refutes; }
case_drawn() { # what meets in none of the eleven worlds; seed 134: the end of an elastic job's minimum runtime
    sh "$here/drawn.sh" "$orrery" 120 40
}
case_drawn_flat() { # where aggregates serve: seeds that each find a key without one of its parts, as verify works answers out again
    for seed in 5 11 13 19 24 33 48 51 67; do
        sh "$here/drawn.sh" "$orrery" "$seed" 1 - flat
    done
}
case_stays_supposed() { # a stale gang that a failed search evicts in thought, cycle after cycle, has nothing to be evicted
    sh "$here/drawn.sh" "$orrery" 1092 1
}
case_gang() { # which finds its places, where pruner gang is asked: not in flat worlds
    sh "$here/drawn.sh" "$orrery" 2 1
}
case_few_nodes() { # what a large cluster rarely comes to: a pod that fits nowhere between others that do
    rows=600 nodes=4
    for world in plain departments deep limits cpu cpu-short elastic fractions kinds topology everything models; do
        same "$world"
    done
}
case_demands() { # victims behind many waiting jobs, each of which asks something else
    awk -v OFS=, 'BEGIN {
        print "job", "submit_s", "run_s", "pods", "gpus_per_pod", "queue", "kind", "cpu_milli"
        print "first", 0, 9000, 1, 1, "a", "training", 1000
        for (i = 1; i <= 80; i++) print "gang" i, i, 100, 2, 8, "a", "training", 8000 + i
        for (i = 1; i <= 15; i++) print "one" i, 100 + i, 3000, 1, 1, "a", "training", 1000
        for (i = 1; i <= 12; i++) print "other" i, 200 + i, 900, 1, 1 + i % 2, "b", "training", 1000 + i
    }' >"$dir/demands.csv"
    cat >"$dir/demands.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 2, gpus: 8, cpu: 640, gpu_model: P100}}}
queues: {a: {gpu: [4, 1, unlimited]}, b: {gpu: [12, 1, unlimited]}}
workload: [{name: demands, kind: training, trace: demands.csv}]
policy: {name: kai}
horizon: 5000s
END
    agrees "$dir/demands"
}
case_cpu_decides() { # how queues stand, in a flat world: GPUs alone do not tell, so that an aggregate must not serve
    awk -v OFS=, 'BEGIN {
        print "job", "submit_s", "run_s", "pods", "gpus_per_pod", "queue", "kind", "cpu_milli"
        for (i = 1; i <= 40; i++) {
            gpus = 2 ^ (5 * i % 4)
            print "job " i, 20 * i, 4000 + 701 * i % 3000, 1, gpus, substr("abc", 1 + i % 3, 1), "training",
                1000 * gpus * (1 + 5 * i % 6)
        }
    }' >"$dir/decides.csv"
    cat >"$dir/decides.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 4, gpus: 8, cpu: 48, gpu_model: P100}}}
queues:
  a: {gpu: [unlimited, 1, unlimited], cpu: [96, 1, unlimited]}
  b: {gpu: [unlimited, 1, unlimited], cpu: [60, 1, unlimited]}
  c: {gpu: [unlimited, 1, unlimited], cpu: [36, 1, unlimited]}
workload: [{name: decides, kind: training, trace: decides.csv}]
policy: {name: kai}
END
    agrees "$dir/decides"
    asks aggregate
}
case_behind() { # who comes to wait behind a job changes nothing for it, in trees of queues either
    awk -v OFS=, 'BEGIN {
        print "job", "submit_s", "run_s", "pods", "gpus_per_pod", "queue", "kind"
        print "holds 1", 0, 90000, 1, 8, "y1", "training"
        print "holds 2", 0, 90000, 1, 8, "y1", "training"
        print "gang", 10, 900, 2, 8, "x1", "training"
        print "waits", 20, 900, 1, 4, "x1", "training"
        for (i = 1; i <= 50; i++) print "behind " i, 100 + 10 * i, 900, 1, 4 + i % 2, "x1", "training"
    }' >"$dir/behind.csv"
    cat >"$dir/behind.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 2, gpus: 8, gpu_model: P100}}}
queues:
  x: {gpu: [6, 1, unlimited]}
  y: {gpu: [10, 1, unlimited]}
  x1: {parent: x, gpu: [6, 1, unlimited]}
  y1: {parent: y, gpu: [10, 1, unlimited]}
workload: [{name: behind, kind: training, trace: behind.csv}]
policy: {name: kai}
horizon: 1000s
END
    agrees "$dir/behind"
    digest_of "$dir/behind" on >/dev/null
    refutes failed-before
    # nor if its queue has a larger share of CPU for it, where all queues have enough
    awk -v OFS=, 'NR == 1 { print $0, "cpu_milli" } NR > 1 { print $0, 1000 }' "$dir/behind.csv" >"$dir/more.csv"
    sed 's/gpus: 8,/& cpu: 64,/; s/behind/more/g' "$dir/behind.yaml" >"$dir/more.yaml"
    agrees "$dir/more"
    digest_of "$dir/more" on >/dev/null
    refutes_most failed-before
}
case_next_device() { # a device that is shared again has another id
    awk -v OFS=, 'BEGIN {
        print "job", "submit_s", "run_s", "pods", "gpus_per_pod", "queue", "kind", "cpu_milli", "gpu_fraction"
        for (i = 1; i <= 7; i++) print "holds " i, 0, 90000, 1, 1, "y1", "training", 8000, ""
        print "reclaims", 10, 900, 1, "", "x1", "training", 8000, 0.5
        for (i = 1; i <= 9; i++) print "part " i, 100 * i, 90, 1, "", "z", "interactive", 4000, 0.75
    }' >"$dir/device.csv"
    cat >"$dir/device.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 1, gpus: 8, gpu_model: P100, cpu: 60}}}
queues:
  x: {gpu: [0.5, 1, unlimited]}
  y: {gpu: [7, 1, unlimited]}
  z: {gpu: [1, 1, unlimited]}
  x1: {parent: x, gpu: [0.5, 1, unlimited]}
  y1: {parent: y, gpu: [7, 1, unlimited]}
workload: [{name: device, kind: training, trace: device.csv}]
policy: {name: kai}
horizon: 1000s
END
    agrees "$dir/device"
    digest_of "$dir/device" on >/dev/null
    refutes_most dry-run
}
case_probe_and_task() { # where numbers of a probe and of a victim's task were those of an earlier one the other way round
    cat >"$dir/numbers.csv" <<END
job,submit_s,run_s,queue,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib
j18,25,433,e,1,,0.5,
j12,115,2871,d,1,,0.6,
j3,118,2786,c,1,1,,
j22,185,946,b,1,1,,
j23,251,1818,c,1,1,,
j37,334,1894,d,1,1,,
j5,456,2810,a,1,,,8000
j1,676,2733,e,1,1,,
END
    cat >"$dir/numbers.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 5, gpus: 1, gpu_model: P100, gpu_memory: 40Gi}}}
queues:
  a: {gpu: [0, 2, unlimited]}
  b: {gpu: [0, 2, unlimited]}
  c: {gpu: [1, 0, unlimited]}
  d: {gpu: [3, 2, unlimited]}
  e: {gpu: [1, 2, unlimited]}
workload: [{name: numbers, trace: numbers.csv}]
policy: {name: kai, params: {max_consolidation_preemptees: 3}}
horizon: 3000s
END
    agrees "$dir/numbers"
}
case_many_victims() { # of one scenario that succeeds, in a flat world and in a tree; worlds have few at once
    awk -v OFS=, 'BEGIN {
        print "job", "submit_s", "run_s", "pods", "gpus_per_pod", "queue", "kind"
        for (i = 1; i <= 32; i++) print "holds " i, i, 9000 + i, 1, 1, "y", "training"
        print "reclaims", 100, 900, 3, 8, "x", "training"
    }' >"$dir/many.csv"
    cat >"$dir/many.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 4, gpus: 8, gpu_model: P100}}}
queues: {x: {gpu: [24, 1, unlimited]}, y: {gpu: [8, 1, unlimited]}}
workload: [{name: many, kind: training, trace: many.csv}]
policy: {name: kai}
horizon: 1000s
END
    agrees "$dir/many"
    sed '/^queues/s/gpu/parent: p, &/; /^queues/s/ y: {/&parent: q, /; /^queues/s/}$/, p: {gpu: [24, 1, unlimited]}, q: {gpu: [8, 1, unlimited]}}/' \
        "$dir/many.yaml" >"$dir/tree.yaml"
    agrees "$dir/tree"
}
case_not_ready() { # an elastic job at its limit, of whose gang two pods are being moved: searches are refuted then, too
    cat >"$dir/moved.csv" <<END
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,min_pods
fill 1,0,5,1,3,x1,training,1
fill 2,1,4,1,3,x1,training,1
fill 3,2,3,1,3,x1,training,1
elastic,3,90000,4,1,y1,training,3
gang,100,900,2,4,x1,training,2
wants,101,900,1,4,z,training,1
END
    cat >"$dir/moved.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 3, gpus: 4, gpu_model: P100}}}
queues:
  x1: {gpu: [8, 1, unlimited]}
  y1: {gpu: [3, 1, 3]}
  z: {gpu: [4, 1, unlimited]}
workload: [{name: moved, kind: training, trace: moved.csv}]
policy: {name: kai}
execution: {grace: 90s}
horizon: 180s
END
    sed 's/x1: {/x: {gpu: [8, 1, unlimited]}\n  &parent: x, /; s/y1: {/y: {gpu: [3, 1, unlimited]}\n  &parent: y, /' \
        "$dir/moved.yaml" >"$dir/tree.yaml"
    for file in moved tree; do
        agrees "$dir/$file"
        "$orrery" run "$dir/$file.yaml" --trace-cycles=1..9 --no-progress --force -o "$dir/run.db" 2>/dev/null |
            awk '/"event":"shrink","job":"elastic",.*"pods":2,/ { moved = 1 }
                /"at_s":101,.*"job":"gang",.*"refuted":[1-9]/ { late = moved }
                END { exit !late }' || { echo "$file: nothing was refuted while a job was not ready"; exit 1; }
    done
}
two_nodes() { # NAME POOLS: cpu, shares of queues, and what waits above and below them in two trees
    cat >"$dir/$1.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: $2}
queues:
  a: {gpu: [1, 0, unlimited], cpu: [1, 0, unlimited]}
  b: {gpu: [1, 0, unlimited], cpu: [10, 0, unlimited]}
  c: {gpu: [0, 0, unlimited], cpu: [8, 0, unlimited]}
  a1: {parent: a, gpu: [0, 0, unlimited], cpu: [1, 0, unlimited]}
  a2: {parent: a, gpu: [0.9, 0, 0.9], cpu: [1, 0, unlimited]}
  a3: {parent: a, gpu: [1, 0, unlimited], cpu: [1, 0, unlimited]}
  b1: {parent: b, gpu: [0, 0, unlimited], cpu: [5, 0, unlimited]}
  b2: {parent: b, gpu: [1, 0, unlimited], cpu: [5, 0, unlimited]}
  c1: {parent: c, gpu: [0, 0, unlimited], cpu: [8, 0, unlimited]}
workload: [{name: $1, kind: training, trace: $1.csv}]
policy: {name: kai}
horizon: 2000s
END
    agrees "$dir/$1"
}
case_minimum() { # which an elastic job keeps for its first minutes, a candidate before and after
    cat >"$dir/minimum.csv" <<END
job,submit_s,run_s,pods,min_pods,gpus_per_pod,priority,queue
elastic,0,3000,4,3,1,50,a
preempts,20,100,1,,2,75,a
END
    cat >"$dir/minimum.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 1, gpus: 4}}}
queues: {a: {gpu: [4, 1, unlimited], preempt_min_runtime: 3m}}
workload: [{name: minimum, kind: training, trace: minimum.csv}]
policy: {name: kai}
END
    agrees "$dir/minimum"
}
case_waits_for_memory() { # of a device: what a job asks that waits in the branch of a victim
    cat >"$dir/memory.csv" <<END
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,cpu_milli,gpu_fraction,gpu_memory_mib
holds,0,90000,1,1,a3,interactive,0,,
fills,5,90000,1,0,b1,training,18000,,
victim,10,90000,1,,a1,training,0,0.5,
waits,20,90000,1,,a2,training,0,,16000
reclaims,30,900,1,1,b2,training,0,,
END
    two_nodes memory '{pool: {nodes: 2, gpus: 1, gpu_model: P100, gpu_memory: 16Gi, cpu: 30}}'
}
case_room_for_pods() { # of which a part of a device needs two where a whole one needs one
    cat >"$dir/pods.csv" <<END
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,cpu_milli,gpu_fraction
holds,0,90000,1,1,a3,interactive,0,
fills,5,90000,1,0,b1,training,30000,
victim,10,90000,1,,a3,training,0,0.5
beside,20,90000,1,0,c1,interactive,1000,
reclaims,30,900,1,1,b2,training,0,
END
    two_nodes pods '{roomy: {nodes: 1, gpus: 1, gpu_model: P100, cpu: 30}, small: {nodes: 1, gpus: 1, gpu_model: P100, cpu: 8, pods: 2}}'
}
case_pinned() { # an elastic gang whose pods pin a full rack, while the other rack has room
    cat >"$dir/pinned.csv" <<END
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,min_pods,topology_required
moves,0,9000,1,1,a,training,,
elastic,10,9000,4,1,a,training,2,rack
stays,10,9000,1,1,a,interactive,,
END
    for i in 1 2 3 4 5; do echo "short$i,$((20 + i)),$((100 * i)),1,1,b,training,,"; done >>"$dir/pinned.csv"
    cat >"$dir/pinned.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 4, gpus: 2, gpu_model: P100, rack_size: 2}}}
queues: {a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}
workload: [{name: pinned, kind: training, trace: pinned.csv}]
policy: {name: kai}
horizon: 2000s
END
    agrees "$dir/pinned"
    digest_of "$dir/pinned" on >/dev/null
    refutes domains
}
case_filtered() { # with one pod more an elastic job needs more GPUs than its rack could have: that is reported, not that places lack
    cat >"$dir/filtered.csv" <<END
job,submit_s,run_s,pods,gpus_per_pod,queue,min_pods,topology_required
one,0,9000,1,2,b,,
elastic,2,9000,4,2,a,1,rack
END
    cat >"$dir/filtered.yaml" <<END
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {pool: {nodes: 4, gpus: 3, gpu_model: P100, rack_size: 4}}}
queues: {a: {gpu: [6, 1, unlimited]}, b: {gpu: [6, 1, unlimited]}}
workload: [{name: filtered, kind: training, trace: filtered.csv}]
policy: {name: kai}
horizon: 60s
END
    agrees "$dir/filtered"
    for how in on off; do
        "$orrery" run "$dir/filtered.yaml" --prune=$how --trace-cycles=1..9 --no-progress --force -o "$dir/run.db" 2>/dev/null |
            sed -n 's/.*"event":"job","action":"consolidation","job":"elastic",.*"result":"\([^"]*\)".*/\1/p' >"$dir/$how"
        [ "$(sort -u "$dir/$how")" = filtered ] || { echo "--prune=$how: $(cat "$dir/$how")"; exit 1; }
    done
}
case_mixed() { agrees "$here"/../../scenarios/mixed/mixed --set horizon=4d && refutes domains; }
case_everything() {
    rows=${rows_given:-600}
    same everything
}

case_words() { # what --prune takes
    sh "$here/../bench/worlds/worlds.sh" "$dir" -r 40 -n 2 plain
    [ "$(digest_of "$dir/plain" on)" = "$(digest_of "$dir/plain" -places,-dry-run)" ] || exit 1
    if "$orrery" run "$dir/plain.yaml" --prune=nobody -o "$dir/no.db" 2>"$dir/err"; then exit 1; fi
    grep -q 'prune: "nobody" is not on, off, verify or -NAME' "$dir/err" || { cat "$dir/err"; exit 1; }
}

"case_$case"
