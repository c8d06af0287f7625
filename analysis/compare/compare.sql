-- SPDX-License-Identifier: GPL-3.0-or-later
-- What a comparison asks of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: metrics
SELECT name, scope, label, unit, value, at_least
FROM metric
ORDER BY rowid;

-- name: run
-- Services end nowhere but at the horizon: a run that has some is cut there, though no job was left and it is finished.
SELECT policy, scenario_resolved, seed, window_start_ms, window_end_ms, digest, end_ms - begin_ms,
  status = 'interrupted', status <> 'finished' OR EXISTS (SELECT 1 FROM metric WHERE name = 'requests')
FROM run;

-- name: unstarted
SELECT value, n
FROM metric
WHERE name = 'unstarted' AND scope = 'all';

-- name: never
SELECT value
FROM metric
WHERE name = 'never_startable' AND scope = 'all';

-- name: metric
SELECT value, at_least
FROM metric
WHERE name = ?1 AND scope = ?2 AND label = ?3;

-- name: ends
SELECT j.name, j.end_ms - j.submit_ms, j.submit_ms
FROM job AS j
CROSS JOIN run AS r
WHERE j.state = 3 AND j.enter_ms >= r.window_start_ms AND j.end_ms > j.submit_ms
  AND j.kind NOT IN (SELECT id FROM kind WHERE name = 'inference')
ORDER BY j.id;

-- Samples: when a job was submitted, a value, and whether that is known in full.

-- piece: of_jobs
-- and whose job it is
, q.name, k.name, j.mgpu
FROM job AS j
LEFT JOIN queue AS q ON q.id = j.queue
LEFT JOIN kind AS k ON k.id = j.kind
JOIN v_waits AS w ON w.job = j.id
CROSS JOIN run AS r
WHERE j.state > 0 AND NOT w.never AND j.kind NOT IN (SELECT id FROM kind WHERE name = 'inference')

-- name: waits
SELECT j.submit_ms, (coalesce(j.start_ms, CASE j.state WHEN 4 THEN j.end_ms END, r.end_ms) - w.from_ms) / 1000.0,
  j.start_ms IS NOT NULL
-- use: of_jobs
;

-- name: times
SELECT j.submit_ms, (j.end_ms - j.submit_ms) / 1000.0, j.state = 3
-- use: of_jobs
;

-- name: slowdowns
SELECT j.submit_ms, max(1.0, (j.end_ms - j.submit_ms) * 1.0 / max(j.work_ms, 10000)), j.state = 3
-- use: of_jobs
;
