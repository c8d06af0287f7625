-- SPDX-License-Identifier: GPL-3.0-or-later
-- What a calibration asks of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: waits
SELECT coalesce(q.name, ''), k.name, t.start_ms - w.from_ms, w.wait_ms
FROM recorded AS t
JOIN v_waits AS w ON w.job = t.job
LEFT JOIN queue AS q ON q.id = w.queue
JOIN kind AS k ON k.id = w.kind
CROSS JOIN run AS r
WHERE w.wait_ms IS NOT NULL AND w.enter_ms >= r.window_start_ms
ORDER BY 1, 2;

-- name: window
-- The window, and what its cluster had for the jobs: GPUs of all nodes that were ever part of it.
SELECT window_start_ms, window_end_ms, capacity_mgpu FROM run;

-- name: ends
-- Recorded starts whose end is recorded, follows from the run time, or is not known.
SELECT sum(t.end_ms IS NOT NULL), sum(t.end_ms IS NULL AND j.work_ms IS NOT NULL), sum(t.end_ms IS NULL AND j.work_ms IS NULL)
FROM recorded AS t
JOIN job AS j ON j.id = t.job;

-- name: busy
-- Changes of what is held: at, by how much, whose (0: the run, 1: the record), the least that the job can have held, the job.
-- At one time, what is given back comes first. Between two attempts of the record a job holds nothing.
WITH truth AS (
  SELECT t.job, coalesce(a.start_ms, t.start_ms) AS start_ms, coalesce(a.end_ms, t.end_ms, t.start_ms + j.work_ms) AS end_ms, j.mgpu,
    CASE WHEN j.min_pods < j.pods THEN j.mgpu * j.min_pods / j.pods ELSE j.mgpu END AS least_mgpu
  FROM recorded AS t
  JOIN job AS j ON j.id = t.job
  LEFT JOIN recorded_attempt AS a ON a.job = t.job
  WHERE coalesce(a.end_ms, t.end_ms, t.start_ms + j.work_ms) >= coalesce(a.start_ms, t.start_ms)),
  change AS (
    SELECT start_ms AS at_ms, mgpu AS change, 1 AS whose, least_mgpu, job
    FROM truth
    UNION ALL
    SELECT end_ms, -mgpu, 1, -least_mgpu, job
    FROM truth
    UNION ALL
    SELECT p.start_ms, p.mgpu, 0, 0, p.job
    FROM v_placements AS p
    WHERE p.job IN (SELECT job FROM truth)
    UNION ALL
    SELECT p.end_ms, -p.mgpu, 0, 0, p.job
    FROM v_placements AS p
    WHERE p.end_ms IS NOT NULL AND p.job IN (SELECT job FROM truth))
SELECT at_ms, change, whose, least_mgpu, job FROM change ORDER BY at_ms, change > 0, job;

-- name: early
-- Recorded starts before the submit, and ends before the start.
SELECT count(*), min(t.job)
FROM recorded AS t
JOIN job AS j ON j.id = t.job
WHERE t.start_ms < j.submit_ms OR t.end_ms < t.start_ms;

-- name: job_name
SELECT name FROM job WHERE id = ?1;

-- name: never_started
SELECT count(*) FROM recorded AS t JOIN job AS j ON j.id = t.job WHERE j.start_ms IS NULL;

-- name: never_started_why
-- The reason that most of those wait for at last, of how many, and the first of them.
WITH last(job, reason, at_ms) AS ( -- the row of the greatest at_ms
  SELECT r.job, r.reason, max(r.at_ms) FROM reason_change AS r
  JOIN recorded AS t ON t.job = r.job JOIN job AS j ON j.id = r.job
  WHERE j.start_ms IS NULL GROUP BY r.job
),
most(words, jobs, first) AS (
  SELECT r.words, count(*), min(last.job) FROM last JOIN reason AS r ON r.id = last.reason
  GROUP BY r.id ORDER BY count(*) DESC, r.id LIMIT 1
)
SELECT most.words, most.jobs, j.name FROM most JOIN job AS j ON j.id = most.first;
