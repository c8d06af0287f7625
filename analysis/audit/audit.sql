-- SPDX-License-Identifier: GPL-3.0-or-later
-- What an audit reads of a results file; ../sql/named_sql.cmake makes each a C string. A NAME_count is room for
-- the rows of NAME.

-- name: asks_in_cycles
-- workers that follow their job's backlog are asked for in the middle of a cycle
SELECT scenario_resolved LIKE '% backlog: %' FROM run;

-- name: has_ages
SELECT scenario_resolved LIKE '% created: 2%' FROM run;

-- name: shards
-- params: the policy's, each on a line of its own, n the end of a line
SELECT id, name, policy,
  params LIKE '%' || n || 'backfill=true' || n || '%',
  params LIKE '%' || n || 'order=shortest' || n || '%' OR params LIKE '%' || n || 'order=priority' || n || '%' OR
    params LIKE '%' || n || 'order=predicted' || n || '%' OR params LIKE '%' || n || 'placement=hived' || n || '%',
  params LIKE '%' || n || 'full_hierarchy_fairness=false' || n || '%',
  policy = 'kai' AND params NOT LIKE '%' || n || 'usage_db=off' || n || '%',
  params LIKE '%' || n || 'allow_consolidating_reclaim=false' || n || '%',
  CAST(substr(params, instr(params, 'k_value=') + 8) AS REAL), policy_params,
  CASE WHEN policy <> 'kube' OR params LIKE '%' || n || 'namespace_quota=none' || n || '%' THEN 0
       ELSE 1 + (params LIKE '%' || n || 'namespace_quota=quota' || n || '%') END,
  CASE WHEN params LIKE '%' || n || 'within_cluster_queue=lower-or-newer-equal-priority' || n || '%' THEN 3
       ELSE 1 + (params LIKE '%' || n || 'within_cluster_queue=lower-priority' || n || '%') END,
  CASE WHEN params LIKE '%' || n || 'reclaim_within_cohort=any' || n || '%' THEN 4
       ELSE 1 + (params LIKE '%' || n || 'reclaim_within_cohort=lower-priority' || n || '%') END,
  params LIKE '%' || n || 'cluster_cohort=true' || n || '%',
  policy = 'kai' AND (params LIKE '%' || n || 'plugins.proportion.enabled=false' || n || '%' OR -- the second: of what shares devices
    params LIKE '%' || n || 'plugins.predicates.enabled=false' || n || '%'),
  params LIKE '%' || n || 'plugins.topology.enabled=false' || n || '%' OR
    params LIKE '%' || n || 'topology_aware_scheduling=never' || n || '%',
  policy <> 'static' AND params LIKE '%' || n || 'placement=hived' || n || '%',
  policy = 'kai' AND params LIKE '%' || n || 'reservation=%' AND params NOT LIKE '%' || n || 'reservation=0s' || n || '%' AND
    params LIKE '%' || n || 'plugins.numa.enabled=false' || n || '%',
  CASE WHEN instr(params, n || 'opportunistic_below=') > 0
       THEN CAST(substr(params, instr(params, n || 'opportunistic_below=') + 21) AS INTEGER) ELSE -2147483648 END,
  policy = 'kai' AND params LIKE '%' || n || 'resize_pods=true' || n || '%' AND
    (SELECT scenario_resolved LIKE '% min_gpus_per_pod: %' FROM run)
FROM (SELECT *, char(10) AS n, char(10) || policy_params || char(10) AS params FROM shard)
ORDER BY id;

-- name: absence_count
SELECT count(*) FROM reason_change WHERE reason = (SELECT id FROM reason WHERE code = 'requeue-delay');

-- name: absences
-- the end of a run that was cut ends none
SELECT i.job, i.from_ms,
  CASE WHEN i.to_ms < r.end_ms
         OR EXISTS (SELECT 1 FROM reason_change AS c WHERE c.job = i.job AND c.at_ms = r.end_ms)
         OR EXISTS (SELECT 1 FROM v_attempts AS a WHERE a.job = i.job AND a.start_ms = r.end_ms)
         OR EXISTS (SELECT 1 FROM job AS j WHERE j.id = i.job AND j.state = 4 AND j.end_ms = r.end_ms)
       THEN i.to_ms END
FROM v_reason_intervals AS i
CROSS JOIN run AS r
WHERE i.reason = 'requeue-delay';

-- name: promise_count
SELECT count(*) FROM reason_change WHERE reason = (SELECT id FROM reason WHERE code = 'pipelined');

