-- SPDX-License-Identifier: GPL-3.0-or-later
-- What several kinds of answers ask of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: leaf_queues
SELECT q.id, q.display_name, q.gpu_quota * 1000, coalesce(s.shard, -1), q.name
FROM queue AS q
LEFT JOIN shard_queue AS s ON s.queue = q.id
WHERE q.leaf
ORDER BY q.id;

-- name: course
-- Changes of queues in order, with their names: SQLite would look for the name of each change in all
-- queues. what: 0 held, 1 waited for, 2 quota.
SELECT at_ms AS at_ms, queue, 0 AS what, allocated_mgpu FROM v_allocation
UNION ALL
SELECT at_ms, queue, 1, pending_mgpu FROM v_queue_depth
UNION ALL
SELECT o.from_ms, q.name, 2, o.gpu_quota * 1000 FROM v_owed AS o JOIN queue AS q ON q.id = o.queue
ORDER BY at_ms, what DESC;

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
