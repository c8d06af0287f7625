-- SPDX-License-Identifier: GPL-3.0-or-later
-- What the explanations ask of a results file; ../sql/named_sql.cmake makes each a C string.

-- piece: nodes_off
(
  SELECT node
  FROM outage
  WHERE from_ms <= ?1 AND coalesce(to_ms, 9e18) > ?1
  UNION
  SELECT node
  FROM away
  WHERE from_ms <= ?1 AND coalesce(to_ms, 9e18) > ?1)

-- piece: below
-- a queue, ?1, and all below it
WITH RECURSIVE below(id) AS (
  SELECT ?1
  UNION ALL
  SELECT q.id FROM queue AS q JOIN below AS b ON q.parent = b.id)

-- piece: of_reason
-- what orr_explain__reason reads, of reason_change as c
r.code, r.words, c.allowed_mgpu / 1000.0, c.held_mgpu / 1000.0, q.name, c.free_mgpu / 1000.0, c.hole_mgpu / 1000.0,
  c.level, c.domain_mgpu / 1000.0, a.name, oc.code, oc.words, orc.code, orc.words, op.code, op.words,
  -- when the job ahead started or left, if this one had the reason for longer
  (SELECT g.gone_ms
   FROM (SELECT coalesce(min(s.start_ms), CASE a.state WHEN 4 THEN a.end_ms END) AS gone_ms
         FROM v_attempts AS s WHERE s.job = c.ahead AND s.start_ms >= c.at_ms) AS g
   WHERE g.gone_ms < coalesce((SELECT min(n.at_ms) FROM reason_change AS n WHERE n.job = c.job AND n.rowid > c.rowid), 9e18)
     AND g.gone_ms < coalesce((SELECT min(s.start_ms) FROM v_attempts AS s WHERE s.job = c.job AND s.start_ms >= c.at_ms), 9e18)
     AND g.gone_ms < coalesce((SELECT j.end_ms FROM job AS j WHERE j.id = c.job AND j.state = 4), 9e18)),
  c.job, c.at_ms, c.claim_mgpu / 1000.0
FROM reason_change AS c
LEFT JOIN reason AS r ON r.id = c.reason
LEFT JOIN queue AS q ON q.id = c.queue
LEFT JOIN job AS a ON a.id = c.ahead
LEFT JOIN outcome AS oc ON oc.id = c.consolidation AND oc.code <> 'not-tried'
LEFT JOIN outcome AS orc ON orc.id = c.reclaim AND orc.code <> 'not-tried'
LEFT JOIN outcome AS op ON op.id = c.preempt AND op.code <> 'not-tried'

-- name: reason
SELECT
-- use: of_reason
WHERE c.rowid = ?1;

-- name: reason_at
-- since when it waits for the reason, and the reason with the numbers of c.at_ms
SELECT
  (SELECT min(b.at_ms)
   FROM reason_change AS b
   WHERE b.job = c.job AND b.rowid <= c.rowid AND b.at_ms >= p.from_ms
     AND b.rowid > coalesce((SELECT max(o.rowid) FROM reason_change AS o
                             WHERE o.job = c.job AND o.rowid < c.rowid AND (o.reason <> c.reason OR o.at_ms < p.from_ms)), 0)),
-- use: of_reason
JOIN v_pending AS p ON p.job = c.job AND p.from_ms <= ?2 AND coalesce(p.to_ms, 9e18) > ?2
WHERE c.job = ?1 AND c.at_ms <= ?2 AND c.at_ms >= p.from_ms
ORDER BY c.rowid DESC
LIMIT 1;

-- name: pending_at
SELECT from_ms FROM v_pending WHERE job = ?1 AND from_ms <= ?2 AND coalesce(to_ms, 9e18) > ?2;

