-- SPDX-License-Identifier: GPL-3.0-or-later
-- What figures ask of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: causes
SELECT cause, count(*) FROM eviction GROUP BY cause ORDER BY 2 DESC, 1;

-- piece: lost_gpu_h
WHEN 'preempt' THEN t.preempt
    WHEN 'reclaim' THEN t.reclaim
    WHEN 'consolidate' THEN t.consolidate
    WHEN 'stale gang' THEN t.stale_gang
    WHEN 'node failure' THEN t.node_failure
    WHEN 'max runtime' THEN t.max_runtime
    WHEN 'maintenance' THEN t.maintenance
    WHEN 'pods not ready' THEN t.pods_not_ready END / 3600000000.0

-- name: evictions
-- What a job lost for a cause is shared equally over its evictions of that cause, or where it has none over all of its
-- evictions: a gang that stood below its minimum, a stale one, may have gone for another cause. Evictions of some pods
-- that begin that of the whole job are counted with it; others of a job at one instant, for one cause and one job, are
-- one. Columns: cause, evicted and gone at, GPU-h, whole jobs, parts.
WITH c AS (SELECT job, cause, count(*) AS n FROM eviction GROUP BY job, cause), l AS (
  SELECT t.job AS job, c.column1 AS cause, CASE c.column1
-- use: lost_gpu_h
    AS gpu_h
  FROM job_time AS t
  CROSS JOIN (VALUES ('preempt'), ('reclaim'), ('consolidate'), ('stale gang'), ('node failure'), ('max runtime'),
    ('maintenance'), ('pods not ready')) AS c
  WHERE gpu_h > 0), e AS (
  SELECT e.job AS job, e.cause AS cause, min(e.at_ms, r.end_ms - 1) AS at_ms, min(e.gone_ms, r.end_ms - 1) AS gone_ms,
    e.whole AS whole, NOT e.whole AND coalesce(max(CASE WHEN e.whole THEN e.rowid END) OVER (PARTITION BY e.job, e.at_ms,
    e.cause) < e.rowid, 1) AND row_number() OVER (PARTITION BY e.job, e.at_ms, e.cause, e.for_job, e.whole
    ORDER BY e.rowid DESC) = 1 AS part
  FROM eviction AS e
  CROSS JOIN run AS r)
SELECT e.cause, e.at_ms, e.gone_ms, coalesce(CASE e.cause
-- use: lost_gpu_h
    / c.n, 0), e.whole, e.part
FROM e
JOIN c ON c.job = e.job AND c.cause = e.cause
LEFT JOIN job_time AS t ON t.job = e.job
UNION ALL
SELECT l.cause, e.at_ms, e.gone_ms, l.gpu_h / count(*) OVER (PARTITION BY l.job, l.cause), 0, 0
FROM l
LEFT JOIN c ON c.job = l.job AND c.cause = l.cause
JOIN e ON e.job = l.job
WHERE c.job IS NULL;

-- name: reasons
-- A job whose pods come and go waits for those that it wants then.
WITH i AS (
    SELECT i.reason AS reason, max(i.from_ms, coalesce(w.from_ms, i.from_ms)) AS from_ms,
      min(i.to_ms, coalesce(w.to_ms, i.to_ms)) AS to_ms, coalesce(w.mgpu, j.mgpu) AS mgpu
    FROM v_reason_intervals AS i
    JOIN job AS j ON j.id = i.job
    LEFT JOIN v_wanted AS w ON w.job = i.job AND w.from_ms < i.to_ms AND w.to_ms > i.from_ms
    WHERE i.job NOT IN (SELECT job FROM never))
SELECT replace(coalesce(reason, '?'), '-', ' ') AS reason, from_ms, to_ms, mgpu,
  sum(mgpu / 1000.0 * (to_ms - from_ms)) OVER (PARTITION BY reason) AS weight
FROM i
ORDER BY weight DESC, 1;

-- name: nevers
-- Of a part of the run (?3), from ?1 on and before ?2, those that waited in it.
SELECT count(*)
FROM never
WHERE NOT ?3 OR job IN (SELECT job FROM v_pending WHERE from_ms < ?2 AND coalesce(to_ms, 9e18) > ?1);

-- name: peak_allocated
-- GPUs that all queues hold together from a time on.
SELECT at_ms, sum(sum(change)) OVER (ORDER BY at_ms) / 1000.0
FROM (
  SELECT at_ms, allocated_mgpu - lag(allocated_mgpu, 1, 0) OVER (PARTITION BY queue ORDER BY at_ms) AS change
  FROM v_allocation)
GROUP BY at_ms
ORDER BY at_ms;

-- name: run
SELECT name, policy, status, clock_origin_ms, window_start_ms, window_end_ms, end_ms, capacity_mgpu,
  series_ms, begin_ms, (SELECT count(*) FROM job WHERE state > 0)
