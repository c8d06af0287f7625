/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_waste.c - where GPU time went into nothing, and where useful time was slow. Whether work is
 * of use is known when a checkpoint keeps it, or its job is interrupted; until then its stretches
 * are a chain. */
#include "exec_int.h"

#include <math.h>

#include <orrery/base/mem.h>

struct orr_exec_wastes {
    struct orr_waste *rows; /* those of 0 were dropped */
    uint32_t count, capacity;
    uint32_t *unkept; /* per job: its last stretch of work that is not kept yet, + 1; 0: none */
    uint32_t *last;   /* per job: its last row that is sure to stay, + 1; 0: none */
    uint32_t *spare;  /* per job: a row that was not needed, + 1; 0: none */
};

struct orr_exec_wastes *orr_exec__wastes_open(uint32_t job_count)
{
    struct orr_exec_wastes *wastes = orr_zalloc(1, sizeof *wastes);
    wastes->unkept = orr_zalloc(job_count + (size_t)1, sizeof *wastes->unkept);
    wastes->last = orr_zalloc(job_count + (size_t)1, sizeof *wastes->last);
    wastes->spare = orr_zalloc(job_count + (size_t)1, sizeof *wastes->spare);
    return wastes;
}

void orr_exec__wastes_close(struct orr_exec_wastes *wastes)
{
    if (wastes != NULL) {
        orr_free(wastes->rows);
        orr_free(wastes->unkept);
        orr_free(wastes->last);
        orr_free(wastes->spare);
        orr_free(wastes);
    }
}

/* Does a stretch go on from a row at the same rate? Amounts are whole numbers, rounded down: what
 * that may take from each is no other rate. */
static bool goes_on(const struct orr_waste *row, orr_ms from, orr_ms to, int64_t mgpu_ms)
{
    const double row_ms = (double)(row->to_ms - row->from_ms), ms = (double)(to - from);
    return row->to_ms == from &&
           fabs((double)row->mgpu_ms / row_ms - (double)mgpu_ms / ms) * fmin(row_ms, ms) <= 2.0;
}

/* Makes `last`, the newest row of a chain (+ 1; 0: none), the one that has the stretch. */
static uint32_t append(struct orr_exec_wastes *wastes, uint32_t job, uint32_t last,
                       struct orr_waste stretch)
{
    struct orr_waste *row = last == 0 ? NULL : &wastes->rows[last - 1];
    if (row != NULL && row->part == stretch.part &&
        goes_on(row, stretch.from_ms, stretch.to_ms, stretch.mgpu_ms)) {
        row->to_ms = stretch.to_ms;
        row->mgpu_ms += stretch.mgpu_ms;
        return last;
    }
    uint32_t at = wastes->spare[job];
    wastes->spare[job] = 0;
    if (at == 0) {
        wastes->rows = ORR_ROOM_FOR_ONE(wastes->rows, wastes->count, wastes->capacity);
        at = ++wastes->count;
    }
    wastes->rows[at - 1] = stretch;
    return at;
}

void orr_exec__waste(struct orr_exec_wastes *wastes, uint32_t job, uint8_t part, orr_ms from,
                     orr_ms to, int64_t mgpu_ms)
{
    if (mgpu_ms > 0) {
        wastes->last[job] = append(wastes, job, wastes->last[job],
                                   (struct orr_waste){job, 0, part, from, to, mgpu_ms});
    }
}

void orr_exec__waste_if_lost(struct orr_exec_wastes *wastes, uint32_t job, orr_ms from, orr_ms to,
                             int64_t mgpu_ms)
{
    const uint32_t before = wastes->unkept[job];
    if (mgpu_ms > 0) {
        wastes->unkept[job] =
            append(wastes, job, before, (struct orr_waste){job, before, 0, from, to, mgpu_ms});
    }
}

void orr_exec__waste_decided(struct orr_exec_wastes *wastes, uint32_t job, bool stays, uint8_t part)
{
    for (uint32_t at = wastes->unkept[job]; at != 0; at = wastes->rows[at - 1].before) {
        struct orr_waste *row = &wastes->rows[at - 1];
        row->part = part;
        row->mgpu_ms = stays ? row->mgpu_ms : 0;
        wastes->spare[job] = stays ? wastes->spare[job] : at;
    }
    wastes->unkept[job] = 0;
}

const char *orr_waste_part_words(uint8_t part)
{
    static const char *const overheads[] = {"checkpoint", "restart", "waiting"};
    return part < ORR_CAUSE_COUNT ? orr_cause_words((enum orr_cause)part)
                                  : overheads[part - ORR_CAUSE_COUNT];
}

static const struct orr_waste *rows_of(struct orr_exec_wastes *wastes, uint32_t *count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < wastes->count; i++) {
        if (wastes->rows[i].mgpu_ms > 0) {
            wastes->rows[kept++] = wastes->rows[i];
        }
    }
    wastes->count = kept;
    *count = kept;
    return wastes->rows;
}

const struct orr_waste *orr_exec_wastes(const struct orr_exec *exec, uint32_t *count)
{
    return rows_of(exec->wastes, count);
}

const struct orr_waste *orr_exec_slows(const struct orr_exec *exec, uint32_t *count)
{
    *count = 0;
    return exec->slows == NULL ? NULL : rows_of(exec->slows, count);
}
