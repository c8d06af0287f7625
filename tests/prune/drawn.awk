# SPDX-License-Identifier: GPL-3.0-or-later
# drawn.awk -v seed=N -v out=FOLDER [-v flat=1]: writes drawn.yaml and drawn.csv. See drawn.sh.
# flat: a full cluster of whole GPUs, sibling queues and more jobs, in which aggregates serve.

# Park and Miller; the products stay below 2^53, so that every awk draws the same.
function draw(n) { state = state * 48271 % 2147483647; return int(state / 2147483647 * n) }
function one_in(n) { return draw(n) == 0 }
function pick(words,   list, n) { n = split(words, list, " "); return list[1 + draw(n)] }

function pool(name, nodes, gpus, memory,   line) {
    line = "    " name ": {nodes: " nodes ", gpus: " gpus ", gpu_model: " name ", gpu_memory: " memory "Gi"
    if (has_cpu) line = line ", cpu: " (short ? gpus * 4 : 128) ", memory: " (short ? gpus * 40 : 2000) "Gi"
    if (has_pods) line = line ", pods: " 2 + draw(6)
    if (has_racks) line = line ", rack_size: " 1 + draw(3) ", block_size: " 4
    print line "}" > yaml
    pools[++pool_count] = name
}

function share(quota,   line) {
    line = "gpu: [" quota ", " draw(3) ", " (has_limits && one_in(3) ? quota + draw(5) : "unlimited") "]"
    if (has_cpu && one_in(4)) line = line ", cpu: [" draw(30) ", 1, " (has_limits && one_in(2) ? 10 + draw(60) : "unlimited") "]"
    if (has_minimum && one_in(2)) line = line ", preempt_min_runtime: " 60 * draw(12) "s"
    if (has_minimum && one_in(2)) line = line ", reclaim_min_runtime: " 60 * draw(12) "s"
    if (has_ranks && one_in(3)) line = line ", priority: " 50 * (1 + draw(5))
    return line
}

function queue(name, parent, quota) {
    print "  " name ": {" (parent == "" ? "" : "parent: " parent ", ") share(quota) "}" > yaml
}

function param(name, value) { params = params (params == "" ? "" : ", ") name ": " value }

