-- SPDX-License-Identifier: GPL-3.0-or-later
-- Where two runs part, `main` and the attached `base`; ../sql/named_sql.cmake makes each query a C string.

-- One row a thing done, in words that can be compared. Jobs and nodes by name: ids may differ.
-- piece: deeds_main
SELECT p.start_ms AS at_ms, 1 AS turn, j.name AS job,
  'starts on ' || n.name || ' with ' || printf('%g', p.mgpu / 1000.0) || CASE p.mgpu WHEN 1000 THEN ' GPU' ELSE ' GPUs' END AS deed, p.devices AS devices
FROM main.v_placements AS p
JOIN main.job AS j ON j.id = p.job
JOIN main.node AS n ON n.id = p.node
UNION ALL
SELECT a.end_ms, 0, j.name, 'is evicted: ' || a.cause, NULL
FROM main.attempt AS a
JOIN main.job AS j ON j.id = a.job
UNION ALL
SELECT j.end_ms, 2, j.name, 'ends', NULL
FROM main.job AS j
WHERE j.end_ms IS NOT NULL

-- piece: deeds_base
SELECT p.start_ms AS at_ms, 1 AS turn, j.name AS job,
  'starts on ' || n.name || ' with ' || printf('%g', p.mgpu / 1000.0) || CASE p.mgpu WHEN 1000 THEN ' GPU' ELSE ' GPUs' END AS deed, p.devices AS devices
FROM base.v_placements AS p
JOIN base.job AS j ON j.id = p.job
JOIN base.node AS n ON n.id = p.node
UNION ALL
SELECT a.end_ms, 0, j.name, 'is evicted: ' || a.cause, NULL
FROM base.attempt AS a
JOIN base.job AS j ON j.id = a.job
UNION ALL
SELECT j.end_ms, 2, j.name, 'ends', NULL
FROM base.job AS j
WHERE j.end_ms IS NOT NULL

-- name: only
-- What one has and the other has not, the earliest first. EXCEPT binds no closer than UNION: each list of deeds is a
-- select of its own.
SELECT at_ms, job, deed, which, devices
FROM (
  SELECT *, 0 AS which
  FROM (
    SELECT * FROM (
-- use: deeds_main
    ) EXCEPT SELECT * FROM (
-- use: deeds_base
    ))
  UNION ALL
  SELECT *, 1
  FROM (
    SELECT * FROM (
-- use: deeds_base
    ) EXCEPT SELECT * FROM (
-- use: deeds_main
    )))
ORDER BY at_ms, turn, job, which
LIMIT 1;

-- name: why
SELECT i.words
FROM main.v_reason_intervals AS i
JOIN main.job AS j ON j.id = i.job
WHERE j.name = ?1 AND i.from_ms <= ?2 AND i.to_ms > ?2;

-- name: why_base
SELECT i.words
FROM base.v_reason_intervals AS i
JOIN base.job AS j ON j.id = i.job
WHERE j.name = ?1 AND i.from_ms <= ?2 AND i.to_ms > ?2;

-- name: same_inputs
SELECT NOT EXISTS (SELECT sha256 FROM main.input EXCEPT SELECT sha256 FROM base.input)
  AND NOT EXISTS (SELECT sha256 FROM base.input EXCEPT SELECT sha256 FROM main.input);

-- name: cut
-- where the first of them was interrupted, and which; NULL: neither was
SELECT min(end_ms), which
FROM (
  SELECT end_ms, 0 AS which
  FROM main.run
  WHERE status = 'interrupted'
  UNION ALL
  SELECT end_ms, 1
  FROM base.run
  WHERE status = 'interrupted');

-- name: same_digest
SELECT m.digest = b.digest
FROM main.run AS m, base.run AS b;
