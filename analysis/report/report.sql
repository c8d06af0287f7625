-- SPDX-License-Identifier: GPL-3.0-or-later
-- What a report asks of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: longest
-- The longest waits of jobs of the window, at most three of a size and queue. Free GPUs are made again from what jobs held: a second before the
-- end of the reason that held longest, and of the wait, since a scheduler that looks each second has not seen what was freed
-- since, which it then gives to the job. The other numbers are of when that reason began last.
WITH one AS (
  SELECT w.job, w.queue, w.mgpu, w.from_ms, w.start_ms, w.from_ms + w.seen_ms AS until_ms, w.seen_ms AS waited,
    CASE WHEN w.start_ms IS NOT NULL THEN 'yes' WHEN w.state = 4 THEN 'no, it left' ELSE 'never' END AS started
  FROM v_waits AS w
  CROSS JOIN run AS r
  WHERE w.state > 0 AND NOT w.never AND w.enter_ms >= r.window_start_ms),
  alike AS (
    SELECT *, row_number() OVER (PARTITION BY queue, mgpu, start_ms IS NULL ORDER BY waited DESC, job) AS nr
    FROM one
    WHERE waited > 0),
  longest AS (SELECT * FROM alike WHERE nr <= 3 ORDER BY waited DESC, job LIMIT 10),
  why AS (
    SELECT i.job AS job, i.words AS words, max(i.to_ms) AS last_ms, sum(i.to_ms - i.from_ms) AS span,
      max(sum(i.to_ms - i.from_ms)) OVER (PARTITION BY i.job) AS most
    FROM v_reason_intervals AS i
    JOIN longest AS l ON l.job = i.job
    WHERE l.start_ms IS NULL OR i.from_ms < l.start_ms
    GROUP BY i.job, i.words),
  main AS (SELECT job, max(words) AS words, last_ms FROM why WHERE span = most GROUP BY job),
  proof AS (
    SELECT c.*, n.words AS words, max(c.rowid)
    FROM reason_change AS c
    JOIN longest AS l ON l.job = c.job
    JOIN reason AS n ON n.id = c.reason
    WHERE l.start_ms IS NULL OR c.at_ms < l.start_ms
    GROUP BY c.job, n.words),
  moment AS (
    SELECT m.job AS job, max(l.from_ms, min(m.last_ms, l.until_ms) - 1000) AS at_ms, 0 AS is_end
    FROM main AS m
    JOIN longest AS l ON l.job = m.job
    UNION ALL
    SELECT job, max(from_ms, until_ms - 1000), 1 FROM longest),
  placed AS ( -- rows of nodes that follow each other; those of a moment alone become a row a node
    SELECT id AS job, 0 AS ask, node, 1 AS nodes, mgpu, last_start_ms AS start_ms, coalesce(end_ms, 9e18) AS end_ms
    FROM job
    WHERE node IS NOT NULL AND start_ms IS NOT NULL
    UNION ALL
    SELECT job, ask, node, nodes, mgpu, start_ms, coalesce(end_ms, 9e18) FROM placement),
  held AS ( -- of devices, or of instances of a MIG profile
    SELECT m.job, m.is_end, n.id AS node, a.mig_profile AS profile, sum(p.mgpu) AS mgpu
    FROM placed AS p
    CROSS JOIN moment AS m ON m.at_ms >= p.start_ms AND m.at_ms < p.end_ms
    CROSS JOIN node AS n ON n.id BETWEEN p.node AND p.node + p.nodes - 1
    CROSS JOIN job AS j ON j.id = p.job
    CROSS JOIN ask AS a ON a.shape = j.shape AND a.nr = p.ask
    GROUP BY 1, 2, 3, 4),
  asked AS ( -- what the first pods of each ask: devices, or instances
    SELECT m.job, m.is_end, m.at_ms, a.gpu_model, a.bound, a.shard, a.mig_profile AS profile,
      CASE WHEN a.instances > 0 THEN a.mig_mgpu / a.instances ELSE 0 END AS each_mgpu
    FROM moment AS m -- first: from nodes and shapes on, all jobs of the shapes would be looked at for each node
    CROSS JOIN job AS j ON j.id = m.job
    CROSS JOIN ask AS a ON a.shape = j.shape AND a.nr = 0),
  nodes AS ( -- what a node has of that
    SELECT m.job, m.is_end, m.at_ms, m.bound, m.shard, m.profile, n.id AS id, n.pool AS pool,
      CASE WHEN m.profile IS NULL THEN 1000 * (n.gpus - n.mig_gpus - coalesce(f.gpus, 0))
        ELSE coalesce((SELECT g.instances * m.each_mgpu FROM mig AS g WHERE g.node = n.id AND g.profile = m.profile), 0) END AS mgpu
    FROM asked AS m
    CROSS JOIN node AS n ON (m.gpu_model IS NULL OR instr('|' || m.gpu_model || '|', '|' || n.gpu_model || '|') > 0)
    LEFT JOIN foreign_pods AS f ON f.node = n.id),
  room AS ( -- of nodes that are up and not cordoned, and that its pods may be on
    SELECT n.job, n.is_end, n.profile, total(n.mgpu - coalesce(h.mgpu, 0)) / 1000.0 AS free,
      max(n.mgpu - coalesce(h.mgpu, 0)) / 1000.0 AS hole
    FROM nodes AS n
    LEFT JOIN held AS h ON h.job = n.job AND h.is_end = n.is_end AND h.node = n.id AND h.profile IS n.profile
    WHERE NOT EXISTS (SELECT 1 FROM barred AS b WHERE b.bound = n.bound AND b.node = n.id)
      AND (n.shard IS NULL OR n.pool IN (SELECT pool FROM shard_pool AS s WHERE s.shard = n.shard)
        OR NOT EXISTS (SELECT 1 FROM shard_pool))
      AND NOT EXISTS (SELECT 1 FROM outage AS o WHERE o.node = n.id AND o.from_ms <= n.at_ms AND coalesce(o.to_ms, 9e18) > n.at_ms)
      AND NOT EXISTS (SELECT 1 FROM away AS o WHERE o.node = n.id AND o.from_ms <= n.at_ms AND coalesce(o.to_ms, 9e18) > n.at_ms)
      AND NOT EXISTS (SELECT 1 FROM cordon AS o WHERE o.node = n.id AND o.from_ms <= n.at_ms AND coalesce(o.to_ms, 9e18) > n.at_ms)
    GROUP BY 1, 2, 3),
  said AS (
    SELECT r.job, r.is_end, printf('%g %s free', r.free, CASE WHEN r.free = 1 THEN 'GPU' ELSE 'GPUs' END)
      || CASE WHEN r.profile IS NULL THEN '' ELSE ' of MIG instances ' || r.profile END
      || CASE WHEN j.mgpu < 1000 * j.pods THEN '' ELSE printf(', at most %g on one node', r.hole) END AS words
    FROM room AS r
    JOIN job AS j ON j.id = r.job
    WHERE j.mgpu > 0)
