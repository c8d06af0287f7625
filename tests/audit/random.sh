#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# random.sh ORRERY FROM COUNT [POLICY]: random clusters, queue trees and jobs under kai with everything that
# makes evictions hard to judge (graces, elastic jobs, fractions, failures, quotas that change, moved victims),
# or under another policy, most of them on nodes of one GPU or on a single node, where a line can be judged. Some jobs end
# as they start.
# What the scheduler does is right: the audit must find nothing in any of them.
set -eu
orrery=$1 from=$2 count=$3 policy=${4-kai} here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../scratch.sh"

# One world: world.yaml and trace.csv.
make_world() {
    awk -v seed="$1" -v policy="$policy" '
function below(n) { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) % n }
function one_in(n) { return below(n) == 0 }
BEGIN {
    for (i = 0; i < 5; i++) below(2)
    nodes = 2 + below(6); size = 2 ^ (1 + below(3))
    if (policy != "kai" && one_in(2)) { nodes *= size; size = 1 } else if (policy != "kai" && one_in(3)) nodes = 1
    total = nodes * size
    fractions = one_in(3); memory = one_in(4); elastic = one_in(2); cpu = one_in(5)
    roots = 1 + below(3); deep = below(3); leaves = 0
    print "horizon: 4h"; print "cluster:"
    printf "  pools: {p: {nodes: %d, gpus: %d, rack_size: 2, gpu_memory: 80Gi%s%s}", nodes, size,
        cpu ? ", cpu: " size * 4 : "", one_in(8) ? ", foreign: {gpus: 1}" : ""
    small = memory && (policy == "static" || policy == "kube") # devices of which the same ask holds more
    printf "%s}\n", small ? ", s: {nodes: " 1 + below(3) ", gpus: " size ", gpu_memory: 40Gi}" : ""
    if (one_in(4)) printf "  failures: {each: node, mtbf: %dm, repair: {median: 4m, sigma: 0.5}}\n", 20 + below(60)
    print "queues:"
    for (r = 0; r < roots; r++) {
        printf "  r%d: {gpu: [%s, %d, %s]%s%s}\n", r, one_in(8) && policy != "static" ? "unlimited" : below(total + 1), below(4),
            one_in(4) ? 1 + below(total) : "unlimited", one_in(4) ? ", priority: " 90 + below(30) : "",
            cpu && one_in(2) ? ", cpu: [" below(total * 4) ", 1, unlimited]" : ""
        children = deep == 0 ? 0 : below(4)
        if (children == 0) leaf[leaves++] = "r" r
        for (c = 0; c < children; c++) {
            printf "  r%dc%d: {parent: r%d, gpu: [%d, %d, %s]%s}\n", r, c, r, below(total), below(4),
                one_in(4) ? 1 + below(total) : "unlimited", one_in(5) ? ", reclaim_min_runtime: 1m" : ""
            grand = deep == 1 ? 0 : below(3)
            if (grand == 0) leaf[leaves++] = "r" r "c" c
            for (g = 0; g < grand; g++) {
                printf "  r%dc%dg%d: {parent: r%dc%d, gpu: [%d, %d, unlimited]}\n", r, c, g, r, c, below(total), 1 + below(3)
                leaf[leaves++] = "r" r "c" c "g" g
            }
        }
    }
    print "workload:"; print "- {name: t, trace: trace.csv}"
    params = ""
    if (one_in(5)) params = params ", strict_v017: false"
    if (one_in(5)) params = params ", allow_consolidating_reclaim: false"
    if (one_in(6)) params = params ", full_hierarchy_fairness: " (deep ? "false" : "true")
    if (one_in(5)) params = params ", usage_db: fake-with-history, window_size: 10m"
    else if (one_in(4)) {
        params = params ", usage_db: prometheus, window_size: " (5 + below(40)) "m, query_resolution: " (5 + below(60)) "s, fetch_interval: " (10 + below(90)) "s"
        if (one_in(2)) params = params ", half_life_period: " (1 + below(20)) "m"
        if (one_in(2)) params = params ", k_value: " (1 + below(30)) / 10
        if (one_in(5)) params = params ", window_type: tumbling, tumbling_window_start_time: " below(600) "s"
    }
    if (one_in(6)) params = params ", saturation_multiplier: 1.5"
    if (one_in(6)) params = params ", max_consolidation_preemptees: -1"
    if (policy == "kube") printf "policy: {name: kube, params: {namespace_quota: %s}}\n", one_in(2) ? "quota" : "limit"
    else if (policy != "kai") printf "policy: {name: %s}\n", policy
    else printf "policy: {name: kai, params: {consolidation: %s%s}%s}\n", one_in(5) ? "false" : "true", params,
        one_in(8) ? ", latency: kai-500" : ""
    printf "execution: {grace: %ds, checkpoint: 60s, checkpoint_cost: 2s, restart: 5s, on_evict: %s}\n", one_in(3) ? 0 : below(40),
        substr("losekeep", 1 + 4 * below(2), 4)
    jobs = 40 + below(160); gap = 1 + below(30)
    if (one_in(3)) {
        print "events:"
        for (e = 0; e < 4; e++)
            if (one_in(3)) printf "- {at: %ds, set: {cluster.pools.p.nodes: %d}%s}\n", below(jobs * gap), 1 + below(8),
                (one_in(2) ? ", taken: " (one_in(2) ? "drain" : "fail") : "") (one_in(2) ? ", notice: " 10 + below(200) "s" : "")
            else if (one_in(5)) printf "- {at: %ds, %s, for: %ds}\n", 300 + below(jobs * gap),
                (one_in(2) ? "drain: " : "notice: " below(200) "s, maintain: ") (small ? "p-0001" : "n0001"), 30 + below(200)
            else printf "- {at: %ds, set: {queues.%s.gpu.%s: %d}}\n", below(jobs * gap), leaf[below(leaves)],
                one_in(3) ? "limit" : "quota", 1 + below(total)
    }
    print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,cpu_milli,queue,kind,preemptible,topology_required,priority" >"trace.csv"
    for (i = 0; i < jobs; i++) {
        t += below(gap); pods = 1 + below(one_in(4) ? 6 : 3); what = fractions && one_in(2) ? 1 : memory && one_in(3) ? 2 : 0
        gpus = 1 + (size == 1 ? 0 : below(one_in(3) ? size : 2))
        printf "j%d,%s,%d,%d,%d,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", i, t + (one_in(4) ? 0.25 * below(4) : 0), one_in(8) ? 0 : 5 + below(600), pods, elastic ? 1 + below(pods) : pods,
            what ? "" : gpus, what == 1 ? "0." (1 + below(9)) : "", what == 2 ? 8192 * (1 + below(9)) : "",
            cpu ? 500 * (1 + below(8)) : "", leaf[below(leaves)], one_in(5) ? "inference" : one_in(5) ? "interactive" : "training",
            one_in(3) ? "true" : "", one_in(6) ? "rack" : "", one_in(5) ? 40 + below(40) : "" >"trace.csv"
    }
}' >world.yaml
}

