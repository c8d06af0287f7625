-- Makes a copy of results tell of CPU or memory (RESOURCE: cpu or memory; AMOUNT: the column of `ask`) where they tell of
-- GPUs, a milli-CPU or a byte as one device: then rule `share` of the audit divides it anew.
UPDATE queue SET gpu_quota = -1, gpu_limit = -1, gpu_weight = 1;
UPDATE queue SET (gpu_quota, gpu_limit, gpu_weight) = (SELECT quota, bound, weight FROM queue_bound AS b
    WHERE b.queue = queue.id AND b.resource = 'RESOURCE' AND b.at_ms IS NULL)
WHERE id IN (SELECT queue FROM queue_bound WHERE resource = 'RESOURCE' AND at_ms IS NULL);
UPDATE queue_change SET gpu_quota = -1, gpu_limit = -1, gpu_weight = 1;
UPDATE queue_change SET (gpu_quota, gpu_limit, gpu_weight) = (SELECT quota, bound, weight FROM queue_bound AS b
    WHERE b.queue = queue_change.queue AND b.resource = 'RESOURCE' AND b.at_ms = queue_change.at_ms ORDER BY b.rowid DESC LIMIT 1)
WHERE (queue, at_ms) IN (SELECT queue, at_ms FROM queue_bound WHERE resource = 'RESOURCE');
UPDATE job SET mgpu = (SELECT sum(a.pods * a.AMOUNT) FROM ask AS a WHERE a.shape = job.shape) * 1000;
UPDATE placement SET mgpu = pods * 1000 * (SELECT a.AMOUNT FROM ask AS a JOIN job AS j ON j.shape = a.shape
    WHERE j.id = placement.job AND a.nr = placement.ask);
UPDATE wanted SET mgpu = pods * 1000 * (SELECT a.AMOUNT FROM ask AS a JOIN job AS j ON j.shape = a.shape WHERE j.id = wanted.job
    ORDER BY a.nr DESC LIMIT 1);
UPDATE ask SET gpus = AMOUNT, gpu_mgpu = 1000, gpu_mib = NULL;
UPDATE node SET gpus = iif('RESOURCE' = 'cpu', cpu_milli, mem_bytes);
DELETE FROM foreign_pods;
DELETE FROM job_time; -- byte x ms would overflow
DELETE FROM fair_share;
INSERT INTO fair_share SELECT queue, at_ms, amount * 1000 FROM fair_share_of WHERE resource = 'RESOURCE' ORDER BY rowid;
