-- Views of a results file. Stock SQL only (SQLite 3.37 and newer): any reader of SQLite can use them.
-- The comment after AS is part of the view: `.schema v_jobs` shows it.

CREATE VIEW v_attempts AS
-- One row a time a job ran: nr 1 first. end_ms NULL: it still ran when the run ended, or was in its grace.
-- cause: why the attempt was cut short; NULL: it was not.
SELECT job, nr, start_ms, end_ms, cause FROM attempt
UNION ALL
SELECT id, attempts, last_start_ms, end_ms, NULL FROM job WHERE last_start_ms IS NOT NULL AND state >= 2;

CREATE VIEW v_placements AS
-- One row for some pods of a job on a node, from both places they are kept: the row of the job and the
-- table placement. job and node are ids; mgpu is what they held there (1000 = one GPU), nr the attempt,
-- ask the nr in table ask of the job's shape.
SELECT id AS job, attempts AS nr, node, pods, mgpu, devices, last_start_ms AS start_ms, end_ms, 0 AS ask
FROM job WHERE node IS NOT NULL AND start_ms IS NOT NULL
UNION ALL
SELECT p.job, p.nr, coalesce(n.id, p.node), p.pods, p.mgpu, p.devices, p.start_ms, p.end_ms, p.ask
FROM placement AS p LEFT JOIN node AS n ON n.id BETWEEN p.node AND p.node + p.nodes - 1;

CREATE VIEW v_ranges AS
-- As v_placements, with one row for what is alike on `nodes` nodes that follow each other from `node` on: pods, mgpu
-- and devices are those of each.
SELECT id AS job, attempts AS nr, node, 1 AS nodes, pods, mgpu, devices, last_start_ms AS start_ms, end_ms, 0 AS ask
FROM job WHERE node IS NOT NULL AND start_ms IS NOT NULL
UNION ALL
SELECT job, nr, node, nodes, pods, mgpu, devices, start_ms, end_ms, ask FROM placement;

CREATE VIEW v_holdings AS
-- What jobs (ids) held in all, on all nodes of a gang together, for sums that need no row a node; else as v_placements.
SELECT job, mgpu * nodes AS mgpu, start_ms, end_ms FROM v_ranges;

CREATE VIEW v_typical AS
-- The most frequent kinds of pod that together make 95 % of the pods of the trace: what fragmentation
-- is measured by (room, unusable_gpus_mean). share: of these pods. Columns as in ask. Fragmentation is
-- of devices: pods that ask MIG instances are left out.
WITH kinds AS (
  SELECT a.gpus, a.gpu_mgpu, a.gpu_mib, a.cpu_milli, a.gpu_model, a.shard, a.bound, sum(a.pods * j.jobs) AS pods,
         min(a.shape * 64 + a.nr) AS first
  FROM ask AS a JOIN (SELECT shape, count(*) AS jobs FROM job GROUP BY shape) AS j ON j.shape = a.shape
  WHERE a.instances = 0
  GROUP BY a.gpus, a.gpu_mgpu, a.gpu_mib, a.cpu_milli, a.gpu_model, a.shard, a.bound
),
ranked AS (
  SELECT *, sum(pods) OVER (ORDER BY pods DESC, cpu_milli DESC, coalesce(gpu_mgpu, gpu_mib) DESC, gpus DESC, first
                            ROWS UNBOUNDED PRECEDING) AS upto, sum(pods) OVER () AS n
  FROM kinds
)
SELECT gpus, gpu_mgpu, gpu_mib, cpu_milli, gpu_model, shard, bound, pods,
       pods * 1.0 / (SELECT sum(pods) FROM ranked WHERE (upto - pods) * 100 < n * 95) AS share
FROM ranked WHERE (upto - pods) * 100 < n * 95 ORDER BY upto;

