/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/metrics.h>

#include <stdio.h>
#include <string.h>

#include <orrery/base/status.h>
#include <orrery/base/text.h>

#define LESS     ORR_BETTER_LESS
#define MORE     ORR_BETTER_MORE
#define NONE     ORR_BETTER_NEITHER

#define HEADLINE ORR_METRIC_HEADLINE
#define GATED    ORR_METRIC_GATED
#define ZERO     ORR_METRIC_GATED_ZERO
#define WHATIF   ORR_METRIC_WHATIF
#define QUEUES   ORR_METRIC_WHATIF_QUEUE
#define PARTS    ORR_METRIC_WHATIF_WORKLOAD
#define HARM     ORR_METRIC_HARM
#define SAID     ORR_METRIC_SAID
#define WHOLE    ORR_METRIC_WHOLE_QUEUE
#define PERCENT  ORR_METRIC_SHARE
#define LEAST_1  ORR_METRIC_AT_LEAST_1
#define MOST_1   ORR_METRIC_AT_MOST_1
#define SHARE    (PERCENT | MOST_1)
#define SIGNED   ORR_METRIC_BELOW_0
#define PAIRS    ORR_METRIC_PAIRS
#define OF_ALL   ORR_METRIC_OF_CAPACITY
#define CARD     ORR_METRIC_CARD
#define BY_QUOTA ORR_METRIC_BY_QUOTA
#define ABSENT_0 ORR_METRIC_ABSENT_0
#define CARD_IF  (ORR_METRIC_CARD | ORR_METRIC_CARD_IF)

