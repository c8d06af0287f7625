-- SPDX-License-Identifier: GPL-3.0-or-later
-- What several kinds of answers ask of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: leaf_queues
SELECT q.id, q.display_name, q.gpu_quota * 1000, coalesce(s.shard, -1), q.name
FROM queue AS q
LEFT JOIN shard_queue AS s ON s.queue = q.id
WHERE q.leaf
ORDER BY q.id;

-- name: course
-- Changes in order of time: by how much more a queue (none: the cluster) holds, waits for, is up; or its quota from then on.
-- While a job is there it asks for all its pods, or those it wants, and waits for what it does not hold of them, as the
-- metrics count it. never: of a job that never could have started. Placements are in rounds longer than their jobs.
WITH l AS (SELECT job, max(coalesce(end_ms, 9e18)) AS to_ms FROM placement GROUP BY job),
  w AS (
    SELECT job, at_ms, mgpu, mgpu - lag(mgpu, 1, 0) OVER (PARTITION BY job ORDER BY rowid) AS more,
      row_number() OVER (PARTITION BY job ORDER BY rowid DESC) = 1 AS is_last
    FROM wanted),
  j AS (
    SELECT j.id AS id, j.queue AS queue, j.mgpu AS mgpu, j.shape AS shape, coalesce(h.eligible_ms, j.submit_ms) AS from_ms,
      CASE WHEN j.state >= 3 THEN max(j.end_ms, coalesce(l.to_ms, 0)) END AS over_ms, j.end_ms AS end_ms,
      CASE WHEN j.node IS NOT NULL AND j.start_ms IS NOT NULL THEN j.last_start_ms END AS alone_ms, -- its last place is here
      n.job IS NOT NULL AS never, j.id IN (SELECT job FROM wanted) AS varies
    FROM job AS j
    LEFT JOIN hold AS h ON h.job = j.id
    LEFT JOIN never AS n ON n.job = j.id
    LEFT JOIN l ON l.job = j.id
    WHERE j.state > 0 AND (j.mgpu > 0 OR l.job IS NOT NULL)), -- jobs that ask GPU memory have mgpu 0, and hold some
  p AS (
    SELECT j.queue AS queue, p.start_ms AS start_ms, p.end_ms AS end_ms, p.nodes * p.mgpu AS mgpu, j.never AS never,
      p.nodes * p.pods * (a.gpus * coalesce(a.gpu_mgpu, 0) + a.mig_mgpu) AS asked -- memory of devices is asked of no size
    FROM placement AS p
    JOIN j ON j.id = p.job
    JOIN ask AS a ON a.shape = j.shape AND a.nr = p.ask),
  c(at_ms, queue, held, waits, never, up, quota) AS (
    SELECT from_ms, queue, 0, mgpu, never, 0, NULL FROM j WHERE NOT varies
    UNION ALL SELECT over_ms, queue, 0, -mgpu, never, 0, NULL FROM j WHERE NOT varies
    UNION ALL SELECT w.at_ms, j.queue, 0, w.more, j.never, 0, NULL FROM w JOIN j ON j.id = w.job
    UNION ALL SELECT j.over_ms, j.queue, 0, -w.mgpu, j.never, 0, NULL FROM w JOIN j ON j.id = w.job WHERE w.is_last
    UNION ALL SELECT alone_ms, queue, mgpu, -mgpu, never, 0, NULL FROM j WHERE alone_ms IS NOT NULL
    UNION ALL SELECT end_ms, queue, -mgpu, mgpu, never, 0, NULL FROM j WHERE alone_ms IS NOT NULL
    UNION ALL SELECT start_ms, queue, mgpu, -asked, never, 0, NULL FROM p
    UNION ALL SELECT end_ms, queue, -mgpu, asked, never, 0, NULL FROM p
    UNION ALL SELECT from_ms, queue, 0, 0, 0, 0, gpu_quota * 1000 FROM v_owed
    UNION ALL SELECT -9e15, NULL, 0, 0, 0, capacity_mgpu, NULL FROM run
    UNION ALL SELECT o.from_ms, NULL, 0, 0, 0, -o.mgpu, NULL FROM o
    UNION ALL SELECT o.to_ms, NULL, 0, 0, 0, o.mgpu, NULL FROM o),
  o AS (
    SELECT o.from_ms AS from_ms, o.to_ms AS to_ms, 1000 * n.gpus AS mgpu
    FROM (SELECT * FROM outage UNION ALL SELECT * FROM away) AS o
    JOIN v_job_gpus AS n ON n.node = o.node)
SELECT at_ms, queue, held, waits, never, up, quota
FROM c
WHERE at_ms < 9e18 AND (held <> 0 OR waits <> 0 OR up <> 0 OR quota IS NOT NULL)
ORDER BY at_ms;

-- name: cut
SELECT end_ms - begin_ms
FROM run
WHERE status = 'interrupted';

-- name: display_names
SELECT name, display_name
FROM queue;

-- name: origin
SELECT clock_origin_ms
FROM run;

-- What makes a file one of results.

-- name: views
SELECT name
FROM sqlite_schema
WHERE type = 'view' AND name NOT LIKE 'v\_%' ESCAPE '\';

-- name: queues_before_parents
SELECT name
FROM queue
WHERE parent >= id;

-- name: runs
SELECT count(*)
FROM run;

-- name: queue_count
SELECT count(*)
FROM queue;

-- A merged sweep: a point of it under the names that a results file has.

-- name: is_merged
SELECT count(*)
FROM main.sqlite_schema
WHERE type = 'table' AND name = 'point_metric';

-- name: merged_version
SELECT results_schema
FROM sweep;

-- name: merged_count
SELECT count(*)
FROM point_run;

-- name: merged_axes
SELECT group_concat(name, ', ')
FROM (SELECT name FROM sweep_axis ORDER BY id);

-- name: merged_points
SELECT p.id, p.arm, a.label
FROM sweep_point AS p
JOIN sweep_arm AS a ON a.id = p.arm
JOIN point_run AS r ON r.point = p.id
ORDER BY p.id;

-- name: shown
CREATE TEMP TABLE shown AS
SELECT ?1 AS point;

-- name: point_run
-- begin_ms is not kept: next to 0, the clock's
CREATE TEMP VIEW run AS
SELECT r.policy, a.scenario AS scenario_resolved, p.seed, r.digest, r.window_start_ms, r.window_end_ms, r.end_ms,
  r.capacity_mgpu, r.status, 0 AS begin_ms
FROM shown AS s
JOIN point_run AS r ON r.point = s.point
JOIN sweep_point AS p ON p.id = r.point
JOIN sweep_arm AS a ON a.id = p.arm;

-- name: point_metric
CREATE TEMP VIEW metric AS
SELECT m.name, m.scope, m.label, m.value, m.unit, m.n, m.better, m.at_least, m.rowid AS rowid
FROM shown AS s
JOIN point_metric AS m ON m.point = s.point;

-- name: point_node
-- one, as large as all
CREATE TEMP VIEW node AS
SELECT capacity_mgpu / 1000 AS gpus
FROM run;

-- name: point_queue
-- those of which people read another name
CREATE TEMP VIEW queue AS
SELECT q.name, q.display_name
FROM shown AS s
JOIN point_queue AS q ON q.point = s.point;