-- name: waiting_at
-- All that wait then, the longest wait first: of each the reason, if one is known.
WITH waiting AS MATERIALIZED (
  SELECT job, from_ms FROM v_pending WHERE from_ms <= ?1 AND coalesce(to_ms, 9e18) > ?1
),
last(job, at) AS (
  SELECT c.job, max(c.rowid) FROM reason_change AS c JOIN waiting AS w ON w.job = c.job
  WHERE c.at_ms >= w.from_ms AND c.at_ms <= ?1 GROUP BY c.job
)
SELECT j.name, q.name,
  coalesce((SELECT mgpu FROM wanted WHERE job = w.job AND at_ms <= ?1 ORDER BY rowid DESC LIMIT 1), j.mgpu) / 1000.0,
  w.from_ms, c.at_ms, r.code, r.words
FROM waiting AS w
JOIN job AS j ON j.id = w.job
JOIN queue AS q ON q.id = j.queue
LEFT JOIN last ON last.job = w.job
LEFT JOIN reason_change AS c ON c.rowid = last.at
LEFT JOIN reason AS r ON r.id = c.reason
ORDER BY w.from_ms, j.id;

-- name: waits_of_job
SELECT i.reason, i.words, sum(i.to_ms - i.from_ms) AS span, count(DISTINCT i.job)
FROM v_reason_intervals AS i
WHERE i.job = ?1
GROUP BY i.reason
ORDER BY span DESC
LIMIT ?2;

-- name: pending_of_job
SELECT sum(coalesce(p.to_ms, r.end_ms) - p.from_ms)
FROM run AS r LEFT JOIN v_pending AS p ON p.job = ?1
WHERE r.policy = 'kueue';

-- name: waits_of_queue
-- use: below
SELECT i.reason, i.words, sum(i.to_ms - i.from_ms) AS span, count(DISTINCT i.job)
FROM v_reason_intervals AS i
JOIN job AS j ON j.id = i.job
WHERE j.queue IN below
GROUP BY i.reason
ORDER BY span DESC
LIMIT ?2;

-- name: losses
-- use: below
SELECT e.cause, q.name, count(*), total(e.used = 0)
FROM eviction AS e
JOIN job AS j ON j.id = e.job
LEFT JOIN job AS f ON f.id = e.for_job
LEFT JOIN queue AS q ON q.id = f.queue
WHERE j.queue IN below
GROUP BY 1, 2
ORDER BY 3 DESC
LIMIT 8;

-- name: jobs_named_like
SELECT name
FROM job
WHERE name LIKE ?1
ORDER BY id
LIMIT 200;

-- name: job
SELECT j.id, j.queue, j.name, q.name, k.name, j.user, j.mgpu / 1000.0, j.pods, j.min_pods, j.evictions,
  w.from_ms, j.start_ms, j.end_ms, r.end_ms, (SELECT v.state FROM v_jobs AS v WHERE v.job = j.name),
  (SELECT CASE WHEN count(DISTINCT coalesce(a.mig_profile, '')) = 1 THEN max(a.mig_profile) END
   FROM ask AS a WHERE a.shape = j.shape AND (a.gpus > 0 OR a.instances > 0)),
  (SELECT CASE WHEN count(*) > 1 THEN group_concat(kind, ' and ') END
   FROM (
     SELECT printf('%g', sum(a.pods * iif(a.instances > 0, a.mig_mgpu, a.gpus * coalesce(a.gpu_mgpu, 1000))) / 1000.0)
       || coalesce(' of MIG instances ' || a.mig_profile, '') AS kind
     FROM ask AS a
     WHERE a.shape = j.shape AND (a.gpus > 0 OR a.instances > 0)
     GROUP BY coalesce(a.mig_profile, '')
     ORDER BY coalesce(a.mig_profile, ''))),
  (SELECT group_concat(memory, ', ')
   FROM (
     SELECT DISTINCT printf('%d MiB of ', a.gpu_mib) || iif(a.gpus = 1, 'a GPU', printf('each of %d GPUs', a.gpus)) AS memory
     FROM ask AS a
     WHERE a.shape = j.shape AND a.gpus > 0 AND a.gpu_mib IS NOT NULL
     ORDER BY a.nr)),
  (SELECT group_concat(model, ' and ')
   FROM (
     SELECT DISTINCT a.gpu_model AS model
     FROM ask AS a
     WHERE a.shape = j.shape AND a.gpu_model IS NOT NULL AND (a.gpus > 0 OR a.instances > 0)
     ORDER BY a.gpu_model))
