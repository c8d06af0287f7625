# SPDX-License-Identifier: GPL-3.0-or-later
# kubectl_dump.awk - what `kubectl get nodes,queues,podgroups,pods -A -o json` prints of a made-up cluster under the KAI
# scheduler, with all that a real list has beside what matters (managed fields, conditions, environments, volumes): a pod
# is about 3 KB of it.
#
#   awk -v nodes=500 -v pods=10000 -f kubectl_dump.awk >dump.json
#   awk -v seed=7 -v nodes=8 -v pods=72 -v queues=4 -v plain=0.2 -f kubectl_dump.awk | gzip -9n >scenarios/snapshot/cluster.json.gz
#
# Nodes have 8 GPUs, jobs 1 to 16 pods of none (a part `plain` of the jobs, 0.7) to 8 GPUs in `queues` (20) queues of 4
# departments. Three quarters of the pods run, as far as the nodes have room; the rest wait.
function random() { # Park and Miller's, so that every awk makes the same
    state = (state * 16807) % 2147483647
    return state / 2147483647
}
function pick(n) { return int(random() * n) }
function stamp(s,  d, rest) { # seconds before 2026-11-01T12:00:00Z, within October
    s = 86400 * 31 + 43200 - s
    d = int(s / 86400)
    rest = s % 86400
    return d >= 31 ? sprintf("2026-11-01T%02d:%02d:%02dZ", rest / 3600, rest % 3600 / 60, rest % 60) : sprintf("2026-10-%02dT%02d:%02d:%02dZ", d + 1, rest / 3600, rest % 3600 / 60, rest % 60)
}
function uid(kind, n) { return sprintf("%08x-%04x-4000-8000-%012x", n * 2654435761 % 4294967296, kind, n) }
function meta(name, space, kind, n, age, more) {
    return sprintf("\"metadata\": {\"name\": \"%s\", %s\"uid\": \"%s\", \"resourceVersion\": \"%d\", \"generation\": 1, \"creationTimestamp\": \"%s\"%s%s}", name, space == "" ? "" : "\"namespace\": \"" space "\", ", uid(kind, n), 100000 + n, stamp(age), more, managed)
}
function item(text) { printf "%s    %s", items++ ? ",\n" : "", text }
function conditions(names, at,  n, i, list, text) {
    n = split(names, list, " ")
    for (i = 1; i <= n; i++)
        text = text sprintf("%s{\"type\": \"%s\", \"status\": \"%s\", \"lastHeartbeatTime\": \"%s\", \"lastTransitionTime\": \"%s\", \"reason\": \"Kubelet%s\", \"message\": \"the kubelet reports %s\"}", i > 1 ? ", " : "", list[i], list[i] ~ /Pressure|Unavailable/ ? "False" : "True", at, at, list[i], list[i])
    return "[" text "]"
}
function node(n,  name) {
    name = sprintf("gpu-%04d", n)
    free[n] = 8
    item(sprintf("{\"apiVersion\": \"v1\", \"kind\": \"Node\", %s, \"spec\": {\"podCIDR\": \"10.%d.%d.0/24\", \"providerID\": \"metal://%s\"}, \"status\": {\"allocatable\": {\"cpu\": \"96\", \"memory\": \"1006632960Ki\", \"pods\": \"110\", \"nvidia.com/gpu\": \"8\", \"ephemeral-storage\": \"900Gi\"}, \"capacity\": {\"cpu\": \"96\", \"memory\": \"1056964608Ki\", \"pods\": \"110\", \"nvidia.com/gpu\": \"8\"}, \"conditions\": %s, \"nodeInfo\": {\"kubeletVersion\": \"v1.31.2\", \"osImage\": \"Ubuntu 22.04.5 LTS\", \"architecture\": \"amd64\"}}}",
        meta(name, "", 1, n, 2500000, sprintf(", \"labels\": {\"kubernetes.io/hostname\": \"%s\", \"nvidia.com/gpu.product\": \"NVIDIA-H100-80GB-HBM3\", \"nvidia.com/gpu.memory\": \"81559\", \"nvidia.com/gpu.count\": \"8\", \"topology.kubernetes.io/zone\": \"z%d\", \"rack\": \"r%02d\"}", name, n % 2, n / 16)),
        n / 256, n % 256, name, conditions("Ready MemoryPressure DiskPressure PIDPressure NetworkUnavailable", stamp(30))))
}
function queue(name, parent, quota) {
    item(sprintf("{\"apiVersion\": \"scheduling.run.ai/v2\", \"kind\": \"Queue\", %s, \"spec\": {%s\"resources\": {\"gpu\": {\"quota\": %d, \"limit\": -1, \"overQuotaWeight\": 1}, \"cpu\": {\"quota\": -1, \"limit\": -1, \"overQuotaWeight\": 1}, \"memory\": {\"quota\": -1, \"limit\": -1, \"overQuotaWeight\": 1}}}}",
        meta(name, "", 2, made_queues++, 2600000, ""), parent == "" ? "" : "\"parentQueue\": \"" parent "\", ", quota))
}
function pod(job, i, q, gpus, age, on,  name, status) {
    name = sprintf("job-%05d-%d", job, i)
    status = on < 0 ? "\"phase\": \"Pending\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": \"False\", \"reason\": \"Unschedulable\", \"message\": \"no node has room for it\"}]" : sprintf("\"phase\": \"Running\", \"startTime\": \"%s\", \"hostIP\": \"10.0.%d.%d\", \"podIP\": \"10.8.%d.%d\", \"conditions\": %s, \"containerStatuses\": [{\"name\": \"main\", \"ready\": true, \"restartCount\": 0, \"image\": \"registry.local/train:2026.10\", \"imageID\": \"registry.local/train@sha256:%064d\", \"containerID\": \"containerd://%064d\", \"state\": {\"running\": {\"startedAt\": \"%s\"}}}]", stamp(age - 20), on / 256, on % 256, on / 256, i, conditions("Initialized Ready ContainersReady PodScheduled", stamp(age - 20)), job, job * 100 + i, stamp(age - 20))
    item(sprintf("{\"apiVersion\": \"v1\", \"kind\": \"Pod\", %s, \"spec\": {\"schedulerName\": \"kai-scheduler\", %s\"priorityClassName\": \"train\", \"restartPolicy\": \"Never\", \"serviceAccountName\": \"default\", \"terminationGracePeriodSeconds\": 30, \"tolerations\": [{\"key\": \"node.kubernetes.io/not-ready\", \"operator\": \"Exists\", \"effect\": \"NoExecute\", \"tolerationSeconds\": 300}, {\"key\": \"node.kubernetes.io/unreachable\", \"operator\": \"Exists\", \"effect\": \"NoExecute\", \"tolerationSeconds\": 300}], \"containers\": [{\"name\": \"main\", \"image\": \"registry.local/train:2026.10\", \"command\": [\"python\", \"-m\", \"train\", \"--config\", \"/etc/train/%05d.yaml\"], \"env\": %s, \"resources\": {\"requests\": {\"cpu\": \"%d\", \"memory\": \"%dGi\", \"nvidia.com/gpu\": \"%d\"}, \"limits\": {\"nvidia.com/gpu\": \"%d\"}}, \"volumeMounts\": [{\"name\": \"data\", \"mountPath\": \"/data\"}, {\"name\": \"token\", \"mountPath\": \"/var/run/secrets/kubernetes.io/serviceaccount\", \"readOnly\": true}]}], \"volumes\": [{\"name\": \"data\", \"persistentVolumeClaim\": {\"claimName\": \"data\"}}, {\"name\": \"token\", \"projected\": {\"defaultMode\": 420, \"sources\": [{\"serviceAccountToken\": {\"path\": \"token\", \"expirationSeconds\": 3607}}]}}]}, \"status\": {%s}}",
        meta(name, "ns-" q, 4, job * 100 + i, age, sprintf(", \"labels\": {\"kai.scheduler/queue\": \"q%02d\", \"app\": \"train\"}, \"annotations\": {\"pod-group-name\": \"job-%05d\"}", q, job)),
        on < 0 ? "" : sprintf("\"nodeName\": \"gpu-%04d\", ", on), job, env, gpus * 8 + 1, gpus * 64 + 4, gpus, gpus, status))
}
function job(n,  q, size, gpus, age, i, runs, at, where) {
    size = 2 ^ pick(5)
    gpus = random() < plain ? 0 : 2 ^ pick(4)
    if (size * gpus > nodes * 4) gpus = 1
    q = pick(queues)
    age = 60 + pick(400000 - int(made / pods * 360000)) # those that came last wait
    if (size > pods - made) size = pods - made
    runs = 1
    for (i = 0; i < size && runs; i++) { # the next node that has room, round and round
        for (at = 1; at <= nodes && free[(last + at) % nodes] < gpus; at++)
            ;
        where[i] = last = (last + at) % nodes
        runs = at <= nodes && made < pods * 0.75
        if (runs) free[last] -= gpus
    }
    for (at = 0; !runs && at < i - 1; at++) free[where[at]] += gpus
    item(sprintf("{\"apiVersion\": \"scheduling.run.ai/v2alpha2\", \"kind\": \"PodGroup\", %s, \"spec\": {\"queue\": \"q%02d\", \"minMember\": %d, \"priorityClassName\": \"train\"}, \"status\": {}}",
        meta(sprintf("job-%05d", n), "ns-" q, 3, n, age, runs ? sprintf(", \"annotations\": {\"kai.scheduler/last-start-timestamp\": \"%s\"}", stamp(age - 20)) : ""), q, size))
    for (i = 0; i < size; i++) pod(n, i, q, gpus, age, runs ? where[i] : -1)
    made += size
}
BEGIN {
    state = (seed == "" ? 42 : seed)
    if (queues == "") queues = 20
    if (plain == "") plain = 0.7
    managed = ", \"managedFields\": [{\"manager\": \"kube-controller-manager\", \"operation\": \"Update\", \"apiVersion\": \"v1\", \"time\": \"2026-11-01T11:59:00Z\", \"fieldsType\": \"FieldsV1\", \"fieldsV1\": {\"f:metadata\": {\"f:labels\": {\".\": {}, \"f:app\": {}}, \"f:annotations\": {\".\": {}, \"f:pod-group-name\": {}}, \"f:ownerReferences\": {\".\": {}}}, \"f:spec\": {\"f:containers\": {\"k:{\\\"name\\\":\\\"main\\\"}\": {\".\": {}, \"f:image\": {}, \"f:resources\": {\".\": {}, \"f:limits\": {}, \"f:requests\": {}}}}}}}]"
    for (i = 0; i < 12; i++)
        env = env sprintf("%s{\"name\": \"SETTING_%02d\", \"value\": \"value-%d\"}", i ? ", " : "", i, i * 7919)
    env = "[" env "]"
    print "{\n  \"apiVersion\": \"v1\", \"kind\": \"List\", \"metadata\": {\"resourceVersion\": \"\"}, \"items\": ["
    for (i = 0; i < nodes; i++) node(i)
    for (i = 0; i < 4; i++) queue("dept" i, "", nodes * 2)
    for (i = 0; i < queues; i++) queue(sprintf("q%02d", i), "dept" i % 4, nodes * 8 / queues)
    for (i = 0; made < pods; i++) job(i)
    print "\n  ]\n}"
}
