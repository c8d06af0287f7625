# A vector of kind cycle as Kueue's objects: YAML documents, behind a line "#### INDEX CYCLES ID".
# Left out is what objects cannot say: a preemption policy that is unset though the API server fills in Never.
# Times count from 2026-01-01; CPU is in milli-cores there, and what is null is not stated.

def empty_value: . == null or . == "" or . == {} or . == [];
def stated: with_entries(select(.value | empty_value | not));
def block($pad):
  def below: if (type == "object" or type == "array") and length > 0 then "\n" + block($pad + "  ") else " " + tojson end;
  if type == "object" then to_entries | map($pad + (.key | tojson) + ":" + (.value | below)) | join("\n")
  else map($pad + "-" + below) | join("\n") end;
def amount($resource): if $resource == "cpu" then "\(.)m" else "\(.)" end;
def amounts: (. // {}) | with_entries(.key as $k | .value |= amount($k));
def at: if . == null then null else 1767225600 + . | todate end;
def object($kind; $name; $space; $spec; $status):
  {apiVersion: "kueue.x-k8s.io/v1beta2", kind: $kind,
   metadata: ({name: $name} + if $space == null then {} else {namespace: $space} end)}
  + ({spec: $spec, status: $status} | with_entries(select(.value | empty_value | not)));

def groups: map({coveredResources: .resources,
  flavors: (.flavors | map({name, resources: (.quotas | to_entries | map(.key as $r | .value |
    {name: $r, nominalQuota: (.nominal | amount($r))}
    + if .borrowing_limit == null then {} else {borrowingLimit: (.borrowing_limit | amount($r))} end
    + if .lending_limit == null then {} else {lendingLimit: (.lending_limit | amount($r))} end))}))});
def expressions: map({key, operator} + if .values then {values} else {} end);
def selector: if . == null then {} else {matchExpressions: (.match_expressions // [] | expressions), matchLabels: (.match_labels // {})} end;
def cluster_queue: . as $q | object("ClusterQueue"; .name; null;
  {cohortName: .cohort, queueingStrategy: .queueing_strategy, stopPolicy: .stop_policy,
   fairSharing: {weight: "\((.weight // 1) * 1000)m"},
   preemption: (.preemption | {withinClusterQueue: .within_cluster_queue, reclaimWithinCohort: .reclaim_within_cohort,
     borrowWithinCohort: (.borrow_within_cohort | if . == null then null else {policy, maxPriorityThreshold: .max_priority_threshold} | stated end)} | stated),
   flavorFungibility: (.fungibility // {} | {whenCanBorrow: .when_can_borrow, whenCanPreempt: .when_can_preempt, preference} | stated),
   admissionScope: (if .admission_mode then {admissionMode: .admission_mode} else null end),
   resourceGroups: (.resource_groups // [] | groups)} | stated | .namespaceSelector = ($q.namespace_selector | selector); null);
def cohort: object("Cohort"; .name; null;
  {parentName: .parent, fairSharing: {weight: "\((.weight // 1) * 1000)m"}, resourceGroups: (.resource_groups // [] | groups)} | stated; null);
def taints: map(stated);
def flavor: object("ResourceFlavor"; .name; null;
  {nodeLabels: .node_labels, nodeTaints: (.node_taints // [] | taints), tolerations: (.tolerations // [] | taints), topologyName: .topology} | stated; null);

def pod_set: {name, count, minCount: .min_count,
  topologyRequest: (.topology | if . == null then null else {required, preferred, unconstrained, podSetGroupName: .group,
    podSetSliceRequiredTopology: .slice_level, podSetSliceSize: .slice_size,
    podsetSliceRequiredTopologyConstraints: (.slice_layers // [] | map({topology: .level, size}))} | stated end),
  template: {spec: ({containers: [{name: "c", resources: {requests: (.per_pod | amounts)}}],
    nodeSelector: .node_selector, tolerations: (.tolerations // [] | taints),
    affinity: (if .node_affinity_terms then {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:
      (.node_affinity_terms | map({matchExpressions: (.matchExpressions | expressions)}))}}} else null end)} | stated)}} | stated;
# Written as Kueue writes it: one slice with what the domains have in common.
def assignment: if . == null then null else (.levels | length) as $n | .domains as $d | {levels, slices: [{domainCount: ($d | length),
  valuesPerLevel: [range($n) as $l | {individual: {prefix: ($d[0].values[$l][0:1] // ""), roots: []}} |
    if ($d | map(.values[$l][0:1]) | unique | length) > 1 then .individual.prefix = "" else . end |
    .individual.roots = [$d[].values[$l]] | (.individual.prefix | length) as $p | .individual.roots |= map(.[$p:])],
  podCounts: (if ($d | map(.count) | unique | length) == 1 then {universal: $d[0].count} else {individual: ($d | map(.count))} end)}]} end;
def held: {name, flavors, resourceUsage: (.usage | amounts), count, topologyAssignment: (.topology | assignment)} | stated;
def condition($type; $status; $reason; $s): {type: $type, status: $status, reason: $reason, lastTransitionTime: ($s | at)} | stated;
def workload: (.name | split("/")) as [$space, $name] | object("Workload"; $name; $space;
    {queueName: .queue, priority, active, podSets: (.pod_sets | map(pod_set)), preemptionGates: .preemption_gates} | with_entries(select(.value != null));
    {admission: (.admission | if . == null then null else {clusterQueue: .cluster_queue, podSetAssignments: (.pod_sets | map(held))} end),
     conditions: ([if .quota_reserved then condition("QuotaReserved"; "True"; "QuotaReserved"; .reserved_s) else empty end,
       if .admitted then condition("Admitted"; "True"; "Admitted"; .reserved_s) else empty end,
       if .evicted then condition("Evicted"; "True"; .evicted.reason; .evicted.at_s) else empty end,
       if .requeued == false then condition("Requeued"; "False"; "Backoff"; null) else empty end,
       if .finished then condition("Finished"; "True"; "Succeeded"; null) else empty end]),
     reclaimablePods: (.reclaimable_pods // {} | to_entries | map({name: .key, count: .value})),
     unhealthyNodes: (.unhealthy_nodes // [] | map({name: .}))} | stated);
def dated($w): .metadata += ({uid: $w.uid, creationTimestamp: ($w.created_s | at)} | stated);

def node: {apiVersion: "v1", kind: "Node", metadata: {name, labels: (.labels // {})},
  spec: ({taints: (.taints // [] | taints), unschedulable} | stated),
  status: {allocatable: (.allocatable | amounts), conditions: [{type: "Ready", status: (if .ready == false then "False" else "True" end)}]}};
def pod: {apiVersion: "v1", kind: "Pod", metadata: ({name: (.name | split("/") | last), labels: (if .tas then {"kueue.x-k8s.io/tas": "true"} else null end)} | stated),
  spec: ({nodeName: .node, containers: [{name: "c", resources: {requests: (.requests | amounts)}}]} | stated), status: ({phase} | stated)};
def configuration: .config | {apiVersion: "config.kueue.x-k8s.io/v1beta2", kind: "Configuration"}
  + if .fair_sharing then {fairSharing: {preemptionStrategies: ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}} else {} end
  + if .admission_fair_sharing then {admissionFairSharing: (.admission_fair_sharing |
      {usageHalfLifeTime: .half_life, usageSamplingInterval: .sampling_interval, resourceWeights: (.weights // {})})} else {} end
  + if .transformations then {resources: {transformations: (.transformations | map(
      {input: .input, strategy: (.strategy // "Retain"), outputs: .outputs}))}} else {} end
  + if (.gates // {}) == {} then {} else {featureGates: .gates} end;

def documents: . as $v | [configuration,
  (.namespaces // {} | to_entries[] | {apiVersion: "v1", kind: "Namespace", metadata: {name: .key, labels: (.value // {})}}),
  (.topologies // [] | .[] | object("Topology"; .name; null; {levels: (.levels | map({nodeLabel: .}))}; null)),
  (.flavors // [] | .[] | flavor), (.cohorts // [] | .[] | cohort), (.cluster_queues[] | cluster_queue),
  (.local_queues[] | . as $l | object("LocalQueue"; .name; .namespace; {clusterQueue: .cluster_queue, fairSharing: {weight: "\((.weight // 1) * 1000)m"}};
    ($v.local_queue_usage[$l.name]? // null | if . == null then null else
      {fairSharing: {admissionFairSharingStatus: {consumedResources: amounts}}} end))),
  (.nodes // [] | .[] | node), (.pods // [] | .[] | pod),
  (.workloads[] | . as $w | workload | dated($w))];

def sayable: (.config.fair_sharing and any(.cluster_queues[]; .preemption.reclaim_within_cohort == "")) | not;
($passed[0].entries | map(select(.verdict == "passed") | .id)) as $ids
| [inputs[] | select(.kind == "cycle" and (.id | IN($ids[])) and (sayable))]
| to_entries[] | "#### \(.key) \(.value.config.cycles // 1) \(.value.id)", (.value | documents | map(block("")) | join("\n---\n"))