/* The order is that of the table people read: jobs, waits, completion, use, fairness, evictions. */
const struct orr_metric_def orr_metric_table[] = {
    {"jobs", "jobs", NONE, CARD, "jobs", "all, shard; queue",
     "taken from the traces; of a queue: submitted in the window"},
    {"finished", "jobs", MORE, 0, "finished", "all, shard", "ended before the run did"},
    {"unfinished", "jobs", LESS, ZERO | CARD, "jobs that had not ended", "all",
     "jobs minus finished, of the run"},
    {"unstarted", "jobs", LESS, HEADLINE | ZERO | WHATIF | QUEUES | HARM | SAID,
     "jobs that never started", "all, queue, kind, size, shard",
     "submitted in the window and never started, though they could have: waits are censored then"},
    {"never_startable", "jobs", LESS,
     ORR_METRIC_CERTAIN | ABSENT_0 | HEADLINE | ZERO | WHATIF | QUEUES | HARM | SAID,
     "jobs that never could start", "all, queue, kind, size, shard, where the run has some",
     "submitted in the window and never could have started, were the cluster empty (table never): "
     "beside those that waits are of, and in no quantile"},
    {"gave_up", "jobs", LESS, PARTS, "jobs that gave up",
     "all, queue, kind, size, shard, workload, where somebody may",
     "submitted in the window, and left before they started; unstarted and unfinished hold them "
     "too"},
    {"gave_up_share", "1", LESS, SHARE, "share of jobs that gave up", "workload, so",
     "gave_up / jobs with a limit to their patience"},
    {"wait_mean_s", "s", LESS, HEADLINE | GATED | WHATIF | QUEUES | SAID, "mean wait",
     "all, queue, kind, size, shard",
     "mean over jobs that started of the first start of the whole gang minus submit (or the end of "
     "a hold)"},
    {"wait_p50_s", "s", LESS, HEADLINE | CARD, "median wait", "all, queue, kind, size, shard",
     "first start minus submit, nearest rank (Kaplan-Meier when some never started)"},
    {"wait_p95_s", "s", LESS, HEADLINE | GATED | WHATIF | QUEUES | HARM | SAID | CARD, "p95 wait",
     "all, queue, kind, size, shard",
     "first start minus submit, nearest rank (Kaplan-Meier when some never started)"},
    {"wait_p99_s", "s", LESS, HEADLINE, "p99 wait", "all, queue, kind, size, shard",
     "first start minus submit, nearest rank (Kaplan-Meier when some never started)"},
    {"wait_max_s", "s", LESS, HEADLINE | CARD, "longest wait that ended",
     "all, queue, kind, size, shard", "longest wait of a job that started"},
    {"wait_gpu_weighted_s", "s", LESS, 0, "mean wait by GPUs", "all",
     "mean wait of jobs that started, each by the GPUs it asks for"},
    {"wait_full_mean_s", "s", LESS, 0, "mean wait for all pods", "all, where jobs are elastic",
     "mean from submit to the first time an elastic job has all its pods; wait_* tells of its "
     "gang"},
    {"wait_full_p50_s", "s", LESS, 0, "median wait for all pods", "all, where jobs are elastic",
     "submit to the first time an elastic job has all its pods, nearest rank (Kaplan-Meier when "
     "some did not yet)"},
    {"wait_full_p95_s", "s", LESS, 0, "95 % wait for all pods", "all, where jobs are elastic",
     "submit to the first time an elastic job has all its pods, nearest rank (Kaplan-Meier when "
     "some did not yet)"},
    {"jct_mean_s", "s", LESS, HEADLINE | GATED | WHATIF | QUEUES | HARM | SAID | CARD, "mean JCT",
     "all, queue, kind; services left out", "mean of end minus submit of those that ended"},
    {"jct_p50_s", "s", LESS, 0, "median completion time", "all, queue, kind; services left out",
     "end minus submit of jobs of the window, nearest rank (Kaplan-Meier when some never ended)"},
    {"jct_p95_s", "s", LESS, 0, "95 % completion time", "all, queue, kind; services left out",
     "end minus submit of jobs of the window, nearest rank (Kaplan-Meier when some never ended)"},
    {"jct_p99_s", "s", LESS, 0, "99 % completion time", "all, queue, kind; services left out",
     "end minus submit of jobs of the window, nearest rank (Kaplan-Meier when some never ended)"},
    {"jct_ratio_geomean", "1", LESS, HEADLINE | PAIRS, "jobs took so many times as long",
     "of a pair of runs: compare, whatif",
     "geometric mean over jobs that ended in both runs of (end - submit) over that of the base"},
    {"makespan_s", "s", LESS, HEADLINE | SIGNED, "last job ended at", "all",
     "time at which the last finished job ended, on the trace's clock"},
    {"bsld_mean", "1", LESS, HEADLINE | GATED | LEAST_1, "mean bounded slowdown",
     "all, kind; services left out",
     "mean of max(1, (end - submit) / max(run time, 10 s)) (Feitelson and Rudolph 1998)"},
    {"bsld60_mean", "1", LESS, LEAST_1, "mean bounded slowdown (60 s)",
     "all, kind; services left out", "mean of max(1, (end - submit) / max(run time, 60 s))"},
    {"bsld_per_gpu_mean", "1", LESS, LEAST_1, "mean bounded slowdown by GPU", "all",
     "mean of max(1, (end - submit) / (max(1, GPUs) x max(run time, 10 s)))"},
    {"stall_h", "h", LESS, 0, "time between attempts", "all, queue, kind",
     "jobs x time from the end of an attempt that was cut short to the next start, of the run"},
    {"batch_mean_s", "s", LESS, 0, "mean time of a batch", "all, where jobs have groups",
     "mean from the first submit to the end of the last job of a group, of groups that ended; "
     "first submit in the window"},
    {"batch_p50_s", "s", LESS, 0, "median time of a batch", "all, where jobs have groups",
     "first submit to the end of the last job of a group, nearest rank (Kaplan-Meier when some did "
     "not end)"},
    {"batch_p95_s", "s", LESS, 0, "95 % time of a batch", "all, where jobs have groups",
     "first submit to the end of the last job of a group, nearest rank (Kaplan-Meier when some did "
     "not end)"},
    {"batch_max_s", "s", LESS, 0, "longest time of a batch", "all, where jobs have groups",
     "longest time from the first submit to the end of the last job of a group, of groups that "
     "ended"},
    {"batches_open", "groups", LESS, 0, "open batches", "all, where jobs have groups",
     "groups whose first job was submitted in the window, of which some job did not end"},
    {"deadline_met", "1", MORE, SHARE, "deadlines met", "all, workload, where jobs have deadlines",
     "share of jobs of the window with a deadline that ended by it, of those decided"},
    {"deadlines_missed", "jobs", LESS, 0, "deadlines missed",
     "all, workload, where jobs have deadlines",
     "jobs that ended after their deadline, had not ended when it was over, left, or never could "
     "have started"},
    {"deadlines_open", "jobs", NONE, 0, "deadlines open",
     "all, workload, where jobs have deadlines",
     "jobs that had not ended when the run did, with time left, and could have started"},
    {"lateness_mean_s", "s", LESS, SIGNED, "mean lateness",
     "all, workload, where jobs have deadlines",
     "mean of end minus deadline (below 0: early) of those that ended"},
    {"lateness_p50_s", "s", LESS, SIGNED, "median lateness",
     "all, workload, where jobs have deadlines",
     "end minus deadline, nearest rank (Kaplan-Meier when some had not ended)"},
    {"lateness_p95_s", "s", LESS, SIGNED, "95 % lateness",
     "all, workload, where jobs have deadlines",
     "end minus deadline, nearest rank (Kaplan-Meier when some had not ended)"},
    {"lateness_max_s", "s", LESS, SIGNED, "most lateness",
     "all, workload, where jobs have deadlines",
     "end minus deadline of the latest of those that ended"},
    {"tardiness_mean_s", "s", LESS, 0, "mean tardiness", "all, workload, where jobs have deadlines",
     "mean of max(0, end - deadline) of those that ended"},
    {"attainment", "1", MORE, PARTS | HARM | SAID | SHARE, "objective met",
     "workload, where it states an objective",
     "share of jobs submitted in the window that started within the objective; of a service: of "
     "requests from the window on that were served within it"},
    {"requests", "requests", NONE, 0, "requests", "workload, of a service",
     "offered from the window on"},
    {"requests_late", "requests", LESS, PARTS, "requests late", "workload, of a service",
     "served, but not within the objective"},
    {"requests_dropped", "requests", LESS, PARTS | HARM, "requests dropped",
     "workload, of a service", "not served: their patience ended while they were in line"},
    {"requests_waiting", "requests", LESS, PARTS, "requests waiting", "workload, of a service",
     "in line as the run ended: neither in time, late nor dropped"},
    {"capacity_gpu_h", "GPU-h", NONE, 0, "GPU-hours of the cluster",
     "all, where nodes join or leave",
     "GPU time of nodes that were part of the cluster, up or down, in the window"},
    {"gpu_available", "1", NONE, SHARE, "GPU time available", "all",
     "GPU time of nodes that were not down / that of nodes that were part of the cluster, in the "
     "window"},
    {"gpu_occupancy", "1", MORE, HEADLINE | WHATIF | SAID | SHARE | OF_ALL | CARD, "GPU time held",
     "all, shard", "allocated GPU time / available GPU time, in the window"},
    {"gpu_touched", "1", MORE, SHARE | OF_ALL, "GPU time touched",
     "all, where jobs ask for parts of GPUs",
     "time of GPUs that held something, however little, and of held MIG instances / available GPU "
     "time, in the window"},
    {"cpu_occupancy", "1", MORE, SHARE | OF_ALL, "CPU time held",
     "all, where nodes have a limit, jobs ask",
     "allocated CPU time, without that of suspended jobs, / CPU time of nodes that were up, of "
     "nodes with a limit to it, in the window"},
    {"mem_occupancy", "1", MORE, SHARE | OF_ALL, "memory held",
     "all, where nodes have a limit, jobs ask",
     "allocated memory x time / memory x time of nodes that were up, of nodes with a limit to it, "
     "in the window"},
    {"mig_occupancy", "1", MORE, SHARE | OF_ALL, "MIG instances held",
     "all, where nodes have MIG instances",
     "MIG instances held x time / MIG instances of nodes that were up x time, in the window; an "
     "instance counts as many GPUs as the g of its profile"},
    {"gpu_goodput", "1", MORE, HEADLINE | GATED | WHATIF | SAID | SHARE | OF_ALL | CARD,
     "GPU time useful", "all, shard",
     "useful GPU time at the best rate / available GPU time, in the window, at most occupancy: "
     "training less what a slower rate took away, sessions times busy, services' requests times "
     "their service time; what was lost, overhead, waiting, slow or idle is where it was (tables "
     "waste, unused)"},
    {"throughput_gpus", "GPU", MORE, 0, "throughput", "all",
     "run time at rate 1 x GPUs of jobs that ended in the window / its length: work in GPUs of the "
     "reference speed; services left out"},
    {"gpu_h", "GPU-h", NONE, 0, "GPU-hours held", "queue",
     "held in the window by the queue's jobs of this kind, those submitted before it too"},
    {"phase_h", "h", NONE, 0, "length of the phase", "phase (warm-up, drain), where the run has it",
     "from the first submit to the window, or from the window to the last event"},
    {"phase_gpu_h", "GPU-h", NONE, 0, "GPU-hours of the phase", "phase", "held in it"},
    {"phase_gpu_available", "1", NONE, SHARE, "GPU time available in the phase", "phase",
     "GPU time of nodes that were not down / GPU time, in it"},
    {"phase_gpu_occupancy", "1", NONE, SHARE, "GPU time held in the phase", "phase",
     "allocated GPU time / available GPU time, in it"},
    {"phase_gpu_goodput", "1", NONE, SHARE, "GPU time useful in the phase", "phase",
     "useful GPU time at the best rate / available GPU time, in it, as in gpu_goodput"},
    {"phase_finished", "jobs", NONE, 0, "finished in the phase", "phase",
     "jobs that ended in it, of those that ended"},
    {"idle_gpus_mean", "GPU", NONE, 0, "free GPUs", "all",
     "free devices of nodes that are up and not cordoned, mean over the window; MIG instances are "
     "not in it"},
    {"unusable_gpus_mean", "GPU", LESS, 0, "free GPUs of no use", "all",
     "fragmentation (FGD, Weng et al., ATC'23): of the devices that are free, what a typical task "
     "could not use, mean over the most frequent kinds of task that make 95 % of the trace's (view "
     "v_typical), and over the window; MIG instances, and tasks that ask them, are not in it"},
    {"unusable_of_idle", "1", LESS, SHARE, "share of free GPUs of no use", "all",
     "unusable_gpus_mean / idle_gpus_mean, integral over integral"},
    {"startable_gang_mean_gpus", "GPU", MORE, 0, "largest gang that could start", "level",
     "GPUs of nodes that are up, not cordoned, and have all GPUs free, in the domain of the level "
     "that has most, mean over the window, without evictions and ignoring quota; of level node: "
     "most GPUs free on one; devices, MIG instances are not in it"},
    {"startable_gang_least_gpus", "GPU", MORE, 0, "largest gang that could start, at worst",
     "level", "the least of startable_gang_mean_gpus in the window"},
    {"gangs_within", "1", NONE, SHARE, "share of gangs within", "level",
     "share of gangs (jobs of the window that held two GPUs or more) whose last attempt began "
     "inside one NVLink domain, node, domain of a level, or wider (cluster), and inside nothing "
     "narrower"},
    {"node_load_max_over_mean", "1", NONE, LEAST_1, "load of the busiest node over the mean", "all",
     "share of GPU time held of the busiest node / mean over nodes, in the window"},
    {"node_load_cv", "1", NONE, 0, "spread of the load of nodes", "all",
     "standard deviation / mean over nodes of the share of GPU time held, in the window"},
    {"fairness_jain", "1", MORE, HEADLINE | GATED | SAID | CARD | BY_QUOTA | MOST_1,
     "Jain's index (1: fair)", "all, shard",
     "Jain's index of allocated / entitled GPU time over queues with demand (equality); entitled: "
     "weighted max-min of demands but those of jobs that can never start, of what is up, by an "
     "oracle apart from the policy, which knows no partitions and no nodes that jobs are bound to"},
    {"fairness_satisfaction", "1", MORE, MOST_1, "Jain's index, capped", "all, shard",
     "fairness_jain with the ratio capped at 1"},
    {"user_fairness_jain", "1", MORE, MOST_1, "Jain's index of users",
     "all, where users have names",
     "Jain's index over users of GPU time held / (held + asked for by jobs that waited, but those "
     "that can never start), in the window"},
    {"share_deviation", "1", LESS, HEADLINE | SHARE | BY_QUOTA, "deviation from fair share",
     "all, shard",
     "integral of sum over queues of |allocated - entitled| / (2 x available GPU time), in the "
     "window"},
    {"cpu_share_deviation", "1", LESS, SHARE, "deviation from fair share of CPU",
     "all, shard, where queues have quotas or limits of CPU and all nodes a limit",
     "share_deviation of CPU, from the same oracle; a suspended job's CPU counts as its queue's"},
    {"mem_share_deviation", "1", LESS, SHARE, "deviation from fair share of memory",
     "all, shard, where queues have quotas or limits of memory and all nodes a limit",
     "share_deviation of memory, from the same oracle"},
    {"policy_share_deviation", "1", LESS, PERCENT, "deviation from the policy's own shares",
     "all, shard, where the policy has fair shares",
     "integral of sum over queues of |allocated - the fair share the policy itself goes by, as of "
     "its last cycle (table fair_share)| / (2 x capacity x window), over queues that have one"},
    {"policy_cpu_share_deviation", "1", LESS, PERCENT, "deviation from the policy's shares of CPU",
     "all, shard, where fair_share_of has rows of CPU",
     "policy_share_deviation of CPU, over nodes of the shards whose policy has such shares; KAI's "
     "may add up to more than there is, and this to more than 1"},
    {"policy_mem_share_deviation", "1", LESS, PERCENT,
     "deviation from the policy's shares of memory",
     "all, shard, where fair_share_of has rows of memory",
     "policy_share_deviation of memory, over nodes of the shards whose policy has such shares; "
     "KAI's may add up to more than there is, and this to more than 1"},
    {"share_mean", "GPU", NONE, WHOLE, "fair share", "queue",
     "mean GPUs that the whole queue was entitled to in the window, by the oracle"},
    {"policy_share_mean", "GPU", NONE, WHOLE, "fair share by the policy",
     "queue, where the policy has fair shares",
     "mean in the window of the fair share of the whole queue that the policy itself goes by"},
    {"quota_debt_gpu_h", "GPU-h", LESS, HEADLINE | WHATIF | QUEUES | SAID | WHOLE | CARD | BY_QUOTA,
     "GPU-hours owed within quota", "all, queue, shard",
     "integral of max(0, min(demand, quota) - allocated) over whole queues, in the window: the sum "
     "of the three that follow"},
    {"quota_debt_impossible_gpu_h", "GPU-h", LESS, WHOLE | BY_QUOTA,
     "quota debt that nothing could pay", "all, queue, shard",
     "part of quota_debt_gpu_h: more than the queue could hold on the empty cluster, by its limits "
     "and the sizes of its pods (pods of 3 fill 6 of 8 GPUs), or asked for by jobs that can never "
     "start"},
    {"quota_debt_down_gpu_h", "GPU-h", LESS, WHOLE | BY_QUOTA, "quota debt while nodes were down",
     "all, queue, shard", "part of the rest: while nodes of its shard were down"},
    {"quota_debt_blocked_gpu_h", "GPU-h", LESS, WHOLE | BY_QUOTA,
     "quota debt that others were in the way of", "all, queue, shard",
     "the rest of quota_debt_gpu_h, the policy's own: while others, or their placement, were in "
     "the way"},
    {"starvation_p99_s", "s", LESS, BY_QUOTA, "99 % starvation at most", "all",
     "time a job waited (again after evictions) while its queue would have been within its quota "
     "with it, of jobs that fit into the quota; nearest rank (Kaplan-Meier when some wait still)"},
    {"starvation_max_s", "s", LESS, BY_QUOTA, "longest starvation", "all",
     "most time a job waited while its queue would have been within its quota with it; of jobs "
     "that wait still, so far"},
    {"starved", "jobs", LESS, BY_QUOTA, "starved jobs", "all",
     "jobs that waited at all while their queue would have been within its quota with them"},
    {"ftf_quota_max", "1", LESS, BY_QUOTA, "most finish-time unfairness by quota", "all",
     "most of (end - submit) / time alone on its queue's quota (run time x max(1, GPUs / quota); "
     "where there is no quota GPUs of nodes that were part of the cluster, mean over the job's "
     "life)"},
    {"ftf_quota_p95", "1", LESS, BY_QUOTA, "95 % finish-time unfairness by quota", "all",
     "95 % quantile (nearest rank) of what ftf_quota_max is the most of"},
    {"ftf_quota_above", "1", LESS, SHARE | BY_QUOTA, "jobs unfairly late by quota", "all",
     "share of jobs of queues with a quota for which it is above 1"},
    {"ftf_themis_max", "1", LESS, 0, "most finish-time unfairness (Themis)", "all",
     "most of (end - submit) / (run time x max(1, jobs / GPUs)), jobs: submitted and not ended in "
     "the shard, GPUs: of nodes that were part of it, means over the job's life (Themis, NSDI'20)"},
    {"ftf_themis_p95", "1", LESS, 0, "95 % finish-time unfairness (Themis)", "all",
     "95 % quantile (nearest rank) of what ftf_themis_max is the most of"},
    {"ftf_themis_above", "1", LESS, SHARE, "jobs unfairly late (Themis)", "all",
     "share of jobs for which it is above 1"},
    {"ftf_shockwave_max", "1", LESS, 0, "most finish-time unfairness (Shockwave)", "all",
     "most of (end - submit) / (run time x max(1, jobs / GPUs)), jobs: all that were submitted in "
     "the run, GPUs: of nodes that were part of the cluster, mean over the run (Shockwave, "
     "NSDI'23)"},
    {"ftf_shockwave_p95", "1", LESS, 0, "95 % finish-time unfairness (Shockwave)", "all",
     "95 % quantile (nearest rank) of what ftf_shockwave_max is the most of"},
    {"ftf_shockwave_above", "1", LESS, SHARE, "jobs unfairly late (Shockwave)", "all",
     "share of jobs for which it is above 1"},
    {"evictions", "evictions", LESS, HEADLINE | WHATIF | QUEUES | CARD, "evictions",
     "all, queue, shard",
     "attempts of whole jobs ended early, by whatever cause (table eviction), of the run"},
    {"partial_evictions", "evictions", LESS, 0, "evictions of parts", "all",
     "evictions of some pods of a job that went on, of the run: what it lost at one instant for "
     "one cause and one job is one, on however many nodes; not of a gang that went as a whole at "
     "that instant"},
    {"wasted_evictions", "evictions", LESS, 0, "wasted evictions", "all",
     "made for a job whose next pods took none of the room; not of those for which the run was cut "
     "before a cycle that found the room free"},
    {"evictions_per_1000_gpu_h", "evictions/1000 GPU-h", LESS, 0, "evictions by 1000 GPU-hours",
     "all", "evictions of whole jobs by GPU time held, of the run"},
    {"ping_pong_evictions", "evictions", LESS, 0, "evictions soon after another", "all",
     "of a whole job within 1 h of its last one, of the run"},
    {"suspensions", "suspensions", LESS, 0, "suspensions", "all, where jobs are suspended",
     "of jobs that keep all they hold but their CPU (table suspension), of the run"},
    {"suspended_h", "h", LESS, 0, "hours that jobs were suspended", "all, where jobs are suspended",
     "sum over these suspensions, to the end of the run where they last, of the run"},
    {"lost_gpu_h", "GPU-h", LESS, HEADLINE | SAID | CARD, "GPU-hours lost",
     "all, queue, shard, cause", "held for work that was lost, or in a grace, of the run"},
    {"checkpoint_gpu_h", "GPU-h", LESS, 0, "GPU-hours writing checkpoints", "all",
     "held while checkpoints were written, of the run"},
    {"restart_gpu_h", "GPU-h", LESS, 0, "GPU-hours starting again", "all",
     "held while jobs started again, of the run"},
    {"gang_wait_gpu_h", "GPU-h", LESS, 0, "GPU-hours waiting for a gang", "all",
     "held by pods of gangs that were not complete yet, of jobs that were not bound yet, until "
     "their round ended, or while they were suspended, of the run"},
    {"slow_gpu_h", "GPU-h", LESS, 0, "GPU-hours taken by slow rates",
     "all, where jobs have profiles or share devices",
     "useful GPU time that rates below the best took away: spread, links, neighbours"},
    {"idle_gpu_h", "GPU-h", LESS, 0, "GPU-hours held idle",
     "all, where sessions state busy or there are services",
     "useful GPU time that sessions and services' replicas held without using it"},
    {"topology_penalty_gpu_h", "GPU-h", LESS, 0, "GPU-hours taken by places",
     "all, where jobs have rates",
     "GPU time held in the window x (1 - rate where the job was, with nobody beside / best rate of "
     "so many GPUs of that model)"},
    {"rate_spread", "1", LESS, LEAST_1, "spread of rates",
     "all, where 20 jobs of a shape have rates",
     "95 % / 5 % quantile (nearest rank) of mean rate / best rate of jobs of one shape, of shapes "
     "that 20 jobs of the window have, mean over their jobs: 1 is consistent"},
    {"rate_spread_max", "1", LESS, LEAST_1, "most spread of rates",
     "all, where 20 jobs of a shape have rates", "rate_spread of the shape where it is the most"},
    {"broken_promises", "jobs", LESS, 0, "broken promises",
     "all, under easy where the audit judges it",
     "jobs that overtook the first in line and moved the first instant at which it would fit, by "
     "estimates (rule promise of the audit), of those that overtook"},
    {"promise_delay_max_s", "s", LESS, 0, "longest delay by a broken promise",
     "all, under easy where the audit judges it",
     "the most that a job that overtook moved the start of the first in line"},
    {"cost", "price", LESS, 0, "cost", "all, pool, where a pool has a price",
     "node-hours that were part of the cluster x price of a node-hour, of pools that have one, in "
     "the window"},
    {"run_cost", "price", LESS, WHATIF, "cost of the run", "all, pool, where a pool has a price",
     "node-hours that were part of the cluster x price of a node-hour, of pools that have one, of "
     "the run"},
    {"cost_per_useful_gpu_h", "price/GPU-h", LESS, WHATIF | CARD_IF, "cost of a useful GPU-hour",
     "all, where a pool has a price",
     "cost / useful GPU-hours, in the window, as in gpu_goodput; NULL where a pool that has nodes "
     "states no price"},
    {"energy_kwh", "kWh", LESS, 0, "energy", "all, pool, where a pool states its power",
     "integral over nodes that are up, of pools that state them, of idle_power + (full_power - "
     "idle_power) x part of the node's GPUs that is held (graces and other schedulers' pods "
     "included), in the window"},
    {"run_energy_kwh", "kWh", LESS, 0, "energy of the run",
     "all, pool, where a pool states its power", "energy_kwh of the run"},
    {"energy_kwh_per_useful_gpu_h", "kWh/GPU-h", LESS, CARD_IF, "kWh for a useful GPU-hour",
     "all, where a pool states its power",
     "energy_kwh / useful GPU-hours, in the window, as in gpu_goodput; NULL where a pool that has "
     "nodes states no power"},
    {"node_h", "node-h", NONE, 0, "node-hours", "pool, where nodes join or leave or have a price",
     "time of nodes that were part of the cluster, up or down, in the window"},
    {"nodes_joined", "nodes", NONE, 0, "nodes that joined", "pool, where nodes join or leave",
     "times a node joined the cluster, of the run"},
    {"nodes_left", "nodes", NONE, 0, "nodes that left", "pool, where nodes join or leave",
     "times a node left the cluster, of the run"},
    {"ruled_jobs", "jobs", NONE, 0, "jobs that a rule bites", "rule",
     "jobs that a rule of their queue bites (table rule)"},
    {"tied_starts", "jobs", NONE, 0, "starts that hung on the order of rows", "all",
     "first starts of jobs of the window that hung on the order of rows: another job that came at "
     "the same time (kai: the same second), of equal rank in all that the policy's order looks at "
     "(priority, deadline, run time or estimate), later in the trace and asking for no more GPUs, "
     "waited on"},
    {"coincident_starts", "jobs", NONE, 0, "starts in the instant of an end", "all",
     "first starts in the instant the job came, on a node that another job's pods left in that "
     "instant"},
    {"scenarios_simulated", "scenarios", NONE, 0, "sets of victims tried", "all, action, under kai",
     "sets of victims whose eviction and new placement were simulated, of the run; not those shown "
     "to be hopeless beforehand"},
    {"scheduler_busy", "1", LESS, PERCENT, "time in cycles", "all, with policy.latency",
     "time the scheduler's cycles took / time from the first submit to the end of the run"},
    {"scheduler_busy_s", "s", LESS, 0, "time of all cycles", "all, with policy.latency",
     "time the scheduler's cycles took"},
    {"cycle_max_s", "s", LESS, 0, "longest cycle", "all, with policy.latency", "longest cycle"},
    {"cycles_behind", "cycles", LESS, 0, "late cycles", "all, with policy.latency",
     "cycles that began after they were due, because the one before was not over"},
    {"cycle_delay_max_s", "s", LESS, 0, "longest delay of a cycle", "all, with policy.latency",
     "longest time from when a cycle was due to its begin"},
    {"decision_delay_max_s", "s", LESS, 0, "longest delay of a decision",
     "all, with policy.latency",
     "longest time from the begin of a cycle to the effect of one of its decisions"},
    {NULL, NULL, NONE, 0, NULL, NULL, NULL}};

