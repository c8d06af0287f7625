-- SPDX-License-Identifier: GPL-3.0-or-later
-- Every row of `metric` that raw rows of a results file determine, made again in SQL alone, and held
-- against the stored one: whole numbers exactly, others to 1e-9. Nothing of the program is used, nor
-- its views. Answers a line for each difference, then how many were compared.
-- Not made here, and why: attainment, deadlines, lateness, gave_up, gave_up_share, requests, requests_late, requests_dropped, requests_waiting (scope workload): a
-- results file does not keep the request series, nor which part of the workload a job came from.
-- Files with nodes of more than 64 GPUs are beyond it: their devices are not counted one by one.
-- Nor broken_promises, promise_delay_max_s: the audit makes them again (recompute.sh, promises).
-- Nor those of the scheduler's time (policy.latency), nor scenarios_simulated: cycles are not kept one by one.
.mode list
.separator " | "
PRAGMA temp_store = MEMORY;
-- What SQLite finds of the file itself, whose rows of `job` it did not write. It also looks at the temporary tables: before there are any.
CREATE TEMP TABLE unsound(words);
INSERT INTO unsound SELECT replace(integrity_check, char(10), ' ') FROM pragma_integrity_check WHERE integrity_check <> 'ok';

-- Nodes with the GPUs that are there for jobs, not with those of foreign pods; MIG instances count among `gpus`, and are no `devices`.
CREATE TEMP TABLE node AS
SELECT n.id, n.name, n.pool, n.gpus - coalesce(f.gpus, 0) AS gpus, n.gpus AS built_gpus, coalesce(f.gpus, 0) AS foreign_gpus,
       n.gpus - n.mig_gpus AS built_devices, n.gpus - n.mig_gpus - coalesce(f.gpus, 0) AS devices, n.mig_gpus,
       n.gpu_model, n.cpu_milli, coalesce(f.cpu_milli, 0) AS foreign_cpu, n.mem_bytes, coalesce(f.mem_bytes, 0) AS foreign_mem, n.gpu_mib
FROM main.node AS n LEFT JOIN foreign_pods AS f ON f.node = n.id;
CREATE UNIQUE INDEX temp.node_id ON node(id);

CREATE TEMP TABLE size_class AS
WITH RECURSIVE c(nr, top) AS (SELECT 0, 0 UNION ALL SELECT nr + 1, max(top * 2, 1000) FROM c WHERE nr < 12)
SELECT nr, top, CASE nr WHEN 0 THEN '0' WHEN 1 THEN '1' WHEN 2 THEN '2' WHEN 12 THEN '>1024'
                ELSE (top / 2000 + 1) || '-' || (top / 1000) END AS name FROM c;

-- What a queue is owed from at_ms to to_ms; of several changes at one instant the last.
CREATE TEMP TABLE owed AS
SELECT queue, at_ms, quota, weight, top, lead(at_ms, 1, 9e18) OVER (PARTITION BY queue ORDER BY at_ms) AS to_ms
FROM (SELECT id AS queue, -9e18 AS at_ms, gpu_quota AS quota, gpu_weight AS weight, gpu_limit AS top FROM queue
      UNION ALL SELECT queue, at_ms, gpu_quota, gpu_weight, gpu_limit FROM queue_change
      WHERE rowid IN (SELECT max(rowid) FROM queue_change GROUP BY queue, at_ms));
CREATE UNIQUE INDEX temp.owed_at ON owed(queue, at_ms);
CREATE TEMP TABLE leaf AS
SELECT q.id AS queue, s.shard AS shard
FROM queue AS q JOIN shard_queue AS s ON s.queue = q.id WHERE q.leaf;

-- ---- what was held, and for nothing ----
CREATE TEMP TABLE held AS
SELECT p.*, max(0, min(p.to_ms, r.window_end_ms) - max(p.start_ms, r.window_start_ms)) AS inside_ms,
       (SELECT p.pods * (a.gpus * coalesce(a.gpu_mgpu, 0) + a.mig_mgpu) FROM ask AS a JOIN job AS j ON j.shape = a.shape WHERE j.id = p.job AND a.nr = p.ask)
         AS asked -- memory of devices is asked of no size: it counts 0 while it waits
FROM (SELECT id AS job, attempts AS nr, node, mgpu, last_start_ms AS start_ms,
             coalesce(end_ms, (SELECT end_ms FROM run)) AS to_ms, pods, devices, 0 AS ask, end_ms IS NOT NULL AS over
      FROM job WHERE node IS NOT NULL AND start_ms IS NOT NULL
      UNION ALL
      SELECT p.job, p.nr, n.id, p.mgpu, p.start_ms, coalesce(p.end_ms, (SELECT end_ms FROM run)), p.pods, p.devices, p.ask, p.end_ms IS NOT NULL
      FROM placement AS p JOIN node AS n ON n.id BETWEEN p.node AND p.node + p.nodes - 1) AS p
CROSS JOIN run AS r;
CREATE INDEX temp.held_job ON held(job, start_ms);
CREATE TEMP TABLE spent AS
SELECT job, useful - slow - idle AS good, useful, preempt + reclaim + consolidate + stale_gang + node_failure + max_runtime + maintenance + pods_not_ready AS lost,
       useful + preempt + reclaim + consolidate + stale_gang + node_failure + max_runtime + maintenance + pods_not_ready + checkpoint + restart + waiting AS total
FROM job_time;
CREATE UNIQUE INDEX temp.spent_job ON spent(job);

-- ---- waits: jobs of the window in the groups they count in ----
CREATE TEMP TABLE waiter AS
SELECT j.id AS job, j.queue, j.kind, j.mgpu, j.start_ms IS NOT NULL AS started,
       j.state = 4 AS gave_up,
       coalesce(j.start_ms, CASE WHEN j.state = 4 THEN j.end_ms END, r.end_ms)
         - coalesce(h.eligible_ms, j.submit_ms) AS wait_ms, j.id IN (SELECT job FROM never) AS never
FROM job AS j CROSS JOIN run AS r LEFT JOIN hold AS h ON h.job = j.id
WHERE j.enter_ms >= r.window_start_ms AND (j.state > 0 OR j.id IN (SELECT job FROM never));
CREATE TEMP TABLE grouped AS
WITH m(scope, label, job, wait_ms, started, gave_up, never) AS (
  SELECT 'queue', 'queue=' || q.name || ',kind=' || k.name, w.job, w.wait_ms, w.started, w.gave_up, w.never
  FROM waiter AS w JOIN queue AS q ON q.id = w.queue JOIN kind AS k ON k.id = w.kind
  UNION ALL
  SELECT 'kind', 'kind=' || k.name, w.job, w.wait_ms, w.started, w.gave_up, w.never FROM waiter AS w JOIN kind AS k ON k.id = w.kind
  UNION ALL
  SELECT 'size', 'gpus=' || (SELECT name FROM size_class WHERE nr = 12 OR top >= w.mgpu ORDER BY nr LIMIT 1),
         w.job, w.wait_ms, w.started, w.gave_up, w.never FROM waiter AS w JOIN kind AS k ON k.id = w.kind WHERE k.name <> 'inference'
  UNION ALL
  SELECT 'all', '', w.job, w.wait_ms, w.started, w.gave_up, w.never
  FROM waiter AS w JOIN kind AS k ON k.id = w.kind WHERE k.name <> 'inference'
  UNION ALL
  SELECT 'shard', 'shard=' || s.name, w.job, w.wait_ms, w.started, w.gave_up, w.never
  FROM waiter AS w JOIN kind AS k ON k.id = w.kind JOIN leaf AS l ON l.queue = w.queue
  JOIN shard AS s ON s.id = l.shard
  WHERE k.name <> 'inference' AND (SELECT count(*) FROM shard) > 1
)
SELECT * FROM m;
CREATE TEMP TABLE row_of_queue AS -- kinds of which jobs of a queue came in the run, and those that never could have started
SELECT DISTINCT 'queue=' || q.name || ',kind=' || k.name AS label, j.queue, j.kind, k.name AS kind_name
FROM job AS j JOIN queue AS q ON q.id = j.queue JOIN kind AS k ON k.id = j.kind LEFT JOIN waiter AS w ON w.job = j.id
WHERE j.state > 0 OR w.never;
CREATE TEMP VIEW counted AS -- the whole, its shards and rows of queues whose jobs came before the window have a row without jobs too
SELECT * FROM grouped
UNION ALL SELECT 'queue', label, NULL, NULL, NULL, NULL, NULL FROM row_of_queue WHERE label NOT IN (SELECT label FROM grouped WHERE scope = 'queue')
UNION ALL SELECT 'all', '', NULL, NULL, NULL, NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM grouped WHERE scope = 'all')
UNION ALL SELECT 'shard', 'shard=' || name, NULL, NULL, NULL, NULL, NULL FROM shard
WHERE (SELECT count(*) FROM shard) > 1 AND NOT EXISTS (SELECT 1 FROM grouped AS g WHERE g.scope = 'shard' AND g.label = 'shard=' || shard.name);
CREATE TEMP TABLE member AS -- jobs that never could have started are counted, and in no quantile
SELECT scope, label, wait_ms, started, gave_up, row_number() OVER g AS rank,
       count(*) OVER (PARTITION BY scope, label) AS n
FROM grouped WHERE NOT never WINDOW g AS (PARTITION BY scope, label ORDER BY wait_ms, NOT started, job);
CREATE UNIQUE INDEX temp.member_rank ON member(scope, label, rank);
-- Kaplan-Meier, job by job (of equal waits those that ended first); while nothing is censored the share that waits still is a whole count.
CREATE TEMP TABLE survival AS
WITH RECURSIVE s(scope, label, rank, wait_ms, started, censored, alive) AS (
  SELECT scope, label, rank, wait_ms, started, NOT started, CASE WHEN started THEN 1.0 - 1.0 / n ELSE 1.0 END
  FROM member WHERE rank = 1
  UNION ALL
  SELECT m.scope, m.label, m.rank, m.wait_ms, m.started, s.censored OR NOT m.started,
         CASE WHEN NOT m.started THEN s.alive
              WHEN NOT s.censored THEN 1.0 - m.rank * 1.0 / m.n
              ELSE s.alive * (1.0 - 1.0 / (m.n - m.rank + 1)) END
  FROM s JOIN member AS m ON m.scope = s.scope AND m.label = s.label AND m.rank = s.rank + 1
)
SELECT s.*, m.n FROM s JOIN member AS m USING (scope, label, rank) WHERE s.started;

CREATE TEMP TABLE made(name TEXT, scope TEXT, label TEXT, value REAL, n INTEGER);
INSERT INTO made
WITH q(name, percent) AS (VALUES('wait_p50_s', 50), ('wait_p95_s', 95), ('wait_p99_s', 99))
SELECT q.name, g.scope, g.label,
       (SELECT min(s.wait_ms) / 1000.0 FROM survival AS s WHERE s.scope = g.scope AND s.label = g.label
        AND CASE WHEN s.censored THEN s.alive <= 1.0 - q.percent / 100.0 + 1e-9 ELSE s.rank * 100 >= q.percent * s.n END),
       g.n
FROM (SELECT scope, label, total(NOT never) AS n FROM counted GROUP BY scope, label) AS g CROSS JOIN q;
INSERT INTO made
SELECT 'wait_mean_s', scope, label, sum(wait_ms * started) FILTER (WHERE NOT never) / 1000.0 / nullif(total(started), 0), total(started)
FROM counted GROUP BY scope, label
UNION ALL
SELECT 'wait_max_s', scope, label, max(CASE WHEN started THEN wait_ms END) / 1000.0, total(started)
FROM counted GROUP BY scope, label
UNION ALL
SELECT 'unstarted', scope, label, total(NOT started AND NOT never), total(NOT never) FROM counted GROUP BY scope, label
UNION ALL
SELECT 'never_startable', scope, label, total(never), count(job) FROM counted
WHERE EXISTS(SELECT 1 FROM never) GROUP BY scope, label
UNION ALL
SELECT 'jobs', scope, label, count(job), count(job) FROM counted WHERE scope = 'queue' GROUP BY scope, label
UNION ALL -- only where some job may leave, which raw rows do not say of one that did not
SELECT 'gave_up', scope, label, total(gave_up AND NOT never), total(NOT never) FROM counted
WHERE EXISTS(SELECT 1 FROM metric WHERE name = 'gave_up') GROUP BY scope, label;

-- ---- jobs ----
-- From when on there is anything to measure. Whoever waits for results submits later than the run may begin.
CREATE TEMP TABLE origin AS SELECT min(r.begin_ms, coalesce((SELECT min(submit_ms) FROM job), r.begin_ms)) AS at_ms FROM run AS r;
INSERT INTO made
SELECT 'jobs', 'all', '', count(*), count(*) FROM job
UNION ALL SELECT 'finished', 'all', '', total(state = 3), count(*) FROM job
UNION ALL SELECT 'unfinished', 'all', '', total(state <> 3), count(*) FROM job
UNION ALL SELECT 'makespan_s', 'all', '', -- a user who waits for results submits later than the row says
  max(first_ms, coalesce(last_ms, first_ms)) / 1000.0, finished
  FROM (SELECT min(min(submit_ms, coalesce(enter_ms, submit_ms))) AS first_ms, max(CASE WHEN state = 3 THEN end_ms END) AS last_ms, total(state = 3) AS finished FROM job);
CREATE TEMP TABLE ended AS
SELECT j.id, j.end_ms - j.submit_ms AS jct_ms, j.work_ms, j.mgpu
FROM job AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind
WHERE j.state = 3 AND j.enter_ms >= r.window_start_ms AND k.name <> 'inference';
INSERT INTO made
SELECT 'bsld_mean', 'all', '', avg(max(1.0, jct_ms * 1.0 / max(work_ms, 10000))), count(*) FROM ended
UNION ALL SELECT 'jct_mean_s', 'all', '', sum(jct_ms) / 1000.0 / count(*), count(*) FROM ended;

-- ---- evictions and lost time ----
CREATE TEMP TABLE lost AS
SELECT j.id AS job, j.queue, j.kind, coalesce(s.lost, 0) AS lost,
       (SELECT count(*) FROM eviction AS e WHERE e.job = j.id AND e.whole) AS evictions
FROM job AS j LEFT JOIN spent AS s ON s.job = j.id
WHERE s.job IS NOT NULL OR j.id IN (SELECT job FROM eviction);
CREATE TEMP TABLE room_used AS -- by the next pods of whom it was made for
WITH n AS (
  SELECT e.rowid AS nr, e.job, e.for_job, e.gone_ms, e.used, (SELECT min(h.start_ms) FROM held AS h WHERE h.job = e.for_job AND h.start_ms >= e.at_ms) AS next_ms
  FROM eviction AS e WHERE e.for_job IS NOT NULL
)
SELECT n.nr, n.used, n.gone_ms, n.next_ms, r.status, r.end_ms, b.state,
       EXISTS (SELECT 1 FROM held AS h JOIN held AS v ON v.node = h.node
               WHERE h.job = n.for_job AND h.start_ms = n.next_ms AND v.job = n.job AND v.to_ms = n.gone_ms) AS made
FROM n JOIN job AS b ON b.id = n.for_job CROSS JOIN run AS r;
INSERT INTO made
SELECT 'evictions', 'all', '', total(whole), (SELECT count(*) FROM job) FROM eviction
UNION ALL SELECT 'partial_evictions', 'all', '', count(DISTINCT printf('%d %d %s %d', job, at_ms, cause, coalesce(for_job, -1))), (SELECT count(*) FROM job) FROM eviction AS e
  WHERE NOT whole AND NOT EXISTS (SELECT 1 FROM eviction AS w WHERE w.whole AND w.job = e.job AND w.at_ms = e.at_ms AND w.cause = e.cause AND w.rowid > e.rowid)
UNION ALL SELECT 'wasted_evictions', 'all', '', total(for_job IS NOT NULL AND NOT used), total(whole) FROM eviction
UNION ALL SELECT 'suspensions', 'all', '', n, (SELECT count(*) FROM job) FROM (SELECT count(*) AS n FROM suspension) WHERE n > 0
UNION ALL SELECT 'suspended_h', 'all', '', h, n FROM (SELECT count(*) AS n, sum(coalesce(to_ms, (SELECT end_ms FROM run)) - from_ms) / 3.6e6 AS h FROM suspension) WHERE n > 0
UNION ALL SELECT 'lost_gpu_h', 'all', '', total(lost) / 3.6e9, total(evictions) FROM lost
UNION ALL SELECT 'checkpoint_gpu_h', 'all', '', total(checkpoint) / 3.6e9, (SELECT count(*) FROM job) FROM job_time
UNION ALL SELECT 'slow_gpu_h', 'all', '', (SELECT total(slow) FROM job_time) / 3.6e9, (SELECT count(*) FROM job)
  WHERE EXISTS(SELECT 1 FROM rate)
UNION ALL SELECT 'idle_gpu_h', 'all', '', (SELECT total(idle) FROM job_time) / 3.6e9, (SELECT count(*) FROM job)
  WHERE EXISTS(SELECT 1 FROM metric WHERE name = 'idle_gpu_h')
