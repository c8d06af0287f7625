-- SPDX-License-Identifier: GPL-3.0-or-later
-- What studies ask of results files; ../../analysis/sql/named_sql.cmake makes each a C string.

-- name: start
SELECT window_start_ms - begin_ms, digest
FROM run;

-- name: inputs
SELECT sha256, bytes
FROM input
ORDER BY rowid;

-- name: run
SELECT name, policy, seed, digest, orrery_version, scenario_given, scenario_resolved
FROM run;

-- name: labels
SELECT name, group_concat('{' || nullif(label, '') || '}', ' ')
FROM metric
GROUP BY name;

-- name: expectation
SELECT value, holds
FROM expectation
WHERE text = ?1
ORDER BY nr
LIMIT 1;

-- name: pools
SELECT pool, count(*), max(gpus)
FROM node
GROUP BY pool
ORDER BY min(id);

-- name: capacity
SELECT capacity_mgpu / 1000
FROM run;

-- name: above
WITH RECURSIVE up(id) AS (
  SELECT ?1
  UNION ALL
  SELECT q.parent
  FROM queue AS q
  JOIN up ON q.id = up.id
  WHERE q.parent IS NOT NULL)
SELECT q.name, q.gpu_quota, q.gpu_limit
FROM up
JOIN queue AS q ON q.id = up.id;

-- name: place_in_time
SELECT j.queue, w.from_ms, w.from_ms + w.seen_ms
FROM job AS j
JOIN v_waits AS w ON w.job = j.id
WHERE j.name = ?1;

-- name: scenario
SELECT scenario_resolved, seed, (SELECT value FROM run_meta WHERE key = 'folder'), (SELECT value FROM run_meta WHERE key = 'folder_from_here')
FROM run;

-- name: window
SELECT window_start_ms, window_end_ms, digest
FROM run;

-- name: queues
SELECT q.name
FROM queue AS q
WHERE q.leaf AND (?1 IS NULL AND EXISTS (
    SELECT 1
    FROM job AS j
    CROSS JOIN run AS r
    WHERE j.queue = q.id AND j.mgpu > 0 AND j.enter_ms >= r.window_start_ms) OR q.name = ?1)
ORDER BY q.id;

-- name: digest
SELECT digest
FROM run;

-- name: hashes
SELECT sha256
FROM input
ORDER BY rowid;

-- name: all_hashes
SELECT group_concat(sha256)
FROM (SELECT sha256 FROM input ORDER BY rowid);

-- name: version
SELECT orrery_version
FROM run;

-- name: courses
-- of every job; ?1 is the name of one that was added
SELECT j.start_ms, j.mgpu / 1000.0 * j.work_ms, j.submit_ms, k.name <> 'inference', j.name = ?1
FROM job AS j
JOIN kind AS k ON k.id = j.kind
ORDER BY j.id;

-- name: waiting
-- Changes of whether anything waits: from a time on, jobs that wait in all queues.
SELECT at_ms, sum(sum(change)) OVER (ORDER BY at_ms)
FROM (
  SELECT at_ms, pending_jobs - lag(pending_jobs, 1, 0) OVER (PARTITION BY queue ORDER BY at_ms) AS change
  FROM v_queue_depth)
GROUP BY at_ms
ORDER BY at_ms;

-- name: own
-- pods of a job that are all alike (else 1), its priority, the highest of all, and shards
SELECT CASE WHEN (SELECT count(*) FROM ask AS a WHERE a.shape = j.shape) = 1 THEN j.pods ELSE 1 END, j.priority,
  (SELECT max(priority) FROM job), (SELECT count(*) FROM shard)
FROM job AS j
WHERE j.name = ?1;

-- piece: moved
-- what the waits for first starts are beside those of `base`, of all jobs but one
SELECT j.name AS job, q.name AS queue, w.seen_ms - b.seen_ms AS more_ms, w.start_ms IS NULL AS unstarted,
  b.start_ms IS NULL AS was_unstarted
FROM main.v_waits AS w
JOIN main.job AS j ON j.id = w.job
JOIN main.queue AS q ON q.id = w.queue
JOIN base.job AS o ON o.name = j.name
JOIN base.v_waits AS b ON b.job = o.id
WHERE j.name <> ?1 AND (w.start_ms IS NOT NULL OR b.start_ms IS NOT NULL)

-- name: cost
SELECT count(CASE WHEN more_ms >= 1000 THEN 1 END), total(CASE WHEN more_ms >= 1000 THEN more_ms END),
  count(CASE WHEN more_ms <= -1000 THEN 1 END), total(CASE WHEN more_ms <= -1000 THEN -more_ms END),
  total(unstarted), total(was_unstarted)
FROM (
-- use: moved
);

-- name: cost_by_queue
SELECT queue, count(*), total(more_ms)
FROM (
-- use: moved
)
WHERE more_ms >= 1000
GROUP BY queue
ORDER BY 3 DESC, 1
LIMIT 3;

-- name: cost_most
SELECT job, queue, more_ms
FROM (
-- use: moved
)
WHERE more_ms >= 1000
ORDER BY more_ms DESC, job
LIMIT 1;

-- name: run_cost
SELECT value
FROM metric
WHERE name = 'run_cost' AND scope = 'all';
