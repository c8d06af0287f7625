-- Orrery sweep: the plan of an experiment of many runs, and once it is merged what came of them. Stock SQL only.
-- A merged file has the tables of its plan and those that begin with point_.

CREATE TABLE sweep(
  id INTEGER PRIMARY KEY,           -- always 1
  name TEXT NOT NULL,               -- of the base's scenario
  orrery_version TEXT NOT NULL, results_schema INTEGER NOT NULL, -- of the program that planned: no other runs it
  folder TEXT NOT NULL,             -- of the base, where its traces' names start ...
  folder_way TEXT NOT NULL,         -- ... and the way there from the plan; '': none is known
  points INTEGER NOT NULL, arms INTEGER NOT NULL,
  time_ms INTEGER NOT NULL, memory_bytes INTEGER NOT NULL, -- limits of a run; 0: none
  allow_loss_ppm INTEGER NOT NULL   -- of rows that may be rejected in a run; 0: 1 %
);
CREATE TABLE sweep_input(            -- files that points read and that their policies are made of, as they were when it was planned
  path TEXT PRIMARY KEY, sha256 TEXT NOT NULL
);
CREATE TABLE sweep_axis(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL -- from 0; the first varies slowest
);
CREATE TABLE sweep_arm(              -- a setting: one value of each axis, or a listed point
  id INTEGER PRIMARY KEY,           -- from 0
  label TEXT NOT NULL,
  scenario TEXT NOT NULL            -- resolved: every value it runs with, but for the seed
);
CREATE TABLE sweep_value(            -- of an arm; listed points have none
  arm INTEGER NOT NULL, axis INTEGER NOT NULL, value TEXT NOT NULL
);
CREATE TABLE sweep_point(
  id INTEGER PRIMARY KEY,           -- from 0: what engines call the index
  key TEXT NOT NULL,                -- 16 hex digits: of scenario, seed, files and program; names the file
  arm INTEGER NOT NULL, seed INTEGER NOT NULL
);
CREATE TABLE point_run(              -- columns as in `run` of a results file
  point INTEGER PRIMARY KEY, status TEXT NOT NULL, policy TEXT NOT NULL, digest TEXT NOT NULL,
  window_start_ms INTEGER NOT NULL, window_end_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, capacity_mgpu INTEGER NOT NULL
);
CREATE TABLE point_metric(           -- columns as in `metric` of a results file
  point INTEGER NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL, label TEXT NOT NULL,
  value REAL, unit TEXT NOT NULL, n INTEGER NOT NULL, better TEXT NOT NULL, at_least REAL
);
CREATE INDEX point_metric_point ON point_metric(point);
CREATE TABLE point_queue(            -- queues of which people read another name, as in `queue` of a results file
  point INTEGER NOT NULL, name TEXT NOT NULL, display_name TEXT NOT NULL, PRIMARY KEY(point, name)
) WITHOUT ROWID;
CREATE TABLE point_expectation(      -- columns as in `expectation` of a results file
  point INTEGER NOT NULL, nr INTEGER NOT NULL, text TEXT NOT NULL, value REAL, holds INTEGER
);
CREATE TABLE point_hole(             -- points that a merge with --partial left out
  point INTEGER PRIMARY KEY, why TEXT NOT NULL -- missing, or how its run failed
);