UNION ALL SELECT 'gang_wait_gpu_h', 'all', '', total(waiting) / 3.6e9, (SELECT count(*) FROM job) FROM job_time
UNION ALL SELECT 'restart_gpu_h', 'all', '', total(restart) / 3.6e9, (SELECT total(whole) FROM eviction) FROM job_time;
INSERT INTO made
SELECT 'lost_gpu_h', 'cause', 'cause=' || c.column1,
       (SELECT sum(CASE c.column1 WHEN 'preempt' THEN preempt WHEN 'reclaim' THEN reclaim
                   WHEN 'consolidate' THEN consolidate WHEN 'stale gang' THEN stale_gang WHEN 'node failure' THEN node_failure WHEN 'maintenance' THEN maintenance WHEN 'pods not ready' THEN pods_not_ready ELSE max_runtime END)
        FROM job_time) / 3.6e9 AS hours, (SELECT total(whole) FROM eviction)
FROM (VALUES('preempt'), ('reclaim'), ('consolidate'), ('stale gang'), ('node failure'), ('max runtime'), ('maintenance'), ('pods not ready')) AS c WHERE hours > 0;
INSERT INTO made
SELECT 'evictions', 'queue', g.label, (SELECT total(l.evictions) FROM lost AS l WHERE l.queue = g.queue AND l.kind = g.kind),
       (SELECT count(*) FROM waiter AS w WHERE w.queue = g.queue AND w.kind = g.kind)
FROM row_of_queue AS g
UNION ALL
SELECT 'lost_gpu_h', 'queue', g.label, g.lost / 3.6e9, g.evictions
FROM (SELECT g.label, (SELECT total(l.lost) FROM lost AS l WHERE l.queue = g.queue AND l.kind = g.kind) AS lost,
             (SELECT total(l.evictions) FROM lost AS l WHERE l.queue = g.queue AND l.kind = g.kind) AS evictions
      FROM row_of_queue AS g) AS g;
INSERT INTO made
SELECT 'ruled_jobs', 'rule', 'rule=' || r.code, count(*), (SELECT count(*) FROM job)
FROM ruled AS x JOIN rule AS r ON r.id = x.rule GROUP BY r.id;

-- ---- what queues hold and ask for, at each instant of the window ----
CREATE TEMP TABLE pending AS
SELECT j.id AS job, coalesce(h.eligible_ms, j.submit_ms) AS from_ms,
       coalesce(j.start_ms, CASE WHEN j.state = 4 THEN j.end_ms END, r.end_ms) AS to_ms, 0 AS again
FROM job AS j CROSS JOIN run AS r LEFT JOIN hold AS h ON h.job = j.id WHERE j.state > 0
UNION ALL
SELECT a.job, a.end_ms,
       coalesce((SELECT min(b.start_ms) FROM attempt AS b WHERE b.job = a.job AND b.nr = a.nr + 1),
                CASE WHEN j.attempts > a.nr THEN j.last_start_ms END, r.end_ms), 1
FROM attempt AS a JOIN job AS j ON j.id = a.job CROSS JOIN run AS r WHERE a.end_ms IS NOT NULL;
CREATE TEMP TABLE life AS -- while it is there a job asks for all its pods, or those it wants: what it does not hold of them waits
WITH whole AS (
  SELECT j.id AS job, j.queue, j.mgpu, coalesce(h.eligible_ms, j.submit_ms) AS from_ms,
         max(CASE WHEN j.state >= 3 THEN j.end_ms ELSE r.end_ms END, coalesce(l.to_ms, -9e18)) AS to_ms
  FROM job AS j CROSS JOIN run AS r LEFT JOIN hold AS h ON h.job = j.id
  LEFT JOIN (SELECT job, max(to_ms) AS to_ms FROM held GROUP BY job) AS l ON l.job = j.id WHERE j.state > 0
)
SELECT job, queue, mgpu, from_ms, to_ms FROM whole WHERE job NOT IN (SELECT job FROM wanted)
UNION ALL
SELECT w.job, l.queue, w.mgpu, w.at_ms, lead(w.at_ms, 1, l.to_ms) OVER (PARTITION BY w.job ORDER BY w.at_ms)
FROM wanted AS w JOIN whole AS l ON l.job = w.job;
CREATE TEMP TABLE step AS
WITH c(at_ms, queue, job, alloc, pend, jobs) AS (
  SELECT h.start_ms, j.queue, h.job, h.mgpu, -h.asked, 0 FROM held AS h JOIN job AS j ON j.id = h.job
  UNION ALL SELECT h.to_ms, j.queue, h.job, -h.mgpu, h.asked, 0 FROM held AS h JOIN job AS j ON j.id = h.job
  UNION ALL SELECT from_ms, queue, job, 0, mgpu, 0 FROM life
  UNION ALL SELECT to_ms, queue, job, 0, -mgpu, 0 FROM life
  UNION ALL SELECT p.from_ms, j.queue, p.job, 0, 0, 1 FROM pending AS p JOIN job AS j ON j.id = p.job
  UNION ALL SELECT p.to_ms, j.queue, p.job, 0, 0, -1 FROM pending AS p JOIN job AS j ON j.id = p.job
)
SELECT at_ms, queue, sum(alloc) AS alloc, sum(pend) AS pend, sum(pend * (job IN (SELECT job FROM never))) AS nevers, sum(jobs) AS jobs, sum(jobs * (job NOT IN (SELECT job FROM never))) AS able FROM c GROUP BY 1, 2;
CREATE TEMP TABLE change AS
SELECT max(c.at_ms, r.window_start_ms) AS at_ms, c.queue, sum(alloc) AS alloc, sum(pend) AS pend, sum(nevers) AS nevers, sum(jobs) AS jobs, sum(able) AS able
FROM step AS c CROSS JOIN run AS r WHERE c.at_ms < r.window_end_ms GROUP BY 1, 2;
CREATE UNIQUE INDEX temp.change_at ON change(at_ms, queue);
CREATE TEMP TABLE instant AS
WITH t(at_ms) AS (SELECT DISTINCT at_ms FROM change UNION SELECT window_start_ms FROM run
                  UNION SELECT c.at_ms FROM queue_change AS c CROSS JOIN run AS r
                  WHERE c.at_ms > r.window_start_ms AND c.at_ms < r.window_end_ms
                  UNION SELECT a.at_ms FROM (SELECT from_ms AS at_ms FROM away UNION SELECT to_ms FROM away
                                             UNION SELECT from_ms FROM outage UNION SELECT to_ms FROM outage) AS a CROSS JOIN run AS r
                  WHERE a.at_ms > r.window_start_ms AND a.at_ms < r.window_end_ms)
SELECT at_ms, lead(at_ms, 1, (SELECT window_end_ms FROM run)) OVER (ORDER BY at_ms) - at_ms AS dt FROM t;
CREATE TEMP TABLE moment AS -- a row an instant and queue, inner queues too (filled in below)
SELECT i.at_ms, i.dt, q.id AS queue, q.parent, q.leaf, coalesce(l.shard, 0) AS shard,
       o.quota AS quota, o.weight AS weight, o.top AS top,
       total(c.alloc) OVER w AS alloc, total(c.pend) OVER w AS pend, total(c.nevers) OVER w AS nevers, total(c.jobs) OVER w AS jobs, total(c.able) OVER w AS able,
       0.0 AS demand, 0.0 AS share
FROM instant AS i CROSS JOIN queue AS q CROSS JOIN owed AS o ON o.queue = q.id AND o.at_ms <= i.at_ms AND o.to_ms > i.at_ms
LEFT JOIN shard_queue AS l ON l.queue = q.id
LEFT JOIN change AS c ON c.at_ms = i.at_ms AND c.queue = q.id
WINDOW w AS (PARTITION BY q.id ORDER BY i.at_ms);
CREATE UNIQUE INDEX temp.moment_at ON moment(at_ms, queue);
CREATE INDEX temp.moment_parent ON moment(parent, at_ms);
CREATE TEMP TABLE depth AS
WITH RECURSIVE d(queue, depth) AS (
  SELECT id, 0 FROM queue WHERE parent IS NULL
  UNION ALL SELECT q.id, d.depth + 1 FROM queue AS q JOIN d ON q.parent = d.queue
)
SELECT * FROM d;
CREATE TEMP TABLE level(depth INTEGER); -- what is inserted here is worked out by the triggers on it
-- Demand goes up the tree, cut to each queue's limit. Nobody is entitled to what jobs ask that can never start.
CREATE TEMP TRIGGER demand_of_level AFTER INSERT ON level BEGIN
  UPDATE moment SET demand = CASE WHEN leaf THEN alloc + pend - nevers
    ELSE (SELECT total(c.demand) FROM moment AS c WHERE c.parent = moment.queue AND c.at_ms = moment.at_ms) END
  WHERE queue IN (SELECT queue FROM depth WHERE depth = new.depth);
  UPDATE moment SET demand = min(demand, CASE WHEN top < 0 THEN demand ELSE top * 1000 END)
  WHERE queue IN (SELECT queue FROM depth WHERE depth = new.depth);
END;
INSERT INTO level SELECT DISTINCT depth FROM depth ORDER BY depth DESC;
DROP TRIGGER demand_of_level;