CREATE VIEW v_waits AS
-- One row a job, ids and milliseconds. from_ms: its submit, or when it was no longer held back (by
-- `after` or `eligible_s`); wait_ms: from then to its first start, NULL: it never started. seen_ms: the
-- same, or if it never started how long it was seen to wait: until it left, or the run ended.
-- never: 1 if it never could have started (table never): its wait says nothing.
SELECT j.id AS job, j.queue AS queue, j.kind AS kind, j.mgpu AS mgpu, j.state AS state,
       j.submit_ms AS submit_ms, j.enter_ms AS enter_ms, coalesce(h.eligible_ms, j.submit_ms) AS from_ms,
       j.start_ms AS start_ms, j.start_ms - coalesce(h.eligible_ms, j.submit_ms) AS wait_ms,
       j.evictions AS evictions,
       coalesce(j.start_ms, CASE WHEN j.state = 4 THEN j.end_ms ELSE r.end_ms END)
         - coalesce(h.eligible_ms, j.submit_ms) AS seen_ms, n.job IS NOT NULL AS never
FROM job AS j CROSS JOIN run AS r LEFT JOIN hold AS h ON h.job = j.id LEFT JOIN never AS n ON n.job = j.id;

CREATE VIEW v_rates AS
-- How fast jobs ran, in words and seconds: one row a rate, while it held; only jobs with a profile, and
-- those that shared the time of a device. rate: of the profile's reference; best: of so many GPUs packed
-- and alone; extent: the narrowest that holds its GPUs (gpu, nvlink, node, a topology level, cluster);
-- own: what it would do where it is with nobody beside.
WITH spans AS (
  SELECT *, lead(at_ms) OVER (PARTITION BY job, nr ORDER BY at_ms) AS next_ms, rowid AS id FROM rate
),
places(id, gpus, nodes) AS (
  SELECT r.rowid, sum(p.mgpu) / 1000.0, count(DISTINCT p.node)
  FROM rate AS r JOIN v_placements AS p ON p.job = r.job AND p.nr = r.nr
  WHERE p.start_ms <= r.at_ms AND coalesce(p.end_ms, 9e18) > r.at_ms GROUP BY r.rowid
)
SELECT j.name AS job, r.nr AS nr, r.at_ms / 1000.0 AS from_s,
       coalesce(r.next_ms, a.end_ms, u.end_ms) / 1000.0 AS to_s,
       r.rate_ppm / 1000000.0 AS rate, r.best_ppm / 1000000.0 AS best, r.extent AS extent,
       p.gpus AS gpus, coalesce(p.nodes, 0) AS nodes, r.own_ppm / 1000000.0 AS own
FROM spans AS r CROSS JOIN run AS u JOIN job AS j ON j.id = r.job
LEFT JOIN v_attempts AS a ON a.job = r.job AND a.nr = r.nr
LEFT JOIN places AS p ON p.id = r.id;

CREATE VIEW v_jobs AS
-- One row a job, in words and seconds. nodes: where it ran last, as NAME:GPUS. wait_s: submit (or the
-- end of a hold) to first start. run_s: first start to end, with what an eviction put between. NULL: it never happened.
WITH spread(job, nodes) AS (
  SELECT job, group_concat(place, ' ')
  FROM (SELECT p.job AS job, n.name || ':' || printf('%g', sum(p.mgpu) / 1000.0) AS place
        FROM placement AS p
        JOIN (SELECT p.job AS job, max(coalesce(p.end_ms, 9e18)) AS end_ms
              FROM placement AS p JOIN job AS j ON j.id = p.job
              WHERE p.nr = j.attempts GROUP BY p.job) AS l
          ON l.job = p.job AND coalesce(p.end_ms, 9e18) = l.end_ms
        JOIN node AS n ON n.id BETWEEN p.node AND p.node + p.nodes - 1
        GROUP BY p.job, n.id
        ORDER BY p.job, n.id)
  GROUP BY job
)
SELECT j.name AS job, q.name AS queue, j.user AS user, k.name AS kind, j.pods AS pods,
       j.mgpu / 1000.0 AS gpus, j.submit_ms / 1000.0 AS submit_s, j.start_ms / 1000.0 AS start_s,
       j.end_ms / 1000.0 AS end_s,
       (j.start_ms - coalesce(h.eligible_ms, j.submit_ms)) / 1000.0 AS wait_s,
       (j.end_ms - j.start_ms) / 1000.0 AS run_s,
       CASE WHEN j.state = 0 AND h.job IS NOT NULL AND j.submit_ms <= (SELECT end_ms FROM run)
              THEN 'held back' WHEN j.state = 0 THEN 'not submitted' WHEN j.state = 1 THEN 'pending'
            WHEN j.state = 2 THEN 'running' WHEN j.state = 4 THEN
              CASE WHEN j.id IN (SELECT v.job FROM never AS v JOIN reason AS w ON w.id = v.reason
                                 WHERE w.words LIKE '%: refused at submit:%') THEN 'refused' ELSE 'gave up' END
            ELSE 'finished' END AS state,
       j.evictions AS evictions,
       CASE WHEN j.node IS NOT NULL THEN n.name || ':' || printf('%g', j.mgpu / 1000.0)
            ELSE s.nodes END AS nodes