-- name: promises
SELECT job, from_ms, to_ms FROM v_reason_intervals WHERE reason = 'pipelined';

-- name: reservation_count
SELECT count(*) FROM reason_change WHERE ahead IS NOT NULL AND reason = (SELECT id FROM reason WHERE code = 'reserved');

-- name: reservations
-- of jobs that a level of the topology does not bind
SELECT DISTINCT c.ahead, c.at_ms
FROM reason_change AS c
JOIN job AS j ON j.id = c.ahead
WHERE c.reason = (SELECT id FROM reason WHERE code = 'reserved')
  AND NOT EXISTS (SELECT 1 FROM ask AS a WHERE a.shape = j.shape AND a.level IS NOT NULL)
ORDER BY c.at_ms, c.ahead;

-- name: resized
-- jobs whose equal pods are a kind each, of single GPUs on one node, some of which the pod can do without; not those of
-- which a pod was placed elsewhere
SELECT j.id, j.min_pods / count(*), max(a.pods)
FROM job AS j
JOIN ask AS a ON a.shape = j.shape
WHERE j.min_pods < j.pods AND j.id NOT IN (SELECT job FROM eviction WHERE moved > 0)
GROUP BY j.id
HAVING min(a.level IS 'node' AND a.gpus = 1 AND a.gpu_mgpu IS 1000) AND min(a.pods) = max(a.pods) AND
  j.min_pods % count(*) = 0;

-- name: run_end
SELECT end_ms FROM run;

-- name: in_rounds
-- the scenario states them; policies that act in rounds by themselves are known by name
SELECT scenario_resolved LIKE '% round: %' AND scenario_resolved NOT LIKE '% round: 0s%' FROM run;

-- name: takes_time
-- its scheduler does: policy.latency
SELECT count(*) FROM metric WHERE name = 'scheduler_busy';

-- name: shard_count
SELECT count(*) FROM shard;

-- name: run_begin
SELECT begin_ms FROM run;

-- name: clock_origin
SELECT clock_origin_ms FROM run;

-- name: node_count
SELECT count(*) FROM node;

-- name: nodes
SELECT n.id, n.name, n.gpus - n.mig_gpus, coalesce(f.gpus, 0), s.shard, coalesce(n.gpu_mib, 0), n.mig_gpus
FROM node AS n
LEFT JOIN foreign_pods AS f ON f.node = n.id
LEFT JOIN shard_pool AS s ON s.pool = n.pool
ORDER BY n.id;

-- name: instances
SELECT node, profile, instances FROM mig ORDER BY node, profile;

-- name: outage_count
SELECT (SELECT count(*) FROM outage) + (SELECT count(*) FROM away) + (SELECT count(*) FROM cordon);

-- name: outages
SELECT node, from_ms, to_ms, 0, 0
FROM outage
UNION ALL
SELECT node, from_ms, to_ms, 0, 1
FROM away
UNION ALL
SELECT node, from_ms, to_ms, 1, 0
FROM cordon
ORDER BY 1, 2;

-- name: total_count
SELECT 1 + 2 * count(*) FROM away;

-- name: totals
-- devices, whoever holds them: KAI's metrics of usage do not see MIG instances
WITH n AS (SELECT id, gpus - mig_gpus AS devices FROM node)
SELECT at_ms, sum(devices)
FROM (
  SELECT coalesce((SELECT submit_ms FROM job WHERE id = 0), 0) AS at_ms, devices FROM n
  UNION ALL
  SELECT a.from_ms, -n.devices FROM away AS a JOIN n ON n.id = a.node
  UNION ALL
  SELECT a.to_ms, n.devices FROM away AS a JOIN n ON n.id = a.node WHERE a.to_ms IS NOT NULL)
GROUP BY at_ms
ORDER BY at_ms;

-- name: queue_count
SELECT count(*) FROM queue;

-- name: queues
-- preemption policies by their place in enum orr_audit_preemption
SELECT q.id, q.name, q.gpu_quota, q.gpu_limit, q.parent, s.shard, q.gpu_weight, q.priority,
  EXISTS (SELECT 1 FROM queue_bound AS b WHERE b.queue = q.id), coalesce(l.apart, 0),
  EXISTS (SELECT 1 FROM queue_flavor AS f WHERE f.queue = q.id AND f.flavor <> ''),
  CASE l.within WHEN 'Never' THEN 1 WHEN 'LowerPriority' THEN 2 WHEN 'LowerOrNewerEqualPriority' THEN 3 WHEN 'Any' THEN 4 ELSE 0 END,
  CASE l.reclaim WHEN 'Never' THEN 1 WHEN 'LowerPriority' THEN 2 WHEN 'LowerOrNewerEqualPriority' THEN 3 WHEN 'Any' THEN 4 ELSE 0 END
