/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_text.h - words of Slurm's commands: GPUs, memory, spans of time, lists of hosts. */
#ifndef ORR_SIM_INTAKE_SLURM_TEXT_H
#define ORR_SIM_INTAKE_SLURM_TEXT_H

#include <orrery/base/units.h>
#include <orrery/traces/records.h>

/* GPUs that a text of trackable resources (cpu=4,gres/gpu=2) or of generic resources (gpu:a100:4,
 * PER_NODE:gpu:8) names. Where a total stands beside types, it is the total. */
struct slurm_gpus {
    int64_t count;
    struct orr_cell type;  /* the only one that is named; no bytes: none, or several */
    bool given;            /* it names GPUs at all */
    bool shards;           /* it names gres/shard */
    bool odd;              /* it names GPUs, and how many cannot be read */
    int64_t slices;        /* of these, MIG slices by their types: a100_3g.20gb, 1g.5gb */
    struct orr_cell slice; /* the type of the first */
};
struct slurm_gpus slurm_tres_gpus(struct orr_cell tres);
struct slurm_gpus slurm_gres_gpus(struct orr_cell gres);
/* The value of a key of trackable resources; no bytes: it is not there. */
struct orr_cell slurm_tres(struct orr_cell tres, const char *key);
/* "16000", "64G", "1.5T", also with n or c behind it, in MiB; a bare number is MiB. */
bool slurm_mib(struct orr_cell text, int64_t *out);
/* "[DD-[HH:]]MM:SS[.mmm]" in ms. */
bool slurm_span(struct orr_cell text, orr_ms *out);
bool slurm_integer(struct orr_cell text, int64_t *out);
int64_t slurm_integer_or(struct orr_cell cell, int64_t otherwise);
/* UNLIMITED, INFINITE: of a time. */
bool slurm_is_endless(struct orr_cell text);
/* Unknown, None, N/A, (null), UNLIMITED and the like. */
bool slurm_is_nothing(struct orr_cell text);
bool slurm_starts(struct orr_cell text, const char *with);

#endif
