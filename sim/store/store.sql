-- SPDX-License-Identifier: GPL-3.0-or-later
-- A row of each table, columns in the order of schema.sql; analysis/sql/named_sql.cmake makes each a C string.
-- The rows of table `job` are written without SQLite: see store_jobs.c.

-- name: run
INSERT INTO run VALUES(1,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);

-- name: input
INSERT INTO input VALUES(?,?,?,?,?,?,?,?);

-- name: run_meta
INSERT INTO run_meta VALUES(?,?);

-- name: node
INSERT INTO node VALUES(?,?,?,?,?,?,?,?,?,?);

-- name: mig
INSERT INTO mig VALUES(?,?,?);

-- name: node_domain
INSERT INTO node_domain VALUES(?,?,?);

-- name: domain_name
INSERT OR IGNORE INTO domain_name VALUES(?,?,?);

-- name: foreign_pods
INSERT INTO foreign_pods VALUES(?,?,?,?);

-- name: pool
INSERT INTO pool VALUES(?,?,?,?,?,?,?,?,?);

-- name: queue
INSERT INTO queue VALUES(?,?,?,?,?,?,?,?,?);

-- name: queue_change
INSERT INTO queue_change VALUES(?,?,?,?,?,?);

-- name: queue_bound
INSERT INTO queue_bound VALUES(?,?,?,?,?,?);

-- name: queue_lending
INSERT INTO queue_lending VALUES(?,?,?,?);

-- name: queue_flavor
INSERT INTO queue_flavor VALUES(?,?,?,?,?,?,?);

-- name: flavor_node
INSERT INTO flavor_node VALUES(?,?);

-- name: kind
INSERT INTO kind VALUES(?,?);

-- name: reason
INSERT INTO reason VALUES(?,?,?);

-- name: outcome
INSERT INTO outcome VALUES(?,?,?);

-- name: rule
INSERT INTO rule VALUES(?,?,?);

-- name: placement
INSERT INTO placement VALUES(?,?,?,?,?,?,?,?,?,?);

-- name: attempt
INSERT INTO attempt VALUES(?,?,?,?,?);

-- name: wanted
INSERT INTO wanted VALUES(?,?,?,?);

-- name: eviction
INSERT INTO eviction VALUES(?,?,?,?,?,?,?,?,?);

-- name: suspension
INSERT INTO suspension VALUES(?,?,?,?);

-- name: away
INSERT INTO away VALUES(?,?,?);

-- name: outage
INSERT INTO outage VALUES(?,?,?);

-- name: cordon
INSERT INTO cordon VALUES(?,?,?);

-- name: job_time
INSERT INTO job_time VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);

-- name: waste
INSERT INTO waste VALUES(?,?,?,?,?);

-- name: unused
INSERT INTO unused VALUES(?,?,?,?,?);

-- name: metric
INSERT INTO metric VALUES(?,?,?,?,?,?,?,?,?);

-- name: shard
INSERT INTO shard VALUES(?,?,?,?,?);

-- name: shard_queue
INSERT INTO shard_queue VALUES(?,?);

-- name: shard_pool
INSERT INTO shard_pool VALUES(?,?);

-- name: fair_share
INSERT INTO fair_share VALUES(?,?,?);

-- name: fair_share_16
-- rows are short and many: so many at once take a third of the time
INSERT INTO fair_share VALUES
  (?,?,?), (?,?,?), (?,?,?), (?,?,?),
  (?,?,?), (?,?,?), (?,?,?), (?,?,?),
  (?,?,?), (?,?,?), (?,?,?), (?,?,?),
  (?,?,?), (?,?,?), (?,?,?), (?,?,?);

-- name: rate
INSERT INTO rate VALUES(?,?,?,?,?,?,?);

-- name: fair_share_of
INSERT INTO fair_share_of VALUES(?,?,?,?);

-- name: series
INSERT INTO series VALUES(?,?,?,?,?,?,?);

-- name: room
INSERT INTO room VALUES(?,?,?);

-- name: startable
INSERT INTO startable VALUES(?,?,?,?);

-- name: ask
INSERT INTO ask VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);

-- name: barred
INSERT INTO barred VALUES(?,?);

-- name: non_preemptible
INSERT INTO non_preemptible VALUES(?);

-- name: recorded
INSERT INTO recorded VALUES(?,?,?);

-- name: recorded_attempt
INSERT INTO recorded_attempt VALUES(?,?,?);

-- name: hold
INSERT INTO hold VALUES(?,?);

-- name: deadline
INSERT INTO deadline VALUES(?,?);

-- name: batch
INSERT INTO batch VALUES(?,?);

-- name: never
INSERT INTO never VALUES(?,?,?,?,?,?);

-- name: ruled
INSERT INTO ruled VALUES(?,?);

-- name: expectation
INSERT INTO expectation VALUES(?,?,?,?);

-- name: reason_change
INSERT INTO reason_change VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);

-- name: reason_change_4
-- so many rows at once cost less; a writer knows 64 columns
INSERT INTO reason_change VALUES
  (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?),
  (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?),
  (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?),
  (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);

-- name: job_table
-- the page that the rows of `job` hang on, and how many columns they have: see store_jobs.c
SELECT rootpage, (SELECT count(*) FROM pragma_table_info('job')) FROM sqlite_schema WHERE name = 'job' AND type = 'table';
