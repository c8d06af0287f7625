-- SPDX-License-Identifier: GPL-3.0-or-later
-- What commands ask of results files; ../../analysis/sql/named_sql.cmake makes each a C string.

-- name: whole_digest
SELECT CASE status WHEN 'interrupted' THEN '' ELSE digest END
FROM run;

-- name: expectations
SELECT text, value, holds
FROM expectation
ORDER BY nr;

-- name: shards_short_of_quota
SELECT s.name, s.capacity_mgpu / 1000.0, sum(q.gpu_quota)
FROM shard AS s
JOIN shard_queue AS o ON o.shard = s.id
JOIN queue AS q ON q.id = o.queue
WHERE q.parent IS NULL AND q.gpu_quota > 0
GROUP BY s.id
HAVING sum(q.gpu_quota) * 1000 > s.capacity_mgpu;

-- name: queues_short_of_quota
SELECT p.name, p.gpu_quota, sum(q.gpu_quota)
FROM queue AS q
JOIN queue AS p ON p.id = q.parent
WHERE q.gpu_quota > 0 AND p.gpu_quota >= 0
GROUP BY p.id
HAVING sum(q.gpu_quota) > p.gpu_quota;

-- name: unused_nodes
-- nodes with GPUs that were part of the cluster and on which no pod was in the whole run: how many, their
-- GPUs, the first
SELECT count(*), total(u.gpus), n.name, min(n.id)
FROM v_node_use AS u
JOIN node AS n ON n.name = u.node
WHERE u.gpus > 0 AND u.placements = 0 AND u.window_use IS NOT NULL;