FROM job AS j
LEFT JOIN queue AS q ON q.id = j.queue
LEFT JOIN kind AS k ON k.id = j.kind
LEFT JOIN node AS n ON n.id = j.node
LEFT JOIN spread AS s ON s.job = j.id
LEFT JOIN hold AS h ON h.job = j.id;

CREATE VIEW v_deadlines AS
-- One row a job that was to be done by a time. lateness_s: end minus deadline, below 0 if early; met:
-- 1 or 0 (so of a job that never could have started), NULL: the run ended before the job and its deadline did.
SELECT j.name AS job, q.name AS queue, j.submit_ms / 1000.0 AS submit_s, d.at_ms / 1000.0 AS deadline_s,
       CASE WHEN j.state = 3 THEN j.end_ms / 1000.0 END AS end_s,
       CASE WHEN j.state = 3 THEN (j.end_ms - d.at_ms) / 1000.0 END AS lateness_s,
       CASE WHEN j.state = 3 THEN j.end_ms <= d.at_ms WHEN j.state = 4 OR r.end_ms > d.at_ms OR n.job IS NOT NULL THEN 0 END AS met
FROM deadline AS d JOIN job AS j ON j.id = d.job JOIN queue AS q ON q.id = j.queue LEFT JOIN never AS n ON n.job = j.id
CROSS JOIN run AS r;

CREATE VIEW v_allocation AS
-- Exact allocation: from at_ms to the next row of the same queue it held allocated_mgpu.
WITH change(at_ms, queue, mgpu) AS (
  SELECT p.start_ms, j.queue, p.mgpu FROM v_holdings AS p JOIN job AS j ON j.id = p.job
  UNION ALL
  SELECT p.end_ms, j.queue, -p.mgpu FROM v_holdings AS p JOIN job AS j ON j.id = p.job
  WHERE p.end_ms IS NOT NULL
),
instant(at_ms, queue, mgpu) AS (
  SELECT at_ms, queue, sum(mgpu) FROM change GROUP BY queue, at_ms HAVING sum(mgpu) <> 0
)
SELECT i.at_ms AS at_ms, q.name AS queue,
       sum(i.mgpu) OVER (PARTITION BY i.queue ORDER BY i.at_ms) AS allocated_mgpu
FROM instant AS i LEFT JOIN queue AS q ON q.id = i.queue;

CREATE VIEW v_owed AS
-- What a queue (an id) was owed from one time to another: devices, -1 unlimited. One row for a queue that
-- no event changed. to_ms NULL: to the end of the run.
WITH c(queue, nr, from_ms, gpu_quota, gpu_limit, gpu_weight, priority) AS (
  SELECT id, 0, coalesce((SELECT submit_ms FROM job WHERE id = 0), 0), gpu_quota, gpu_limit, gpu_weight, priority
  FROM queue
  UNION ALL
  SELECT queue, rowid, at_ms, gpu_quota, gpu_limit, gpu_weight, priority FROM queue_change
),
l AS (SELECT *, lead(from_ms) OVER (PARTITION BY queue ORDER BY nr) AS to_ms FROM c)
SELECT queue, from_ms, to_ms, gpu_quota, gpu_limit, gpu_weight, priority FROM l
WHERE to_ms IS NULL OR to_ms > from_ms;

CREATE VIEW v_job_gpus AS
-- GPUs of each node that are there for jobs: without the devices that pods of another scheduler hold.
SELECT n.id AS node, n.pool AS pool, n.gpus - coalesce(f.gpus, 0) AS gpus FROM node AS n LEFT JOIN foreign_pods AS f ON f.node = n.id;