FROM queue AS q
LEFT JOIN shard_queue AS s ON s.queue = q.id
LEFT JOIN queue_lending AS l ON l.queue = q.id
ORDER BY q.id;

-- name: flavor_count
SELECT count(DISTINCT flavor) FROM flavor_node;

-- name: flavored_count
SELECT (SELECT count(*) FROM queue_flavor) + (SELECT count(*) FROM queue_bound);

-- name: flavored
-- a flavor is the number of those with a smaller name, a resource its place in enum orr_audit_resource; bounds of CPU and
-- memory are of all nodes, what a queue lends of them stands beside flavors
SELECT queue, at_ms, flavor, resource, quota, bound, lend
FROM (
  SELECT queue, at_ms, CASE flavor WHEN '' THEN NULL ELSE
      (SELECT count(DISTINCT n.flavor) FROM flavor_node AS n WHERE n.flavor < queue_flavor.flavor) END AS flavor,
    CASE resource WHEN 'cpu' THEN 0 WHEN 'memory' THEN 1 WHEN 'pods' THEN 3 ELSE 2 END AS resource, quota, bound, lend, 0 AS late, rowid AS nr
  FROM queue_flavor
  UNION ALL
  SELECT b.queue, b.at_ms, NULL, CASE b.resource WHEN 'cpu' THEN 0 ELSE 1 END, b.quota, b.bound, -1, 1, b.rowid
  FROM queue_bound AS b
  WHERE b.at_ms IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM queue_flavor AS f WHERE f.queue = b.queue AND f.flavor = '' AND f.resource = b.resource))
ORDER BY at_ms, late, nr;

-- name: flavor_node_count
SELECT count(*) FROM flavor_node;

-- name: flavor_nodes
SELECT node, dense_rank() OVER (ORDER BY flavor) - 1 FROM flavor_node;

-- name: change_count
SELECT count(*) FROM queue_change;

-- name: changes
SELECT queue, at_ms, gpu_quota, gpu_limit, gpu_weight, priority FROM queue_change ORDER BY at_ms, rowid;

-- name: share_count
SELECT count(*) FROM fair_share;

-- name: shares
SELECT queue, at_ms, mgpu / 1000.0 FROM fair_share WHERE mgpu IS NOT NULL ORDER BY at_ms, rowid;

-- name: finer_fractions
-- of a device, no whole hundredths: KAI counts them rounded
SELECT count(*) FROM ask WHERE gpus > 0 AND gpu_mgpu % 10 <> 0;

-- name: job_count
SELECT count(*) FROM job WHERE state > 0;

-- name: jobs
SELECT j.id, j.name, w.from_ms, j.start_ms, j.end_ms, j.estimate_ms, j.mgpu, j.pods, j.queue, j.evictions,
  j.state, j.min_pods, p.job IS NOT NULL,
  t.useful + t.preempt + t.reclaim + t.consolidate + t.stale_gang + t.node_failure + t.max_runtime + t.maintenance + t.pods_not_ready
    + t.checkpoint + t.restart + t.waiting,
  h.job IS NOT NULL AND h.eligible_ms IS NULL, a.mib, a.devices, a.kinds > 1, a.in_parts,
  a.choosy OR j.id IN (SELECT job FROM reason_change WHERE level IS NOT NULL), h.eligible_ms IS NOT NULL,
  h.eligible_ms IS NOT NULL AND coalesce(j.start_ms > h.eligible_ms, 1)
  AND j.id NOT IN (
    SELECT c.job
    FROM hold AS b
    JOIN reason_change AS c ON c.job = b.job AND c.at_ms = b.eligible_ms
    JOIN reason AS n ON n.id = c.reason AND n.code NOT IN ('dependency', 'not-eligible')),
  j.enter_ms IS NULL, j.priority, coalesce(a.mig_profile, ''), a.of_kinds, coalesce(a.instances, 0)
