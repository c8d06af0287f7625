-- SPDX-License-Identifier: GPL-3.0-or-later
-- What the order of losers and winners asks of a results file; ../sql/named_sql.cmake makes each a C string.

-- name: gpu_hours
-- GPU-hours held, by the label of whom: queues by kind, or kinds
SELECT label, value
FROM metric
WHERE name = 'gpu_h' AND scope = 'queue' AND ?1 = 'queue'
UNION ALL
SELECT substr(label, instr(label, 'kind=')), sum(value)
FROM metric
WHERE name = 'gpu_h' AND scope = 'queue' AND ?1 = 'kind' AND instr(label, ',kind=') > 0
GROUP BY 1;

-- name: capacity
-- milli-GPU of all nodes for jobs, whenever they are there: what parts of the capacity are parts of
SELECT capacity_mgpu
FROM run;
