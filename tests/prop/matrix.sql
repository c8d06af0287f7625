-- SPDX-License-Identifier: GPL-3.0-or-later
-- What holds of any run of whole GPUs in rigid gangs, from who held what from when to when: a row an invariant, with
-- how often it was looked at and how often it was broken.
CREATE TEMP TABLE held AS
SELECT p.*, n.gpus FROM v_placements AS p JOIN node AS n ON n.id = p.node WHERE p.end_ms > p.start_ms;
CREATE TEMP TABLE tried AS -- attempts: pods that came first, and all there were, moved ones twice
SELECT job, pods, sum(held * (start_ms = first)) AS together, sum(held) AS held
FROM (SELECT h.job, h.nr, j.pods, h.pods AS held, h.start_ms, min(h.start_ms) OVER (PARTITION BY h.job, h.nr) AS first
      FROM held AS h JOIN job AS j ON j.id = h.job)
GROUP BY job, nr;

SELECT 'capacity', count(*), sum(mgpu > 1000 * gpus)
FROM (SELECT a.gpus, sum(b.mgpu) AS mgpu
      FROM held AS a JOIN held AS b ON b.node = a.node AND b.start_ms <= a.start_ms AND b.end_ms > a.start_ms
      GROUP BY a.rowid)
UNION ALL
SELECT 'devices', count(*), sum(a.devices & b.devices <> 0)
FROM held AS a JOIN held AS b ON b.node = a.node AND b.rowid > a.rowid AND b.start_ms < a.end_ms AND b.end_ms > a.start_ms
UNION ALL
SELECT 'gang', count(*), sum(together <> pods) FROM tried
UNION ALL
SELECT 'conservation', count(*), sum(held <> books)
FROM (SELECT sum(h.mgpu * (h.end_ms - h.start_ms)) AS held,
        coalesce(t.useful + t.preempt + t.reclaim + t.consolidate + t.stale_gang + t.node_failure + t.max_runtime +
          t.maintenance + t.pods_not_ready + t.checkpoint + t.restart + t.waiting, j.mgpu * j.work_ms) AS books
      FROM held AS h JOIN job AS j ON j.id = h.job LEFT JOIN job_time AS t ON t.job = j.id GROUP BY h.job)
UNION ALL
SELECT 'work', count(*), sum(coalesce(t.useful, j.mgpu * j.work_ms) <> j.mgpu * j.work_ms)
FROM job AS j LEFT JOIN job_time AS t ON t.job = j.id
WHERE j.state = 3 -- others went on with fewer pods for a while
  AND j.id NOT IN (SELECT job FROM tried WHERE held <> pods) AND j.id NOT IN (SELECT job FROM eviction WHERE NOT whole)
UNION ALL
SELECT 'starvation', count(*), sum(state <> 3) FROM job WHERE id NOT IN (SELECT job FROM never);