SELECT j.name AS job, q.display_name AS queue, j.mgpu / 1000.0 AS GPUs,
  l.from_ms AS "submitted at",
  l.waited / 1000.0 AS "waited s", l.started AS started,
  y.words AS "mostly because", s.words AS "when that was last so",
  ltrim(CASE WHEN p.domain_mgpu IS NULL OR p.level IS NULL THEN ''
      ELSE printf(', at most %g in one %s', p.domain_mgpu / 1000.0, p.level) END
    || CASE WHEN p.allowed_mgpu IS NULL OR b.name IS NULL THEN ''
      ELSE printf(', %s holds %g of %g', b.display_name, p.held_mgpu / 1000.0, p.allowed_mgpu / 1000.0) END
    || CASE WHEN a.name IS NULL THEN '' ELSE printf(', behind %s of %g GPUs', a.name, a.mgpu / 1000.0) END
    || CASE WHEN o.code IS NULL OR o.code = 'not-tried' THEN ''
      WHEN o.code = 'gate-failed' THEN ', no reclaim: its queue would hold more than its share'
      ELSE ', reclaim: ' || o.words END, ', ') AS "when that began last", e.words AS "in the end"
FROM longest AS l
JOIN job AS j ON j.id = l.job
LEFT JOIN queue AS q ON q.id = l.queue
LEFT JOIN main AS y ON y.job = l.job
LEFT JOIN proof AS p ON p.job = l.job AND p.words = y.words
LEFT JOIN said AS s ON s.job = l.job AND NOT s.is_end
LEFT JOIN said AS e ON e.job = l.job AND e.is_end
LEFT JOIN queue AS b ON b.id = p.queue
LEFT JOIN job AS a ON a.id = p.ahead
LEFT JOIN outcome AS o ON o.id = p.reclaim
ORDER BY l.waited DESC, l.job;