CREATE VIEW v_capacity AS
-- GPUs of a pool that are there for jobs, from at_ms to its next row: of nodes that are part of the cluster, and of those that are up.
WITH c(at_ms, pool, there, up) AS (
  SELECT coalesce((SELECT submit_ms FROM job WHERE id = 0), 0), pool, sum(gpus), sum(gpus) FROM v_job_gpus GROUP BY pool
  UNION ALL SELECT a.from_ms, n.pool, -n.gpus, -n.gpus FROM away AS a JOIN v_job_gpus AS n ON n.node = a.node
  UNION ALL SELECT a.to_ms, n.pool, n.gpus, n.gpus FROM away AS a JOIN v_job_gpus AS n ON n.node = a.node WHERE a.to_ms IS NOT NULL
  UNION ALL SELECT o.from_ms, n.pool, 0, -n.gpus FROM outage AS o JOIN v_job_gpus AS n ON n.node = o.node
  UNION ALL SELECT o.to_ms, n.pool, 0, n.gpus FROM outage AS o JOIN v_job_gpus AS n ON n.node = o.node WHERE o.to_ms IS NOT NULL
),
i AS (SELECT at_ms, pool, sum(there) AS there, sum(up) AS up FROM c GROUP BY pool, at_ms)
SELECT at_ms, pool, sum(there) OVER w AS gpus, sum(up) OVER w AS gpus_up FROM i
WINDOW w AS (PARTITION BY pool ORDER BY at_ms);

CREATE VIEW v_pending AS
-- One row a time a job waited: from its submit or its eviction to its next start, or until it left.
-- to_ms NULL: it waited still when the run ended.
SELECT w.job, w.from_ms, coalesce(w.start_ms, CASE WHEN w.state = 4 THEN j.end_ms END) AS to_ms
FROM v_waits AS w JOIN job AS j ON j.id = w.job WHERE w.state > 0
UNION ALL
SELECT job, end_ms, next_ms
FROM (SELECT a.job AS job, a.end_ms AS end_ms, a.cause AS cause,
             lead(a.start_ms) OVER (PARTITION BY a.job ORDER BY a.nr) AS next_ms
      FROM v_attempts AS a JOIN (SELECT DISTINCT job FROM attempt) AS c ON c.job = a.job)
WHERE cause IS NOT NULL AND end_ms IS NOT NULL;

CREATE VIEW v_wanted AS
-- What a job whose pods come and go (table wanted) asked for, from from_ms to to_ms (9e18: never changed again).
-- job is an id. All other jobs ask for job.mgpu all the time.
SELECT job, at_ms AS from_ms, lead(at_ms, 1, 9e18) OVER (PARTITION BY job ORDER BY rowid) AS to_ms, pods, mgpu FROM wanted;

CREATE VIEW v_waiting AS
-- v_pending with what the job asked for: mgpu from from_ms to to_ms; a wait of a job whose pods come and go is
-- one row for each of v_wanted.
SELECT p.job AS job, p.from_ms AS from_ms, p.to_ms AS to_ms, j.mgpu AS mgpu FROM v_pending AS p JOIN job AS j ON j.id = p.job
WHERE p.job NOT IN (SELECT job FROM wanted)
UNION ALL
SELECT p.job, max(p.from_ms, w.from_ms), nullif(min(coalesce(p.to_ms, 9e18), w.to_ms), 9e18), w.mgpu
FROM v_pending AS p JOIN v_wanted AS w ON w.job = p.job AND w.from_ms < coalesce(p.to_ms, 9e18) AND w.to_ms > p.from_ms;

CREATE VIEW v_queue_depth AS
-- Exact demand of jobs that wait: from at_ms to the next row of the same queue. What running jobs lack
-- of their pods is not in it.
WITH change(at_ms, queue, jobs, mgpu) AS (
  SELECT p.from_ms, j.queue, 1, p.mgpu FROM v_waiting AS p JOIN job AS j ON j.id = p.job
  UNION ALL
  SELECT p.to_ms, j.queue, -1, -p.mgpu FROM v_waiting AS p JOIN job AS j ON j.id = p.job
  WHERE p.to_ms IS NOT NULL
),
instant(at_ms, queue, jobs, mgpu) AS (
  SELECT at_ms, queue, sum(jobs), sum(mgpu) FROM change GROUP BY queue, at_ms
  HAVING sum(jobs) <> 0 OR sum(mgpu) <> 0
)
SELECT i.at_ms AS at_ms, q.name AS queue,
       sum(i.jobs) OVER (PARTITION BY i.queue ORDER BY i.at_ms) AS pending_jobs,
       sum(i.mgpu) OVER (PARTITION BY i.queue ORDER BY i.at_ms) AS pending_mgpu
