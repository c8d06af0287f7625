-- SPDX-License-Identifier: GPL-3.0-or-later
-- What exports ask of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: standard_header
-- what readers of the format look for; a queue's number is that of the rows
SELECT '; Version: 2.2'
UNION ALL
SELECT '; UnixStartTime: ' || (clock_origin_ms / 1000)
FROM run
WHERE clock_origin_ms IS NOT NULL
UNION ALL
SELECT '; MaxJobs: ' || count(*)
FROM job
UNION ALL
SELECT '; MaxNodes: ' || count(*)
FROM node
UNION ALL
SELECT '; MaxProcs: ' || (capacity_mgpu / 1000)
FROM run
UNION ALL
SELECT '; Note: a processor is a GPU'
UNION ALL
SELECT '; Queue: ' || (id + 1) || ' ' || name
FROM queue
WHERE leaf;

-- name: standard_workload
SELECT id + 1, submit_ms / 1000, CASE WHEN start_ms IS NULL THEN -1 ELSE (start_ms - submit_ms) / 1000 END,
  CASE WHEN end_ms IS NULL OR start_ms IS NULL THEN -1 ELSE (end_ms - start_ms) / 1000 END,
  (mgpu + 999) / 1000, -1, -1, (mgpu + 999) / 1000, estimate_ms / 1000, -1, CASE WHEN state = 3 THEN 1
  WHEN state = 4 THEN 5 ELSE -1 END, -1, -1, -1, queue + 1, -1, -1, -1
FROM job
ORDER BY id;

-- name: tables
SELECT name
FROM sqlite_master
WHERE type IN ('table','view')
ORDER BY name;

-- Families of samples: the time in ms, the value, then labels under their names; in order of labels and time.

-- name: queue_info
SELECT b.at_ms, 1, q.name AS queue_name, coalesce(p.name, '') AS parent_queue
FROM queue AS q
LEFT JOIN queue AS p ON p.id = q.parent
CROSS JOIN (SELECT min(at_ms) AS at_ms FROM series) AS b
WHERE b.at_ms IS NOT NULL
ORDER BY q.id;

-- name: deserved_gpus
-- as it is when the bucket begins, whatever events made of it
SELECT b.at_ms, coalesce(o.gpu_quota, q.gpu_quota), q.name AS queue_name
FROM queue AS q
CROSS JOIN (SELECT DISTINCT at_ms FROM series) AS b
LEFT JOIN v_owed AS o ON o.queue = q.id AND o.from_ms <= b.at_ms AND coalesce(o.to_ms, 9e18) > b.at_ms
WHERE coalesce(o.gpu_quota, q.gpu_quota) >= 0
ORDER BY q.id, b.at_ms;

-- piece: under
-- queues, and the leaves below each
WITH RECURSIVE under(queue, leaf) AS (
  SELECT id, id
  FROM queue
  WHERE leaf
  UNION ALL
  SELECT q.parent, u.leaf
  FROM under AS u
  JOIN queue AS q ON q.id = u.queue
  WHERE q.parent IS NOT NULL)

-- piece: bucket_of_queue
q.name AS queue_name
FROM under AS u
JOIN series AS s ON s.queue = u.leaf
JOIN queue AS q ON q.id = u.queue
GROUP BY q.id, s.at_ms
ORDER BY q.id, s.at_ms

-- name: allocated_gpus
-- use: under
SELECT s.at_ms, sum(s.allocated_mgpu) / 1000.0,
-- use: bucket_of_queue
;

-- name: entitled_gpus
-- use: under
SELECT s.at_ms, sum(s.share_mgpu) / 1000.0,
-- use: bucket_of_queue
;

-- name: pending_gpus
-- use: under
SELECT s.at_ms, sum(s.pending_mgpu) / 1000.0,
-- use: bucket_of_queue
;

-- name: pending_jobs
-- use: under
SELECT s.at_ms, sum(s.pending_jobs),
-- use: bucket_of_queue
;

-- name: fair_share_gpu
SELECT s.at_ms, s.policy_share_mgpu / 1000.0, q.name AS queue_name
FROM series AS s
JOIN queue AS q ON q.id = s.queue
WHERE s.policy_share_mgpu IS NOT NULL
ORDER BY q.id, s.at_ms;

-- piece: shares_by_second
-- a row for each second, seen from 1970, in which a share is another: the last of it
q.name AS queue_name
FROM fair_share_of AS f
JOIN queue AS q ON q.id = f.queue
CROSS JOIN run AS r
WHERE f.amount IS NOT NULL