-- name: head
SELECT name, policy, (window_end_ms - window_start_ms) / 1000.0, capacity_mgpu / 1000.0,
  (SELECT count(*) FROM node), (SELECT count(*) FROM queue WHERE leaf),
  window_start_ms > begin_ms, window_end_ms = end_ms
FROM run;

-- name: scenario
SELECT scenario_resolved
FROM run;

-- name: window_start
SELECT window_start_ms
FROM run;

-- name: window_end
SELECT window_end_ms
FROM run;

-- name: never
-- of jobs of the window
SELECT count(*)
FROM never AS n
JOIN job AS j ON j.id = n.job
CROSS JOIN run AS r
WHERE j.enter_ms >= r.window_start_ms;

-- name: causes
-- Work can be lost for a cause of which nothing was evicted: a gang that stands below its minimum loses it as a stale
-- gang, and what is left of it may go for another cause. Some pods that go before the whole job does at that instant are
-- of its eviction; others of a job at one instant, for one cause and one job, are one.
WITH l AS (
  SELECT replace(label, 'cause=', '') AS cause, value
  FROM metric
  WHERE name = 'lost_gpu_h' AND scope = 'cause'), c AS (
  SELECT e.cause AS cause, sum(e.whole) AS times, sum(NOT e.whole AND coalesce(e.last_whole < e.nr, 1) AND e.last) AS parts,
    count(DISTINCT e.job) AS jobs, sum(e.used = 0) AS unused
  FROM (
    SELECT *, rowid AS nr, max(CASE WHEN whole THEN rowid END) OVER (PARTITION BY job, at_ms, cause) AS last_whole,
      row_number() OVER (PARTITION BY job, at_ms, cause, for_job, whole ORDER BY rowid DESC) = 1 AS last
    FROM eviction) AS e
  GROUP BY e.cause
  UNION ALL
  SELECT cause, 0, 0, 0, NULL
  FROM l
  WHERE cause NOT IN (SELECT cause FROM eviction))
SELECT c.cause AS cause, c.times AS "attempts cut short", c.parts AS "times some pods were lost", c.jobs AS "jobs",
  coalesce(l.value, 0.0) AS "GPU-hours lost", coalesce(l.value, 0.0) / nullif(c.times + c.parts, 0) AS "each", c.unused AS "for nothing"
FROM c
LEFT JOIN l ON l.cause = c.cause
ORDER BY coalesce(l.value, 0.0) DESC;

-- name: taken
-- What a job lost by a cause is shared equally over its evictions of that cause.
WITH e AS (
  SELECT e.*, count(*) OVER (PARTITION BY e.job, e.cause) AS of_job
  FROM eviction AS e
  WHERE e.for_job IS NOT NULL)
SELECT e.cause AS cause, coalesce(q.display_name, '') AS "taken from", coalesce(f.display_name, '') AS "for",
  count(*) AS evictions, sum(e.used = 0) AS "for nothing", 
  total(CASE e.cause WHEN 'preempt' THEN t.preempt WHEN 'reclaim' THEN t.reclaim WHEN 'consolidate' THEN t.consolidate END
    / 3.6e9 / e.of_job) AS "GPU-hours lost"
FROM e
JOIN job AS j ON j.id = e.job
LEFT JOIN queue AS q ON q.id = j.queue
LEFT JOIN job AS b ON b.id = e.for_job
LEFT JOIN queue AS f ON f.id = b.queue
LEFT JOIN job_time AS t ON t.job = e.job
GROUP BY 1, 2, 3
ORDER BY 6 DESC, 4 DESC, 2, 3;

-- name: recorded
SELECT count(*)
FROM recorded;

-- name: run
SELECT name AS scenario, policy, seed, status, digest, orrery_version AS version
FROM run;