FROM instant AS i LEFT JOIN queue AS q ON q.id = i.queue;

CREATE VIEW v_replicas AS
-- What a job whose pods come and go (table wanted: services, workers that follow a backlog) asked for, and
-- what it had: pods wanted and had from from_ms to to_ms, exact, until it ended or the run did. job is an
-- id. Pods in a grace count as had. wanted > had: it was short of pods.
WITH step(job, at_ms, wanted, had) AS (
  SELECT job, at_ms, pods - lag(pods, 1, 0) OVER (PARTITION BY job ORDER BY rowid), 0 FROM wanted
  UNION ALL
  SELECT job, start_ms, 0, pods FROM v_placements WHERE job IN (SELECT job FROM wanted)
  UNION ALL
  SELECT job, end_ms, 0, -pods FROM v_placements WHERE job IN (SELECT job FROM wanted) AND end_ms IS NOT NULL
),
instant(job, at_ms, wanted, had) AS (SELECT job, at_ms, sum(wanted), sum(had) FROM step GROUP BY job, at_ms),
level(job, from_ms, to_ms, wanted, had) AS (
  SELECT job, at_ms, lead(at_ms, 1, 9e18) OVER w, sum(wanted) OVER w, sum(had) OVER w
  FROM instant WINDOW w AS (PARTITION BY job ORDER BY at_ms)
)
SELECT l.job, l.from_ms, min(l.to_ms, coalesce(j.end_ms, r.end_ms)) AS to_ms, l.wanted, l.had
FROM level AS l JOIN job AS j ON j.id = l.job CROSS JOIN run AS r
WHERE l.from_ms < min(l.to_ms, coalesce(j.end_ms, r.end_ms));

CREATE VIEW v_node_use AS
-- One row a node. gpu_h: GPU-hours held over the whole run; window_use: share of its GPUs for jobs that was
-- held within the window of run, while it was part of the cluster (NULL: no GPUs, or not at all).
WITH range AS (
  SELECT p.node AS node, p.node + p.nodes AS past, p.mgpu * (coalesce(p.end_ms, r.end_ms) - p.start_ms) AS mgpu_ms,
         p.mgpu * max(0, min(coalesce(p.end_ms, r.end_ms), r.window_end_ms)
                         - max(p.start_ms, r.window_start_ms)) AS window_mgpu_ms
  FROM v_ranges AS p CROSS JOIN run AS r
),
edge(node, placements, mgpu_ms, window_mgpu_ms) AS ( -- what is added at the first node of a range, and taken off behind its last
  SELECT node, 1, mgpu_ms, window_mgpu_ms FROM range
  UNION ALL SELECT past, -1, -mgpu_ms, -window_mgpu_ms FROM range
  UNION ALL SELECT id, 0, 0, 0 FROM node
),
step(node, placements, mgpu_ms, window_mgpu_ms) AS (
  SELECT node, sum(placements), sum(mgpu_ms), sum(window_mgpu_ms) FROM edge GROUP BY node
),
held(node, placements, mgpu_ms, window_mgpu_ms) AS (
  SELECT node, sum(placements) OVER w, sum(mgpu_ms) OVER w, sum(window_mgpu_ms) OVER w
  FROM step WINDOW w AS (ORDER BY node ROWS UNBOUNDED PRECEDING)
),
gone(node, ms) AS (
  SELECT a.node, sum(max(0, min(coalesce(a.to_ms, r.window_end_ms), r.window_end_ms)
                            - max(a.from_ms, r.window_start_ms)))
  FROM away AS a CROSS JOIN run AS r GROUP BY a.node
)
SELECT n.name AS node, n.pool AS pool, n.gpus AS gpus, coalesce(h.placements, 0) AS placements,
       coalesce(h.mgpu_ms, 0) / 3600000000.0 AS gpu_h,
       coalesce(h.window_mgpu_ms, 0) * 1.0
         / nullif(o.gpus * 1000 * (r.window_end_ms - r.window_start_ms - coalesce(g.ms, 0)), 0) AS window_use