FROM job AS j
LEFT JOIN queue AS q ON q.id = j.queue
LEFT JOIN kind AS k ON k.id = j.kind
JOIN v_waits AS w ON w.job = j.id
CROSS JOIN run AS r
WHERE j.name = ?1;

-- name: siblings
WITH RECURSIVE below(id, top) AS (
  SELECT id, id
  FROM queue
  WHERE parent IS (SELECT parent FROM queue WHERE id = ?1)
  UNION ALL
  SELECT q.id, b.top
  FROM queue AS q
  JOIN below AS b ON q.parent = b.id),
  held(top, mgpu, jobs) AS (
    SELECT b.top, sum(p.mgpu), count(DISTINCT p.job)
    FROM v_placements AS p
    JOIN job AS j ON j.id = p.job
    JOIN below AS b ON b.id = j.queue
    WHERE p.start_ms <= ?2 AND coalesce(p.end_ms, 9e18) > ?2
    GROUP BY b.top),
  share(top, mgpu, own) AS (
    SELECT b.top, sum(s.share_mgpu), sum(s.policy_share_mgpu)
    FROM series AS s
    JOIN below AS b ON b.id = s.queue
    WHERE s.at_ms = (SELECT max(at_ms) FROM series WHERE at_ms <= ?2)
    GROUP BY b.top)
SELECT q.name, o.gpu_quota, o.gpu_weight, o.gpu_limit, s.mgpu / 1000.0, coalesce(h.mgpu, 0) / 1000.0,
  coalesce(h.jobs, 0), q.id = ?1
FROM queue AS q
JOIN v_owed AS o ON o.queue = q.id AND o.from_ms <= ?2 AND coalesce(o.to_ms, 9e18) > ?2
LEFT JOIN held AS h ON h.top = q.id
LEFT JOIN share AS s ON s.top = q.id
WHERE q.parent IS (SELECT parent FROM queue WHERE id = ?1)
ORDER BY coalesce(h.mgpu, 0) DESC, q.id;

-- name: claim_at
-- of a job's queue at a time, in GPUs: its fair share as the policy had it, and its quota; and whether the job may be evicted for
-- others, so that the quota does not bind it
SELECT
  (SELECT f.mgpu FROM fair_share AS f WHERE f.queue = j.queue AND f.at_ms <= ?2 ORDER BY f.at_ms DESC, f.rowid DESC LIMIT 1) / 1000.0,
  (SELECT o.gpu_quota FROM v_owed AS o WHERE o.queue = j.queue AND o.from_ms <= ?2 AND coalesce(o.to_ms, 9e18) > ?2),
  j.id NOT IN (SELECT job FROM non_preemptible)
FROM job AS j
WHERE j.id = ?1;

-- name: bound_at
-- The first queue upwards of a job's whose limit (?3 = 0) or quota (?3 = 1) of CPU or memory the job's gang would pass at a
-- time, with all that jobs below it held then: its name, the resource, the bound, what was held; cores and GiB.
WITH RECURSIVE up(id, nr) AS (
  SELECT queue, 0 FROM job WHERE id = ?1
  UNION ALL
  SELECT q.parent, u.nr + 1 FROM up AS u JOIN queue AS q ON q.id = u.id WHERE q.parent IS NOT NULL),
