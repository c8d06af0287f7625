-- SPDX-License-Identifier: GPL-3.0-or-later
-- What holds of pods whose GPUs change while they run, each a kind of its own that stays on a node: a row an invariant,
-- with how often it was looked at and how often it was broken. Jobs n-LEAST-I; no node fails, nothing has a grace. A
-- pod that kai moves to another node is without GPUs for a while, and the job goes back, as any gang whose pod is moved.
CREATE TEMP TABLE pod AS
SELECT j.id AS job, a.nr AS ask, a.pods AS gpus, min(CAST(substr(j.name, 3, 1) AS INTEGER), a.pods) AS least
FROM job AS j JOIN ask AS a ON a.shape = j.shape WHERE a.level = 'node';
CREATE TEMP TABLE held AS
SELECT * FROM v_placements WHERE end_ms > start_ms AND job IN (SELECT job FROM pod);
CREATE INDEX temp.held_job ON held(job, nr, ask);
CREATE TEMP TABLE life AS
SELECT job, nr, min(start_ms) AS from_ms, max(end_ms) AS until_ms FROM held GROUP BY job, nr;
CREATE TEMP TABLE moved AS SELECT DISTINCT job FROM eviction WHERE moved > 0;
CREATE TEMP TABLE moment AS -- each at which an attempt gains or gives up something, and runs on
SELECT DISTINCT h.job, h.nr, h.at FROM (SELECT job, nr, start_ms AS at FROM held UNION SELECT job, nr, end_ms FROM held) AS h
JOIN life AS l ON l.job = h.job AND l.nr = h.nr WHERE h.at < l.until_ms;
CREATE TEMP TABLE size AS
SELECT m.job, m.nr, m.at, p.ask, p.least, p.gpus,
  (SELECT coalesce(sum(h.pods), 0) FROM held AS h
   WHERE h.job = m.job AND h.nr = m.nr AND h.ask = p.ask AND h.start_ms <= m.at AND h.end_ms > m.at) AS has,
  (SELECT count(DISTINCT h.node) FROM held AS h
   WHERE h.job = m.job AND h.nr = m.nr AND h.ask = p.ask AND h.start_ms <= m.at AND h.end_ms > m.at) AS nodes
FROM moment AS m JOIN pod AS p ON p.job = m.job;

SELECT 'least', count(*), coalesce(sum(has < least), 0) FROM size WHERE job NOT IN (SELECT job FROM moved)
UNION ALL SELECT 'most', count(*), coalesce(sum(has > gpus), 0) FROM size
UNION ALL SELECT 'one node', count(*), coalesce(sum(nodes > 1), 0) FROM size
UNION ALL
SELECT 'kept', count(*), coalesce(sum(t.preempt + t.reclaim + t.consolidate + t.restart <> 0), 0)
FROM job AS j LEFT JOIN job_time AS t ON t.job = j.id WHERE j.id IN (SELECT job FROM eviction) AND j.evictions = 0 AND j.id IN (SELECT job FROM pod) AND j.id NOT IN (SELECT job FROM moved)
UNION ALL
SELECT 'finished', count(*), coalesce(sum(state <> 3), 0) FROM job WHERE id NOT IN (SELECT job FROM never)
UNION ALL
SELECT 'grown', coalesce(sum(h.pods), 0), 0 FROM held AS h JOIN life AS l ON l.job = h.job AND l.nr = h.nr WHERE h.start_ms > l.from_ms
UNION ALL
SELECT 'shrunk', coalesce(sum(h.pods), 0), 0 FROM held AS h JOIN life AS l ON l.job = h.job AND l.nr = h.nr WHERE h.end_ms < l.until_ms;