FROM run;

-- name: queues
SELECT q.id, q.display_name, q.gpu_quota
FROM queue AS q
JOIN (SELECT DISTINCT queue FROM job) AS s ON s.queue = q.id
LEFT JOIN (
  SELECT j.queue AS queue, sum(p.mgpu * 1.0 * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) AS held
  FROM v_holdings AS p
  JOIN job AS j ON j.id = p.job
  CROSS JOIN run AS r
  GROUP BY 1) AS h ON h.queue = q.id
ORDER BY coalesce(h.held, 0) DESC, q.id;

-- name: jain
SELECT value FROM metric WHERE name = 'fairness_jain' AND scope = 'all';

-- name: share_deviation
SELECT value FROM metric WHERE name = 'share_deviation' AND scope = 'all';

-- name: quota_debt
SELECT value FROM metric WHERE name = 'quota_debt_gpu_h' AND scope = 'all';

-- name: domains
SELECT n.id, d.domain, coalesce(m.name, d.domain)
FROM node AS n
LEFT JOIN node_domain AS d ON d.node = n.id AND d.level = 'rack'
LEFT JOIN domain_name AS m ON m.level = d.level AND m.domain = d.domain
JOIN v_job_gpus AS o ON o.node = n.id
WHERE o.gpus > 0
ORDER BY n.id;

-- name: typical_asks
SELECT gpus, coalesce(gpu_mgpu, 1000), cpu_milli, shard, gpu_model, share FROM v_typical LIMIT 256;

-- name: node_rooms
SELECT n.id, coalesce(n.cpu_milli, 9000000000000000), coalesce(p.shard, 0), coalesce(n.gpu_model, '')
FROM node AS n
LEFT JOIN shard_pool AS p ON p.pool = n.pool;

-- name: cpu_held
SELECT p.node, p.start_ms, coalesce(p.end_ms, r.end_ms), p.pods * k.cpu_milli
FROM v_placements AS p
JOIN job AS j ON j.id = p.job
CROSS JOIN run AS r
JOIN ask AS k ON k.shape = j.shape AND k.nr = p.ask
WHERE p.mgpu = 0 AND k.cpu_milli > 0;

-- name: room_buckets
SELECT m.at_ms, min(m.at_ms + r.series_ms, r.end_ms), m.idle_mgpu, m.unusable_mgpu
FROM room AS m
CROSS JOIN run AS r;

-- name: absences
SELECT node, from_ms, coalesce(to_ms, end_ms)
FROM (SELECT * FROM outage UNION ALL SELECT * FROM away UNION ALL SELECT * FROM cordon)
CROSS JOIN run;

-- name: nodes
-- without the first devices, where another scheduler's pods hold them
SELECT n.id, n.name, o.gpus, o.gpus - n.mig_gpus, n.gpus - o.gpus
FROM node AS n
JOIN v_job_gpus AS o ON o.node = n.id
WHERE o.gpus > 0
ORDER BY n.id;

-- name: profiles
SELECT group_concat(profile, ', ')
FROM (SELECT DISTINCT profile FROM mig WHERE instances > 0 ORDER BY CAST(profile AS INTEGER) DESC, profile);

-- name: instances
SELECT node, profile, instances, CAST(profile AS INTEGER) FROM mig WHERE instances > 0 ORDER BY node, 4 DESC, profile;

-- name: gaps
SELECT g.node, g.from_ms, coalesce(g.to_ms, r.end_ms + 1)
FROM (SELECT node, from_ms, to_ms FROM outage UNION ALL SELECT node, from_ms, to_ms FROM away) AS g
CROSS JOIN run AS r
ORDER BY g.from_ms, g.node;

-- name: lanes
SELECT p.node, p.start_ms, coalesce(p.end_ms, r.end_ms), p.mgpu, p.devices, j.queue, a.job IS NOT NULL, p.job,
  p.pods * k.cpu_milli, coalesce(p.pods * k.instances, 0), k.mig_profile, p.nodes
FROM v_ranges AS p
JOIN job AS j ON j.id = p.job
CROSS JOIN run AS r
LEFT JOIN ask AS k ON k.shape = j.shape AND k.nr = p.ask
LEFT JOIN attempt AS a ON a.job = p.job AND a.nr = p.nr
ORDER BY p.start_ms, p.job, p.node;

-- name: recorded_waits
SELECT w.queue, t.start_ms - w.from_ms, w.wait_ms
FROM recorded AS t
JOIN v_waits AS w ON w.job = t.job
CROSS JOIN run AS r
WHERE w.wait_ms IS NOT NULL AND w.enter_ms >= r.window_start_ms;

-- name: levels
SELECT level FROM startable GROUP BY level ORDER BY min(rowid) LIMIT 8;

