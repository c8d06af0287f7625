/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf.h - a slurm.conf in the form of what scontrol prints. */
#ifndef ORR_SIM_INTAKE_SLURM_CONF_H
#define ORR_SIM_INTAKE_SLURM_CONF_H

#include <stdio.h>

#include <orrery/traces/records.h>

/* Lines of KEY=VALUE and comments, with nodes, partitions or files that may have them. */
bool slurm_is_conf(struct orr_cell text);
/* Its nodes and partitions, a record a line. Of files that it includes only those that were put
 * there (orr_slurm_include). */
void slurm_conf_records(struct orr_cell text, FILE *out);

#endif
