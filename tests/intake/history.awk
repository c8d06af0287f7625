# SPDX-License-Identifier: GPL-3.0-or-later
# history.awk - a run as the records that a Kubernetes cluster would have left of it.
#
#   awk -v form=dumps|watch|audit|samples -v step=300 -v until=SECONDS [-v lose=0.05] -f history.awk attempts.txt
#
# attempts.txt: JOB|QUEUE|PODS|GPUS_PER_POD|CREATED|BOUND|ENDED|EVICTED, a line an attempt, seconds. A pod that is evicted is
# asked to go at ENDED and gone 30 s later; its successor is made at once. Others stay for an hour as they ended.
# Dumps go to dumps/STAMP.json, one every `step` seconds without a part `lose` of them, and the attempts that some dump
# shows at work to seen.txt; the other forms go to standard output.
function draw() { state = state * 16807 % 2147483647; return state / 2147483647 }
function stamp(s) { return sprintf("2026-06-%02dT%02d:%02d:%02dZ", 1 + int(s / 86400), s % 86400 / 3600, s % 3600 / 60, s % 60) }
function owner(p) { return sprintf("\"ownerReferences\": [{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"name\": \"%s\", \"uid\": \"u-%s\", \"controller\": true}]", job[p], job[p]) }
function pod(p, t,  text, phase) {
    text = sprintf("{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"%s\", \"namespace\": \"team-%s\", \"uid\": \"uid-%s\", \"creationTimestamp\": \"%s\", \"labels\": {\"kai.scheduler/queue\": \"%s\"}, \"annotations\": {\"pod-group-name\": \"%s\"}, %s", name[p], queue[p], name[p], stamp(created[p]), queue[p], job[p], owner(p))
    if (evicted[p] && t >= ended[p]) text = text sprintf(", \"deletionTimestamp\": \"%s\", \"deletionGracePeriodSeconds\": 30", stamp(ended[p] + 30))
    phase = t < bound[p] ? "Pending" : t >= ended[p] && !evicted[p] ? "Succeeded" : "Running"
    text = text sprintf("}, \"spec\": {\"schedulerName\": \"kai-scheduler\", \"priorityClassName\": \"train\", \"containers\": [{\"name\": \"main\", \"resources\": {\"requests\": {\"cpu\": \"4\", \"nvidia.com/gpu\": \"%d\"}}}]}, \"status\": {\"phase\": \"%s\"", gpus[p], phase)
    if (t >= bound[p]) text = text sprintf(", \"startTime\": \"%s\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": \"True\", \"lastTransitionTime\": \"%s\"}]", stamp(bound[p] + 2), stamp(bound[p]))
    if (phase == "Succeeded") text = text sprintf(", \"containerStatuses\": [{\"name\": \"main\", \"state\": {\"terminated\": {\"exitCode\": 0, \"finishedAt\": \"%s\"}}}]", stamp(ended[p]))
    return text "}}"
}
function group(p) { return sprintf("{\"apiVersion\": \"scheduling.run.ai/v2alpha2\", \"kind\": \"PodGroup\", \"metadata\": {\"name\": \"%s\", \"namespace\": \"team-%s\", \"uid\": \"g-%s\", \"creationTimestamp\": \"%s\"}, \"spec\": {\"queue\": \"%s\", \"minMember\": %d, \"priorityClassName\": \"train\"}}", job[p], queue[p], job[p], stamp(first[job[p]]), queue[p], width[p]) }
function leaves(p) { return evicted[p] ? ended[p] + 30 : ended[p] + 3600 }
function event(t, p, what) { events = events sprintf("%09d %d %s\n", t, p, what) }
function audit(p, t, verb, part, object) {
    printf "{\"kind\": \"Event\", \"apiVersion\": \"audit.k8s.io/v1\", \"level\": \"RequestResponse\", \"auditID\": \"%s-%d-%s\", \"stage\": \"ResponseComplete\", \"verb\": \"%s\", \"objectRef\": {\"resource\": \"pods\", \"namespace\": \"team-%s\", \"name\": \"%s\"%s}, \"responseStatus\": {\"code\": 200}, \"requestReceivedTimestamp\": \"%s\", \"stageTimestamp\": \"%s\"%s}\n", name[p], t, verb, verb, queue[p], name[p], part == "" ? "" : ", \"subresource\": \"" part "\"", stamp(t), substr(stamp(t), 1, 19) ".250000Z", object == "" ? "" : ", \"responseObject\": " object
}
function series(p, metric, more, from, to, value,  t, text) {
    from = int((from + step - 1) / step) * step
    for (t = from; t < to && t <= until; t += step) text = text sprintf("%s[%d, \"%s\"]", text == "" ? "" : ", ", epoch + t, value)
    if (text != "") printf "%s{\"metric\": {\"__name__\": \"%s\", \"namespace\": \"team-%s\", \"pod\": \"%s\", \"uid\": \"uid-%s\"%s}, \"values\": [%s]}", rows++ ? ",\n" : "", metric, queue[p], name[p], name[p], more, text
}
BEGIN { FS = "|"; state = 42; pods = 0; epoch = 1780272000 } # 2026-06-01T00:00:00Z
{
    nth[$1]++
    line[NR] = $0
    if (!($1 in first)) first[$1] = $5
    for (i = 0; i < $3; i++) {
        job[pods] = $1; queue[pods] = $2; width[pods] = $3; gpus[pods] = $4; created[pods] = $5; bound[pods] = $6; ended[pods] = $7; evicted[pods] = $8
        name[pods] = $1 "-" nth[$1] "-" i
        lead[pods] = i == 0
        row[pods] = NR
        pods++
    }
}
END {
    if (form == "dumps") {
        for (t = 0; t <= until; t += step) {
            lost = draw() < lose
            count += lost
            if (lost) continue
            file = "dumps/" stamp(t) ".json"
            printf "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [" >file
            comma = ""
            for (p = 0; p < pods; p++)
                if (created[p] <= t && t < leaves(p)) {
                    if (t >= bound[p]) seen[row[p]] = 1
                    if (lead[p]) { printf "%s\n%s", comma, group(p) >file; comma = "," }
                    printf "%s\n%s", comma, pod(p, t) >file
                    comma = ","
                }
            print "]}" >file
            close(file)
        }
        for (r = 1; r <= NR; r++) if (r in seen) print line[r] >"seen.txt"
    } else if (form == "samples") {
        printf "{\"status\": \"success\", \"data\": {\"resultType\": \"matrix\", \"result\": [\n"
        for (p = 0; p < pods; p++) {
            series(p, "kube_pod_created", "", created[p], leaves(p), epoch + created[p])
            series(p, "kube_pod_container_resource_requests", ", \"container\": \"main\", \"resource\": \"nvidia_com_gpu\", \"unit\": \"integer\"", created[p], leaves(p), gpus[p])
            series(p, "kube_pod_container_resource_requests", ", \"container\": \"main\", \"resource\": \"cpu\", \"unit\": \"core\"", created[p], leaves(p), 4)
            series(p, "kube_pod_labels", ", \"label_kai_scheduler_queue\": \"" queue[p] "\"", created[p], leaves(p), 1)
            series(p, "kube_pod_annotations", ", \"annotation_pod_group_name\": \"" job[p] "\"", created[p], leaves(p), 1)
            series(p, "kube_pod_owner", ", \"owner_kind\": \"Job\", \"owner_name\": \"" job[p] "\"", created[p], leaves(p), 1)
            series(p, "kube_pod_status_scheduled_time", "", bound[p], leaves(p), epoch + bound[p])
            if (evicted[p]) series(p, "kube_pod_deletion_timestamp", "", ended[p], leaves(p), epoch + ended[p] + 30)
            else {
                series(p, "kube_pod_completion_time", "", ended[p], leaves(p), epoch + ended[p])
                series(p, "kube_pod_status_phase", ", \"phase\": \"Succeeded\"", ended[p], leaves(p), 1)
            }
        }
        print "\n]}}"
    } else {
        for (p = 0; p < pods; p++) {
            event(created[p], p, "created")
            event(bound[p], p, "bound")
            event(ended[p], p, evicted[p] ? "leaving" : "ended")
            event(leaves(p), p, "gone")
        }
        sorted = "sort -s -k1,1 >events.txt"
        count = split(events, list, "\n")
        for (i = 1; i <= count; i++) if (list[i] != "") print list[i] | sorted
        close(sorted)
        while ((getline text <"events.txt") > 0) {
            split(text, of, " ")
            t = of[1] + 0; p = of[2]; what = of[3]
            if (form == "watch")
                printf "{\"type\": \"%s\", \"object\": %s}\n", what == "created" ? "ADDED" : what == "gone" ? "DELETED" : "MODIFIED", pod(p, t)
            else if (what == "created") audit(p, t, "create", "", pod(p, t))
            else if (what == "bound") audit(p, t, "create", "binding", "")
            else if (what == "leaving") audit(p, t, "delete", "", pod(p, t))
            else if (what == "ended") audit(p, t, "patch", "status", pod(p, t))
        }
    }
}