-- name: inputs
SELECT path AS input, format, rows_read AS "rows", rows_rejected AS rejected,
  substr(sha256, 1, 16) AS "sha256 (first 16)"
FROM input;

-- name: rejected_rows
SELECT shown
FROM (
  SELECT group_concat(rejected_shown, '') AS shown, sum(rows_rejected) AS rejected
  FROM input)
WHERE rejected > 0;

-- name: parameters
SELECT policy_params
FROM run;

-- name: meta
SELECT group_concat(key || ': ' || coalesce(value, ''), char(10))
FROM run_meta;

-- name: metrics
SELECT name AS metric, value, unit, n, definition
FROM metric
WHERE scope = 'all'
ORDER BY rowid;

-- name: evictions_for_others
SELECT count(*)
FROM eviction
WHERE for_job IS NOT NULL;

-- name: reasons
-- of jobs of the window, to the end of the run; without those that never could have started
-- a job whose pods come and go waits for those that it wants then
WITH one AS (
    SELECT i.job AS job, i.reason AS reason, i.words AS words, coalesce(n.mgpu, w.mgpu) AS mgpu,
      min(i.to_ms, coalesce(n.to_ms, i.to_ms)) - max(i.from_ms, coalesce(n.from_ms, i.from_ms)) AS ms
    FROM v_reason_intervals AS i
    JOIN v_waits AS w ON w.job = i.job
    CROSS JOIN run AS r
    LEFT JOIN v_wanted AS n ON n.job = i.job AND n.from_ms < i.to_ms AND n.to_ms > i.from_ms
    WHERE w.enter_ms >= r.window_start_ms AND NOT w.never)
SELECT reason, words AS "in words", count(DISTINCT job) AS jobs, sum(ms) / 1000.0 AS "all jobs together s",
  total(ms * 1.0 * mgpu) / 3.6e9 AS "GPU-hours waited"
FROM one
GROUP BY words
ORDER BY 5 DESC;

-- name: metric
SELECT value, at_least
FROM metric
WHERE name = ?1 AND scope = 'all' AND label = '';

-- name: longest_queue
-- The p95 of fewer than 20 jobs is that of its longest: such a queue only where there is no other.
SELECT label, value, n
FROM metric
WHERE name = 'wait_p95_s' AND scope = 'queue' AND label NOT LIKE '%,kind=inference' AND n > 0
ORDER BY n < 20, value IS NULL DESC, value DESC
LIMIT 1;

-- name: never_by_reason
SELECT count(*), r.words
FROM never AS n
JOIN reason AS r ON r.id = n.reason
JOIN job AS j ON j.id = n.job
CROSS JOIN run AS u
WHERE j.enter_ms >= u.window_start_ms
GROUP BY r.id
ORDER BY 1 DESC, r.id;

-- name: unstarted
SELECT n
FROM metric
WHERE name = 'unstarted' AND scope = 'all';

-- name: capacity_mgpu
SELECT capacity_mgpu
FROM run;

-- name: sizes
-- of what jobs waited for within the window, those apart that never could have started
SELECT mgpu, t, sum(t) OVER ()
FROM (
  SELECT p.mgpu AS mgpu,
    sum(p.mgpu * 1.0 * (min(coalesce(p.to_ms, r.end_ms), r.window_end_ms) - max(p.from_ms, r.window_start_ms))) AS t
  FROM v_waiting AS p
  CROSS JOIN run AS r
  WHERE p.from_ms < r.window_end_ms AND coalesce(p.to_ms, r.end_ms) > r.window_start_ms
    AND p.job NOT IN (SELECT job FROM never)
  GROUP BY p.mgpu)
ORDER BY mgpu DESC;

-- name: drain
SELECT d.value * 3600, o.value * 100
FROM metric AS d
JOIN metric AS o USING (scope, label)
WHERE label = 'phase=drain' AND d.name = 'phase_h' AND o.name = 'phase_gpu_occupancy'
  AND o.value IS NOT NULL;

-- name: lost
SELECT replace(label, 'cause=', ''), value
FROM metric
WHERE name = 'lost_gpu_h' AND scope = 'cause' AND value >= 0.5
ORDER BY value DESC;

-- name: loser
SELECT q.display_name, count(*)
FROM eviction AS e
JOIN job AS j ON j.id = e.job
JOIN queue AS q ON q.id = j.queue
GROUP BY q.id
ORDER BY 2 DESC
LIMIT 1;