bound(id, nr, resource, bound) AS (
  SELECT u.id, u.nr, b.resource, CASE ?3 WHEN 1 THEN b.quota ELSE b.bound END
  FROM up AS u
  JOIN queue_bound AS b ON b.queue = u.id
  WHERE b.rowid = (SELECT max(o.rowid) FROM queue_bound AS o
                   WHERE o.queue = b.queue AND o.resource = b.resource AND coalesce(o.at_ms, -9e18) <= ?2)),
below(id, top) AS (
  SELECT DISTINCT id, id FROM bound
  UNION ALL
  SELECT q.id, w.top FROM queue AS q JOIN below AS w ON q.parent = w.id),
held(top, cpu, memory) AS (
  SELECT w.top, sum(p.pods * a.cpu_milli), sum(p.pods * a.mem_bytes)
  FROM v_placements AS p
  JOIN job AS j ON j.id = p.job
  JOIN below AS w ON w.id = j.queue
  JOIN ask AS a ON a.shape = j.shape AND a.nr = p.ask
  WHERE p.start_ms <= ?2 AND coalesce(p.end_ms, 9e18) > ?2
  GROUP BY w.top),
asked(cpu, memory) AS (
  SELECT sum(a.pods * a.cpu_milli) * min(j.min_pods, j.pods) * 1.0 / j.pods,
    sum(a.pods * a.mem_bytes) * min(j.min_pods, j.pods) * 1.0 / j.pods
  FROM job AS j JOIN ask AS a ON a.shape = j.shape WHERE j.id = ?1),
of(nr, queue, resource, bound, held, asked) AS (
  SELECT b.nr, q.name, b.resource, b.bound,
    coalesce(CASE b.resource WHEN 'cpu' THEN h.cpu ELSE h.memory END, 0),
    CASE b.resource WHEN 'cpu' THEN k.cpu ELSE k.memory END
  FROM bound AS b
  JOIN queue AS q ON q.id = b.id
  JOIN asked AS k
  LEFT JOIN held AS h ON h.top = b.id)
SELECT queue, resource, bound / CASE resource WHEN 'cpu' THEN 1000.0 ELSE 1073741824.0 END,
  held / CASE resource WHEN 'cpu' THEN 1000.0 ELSE 1073741824.0 END
FROM of
WHERE bound >= 0 AND asked > 0 AND held + asked > bound
ORDER BY nr, resource
LIMIT 1;

-- name: room_at
-- By model, GPUs of nodes that were up, and what nobody held of those that took something new; a model of which no node
-- was up has none of either.
WITH off AS
-- use: nodes_off
, nodes AS (
  SELECT n.id AS id, n.gpu_model AS model, iif(n.id IN off, 0, n.gpus - coalesce(f.gpus, 0)) AS gpus,
    n.id IN (SELECT node FROM cordon WHERE from_ms <= ?1 AND coalesce(to_ms, 9e18) > ?1) AS cordoned
  FROM node AS n
  LEFT JOIN foreign_pods AS f ON f.node = n.id
  WHERE n.gpus > 0),
  held AS (
  SELECT n.model AS model, total(p.mgpu) / 1000.0 AS gpus
  FROM v_placements AS p
  JOIN nodes AS n ON n.id = p.node
  WHERE NOT n.cordoned AND n.gpus > 0 AND p.start_ms <= ?1 AND coalesce(p.end_ms, 9e18) > ?1
  GROUP BY n.model)
SELECT n.model, total(n.gpus), total(iif(n.cordoned, 0, n.gpus)) - coalesce(max(h.gpus), 0)
FROM nodes AS n
LEFT JOIN held AS h ON h.model IS n.model
GROUP BY n.model
ORDER BY min(n.id);

