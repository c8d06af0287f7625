-- SPDX-License-Identifier: GPL-3.0-or-later
-- What sweeps write and read of their plans, and read of results; ../../analysis/sql/named_sql.cmake makes each a C string.

-- name: add_sweep
INSERT INTO sweep
VALUES(1,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10);

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
SELECT name, orrery_version, results_schema, folder, folder_way, points, arms, time_ms, memory_bytes,
  allow_loss_ppm
FROM sweep;

-- name: inputs
SELECT path, sha256
FROM sweep_input
ORDER BY path;

-- name: planned_sum
SELECT sha256
FROM sweep_input
WHERE path = ?1;

-- name: points
SELECT p.id, p.key, p.arm, p.seed, a.label
FROM sweep_point AS p
JOIN sweep_arm AS a ON a.id = p.arm
ORDER BY p.id;

-- name: arms
SELECT id, scenario
FROM sweep_arm
ORDER BY id;

-- name: result
SELECT status, policy, digest, window_start_ms, window_end_ms, end_ms, capacity_mgpu, seed, scenario_resolved,
  orrery_version
FROM run;

-- name: inputs_of_result
SELECT path, sha256
FROM input
ORDER BY rowid;

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

-- Of a merge: the rows of the plan, as they are, into tables of the same names.

-- name: read_sweep
SELECT * FROM sweep ORDER BY rowid;

-- name: copy_sweep
INSERT INTO sweep VALUES(?,?,?,?,?,?,?,?,?,?,?);

-- name: read_sweep_input
SELECT * FROM sweep_input ORDER BY rowid;

-- name: copy_sweep_input
INSERT INTO sweep_input VALUES(?,?);

-- name: read_sweep_axis
SELECT * FROM sweep_axis ORDER BY rowid;

-- name: copy_sweep_axis
INSERT INTO sweep_axis VALUES(?,?);

-- name: read_sweep_arm
SELECT * FROM sweep_arm ORDER BY rowid;

-- name: copy_sweep_arm
INSERT INTO sweep_arm VALUES(?,?,?);

-- name: read_sweep_value
SELECT * FROM sweep_value ORDER BY rowid;

-- name: copy_sweep_value
INSERT INTO sweep_value VALUES(?,?,?);

-- name: read_sweep_point
SELECT * FROM sweep_point ORDER BY rowid;

-- name: copy_sweep_point
INSERT INTO sweep_point VALUES(?,?,?,?);

-- name: make_points_view
-- makes the statement of a view with a column for each axis, which no stored query can have; names of the other columns are
-- none of an axis (../scenario/sweep_spec.c)
SELECT 'CREATE VIEW v_points AS SELECT p.id AS point, p.key AS key, p.seed AS seed, a.label AS arm'
  || coalesce((SELECT group_concat(axis, '') FROM
       (SELECT printf(', (SELECT value FROM sweep_value AS v WHERE v.arm = p.arm AND v.axis = %d) AS "%w"', id, name) AS axis
        FROM sweep_axis ORDER BY id)), '')
  || ' FROM sweep_point AS p JOIN sweep_arm AS a ON a.id = p.arm';

-- name: metrics_view
CREATE VIEW v_metrics AS
SELECT p.*, m.name AS metric, m.scope AS scope, m.label AS label, m.value AS value, m.unit AS unit, m.n AS n,
       m.better AS better, m.at_least AS at_least
FROM point_metric AS m JOIN v_points AS p ON p.point = m.point;