FROM job AS j
JOIN v_waits AS w ON w.job = j.id
LEFT JOIN non_preemptible AS p ON p.job = j.id
LEFT JOIN job_time AS t ON t.job = j.id
LEFT JOIN hold AS h ON h.job = j.id
LEFT JOIN (
  SELECT shape, max(coalesce(gpu_mib, 0)) AS mib, max(gpus) AS devices, count(*) AS kinds,
    max(gpus > 0 AND coalesce(gpu_mgpu, 0) < 1000) AS in_parts, max(mig_profile) AS mig_profile,
    count(DISTINCT CASE WHEN instances > 0 THEN mig_profile WHEN gpus > 0 THEN '' END) > 1 AS of_kinds,
    sum(pods * instances) AS instances,
    max(bound OR gpu_model IS NOT NULL
        OR (cpu_milli > 0 AND EXISTS (SELECT 1 FROM node WHERE cpu_milli IS NOT NULL))
        OR (mem_bytes > 0 AND EXISTS (SELECT 1 FROM node WHERE mem_bytes IS NOT NULL))
        OR EXISTS (SELECT 1 FROM node WHERE pods IS NOT NULL)) AS choosy
  FROM ask
  GROUP BY shape) AS a ON a.shape = j.shape
WHERE j.state > 0
ORDER BY w.from_ms, j.id;

-- name: span_count
SELECT coalesce(sum(nodes), 0) FROM v_ranges;

-- name: spans
-- What is alike on nodes that follow each other is one row. Where the ask names a level, each node is a row with its own
-- domain, and the last node that exists is one with all that the range has beyond it.
SELECT p.job, p.nr, coalesce(n.id, p.node), p.pods, p.mgpu, p.devices, p.start_ms, p.end_ms,
  CASE WHEN a.instances > 0 AND j.node IS NULL THEN p.mgpu
       WHEN j.node IS NOT NULL THEN s.beyond
       WHEN a.gpus > 1 AND coalesce(a.gpu_mgpu, 0) < 1000 THEN p.mgpu * (a.gpus - 1) / a.gpus ELSE 0 END,
  p.ask, CASE WHEN a.level IS NOT NULL THEN coalesce(d.domain, n.id, p.node) END, p.pods * a.cpu_milli, p.pods * a.mem_bytes,
  p.pods * coalesce(a.instances, 0), coalesce(a.mig_profile, ''),
  iif(n.id IS NULL OR n.id = (SELECT max(id) FROM node), p.node + p.nodes - coalesce(n.id, p.node), 1)
FROM v_ranges AS p
LEFT JOIN job AS j ON j.id = p.job
LEFT JOIN ask AS a ON a.shape = j.shape AND a.nr = p.ask
LEFT JOIN node AS n ON a.level IS NOT NULL AND n.id BETWEEN p.node AND p.node + p.nodes - 1
LEFT JOIN node_domain AS d ON d.node = n.id AND d.level = a.level
LEFT JOIN (
  SELECT shape, sum(pods * CASE WHEN instances > 0 THEN mig_mgpu ELSE (gpus - 1) * gpu_mgpu END) AS beyond
  FROM ask
  WHERE instances > 0 OR (gpus > 1 AND gpu_mgpu < 1000)
  GROUP BY shape) AS s ON s.shape = j.shape
ORDER BY p.job, p.nr, p.node, n.id;

-- name: cut_count
SELECT count(*) FROM attempt WHERE end_ms IS NOT NULL;

-- name: cuts
SELECT job, nr, end_ms FROM attempt WHERE end_ms IS NOT NULL ORDER BY job, nr;

-- name: eviction_count
SELECT count(*) FROM eviction;

-- name: evictions
SELECT e.job, e.for_job, e.at_ms, e.cause, e.gone_ms, e.whole, e.pods, e.moved,
  e.gone_ms >= (SELECT end_ms FROM run) OR (j.state = 3 AND j.end_ms BETWEEN e.at_ms AND e.gone_ms),
  -- off a node that a pool which follows the jobs gives up: it looks between what is due and the cycle
  e.cause = 'maintenance' AND e.gone_ms = e.at_ms AND (e.job, e.gone_ms) IN (
    SELECT p.job, p.end_ms
    FROM placement AS p
    JOIN node AS n ON n.id = p.node
    JOIN pool AS o ON o.name = n.pool AND o.max_nodes IS NOT NULL
    JOIN away AS w ON w.node = p.node AND w.from_ms = p.end_ms)
FROM eviction AS e
LEFT JOIN job AS j ON j.id = e.job
ORDER BY e.at_ms, e.rowid;

-- name: want_count
SELECT count(*) FROM wanted;

-- name: wants
SELECT job, at_ms, pods, mgpu FROM wanted ORDER BY at_ms, rowid;