-- name: start
-- pods that it has then: those that it lost before the gang was whole are not among them
SELECT n.name, sum(p.mgpu) / 1000.0
FROM v_placements AS p
JOIN node AS n ON n.id = p.node
JOIN v_attempts AS a ON a.job = p.job AND a.nr = p.nr
WHERE p.job = ?1 AND p.nr = ?2 AND p.start_ms <= a.start_ms
  AND (p.start_ms = a.start_ms OR coalesce(p.end_ms, 9e18) > a.start_ms)
GROUP BY n.id
ORDER BY n.id;

-- name: grown
-- pods that it got at a time while it ran
SELECT n.name, sum(p.mgpu) / 1000.0, sum(p.pods)
FROM v_placements AS p
JOIN node AS n ON n.id = p.node
JOIN v_attempts AS a ON a.job = p.job AND a.nr = p.nr
WHERE p.job = ?1 AND p.start_ms = ?2 AND p.start_ms > a.start_ms
GROUP BY n.id
ORDER BY n.id;

-- name: eviction
SELECT e.cause, f.name, q.name, e.pods, e.whole, e.used, e.gone_ms - e.at_ms, e.moved
FROM eviction AS e
LEFT JOIN job AS f ON f.id = e.for_job
LEFT JOIN queue AS q ON q.id = f.queue
WHERE e.rowid = ?1;

-- name: suspension
SELECT k.name, q.name
FROM suspension AS s
LEFT JOIN job AS k ON k.id = s.for_job
LEFT JOIN queue AS q ON q.id = k.queue
WHERE s.rowid = ?1;

-- name: events
SELECT at_ms, what, id
FROM (
  SELECT submit_ms AS at_ms, 0 AS turn, 'submitted' AS what, id
  FROM job
  WHERE id = ?1
  UNION ALL
  SELECT eligible_ms, 1, 'eligible', job
  FROM hold
  WHERE job = ?1 AND eligible_ms IS NOT NULL
  UNION ALL
  SELECT start_ms, 5, 'started', nr
  FROM v_attempts
  WHERE job = ?1
  UNION ALL
  SELECT p.start_ms, 5, 'grew', p.start_ms
  FROM v_placements AS p
  JOIN v_attempts AS a ON a.job = p.job AND a.nr = p.nr
  WHERE p.job = ?1 AND p.start_ms > a.start_ms AND NOT EXISTS (SELECT 1 FROM wanted WHERE job = ?1)
  GROUP BY p.start_ms
  UNION ALL
  SELECT at_ms, 3, 'evicted', rowid
  FROM eviction
  WHERE job = ?1
  UNION ALL
  SELECT from_ms, 7, 'suspended', rowid
  FROM suspension
  WHERE job = ?1
  UNION ALL
  SELECT s.to_ms, 2, 'resumed', s.rowid
  FROM suspension AS s
  WHERE s.job = ?1 AND s.to_ms < (SELECT coalesce(end_ms, 9e18) FROM job WHERE id = ?1)
    AND NOT EXISTS (SELECT 1 FROM eviction WHERE job = ?1 AND whole AND at_ms = s.to_ms)
  UNION ALL
  SELECT at_ms, 4, 'waits', rowid
  FROM reason_change
  WHERE job = ?1 AND reason <> (SELECT id FROM reason WHERE code = 'gave-up')
  UNION ALL
  SELECT end_ms, 6, iif(state <> 4, 'ended', iif(id IN (SELECT n.job FROM never AS n JOIN reason AS r ON r.id = n.reason
                WHERE r.words LIKE '%: refused at submit:%'), 'refused', 'left')), id
  FROM job
  WHERE id = ?1 AND end_ms IS NOT NULL)
ORDER BY at_ms, turn, id;

-- name: never
SELECT r.words || CASE WHEN n.resource IS NULL THEN '' ELSE printf(': its gang asks for %g %s, queue %s allows %g',
    n.asked / u.column2, u.column3, q.display_name, n.allowed / u.column2) END