const struct orr_metric_def *orr_metric_find(const char *name)
{
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        if (strcmp(m->name, name) == 0) {
            return m;
        }
    }
    return NULL;
}

const char *orr_metric_name(const char *name)
{
    const struct orr_metric_def *m = orr_metric_find(name);
    ORR_ASSERT(m != NULL);
    return m->name;
}

enum orr_better orr_metric_better(const char *name)
{
    const struct orr_metric_def *m = orr_metric_find(name);
    return m != NULL ? m->better : ORR_BETTER_NEITHER;
}

void orr_metric_bound(const char *name, double *low, double *high)
{
    const struct orr_metric_def *m = orr_metric_find(name);
    if (m == NULL) {
        return;
    }
    const double least = (m->uses & ORR_METRIC_AT_LEAST_1) != 0 ? 1 : 0;
    if ((m->uses & ORR_METRIC_BELOW_0) == 0 && *low < least) {
        *low = least;
    }
    if ((m->uses & ORR_METRIC_AT_MOST_1) != 0 && *high > 1) {
        *high = 1;
    }
}

const char *orr_better_word(enum orr_better better)
{
    static const char *const words[] = {"", "less", "more"};
    return words[better];
}

bool orr_metric_is(const char *name, unsigned uses)
{
    const struct orr_metric_def *m = orr_metric_find(name);
    return m != NULL && (m->uses & uses) != 0;
}

const struct orr_metric_def *orr_metric_nearest(const char *name)
{
    enum { COUNT = sizeof orr_metric_table / sizeof *orr_metric_table - 1 };
    const char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = orr_metric_table[i].name;
    }
    const char *nearest = orr_nearest(name, names, COUNT);
    return nearest != NULL ? orr_metric_find(nearest) : NULL;
}

void orr_metric_unknown(const char *name, char *text, size_t bytes)
{
    const struct orr_metric_def *near = orr_metric_nearest(name);
    (void)snprintf(text, bytes, "no metric is called %.80s%s%s%s (`orrery metrics` lists them)",
                   name, near != NULL ? "; did you mean " : "", near != NULL ? near->name : "",
                   near != NULL ? "?" : "");
}
