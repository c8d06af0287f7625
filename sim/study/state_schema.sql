-- Orrery state: a run and a time of it, and what shows that a run stands there. Stock SQL only.

CREATE TABLE state(
  id INTEGER PRIMARY KEY,           -- always 1
  name TEXT NOT NULL,               -- of the scenario
  orrery_version TEXT NOT NULL,
  scenario TEXT NOT NULL,           -- resolved: every value it runs with, but for the seed
  folder TEXT NOT NULL,             -- where its traces' names start ...
  folder_way TEXT NOT NULL,         -- ... and the way there from this file; '': none is known
  seed INTEGER NOT NULL,
  allow_loss_ppm INTEGER NOT NULL,  -- of rows that may be rejected; 0: 1 %
  at_ms INTEGER NOT NULL,           -- of the run's clock: all before it has happened, nothing of it
  events INTEGER NOT NULL, cycles INTEGER NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE state_input(            -- traces, as the run read them
  path TEXT PRIMARY KEY, sha256 TEXT NOT NULL
);