FROM never AS n
JOIN reason AS r ON r.id = n.reason
LEFT JOIN queue AS q ON q.id = n.queue
LEFT JOIN (
  VALUES('gpu', 1000.0, 'GPUs'), ('cpu', 1000.0, 'CPUs'),
    ('memory', 1073741824.0, 'GiB of memory')) AS u ON u.column1 = n.resource
WHERE n.job = ?1;

-- name: attempts
SELECT start_ms, coalesce(end_ms, ?2), cause IS NOT NULL
FROM v_attempts
WHERE job = ?1
ORDER BY start_ms;

-- name: paces
WITH held AS (
  SELECT nr, node, mgpu, start_ms, coalesce(end_ms, 9e18) AS end_ms
  FROM v_placements
  WHERE job = ?1),
  pace AS (
    SELECT r.rate_ppm / 1e6 AS rate, r.best_ppm / 1e6 AS best, r.extent AS extent, r.nr AS nr, r.at_ms AS from_ms,
      coalesce(lead(r.at_ms) OVER (PARTITION BY r.nr ORDER BY r.at_ms), a.end_ms, u.end_ms) AS to_ms
    FROM rate AS r
    CROSS JOIN run AS u
    LEFT JOIN v_attempts AS a ON a.job = r.job AND a.nr = r.nr
    WHERE r.job = ?1)
SELECT rate, best,
  (
    SELECT sum(mgpu) / 1000.0
    FROM held AS h
    WHERE h.nr = p.nr AND h.start_ms <= p.from_ms AND h.end_ms > p.from_ms),
  (
    SELECT count(DISTINCT node)
    FROM held AS h
    WHERE h.nr = p.nr AND h.start_ms <= p.from_ms AND h.end_ms > p.from_ms),
  extent, sum(to_ms - from_ms) AS span
FROM pace AS p
GROUP BY 1, 2, 3, 4, 5
ORDER BY span DESC
LIMIT 5;

-- name: gpu_hours
SELECT useful, preempt + reclaim + consolidate + stale_gang + node_failure + max_runtime + maintenance + pods_not_ready,
  checkpoint + restart, waiting, slow, idle
FROM job_time
WHERE job = ?1;

-- name: queues
SELECT id, name
FROM queue
ORDER BY id;

-- name: entitlement
SELECT gpu_quota, gpu_weight, gpu_limit
FROM queue
WHERE id = ?1;

-- name: queue_shares
-- of the leaves below, in the window: NULL where nothing was submitted in it
-- use: below
SELECT q.id, max(CASE m.name WHEN 'share_mean' THEN m.value END), max(CASE m.name WHEN 'policy_share_mean' THEN m.value END)
FROM below AS b
JOIN queue AS q ON q.id = b.id
LEFT JOIN metric AS m ON m.scope = 'queue' AND m.name IN ('share_mean', 'policy_share_mean')
  AND m.label LIKE 'queue=%' AND substr(m.label, 7, length(q.name) + 6) = q.name || ',kind='
WHERE q.leaf
GROUP BY q.id;

-- name: below_entitlement
-- part of the window, by the buckets of `series`; NULL where these are longer than the window
-- use: below
, bucket(ms, is_less) AS (
    SELECT min(s.at_ms + r.series_ms, r.window_end_ms) - max(s.at_ms, r.window_start_ms),
      sum(s.allocated_mgpu) < sum(s.share_mgpu) - 1
    FROM series AS s
    JOIN below AS b ON b.id = s.queue
    CROSS JOIN run AS r
    WHERE s.at_ms + r.series_ms > r.window_start_ms AND s.at_ms < r.window_end_ms
      AND r.series_ms <= r.window_end_ms - r.window_start_ms
    GROUP BY s.at_ms)
SELECT sum(ms * is_less) * 1.0 / sum(ms)
FROM bucket;

-- name: window
SELECT window_start_ms, window_end_ms
FROM run;

-- name: queue_changes
SELECT at_ms, gpu_quota, gpu_weight, gpu_limit, priority
FROM queue_change
WHERE queue = ?1
ORDER BY rowid;