-- The share: what is up is divided by quota up to min(demand, quota), what is left by weight up to
-- the demand. Both are weighted max-min, in closed form: in order of cap / weight, those before are full,
-- and the rest divide what is left of `amount` by weight.
CREATE TEMP TABLE out AS -- nodes while they are down or no part of the cluster
SELECT node, from_ms, coalesce(to_ms, 9e18) AS to_ms FROM away UNION ALL SELECT node, from_ms, coalesce(to_ms, 9e18) FROM outage;
CREATE TEMP TABLE part(at_ms, queue, grp, amount, cap, weight);
CREATE INDEX temp.part_grp ON part(at_ms, grp);
CREATE TEMP TABLE got(at_ms, queue, share, PRIMARY KEY(at_ms, queue)) WITHOUT ROWID;
CREATE TEMP VIEW filled AS
WITH o AS (
  SELECT *, total(cap) OVER before AS full, total(weight) OVER after AS weights
  FROM part WHERE weight > 0
  WINDOW before AS (PARTITION BY at_ms, grp ORDER BY cap / weight, queue ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
         after AS (PARTITION BY at_ms, grp ORDER BY cap / weight, queue ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),
l AS (SELECT *, (amount - full) / weights AS level FROM o),
m AS (SELECT at_ms, grp, max(level) AS level FROM l WHERE level * weight < cap GROUP BY at_ms, grp)
SELECT l.at_ms, l.queue, CASE WHEN m.level IS NULL THEN l.cap ELSE min(l.cap, max(0.0, m.level) * l.weight) END AS share
FROM l LEFT JOIN m ON m.at_ms = l.at_ms AND m.grp = l.grp;
CREATE TEMP TRIGGER share_of_level AFTER INSERT ON level BEGIN
  DELETE FROM part;
  DELETE FROM got;
  INSERT INTO part
  SELECT m.at_ms, m.queue, coalesce(m.parent, -1 - m.shard),
         CASE WHEN m.parent IS NULL THEN (SELECT capacity_mgpu FROM shard WHERE id = m.shard)
           - (SELECT total(n.gpus * 1000) FROM out AS a JOIN node AS n ON n.id = a.node JOIN shard_pool AS p ON p.pool = n.pool
              WHERE p.shard = m.shard AND a.from_ms <= m.at_ms AND a.to_ms > m.at_ms)
         ELSE (SELECT p.share FROM moment AS p WHERE p.at_ms = m.at_ms AND p.queue = m.parent) END,
         min(m.demand, CASE WHEN m.quota < 0 THEN m.demand ELSE m.quota * 1000 END),
         CASE WHEN m.quota < 0 THEN m.demand / 1000 ELSE m.quota END
  FROM moment AS m JOIN depth AS d ON d.queue = m.queue WHERE d.depth = new.depth;
  INSERT INTO got SELECT at_ms, queue, share FROM filled;
  UPDATE moment SET share = (SELECT g.share FROM got AS g WHERE g.at_ms = moment.at_ms AND g.queue = moment.queue)
  WHERE EXISTS (SELECT 1 FROM got AS g WHERE g.at_ms = moment.at_ms AND g.queue = moment.queue);
  UPDATE part SET
    amount = amount - (SELECT total(g.share) FROM part AS b JOIN got AS g ON g.at_ms = b.at_ms AND g.queue = b.queue
                       WHERE b.at_ms = part.at_ms AND b.grp = part.grp),
    cap = (SELECT m.demand - m.share FROM moment AS m WHERE m.at_ms = part.at_ms AND m.queue = part.queue),
    weight = (SELECT m.weight FROM moment AS m WHERE m.at_ms = part.at_ms AND m.queue = part.queue);
  DELETE FROM got;
  INSERT INTO got SELECT at_ms, queue, share FROM filled;
  UPDATE moment SET share = share + (SELECT g.share FROM got AS g WHERE g.at_ms = moment.at_ms AND g.queue = moment.queue)
  WHERE EXISTS (SELECT 1 FROM got AS g WHERE g.at_ms = moment.at_ms AND g.queue = moment.queue);
END;
INSERT INTO level SELECT DISTINCT depth FROM depth ORDER BY depth;
-- While nothing waits anywhere that can start, everybody has what it holds (what pends is below 0 where jobs hold more than they want now).
CREATE TEMP TABLE calm AS SELECT at_ms FROM moment GROUP BY at_ms HAVING max(able) = 0 AND max(pend - nevers) <= 0;
UPDATE moment SET share = alloc WHERE leaf AND at_ms IN (SELECT at_ms FROM calm);

-- ---- fairness, occupancy ----
-- What was held in vain, as a rate of mGPU from start_ms to to_ms: what was wasted, slow or idle where it was; sessions
-- leave a part of all the time idle in which they work at the best rate.
CREATE TEMP TABLE vainly AS
WITH k AS (SELECT t.job, t.idle * 1.0 / (t.useful - t.slow) AS part FROM job_time AS t JOIN job AS j ON j.id = t.job JOIN kind AS k ON k.id = j.kind
           WHERE k.name = 'interactive' AND t.idle > 0)
SELECT w.job, w.from_ms AS start_ms, w.to_ms, w.mgpu_ms * (1.0 - coalesce(k.part, 0)) / (w.to_ms - w.from_ms) AS mgpu
FROM (SELECT job, from_ms, to_ms, mgpu_ms FROM main.waste UNION ALL SELECT job, from_ms, to_ms, mgpu_ms FROM unused) AS w LEFT JOIN k ON k.job = w.job
UNION ALL
SELECT h.job, h.start_ms, h.to_ms, h.mgpu * k.part FROM held AS h JOIN k ON k.job = h.job;
CREATE TEMP TABLE vain AS
SELECT x.shard, x.held, coalesce(w.vain, 0) AS vain
FROM (SELECT l.shard, total(h.inside_ms * h.mgpu) AS held FROM held AS h JOIN job AS j ON j.id = h.job JOIN leaf AS l ON l.queue = j.queue GROUP BY l.shard) AS x
LEFT JOIN (SELECT l.shard, sum(max(0, min(w.to_ms, r.window_end_ms) - max(w.start_ms, r.window_start_ms)) * w.mgpu) AS vain
           FROM vainly AS w JOIN job AS j ON j.id = w.job JOIN leaf AS l ON l.queue = j.queue CROSS JOIN run AS r GROUP BY l.shard) AS w ON w.shard = x.shard;
-- What came before the window, and after it.
CREATE TEMP TABLE phase AS
SELECT * FROM (SELECT 'phase=warm-up' AS label, begin_ms AS from_ms, min(window_start_ms, end_ms) AS to_ms, -9e18 AS after_ms, window_start_ms AS upto_ms FROM run
               UNION ALL SELECT 'phase=drain', window_end_ms, end_ms, window_end_ms, 9e18 FROM run) WHERE to_ms > from_ms;
CREATE TEMP TABLE phased AS
SELECT p.*, (SELECT total(max(0, min(h.to_ms, p.to_ms) - max(h.start_ms, p.from_ms)) * h.mgpu) FROM held AS h) AS held,
       (SELECT total(max(0, min(w.to_ms, p.to_ms) - max(w.start_ms, p.from_ms)) * w.mgpu) FROM vainly AS w) AS vain,
       r.capacity_mgpu * 1.0 * (p.to_ms - p.from_ms)
         - (SELECT total(n.gpus * 1000 * max(0, min(coalesce(a.to_ms, p.to_ms), p.to_ms) - max(a.from_ms, p.from_ms))) FROM away AS a JOIN node AS n ON n.id = a.node) AS built,
       (SELECT total(n.gpus * 1000 * max(0, min(coalesce(o.to_ms, p.to_ms), p.to_ms) - max(o.from_ms, p.from_ms))) FROM outage AS o JOIN node AS n ON n.id = o.node) AS down
FROM phase AS p CROSS JOIN run AS r;
INSERT INTO made
SELECT 'phase_h', 'phase', label, (to_ms - from_ms) / 3.6e6, 1 FROM phased
UNION ALL SELECT 'phase_gpu_h', 'phase', label, held / 3.6e9, 1 FROM phased
UNION ALL SELECT 'phase_gpu_available', 'phase', label, (built - down) / nullif(built, 0), 1 FROM phased
UNION ALL SELECT 'phase_gpu_occupancy', 'phase', label, held / nullif(built - down, 0), 1 FROM phased
UNION ALL SELECT 'phase_gpu_goodput', 'phase', label, (held - vain) / nullif(built - down, 0), 1 FROM phased
UNION ALL SELECT 'phase_finished', 'phase', label, (SELECT total(end_ms > after_ms AND end_ms <= upto_ms) FROM job WHERE state = 3), (SELECT total(state = 3) FROM job) FROM phased;
-- What a queue could hold on the empty cluster: pods of whole GPUs fill what their sizes add up to of a node;
-- no more than its limits, and nothing of nodes that are not there.
CREATE TEMP TABLE pod_size AS
SELECT DISTINCT j.queue, a.gpus, a.gpu_mib IS NOT NULL OR a.gpu_mgpu < 1000 AS shares
FROM job AS j JOIN ask AS a ON a.shape = j.shape WHERE a.gpus > 0;
CREATE TEMP TABLE epoch AS -- in which no node joins or leaves
SELECT at_ms, lead(at_ms, 1, 9e18) OVER (ORDER BY at_ms) AS to_ms
FROM (SELECT window_start_ms AS at_ms FROM run
      UNION SELECT a.at_ms FROM (SELECT from_ms AS at_ms FROM away UNION SELECT to_ms FROM away) AS a CROSS JOIN run AS r
      WHERE a.at_ms > r.window_start_ms AND a.at_ms < r.window_end_ms);
CREATE TEMP TABLE usable AS
WITH RECURSIVE f(queue, gpus) AS (
  SELECT queue, 0 FROM leaf
  UNION SELECT f.queue, f.gpus + p.gpus FROM f JOIN pod_size AS p ON p.queue = f.queue AND NOT p.shares
  WHERE f.gpus + p.gpus <= (SELECT max(devices) FROM node)
)
SELECT l.queue, l.shard, n.at_ms, n.to_ms,
       total(CASE WHEN EXISTS (SELECT 1 FROM pod_size AS p WHERE p.queue = l.queue AND p.shares) OR n.gpus > 64 THEN n.gpus
                  ELSE (SELECT max(f.gpus) FROM f WHERE f.queue = l.queue AND f.gpus <= n.gpus) END * n.nodes
             + n.mig_gpus * n.nodes * EXISTS (SELECT 1 FROM job AS j JOIN ask AS a ON a.shape = j.shape WHERE j.queue = l.queue AND a.instances > 0)) * 1000 AS mgpu
FROM leaf AS l JOIN (SELECT p.shard, e.at_ms, e.to_ms, n.devices AS gpus, n.mig_gpus,
                            total(NOT EXISTS (SELECT 1 FROM away AS a WHERE a.node = n.id AND a.from_ms <= e.at_ms AND coalesce(a.to_ms, 9e18) > e.at_ms)) AS nodes
                     FROM epoch AS e CROSS JOIN node AS n JOIN shard_pool AS p ON p.pool = n.pool GROUP BY 1, 2, 3, 4, 5) AS n
  ON n.shard = l.shard GROUP BY l.queue, n.at_ms;
CREATE TEMP TABLE above AS -- a queue and all above it
WITH RECURSIVE u(queue, above) AS (
  SELECT queue, queue FROM leaf UNION ALL SELECT u.queue, q.parent FROM u JOIN queue AS q ON q.id = u.above WHERE q.parent IS NOT NULL
)
SELECT * FROM u;
CREATE TEMP TABLE shard_at AS -- whether any node is down
SELECT i.at_ms, s.id AS shard,
       EXISTS (SELECT 1 FROM outage AS o JOIN node AS n ON n.id = o.node JOIN shard_pool AS p ON p.pool = n.pool
               WHERE p.shard = s.id AND n.gpus > 0 AND o.from_ms <= i.at_ms AND coalesce(o.to_ms, 9e18) > i.at_ms) AS down
FROM instant AS i CROSS JOIN shard AS s;
CREATE UNIQUE INDEX temp.shard_at_i ON shard_at(at_ms, shard);
CREATE TEMP TABLE debt AS
WITH m AS (
  SELECT m.queue, m.dt, m.alloc, min(m.alloc + m.pend, CASE WHEN m.quota < 0 THEN m.alloc + m.pend ELSE CAST(m.quota * 1000 AS INTEGER) END) AS owed,
         CAST(min(u.mgpu, m.alloc + m.pend - m.nevers, -- what jobs ask that can never start no room holds
              (SELECT min(CASE WHEN x.top < 0 THEN 9e18 ELSE x.top * 1000 END) FROM above AS a JOIN owed AS x ON x.queue = a.above
               WHERE a.queue = m.queue AND x.at_ms <= m.at_ms AND x.to_ms > m.at_ms)) AS INTEGER) AS possible, s.down
  FROM moment AS m JOIN usable AS u ON u.queue = m.queue AND u.at_ms <= m.at_ms AND u.to_ms > m.at_ms JOIN shard_at AS s ON s.at_ms = m.at_ms AND s.shard = u.shard
  WHERE m.pend > 0
),
d AS (SELECT queue, dt, down, owed - alloc AS debt, max(0, owed - max(possible, alloc)) AS impossible FROM m WHERE owed > alloc)
SELECT queue, total(impossible * dt) / 3.6e9 AS impossible, total((debt - impossible) * dt * down) / 3.6e9 AS down,
       total((debt - impossible) * dt * NOT down) / 3.6e9 AS blocked
FROM d GROUP BY queue;
CREATE TEMP TABLE fair AS -- part: of its share; what is below the noise of such sums is no share
SELECT *, CASE WHEN share > 1.0 AND share > 1e-9 * alloc THEN alloc / share END AS part FROM (SELECT m.queue, m.shard, sum(m.alloc * m.dt) AS alloc, sum(m.share * m.dt) AS share,
       sum(abs(m.share - m.alloc) * m.dt) AS apart,
       sum(max(0, min(m.alloc + m.pend, CASE WHEN m.quota < 0 THEN m.alloc + m.pend ELSE CAST(m.quota * 1000 AS INTEGER) END) - m.alloc) * m.dt) AS debt
FROM moment AS m JOIN leaf AS l ON l.queue = m.queue GROUP BY m.queue);
CREATE TEMP TABLE gone AS
SELECT p.shard, sum(n.gpus * 1000 * max(0, min(coalesce(a.to_ms, r.window_end_ms), r.window_end_ms)
                                           - max(a.from_ms, r.window_start_ms))) AS gone
FROM away AS a CROSS JOIN run AS r JOIN node AS n ON n.id = a.node JOIN shard_pool AS p ON p.pool = n.pool GROUP BY p.shard;
CREATE TEMP TABLE down AS
SELECT p.shard, sum(n.gpus * 1000 * max(0, min(coalesce(o.to_ms, r.window_end_ms), r.window_end_ms)
                                           - max(o.from_ms, r.window_start_ms))) AS down
FROM outage AS o CROSS JOIN run AS r JOIN node AS n ON n.id = o.node JOIN shard_pool AS p ON p.pool = n.pool GROUP BY p.shard;
CREATE TEMP TABLE whole AS -- all, and each shard where there are several
SELECT scope, label, shard, most - gone AS built, most - gone - down AS available
FROM (SELECT 'all' AS scope, '' AS label, NULL AS shard, capacity_mgpu * 1.0 * (window_end_ms - window_start_ms) AS most,
             (SELECT total(gone) FROM gone) AS gone, (SELECT total(down) FROM down) AS down FROM run
      UNION ALL
      SELECT 'shard', 'shard=' || s.name, s.id, s.capacity_mgpu * 1.0 * (r.window_end_ms - r.window_start_ms),
             (SELECT total(g.gone) FROM gone AS g WHERE g.shard = s.id), (SELECT total(d.down) FROM down AS d WHERE d.shard = s.id)
      FROM shard AS s CROSS JOIN run AS r WHERE (SELECT count(*) FROM shard) > 1);
INSERT INTO made SELECT 'capacity_gpu_h', 'all', '', built / 3.6e9, 1 FROM whole
WHERE scope = 'all' AND EXISTS (SELECT 1 FROM metric WHERE name = 'capacity_gpu_h');
INSERT INTO made SELECT 'gpu_available', 'all', '', available / nullif(built, 0), 1 FROM whole WHERE scope = 'all';
CREATE TEMP TABLE ratio AS
SELECT w.scope, w.label, w.shard, w.available, total(f.alloc) AS alloc, total(f.apart) AS apart, total(f.debt) AS debt,
       sum(f.part) AS s, sum(f.part * f.part) AS ss, sum(min(1.0, f.part)) AS c, sum(min(1.0, f.part) * min(1.0, f.part)) AS cc,
       count(f.part) AS n, count(f.queue) AS leaves
FROM whole AS w LEFT JOIN fair AS f ON w.shard IS NULL OR f.shard = w.shard GROUP BY w.scope, w.label;
INSERT INTO made
SELECT 'fairness_jain', scope, label, s * s / (n * nullif(ss, 0)), n FROM ratio
UNION ALL SELECT 'fairness_satisfaction', scope, label, c * c / (n * nullif(cc, 0)), n FROM ratio WHERE scope = 'all'
UNION ALL SELECT 'share_deviation', scope, label, apart / (2 * nullif(available, 0)), 1 FROM ratio
UNION ALL SELECT 'quota_debt_gpu_h', scope, label, debt / 3.6e9, leaves FROM ratio
UNION ALL SELECT 'gpu_occupancy', scope, label, (SELECT total(v.held) FROM vain AS v WHERE ratio.shard IS NULL OR v.shard = ratio.shard)
                 / nullif(available, 0), 1 FROM ratio
UNION ALL SELECT 'gpu_goodput', scope, label, (SELECT total(v.held - v.vain) FROM vain AS v WHERE ratio.shard IS NULL OR v.shard = ratio.shard)
                 / nullif(available, 0), 1 FROM ratio;
INSERT INTO made
SELECT 'gpu_h', 'queue', g.label, (SELECT total(h.inside_ms * h.mgpu) FROM held AS h JOIN job AS j ON j.id = h.job
                                  WHERE j.queue = g.queue AND j.kind = g.kind) / 3.6e9, 1 FROM row_of_queue AS g
UNION ALL
SELECT 'share_mean', 'queue', g.label, f.share / nullif((SELECT window_end_ms - window_start_ms FROM run), 0) / 1000, 1 FROM row_of_queue AS g JOIN fair AS f ON f.queue = g.queue
UNION ALL
SELECT 'quota_debt_gpu_h', 'queue', g.label, f.debt / 3.6e9, 1 FROM row_of_queue AS g JOIN fair AS f ON f.queue = g.queue;
INSERT INTO made
SELECT x.column1, w.scope, w.label,
       (SELECT total(CASE x.column1 WHEN 'quota_debt_impossible_gpu_h' THEN d.impossible WHEN 'quota_debt_down_gpu_h' THEN d.down ELSE d.blocked END)
        FROM debt AS d JOIN leaf AS l ON l.queue = d.queue WHERE (w.shard IS NULL OR l.shard = w.shard) AND (w.queue IS NULL OR d.queue = w.queue)),
       w.n
FROM (SELECT scope, label, shard, NULL AS queue, leaves AS n FROM ratio
      UNION ALL SELECT 'queue', label, NULL, queue, 1 FROM row_of_queue) AS w
CROSS JOIN (VALUES('quota_debt_impossible_gpu_h'), ('quota_debt_down_gpu_h'), ('quota_debt_blocked_gpu_h')) AS x;
INSERT INTO made
SELECT x.column1, 'shard', w.label,
       CASE x.column1 WHEN 'jobs' THEN s.jobs WHEN 'finished' THEN s.finished WHEN 'evictions' THEN s.evictions ELSE s.lost / 3.6e9 END,
       CASE x.column1 WHEN 'lost_gpu_h' THEN s.evictions ELSE s.jobs END
FROM whole AS w CROSS JOIN (VALUES('jobs'), ('finished'), ('evictions'), ('lost_gpu_h')) AS x
JOIN (SELECT s.id AS shard, count(j.id) AS jobs, total(j.state = 3) AS finished, total(l.evictions) AS evictions, total(l.lost) AS lost
      FROM shard AS s LEFT JOIN leaf AS q ON q.shard = s.id LEFT JOIN job AS j ON j.queue = q.queue
      LEFT JOIN lost AS l ON l.job = j.id GROUP BY s.id) AS s ON s.shard = w.shard;

-- ---- what queues held against the shares that the policy went by ----
CREATE TEMP TABLE policy_share AS -- of several at one instant the last
SELECT queue, at_ms, mgpu FROM fair_share WHERE rowid IN (SELECT max(rowid) FROM fair_share GROUP BY queue, at_ms);
CREATE UNIQUE INDEX temp.policy_share_at ON policy_share(queue, at_ms);
CREATE TEMP TABLE own AS
WITH c(queue, at, alloc) AS (
  SELECT j.queue, h.start_ms, h.mgpu FROM held AS h JOIN job AS j ON j.id = h.job
  UNION ALL SELECT j.queue, h.to_ms, -h.mgpu FROM held AS h JOIN job AS j ON j.id = h.job
  UNION ALL SELECT queue, at_ms, 0 FROM policy_share
),
i AS (SELECT queue, at, sum(alloc) AS alloc FROM c WHERE queue IN (SELECT queue FROM policy_share) GROUP BY queue, at)
SELECT queue, at, lead(at, 1, (SELECT end_ms FROM run)) OVER w AS upto, sum(alloc) OVER w AS alloc,
       (SELECT t.mgpu FROM policy_share AS t WHERE t.queue = i.queue AND t.at_ms <= i.at ORDER BY t.at_ms DESC LIMIT 1) AS share
FROM i WINDOW w AS (PARTITION BY queue ORDER BY at);
CREATE INDEX temp.own_at ON own(queue, at);
CREATE TEMP TABLE owned AS
SELECT o.queue, l.shard, total(o.share * o.ms) AS shared, total(abs(o.share - o.alloc) * o.ms) AS apart
FROM (SELECT o.*, max(0, min(o.upto, r.window_end_ms) - max(o.at, r.window_start_ms)) AS ms FROM own AS o CROSS JOIN run AS r) AS o
JOIN leaf AS l ON l.queue = o.queue GROUP BY o.queue;
INSERT INTO made
SELECT 'policy_share_deviation', w.scope, w.label, sum(o.apart) / (2 * nullif(
         (SELECT sum(s.capacity_mgpu * 1.0 * (r.window_end_ms - r.window_start_ms) - (SELECT total(gone) FROM gone AS g WHERE g.shard = s.id)
                     - (SELECT total(down) FROM down AS d WHERE d.shard = s.id))
          FROM shard AS s CROSS JOIN run AS r
          WHERE s.id IN (SELECT shard FROM owned) AND (w.shard IS NULL OR s.id = w.shard)), 0)), count(*)
FROM whole AS w JOIN owned AS o ON w.shard IS NULL OR o.shard = w.shard GROUP BY w.scope, w.label
UNION ALL
SELECT 'policy_share_mean', 'queue', g.label, o.shared / nullif((SELECT window_end_ms - window_start_ms FROM run), 0) / 1000, 1
FROM row_of_queue AS g JOIN owned AS o ON o.queue = g.queue;
CREATE TEMP TABLE own_bucket AS -- means over the buckets of the series
WITH s AS (
  SELECT s.rowid AS nr, s.queue, s.at_ms, min(s.at_ms + r.series_ms, r.end_ms) AS upto, s.policy_share_mgpu AS stored
  FROM series AS s CROSS JOIN run AS r
)
SELECT s.nr, s.at_ms, s.queue, s.stored, total(o.share * (min(o.upto, s.upto) - max(o.at, s.at_ms))) / (s.upto - s.at_ms) AS made
FROM s JOIN own AS o ON o.queue = s.queue AND o.at < s.upto AND o.upto > s.at_ms
  AND o.at >= coalesce((SELECT max(b.at) FROM own AS b WHERE b.queue = s.queue AND b.at <= s.at_ms), -9e18)
GROUP BY s.nr
UNION ALL SELECT s.nr, s.at_ms, s.queue, s.stored, NULL FROM s WHERE s.queue NOT IN (SELECT queue FROM policy_share);

-- The buckets of the series: what was held and waited for, of the whole run; the oracle's share, of those within the window.
CREATE TEMP TABLE course AS
SELECT queue, at_ms AS at, lead(at_ms, 1, 9e18) OVER w AS upto, sum(alloc) OVER w AS alloc, sum(pend) OVER w AS pend, sum(jobs) OVER w AS jobs
FROM step WINDOW w AS (PARTITION BY queue ORDER BY at_ms);
CREATE INDEX temp.course_at ON course(queue, at);
CREATE INDEX temp.moment_queue ON moment(queue, at_ms);
CREATE TEMP TABLE bucket AS
SELECT s.rowid AS nr, s.queue, s.at_ms, min(s.at_ms + r.series_ms, r.end_ms) AS upto, s.allocated_mgpu, s.pending_mgpu, s.pending_jobs, s.share_mgpu
FROM series AS s CROSS JOIN run AS r;
CREATE TEMP TABLE course_bucket AS
SELECT nr, total(alloc * ms) / (upto - at_ms) AS alloc, total(pend * ms) / (upto - at_ms) AS pend, total(jobs * ms) / (upto - at_ms) AS jobs
FROM (SELECT b.*, c.alloc, c.pend, c.jobs, min(c.upto, b.upto) - max(c.at, b.at_ms) AS ms
      FROM bucket AS b JOIN course AS c ON c.queue = b.queue AND c.at < b.upto AND c.upto > b.at_ms
        AND c.at >= coalesce((SELECT max(p.at) FROM course AS p WHERE p.queue = b.queue AND p.at <= b.at_ms), -9e18)) GROUP BY nr;
CREATE TEMP TABLE share_bucket AS
SELECT b.nr, total(m.share * (min(m.at_ms + m.dt, b.upto) - max(m.at_ms, b.at_ms))) / (b.upto - b.at_ms) AS share
FROM bucket AS b CROSS JOIN run AS r JOIN moment AS m ON m.queue = b.queue AND m.at_ms < b.upto
  AND m.at_ms >= coalesce((SELECT max(p.at_ms) FROM moment AS p WHERE p.queue = b.queue AND p.at_ms <= b.at_ms), -9e18)
WHERE b.at_ms >= r.window_start_ms AND b.upto <= r.window_end_ms GROUP BY b.nr;

-- ---- times to the end ----
-- Lengths of time of which some were still going on; their quantiles come last.
CREATE TEMP TABLE lasting(name TEXT, ms INTEGER, ended INTEGER, scope TEXT DEFAULT 'all', label TEXT DEFAULT '');
INSERT INTO lasting(name, ms, ended)
SELECT 'jct', coalesce(j.end_ms, r.end_ms) - j.submit_ms, j.state = 3
FROM job AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind
WHERE j.state > 0 AND j.enter_ms >= r.window_start_ms AND k.name <> 'inference' AND j.id NOT IN (SELECT job FROM never);
INSERT INTO made -- a kind without jobs that ended has them too, without a value
SELECT x.column1, 'kind', 'kind=' || k.name,
       avg(CASE WHEN j.state = 3 THEN max(1.0, (j.end_ms - j.submit_ms) * 1.0 / max(j.work_ms, x.column2)) END), total(j.state = 3)
FROM job AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind CROSS JOIN (VALUES('bsld_mean', 10000), ('bsld60_mean', 60000)) AS x
WHERE (j.state > 0 OR j.id IN (SELECT job FROM never)) AND j.enter_ms >= r.window_start_ms AND k.name <> 'inference' GROUP BY 1, 3;
CREATE TEMP TABLE jct_group AS -- of queues and kinds too
SELECT 'queue' AS scope, 'queue=' || q.name || ',kind=' || k.name AS label, j.id AS job, j.submit_ms, j.end_ms, j.state,
       j.state > 0 AND j.id NOT IN (SELECT job FROM never) AS counts
FROM job AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind JOIN queue AS q ON q.id = j.queue
WHERE (j.state > 0 OR j.id IN (SELECT job FROM never)) AND j.enter_ms >= r.window_start_ms AND k.name <> 'inference';
INSERT INTO jct_group SELECT 'kind', substr(label, instr(label, ',kind=') + 1), job, submit_ms, end_ms, state, counts FROM jct_group;
INSERT INTO jct_group SELECT 'queue', label, NULL, NULL, NULL, NULL, 0 FROM row_of_queue -- all of its jobs came before the window
WHERE kind_name <> 'inference' AND label NOT IN (SELECT label FROM jct_group);
INSERT INTO lasting
SELECT 'jct', coalesce(g.end_ms, r.end_ms) - g.submit_ms, g.state = 3, g.scope, g.label FROM jct_group AS g CROSS JOIN run AS r WHERE g.counts;
INSERT INTO made
SELECT 'jct_mean_s', scope, label, sum(CASE WHEN counts AND state = 3 THEN end_ms - submit_ms END) / 1000.0 / nullif(total(counts AND state = 3), 0),
       total(counts AND state = 3) FROM jct_group GROUP BY scope, label;
INSERT INTO lasting(name, ms, ended)
SELECT 'batch', CASE WHEN min(j.state) >= 3 THEN max(j.end_ms) ELSE (SELECT end_ms FROM run) END - min(j.submit_ms), min(j.state) >= 3
FROM batch AS b JOIN job AS j ON j.id = b.job GROUP BY b.name
HAVING max(j.state) > 0 AND min(coalesce(j.enter_ms, -9e18)) >= (SELECT window_start_ms FROM run) AND NOT max(j.id IN (SELECT job FROM never));
CREATE TEMP TABLE endless AS -- batches of which some job never could have started
SELECT b.name FROM batch AS b JOIN job AS j ON j.id = b.job GROUP BY b.name
HAVING min(coalesce(j.enter_ms, -9e18)) >= (SELECT window_start_ms FROM run) AND max(j.id IN (SELECT job FROM never));
CREATE TEMP TABLE due AS
SELECT j.id IN (SELECT job FROM never) AS never, d.at_ms, j.state, j.end_ms, r.end_ms AS run_end_ms,
       CASE WHEN j.state = 3 THEN j.end_ms <= d.at_ms WHEN j.state = 4 OR r.end_ms > d.at_ms OR j.id IN (SELECT job FROM never) THEN 0 END AS met
FROM deadline AS d JOIN job AS j ON j.id = d.job CROSS JOIN run AS r WHERE j.state > 0 AND j.enter_ms >= r.window_start_ms;
INSERT INTO lasting(name, ms, ended) SELECT 'lateness', CASE state WHEN 3 THEN end_ms ELSE run_end_ms END - at_ms, state = 3 FROM due WHERE NOT never;
INSERT INTO made
SELECT x.column1, 'all', '',
       CASE x.column1 WHEN 'deadline_met' THEN avg(met) WHEN 'deadlines_missed' THEN total(met = 0)
                      WHEN 'deadlines_open' THEN total(met IS NULL) WHEN 'lateness_mean_s' THEN avg(CASE state WHEN 3 THEN end_ms - at_ms END) / 1000.0
                      WHEN 'lateness_max_s' THEN max(CASE state WHEN 3 THEN end_ms - at_ms END) / 1000.0
                      ELSE avg(CASE state WHEN 3 THEN max(0, end_ms - at_ms) END) / 1000.0 END,
       CASE x.column1 WHEN 'deadline_met' THEN count(met) WHEN 'deadlines_missed' THEN count(*)
                      WHEN 'deadlines_open' THEN count(*) ELSE total(state = 3) END
FROM due CROSS JOIN (VALUES('deadline_met'), ('deadlines_missed'), ('deadlines_open'), ('lateness_mean_s'), ('lateness_max_s'),
                           ('tardiness_mean_s')) AS x GROUP BY x.column1;
INSERT INTO made
SELECT x.column1, 'all', '',
       (SELECT CASE x.column1 WHEN 'batch_mean_s' THEN avg(CASE WHEN ended THEN ms END) / 1000.0
                              WHEN 'batch_max_s' THEN max(CASE WHEN ended THEN ms END) / 1000.0 ELSE total(NOT ended) + (SELECT count(*) FROM endless) END
        FROM lasting WHERE name = 'batch'),
       (SELECT CASE x.column1 WHEN 'batches_open' THEN count(*) + (SELECT count(*) FROM endless) ELSE total(ended) END FROM lasting WHERE name = 'batch')
FROM (VALUES('batch_mean_s'), ('batch_max_s'), ('batches_open')) AS x WHERE EXISTS (SELECT 1 FROM batch);
INSERT INTO made
SELECT 'bsld_per_gpu_mean', 'all', '', avg(max(1.0, jct_ms / (max(1.0, mgpu / 1000.0) * max(work_ms, 10000)))), count(*) FROM ended;
INSERT INTO made
SELECT 'bsld60_mean', 'all', '', avg(max(1.0, jct_ms * 1.0 / max(work_ms, 60000))), count(*) FROM ended;
INSERT INTO made
SELECT 'wait_gpu_weighted_s', 'all', '', sum(w.wait_ms * w.mgpu) / 1000.0 / nullif(sum(w.mgpu), 0), count(*)
FROM waiter AS w JOIN kind AS k ON k.id = w.kind WHERE w.started AND k.name <> 'inference';
-- Finish-time fairness. How many jobs a shard had, integrated: at each submit and end.
CREATE TEMP TABLE crowd AS
WITH c(at_ms, shard, jobs) AS (
  SELECT j.submit_ms, l.shard, 1 FROM job AS j JOIN leaf AS l ON l.queue = j.queue WHERE j.state > 0
  UNION ALL SELECT j.end_ms, l.shard, -1 FROM job AS j JOIN leaf AS l ON l.queue = j.queue WHERE j.state >= 3
),
i AS (SELECT at_ms, shard, sum(jobs) AS jobs FROM c GROUP BY at_ms, shard),
n AS (SELECT at_ms, shard, sum(jobs) OVER w AS now, lag(at_ms) OVER w AS since FROM i WINDOW w AS (PARTITION BY shard ORDER BY at_ms)),
d AS (SELECT at_ms, shard, coalesce(lag(now) OVER w * (at_ms - since), 0) AS job_ms FROM n WINDOW w AS (PARTITION BY shard ORDER BY at_ms))
SELECT at_ms, shard, sum(job_ms) OVER (PARTITION BY shard ORDER BY at_ms) AS job_ms FROM d;
CREATE UNIQUE INDEX temp.crowd_at ON crowd(shard, at_ms);
CREATE TEMP TABLE there AS -- mGPU x ms that were part of the cluster, up or down, over the run
SELECT s.id AS shard, r.begin_ms, r.end_ms - r.begin_ms AS run_ms, s.capacity_mgpu * (r.end_ms - r.begin_ms)
  - coalesce((SELECT sum(n.gpus * 1000 * max(0, min(coalesce(a.to_ms, r.end_ms), r.end_ms) - max(a.from_ms, r.begin_ms)))
    FROM away AS a JOIN node AS n ON n.id = a.node JOIN shard_pool AS p ON p.pool = n.pool WHERE p.shard = s.id), 0) AS mgpu_ms
FROM shard AS s CROSS JOIN run AS r;
-- A quotient of two products of whole numbers: what is 1 is not a hair above.
CREATE TEMP TABLE rho AS
WITH k AS (
  SELECT e.id, e.jct_ms, e.work_ms, e.mgpu, o.quota, s.id AS shard, s.capacity_mgpu, t.mgpu_ms AS run_mgpu_ms, t.run_ms, j.submit_ms, j.end_ms,
         max(j.submit_ms, t.begin_ms) AS known_ms
  FROM ended AS e JOIN job AS j ON j.id = e.id JOIN owed AS o ON o.queue = j.queue AND o.at_ms <= j.submit_ms AND o.to_ms > j.submit_ms
  JOIN shard_queue AS l ON l.queue = j.queue JOIN shard AS s ON s.id = l.shard JOIN there AS t ON t.shard = s.id WHERE e.work_ms > 0
),
e AS (
  SELECT k.*, CASE WHEN end_ms <= known_ms THEN capacity_mgpu * jct_ms
              ELSE (capacity_mgpu * (end_ms - known_ms)
                    - coalesce((SELECT sum(n.gpus * 1000 * max(0, min(coalesce(a.to_ms, k.end_ms), k.end_ms) - max(a.from_ms, k.known_ms)))
                                FROM away AS a JOIN node AS n ON n.id = a.node JOIN shard_pool AS p ON p.pool = n.pool WHERE p.shard = k.shard), 0))
                   * (jct_ms * 1.0 / (end_ms - known_ms)) END AS mgpu_ms,
         (SELECT count(*) FROM job AS o JOIN leaf AS m ON m.queue = o.queue WHERE m.shard = k.shard AND o.state > 0) AS jobs,
         (SELECT job_ms FROM crowd WHERE shard = k.shard AND at_ms = k.end_ms)
          - (SELECT job_ms FROM crowd WHERE shard = k.shard AND at_ms = k.submit_ms) AS job_ms
  FROM k
),
p(form, jct_ms, work_ms, asked, has) AS (
  SELECT 'quota', jct_ms, work_ms, mgpu, quota * 1000 FROM e WHERE quota >= 0
  UNION ALL SELECT 'quota', jct_ms, work_ms, mgpu * jct_ms, mgpu_ms FROM e WHERE quota < 0
  UNION ALL SELECT 'themis', jct_ms, work_ms, job_ms * 1000, mgpu_ms FROM e
  UNION ALL SELECT 'shockwave', jct_ms, work_ms, jobs * run_ms * 1000.0, run_mgpu_ms FROM e
),
f(form, rho) AS (SELECT form, CASE WHEN asked > has THEN jct_ms * 1.0 * has / (work_ms * 1.0 * asked) ELSE jct_ms * 1.0 / work_ms END FROM p WHERE has > 0)
SELECT form, rho, row_number() OVER (PARTITION BY form ORDER BY rho) AS rank, count(*) OVER (PARTITION BY form) AS n FROM f;
INSERT INTO made
SELECT 'ftf_' || f.column1 || '_' || q.column1, 'all', '',
       CASE q.column1 WHEN 'max' THEN max(r.rho) WHEN 'above' THEN avg(r.rho > 1)
            ELSE max(CASE WHEN r.rank = max(1, (95 * r.n + 99) / 100) THEN r.rho END) END, count(r.rho)
FROM (VALUES('quota'), ('themis'), ('shockwave')) AS f CROSS JOIN (VALUES('max'), ('p95'), ('above')) AS q
LEFT JOIN rho AS r ON r.form = f.column1 GROUP BY f.column1, q.column1;

-- ---- users ----
CREATE TEMP TABLE got_by AS
WITH x(user, held, waited) AS (
  SELECT j.user, h.inside_ms * h.mgpu, 0 FROM held AS h JOIN job AS j ON j.id = h.job
  UNION ALL
  SELECT j.user, 0, max(0, min(p.to_ms, r.window_end_ms) - max(p.from_ms, r.window_start_ms)) * j.mgpu
  FROM pending AS p JOIN job AS j ON j.id = p.job CROSS JOIN run AS r WHERE j.id NOT IN (SELECT job FROM never)
)
SELECT total(held) / total(held + waited) AS part FROM x WHERE user IS NOT NULL GROUP BY user HAVING total(held + waited) > 0;
INSERT INTO made
SELECT * FROM (
  SELECT 'user_fairness_jain', 'all', '', sum(part) * sum(part) / (count(*) * nullif(sum(part * part), 0)), count(*) FROM got_by
) WHERE EXISTS (SELECT 1 FROM job WHERE user IS NOT NULL);

-- ---- what evictions did, over the whole run ----
INSERT INTO made
SELECT 'evictions_per_1000_gpu_h', 'all', '',
       e.n * 1000 / ((SELECT nullif(total((to_ms - start_ms) * mgpu), 0) FROM held) / 3.6e9), e.n
FROM (SELECT total(whole) AS n FROM eviction) AS e;
INSERT INTO made
SELECT 'ping_pong_evictions', 'all', '', total(since <= 3600000), count(*)
FROM (SELECT at_ms - lag(at_ms) OVER (PARTITION BY job ORDER BY at_ms, rowid) AS since FROM eviction WHERE whole);
CREATE TEMP TABLE stall AS
SELECT j.queue, j.kind, p.to_ms - p.from_ms AS ms
FROM pending AS p JOIN job AS j ON j.id = p.job WHERE p.again;
INSERT INTO made
SELECT 'stall_h', 'all', '', total(ms) / 3.6e6, count(*) FROM stall
UNION ALL
SELECT 'stall_h', 'kind', 'kind=' || k.name, (SELECT total(ms) FROM stall AS s WHERE s.kind = k.id) / 3.6e6, (SELECT count(*) FROM stall AS s WHERE s.kind = k.id)
FROM kind AS k WHERE k.id IN (SELECT kind FROM waiter)
UNION ALL
SELECT 'stall_h', 'queue', w.label, (SELECT total(ms) FROM stall AS s WHERE s.queue = w.queue AND s.kind = w.kind) / 3.6e6,
       (SELECT count(*) FROM stall AS s WHERE s.queue = w.queue AND s.kind = w.kind)
FROM row_of_queue AS w;

-- ---- pools: time of nodes that were there, and its price ----
CREATE TEMP TABLE stay AS
SELECT n.pool, n.id, w.window,
       w.until - w.since - (SELECT total(max(0, min(coalesce(a.to_ms, w.until), w.until) - max(a.from_ms, w.since)))
                            FROM away AS a WHERE a.node = n.id) AS there
FROM node AS n
CROSS JOIN (SELECT 1 AS window, window_start_ms AS since, window_end_ms AS until FROM run
            UNION ALL SELECT 0, begin_ms, end_ms FROM run) AS w;
CREATE TEMP TABLE pooled AS
SELECT p.name AS pool, p.price, total(CASE WHEN s.window THEN s.there END) / 3.6e6 AS node_h,
       total(CASE WHEN NOT s.window THEN s.there END) / 3.6e6 AS run_h, total(NOT s.window AND s.there > 0) AS nodes
FROM pool AS p LEFT JOIN stay AS s ON s.pool = p.name GROUP BY p.name;
CREATE TEMP TABLE features AS
SELECT EXISTS (SELECT 1 FROM pool WHERE price IS NOT NULL) AS priced, EXISTS (SELECT 1 FROM metric WHERE name = 'capacity_gpu_h') AS resized;
INSERT INTO made SELECT 'node_h', 'pool', 'pool=' || pool, node_h, nodes FROM pooled, features WHERE priced OR resized
UNION ALL SELECT 'cost', 'pool', 'pool=' || pool, node_h * price, nodes FROM pooled WHERE price IS NOT NULL
UNION ALL SELECT 'run_cost', 'pool', 'pool=' || pool, run_h * price, nodes FROM pooled WHERE price IS NOT NULL
UNION ALL SELECT 'nodes_joined', 'pool', 'pool=' || pool,
                 (SELECT count(*) FROM away AS a JOIN node AS n ON n.id = a.node WHERE n.pool = pooled.pool AND a.to_ms IS NOT NULL), nodes
          FROM pooled, features WHERE resized
UNION ALL SELECT 'nodes_left', 'pool', 'pool=' || pool,
                 (SELECT count(*) FROM away AS a JOIN node AS n ON n.id = a.node WHERE n.pool = pooled.pool
                    AND a.from_ms > (SELECT begin_ms FROM run)), nodes
          FROM pooled, features WHERE resized
UNION ALL SELECT 'cost', 'all', '', total(node_h * price), total(nodes) FROM pooled WHERE price IS NOT NULL GROUP BY NULL HAVING count(*) > 0
UNION ALL SELECT 'run_cost', 'all', '', total(run_h * price), total(nodes) FROM pooled WHERE price IS NOT NULL GROUP BY NULL HAVING count(*) > 0
UNION ALL SELECT 'cost_per_useful_gpu_h', 'all', '',
                 CASE WHEN total(price IS NULL AND nodes > 0) = 0
                      THEN total(node_h * coalesce(price, 0)) / nullif((SELECT total(held - vain) FROM vain) / 3.6e9, 0) END, total(nodes)
          FROM pooled, features WHERE priced GROUP BY NULL HAVING count(*) > 0;

-- ---- nodes ----
CREATE TEMP TABLE load AS
SELECT id, gpus, (SELECT total(h.inside_ms * h.mgpu) FROM held AS h WHERE h.node = id) / (gpus * 1000.0 * nullif(there, 0)) AS load
FROM (SELECT n.id, n.gpus, r.window_end_ms - r.window_start_ms AS span, r.window_end_ms - r.window_start_ms
             - (SELECT total(max(0, min(coalesce(a.to_ms, r.window_end_ms), r.window_end_ms) - max(a.from_ms, r.window_start_ms)))
                FROM away AS a WHERE a.node = n.id) AS there
      FROM node AS n CROSS JOIN run AS r WHERE n.gpus > 0)
WHERE there > 0 OR span = 0;
INSERT INTO made
SELECT 'node_load_max_over_mean', 'all', '', max(load) / nullif(avg(load), 0), count(*) FROM load;
INSERT INTO made
WITH RECURSIVE square(value) AS (
  SELECT avg((load / mean - 1) * (load / mean - 1)) FROM load CROSS JOIN (SELECT avg(load) AS mean FROM load)
),
root(nr, value) AS ( -- by Newton's steps: not every build of sqlite3 has sqrt()
  SELECT 0, value + 1 FROM square
  UNION ALL
  SELECT r.nr + 1, (r.value + s.value / r.value) / 2 FROM root AS r CROSS JOIN square AS s WHERE r.nr < 60
)
SELECT 'node_load_cv', 'all', '', (SELECT value FROM root WHERE nr = 60), count(*) FROM load;

-- ---- free room, device by device ----
-- The kinds of pod that make 95 % of the trace's, but for those of MIG: room is of devices.
CREATE TEMP TABLE typical AS
WITH k AS (
  SELECT a.gpus, a.gpu_mgpu AS part, a.gpu_mib AS mib, a.cpu_milli AS cpu, a.gpu_model, a.shard, a.bound, sum(a.pods) AS pods,
         min(a.shape * 64 + a.nr) AS first
  FROM job AS j JOIN ask AS a ON a.shape = j.shape WHERE a.instances = 0
  GROUP BY 1, 2, 3, 4, 5, 6, 7
),
r AS (SELECT *, row_number() OVER (ORDER BY pods DESC, cpu DESC, coalesce(part, mib) DESC, gpus DESC, first) AS nr FROM k)
SELECT r.*, (SELECT total(b.pods) FROM r AS b WHERE b.nr < r.nr) AS before FROM r;
DELETE FROM typical
WHERE before * 100 >= 95 * (SELECT sum(a.pods) FROM job AS j JOIN ask AS a ON a.shape = j.shape WHERE a.instances = 0) OR nr > 256;
CREATE TEMP TABLE bit AS
WITH RECURSIVE b(d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM b WHERE d < 63) SELECT d FROM b;
CREATE TEMP TABLE slice AS -- taken (or given back) of a device at a time; d -1: of the CPU
WITH p AS (
  SELECT h.*, j.shape, (SELECT count(*) FROM bit WHERE h.devices >> d & 1) AS wide
  FROM held AS h JOIN job AS j ON j.id = h.job WHERE h.to_ms > h.start_ms
),
t AS (
  SELECT p.node, b.d, p.start_ms, p.to_ms, p.mgpu / p.wide AS much FROM p JOIN bit AS b ON p.devices >> b.d & 1
  UNION ALL
  SELECT p.node, -1, p.start_ms, p.to_ms, p.pods * a.cpu_milli FROM p JOIN ask AS a ON a.shape = p.shape AND a.nr = p.ask
  WHERE a.cpu_milli > 0
)
SELECT node, d, at, sum(much) AS much
FROM (SELECT node, d, start_ms AS at, much FROM t UNION ALL SELECT node, d, to_ms, -much FROM t) GROUP BY node, d, at;
CREATE INDEX temp.slice_at ON slice(node, at, d);
CREATE TEMP TABLE shut AS SELECT node, from_ms, coalesce(to_ms, 9e18) AS to_ms FROM (SELECT * FROM outage UNION ALL SELECT * FROM away UNION ALL SELECT * FROM cordon);
CREATE TEMP TABLE node_at AS
WITH a AS (
  SELECT node, at FROM slice UNION SELECT node, from_ms FROM shut UNION SELECT node, to_ms FROM shut
  UNION SELECT id, at_ms FROM node CROSS JOIN origin
)
SELECT a.node, a.at, EXISTS (SELECT 1 FROM shut AS o WHERE o.node = a.node AND o.from_ms <= a.at AND o.to_ms > a.at) AS down
FROM a JOIN node AS n ON n.id = a.node WHERE a.at < (SELECT end_ms FROM run);
CREATE TEMP TABLE device_at AS
SELECT i.node, i.at, b.d, CASE WHEN b.d < 0 THEN coalesce(n.cpu_milli, 9000000000000000) - n.foreign_cpu
                               WHEN b.d < n.foreign_gpus THEN 0 ELSE 1000 END
       - coalesce(sum(s.much) OVER (PARTITION BY i.node, b.d ORDER BY i.at), 0) AS free
FROM node_at AS i JOIN node AS n ON n.id = i.node JOIN (SELECT d FROM bit UNION ALL SELECT -1) AS b ON b.d < n.built_devices
LEFT JOIN slice AS s ON s.node = i.node AND s.at = i.at AND s.d = b.d;
-- Alike states are judged once: the free parts of the devices in ascending order, and the free CPU.
CREATE TEMP TABLE state_at AS
SELECT v.node, v.at, total(CASE WHEN v.d >= 0 THEN v.free END) AS idle, sum(v.d >= 0 AND v.free = 1000) AS whole,
       max(CASE WHEN v.d < 0 THEN v.free END) AS cpu, group_concat(CASE WHEN v.d >= 0 THEN v.free END) AS state
FROM (SELECT * FROM device_at ORDER BY node, at, free) AS v GROUP BY v.node, v.at;
CREATE UNIQUE INDEX temp.state_at_i ON state_at(node, at);
CREATE TEMP TABLE kind_of AS -- `first`: of the nodes that are alike, here and in whom they take
WITH n AS (
  SELECT n.id AS node, n.devices AS gpus, n.gpu_model AS model, n.gpu_mib / 100 * 100 AS mib, p.shard,
         (SELECT group_concat(b.bound) FROM (SELECT bound FROM barred WHERE node = n.id ORDER BY bound) AS b) AS barred
  FROM node AS n JOIN shard_pool AS p ON p.pool = n.pool
)
SELECT *, min(node) OVER (PARTITION BY model, mib, shard, barred) AS first FROM n;
CREATE TEMP TABLE alike AS
SELECT s.state, s.cpu, k.first, k.model, k.mib, k.shard, max(s.idle) AS idle FROM state_at AS s JOIN kind_of AS k ON k.node = s.node GROUP BY 1, 2, 3;
CREATE TEMP TABLE part_of AS
WITH RECURSIVE one(state, free, rest) AS (
  SELECT state, NULL, state || ',' FROM (SELECT DISTINCT state FROM alike)
  UNION ALL SELECT state, CAST(rest AS INTEGER), substr(rest, instr(rest, ',') + 1) FROM one WHERE rest <> ''
)
SELECT state, free FROM one WHERE free IS NOT NULL;
CREATE INDEX temp.part_of_i ON part_of(state);
CREATE TEMP TABLE judged AS -- of memory a thousandth of a device at least, of one that does not state its own nothing
SELECT a.state, a.cpu, a.first,
       sum(t.pods * CASE WHEN t.gpus = 0 OR t.cpu > a.cpu OR t.shard <> a.shard OR (t.gpu_model IS NOT NULL AND t.gpu_model IS NOT a.model)
                           OR EXISTS (SELECT 1 FROM barred AS b WHERE b.bound = t.bound AND b.node = a.first)
                           OR t.gpus > (SELECT total(o.free >= t.part) FROM part_of AS o WHERE o.state = a.state) THEN a.idle
                         ELSE (SELECT total(o.free) FROM part_of AS o WHERE o.state = a.state AND o.free < t.part) END) AS unusable
FROM alike AS a CROSS JOIN (
  SELECT t.gpus, t.cpu, t.shard, t.gpu_model, t.bound, t.pods, m.mib,
         coalesce(t.part, CASE WHEN m.mib > 0 AND t.mib <= m.mib THEN max(t.mib * 1000 / m.mib, 1) ELSE 1001 END) AS part
  FROM typical AS t CROSS JOIN (SELECT DISTINCT mib FROM alike) AS m
) AS t ON t.mib IS a.mib GROUP BY 1, 2, 3;
CREATE INDEX temp.judged_i ON judged(state, cpu);
CREATE TEMP TABLE found_at AS -- a node that is down, or cordoned, has nothing
SELECT i.node, i.at, k.shard, NOT i.down AS up, NOT i.down AND s.whole = k.gpus AND k.gpus > 0 AS empty, k.gpus,
       s.whole * NOT i.down AS whole, s.idle * NOT i.down AS idle, coalesce(j.unusable, 0) * NOT i.down AS unusable
FROM node_at AS i JOIN state_at AS s ON s.node = i.node AND s.at = i.at JOIN kind_of AS k ON k.node = i.node
LEFT JOIN judged AS j ON j.state = s.state AND j.cpu = s.cpu AND j.first = k.first;
CREATE TEMP TABLE room_at AS -- of all nodes, from `at` to `upto`
WITH d AS (
  SELECT at, idle - lag(idle, 1, 0) OVER w AS idle, unusable - lag(unusable, 1, 0) OVER w AS unusable
  FROM found_at WINDOW w AS (PARTITION BY node ORDER BY at)
),
g AS (SELECT at, sum(idle) AS idle, sum(unusable) AS unusable FROM d GROUP BY at)
SELECT at, lead(at, 1, (SELECT end_ms FROM run)) OVER (ORDER BY at) AS upto, sum(idle) OVER (ORDER BY at) AS idle,
       sum(unusable) OVER (ORDER BY at) * 1.0 / (SELECT sum(pods) FROM typical) AS unusable
FROM g;
CREATE INDEX temp.room_at_i ON room_at(at);
-- Empty nodes by domain, whole devices by node; a level is worth what its best domain has.
CREATE TEMP TABLE domain_at AS
WITH c(level, domain, at, more) AS (
  SELECT 'cluster', shard, at, empty * gpus - lag(empty * gpus, 1, 0) OVER (PARTITION BY node ORDER BY at) FROM found_at
  UNION ALL
  SELECT d.level, d.domain * 1000 + f.shard, f.at, empty * gpus - lag(empty * gpus, 1, 0) OVER (PARTITION BY d.level, f.node ORDER BY at)
  FROM found_at AS f JOIN node_domain AS d ON d.node = f.node
  UNION ALL
  SELECT 'node', node, at, whole - lag(whole, 1, 0) OVER (PARTITION BY node ORDER BY at) FROM found_at
),
m AS (SELECT level, domain, at, sum(more) AS more FROM c GROUP BY 1, 2, 3)
SELECT level, domain, at, lead(at, 1, (SELECT end_ms FROM run)) OVER w AS upto, sum(more) OVER w AS gpus
FROM m WINDOW w AS (PARTITION BY level, domain ORDER BY at);
-- The best of each: amounts in descending order, as far as no larger one covers the time.
CREATE TEMP TABLE amount_at AS -- how many domains have an amount
WITH c AS (
  SELECT level, gpus, at, 1 AS more FROM domain_at UNION ALL SELECT level, gpus, upto, -1 FROM domain_at
),
m AS (SELECT level, gpus, at, sum(more) AS more FROM c GROUP BY 1, 2, 3 HAVING sum(more) <> 0)
SELECT level, gpus, at, lead(at) OVER w AS upto, sum(more) OVER w AS domains FROM m WINDOW w AS (PARTITION BY level, gpus ORDER BY at);
DELETE FROM amount_at WHERE domains = 0 OR upto IS NULL;
CREATE UNIQUE INDEX temp.amount_at_i ON amount_at(level, gpus, at);
CREATE TEMP TABLE level_at AS
WITH t AS (SELECT DISTINCT level, at FROM domain_at),
e AS (SELECT level, at, lead(at, 1, (SELECT end_ms FROM run)) OVER (PARTITION BY level ORDER BY at) AS upto FROM t),
v AS (SELECT DISTINCT level, gpus FROM amount_at)
SELECT e.level, e.at, e.upto,
       max(CASE WHEN (SELECT x.upto FROM amount_at AS x WHERE x.level = v.level AND x.gpus = v.gpus AND x.at <= e.at
                      ORDER BY x.at DESC LIMIT 1) > e.at THEN v.gpus END) AS gpus
FROM e JOIN v ON v.level = e.level GROUP BY e.level, e.at;
CREATE INDEX temp.level_at_i ON level_at(at);

CREATE TEMP TABLE span AS -- the window, and the buckets of the series
SELECT -1 AS nr, window_start_ms AS at, window_end_ms AS upto FROM run WHERE window_end_ms > window_start_ms
UNION ALL SELECT m.rowid, m.at_ms, min(m.at_ms + r.series_ms, r.end_ms) FROM room AS m CROSS JOIN run AS r;
CREATE TEMP TABLE span_room AS
SELECT s.nr, s.at, s.upto - s.at AS ms, total(r.idle * (min(r.upto, s.upto) - max(r.at, s.at))) AS idle,
       total(r.unusable * (min(r.upto, s.upto) - max(r.at, s.at))) AS unusable
FROM span AS s JOIN room_at AS r ON r.at < s.upto AND r.upto > s.at GROUP BY s.nr;
CREATE TEMP TABLE span_level AS
SELECT s.nr, s.at, l.level, s.upto - s.at AS ms, total(l.gpus * (min(l.upto, s.upto) - max(l.at, s.at))) AS gpus, min(l.gpus) AS least
FROM span AS s JOIN level_at AS l ON l.at < s.upto AND l.upto > s.at GROUP BY s.nr, l.level;
INSERT INTO made
SELECT 'idle_gpus_mean', 'all', '', (SELECT idle / ms / 1000 FROM span_room WHERE nr = -1), (SELECT count(*) FROM load)
UNION ALL SELECT 'unusable_gpus_mean', 'all', '', (SELECT unusable / ms / 1000 FROM span_room WHERE nr = -1), (SELECT count(*) FROM typical)
UNION ALL SELECT 'unusable_of_idle', 'all', '', (SELECT unusable / nullif(idle, 0) FROM span_room WHERE nr = -1), (SELECT count(*) FROM typical);
INSERT INTO made
SELECT x.column1, 'level', 'level=' || v.level, CASE x.column1 WHEN 'startable_gang_mean_gpus' THEN l.gpus / l.ms ELSE l.least END,
       (SELECT count(*) FROM load)
FROM (SELECT 'cluster' AS level UNION SELECT 'node' UNION SELECT level FROM node_domain) AS v LEFT JOIN span_level AS l ON l.level = v.level AND l.nr = -1
CROSS JOIN (VALUES('startable_gang_mean_gpus'), ('startable_gang_least_gpus')) AS x;

-- ---- how far gangs were spread ----
CREATE TEMP TABLE wired AS -- NVLink joins parts of a node (islands), a node, or several nodes of a pool in a row
SELECT n.id AS node, n.pool, CASE WHEN p.nvlink_gpus < n.built_devices THEN p.nvlink_gpus ELSE 64 END AS island,
       n.pool || ' ' || CASE WHEN p.nvlink_gpus > n.built_devices AND n.built_devices > 0
         THEN (row_number() OVER (PARTITION BY n.pool ORDER BY n.id) - 1) / (p.nvlink_gpus / n.built_devices) ELSE n.id END AS joined
FROM node AS n LEFT JOIN pool AS p ON p.name = n.pool;
CREATE TEMP TABLE gang AS -- devices of the last attempt as it began; a service is none
SELECT DISTINCT j.id AS job, h.node, b.d, b.d / w.island AS island, w.joined
FROM job AS j CROSS JOIN run AS r JOIN held AS h ON h.job = j.id AND h.nr = j.attempts AND h.start_ms <= j.last_start_ms
JOIN bit AS b ON h.devices >> b.d & 1 JOIN wired AS w ON w.node = h.node
WHERE j.state > 0 AND j.enter_ms >= r.window_start_ms AND j.start_ms IS NOT NULL AND (h.to_ms > j.last_start_ms OR NOT h.over)
  AND NOT EXISTS (SELECT 1 FROM metric AS m WHERE m.name = 'requests' AND m.label = 'workload=' || j.name);
CREATE INDEX temp.gang_job ON gang(job);
CREATE TEMP TABLE gang_size AS
SELECT job, count(DISTINCT node) AS nodes, count(DISTINCT joined) AS joined, (SELECT max(i) FROM
       (SELECT count(DISTINCT h.island) AS i FROM gang AS h WHERE h.job = gang.job GROUP BY h.node)) AS islands
FROM gang GROUP BY job HAVING count(*) > 1;
CREATE TEMP TABLE rung AS SELECT level, min(rowid) AS nr FROM node_domain GROUP BY level;
CREATE TEMP TABLE reach AS
SELECT s.job, CASE WHEN s.joined = 1 AND s.islands = 1 THEN 'nvlink' WHEN s.nodes = 1 THEN 'node'
         ELSE coalesce((SELECT r.level FROM rung AS r
                        WHERE (SELECT count(DISTINCT d.domain) = 1 AND max(d.domain) < 4294967295 FROM gang AS g JOIN node_domain AS d ON d.node = g.node
                               WHERE g.job = s.job AND d.level = r.level) ORDER BY r.nr DESC LIMIT 1), 'cluster') END AS level
FROM gang_size AS s;
INSERT INTO made
SELECT 'gangs_within', 'level', 'level=' || l.level, (SELECT avg(r.level = l.level) FROM reach AS r), (SELECT count(*) FROM reach)
FROM (SELECT 'nvlink' AS level UNION ALL SELECT 'node' UNION ALL SELECT 'cluster' UNION ALL SELECT level FROM rung) AS l;

-- ---- rates ----
CREATE TEMP TABLE pace AS
SELECT r.*, coalesce(lead(r.at_ms) OVER (PARTITION BY r.job, r.nr ORDER BY r.at_ms, r.rowid), a.end_ms,
                     CASE WHEN j.state = 3 THEN j.end_ms ELSE (SELECT end_ms FROM run) END) AS to_ms
FROM rate AS r JOIN job AS j ON j.id = r.job LEFT JOIN attempt AS a ON a.job = r.job AND a.nr = r.nr;
CREATE TEMP TABLE like_others AS
WITH m AS (
  SELECT j.shape, sum(p.rate_ppm * 1.0 * (p.to_ms - p.at_ms)) / sum(p.best_ppm * 1.0 * (p.to_ms - p.at_ms)) AS rate
  FROM pace AS p JOIN job AS j ON j.id = p.job CROSS JOIN run AS r WHERE j.enter_ms >= r.window_start_ms
  GROUP BY p.job HAVING sum(p.to_ms - p.at_ms) > 0
),
k AS (SELECT *, row_number() OVER (PARTITION BY shape ORDER BY rate) AS rank, count(*) OVER (PARTITION BY shape) AS n FROM m)
SELECT shape, n, max(CASE WHEN rank = (95 * n + 99) / 100 THEN rate END) / max(CASE WHEN rank = max(1, (5 * n + 99) / 100) THEN rate END) AS spread
FROM k WHERE n >= 20 GROUP BY shape;
INSERT INTO made
SELECT * FROM (
  SELECT 'topology_penalty_gpu_h', 'all', '', total(h.mgpu * (1 - p.own_ppm * 1.0 / p.best_ppm)
           * max(0, min(h.to_ms, p.to_ms, r.window_end_ms) - max(h.start_ms, p.at_ms, r.window_start_ms))) / 3.6e9,
         (SELECT count(DISTINCT job) FROM rate)
  FROM pace AS p JOIN held AS h ON h.job = p.job AND h.nr = p.nr CROSS JOIN run AS r WHERE p.own_ppm < p.best_ppm
  UNION ALL SELECT 'rate_spread', 'all', '', sum(spread * n) / sum(n), sum(n) FROM like_others GROUP BY NULL HAVING count(*) > 0
  UNION ALL SELECT 'rate_spread_max', 'all', '', max(spread), sum(n) FROM like_others GROUP BY NULL HAVING count(*) > 0
) WHERE EXISTS (SELECT 1 FROM rate);

-- ---- occupancy of other things ----
CREATE TEMP TABLE up_ms AS
SELECT n.id AS node, n.gpus, n.cpu_milli - n.foreign_cpu AS cpu, n.mem_bytes - n.foreign_mem AS mem, r.window_end_ms - r.window_start_ms
         - (SELECT total(max(0, min(coalesce(o.to_ms, r.window_end_ms), r.window_end_ms) - max(o.from_ms, r.window_start_ms)))
            FROM (SELECT * FROM outage UNION ALL SELECT * FROM away) AS o WHERE o.node = n.id) AS ms
FROM node AS n CROSS JOIN run AS r;
CREATE TEMP TABLE asked AS
SELECT h.node, h.inside_ms, h.pods * a.cpu_milli AS cpu, h.pods * a.mem_bytes AS mem
FROM held AS h JOIN job AS j ON j.id = h.job JOIN ask AS a ON a.shape = j.shape AND a.nr = h.ask;
INSERT INTO made
SELECT 'cpu_occupancy', 'all', '', ((SELECT total(a.cpu * 1.0 * a.inside_ms) FROM asked AS a JOIN node AS n ON n.id = a.node WHERE n.cpu_milli IS NOT NULL)
         - (SELECT total(h.pods * a.cpu_milli * 1.0 *
                         max(0, min(h.to_ms, coalesce(s.to_ms, r.end_ms), r.window_end_ms) - max(h.start_ms, s.from_ms, r.window_start_ms)))
            FROM suspension AS s JOIN held AS h ON h.job = s.job JOIN job AS j ON j.id = h.job JOIN ask AS a ON a.shape = j.shape AND a.nr = h.ask
            JOIN node AS n ON n.id = h.node AND n.cpu_milli IS NOT NULL CROSS JOIN run AS r))
         / total(cpu * 1.0 * ms), 1 FROM up_ms WHERE EXISTS (SELECT 1 FROM ask WHERE cpu_milli > 0) GROUP BY NULL HAVING total(cpu * 1.0 * ms) > 0
UNION ALL
SELECT 'mem_occupancy', 'all', '', (SELECT total(a.mem * 1.0 * a.inside_ms) FROM asked AS a JOIN node AS n ON n.id = a.node WHERE n.mem_bytes IS NOT NULL)
         / total(mem * 1.0 * ms), 1 FROM up_ms WHERE EXISTS (SELECT 1 FROM ask WHERE mem_bytes > 0) GROUP BY NULL HAVING total(mem * 1.0 * ms) > 0
UNION ALL
SELECT 'mig_occupancy', 'all', '',
       (SELECT total(p.pods * a.mig_mgpu * 1.0 * p.inside_ms) FROM held AS p JOIN job AS j ON j.id = p.job JOIN ask AS a ON a.shape = j.shape AND a.nr = p.ask)
         / total(n.mig_gpus * 1000.0 * u.ms), 1
FROM up_ms AS u JOIN node AS n ON n.id = u.node GROUP BY NULL HAVING total(n.mig_gpus * u.ms) > 0
UNION ALL
SELECT 'gpu_touched', 'all', '',
       ((SELECT total(p.pods * a.mig_mgpu * p.inside_ms) FROM held AS p JOIN job AS j ON j.id = p.job JOIN ask AS a ON a.shape = j.shape AND a.nr = p.ask) / 1000.0
        + (SELECT total((n.devices - s.whole) * max(0, min(s.upto, r.window_end_ms) - max(s.at, r.window_start_ms)))
        FROM (SELECT node, at, whole, lead(at, 1, (SELECT end_ms FROM run)) OVER (PARTITION BY node ORDER BY at) AS upto FROM state_at) AS s
        JOIN node AS n ON n.id = s.node CROSS JOIN run AS r)) * 1000 / nullif((SELECT available FROM whole WHERE scope = 'all'), 0), 1
WHERE EXISTS (SELECT 1 FROM ask WHERE gpu_mib IS NOT NULL OR (gpu_mgpu < 1000 AND gpus > 0))
UNION ALL
SELECT 'throughput_gpus', 'all', '', total(mgpu / 1000.0 * work_ms) / nullif((SELECT window_end_ms - window_start_ms FROM run), 0), count(*)
FROM job AS j JOIN kind AS k ON k.id = j.kind CROSS JOIN run AS r
WHERE j.state = 3 AND k.name <> 'inference' AND j.end_ms > r.window_start_ms AND j.end_ms <= r.window_end_ms;

-- ---- energy: of pools that state their power ----
CREATE TEMP TABLE drawn AS
WITH u AS (
  SELECT s.pool, s.id, s.window, s.there > 0 AS ever, s.there
         - (SELECT total(max(0, min(coalesce(o.to_ms, w.until), w.until) - max(o.from_ms, w.since))) FROM outage AS o WHERE o.node = s.id) AS up,
         (SELECT total(h.mgpu * max(0, min(h.to_ms, w.until) - max(h.start_ms, w.since))) FROM held AS h WHERE h.node = s.id) AS held
  FROM stay AS s JOIN (SELECT 1 AS window, window_start_ms AS since, window_end_ms AS until FROM run
                       UNION ALL SELECT 0, begin_ms, end_ms FROM run) AS w ON w.window = s.window
)
SELECT p.name AS pool, u.window, total(u.ever) AS nodes,
       total(p.idle_power_w * u.up + (p.full_power_w - p.idle_power_w)
             * coalesce((u.held / 1000 + n.foreign_gpus * u.up) / nullif(n.built_gpus, 0), 0)) / 3.6e9 AS kwh
FROM pool AS p JOIN u ON u.pool = p.name JOIN node AS n ON n.id = u.id
WHERE p.full_power_w IS NOT NULL GROUP BY p.name, u.window;
INSERT INTO made
SELECT iif(window, '', 'run_') || 'energy_kwh', 'pool', 'pool=' || pool, kwh, (SELECT nodes FROM drawn AS d WHERE d.pool = drawn.pool AND NOT d.window) FROM drawn
UNION ALL SELECT iif(window, '', 'run_') || 'energy_kwh', 'all', '', total(kwh), (SELECT total(nodes) FROM drawn WHERE NOT window) FROM drawn GROUP BY window
UNION ALL SELECT 'energy_kwh_per_useful_gpu_h', 'all', '',
       iif(EXISTS (SELECT 1 FROM pooled JOIN pool ON pool.name = pooled.pool WHERE pool.full_power_w IS NULL AND pooled.nodes > 0), NULL,
           total(kwh) / nullif((SELECT total(held - vain) FROM vain) / 3.6e9, 0)), (SELECT total(nodes) FROM drawn WHERE NOT window)
FROM drawn WHERE window GROUP BY NULL HAVING count(*) > 0;

-- ---- starvation ----
-- Of every amount that jobs of a queue ask for, the time so far in which the queue had that much of its quota
-- left, at each change.
CREATE TEMP TABLE hungry AS
SELECT w.job, w.queue, w.mgpu FROM waiter AS w JOIN kind AS k ON k.id = w.kind
WHERE k.name <> 'inference' AND w.mgpu > 0 AND NOT w.never
  AND EXISTS (SELECT 1 FROM owed AS o WHERE o.queue = w.queue AND (o.quota < 0 OR w.mgpu <= CAST(o.quota * 1000 AS INTEGER)));
CREATE TEMP TABLE left_at AS
WITH c AS (
  SELECT j.queue, h.start_ms AS at, h.mgpu FROM held AS h JOIN job AS j ON j.id = h.job WHERE h.to_ms > h.start_ms
  UNION ALL SELECT j.queue, h.to_ms, -h.mgpu FROM held AS h JOIN job AS j ON j.id = h.job WHERE h.to_ms > h.start_ms
  UNION ALL SELECT queue, at_ms, 0 FROM leaf CROSS JOIN origin
  UNION ALL SELECT queue, at_ms, 0 FROM queue_change
),
s AS (SELECT queue, at, sum(mgpu) AS mgpu FROM c GROUP BY queue, at),
a AS (SELECT queue, at, sum(mgpu) OVER w AS held, lead(at, 1, (SELECT end_ms FROM run)) OVER w AS upto FROM s WINDOW w AS (PARTITION BY queue ORDER BY at)),
v AS (SELECT DISTINCT queue, mgpu FROM hungry),
i AS (
  SELECT v.queue, v.mgpu, a.at, a.upto, o.quota < 0 OR a.held + v.mgpu <= CAST(o.quota * 1000 AS INTEGER) AS within
  FROM v JOIN a ON a.queue = v.queue
  JOIN owed AS o ON o.queue = a.queue AND o.at_ms <= a.at AND o.to_ms > a.at
)
SELECT queue, mgpu, at, within,
       coalesce(sum(within * (upto - at)) OVER (PARTITION BY queue, mgpu ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
FROM i;
CREATE UNIQUE INDEX temp.left_at_i ON left_at(queue, mgpu, at);
CREATE TEMP TABLE starving AS
SELECT h.job, coalesce(sum(
         (SELECT l.before + l.within * (p.to_ms - l.at) FROM left_at AS l WHERE l.queue = h.queue AND l.mgpu = h.mgpu AND l.at <= p.to_ms ORDER BY l.at DESC LIMIT 1)
         - (SELECT l.before + l.within * (p.from_ms - l.at) FROM left_at AS l WHERE l.queue = h.queue AND l.mgpu = h.mgpu AND l.at <= p.from_ms ORDER BY l.at DESC LIMIT 1)), 0) AS ms
FROM hungry AS h LEFT JOIN pending AS p ON p.job = h.job GROUP BY h.job;
INSERT INTO lasting(name, ms, ended) SELECT 'starvation', s.ms, j.state NOT IN (1, 4) FROM starving AS s JOIN job AS j ON j.id = s.job;
INSERT INTO made
SELECT 'starvation_max_s', 'all', '', max(ms) / 1000.0, count(*) FROM starving
UNION ALL SELECT 'starved', 'all', '', total(ms > 0), count(*) FROM starving;

-- ---- elastic jobs: when they had all their pods ----
CREATE TEMP TABLE grown AS
WITH c AS (
  SELECT h.job, h.start_ms AS at, h.pods FROM held AS h CROSS JOIN run AS r WHERE h.to_ms > h.start_ms OR (h.start_ms = r.end_ms AND NOT h.over)
  UNION ALL SELECT h.job, h.to_ms, -h.pods FROM held AS h JOIN job AS j ON j.id = h.job
  WHERE h.to_ms > h.start_ms AND h.to_ms < (SELECT end_ms FROM run)
),
s AS (SELECT job, at, sum(pods) OVER (PARTITION BY job ORDER BY at) AS pods FROM c)
SELECT s.job, min(s.at) AS at FROM s JOIN job AS j ON j.id = s.job WHERE s.pods = j.pods GROUP BY s.job;
INSERT INTO lasting(name, ms, ended)
SELECT 'wait_full', coalesce(g.at, CASE j.state WHEN 4 THEN j.end_ms ELSE r.end_ms END) - coalesce(h.eligible_ms, j.submit_ms), g.at IS NOT NULL
FROM job AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind LEFT JOIN grown AS g ON g.job = j.id LEFT JOIN hold AS h ON h.job = j.id
WHERE j.min_pods < j.pods AND j.state > 0 AND j.enter_ms >= r.window_start_ms AND k.name <> 'inference'
  AND (g.at IS NOT NULL OR j.state <> 3) AND j.id NOT IN (SELECT job FROM never);
INSERT INTO made
SELECT 'wait_full_mean_s', 'all', '', avg(CASE WHEN ended THEN ms END) / 1000.0, total(ended) FROM lasting WHERE name = 'wait_full'
GROUP BY name;

-- ---- quantiles of what lasted: Kaplan-Meier, one after the other ----
CREATE INDEX temp.lasting_group ON lasting(name, scope, label);
CREATE TEMP TABLE lasted AS
SELECT *, row_number() OVER (PARTITION BY name, scope, label ORDER BY ms, NOT ended) AS rank, count(*) OVER (PARTITION BY name, scope, label) AS n FROM lasting;
CREATE UNIQUE INDEX temp.lasted_rank ON lasted(name, scope, label, rank);
CREATE TEMP TABLE lasting_share AS
WITH RECURSIVE s(name, scope, label, rank, ms, ended, n, censored, alive) AS (
  SELECT name, scope, label, rank, ms, ended, n, NOT ended, CASE WHEN ended THEN 1.0 - 1.0 / n ELSE 1.0 END FROM lasted WHERE rank = 1
  UNION ALL
  SELECT m.name, m.scope, m.label, m.rank, m.ms, m.ended, m.n, s.censored OR NOT m.ended,
         CASE WHEN NOT m.ended THEN s.alive
              WHEN NOT s.censored THEN 1.0 - m.rank * 1.0 / m.n
              ELSE s.alive * (1.0 - 1.0 / (m.n - m.rank + 1)) END
  FROM s JOIN lasted AS m ON m.name = s.name AND m.scope = s.scope AND m.label = s.label AND m.rank = s.rank + 1
)
SELECT * FROM s WHERE ended;
INSERT INTO made
SELECT g.name || '_p' || q.column1 || '_s', g.scope, g.label,
       (SELECT min(s.ms) / 1000.0 FROM lasting_share AS s WHERE s.name = g.name AND s.scope = g.scope AND s.label = g.label
        AND CASE WHEN s.censored THEN s.alive <= 1.0 - q.column1 / 100.0 + 1e-9 ELSE s.rank * 100 >= q.column1 * s.n END),
       (SELECT count(*) FROM lasting AS l WHERE l.name = g.name AND l.scope = g.scope AND l.label = g.label)
FROM (SELECT 'jct' AS name, 0 AS least, 99 AS most, 'all' AS scope, '' AS label UNION ALL SELECT 'starvation', 99, 99, 'all', ''
      UNION SELECT 'jct', 0, 99, scope, label FROM jct_group
      UNION ALL SELECT 'batch', 0, 95, 'all', '' WHERE EXISTS (SELECT 1 FROM batch)
      UNION ALL SELECT 'lateness', 0, 95, 'all', '' WHERE EXISTS (SELECT 1 FROM due)
      UNION ALL SELECT 'wait_full', 0, 95, 'all', '' WHERE EXISTS (SELECT 1 FROM lasting WHERE name = 'wait_full')) AS g
CROSS JOIN (VALUES(50), (95), (99)) AS q WHERE q.column1 BETWEEN g.least AND g.most;

-- ---- what queues held of CPU and memory against their fair shares: as of GPUs above ----
-- Weights of queues without a quota or limit of the resource are not stored: 1 is supposed.
CREATE TEMP TABLE other AS
SELECT 'cpu' AS kind WHERE EXISTS (SELECT 1 FROM queue_bound WHERE resource = 'cpu' AND (quota >= 0 OR bound >= 0))
  AND NOT EXISTS (SELECT 1 FROM node WHERE cpu_milli IS NULL) AND EXISTS (SELECT 1 FROM ask WHERE cpu_milli > 0)
UNION ALL
SELECT 'memory' WHERE EXISTS (SELECT 1 FROM queue_bound WHERE resource = 'memory' AND (quota >= 0 OR bound >= 0))
  AND NOT EXISTS (SELECT 1 FROM node WHERE mem_bytes IS NULL) AND EXISTS (SELECT 1 FROM ask WHERE mem_bytes > 0);
CREATE TEMP TABLE other_owed AS
SELECT kind, queue, at_ms, quota, weight, top, lead(at_ms, 1, 9e18) OVER (PARTITION BY kind, queue ORDER BY at_ms) AS to_ms
FROM (SELECT o.kind, q.id AS queue, -9e18 AS at_ms, coalesce(b.quota, -1) AS quota, coalesce(b.weight, 1) AS weight, coalesce(b.bound, -1) AS top
      FROM other AS o CROSS JOIN queue AS q LEFT JOIN queue_bound AS b ON b.queue = q.id AND b.resource = o.kind AND b.at_ms IS NULL
      UNION ALL SELECT b.resource, b.queue, b.at_ms, b.quota, b.weight, b.bound FROM queue_bound AS b JOIN other AS o ON o.kind = b.resource
      WHERE b.rowid IN (SELECT max(rowid) FROM queue_bound WHERE at_ms IS NOT NULL GROUP BY resource, queue, at_ms));
CREATE TEMP TABLE other_change AS
WITH c(kind, at_ms, queue, alloc, pend) AS (
  SELECT o.kind, iif(x.nr = 0, h.start_ms, h.to_ms), j.queue, (1 - 2 * x.nr) * h.pods * iif(o.kind = 'cpu', a.cpu_milli, a.mem_bytes),
         (2 * x.nr - 1) * h.pods * iif(o.kind = 'cpu', a.cpu_milli, a.mem_bytes)
  FROM other AS o CROSS JOIN (SELECT 0 AS nr UNION SELECT 1) AS x CROSS JOIN held AS h JOIN job AS j ON j.id = h.job JOIN ask AS a ON a.shape = j.shape AND a.nr = h.ask
  UNION ALL
  SELECT o.kind, iif(x.nr = 0, l.from_ms, l.to_ms), l.queue, 0, (1 - 2 * x.nr) * a.pods * iif(o.kind = 'cpu', a.cpu_milli, a.mem_bytes)
  FROM other AS o CROSS JOIN (SELECT 0 AS nr UNION SELECT 1) AS x CROSS JOIN life AS l JOIN job AS j ON j.id = l.job JOIN ask AS a ON a.shape = j.shape
  WHERE l.job NOT IN (SELECT job FROM never)
)
SELECT c.kind, max(c.at_ms, r.window_start_ms) AS at_ms, c.queue, sum(alloc) AS alloc, sum(pend) AS pend
FROM c CROSS JOIN run AS r WHERE c.at_ms < r.window_end_ms GROUP BY 1, 2, 3;
CREATE UNIQUE INDEX temp.other_change_at ON other_change(kind, at_ms, queue);
CREATE TEMP TABLE other_instant AS
WITH t(kind, at_ms) AS (
  SELECT DISTINCT kind, at_ms FROM other_change UNION SELECT o.kind, r.window_start_ms FROM other AS o CROSS JOIN run AS r
  UNION SELECT o.kind, a.at_ms FROM (SELECT at_ms FROM queue_bound UNION SELECT from_ms FROM out UNION SELECT to_ms FROM out) AS a CROSS JOIN other AS o CROSS JOIN run AS r
  WHERE a.at_ms > r.window_start_ms AND a.at_ms < r.window_end_ms)
SELECT kind, at_ms, lead(at_ms, 1, (SELECT window_end_ms FROM run)) OVER (PARTITION BY kind ORDER BY at_ms) - at_ms AS dt FROM t;
CREATE TEMP TABLE other_moment AS
SELECT i.kind, i.at_ms, i.dt, q.id AS queue, q.parent, q.leaf, coalesce(l.shard, 0) AS shard, o.quota, o.weight, o.top,
       total(c.alloc) OVER w AS alloc, total(c.pend) OVER w AS pend, 0.0 AS demand, 0.0 AS share
FROM other_instant AS i CROSS JOIN queue AS q JOIN other_owed AS o ON o.kind = i.kind AND o.queue = q.id AND o.at_ms <= i.at_ms AND o.to_ms > i.at_ms
LEFT JOIN shard_queue AS l ON l.queue = q.id LEFT JOIN other_change AS c ON c.kind = i.kind AND c.at_ms = i.at_ms AND c.queue = q.id
WINDOW w AS (PARTITION BY i.kind, q.id ORDER BY i.at_ms);
CREATE UNIQUE INDEX temp.other_moment_at ON other_moment(kind, at_ms, queue);
CREATE INDEX temp.other_moment_parent ON other_moment(kind, parent, at_ms);
CREATE TEMP TRIGGER other_demand AFTER INSERT ON level BEGIN
  UPDATE other_moment SET demand = CASE WHEN leaf THEN alloc + pend
    ELSE (SELECT total(c.demand) FROM other_moment AS c WHERE c.kind = other_moment.kind AND c.parent = other_moment.queue AND c.at_ms = other_moment.at_ms) END
  WHERE queue IN (SELECT queue FROM depth WHERE depth = new.depth);
  UPDATE other_moment SET demand = min(demand, CASE WHEN top < 0 THEN demand ELSE top END)
  WHERE queue IN (SELECT queue FROM depth WHERE depth = new.depth);
END;
DROP TRIGGER share_of_level;
INSERT INTO level SELECT DISTINCT depth FROM depth ORDER BY depth DESC;
DROP TRIGGER other_demand;
CREATE TEMP TABLE other_part(kind, at_ms, queue, grp, amount, cap, weight);
CREATE INDEX temp.other_part_grp ON other_part(kind, at_ms, grp);
CREATE TEMP TABLE other_got(kind, at_ms, queue, share, PRIMARY KEY(kind, at_ms, queue)) WITHOUT ROWID;
CREATE TEMP VIEW other_filled AS
WITH o AS (
  SELECT *, total(cap) OVER before AS full, total(weight) OVER after AS weights
  FROM other_part WHERE weight > 0
  WINDOW before AS (PARTITION BY kind, at_ms, grp ORDER BY cap / weight, queue ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
         after AS (PARTITION BY kind, at_ms, grp ORDER BY cap / weight, queue ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),
l AS (SELECT *, (amount - full) / weights AS level FROM o),
m AS (SELECT kind, at_ms, grp, max(level) AS level FROM l WHERE level * weight < cap GROUP BY kind, at_ms, grp)
SELECT l.kind, l.at_ms, l.queue, CASE WHEN m.level IS NULL THEN l.cap ELSE min(l.cap, max(0.0, m.level) * l.weight) END AS share
FROM l LEFT JOIN m ON m.kind = l.kind AND m.at_ms = l.at_ms AND m.grp = l.grp;
CREATE TEMP TRIGGER other_share AFTER INSERT ON level BEGIN
  DELETE FROM other_part;
  DELETE FROM other_got;
  INSERT INTO other_part
  SELECT m.kind, m.at_ms, m.queue, coalesce(m.parent, -1 - m.shard),
         CASE WHEN m.parent IS NULL THEN (SELECT total(iif(m.kind = 'cpu', n.cpu_milli - n.foreign_cpu, n.mem_bytes - n.foreign_mem)) FROM node AS n JOIN shard_pool AS p ON p.pool = n.pool
              WHERE p.shard = m.shard AND NOT EXISTS (SELECT 1 FROM out AS a WHERE a.node = n.id AND a.from_ms <= m.at_ms AND a.to_ms > m.at_ms))
         ELSE (SELECT p.share FROM other_moment AS p WHERE p.kind = m.kind AND p.at_ms = m.at_ms AND p.queue = m.parent) END,
         min(m.demand, CASE WHEN m.quota < 0 THEN m.demand ELSE m.quota END), CASE WHEN m.quota < 0 THEN m.demand ELSE m.quota END
  FROM other_moment AS m JOIN depth AS d ON d.queue = m.queue WHERE d.depth = new.depth;
  INSERT INTO other_got SELECT kind, at_ms, queue, share FROM other_filled;
  UPDATE other_moment SET share = (SELECT g.share FROM other_got AS g WHERE g.kind = other_moment.kind AND g.at_ms = other_moment.at_ms AND g.queue = other_moment.queue)
  WHERE EXISTS (SELECT 1 FROM other_got AS g WHERE g.kind = other_moment.kind AND g.at_ms = other_moment.at_ms AND g.queue = other_moment.queue);
  UPDATE other_part SET
    amount = amount - (SELECT total(g.share) FROM other_part AS b JOIN other_got AS g ON g.kind = b.kind AND g.at_ms = b.at_ms AND g.queue = b.queue
                       WHERE b.kind = other_part.kind AND b.at_ms = other_part.at_ms AND b.grp = other_part.grp),
    cap = (SELECT m.demand - m.share FROM other_moment AS m WHERE m.kind = other_part.kind AND m.at_ms = other_part.at_ms AND m.queue = other_part.queue),
    weight = (SELECT m.weight FROM other_moment AS m WHERE m.kind = other_part.kind AND m.at_ms = other_part.at_ms AND m.queue = other_part.queue);
  DELETE FROM other_got;
  INSERT INTO other_got SELECT kind, at_ms, queue, share FROM other_filled;
  UPDATE other_moment SET share = share + (SELECT g.share FROM other_got AS g WHERE g.kind = other_moment.kind AND g.at_ms = other_moment.at_ms AND g.queue = other_moment.queue)
  WHERE EXISTS (SELECT 1 FROM other_got AS g WHERE g.kind = other_moment.kind AND g.at_ms = other_moment.at_ms AND g.queue = other_moment.queue);
END;
INSERT INTO level SELECT DISTINCT depth FROM depth ORDER BY depth;
CREATE TEMP TABLE other_calm AS SELECT kind, at_ms FROM other_moment GROUP BY kind, at_ms HAVING total(abs(pend)) = 0;
UPDATE other_moment SET share = alloc WHERE leaf AND EXISTS (SELECT 1 FROM other_calm AS c WHERE c.kind = other_moment.kind AND c.at_ms = other_moment.at_ms);
INSERT INTO made
SELECT iif(o.kind = 'cpu', 'cpu_share_deviation', 'mem_share_deviation'), w.scope, w.label,
       (SELECT total(abs(m.share - m.alloc) * m.dt) FROM other_moment AS m WHERE m.kind = o.kind AND m.leaf AND (w.shard IS NULL OR m.shard = w.shard)) /
         nullif(2 * (SELECT total(iif(o.kind = 'cpu', u.cpu, u.mem) * 1.0 * u.ms) FROM up_ms AS u JOIN node AS n ON n.id = u.node
                     JOIN shard_pool AS p ON p.pool = n.pool WHERE w.shard IS NULL OR p.shard = w.shard), 0), 1
FROM whole AS w CROSS JOIN other AS o;
-- Against the shares that the policy went by: as of GPUs.
CREATE TEMP TABLE own_other AS
WITH s AS (SELECT * FROM fair_share_of WHERE rowid IN (SELECT max(rowid) FROM fair_share_of GROUP BY resource, queue, at_ms)),
c(resource, queue, at, alloc) AS (
  SELECT k.resource, j.queue, iif(x.nr = 0, h.start_ms, h.to_ms), (1 - 2 * x.nr) * h.pods * iif(k.resource = 'cpu', a.cpu_milli, a.mem_bytes)
  FROM (SELECT DISTINCT resource FROM s) AS k CROSS JOIN (SELECT 0 AS nr UNION SELECT 1) AS x CROSS JOIN held AS h
  JOIN job AS j ON j.id = h.job JOIN ask AS a ON a.shape = j.shape AND a.nr = h.ask
  UNION ALL SELECT resource, queue, at_ms, 0 FROM s
),
i AS (SELECT resource, queue, at, sum(alloc) AS alloc FROM c WHERE (resource, queue) IN (SELECT resource, queue FROM s) GROUP BY 1, 2, 3),
o AS (SELECT resource, queue, at, lead(at, 1, (SELECT end_ms FROM run)) OVER w AS upto, sum(alloc) OVER w AS alloc,
             (SELECT t.amount FROM s AS t WHERE t.resource = i.resource AND t.queue = i.queue AND t.at_ms <= i.at ORDER BY t.at_ms DESC LIMIT 1) AS share
      FROM i WINDOW w AS (PARTITION BY resource, queue ORDER BY at))
SELECT o.resource, l.shard, total(abs(o.share - o.alloc) * max(0, min(o.upto, r.window_end_ms) - max(o.at, r.window_start_ms))) AS apart
FROM o CROSS JOIN run AS r JOIN leaf AS l ON l.queue = o.queue GROUP BY o.resource, o.queue;
INSERT INTO made
SELECT iif(o.resource = 'cpu', 'policy_cpu_share_deviation', 'policy_mem_share_deviation'), w.scope, w.label, sum(o.apart) / (2 * nullif(
         (SELECT total(iif(o.resource = 'cpu', u.cpu, u.mem) * 1.0 * u.ms) FROM up_ms AS u JOIN node AS n ON n.id = u.node JOIN shard_pool AS p ON p.pool = n.pool
          WHERE p.shard IN (SELECT x.shard FROM own_other AS x WHERE x.resource = o.resource) AND (w.shard IS NULL OR p.shard = w.shard)), 0)), count(*)
FROM whole AS w JOIN own_other AS o ON w.shard IS NULL OR o.shard = w.shard GROUP BY o.resource, w.scope, w.label;

-- ---- starts that hung on equal times ----
-- What each policy's order looks at: kai, static, drf and, in cells of virtual clusters, fifo serve queues apart, kai goes by whole seconds of submits.
CREATE TEMP TABLE rank_of AS
SELECT j.id AS job, CASE WHEN s.policy IN ('kai', 'kueue', 'static', 'drf') OR s.policy_params LIKE '%shares=queues%' OR (s.policy = 'fifo' AND s.policy_params LIKE '%placement=hived%') THEN 'queue ' || j.queue ELSE 'shard ' || s.id END AS line,
       CASE WHEN s.policy = 'kueue' OR iif(s.policy = 'kai', s.policy_params NOT LIKE '%plugins.priority.enabled=false%',
         s.policy_params LIKE '%order=priority%' OR (s.policy_params LIKE '%placement=hived%' AND s.policy_params LIKE '%opportunistic_below=%' AND s.policy_params NOT LIKE '%opportunistic_below=-2147483648%')) THEN j.priority ELSE 0 END AS priority,
       CASE WHEN s.policy_params LIKE '%order=predicted%' THEN max(1, j.mgpu) * j.estimate_ms
            WHEN s.policy IN ('srtf', 'themis') OR s.policy_params LIKE '%order=shortest%'
              OR (s.policy = 'gavel' AND (s.policy_params LIKE '%objective=makespan%' OR s.policy_params LIKE '%objective=finish-time-fairness%'))
            THEN iif(s.policy_params LIKE '%by=estimate%', j.estimate_ms, j.work_ms) ELSE 0 END AS length,
       CASE WHEN s.policy = 'edf' THEN coalesce((SELECT d.at_ms FROM deadline AS d WHERE d.job = j.id), -1) ELSE 0 END AS deadline,
       CASE WHEN s.policy IN ('kai', 'kueue', 'slurm') THEN j.submit_ms / 1000 ELSE coalesce(h.eligible_ms, j.submit_ms) END AS at,
       j.mgpu, coalesce(j.start_ms, 9e18) AS start_ms,
       j.enter_ms >= r.window_start_ms AND j.start_ms IS NOT NULL AND k.name <> 'inference' AS counts
FROM job AS j CROSS JOIN run AS r JOIN kind AS k ON k.id = j.kind JOIN leaf AS l ON l.queue = j.queue JOIN shard AS s ON s.id = l.shard
LEFT JOIN hold AS h ON h.job = j.id WHERE j.state IN (1, 2, 3) AND j.id NOT IN (SELECT job FROM never);
CREATE INDEX temp.rank_of_at ON rank_of(line, priority, length, deadline, at, job);
CREATE INDEX temp.held_left ON held(node, to_ms);
CREATE INDEX temp.held_began ON held(job, start_ms);
INSERT INTO made
SELECT 'tied_starts', 'all', '', total(EXISTS (SELECT 1 FROM rank_of AS b WHERE b.line = a.line AND b.priority = a.priority AND b.length = a.length AND b.deadline = a.deadline
         AND b.at = a.at AND b.job > a.job AND b.mgpu <= a.mgpu AND b.start_ms > a.start_ms)), count(*) FROM rank_of AS a WHERE counts;
INSERT INTO made
SELECT 'coincident_starts', 'all', '', total(j.start_ms = coalesce(x.eligible_ms, j.submit_ms) AND EXISTS (
         SELECT 1 FROM held AS h JOIN held AS g ON g.node = h.node AND g.to_ms = j.start_ms WHERE h.job = j.id AND h.start_ms = j.start_ms
         AND g.over AND g.job <> j.id AND g.to_ms > g.start_ms)), count(*)
FROM rank_of AS a JOIN job AS j ON j.id = a.job LEFT JOIN hold AS x ON x.job = j.id WHERE a.counts;

-- ---- the warm-up, where it was detected: MSER-5 over the series ----
CREATE TEMP TABLE settled AS
WITH b AS (
  SELECT (s.at_ms - r.begin_ms) / r.series_ms / 5 AS batch, sum(s.allocated_mgpu + s.pending_mgpu) / 5 AS y
  FROM series AS s CROSS JOIN run AS r
  WHERE s.at_ms + r.series_ms <= r.window_end_ms GROUP BY 1 HAVING count(DISTINCT s.at_ms) = 5
),
n AS (SELECT count(*) AS n FROM b),
m AS (SELECT d.batch, avg(b.y) AS mean, count(*) AS n FROM b AS d JOIN b ON b.batch >= d.batch GROUP BY d.batch),
e AS (SELECT m.batch, total((b.y - m.mean) * (b.y - m.mean)) / (m.n * m.n) AS error
      FROM m JOIN b ON b.batch >= m.batch CROSS JOIN n WHERE m.batch <= n.n / 2 GROUP BY m.batch)
SELECT CASE WHEN n.n >= 10 AND e.batch < n.n / 2 -- jobs that all come at once have no warm-up, but services: their window is the makespan
                 AND (EXISTS(SELECT 1 FROM metric AS m JOIN job AS j ON m.label = 'workload=' || j.name WHERE m.name = 'requests') OR (SELECT max(submit_ms) > r.begin_ms FROM job)) THEN r.begin_ms + e.batch * 5 * r.series_ms END AS at_ms
FROM e CROSS JOIN n CROSS JOIN run AS r -- of errors that are equal but for rounding the first
WHERE e.error <= (SELECT min(error) * (1 + 1e-9) + 1e-9 FROM e) ORDER BY e.batch LIMIT 1;

-- ---- the books, and the comparison ----
CREATE TEMP TABLE wrong AS
SELECT 'file' AS what, 'integrity' AS name, words AS made, 'ok' AS stored FROM unsound
UNION ALL
SELECT 'run' AS what, 'window_start_ms' AS name, coalesce(s.at_ms, 'none') AS made, CASE r.warmup WHEN 'detected' THEN r.window_start_ms ELSE 'none' END AS stored
FROM run AS r LEFT JOIN settled AS s WHERE r.warmup <> 'stated' AND made <> stored
UNION ALL
SELECT 'job ' || s.job AS what, 'held' AS name, sum((h.to_ms - h.start_ms) * h.mgpu) AS made, s.total AS stored
FROM spent AS s LEFT JOIN held AS h ON h.job = s.job GROUP BY s.job HAVING made IS NOT stored
UNION ALL
SELECT 'job ' || t.job, p.part, coalesce((SELECT sum(w.mgpu_ms) FROM main.waste AS w WHERE w.job = t.job AND w.part = p.part), 0) AS made,
  CASE p.part WHEN 'preempt' THEN t.preempt WHEN 'reclaim' THEN t.reclaim WHEN 'consolidate' THEN t.consolidate WHEN 'stale gang' THEN t.stale_gang
    WHEN 'node failure' THEN t.node_failure WHEN 'max runtime' THEN t.max_runtime WHEN 'maintenance' THEN t.maintenance WHEN 'pods not ready' THEN t.pods_not_ready
    WHEN 'checkpoint' THEN t.checkpoint WHEN 'restart' THEN t.restart ELSE t.waiting END AS stored
FROM job_time AS t CROSS JOIN (SELECT column1 AS part FROM (VALUES ('preempt'), ('reclaim'), ('consolidate'), ('stale gang'), ('node failure'),
  ('max runtime'), ('maintenance'), ('pods not ready'), ('checkpoint'), ('restart'), ('waiting'))) AS p WHERE made <> stored
UNION ALL
SELECT 'job ' || s.job, 'waste', coalesce((SELECT sum(w.mgpu_ms) FROM main.waste AS w WHERE w.job = s.job), 0) AS made, s.total - s.useful FROM spent AS s WHERE made <> s.total - s.useful
UNION ALL
SELECT 'job ' || t.job, u.part, coalesce((SELECT sum(w.mgpu_ms) FROM unused AS w WHERE w.job = t.job AND w.part = u.part), 0) AS made, CASE u.part WHEN 'slow' THEN t.slow ELSE t.idle END AS stored
FROM job_time AS t JOIN job AS j ON j.id = t.job JOIN kind AS k ON k.id = j.kind CROSS JOIN (SELECT 'slow' AS part UNION ALL SELECT 'idle') AS u
WHERE made <> stored AND NOT (k.name = 'interactive' AND u.part = 'idle')
UNION ALL
SELECT 'room at ' || m.at_ms, x.name, x.made, x.stored FROM room AS m LEFT JOIN span_room AS s ON s.nr = m.rowid
JOIN (SELECT 'idle_mgpu' AS name, r.rowid AS nr, s.idle / s.ms AS made, r.idle_mgpu AS stored FROM room AS r JOIN span_room AS s ON s.nr = r.rowid
      UNION ALL SELECT 'unusable_mgpu', r.rowid, s.unusable / s.ms, r.unusable_mgpu FROM room AS r JOIN span_room AS s ON s.nr = r.rowid) AS x ON x.nr = m.rowid
WHERE abs(x.made - x.stored) > 1e-9 * abs(x.stored) + 1e-6
UNION ALL
SELECT 'series at ' || at_ms || ' of queue ' || queue, 'policy_share_mgpu', made, stored FROM own_bucket
WHERE (made IS NULL) <> (stored IS NULL) OR abs(made - stored) > 1e-9 * abs(stored) + 1e-6
UNION ALL
SELECT 'series at ' || at_ms || ' of queue ' || queue, name, made, stored FROM (
  SELECT b.at_ms, b.queue, 'allocated_mgpu' AS name, coalesce(c.alloc, 0) AS made, b.allocated_mgpu AS stored FROM bucket AS b LEFT JOIN course_bucket AS c USING (nr)
  UNION ALL SELECT b.at_ms, b.queue, 'pending_mgpu', coalesce(c.pend, 0), b.pending_mgpu FROM bucket AS b LEFT JOIN course_bucket AS c USING (nr)
  UNION ALL SELECT b.at_ms, b.queue, 'pending_jobs', coalesce(c.jobs, 0), b.pending_jobs FROM bucket AS b LEFT JOIN course_bucket AS c USING (nr)
  UNION ALL SELECT b.at_ms, b.queue, 'share_mgpu', s.share, b.share_mgpu FROM bucket AS b JOIN share_bucket AS s USING (nr))
WHERE abs(made - stored) > 1e-9 * abs(stored) + 1e-6
UNION ALL
SELECT 'eviction ' || nr, 'used', made, used FROM room_used -- of graces that outlast the run the places that left are not known
WHERE gone_ms <= end_ms AND made <> used
   OR used IS NULL AND (next_ms IS NOT NULL OR status = 'finished' OR state >= 3)
   OR used IS NOT NULL AND next_ms IS NULL AND status <> 'finished' AND state < 3 AND gone_ms > end_ms
UNION ALL
SELECT 'startable at ' || m.at_ms, m.level, s.gpus / s.ms, m.mean_gpus
FROM startable AS m LEFT JOIN span_level AS s ON s.at = m.at_ms AND s.nr > 0 AND s.level = m.level
WHERE s.level IS NULL OR abs(s.gpus / s.ms - m.mean_gpus) > 1e-9 * m.mean_gpus + 1e-9 OR s.least <> m.least_gpus
UNION ALL
SELECT m.scope || ' ' || m.label, m.name, x.value, m.value
FROM metric AS m LEFT JOIN made AS x USING (name, scope, label)
WHERE m.scope <> 'workload' AND m.name NOT IN ('broken_promises', 'promise_delay_max_s')
  AND m.name NOT IN ('scenarios_simulated', 'scheduler_busy', 'scheduler_busy_s', 'cycle_max_s', 'cycles_behind', 'cycle_delay_max_s', 'decision_delay_max_s')
  AND (x.name IS NULL OR (x.value IS NULL) <> (m.value IS NULL)
       OR abs(x.value - m.value) > CASE WHEN m.unit IN ('jobs', 'evictions') THEN 0 ELSE 1e-9 * abs(m.value) + CASE m.name WHEN 'share_mean' THEN 1e-12 ELSE 1e-15 END END) -- a share is what sums of thousands of GPUs leave
UNION ALL
SELECT x.scope || ' ' || x.label, x.name || ' is not stored', x.value, NULL
FROM made AS x LEFT JOIN metric AS m USING (name, scope, label) WHERE m.name IS NULL
UNION ALL
SELECT m.scope || ' ' || m.label, m.name || ' n', x.n, m.n FROM metric AS m JOIN made AS x USING (name, scope, label)
WHERE m.n <> x.n;
-- Under kai: who did not start, and whose gang of equal pods at any time from its coming on was more GPUs than a
-- limit of its queue or, with full_hierarchy_fairness, one above (or, not preemptible, a quota), and nobody else, is
-- barred so. What the scenario lists after the end of the run may lift a bar too, and is no queue_change: where it
-- sets queues and the run was cut short, nobody is said to be barred for good. Of jobs that were held back, what the
-- run made of `after` and `eligible_s` together is known, and only the second counts: at any time from the submit on
-- (`sure`), or from when it was considered (its last time at the latest), never before the run begins.
CREATE TEMP TABLE barred AS
WITH c AS (
  SELECT j.*, h.job IS NOT NULL AND h.eligible_ms IS NULL AS held, max(j.submit_ms, r.begin_ms) AS early_ms,
         max(coalesce(h.eligible_ms, CASE WHEN h.job IS NULL THEN j.submit_ms ELSE r.end_ms END), r.begin_ms) AS late_ms
  FROM job AS j CROSS JOIN run AS r LEFT JOIN hold AS h ON h.job = j.id WHERE j.submit_ms <= r.end_ms
),
j AS (
  SELECT f.column1 AS sure, j.id AS job, j.queue, CASE f.column1 WHEN 1 THEN j.early_ms ELSE j.late_ms END AS from_ms, j.min_pods * (a.gpus * a.gpu_mgpu + a.mig_mgpu) AS gang,
         j.id IN (SELECT job FROM non_preemptible) AS fast, s.policy_params LIKE '%full_hierarchy_fairness=true%' AS full
  FROM c AS j CROSS JOIN (VALUES (0), (1)) AS f JOIN ask AS a ON a.shape = j.shape JOIN leaf AS l ON l.queue = j.queue JOIN shard AS s ON s.id = l.shard
  WHERE j.start_ms IS NULL AND (j.held OR j.state IN (1, 4)) AND s.policy = 'kai' AND s.policy_params LIKE '%plugins.proportion.enabled=true%'
    AND a.gpu_mgpu IS NOT NULL AND (SELECT count(*) FROM ask AS b WHERE b.shape = j.shape) = 1
)
SELECT * FROM j WHERE NOT EXISTS (
  SELECT 1 FROM (SELECT j.from_ms AS at UNION SELECT at_ms FROM queue_change WHERE at_ms > j.from_ms) AS t
  WHERE NOT EXISTS (SELECT 1 FROM above AS u JOIN owed AS o ON o.queue = u.above AND o.at_ms <= t.at AND o.to_ms > t.at
                    WHERE u.queue = j.queue AND (j.full OR u.above = j.queue) AND ((o.top >= 0 AND j.gang > o.top * 1000) OR (j.fast AND o.quota >= 0 AND j.gang > o.quota * 1000))));
INSERT INTO wrong
SELECT 'job ' || b.job, 'never', 'barred', 'could start' FROM barred AS b WHERE b.sure AND b.job NOT IN (SELECT job FROM never)
  AND NOT EXISTS (SELECT 1 FROM run WHERE status <> 'finished' AND replace(scenario_resolved, '"', '') LIKE '%' || char(10) || '      queues.%')
UNION ALL
SELECT 'job ' || n.job, 'never', 'could start', 'barred' FROM never AS n JOIN job AS j ON j.id = n.job JOIN leaf AS l ON l.queue = j.queue JOIN shard AS s ON s.id = l.shard
WHERE s.policy = 'kai' AND n.resource = 'gpu' AND n.job NOT IN (SELECT job FROM barred) AND NOT EXISTS (SELECT 1 FROM away) -- or nodes left first, or never were
  AND NOT EXISTS (SELECT 1 FROM run WHERE scenario_resolved LIKE '%keep_impossible: true%')
  AND j.shape IN (SELECT shape FROM ask GROUP BY shape HAVING count(*) = 1);
-- The views read quantiles off the same curves: of all, of a kind, of a queue whose jobs are of one kind.
CREATE TEMP TABLE curve AS SELECT * FROM v_wait_cdf;
INSERT INTO wrong
SELECT 'v_wait_cdf ' || m.scope || ' ' || m.label, m.name,
       (SELECT min(c.wait_s) FROM curve AS c WHERE c.scope = m.scope AND c.label = substr(m.label, 6) AND c.share >= q.column2 - 1e-9) AS made,
       m.value
FROM metric AS m JOIN (VALUES('wait_p50_s', 0.5), ('wait_p95_s', 0.95), ('wait_p99_s', 0.99)) AS q ON q.column1 = m.name
WHERE m.scope IN ('all', 'kind') AND made IS NOT m.value
UNION ALL
SELECT 'v_queues ' || v.queue, x.name, x.made, m.value
FROM v_queues AS v
JOIN (SELECT queue, 'wait_p50_s' AS name, wait_p50_s AS made FROM v_queues UNION ALL SELECT queue, 'wait_p95_s', wait_p95_s FROM v_queues
      UNION ALL SELECT queue, 'wait_p99_s', wait_p99_s FROM v_queues UNION ALL SELECT queue, 'wait_max_s', wait_max_s FROM v_queues) AS x ON x.queue = v.queue
JOIN metric AS m ON m.scope = 'queue' AND m.name = x.name AND m.label = 'queue=' || v.queue || ',kind=' ||
     (SELECT min(k.name) FROM waiter AS w JOIN queue AS q ON q.id = w.queue JOIN kind AS k ON k.id = w.kind
      WHERE q.name = v.queue GROUP BY q.id HAVING count(DISTINCT k.name) = 1 AND min(k.name) <> 'inference')
WHERE x.made IS NOT m.value;
SELECT what, name, 'made ' || coalesce(made, 'nothing'), 'stored ' || coalesce(stored, 'nothing') FROM wrong ORDER BY 1, 2;
SELECT count(*) || ' compared, ' || (SELECT count(*) FROM wrong) || ' differ' FROM metric WHERE scope <> 'workload';