-- name: cut_short
SELECT count(*)
FROM eviction
WHERE whole;

-- name: used_gpu_h
SELECT cast(total(p.mgpu * 1.0 * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) / 3600000.0 AS INTEGER)
FROM v_holdings AS p
CROSS JOIN run AS r;

-- name: lost_pods
SELECT cast(coalesce(max(value), 0) AS INTEGER)
FROM metric
WHERE name = 'partial_evictions' AND scope = 'all';

-- name: services
WITH w AS (
  SELECT substr(label, 10) AS name, max(CASE name WHEN 'attainment' THEN value END) AS attained,
    max(CASE name WHEN 'attainment' THEN n END) AS n, max(CASE name WHEN 'requests_late'
    THEN value END) AS late, max(CASE name WHEN 'requests_dropped' THEN value END) AS dropped,
    max(CASE name WHEN 'requests_waiting' THEN value END) AS waiting, max(CASE name WHEN 'gave_up' THEN value END) AS left,
    min(rowid) AS place
  FROM metric
  WHERE scope = 'workload'
  GROUP BY label), p AS (
  SELECT j.name AS name, sum(v.wanted * 1.0 * (v.to_ms - v.from_ms)) / sum(v.to_ms - v.from_ms) AS wanted,
    sum(v.had * 1.0 * (v.to_ms - v.from_ms)) / sum(v.to_ms - v.from_ms) AS had, sum(CASE
    WHEN v.wanted > v.had THEN v.to_ms - v.from_ms ELSE 0 END) / 1000.0 AS short
  FROM v_replicas AS v
  JOIN job AS j ON j.id = v.job
  GROUP BY v.job)
SELECT w.name AS workload, CASE WHEN w.late IS NULL THEN 'jobs' ELSE 'requests' END AS "of its",
  w.n AS number, printf('%.3f %%', 100 * w.attained) AS "met the objective", w.late AS late,
  w.dropped AS dropped, round(w.waiting) AS "in line at the end", w.left AS "gave up", p.wanted AS "pods wanted (mean)", p.had AS "pods had (mean)",
  p.short AS "short of pods s"
FROM w
LEFT JOIN p ON p.name = w.name
WHERE w.attained IS NOT NULL
ORDER BY w.place;

-- name: attainments
SELECT count(*)
FROM metric
WHERE name = 'attainment';

-- name: expectation_count
SELECT count(*)
FROM expectation;

-- name: expectations
SELECT text AS expected, CASE holds WHEN 1 THEN 'yes' WHEN 0 THEN 'no'
  ELSE 'the run has no such number' END AS held, value AS "it was"
FROM expectation
ORDER BY nr;

-- name: expectations_held
SELECT count(*)
FROM expectation
WHERE holds;

-- name: expectations_broken
SELECT text, value, holds
FROM expectation
WHERE holds IS NOT 1
ORDER BY nr
LIMIT 3;

-- name: is_finished
SELECT status = 'finished'
FROM run;

-- name: open
SELECT count(*)
FROM job
WHERE state IN (1, 2);

-- name: absent
SELECT count(*)
FROM job
WHERE state = 0;

-- name: never_started
SELECT count(*)
FROM job
WHERE state = 1 AND start_ms IS NULL;

-- name: never_of_open
SELECT count(*)
FROM never AS n
JOIN job AS j ON j.id = n.job
WHERE j.state = 1;

-- name: stuck
-- Jobs that wait though the run came to its end and nothing runs, but services and those that never could have started: how
-- many, the first that waits for the policy, and its last reason. Whose user or whose other job is waited for counts too.
WITH s AS (
  SELECT j.id, j.name, j.state
  FROM job AS j
  JOIN kind AS k ON k.id = j.kind
  CROSS JOIN run AS r
  WHERE r.status = 'finished' AND NOT EXISTS (SELECT 1 FROM job WHERE state = 2) AND k.name <> 'inference'
    AND (j.state = 1 OR (j.state = 0 AND j.submit_ms <= r.end_ms)) AND j.id NOT IN (SELECT job FROM never))
