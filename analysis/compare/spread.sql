-- SPDX-License-Identifier: GPL-3.0-or-later
-- What the spread over replicas asks of a merged sweep; ../sql/named_sql.cmake makes each a C string.

-- name: counts
SELECT (SELECT count(*) FROM sweep_arm), (SELECT count(*) FROM sweep_axis), (SELECT count(*) FROM point_run),
  (SELECT name FROM sweep);

-- name: axes
SELECT name
FROM sweep_axis
ORDER BY id;

-- name: arms
SELECT a.id, a.label, count(r.point), coalesce(min(p.seed), 0), coalesce(max(p.seed), 0), coalesce(min(r.policy), ''),
  count(DISTINCT r.digest)
FROM sweep_arm AS a
LEFT JOIN sweep_point AS p ON p.arm = a.id
LEFT JOIN point_run AS r ON r.point = p.id
GROUP BY a.id
ORDER BY a.id;

-- name: values
SELECT axis, value
FROM sweep_value
WHERE arm = ?1
ORDER BY axis;

-- name: metrics
-- in the order in which metrics are stored, the replicas of a setting beside each other
WITH first AS (
  SELECT name, label, min(rowid) AS nr
  FROM point_metric
  WHERE scope = ?1
  GROUP BY name, label
)
SELECT m.name, m.label, p.arm, m.unit, m.value, m.at_least
FROM point_metric AS m
JOIN sweep_point AS p ON p.id = m.point
JOIN first AS f ON f.name = m.name AND f.label = m.label
WHERE m.scope = ?1
ORDER BY f.nr, p.arm, p.id;

-- name: expects
SELECT p.arm, e.text, sum(e.holds IS 1), sum(e.holds IS 0), sum(e.holds IS NULL)
FROM point_expectation AS e
JOIN sweep_point AS p ON p.id = e.point
GROUP BY p.arm, e.nr, e.text
ORDER BY p.arm, e.nr;
