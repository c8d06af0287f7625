# SPDX-License-Identifier: GPL-3.0-or-later
# A recorded run of slurmctld as a scenario: its files, each behind file=WHAT, to scenario.yaml and jobs.csv in the
# folder OUT.
function hosts_gpus(text) { return match(text, /gpu[^,]*:[0-9]+/) ? substr(text, RSTART + RLENGTH - 1) + 0 : 0 }
function field(line, key,    at, rest) {
    at = index(" " line, " " key "=")
    if (at == 0) return ""
    rest = substr(line, at + length(key) + 1)
    sub(/ .*/, "", rest)
    return rest
}
function option(text, key,    at, rest) {
    at = index(text, "--" key "=")
    if (at == 0) return ""
    rest = substr(text, at + length(key) + 3)
    sub(/ .*/, "", rest)
    return rest
}
function seconds(text,    part, n) {
    n = split(text, part, ":")
    return n == 3 ? (part[1] * 60 + part[2]) * 60 + part[3] : n == 2 ? part[1] * 60 + part[2] : text * 60
}
{ sub(/\r$/, "") }
file == "cluster" && /^NodeName=/ {
    name[++nodes] = field($0, "NodeName")
    cpus[nodes] = field($0, "CPUTot")
    gpus[nodes] = hosts_gpus(field($0, "Gres"))
}
file == "accounts" && !/^#/ { accounts[++account_lines] = $0 }
file == "conf" { conf[++conf_lines] = $0; has_default = has_default || / DefaultTime=/ }
file == "starts" && FNR > 1 {
    cells($0, cell)
    if (cell[1] == 1) phase = cell[4] - int(cell[4])
    if (cell[4] != "never") { began[cell[2]] = cell[4]; ended[cell[2]] = cell[7]; state[cell[2]] = cell[8] }
}
file == "topology" { switches[++switch_lines] = $0 }
file == "start" { before = $1 } # whole seconds from slurmctld's start to the first submit, rounded up
file == "ended" { until[$1] } # in the second of its end its epilog is over too: usage counts whole seconds
file == "released" { split($0, pair, ","); released[pair[1]] = pair[2] }
file == "jobs" && FNR == 1 { n = cells($0, cell); for (i = 1; i <= n; i++) column[cell[i]] = i; next }
file == "jobs" {
    delete cell
    cells($0, cell)
    ids[cell[column["jobid"]]] = cell[column["name"]]
    row[++rows] = $0
}
function gpus_of(text, ntasks, nodes_asked) {
    if (text ~ /--gres=gpu:/) { sub(/.*:/, "", text); return text / (ntasks > 1 && ntasks > nodes_asked ? ntasks : 1) }
    if (text ~ /--gpus-per-task=/) { sub(/.*=/, "", text); return text + 0 }
    if (text ~ /--gpus-per-node=/) { sub(/.*=/, "", text); return text * (nodes_asked ? nodes_asked : 1) / ntasks }
    if (text ~ /--gpus=/) { sub(/.*=/, "", text); return text / ntasks }
    return 0
}
function put(job, cell, suffix, array,    extra, tasks, c, nodes_asked, limit, run, options, id, n, given, endless) {
    extra = cell[column["extra"]]
    nodes_asked = cell[column["nodes"]]
    c = cell[column["cpus_per_task"]] == "" ? 1 : cell[column["cpus_per_task"]]
    tasks = cell[column["ntasks"]] == "" ? (nodes_asked == "" ? 1 : nodes_asked) : cell[column["ntasks"]]
    if (nodes_asked == 1 && tasks > 1 && cell[column["gpus"]] ~ /--gres=/) { c *= tasks; tasks = 1 } # GPUs of the node, not of a task
    given = option(extra, "time") # in other words than minutes
    endless = given == "0" || given == "UNLIMITED"
    limit = cell[column["limit_min"]] != "" ? cell[column["limit_min"]] * 60 : endless || (given == "" && has_default) ? "" : given != "" ? seconds(given) : 31536000
    run = cell[column["run_s"]] + 0.7 # until its epilog is over and the controller knows: 0.3 to 1.3 s were seen
    if (job suffix in until) run = ended[job suffix] + 0.99 - began[job suffix]
    if (state[job suffix] == "TIMEOUT") run = ended[job suffix] - began[job suffix]
    options = "--partition=" cell[column["partition"]]
    if (cell[column["partition"]] == "") options = ""
    if (nodes_asked != "") options = options " --nodes=" nodes_asked
    if (cell[column["nice"]] != "") options = options " --nice=" cell[column["nice"]]
    if (cell[column["qos"]] != "") options = options " --qos=" cell[column["qos"]]
    if (cell[column["account"]] != "") options = options " --account=" cell[column["account"]]
    if (array != "") options = options " --array=" array
    if (option(extra, "switches") != "") options = options " --switches=" option(extra, "switches")
    if (option(extra, "licenses") != "") options = options " --licenses=" option(extra, "licenses")
    if (extra ~ /--exclusive/) options = options " --exclusive"
    if (endless) options = options " --time=" given
    printf "%s,%s,%s,%d,%d,%s,%s,%s,\"%s\",%s,%s\n", job suffix, cell[column["submit_offset_real"]], run, tasks,
        c * 1000, gpus_of(cell[column["gpus"]], tasks, nodes_asked), limit, cell[column["user"]], options,
        after[job], released[job] >OUT "/jobs.csv"
}
END {
    printf "apiVersion: orrery/v1alpha1\nkind: Scenario\ncluster:\n  pools:\n" >OUT "/scenario.yaml"
    for (i = 1; i <= nodes; i++)
        printf "    p-%s: {nodes: 1, gpus: %d, cpu: %d, names: [%s]}\n", name[i], gpus[i], cpus[i], name[i] >OUT "/scenario.yaml"
    printf "workload:\n- {name: jobs, trace: jobs.csv}\npolicy:\n  name: slurm\n  params:\n    slurmctld_start: %.2fs\n    slurm_conf: |\n", phase - (before == "" ? 5 : before) >OUT "/scenario.yaml"
    for (i = 1; i <= conf_lines; i++) printf "      %s\n", conf[i] >OUT "/scenario.yaml"
    for (i = 1; i <= switch_lines; i++) printf "      %s\n", switches[i] >OUT "/scenario.yaml"
    print "    sacctmgr: |" >OUT "/scenario.yaml"
    for (i = 1; i <= account_lines; i++) printf "      %s\n", accounts[i] >OUT "/scenario.yaml"
    print "job,submit_s,run_s,pods,cpu_milli,gpus_per_pod,time_limit_s,user,sbatch,after,eligible_s" >OUT "/jobs.csv"
    for (r = 1; r <= rows; r++) {
        delete cell
        cells(row[r], cell)
        job = cell[column["name"]]
        extra = cell[column["extra"]]
        if (extra ~ /dependency=/) {
            match(extra, /@[^@]*@/)
            of = substr(extra, RSTART + 1, RLENGTH - 2)
            after[job] = of in elements ? elements[of] : of
        }
        array = option(extra, "array")
        if (array == "") {
            put(job, cell, "", "")
            continue
        }
        limit = ""
        if (index(array, "%")) { limit = substr(array, index(array, "%")); sub(/%.*/, "", array) }
        split(array, range, "-")
        for (t = range[1]; t <= (2 in range ? range[2] : range[1]); t++) {
            elements[job] = elements[job] (elements[job] == "" ? "" : ";") job "_" t
            put(job, cell, "_" t, job limit)
        }
    }
}
