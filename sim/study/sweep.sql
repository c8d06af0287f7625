-- SPDX-License-Identifier: GPL-3.0-or-later
-- What sweeps write and read of their plans, and read of results; ../../analysis/sql/named_sql.cmake makes each a C string.

-- name: add_sweep
INSERT INTO sweep
VALUES(1,?1,?2,?3,?4,?5,?6,?7,?8,?9);

-- name: add_input
INSERT OR IGNORE INTO sweep_input
VALUES(?1,?2);

-- name: add_axis
INSERT INTO sweep_axis
VALUES(?1,?2);

-- name: add_arm
INSERT INTO sweep_arm
VALUES(?1,?2,?3);

-- name: add_value
INSERT INTO sweep_value
VALUES(?1,?2,?3);

-- name: add_point
INSERT INTO sweep_point
VALUES(?1,?2,?3,?4);

-- name: twins
-- two points that are one run: their keys are equal
SELECT a.id, b.id, x.label, y.label
FROM sweep_point AS a
JOIN sweep_point AS b ON b.key = a.key AND b.id > a.id
JOIN sweep_arm AS x ON x.id = a.arm
JOIN sweep_arm AS y ON y.id = b.arm
ORDER BY a.id
LIMIT 1;

-- name: sweep
SELECT name, orrery_version, results_schema, folder, folder_way, points, arms, time_ms, memory_bytes
FROM sweep;

-- name: inputs
SELECT path, sha256
FROM sweep_input
ORDER BY path;

-- name: points
SELECT p.id, p.key, p.arm, p.seed, a.label
FROM sweep_point AS p
JOIN sweep_arm AS a ON a.id = p.arm
ORDER BY p.id;

-- name: arms
SELECT id, scenario
FROM sweep_arm
ORDER BY id;

-- name: axes
SELECT id, name
FROM sweep_axis
ORDER BY id;

-- name: result
SELECT status, policy, digest, window_start_ms, window_end_ms, end_ms, capacity_mgpu, seed, scenario_resolved,
  orrery_version
FROM run;

-- name: metrics
SELECT name, scope, label, value, unit, n, better, at_least
FROM metric
ORDER BY rowid;

-- name: display_names
SELECT name, display_name
FROM queue
WHERE display_name <> name
ORDER BY id;

-- name: expectations
SELECT nr, text, value, holds
FROM expectation
ORDER BY nr;

-- name: add_run
INSERT INTO point_run
VALUES(?1,?2,?3,?4,?5,?6,?7,?8);

-- name: add_metric
INSERT INTO point_metric
VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9);

-- name: add_queue
INSERT INTO point_queue
VALUES(?1,?2,?3);

-- name: add_expectation
INSERT INTO point_expectation
VALUES(?1,?2,?3,?4,?5);

-- name: add_hole
INSERT INTO point_hole
VALUES(?1,?2);
