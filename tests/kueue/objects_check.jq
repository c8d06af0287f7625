# Do answers of `schedule --policy kueue --json` (`answers`, one a line, in the order of objects.jq) decide as the vectors
# of `passed` expect? A line for each difference.

def holds: .state | IN("admitted", "moved", "holds", "preempted");
def names($map): $map // {} | [.[][]];
def differs($what; $want; $got): if $want == $got then empty else "\($what): expected \($want | tojson), got \($got | tojson)" end;
def used($row): $row.pod_sets | map({key: .name, value: .}) | from_entries;
def check_sets($row; $sets): used($row) as $used | $sets[] | . as $want | $used[.name] as $got |
  differs("\($row.workload) \($want.name), flavors"; $want.flavors; ($got.resources | map({key: .resource, value: .flavor}) | from_entries)),
  if $want.count then differs("\($row.workload) \($want.name), pods"; $want.count; $got.pods) else empty end,
  if $want.usage then ($want.usage | to_entries[] | . as $u |
    differs("\($row.workload) \($want.name), \($u.key)"; $u.value; ($got.resources[] | select(.resource == $u.key) | .amount))) else empty end,
  if $want.topology then differs("\($row.workload) \($want.name), domains";
    ($want.topology.domains | map({domain: (.values | join("/")), pods: .count}));
    ($want.topology.domains as $d | ($d[0].values // [] | length) as $n | $got.domains | map(.domain |= (split("/") | .[-$n:] | join("/"))))) else empty end;
def check($vector; $answer):
  $vector.expected as $want | ($answer.workloads | map({key: .workload, value: .}) | from_entries) as $rows
  | $vector.workloads[] | select(.cluster_queue != null) | . as $w | $rows[.name] as $row
  | ($row | holds) as $holds | ($row.state == "pending") as $pending
  | if $row == null then "\(.name) is not in the answer" else
    (if $want.admitted then
       differs("\(.name) is admitted"; (.name | IN($want.admitted[])); ($holds and (($w.unhealthy_nodes // []) != [] or $w.admission == null))) else empty end),
    (if $want.holding then differs("\(.name) holds"; ($want.holding | has($w.name)); $holds) else empty end),
    (($want.holding[.name]?, $want.admitted_assignments[.name]?) | select(. != null) | if $holds then check_sets($row; .pod_sets) else "\($w.name) holds nothing" end),
    (if $want.evicted then differs("\(.name) is preempted"; $want.evicted[.name]; (if $row.state == "preempted" then $row.reason else null end)) else empty end),
    (if $want.left and $row.reason != "Inadmissible" then differs("\(.name) is in the heap"; (.name | IN(names($want.left)[])); ($pending and ($row.parked | not))) else empty end),
    (if $want.inadmissible then differs("\(.name) is parked"; (.name | IN(names($want.inadmissible)[])); $row.parked) else empty end),
    (if $want.waiting[.name]? and $pending and $row.reason != "Inadmissible" then differs("\(.name) waits"; $want.waiting[.name].reason; $row.reason) else empty end)
  end;

def sayable: (.config.fair_sharing and any(.cluster_queues[]; .preemption.reclaim_within_cohort == "")) | not; # as in objects.jq
($passed[0].entries | map(select(.verdict == "passed") | .id)) as $ids
| [inputs[] | select(.kind == "cycle" and (.id | IN($ids[])) and (sayable))] | to_entries[]
| .value as $vector | check($vector; $answers[.key]) | "\($vector.id): \(.)"
