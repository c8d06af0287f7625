-- SPDX-License-Identifier: GPL-3.0-or-later
-- What holds of jobs that are suspended (PreemptMode=SUSPEND of policy slurm): a row an invariant, with how often it was
-- looked at and how often it was broken. Jobs rRANK-I; who has the higher rank may preempt. rRANKx-I hold whole nodes.
CREATE TEMP TABLE j AS
SELECT id, name, CAST(substr(name, 2, 1) AS INTEGER) AS rank, work_ms, state, end_ms, last_start_ms, evictions FROM job;
CREATE UNIQUE INDEX temp.j_id ON j(id);
CREATE TEMP TABLE held AS
SELECT p.job, j.rank, p.nr, p.node, p.start_ms, coalesce(p.end_ms, 9e15) AS end_ms, p.pods * a.cpu_milli AS cpu, p.devices
FROM v_placements AS p JOIN j ON j.id = p.job JOIN job ON job.id = p.job JOIN ask AS a ON a.shape = job.shape AND a.nr = p.ask;
CREATE INDEX temp.held_node ON held(node, start_ms);
CREATE INDEX temp.held_job ON held(job, nr);
CREATE TEMP TABLE s AS
SELECT s.job, j.rank, s.from_ms, coalesce(s.to_ms, 9e15) AS to_ms, s.for_job, k.rank AS for_rank
FROM suspension AS s JOIN j ON j.id = s.job LEFT JOIN j AS k ON k.id = s.for_job;
CREATE INDEX temp.s_job ON s(job);
CREATE TEMP TABLE moment AS -- of a node: when something of it changes
SELECT node, start_ms AS at FROM held UNION SELECT node, end_ms FROM held WHERE end_ms < 9e15
UNION SELECT h.node, s.from_ms FROM s JOIN held AS h ON h.job = s.job WHERE s.from_ms >= h.start_ms AND s.from_ms < h.end_ms
UNION SELECT h.node, s.to_ms FROM s JOIN held AS h ON h.job = s.job WHERE s.to_ms >= h.start_ms AND s.to_ms < h.end_ms;
CREATE TEMP TABLE used AS -- behind each moment
SELECT m.node, m.at, n.cpu_milli AS all_cpu,
  coalesce(sum(h.cpu) FILTER (WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.job = h.job AND s.from_ms <= m.at AND s.to_ms > m.at)), 0) AS cpu
FROM moment AS m JOIN node AS n ON n.id = m.node LEFT JOIN held AS h ON h.node = m.node AND h.start_ms <= m.at AND h.end_ms > m.at
GROUP BY m.node, m.at;
CREATE INDEX temp.used_node ON used(node, at);

SELECT 'cpu', count(*), coalesce(sum(cpu > all_cpu), 0) FROM used
UNION ALL -- with what suspended jobs get back that it may not preempt, a job that starts has room
SELECT 'kept', count(*), coalesce(sum((
    SELECT sum(h.cpu) FROM held AS h WHERE h.node = x.node AND h.start_ms <= x.start_ms AND h.end_ms > x.start_ms
      AND (h.rank <= x.rank OR h.start_ms < x.start_ms)
      AND NOT (h.rank < x.rank AND EXISTS (SELECT 1 FROM s WHERE s.job = h.job AND s.from_ms <= x.start_ms AND s.to_ms >= x.start_ms))
  ) > (SELECT cpu_milli FROM node WHERE id = x.node)), 0)
FROM held AS x WHERE x.cpu > 0 AND x.end_ms > x.start_ms AND EXISTS (SELECT 1 FROM s JOIN held AS o ON o.job = s.job
    WHERE o.node = x.node AND s.from_ms <= x.start_ms AND s.to_ms > x.start_ms AND s.job <> x.job)
UNION ALL -- for whose sake: of a higher rank, it starts or goes on then, on a node of the job
SELECT 'sake', count(*), coalesce(sum(for_rank IS NULL OR for_rank <= rank OR NOT EXISTS (
    SELECT 1 FROM held AS t JOIN held AS h ON h.node = t.node WHERE t.job = s.for_job AND h.job = s.job AND t.start_ms <= s.from_ms AND t.end_ms >= s.from_ms
      AND (t.start_ms = s.from_ms OR EXISTS (SELECT 1 FROM s AS o WHERE o.job = t.job AND o.to_ms = s.from_ms)))), 0) FROM s
UNION ALL -- within an attempt, which holds all its places and devices from its start to its end, and one time apart from another
SELECT 'place', count(*), coalesce(sum((
    SELECT count(DISTINCT h.start_ms || ' ' || h.end_ms) FROM held AS h WHERE h.job = s.job AND h.start_ms <= s.from_ms AND h.end_ms >= s.from_ms
      AND h.nr = (SELECT max(nr) FROM held AS l WHERE l.job = s.job AND l.start_ms <= s.from_ms)) <> 1
  OR EXISTS (SELECT 1 FROM s AS o WHERE o.job = s.job AND o.rowid <> s.rowid AND o.from_ms < s.to_ms AND s.from_ms < o.to_ms)), 0) FROM s
UNION ALL -- its last attempt lasted as long as its work and what it was suspended
SELECT 'work', count(*), coalesce(sum(end_ms - last_start_ms <> work_ms +
    (SELECT coalesce(sum(s.to_ms - s.from_ms), 0) FROM s WHERE s.job = j.id AND s.from_ms >= j.last_start_ms)), 0) FROM j WHERE state = 3
UNION ALL -- nobody stays suspended while all its nodes have the CPUs; who holds whole nodes is not asked
SELECT 'prompt', count(*), coalesce(sum(NOT EXISTS (
    SELECT 1 FROM held AS h JOIN used AS u ON u.node = h.node AND u.at = (SELECT max(at) FROM used AS v WHERE v.node = h.node AND v.at <= m.at)
    WHERE h.job = s.job AND h.start_ms <= m.at AND h.end_ms > m.at AND u.all_cpu - u.cpu < (
      SELECT sum(o.cpu) FROM held AS o WHERE o.job = h.job AND o.node = h.node AND o.nr = h.nr))), 0)
FROM s JOIN (SELECT DISTINCT at FROM moment) AS m ON m.at >= s.from_ms AND m.at < s.to_ms
WHERE NOT EXISTS (SELECT 1 FROM j WHERE name LIKE '__x%')
UNION ALL
SELECT 'suspended', count(*), 0 FROM s
UNION ALL
SELECT 'again', count(*), 0 FROM (SELECT job FROM s GROUP BY job HAVING count(*) > 1)
UNION ALL
SELECT 'with gpus', count(DISTINCT s.job), 0 FROM s JOIN held AS h ON h.job = s.job WHERE h.devices <> 0
UNION ALL
SELECT 'ranks', count(*), 0 FROM s AS a JOIN s AS b ON b.for_job = a.job;