FROM node AS n JOIN v_job_gpus AS o ON o.node = n.id CROSS JOIN run AS r LEFT JOIN held AS h ON h.node = n.id
LEFT JOIN gone AS g ON g.node = n.id;

CREATE VIEW v_wait_cdf AS
-- share: part of the n jobs submitted within the window that had started after wait_s or less, by Kaplan
-- and Meier: a job that never started counts until it was last seen to wait (it left, or the run ended),
-- so a curve may end below 1. Without such jobs it is the plain share. Jobs that never could have
-- started (table never) are not among the n. jobs: that started after just
-- wait_s. Quantiles in `metric` are read from the same curve. scope: all, queue (both without services,
-- whose waits are not those of jobs) or kind.
WITH RECURSIVE waited(scope, label, job, ms, started) AS (
  SELECT 'all', '', j.job, j.seen_ms, j.wait_ms IS NOT NULL
  FROM v_waits AS j CROSS JOIN run AS r WHERE j.state > 0 AND NOT j.never AND j.enter_ms >= r.window_start_ms
    AND j.kind NOT IN (SELECT id FROM kind WHERE name = 'inference')
  UNION ALL
  SELECT 'queue', q.name, j.job, j.seen_ms, j.wait_ms IS NOT NULL
  FROM v_waits AS j CROSS JOIN run AS r JOIN queue AS q ON q.id = j.queue
  WHERE j.state > 0 AND NOT j.never AND j.enter_ms >= r.window_start_ms
    AND j.kind NOT IN (SELECT id FROM kind WHERE name = 'inference')
  UNION ALL
  SELECT 'kind', k.name, j.job, j.seen_ms, j.wait_ms IS NOT NULL
  FROM v_waits AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind
  WHERE j.state > 0 AND NOT j.never AND j.enter_ms >= r.window_start_ms
),
ranked AS (
  SELECT scope, label, ms, started, row_number() OVER w AS rank,
         sum(NOT started) OVER (w ROWS UNBOUNDED PRECEDING) AS censored,
         count(*) OVER (PARTITION BY scope, label) AS n
  FROM waited WINDOW w AS (PARTITION BY scope, label ORDER BY ms, NOT started)
),
left_over(scope, label, rank, ms, started, n, alive) AS ( -- from the first on that never started
  SELECT scope, label, rank, ms, started, n, 1.0 - (rank - 1) * 1.0 / n
  FROM ranked WHERE censored = 1 AND NOT started
  UNION ALL
  SELECT r.scope, r.label, r.rank, r.ms, r.started, r.n,
         CASE WHEN r.started THEN l.alive * (1.0 - 1.0 / (r.n - r.rank + 1)) ELSE l.alive END
  FROM left_over AS l JOIN ranked AS r ON r.scope = l.scope AND r.label = l.label AND r.rank = l.rank + 1
)
SELECT scope, label, ms / 1000.0 AS wait_s, count(*) AS jobs, n, 1.0 - min(alive) AS share
FROM (SELECT scope, label, rank, ms, n, 1.0 - rank * 1.0 / n AS alive FROM ranked WHERE censored = 0
      UNION ALL SELECT scope, label, rank, ms, n, alive FROM left_over WHERE started)
GROUP BY scope, label, ms;

CREATE VIEW v_reason_intervals AS
-- Why a job waited, and how long: from_ms to to_ms, which is the next reason, the next start, when it
-- left or the end of the run. job is an id.
WITH mark(job, at_ms, reason) AS (
  SELECT job, at_ms, reason FROM reason_change
  UNION ALL
  SELECT job, start_ms, NULL FROM v_attempts
  UNION ALL
  SELECT id, end_ms, NULL FROM job WHERE state = 4
),
span(job, reason, from_ms, to_ms) AS (
  SELECT job, reason, at_ms,
         lead(at_ms) OVER (PARTITION BY job ORDER BY at_ms, reason IS NULL)
  FROM mark
)
SELECT s.job AS job, s.from_ms AS from_ms, coalesce(s.to_ms, r.end_ms) AS to_ms, c.code AS reason,
       c.words AS words