-- piece: second_of_share
GROUP BY q.id,
  f.at_ms + coalesce(r.clock_origin_ms, 0) - ((f.at_ms + coalesce(r.clock_origin_ms, 0)) % 1000 + 1000) % 1000
ORDER BY q.id, at

-- name: fair_share_cpu_cores
SELECT max(f.at_ms) AS at, f.amount / 1000.0,
-- use: shares_by_second
AND f.resource = 'cpu'
-- use: second_of_share
;

-- name: fair_share_memory_gb
SELECT max(f.at_ms) AS at, f.amount / 1e9,
-- use: shares_by_second
AND f.resource = 'memory'
-- use: second_of_share
;

-- name: evicted_pods
SELECT e.at_ms, sum(e.pods) OVER (PARTITION BY e.job, e.cause ORDER BY e.at_ms), e.name AS podgroup,
  e.queue AS namespace, e.job AS uid, e.shard AS nodepool,
  CASE e.cause
    WHEN 'consolidate' THEN 'consolidation'
    WHEN 'stale gang' THEN 'stalegangeviction'
    ELSE e.cause
  END AS action
FROM (
  SELECT e.job, e.cause, max(e.at_ms) AS at_ms, sum(e.pods) AS pods, j.name AS name, q.name AS queue, h.name AS shard
  FROM eviction AS e
  JOIN job AS j ON j.id = e.job
  JOIN queue AS q ON q.id = j.queue
  LEFT JOIN shard_queue AS s ON s.queue = q.id
  LEFT JOIN shard AS h ON h.id = s.shard
  CROSS JOIN run AS r
  GROUP BY e.job, e.cause,
    e.at_ms + coalesce(r.clock_origin_ms, 0) - ((e.at_ms + coalesce(r.clock_origin_ms, 0)) % 1000 + 1000) % 1000) AS e
ORDER BY e.job, e.cause, e.at_ms;

-- name: scenarios_simulated
SELECT r.end_ms, m.value, replace(m.label, 'action=', '') AS action
FROM metric AS m
CROSS JOIN run AS r
WHERE m.name = 'scenarios_simulated' AND m.scope = 'action';

-- name: origin
SELECT clock_origin_ms
FROM run;

-- name: lanes
-- a lane for each node, in the process of its pool; process 1 is that of the queues
SELECT id, name, pool, 2 + min(id) OVER (PARTITION BY pool) AS process
FROM node
ORDER BY id;

-- name: slices
-- what stands in the lanes of each node: pods of jobs, and times in which the node could take none or no more
SELECT n.id, 2 + f.first AS process, b.start_ms, max(coalesce(b.end_ms, r.end_ms), b.start_ms), b.end_ms IS NULL AS open,
  b.category, CASE WHEN b.job IS NULL THEN b.category ELSE j.name END, q.name, j.user, k.name, b.nr, b.pods,
  b.mgpu / 1000.0
FROM (
  SELECT node, start_ms, end_ms, 'job' AS category, job, nr, pods, mgpu
  FROM v_placements
  UNION ALL
  SELECT node, from_ms, to_ms, 'down', NULL, NULL, NULL, NULL
  FROM outage
  UNION ALL
  SELECT node, from_ms, to_ms, 'cordoned', NULL, NULL, NULL, NULL
  FROM cordon
  UNION ALL
  SELECT node, from_ms, to_ms, 'away', NULL, NULL, NULL, NULL
  FROM away) AS b
CROSS JOIN run AS r
JOIN node AS n ON n.id = b.node
JOIN (SELECT pool, min(id) AS first FROM node GROUP BY pool) AS f ON f.pool = n.pool
LEFT JOIN job AS j ON j.id = b.job
LEFT JOIN queue AS q ON q.id = j.queue
LEFT JOIN kind AS k ON k.id = j.kind
ORDER BY n.id, b.start_ms, b.end_ms IS NOT NULL, b.end_ms DESC, b.job, b.nr;

-- name: counters
SELECT s.at_ms, q.name, s.allocated_mgpu / 1000.0, s.pending_mgpu / 1000.0, s.share_mgpu / 1000.0, s.pending_jobs
FROM series AS s
JOIN queue AS q ON q.id = s.queue
ORDER BY q.id, s.at_ms;

-- name: evictions
SELECT e.at_ms, e.cause, j.name, e.pods, o.name
FROM eviction AS e
JOIN job AS j ON j.id = e.job
LEFT JOIN job AS o ON o.id = e.for_job
ORDER BY e.at_ms, e.job;

-- name: of_run
SELECT name, policy, seed, digest, orrery_version, clock_origin_ms, series_ms
FROM run;