-- name: queue_bounds
-- of CPU and memory, from a time on (NULL: the start): cores and GiB, -1: unlimited
SELECT at_ms, resource, iif(quota < 0, -1, quota / iif(resource = 'cpu', 1000.0, 1073741824.0)),
  iif(bound < 0, -1, bound / iif(resource = 'cpu', 1000.0, 1073741824.0))
FROM queue_bound
WHERE queue = ?1
ORDER BY rowid;

-- name: most_asked_at
SELECT at_ms
FROM series
GROUP BY at_ms
ORDER BY sum(pending_mgpu) DESC, at_ms
LIMIT 1;

-- name: series_ms
SELECT series_ms
FROM run;

-- name: attainment
SELECT max(CASE name WHEN 'requests' THEN value END), max(CASE name WHEN 'attainment' THEN value END),
  max(CASE name WHEN 'requests_late' THEN value END), max(CASE name WHEN 'requests_dropped' THEN value END)
FROM metric
WHERE scope = 'workload' AND label = 'workload=' || (SELECT name FROM job WHERE id = ?1);

-- name: wanted_count
SELECT count(*)
FROM wanted;

-- name: replicas
SELECT from_ms, to_ms, wanted, had
FROM v_replicas
WHERE job = ?1
ORDER BY from_ms;

-- name: held_by_queue
SELECT j.queue, q.name, sum(p.mgpu) / 1000.0 AS held, count(DISTINCT p.job)
FROM v_placements AS p
JOIN job AS j ON j.id = p.job
JOIN queue AS q ON q.id = j.queue
WHERE p.start_ms <= ?1 AND coalesce(p.end_ms, 9e18) > ?1
GROUP BY j.queue
ORDER BY held DESC, j.queue;

-- name: pieces_at
SELECT p.node, j.queue, p.mgpu, p.devices, j.name, q.name
FROM v_placements AS p
JOIN job AS j ON j.id = p.job
JOIN queue AS q ON q.id = j.queue
WHERE p.start_ms <= ?1 AND coalesce(p.end_ms, 9e18) > ?1
ORDER BY p.node, p.job;

-- name: levels
SELECT level
FROM node_domain
GROUP BY level
HAVING count(DISTINCT domain) < (SELECT count(*) FROM node)
ORDER BY count(DISTINCT domain) DESC, level
LIMIT 1;

-- name: nodes_at
WITH off AS
-- use: nodes_off
SELECT n.id, n.name, n.gpus, coalesce(d.domain, -1), coalesce(f.gpus, 0), n.id IN off, coalesce(m.name, d.domain)
FROM node AS n
LEFT JOIN node_domain AS d ON d.node = n.id AND d.level = ?2
LEFT JOIN domain_name AS m ON m.level = d.level AND m.domain = d.domain
LEFT JOIN foreign_pods AS f ON f.node = n.id
ORDER BY 4, 1;

-- name: run_end
SELECT end_ms
FROM run;

-- name: run_begin
SELECT begin_ms
FROM run;

-- piece: passers
-- jobs that came later than ?1 and started while job ?1 waited for its first start, services apart
FROM v_waits AS own
JOIN v_waits AS w ON w.from_ms > own.from_ms AND w.start_ms < own.from_ms + own.seen_ms
JOIN job AS j ON j.id = w.job
LEFT JOIN queue AS q ON q.id = w.queue
LEFT JOIN kind AS k ON k.id = w.kind
WHERE own.job = ?1 AND k.name IS NOT 'inference'

-- name: passed
SELECT count(*), total(w.mgpu) / 1000.0
-- use: passers
;

-- name: passed_most
SELECT j.name, q.name, w.mgpu / 1000.0
-- use: passers
ORDER BY w.mgpu DESC, w.start_ms, w.job
LIMIT 5;