FROM span AS s CROSS JOIN run AS r LEFT JOIN reason AS c ON c.id = s.reason
WHERE s.reason IS NOT NULL AND coalesce(s.to_ms, r.end_ms) > s.from_ms;

CREATE VIEW v_reasons AS
-- Why jobs waited, with the numbers that prove it, in words, seconds and GPUs: from at_s on it waited
-- for `reason`. asked; allowed and held: the limit, quota or part of `queue` that binds and what
-- counted against it; free on the nodes it may use, none that is down or away among them, largest_hole on one of them; in_domain: most that is
-- free in one domain of the `level` it requires; ahead: who is served before it; and how KAI's
-- searches for victims ended.
SELECT j.name AS job, c.at_ms / 1000.0 AS at_s, r.code AS reason, r.words AS words,
       j.mgpu / 1000.0 AS asked, c.allowed_mgpu / 1000.0 AS allowed, c.held_mgpu / 1000.0 AS held,
       q.name AS queue, c.free_mgpu / 1000.0 AS free, c.hole_mgpu / 1000.0 AS largest_hole,
       c.level AS level, c.domain AS domain, c.domain_mgpu / 1000.0 AS in_domain, a.name AS ahead,
       oc.code AS consolidation, orc.code AS reclaim, op.code AS preempt
FROM reason_change AS c
JOIN job AS j ON j.id = c.job
LEFT JOIN reason AS r ON r.id = c.reason
LEFT JOIN queue AS q ON q.id = c.queue
LEFT JOIN job AS a ON a.id = c.ahead
LEFT JOIN outcome AS oc ON oc.id = c.consolidation
LEFT JOIN outcome AS orc ON orc.id = c.reclaim
LEFT JOIN outcome AS op ON op.id = c.preempt
ORDER BY c.rowid;

CREATE VIEW v_queues AS
-- One row a leaf queue; jobs submitted within the window. Waits are of all jobs but services (by kind
-- they are in `metric`); quantiles are those of v_wait_cdf, NULL: more jobs never started than it leaves
-- out; never: of the jobs, those that never could have started (table never), which no quantile is of; mean and max are of those that started. gpu_h: GPU-hours held over the whole run.
WITH folded AS (
  SELECT j.queue AS queue, count(*) AS jobs, sum(j.never) AS never, count(j.start_ms) AS started, sum(j.state = 3) AS finished,
         sum(j.evictions) AS evictions,
         avg(CASE WHEN k.name <> 'inference' THEN j.wait_ms END) / 1000.0 AS wait_mean_s,
         max(CASE WHEN k.name <> 'inference' THEN j.wait_ms END) / 1000.0 AS wait_max_s
  FROM v_waits AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind
  WHERE (j.state > 0 OR j.never) AND j.enter_ms >= r.window_start_ms GROUP BY j.queue
),
reached AS ( -- a share is a long product: less than 1e-9 is rounding
  SELECT label AS queue, min(CASE WHEN share >= 0.50 - 1e-9 THEN wait_s END) AS p50_s,
         min(CASE WHEN share >= 0.95 - 1e-9 THEN wait_s END) AS p95_s,
         min(CASE WHEN share >= 0.99 - 1e-9 THEN wait_s END) AS p99_s
  FROM v_wait_cdf WHERE scope = 'queue' GROUP BY label
),
held AS (
  SELECT j.queue AS queue,
         total(p.mgpu * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) / 3600000000.0 AS gpu_h
  FROM v_placements AS p JOIN job AS j ON j.id = p.job CROSS JOIN run AS r GROUP BY j.queue
)
SELECT q.name AS queue, q.gpu_quota AS quota_gpus, coalesce(f.jobs, 0) AS jobs,
       coalesce(f.started, 0) AS started, coalesce(f.finished, 0) AS finished,
       coalesce(f.evictions, 0) AS evictions, coalesce(h.gpu_h, 0.0) AS gpu_h, f.wait_mean_s,
       c.p50_s AS wait_p50_s, c.p95_s AS wait_p95_s, c.p99_s AS wait_p99_s, f.wait_max_s,
       coalesce(f.never, 0) AS never
FROM queue AS q LEFT JOIN folded AS f ON f.queue = q.id LEFT JOIN held AS h ON h.queue = q.id
LEFT JOIN reached AS c ON c.queue = q.name
WHERE q.leaf;
