-- SPDX-License-Identifier: GPL-3.0-or-later
-- What a report asks of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: longest
-- The longest waits, at most three of a size and queue. Free GPUs are made again from what jobs held: at the last moment of
-- the reason that held longest, and of the wait. The other numbers are of when that reason began last.
WITH one AS (
  SELECT w.job, w.queue, w.mgpu, w.from_ms, w.start_ms, coalesce(w.start_ms, r.end_ms) AS until_ms,
    coalesce(w.start_ms, r.end_ms) - w.from_ms AS waited
  FROM v_waits AS w
  CROSS JOIN run AS r
  WHERE w.state > 0 AND NOT w.never),
  alike AS (
    SELECT *, row_number() OVER (PARTITION BY queue, mgpu, start_ms IS NULL ORDER BY waited DESC, job) AS nr
    FROM one
    WHERE waited > 0),
  longest AS (SELECT * FROM alike WHERE nr <= 3 ORDER BY waited DESC, job LIMIT 10),
  why AS (
    SELECT i.job AS job, i.words AS words, max(i.to_ms) AS last_ms, sum(i.to_ms - i.from_ms) AS span,
      max(sum(i.to_ms - i.from_ms)) OVER (PARTITION BY i.job) AS most
    FROM v_reason_intervals AS i
    JOIN longest AS l ON l.job = i.job
    WHERE l.start_ms IS NULL OR i.from_ms < l.start_ms
    GROUP BY i.job, i.words),
  main AS (SELECT job, max(words) AS words, last_ms FROM why WHERE span = most GROUP BY job),
  proof AS (
    SELECT c.*, n.words AS words, max(c.rowid)
    FROM reason_change AS c
    JOIN longest AS l ON l.job = c.job
    JOIN reason AS n ON n.id = c.reason
    WHERE l.start_ms IS NULL OR c.at_ms < l.start_ms
    GROUP BY c.job, n.words),
  moment AS (
    SELECT job, min(last_ms, (SELECT until_ms FROM longest AS l WHERE l.job = main.job)) - 1 AS at_ms, 0 AS is_end FROM main
    UNION ALL
    SELECT job, until_ms - 1, 1 FROM longest),
  held AS (
    SELECT m.job, m.is_end, p.node, sum(p.mgpu) AS mgpu
    FROM moment AS m
    JOIN v_placements AS p ON p.start_ms <= m.at_ms AND coalesce(p.end_ms, 9e18) > m.at_ms
    GROUP BY 1, 2, 3),
  room AS ( -- of nodes that are up and that its pods may be on
    SELECT m.job, m.is_end, total(1000 * (n.gpus - coalesce(f.gpus, 0)) - coalesce(h.mgpu, 0)) / 1000.0 AS free,
      max(1000 * (n.gpus - coalesce(f.gpus, 0)) - coalesce(h.mgpu, 0)) / 1000.0 AS hole
    FROM moment AS m
    JOIN job AS j ON j.id = m.job
    JOIN ask AS a ON a.shape = j.shape AND a.nr = 0
    JOIN node AS n ON (a.gpu_model IS NULL OR instr('|' || a.gpu_model || '|', '|' || n.gpu_model || '|') > 0)
    LEFT JOIN foreign_pods AS f ON f.node = n.id
    LEFT JOIN held AS h ON h.job = m.job AND h.is_end = m.is_end AND h.node = n.id
    WHERE NOT EXISTS (SELECT 1 FROM barred AS b WHERE b.bound = a.bound AND b.node = n.id)
      AND (a.shard IS NULL OR n.pool IN (SELECT pool FROM shard_pool AS s WHERE s.shard = a.shard)
        OR NOT EXISTS (SELECT 1 FROM shard_pool))
      AND NOT EXISTS (SELECT 1 FROM outage AS o WHERE o.node = n.id AND o.from_ms <= m.at_ms AND coalesce(o.to_ms, 9e18) > m.at_ms)
      AND NOT EXISTS (SELECT 1 FROM away AS o WHERE o.node = n.id AND o.from_ms <= m.at_ms AND coalesce(o.to_ms, 9e18) > m.at_ms)
    GROUP BY 1, 2),
  said AS (
    SELECT r.job, r.is_end, printf('%g %s free', r.free, CASE WHEN r.free = 1 THEN 'GPU' ELSE 'GPUs' END)
      || CASE WHEN j.mgpu < 1000 * j.pods THEN '' ELSE printf(', at most %g on one node', r.hole) END AS words
    FROM room AS r
    JOIN job AS j ON j.id = r.job
    WHERE j.mgpu > 0)
SELECT j.name AS job, q.name AS queue, j.mgpu / 1000.0 AS GPUs,
  l.from_ms AS "submitted at",
  l.waited / 1000.0 AS "waited s", CASE WHEN l.start_ms IS NULL THEN 'never' ELSE 'yes' END AS started,
  y.words AS "mostly because", s.words AS "when that was last so",
  ltrim(CASE WHEN p.domain_mgpu IS NULL OR p.level IS NULL THEN ''
      ELSE printf(', at most %g in one %s', p.domain_mgpu / 1000.0, p.level) END
    || CASE WHEN p.allowed_mgpu IS NULL OR b.name IS NULL THEN ''
      ELSE printf(', %s holds %g of %g', b.name, p.held_mgpu / 1000.0, p.allowed_mgpu / 1000.0) END
    || CASE WHEN a.name IS NULL THEN '' ELSE printf(', behind %s of %g GPUs', a.name, a.mgpu / 1000.0) END
    || CASE WHEN o.code IS NULL OR o.code = 'not-tried' THEN ''
      WHEN o.code = 'gate-failed' THEN ', no reclaim: its queue would hold more than its share'
      ELSE ', reclaim: ' || o.words END, ', ') AS "when that began last", e.words AS "in the end"
FROM longest AS l
JOIN job AS j ON j.id = l.job
LEFT JOIN queue AS q ON q.id = l.queue
LEFT JOIN main AS y ON y.job = l.job
LEFT JOIN proof AS p ON p.job = l.job AND p.words = y.words
LEFT JOIN said AS s ON s.job = l.job AND NOT s.is_end
LEFT JOIN said AS e ON e.job = l.job AND e.is_end
LEFT JOIN queue AS b ON b.id = p.queue
LEFT JOIN job AS a ON a.id = p.ahead
LEFT JOIN outcome AS o ON o.id = p.reclaim
ORDER BY l.waited DESC, l.job;