-- name: idle_means
SELECT (at_ms - ?1) / ?2, avg(idle_mgpu) / 1000.0, min(idle_mgpu) / 1000.0 FROM room WHERE at_ms >= ?1 AND at_ms < ?3 GROUP BY 1;

-- name: unusable_means
SELECT (at_ms - ?1) / ?2, avg(unusable_mgpu) / 1000.0, max(unusable_mgpu) / 1000.0 FROM room WHERE at_ms >= ?1 AND at_ms < ?3 GROUP BY 1;

-- name: startable_means
SELECT (at_ms - ?1) / ?2, avg(mean_gpus), min(least_gpus)
FROM startable
WHERE at_ms >= ?1 AND at_ms < ?3 AND level = ?4
GROUP BY 1;

-- name: first_room
SELECT min(at_ms) FROM room;

-- name: last_room
SELECT max(at_ms) FROM room;

-- name: series_table
SELECT (s.at_ms - ?1) / ?2, s.queue, sum(s.allocated_mgpu * s.ms) / 1000.0,
  sum(s.pending_mgpu * 1.0 * s.ms) / 1000.0, 0, 0, sum(s.share_mgpu * s.ms) / 1000.0,
  sum(s.policy_share_mgpu * s.ms) / 1000.0, sum(max(0, s.allocated_mgpu - s.share_mgpu) * s.ms) / 1000.0,
  sum(max(0, s.share_mgpu - s.allocated_mgpu) * s.ms) / 1000.0,
  0, 0, sum(max(0, o.gpu_quota) * s.ms)
FROM (SELECT *, max(1, min(at_ms + ?4, ?5) - at_ms) AS ms FROM series) AS s
JOIN v_owed AS o ON o.queue = s.queue AND o.from_ms <= s.at_ms AND coalesce(o.to_ms, 9e18) > s.at_ms
WHERE s.at_ms >= ?1 AND s.at_ms < ?3
GROUP BY 1, 2;

-- name: depth_steps
SELECT q.id, d.at_ms, lead(d.at_ms, 1, r.end_ms) OVER (PARTITION BY d.queue ORDER BY d.at_ms), d.pending_jobs, d.pending_mgpu
FROM v_queue_depth AS d
JOIN queue AS q ON q.name = d.queue
CROSS JOIN run AS r;

-- name: share_means
SELECT queue, at_ms, share_mgpu / 1000.0, policy_share_mgpu / 1000.0
FROM series
WHERE at_ms > ?1 AND at_ms < ?2;

-- name: capacity_steps
WITH d AS (
  SELECT at_ms, gpus_up - lag(gpus_up, 1, 0) OVER (PARTITION BY pool ORDER BY at_ms) AS more
  FROM v_capacity)
SELECT at_ms, sum(more)
FROM d
GROUP BY at_ms
ORDER BY at_ms;

-- name: series_range
SELECT min(at_ms), max(at_ms) FROM series;

-- name: kinds
SELECT id, name FROM kind;

-- name: pieces
SELECT p.start_ms, coalesce(p.end_ms, r.end_ms), p.mgpu, 0, 0, 0
FROM v_holdings AS p
CROSS JOIN run AS r
UNION ALL
SELECT p.from_ms, coalesce(p.to_ms, r.end_ms), 0, p.mgpu, 0, 0
FROM v_waiting AS p
CROSS JOIN run AS r
WHERE p.job NOT IN (SELECT job FROM never) -- what is free is of no use to them
UNION ALL
SELECT o.from_ms, coalesce(o.to_ms, r.end_ms), 0, 0, n.gpus * 1000, 0
FROM (SELECT * FROM outage UNION ALL SELECT * FROM cordon) AS o
JOIN v_job_gpus AS n ON n.node = o.node
CROSS JOIN run AS r
UNION ALL -- of one that is cordoned, what nobody holds
SELECT max(p.start_ms, c.from_ms), min(coalesce(p.end_ms, r.end_ms), coalesce(c.to_ms, r.end_ms)), 0, 0, -p.mgpu, 0
FROM cordon AS c -- first: mostly there is none
CROSS JOIN v_placements AS p ON p.node = c.node AND p.start_ms < coalesce(c.to_ms, 9e18) AND coalesce(p.end_ms, 9e18) > c.from_ms
CROSS JOIN run AS r
UNION ALL
SELECT a.from_ms, coalesce(a.to_ms, r.end_ms), 0, 0, 0, n.gpus * 1000
FROM away AS a
JOIN v_job_gpus AS n ON n.node = a.node
CROSS JOIN run AS r;

