-- SPDX-License-Identifier: GPL-3.0-or-later
-- What a calibration asks of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: waits
SELECT coalesce(q.name, ''), k.name, t.start_ms - w.from_ms, w.wait_ms
FROM recorded AS t
JOIN v_waits AS w ON w.job = t.job
LEFT JOIN queue AS q ON q.id = w.queue
JOIN kind AS k ON k.id = w.kind
CROSS JOIN run AS r
WHERE w.wait_ms IS NOT NULL AND w.submit_ms >= r.window_start_ms
ORDER BY 1, 2;

-- name: window_start
SELECT window_start_ms FROM run;

-- name: window_end
SELECT window_end_ms FROM run;

-- name: capacity
SELECT capacity_mgpu FROM run;

-- name: busy
WITH truth AS (
  SELECT t.start_ms, t.end_ms, j.mgpu
  FROM recorded AS t
  JOIN job AS j ON j.id = t.job
  WHERE t.end_ms IS NOT NULL),
  mine AS (
    SELECT p.start_ms, coalesce(p.end_ms, 9e18) AS end_ms, p.mgpu
    FROM v_placements AS p
    JOIN recorded AS t ON t.job = p.job
    WHERE t.end_ms IS NOT NULL)
SELECT start_ms AS at_ms, mgpu, 1
FROM truth
UNION ALL
SELECT end_ms, -mgpu, 1
FROM truth
UNION ALL
SELECT start_ms, mgpu, 0
FROM mine
UNION ALL
SELECT end_ms, -mgpu, 0
FROM mine
ORDER BY at_ms;

-- name: never_started
SELECT count(*) FROM recorded AS t JOIN job AS j ON j.id = t.job WHERE j.start_ms IS NULL;
