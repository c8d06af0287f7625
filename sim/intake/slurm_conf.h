/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf.h - a slurm.conf in the form of what scontrol prints. */
#ifndef ORR_SIM_INTAKE_SLURM_CONF_H
#define ORR_SIM_INTAKE_SLURM_CONF_H

#include <stdio.h>

#include <orrery/traces/records.h>

/* Lines of KEY=VALUE and comments, with nodes or partitions among them. */
bool slurm_is_conf(struct orr_cell text);
/* Its nodes and partitions, a record a line. *includes: it names files that were not read. */
void slurm_conf_records(struct orr_cell text, FILE *out, bool *includes);

#endif