SELECT (SELECT count(*) FROM s), s.name, (
  SELECT w.words
  FROM reason_change AS c
  JOIN reason AS w ON w.id = c.reason
  WHERE c.job = s.id
  ORDER BY c.at_ms DESC, c.rowid DESC
  LIMIT 1)
FROM s
WHERE s.state = 1
ORDER BY s.id
LIMIT 1;

-- name: rejected
SELECT sum(rows_rejected)
FROM input;

-- name: rows_read
SELECT sum(rows_read)
FROM input;

-- name: tied_starts
SELECT n
FROM metric
WHERE name = 'tied_starts' AND scope = 'all';

-- piece: queue_kinds
-- A row a queue and kind; what only queues have stands in the row of its first kind.
WITH m AS (
  SELECT substr(label, 7, instr(label, ',kind=') - 7) AS queue, substr(label, instr(label,
    ',kind=') + 6) AS kind, name, value, min(rowid) OVER (PARTITION BY label) AS place
  FROM metric
  WHERE scope = 'queue' AND instr(label, ',kind=') > 0), k AS (
  SELECT queue, kind, min(place) AS place, max(CASE name WHEN 'jobs' THEN value END) AS jobs, max(CASE name
    WHEN 'unstarted' THEN value END) AS unstarted, max(CASE name WHEN 'never_startable'
    THEN value END) AS nevers, max(CASE name WHEN 'wait_p50_s' THEN value END) AS p50, max(CASE name
    WHEN 'wait_p95_s' THEN value END) AS p95, max(CASE name WHEN 'wait_max_s' THEN value END) AS longest
  FROM m
  GROUP BY queue, kind), f AS (
  SELECT queue, max(value) AS fair
  FROM m
  WHERE name = 'share_mean'
  GROUP BY queue), h AS (
  SELECT j.queue AS queue, total(p.mgpu * 1.0 * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) / 3600000000.0 AS gpu_h,
    total(p.mgpu * 1.0 * max(0, min(coalesce(p.end_ms, r.end_ms), r.window_end_ms) - max(p.start_ms, r.window_start_ms)))
      / 1000.0 / nullif(r.window_end_ms - r.window_start_ms, 0) AS held
  FROM v_holdings AS p
  JOIN job AS j ON j.id = p.job
  CROSS JOIN run AS r
  GROUP BY j.queue), o AS (
  SELECT o.queue AS queue,
    sum(o.gpu_quota * (min(coalesce(o.to_ms, r.window_end_ms), r.window_end_ms) - max(o.from_ms, r.window_start_ms)))
      / nullif(r.window_end_ms - r.window_start_ms, 0) AS quota
  FROM v_owed AS o
  CROSS JOIN run AS r
  WHERE o.from_ms < r.window_end_ms AND coalesce(o.to_ms, r.window_end_ms) > r.window_start_ms
  GROUP BY o.queue
  HAVING min(o.gpu_quota) >= 0), q AS (
  SELECT q.id AS id, q.name AS name, q.display_name AS display_name, o.quota AS quota, coalesce(h.gpu_h, 0.0) AS gpu_h,
    coalesce(h.held, 0.0) AS held, f.fair AS fair
  FROM queue AS q
  LEFT JOIN h ON h.queue = q.id
  LEFT JOIN o ON o.queue = q.id
  LEFT JOIN f ON f.queue = q.name
  WHERE q.leaf)
SELECT q.display_name AS queue, k.kind AS kind, k.jobs AS jobs, k.unstarted AS "never started",

-- piece: queue_waits
k.p50 AS "median wait s", k.p95 AS "95 % wait s", k.longest AS "longest that started s", CASE WHEN is_first
  THEN q.quota END AS "quota (GPUs, mean)", CASE WHEN is_first
  THEN q.held END AS "GPUs held (mean)", CASE WHEN is_first THEN q.fair END AS "fair share (GPUs, mean)"
FROM q
JOIN (
  SELECT *, row_number() OVER (PARTITION BY queue ORDER BY place) = 1 AS is_first
  FROM k) AS k ON k.queue = q.name
ORDER BY q.gpu_h DESC, q.display_name, k.place

-- name: queues
-- use: queue_kinds
-- use: queue_waits
;

-- name: queues_with_nevers
-- use: queue_kinds
k.nevers AS "never could have started",
-- use: queue_waits
;