# Are the fair shares of CPU that are stored due? With CPU where GPUs were.
cpu_shares_hold() {
    [ "$(sqlite3 run.db "SELECT count(*) FROM fair_share_of")" -gt 0 ] || return 0
    sed "s/RESOURCE/cpu/g; s/AMOUNT/cpu_milli/g" "$here/as_other.sql" | sqlite3 -bail run.db
    "$orrery" audit run.db >said 2>&1 || : # other rules are about devices
    ! grep '^share at' said
}

bad=0 world=$from
while [ "$world" -lt $((from + count)) ]; do
    make_world "$world"
    rm -f run.db
    if ! "$orrery" run world.yaml -o run.db -q --no-progress --allow-loss >said 2>&1 && ! grep -q 'no job is left' said; then
        echo "world $world does not run:"
        cat said
        exit 1
    fi
    if [ -e run.db ] && ! "$orrery" audit run.db >said 2>&1; then
        echo "world $world:"
        awk '$1 ~ /:$/ || / at / || /^rules of/' said
        bad=$((bad + 1))
    elif [ -e run.db ] && ! cpu_shares_hold; then
        echo "world $world: shares of CPU"
        bad=$((bad + 1))
    fi
    world=$((world + 1))
done
[ "$bad" -eq 0 ] && echo "$count worlds, nothing found"
