/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_decides.c - keys of slurm.conf that decide something in Slurm and nothing here: a run names
 * them with what is not heeded, unless they say what is done here anyway. */
#include <orrery/base/text.h>

#include "slurm_conf_int.h"

/* Keys on any lines; values that say what is done here; what is done instead of others. */
static const struct {
    const char *names, *same, *why;
} keys[] = {
    {"SelectType", "select/cons_tres|select/cons_res",
     "is not heeded: nodes are chosen as select/cons_tres does"},
    {"TopologyPlugin", "topology/tree|topology/none|topology/default",
     "is not heeded: lines SwitchName= are a tree, and there is no other topology"},
    {"TopologyParam", "", "is not heeded: where there are lines SwitchName= all jobs go by them"},
    {"PrioritySiteFactorPlugin", "", "is not heeded: priorities have no factor of the site"},
    {"CompleteWait", "0", "is not heeded: nodes of a job that ends are free at once"},
    {"KillWait", "30",
     "is not heeded: who is evicted leaves at once, or behind execution.grace of the scenario"},
    {"OverTimeLimit", "0|NONE",
     "is not heeded: time limits end jobs at once where queues state time_limits: end, or never"},
    {"JobSubmitPlugins", "", "is not heeded: jobs come as their rows have them"},
    {"SuspendTime|PowerDownOnIdle", "-1|INFINITE|NO",
     "is not heeded: nodes are never powered down"},
    {"ResvOverRun|ReqResv", "0|NO", "is not heeded: reservations are unknown"},
    {"DefMemPerCPU|DefMemPerNode|DefMemPerGPU|MaxMemPerCPU|MaxMemPerNode", "0|UNLIMITED",
     "is not heeded: memory is what jobs state"},
    {"DefCpuPerGPU|JobDefaults", "", "is not heeded: CPUs and memory are what jobs state"},
    {"MaxCPUsPerSocket", "UNLIMITED", "is not heeded: jobs may have all CPUs of a socket"},
    {"AllowGroups|RootOnly", "ALL|NO",
     "is not heeded: users of any group may use the partition, unless AllowAccounts or AllowQos "
     "say which"},
    {"ExclusiveUser", "NO", "is not heeded: users share nodes"},
    {"CoreSpecCount|CpuSpecList|MemSpecLimit", "0",
     "is not heeded: what a node has is the cluster's"}};

const char *orr_slurm__decides(struct slurm_span name, struct slurm_span value)
{
    const char *why = NULL;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0] && why == NULL; k++) {
        if (orr_text_like(name.at, name.bytes, keys[k].names, true)) {
            why = orr_text_like(value.at, value.bytes, keys[k].same, true) ? "" : keys[k].why;
        }
    }
    return why;
}
