-- SPDX-License-Identifier: GPL-3.0-or-later
-- What studies ask of results files; ../../analysis/sql/named_sql.cmake makes each a C string.

-- name: start
SELECT window_start_ms - begin_ms, digest, window_end_ms - begin_ms
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

-- name: never_run
-- rows that all nodes there will ever be could not hold, and jobs that never could have started: of a file of totals alone
-- those that were submitted in the window
SELECT coalesce((SELECT sum(rows_rejected) FROM input), 0)
  + max((SELECT count(*) FROM never),
    coalesce((SELECT value FROM metric WHERE name = 'never_startable' AND scope = 'all'), 0));

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
-- Of its first wait, and how long it waited after that.
SELECT j.queue, w.from_ms, w.from_ms + w.seen_ms,
  (SELECT coalesce(sum(coalesce(p.to_ms, r.end_ms) - p.from_ms), 0)
   FROM v_pending AS p
   CROSS JOIN run AS r
   WHERE p.job = j.id AND p.from_ms > j.start_ms)
FROM job AS j
JOIN v_waits AS w ON w.job = j.id
WHERE j.name = ?1;

-- name: scenario
SELECT scenario_resolved, seed, (SELECT value FROM run_meta WHERE key = 'folder'), (SELECT value FROM run_meta WHERE key = 'folder_from_here'), name
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

-- name: status
SELECT status
FROM run;

-- name: hashes
SELECT sha256, path
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

-- name: window_start
SELECT window_start_ms
FROM run;

-- name: run_cost
SELECT value
FROM metric
WHERE name = 'run_cost' AND scope = 'all';

-- name: blame_users
-- the users who had most: name, jobs, GPU-hours that their pods held
SELECT j.user, count(DISTINCT j.id), total(p.mgpu * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) / 3.6e9
FROM v_placements AS p
JOIN job AS j ON j.id = p.job
CROSS JOIN run AS r
WHERE j.user IS NOT NULL AND (?2 IS NULL OR j.user = ?2)
GROUP BY j.user
ORDER BY 3 DESC, 1
LIMIT ?1;

-- name: blame_queues
SELECT q.name, count(DISTINCT j.id), total(p.mgpu * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) / 3.6e9
FROM v_placements AS p
JOIN job AS j ON j.id = p.job
JOIN queue AS q ON q.id = j.queue
CROSS JOIN run AS r
WHERE ?2 IS NULL OR q.name = ?2
GROUP BY q.id
ORDER BY 3 DESC, 1
LIMIT ?1;

-- name: blame_jobs
SELECT j.name, 1, total(p.mgpu * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) / 3.6e9
FROM v_placements AS p
JOIN job AS j ON j.id = p.job
CROSS JOIN run AS r
WHERE ?2 IS NULL OR j.name = ?2
GROUP BY j.id
ORDER BY 3 DESC, 1
LIMIT ?1;

-- piece: blamed
-- what all others waited longer in `base` than in a run without user ?1, queue ?2 or job ?3, for every
-- start; a wait that did not end is counted to the later end of the two runs
SELECT b.name AS job, b.queue AS queue, b.mgpu AS mgpu, b.ms - w.ms AS more_ms
FROM (
  SELECT j.name AS name, q.name AS queue, j.mgpu AS mgpu, j.start_ms IS NOT NULL AS started,
    sum(coalesce(p.to_ms, (SELECT max(x.end_ms, r.end_ms) FROM main.run AS x, base.run AS r)) - p.from_ms) AS ms
  FROM base.v_pending AS p
  JOIN base.job AS j ON j.id = p.job
  JOIN base.queue AS q ON q.id = j.queue
  WHERE (?1 IS NULL OR j.user IS NOT ?1) AND (?2 IS NULL OR q.name <> ?2) AND (?3 IS NULL OR j.name <> ?3)
  GROUP BY j.id) AS b
JOIN (
  SELECT j.name AS name, j.start_ms IS NOT NULL AS started,
    sum(coalesce(p.to_ms, (SELECT max(x.end_ms, r.end_ms) FROM main.run AS x, base.run AS r)) - p.from_ms) AS ms
  FROM main.v_pending AS p
  JOIN main.job AS j ON j.id = p.job
  GROUP BY j.id) AS w ON w.name = b.name
WHERE b.started OR w.started

-- name: blame
SELECT count(CASE WHEN more_ms > 0 THEN 1 END), total(CASE WHEN more_ms > 0 THEN more_ms * mgpu END) / 3.6e9,
  count(CASE WHEN more_ms < 0 THEN 1 END), total(CASE WHEN more_ms < 0 THEN -more_ms * mgpu END) / 3.6e9
FROM (
-- use: blamed
);

-- name: blame_queue
SELECT queue, total(more_ms * mgpu) / 3.6e9
FROM (
-- use: blamed
)
WHERE more_ms > 0
GROUP BY queue
ORDER BY 2 DESC, 1
LIMIT 1;

-- name: blame_most
SELECT job, more_ms
FROM (
-- use: blamed
)
WHERE more_ms > 0
ORDER BY more_ms * mgpu DESC, more_ms DESC, job
LIMIT 1;

-- name: loss_window
SELECT window_start_ms, window_end_ms, begin_ms, end_ms
FROM run;

-- name: loss_nodes
-- the nodes of each domain of level ?1, or each by itself
SELECT coalesce(d.domain, n.id), n.id, n.name, o.gpus, m.name
FROM node AS n
JOIN v_job_gpus AS o ON o.node = n.id
LEFT JOIN node_domain AS d ON d.node = n.id AND d.level = ?1
LEFT JOIN domain_name AS m ON m.level = d.level AND m.domain = d.domain
WHERE d.node IS NOT NULL OR ?1 = 'node'
ORDER BY 1, 2;

-- name: loss_node_count
SELECT count(*)
FROM node;

-- name: levels
SELECT group_concat(level, ', ')
FROM (SELECT level FROM node_domain GROUP BY level ORDER BY min(rowid));

-- piece: wasted_in
-- milli-GPU x ms that jobs held to no use
SELECT total(preempt + reclaim + consolidate + stale_gang + node_failure + max_runtime + maintenance + pods_not_ready + checkpoint + restart
  + waiting)

-- name: loss_wasted
-- GPU-hours more than without the loss (main)
SELECT ((
-- use: wasted_in
FROM base.job_time) - (
-- use: wasted_in
FROM main.job_time)) / 3.6e9;

-- name: loss_hit
-- jobs that lost pods at ?1
SELECT count(DISTINCT job)
FROM base.eviction
WHERE at_ms = ?1 AND cause = 'node failure';

-- name: shards
SELECT policy, policy_params
FROM shard
ORDER BY id;

-- name: quotas
-- of all queues in one text, with their changes
SELECT (
    SELECT group_concat(text, char(10))
    FROM (
      SELECT name || ' ' || gpu_quota AS text
      FROM queue
      UNION ALL
      SELECT q.name || ' ' || c.at_ms || ' ' || c.gpu_quota
      FROM queue_change AS c
      JOIN queue AS q ON q.id = c.queue
      ORDER BY 1)),
  digest
FROM run;
