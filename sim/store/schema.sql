-- Orrery results: one run, one file. Stock SQL only; reads with SQLite 3.37 and newer.
-- Times are integer milliseconds on the run's clock, GPUs milli-GPU (1000 = one device), memory bytes.
-- NULL in a time means it never happened. PRAGMA user_version is the version of this schema.

CREATE TABLE run(
  id INTEGER PRIMARY KEY,           -- always 1
  name TEXT NOT NULL,               -- scenario name
  status TEXT NOT NULL,             -- finished, horizon (cut at the horizon), interrupted
  policy TEXT NOT NULL,
  policy_params TEXT NOT NULL,      -- NAME=VALUE lines, the effective ones
  seed INTEGER NOT NULL,
  digest TEXT NOT NULL,             -- 16 hex digits: of every event and decision, in order
  scenario_given TEXT NOT NULL,     -- as written; '' when made from the command line
  scenario_resolved TEXT NOT NULL,  -- every value it ran with
  orrery_version TEXT NOT NULL,
  clock_origin_ms INTEGER,          -- ms since 1970 of time 0: the scenario's start, else the trace's; NULL: neither has one
  begin_ms INTEGER NOT NULL,        -- decisions begin: the first submit, or the scenario's begin; what is before was given
  window_start_ms INTEGER NOT NULL, -- metrics cover this window: end of warm-up ...
  window_end_ms INTEGER NOT NULL,   -- ... to the last submit of the rows (of whoever waits for results the earliest there could be); after it comes the drain
  end_ms INTEGER NOT NULL,          -- last event
  capacity_mgpu INTEGER NOT NULL,   -- of all nodes, those included that join later or leave (`away`), without what foreign pods hold
  series_ms INTEGER NOT NULL,       -- length of one bucket of `series`
  warmup TEXT NOT NULL              -- how long it is was: stated, detected (by MSER-5), not found, or stated and not heeded (all jobs come at once)
);
CREATE TABLE run_meta(               -- host, wall times, compiler, library versions: not part of the result
  key TEXT PRIMARY KEY, value TEXT
);
CREATE TABLE input(                  -- files that were read: a row a part of the workload, then those that a policy from outside is made of (format `policy`)
  path TEXT NOT NULL, format TEXT, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL,
  rows_read INTEGER NOT NULL, rows_rejected INTEGER NOT NULL, rejected_shown TEXT NOT NULL, notes TEXT NOT NULL
);
CREATE TABLE node(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, pool TEXT NOT NULL,
  gpus INTEGER NOT NULL,            -- its devices, and what its MIG instances count: g each
  gpu_model TEXT, cpu_milli INTEGER, mem_bytes INTEGER, -- NULL: unlimited
  gpu_mib INTEGER,                  -- memory of each GPU; NULL: not stated
  pods INTEGER,                     -- so many at a time, foreign ones among them; NULL: unlimited
  mig_gpus INTEGER NOT NULL         -- of gpus: what MIG instances count
);
CREATE TABLE mig(                    -- MIG instances of nodes that have some
  node INTEGER NOT NULL, profile TEXT NOT NULL, instances INTEGER NOT NULL, PRIMARY KEY(node, profile)
) WITHOUT ROWID;
CREATE TABLE foreign_pods(           -- of another scheduler: what they hold of a node, for good
  node INTEGER PRIMARY KEY, gpus INTEGER NOT NULL, -- the first devices
  cpu_milli INTEGER NOT NULL, mem_bytes INTEGER NOT NULL
);
CREATE TABLE pool(                   -- of equal nodes
  name TEXT PRIMARY KEY, price REAL, -- of a node for an hour; NULL: not stated
  min_nodes INTEGER, max_nodes INTEGER, provision_ms INTEGER, idle_ms INTEGER, -- NULL: it is not autoscaled
  nvlink_gpus INTEGER,              -- that NVLink joins: parts of a node, or of several nodes in a row; NULL: a node
  idle_power_w INTEGER, full_power_w INTEGER -- of a node while none and all of its GPUs are held; NULL: not stated
);
CREATE TABLE node_domain(            -- places in the topology: domains are numbered level by level
  node INTEGER NOT NULL, level TEXT NOT NULL, domain INTEGER NOT NULL
);
CREATE TABLE domain_name(            -- of domains that the scenario calls by a name
  level TEXT NOT NULL, domain INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(level, domain)
) WITHOUT ROWID;
CREATE TABLE queue(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, display_name TEXT NOT NULL, -- for people; the name where none is stated
  parent INTEGER, leaf INTEGER NOT NULL, priority INTEGER NOT NULL,
  gpu_quota REAL NOT NULL, gpu_limit REAL NOT NULL, gpu_weight REAL NOT NULL -- devices; -1: unlimited
);
CREATE TABLE queue_change(           -- entitlements of a queue from at_ms on, where the scenario changes it; `queue` has the start
  queue INTEGER NOT NULL, at_ms INTEGER NOT NULL, priority INTEGER NOT NULL,
  gpu_quota REAL NOT NULL, gpu_limit REAL NOT NULL, gpu_weight REAL NOT NULL -- devices; -1: unlimited
);
CREATE TABLE queue_bound(            -- the same of CPU (milli-CPU) and memory (bytes), only of queues that bound them
  queue INTEGER NOT NULL, at_ms INTEGER, -- NULL: at the start
  resource TEXT NOT NULL, quota REAL NOT NULL, bound REAL NOT NULL, weight REAL NOT NULL -- cpu or memory; -1: unlimited
);
CREATE TABLE queue_lending(          -- what a queue states in Kueue's words, only of queues that do; NULL: as the policy's parameters say
  queue INTEGER PRIMARY KEY, apart INTEGER NOT NULL, -- at the top: in no cohort with the others there
  within TEXT, reclaim TEXT          -- preemption: Never, LowerPriority, LowerOrNewerEqualPriority, Any
);
CREATE TABLE queue_flavor(           -- what a queue has of each flavor, in order of preference, or lends of all nodes ('')
  queue INTEGER NOT NULL, at_ms INTEGER, -- NULL: at the start
  flavor TEXT NOT NULL, resource TEXT NOT NULL, -- gpu (devices), cpu (milli-CPU), memory (bytes) or pods; -1: unlimited
  quota REAL NOT NULL, bound REAL NOT NULL, lend REAL NOT NULL
);
CREATE TABLE flavor_node(            -- the nodes of each flavor
  flavor TEXT NOT NULL, node INTEGER NOT NULL
);
CREATE TABLE shard(                  -- parts of the cluster that are scheduled apart; at least one
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, -- '': of the pools that state none
  policy TEXT NOT NULL, policy_params TEXT NOT NULL, capacity_mgpu INTEGER NOT NULL
);
CREATE TABLE rule(                   -- of queues, for single jobs
  id INTEGER PRIMARY KEY, code TEXT NOT NULL, words TEXT NOT NULL
);
CREATE TABLE ruled(                  -- jobs that such a rule bites
  job INTEGER NOT NULL, rule INTEGER NOT NULL
);
CREATE TABLE shard_queue(            -- whose shard a queue is in
  queue INTEGER PRIMARY KEY, shard INTEGER NOT NULL
);
CREATE TABLE shard_pool(             -- whose shard a pool is in
  pool TEXT PRIMARY KEY, shard INTEGER NOT NULL
);
CREATE TABLE job(
  -- A job that ran once, whole, on one node has its placement in the row (node, devices); others, and
  -- those that ask for GPU memory, have theirs in `placement`, earlier attempts in `attempt`. The views join them.
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  queue INTEGER NOT NULL,
  user TEXT,
  kind INTEGER NOT NULL,            -- see `kind`
  pods INTEGER NOT NULL,
  mgpu INTEGER NOT NULL,            -- asked, all pods together
  submit_ms INTEGER NOT NULL,       -- of whoever waited for results first: when that was over; not yet: the earliest there could be
  enter_ms INTEGER,                 -- from when on it counts: its submit, or run.begin_ms if it waited then; NULL: it ran before
  start_ms INTEGER,                 -- first start of the whole gang
  end_ms INTEGER,
  work_ms INTEGER NOT NULL,         -- run time at rate 1.0
  estimate_ms INTEGER NOT NULL,     -- what the user said; work_ms when nothing was said
  state INTEGER NOT NULL,           -- 0 not submitted, 1 pending, 2 running, 3 finished, 4 left at end_ms before it started
  evictions INTEGER NOT NULL,
  node INTEGER,                     -- of the only placement, else NULL
  devices INTEGER,                  -- bit mask of its devices on that node; NULL: not counted one by one
  attempts INTEGER NOT NULL,        -- times its gang was complete and it started
  last_start_ms INTEGER,            -- start of the last of them
  min_pods INTEGER NOT NULL,        -- its gang; fewer than pods: it is elastic
  shape INTEGER NOT NULL,           -- what its pods ask for: see `ask`
  priority INTEGER NOT NULL         -- the higher goes first, where its policy looks at it
);
CREATE TABLE ask(                    -- what equal pods of a job ask for; jobs alike share a shape
  shape INTEGER NOT NULL, nr INTEGER NOT NULL, -- nr: 0 first, where pods of a job differ
  pods INTEGER NOT NULL,
  gpus INTEGER NOT NULL,            -- devices of each pod ...
  gpu_mgpu INTEGER,                 -- ... this much of each: 1000 all of it; NULL: it asks for gpu_mib
  gpu_mib INTEGER,                  -- memory of each; NULL: it does not ask for memory
  cpu_milli INTEGER NOT NULL, mem_bytes INTEGER NOT NULL, -- of each pod
  gpu_model TEXT,                   -- NULL: any
  shard INTEGER NOT NULL,           -- whose nodes
  bound INTEGER NOT NULL,           -- selectors, taints or its queue rule nodes out: which, by `barred`; 0: none
  level TEXT,                       -- of the topology (or node): these pods must be in one domain of it; NULL: they need not
  instances INTEGER NOT NULL,       -- of MIG, of each pod; then gpus is 0
  mig_profile TEXT,                 -- of them, such as 3g.20gb; NULL: none are asked
  mig_mgpu INTEGER NOT NULL         -- what these count: 1000 times g each
);
CREATE TABLE barred(                 -- nodes that are ruled out for pods whose `ask` has this number
  bound INTEGER NOT NULL, node INTEGER NOT NULL
);
CREATE TABLE wanted(                 -- what jobs ask for whose pods come and go: services, workers that follow a backlog
  job INTEGER NOT NULL, at_ms INTEGER NOT NULL, -- from then on
  pods INTEGER NOT NULL, mgpu INTEGER NOT NULL -- of job.pods and job.mgpu; what it still holds is among them
);
CREATE TABLE hold(                   -- jobs that were not considered when they were submitted
  job INTEGER PRIMARY KEY,
  eligible_ms INTEGER                -- from then on they were (waits count from here); NULL: never
);
CREATE TABLE never(                  -- jobs that could not have started at any time, were the cluster empty: a class of their own
  job INTEGER PRIMARY KEY, reason INTEGER NOT NULL, -- see `reason`: why, when it came
  queue INTEGER,                    -- whose limit, quota or part it would pass; NULL: no such rule
  resource TEXT,                    -- of which: gpu (milli-GPU), cpu (milli-CPU) or memory (bytes) ...
  asked INTEGER, allowed INTEGER    -- ... what its gang holds at least, and what is allowed
);
CREATE TABLE deadline(               -- jobs that are to be done by a time
  job INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL
);
CREATE TABLE non_preemptible(        -- jobs that may not be evicted for others
  job INTEGER PRIMARY KEY
);
CREATE TABLE batch(                  -- jobs whose trace says that they belong together (its "group")
  job INTEGER PRIMARY KEY, name TEXT NOT NULL
);
CREATE TABLE recorded(               -- what the trace says happened, where it says so
  job INTEGER PRIMARY KEY, start_ms INTEGER NOT NULL,
  end_ms INTEGER                     -- NULL: not recorded
);
CREATE TABLE recorded_attempt(       -- of jobs of `recorded` whose trace tells several attempts apart: each
  job INTEGER NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL
);
CREATE TABLE kind(                   -- of jobs
  id INTEGER PRIMARY KEY, name TEXT NOT NULL
);
CREATE TABLE attempt(                -- attempts that were cut short
  job INTEGER NOT NULL, nr INTEGER NOT NULL, start_ms INTEGER NOT NULL,
  end_ms INTEGER,                    -- of its grace; NULL: that was not over when the run ended
  cause TEXT NOT NULL                -- why it ended: preempt, reclaim, consolidate, stale gang, node failure
);
CREATE TABLE placement(              -- pods on nodes from one time to another, of all other jobs
  job INTEGER NOT NULL, nr INTEGER NOT NULL, -- nr of the attempt, 1 first
  node INTEGER NOT NULL, nodes INTEGER NOT NULL, -- so many in a row from that one on: v_placements has them one by one
  pods INTEGER NOT NULL, mgpu INTEGER NOT NULL, devices INTEGER, -- on each of them
  start_ms INTEGER NOT NULL, end_ms INTEGER, -- NULL: held when the run ended; in rounds later than the job's end
  ask INTEGER NOT NULL              -- nr in "ask" of the job's shape
);
CREATE TABLE eviction(               -- of a whole job, or of some pods of one that goes on
  job INTEGER NOT NULL, at_ms INTEGER NOT NULL, gone_ms INTEGER NOT NULL, -- gone: the end of the grace
  cause TEXT NOT NULL, pods INTEGER NOT NULL, whole INTEGER NOT NULL,
  for_job INTEGER,                  -- for whose sake; NULL: not told
  -- whether that job's next pods took some of the room. NULL: not told for whose sake, or it got no pods since
  -- and the run was cut before a cycle that found the room free
  used INTEGER,
  moved INTEGER NOT NULL            -- of the pods, those that the same decision gave another place
);
CREATE TABLE suspension(             -- times in which a job kept what it held, except for its CPU, and made no progress
  job INTEGER NOT NULL, from_ms INTEGER NOT NULL,
  to_ms INTEGER,                    -- it went on, was evicted or ended; NULL: suspended when the run ended
  for_job INTEGER                   -- for whose sake; NULL: the policy named none
);
CREATE TABLE outage(                 -- of nodes
  node INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER -- NULL: down at the end
);
CREATE TABLE cordon(                 -- times in which a node took nothing new, before it was empty (`outage`, `away`) or took again
  node INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER -- NULL: to the end of the run
);
CREATE TABLE away(                   -- times in which a node was not part of the cluster: neither down nor idle
  node INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER -- NULL: to the end of the run
);
CREATE TABLE job_time(
  -- What became of the GPU time of a job, mGPU x ms; the sum of all but slow and idle is what it held.
  -- Only jobs of which some was not useful, or useful at less than the best rate.
  job INTEGER PRIMARY KEY,
  useful INTEGER NOT NULL,
  preempt INTEGER NOT NULL, reclaim INTEGER NOT NULL, consolidate INTEGER NOT NULL, -- lost, by cause
  stale_gang INTEGER NOT NULL, node_failure INTEGER NOT NULL, max_runtime INTEGER NOT NULL,
  maintenance INTEGER NOT NULL, pods_not_ready INTEGER NOT NULL,
  checkpoint INTEGER NOT NULL, restart INTEGER NOT NULL, -- overhead
  waiting INTEGER NOT NULL,         -- held by pods while the rest of the gang had no place, until the round ended, or while the job was suspended
  slow INTEGER NOT NULL,            -- of useful: what a rate below the best for its GPUs took away
  idle INTEGER NOT NULL             -- of the rest of useful: what a session or a service's replica left idle
);
CREATE TABLE waste(
  -- Between two times so much of what the job held was of no use, evenly: lost, overhead or waiting, as in job_time.
  job INTEGER NOT NULL,
  part TEXT NOT NULL,               -- the cause that lost it, in the words of eviction; or checkpoint, restart, waiting
  from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,
  mgpu_ms INTEGER NOT NULL          -- mGPU x ms
);
CREATE TABLE unused(
  -- Between two times so much of the useful time of the job was slow or idle, evenly, as in job_time; but for sessions,
  -- which are idle for the same part of all the time that they work.
  job INTEGER NOT NULL,
  part TEXT NOT NULL,               -- slow; idle: of a service, before the window, in it or after it
  from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,
  mgpu_ms INTEGER NOT NULL          -- mGPU x ms
);
CREATE TABLE rate(
  -- From at_ms on, while it worked, the job progressed so fast. Only of jobs with a profile, and of those
  -- that shared the time of a device. Epochs of a profile are not in it.
  job INTEGER NOT NULL, nr INTEGER NOT NULL, at_ms INTEGER NOT NULL, -- nr of the attempt
  rate_ppm INTEGER NOT NULL,        -- of its profile's reference; 1000000: the work takes as long as stated
  best_ppm INTEGER NOT NULL,        -- of so many GPUs of that model packed, with nobody beside
  extent TEXT NOT NULL,             -- narrowest that holds its GPUs: gpu, nvlink, node, a topology level, cluster
  own_ppm INTEGER NOT NULL          -- what it would do where it is with nobody beside
);
CREATE TABLE reason_change(          -- from at_ms on, the job waits for this reason
  job INTEGER NOT NULL, at_ms INTEGER NOT NULL, reason INTEGER NOT NULL,
  -- the numbers that prove it, as they were then; NULL: says nothing here
  allowed_mgpu INTEGER,              -- the limit, quota or part that binds ...
  held_mgpu INTEGER,                 -- ... what counted against it ...
  queue INTEGER,                     -- ... and whose it is
  free_mgpu INTEGER,                 -- free on the nodes it may use
  hole_mgpu INTEGER,                 -- most whole devices free on one of them
  level TEXT,                        -- the topology level it requires ...
  domain INTEGER,                    -- ... the domain of it with the most whole devices free ...
  domain_mgpu INTEGER,               -- ... and how many
  ahead INTEGER,                     -- the job that is served before it
  consolidation INTEGER, reclaim INTEGER, preempt INTEGER, -- how each search for victims ended: see `outcome`
  claim_mgpu INTEGER                 -- what counted against its queue's fair share of GPUs as that kept it from reclaim
);
CREATE TABLE outcome(                -- ways a search for victims ends
  id INTEGER PRIMARY KEY, code TEXT NOT NULL, words TEXT NOT NULL
);
CREATE TABLE reason(                 -- why jobs wait
  id INTEGER PRIMARY KEY, code TEXT NOT NULL, words TEXT NOT NULL
);
CREATE TABLE fair_share(              -- what the policy itself takes for a leaf queue's fair share from at_ms on
  queue INTEGER NOT NULL, at_ms INTEGER NOT NULL,
  mgpu REAL                         -- NULL: it has none any more. No rows: the policy knows no fair shares
);
CREATE TABLE fair_share_of(           -- the same of CPU (milli-CPU) and memory (bytes), of a resource that jobs ask for,
  -- some queue has a quota or limit of (queue_bound) and no node has without limit
  queue INTEGER NOT NULL, at_ms INTEGER NOT NULL,
  resource TEXT NOT NULL, amount REAL -- cpu or memory; NULL: it has none any more
);
CREATE TABLE series(
  -- Means over buckets of run.series_ms, exact integrals divided by the bucket's length.
  at_ms INTEGER NOT NULL,           -- start of the bucket
  queue INTEGER NOT NULL,           -- leaf
  allocated_mgpu REAL NOT NULL,
  pending_mgpu REAL NOT NULL,       -- asked for and not held: by jobs that wait, and by those that run of the pods they lack
  pending_jobs REAL NOT NULL,
  share_mgpu REAL NOT NULL,         -- demand-capped weighted max-min share, by an oracle apart from the policy
  policy_share_mgpu REAL            -- the policy's own fair share (fair_share); NULL: it has none
);
CREATE TABLE room(                    -- free GPUs, means over buckets of run.series_ms
  at_ms INTEGER NOT NULL,           -- start of the bucket
  idle_mgpu REAL NOT NULL,          -- free devices, of nodes that are up and not cordoned; MIG instances are not in it
  unusable_mgpu REAL NOT NULL       -- of that, what a typical task could not use (FGD): see v_typical
);
CREATE TABLE startable(              -- devices of the largest gang of whole nodes that could start in one domain
  at_ms INTEGER NOT NULL,           -- start of the bucket
  level TEXT NOT NULL,              -- cluster (of each shard), a level of the topology, node (most GPUs free on one)
  mean_gpus REAL NOT NULL, least_gpus INTEGER NOT NULL
);
CREATE TABLE metric(
  -- scope: all, pool, queue, shard, rule, kind, size, level, cause, phase (outside the window), action, workload
  name TEXT NOT NULL, scope TEXT NOT NULL, label TEXT NOT NULL,
  value REAL, unit TEXT NOT NULL, n INTEGER NOT NULL,           -- n: jobs or parts the value rests on
  definition TEXT NOT NULL,
  better TEXT NOT NULL,             -- less, more; '': neither
  at_least REAL                     -- of a quantile that was not reached: it is no less than this; else NULL
);
CREATE TABLE expectation(           -- what the scenario expects of the run (`expect:`)
  nr INTEGER PRIMARY KEY, text TEXT NOT NULL,   -- as written
  value REAL,                       -- what the metric came to; NULL: no number (a quantile that was not reached)
  holds INTEGER                     -- 1 or 0; NULL: the run has no such metric
);