-- name: lost
-- GPU time of no use, of what was held from ?1 on and before ?2, by cause; then idle and slow time. Sessions are idle for the
-- same part of all the time in which they work.
WITH s AS (
  SELECT job, part, mgpu_ms * (max(0, min(to_ms, ?2) - max(from_ms, ?1)) * 1.0 / max(1, to_ms - from_ms)) AS inside
  FROM (SELECT job, part, from_ms, to_ms, mgpu_ms FROM waste
        UNION ALL SELECT job, part, from_ms, to_ms, mgpu_ms FROM unused)),
  k AS (
    SELECT t.job AS job, t.idle * 1.0 / (t.useful - t.slow) AS part
    FROM job_time AS t
    JOIN job AS j ON j.id = t.job
    JOIN kind AS k ON k.id = j.kind
    WHERE k.name = 'interactive' AND t.idle > 0),
  h AS (
    SELECT k.job AS job,
      k.part * total(p.mgpu * 1.0 * max(0, min(coalesce(p.end_ms, r.end_ms), ?2) - max(p.start_ms, ?1))) AS idle
    FROM k
    JOIN v_holdings AS p ON p.job = k.job
    CROSS JOIN run AS r
    GROUP BY k.job)
SELECT total(inside) FILTER (WHERE part = 'preempt'), total(inside) FILTER (WHERE part = 'reclaim'),
  total(inside) FILTER (WHERE part = 'consolidate'), total(inside) FILTER (WHERE part = 'stale gang'),
  total(inside) FILTER (WHERE part = 'node failure'), total(inside) FILTER (WHERE part = 'max runtime'),
  total(inside) FILTER (WHERE part = 'maintenance'), total(inside) FILTER (WHERE part = 'pods not ready'),
  total(inside) FILTER (WHERE part = 'waiting'), total(inside) FILTER (WHERE part = 'checkpoint'),
  total(inside) FILTER (WHERE part = 'restart'),
  total(inside) FILTER (WHERE part = 'idle') + (SELECT total(idle) FROM h)
    - (SELECT total(s.inside * k.part) FROM s JOIN k ON k.job = s.job),
  total(inside) FILTER (WHERE part = 'slow')
FROM s;

-- How long jobs waited or took: jobs of services apart; of jobs that never could have started no curve tells, they are
-- counted beside it. Those submitted from ?2 on and before ?3.

-- piece: waits
WITH one(job, kind, queue, state, enter_ms, ms, over) AS (
  SELECT job, kind, queue, state, enter_ms, seen_ms, start_ms IS NOT NULL
  FROM v_waits)

-- piece: completions
WITH one(job, kind, queue, state, enter_ms, ms, over) AS (
  SELECT j.id, j.kind, j.queue, j.state, j.enter_ms, coalesce(j.end_ms, r.end_ms) - j.submit_ms, j.state = 3
  FROM job AS j
  CROSS JOIN run AS r)

-- piece: bounds
, w(ms) AS (
  SELECT ms
  FROM one
  WHERE ms > 0 AND over AND enter_ms >= ?2 AND enter_ms < ?3)
SELECT (SELECT ms FROM w ORDER BY ms LIMIT 1 OFFSET (SELECT count(*) / 200 FROM w)), (SELECT max(ms) FROM w)

-- piece: times
SELECT CASE WHEN ?1 THEN kind ELSE queue END, ms, kind IN (SELECT id FROM kind WHERE name = 'inference'), over
FROM one
WHERE state > 0 AND job NOT IN (SELECT job FROM never) AND enter_ms >= ?2 AND enter_ms < ?3
ORDER BY 2, 4 DESC

-- name: wait_bounds
-- use: waits
-- use: bounds
;

-- name: wait_times
-- use: waits
-- use: times
;

-- name: jct_bounds
-- use: completions
-- use: bounds
;

-- name: jct_times
-- use: completions
-- use: times
;

-- name: job_counts
-- that could start, of these started and finished, that never could; and whether they are of services
SELECT CASE WHEN ?1 THEN kind ELSE queue END, total(could), sum(start_ms IS NOT NULL), sum(state = 3), total(NOT could),
  kind IN (SELECT id FROM kind WHERE name = 'inference') AS service
FROM (SELECT *, id NOT IN (SELECT job FROM never) AS could FROM job)
WHERE (state > 0 OR NOT could) AND enter_ms >= ?2 AND enter_ms < ?3
GROUP BY 1, service;

-- name: class_counts
SELECT mgpu, total(NOT never), total(never)
FROM v_waits
WHERE (state > 0 OR never) AND enter_ms >= ?2 AND enter_ms < ?3 AND kind NOT IN (SELECT id FROM kind WHERE name = 'inference')
GROUP BY 1;

-- name: class_waits
SELECT mgpu, seen_ms, start_ms IS NOT NULL AS over
FROM v_waits
WHERE state > 0 AND NOT never AND enter_ms >= ?2 AND enter_ms < ?3
  AND kind NOT IN (SELECT id FROM kind WHERE name = 'inference')
ORDER BY 2, 3 DESC;