BEGIN {
    yaml = out "/drawn.yaml"
    csv = out "/drawn.csv"
    state = (seed * 7919 + 12345) % 2147483646 + 1
    for (i = 0; i < 20; i++) draw(1)
    has_cpu = one_in(2); short = one_in(2); has_pods = one_in(5); has_racks = one_in(3)
    has_limits = one_in(3); has_minimum = one_in(4); has_ranks = one_in(5)
    has_parts = one_in(2); has_memory = has_parts && one_in(2); has_elastic = one_in(2)
    has_priorities = one_in(2); has_roles = one_in(4); has_models = one_in(4);
    levels = draw(3)
    has_delays = seed % 4 == 0 # the other seeds draw the worlds that they always drew
    if (flat) has_cpu = has_pods = has_racks = has_minimum = has_parts = has_memory = has_elastic = has_roles = has_models = has_delays = levels = 0

    print "apiVersion: orrery/v1alpha1\nkind: Scenario\ncluster:\n  pools:" > yaml
    gpus = pick(flat ? "4 8" : "1 2 4 8 8")
    pool("a", 1 + draw(5), gpus, pick("16 40 80"))
    if (!flat && one_in(3)) pool("b", 1 + draw(3), pick("2 4 8"), pick("16 40 80"))
    if (!flat && one_in(6)) pool("c", 1, 0, 0)
    if (has_racks) print "  topology: {name: dc, levels: [block, rack, node]}" > yaml

    print "queues:" > yaml
    tops = flat ? 3 + draw(3) : 1 + draw(3)
    for (t = 1; t <= tops; t++) {
        if (levels == 0) {
            queue("t" t, "", draw(6)); leaves[++leaf_count] = "t" t
            continue
        }
        queue("t" t, "", draw(8))
        for (m = 1; m <= 1 + draw(3); m++) {
            name = "t" t "m" m
            queue(name, "t" t, draw(5))
            if (levels == 1 || one_in(3)) {
                leaves[++leaf_count] = name
                continue
            }
            for (l = 1; l <= 1 + draw(3); l++) {
                queue(name "l" l, name, draw(4)); leaves[++leaf_count] = name "l" l
            }
        }
    }
    if (has_roles) {
        print "templates:" > yaml
        print "  serve: {roles: {head: {pods: 1, gpus_per_pod: 0, cpu: 1}, worker: {pods: " 1 + draw(3) ", min: 1, gpus_per_pod: 1}}}" > yaml
        print "  pair: {min_subgroups: 1, roles: {x: {pods: 2, gpus_per_pod: 1}, y: {pods: 1, gpus_per_pod: 2}}}" > yaml
        if (has_racks) print "  near: {pods: 2, gpus_per_pod: 1, topology: {" pick("required preferred") ": " pick("rack node block") "}}" > yaml
    }
    print "workload: [{name: drawn, trace: drawn.csv}]" > yaml
    if (one_in(4)) param("allow_consolidating_reclaim", "false")
    if (one_in(4)) param("max_consolidation_preemptees", pick("-1 1 3"))
    if (one_in(5)) param("use_scheduling_signatures", "false")
    if (one_in(5)) param("reclaim_resolve_method", "queue")
    if (one_in(5)) param("saturation_multiplier", pick("1.2 2"))
    if (one_in(6)) param("full_hierarchy_fairness", "false")
    if (one_in(8)) param("gpu_strategy", "spread")
    if (one_in(8)) param("cpu_strategy", "spread")
    if (one_in(6)) param("plugins.elastic.enabled", "false")
    if (one_in(8)) param("plugins.priority.enabled", "false")
    if (one_in(8)) param("strict_v017", pick("true false"))
    if (one_in(5)) { param("usage_db", pick("prometheus fake-with-history")); param("window_size", 600 * (1 + draw(5)) "s") }
    if (one_in(6)) param("default_staleness_grace", pick("0s 20s 300s"))
    if (one_in(8)) param("queueDepthPerAction.reclaim", 1 + draw(3))
    print "policy: {name: kai" (params == "" ? "" : ", params: {" params "}") "}" > yaml
    if (one_in(3)) print "execution: {grace: " pick("10 30 200") "s" (one_in(2) ? ", startup: 20s" : "") "}" > yaml
    span = 600 * (1 + draw(6))
    if (one_in(3)) {
        print "events:" > yaml
        for (e = 1; e <= 1 + draw(3); e++)
            print "- {at: " draw(span) "s, " pick("fail drain maintain") ": pool/" pools[1 + draw(pool_count)] ", for: " 60 * (1 + draw(10)) "s}" > yaml
        if (one_in(2)) print "- {at: " draw(span) "s, set: {queues." leaves[1] ".gpu.quota: " draw(6) "}}" > yaml
    }
    print "horizon: " 2 * span + 3000 "s" > yaml

    OFS = ","
    print "job", "submit_s", "run_s", "queue", "pods", "gpus_per_pod", "gpu_fraction", "gpu_memory_mib", "min_pods", "cpu_milli", "mem_mib",
        "priority", "preemptible", "topology_required", "topology_preferred", "gpu_model", "template", "preemption_delay_s" > csv
    jobs = flat ? 60 + draw(90) : 15 + draw(60)
    for (j = 1; j <= jobs; j++) {
        pods = one_in(3) ? 1 + draw(4) : 1
        whole = pick("0 1 1 1 2 4 8"); part = ""; memory = ""; template = ""; required = ""; preferred = ""
        if (whole > gpus && !one_in(10)) whole = 1
        if (whole == 0 && !has_cpu && !one_in(5)) whole = 1
        if (has_parts && one_in(2)) {
            whole = ""
            if (has_memory && one_in(2)) memory = pick("2000 5000 8000 16000 20000")
            else part = pick("0.1 0.25 0.28 0.5 0.5 0.57 0.75")
        }
        min = has_elastic && pods > 1 && one_in(2) ? 1 + draw(pods) : ""
        if (has_racks && one_in(3)) { if (one_in(2)) required = pick("rack block node"); else preferred = pick("rack node") }
        if (has_roles && one_in(4)) {
            template = pick("serve pair" (has_racks ? " near" : ""))
            pods = whole = part = memory = min = required = preferred = ""
        }
        print "j" j, draw(span), 30 + draw(span), leaves[1 + draw(leaf_count)], pods, whole, part, memory, min,
            has_cpu && template == "" ? 500 * draw(9) : "", has_cpu && template == "" ? 1024 * draw(40) : "",
            has_priorities ? pick("50 50 50 60 75 100 125") : "", one_in(8) ? pick("true false") : "",
            required, preferred, has_models && one_in(3) ? pools[1 + draw(pool_count)] : "", template,
            has_delays && one_in(3) ? pick("30 120 600") : "" > csv
    }
}
