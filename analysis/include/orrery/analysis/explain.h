/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain.h - what a results file says of one job, one queue, or one moment: in words, or the same
 * facts as one JSON document. Nothing is written unless all of it could be read. */
#ifndef ORR_ANALYSIS_EXPLAIN_H
#define ORR_ANALYSIS_EXPLAIN_H

#include <stdio.h>

#include <orrery/base/status.h>
#include <orrery/base/units.h>

/* The story of a job: what it asked, how long it waited and why, where it ran, who took its place,
 * what that cost, and a line of time. ORR_NO_INPUT, ORR_DATA (no results file, no such job). */
enum orr_status orr_explain_job(const char *db_path, const char *job, bool json, FILE *out,
                                struct orr_err *err) ORR_MUST_USE;
/* Why the job waits at a time: the reason and the numbers then, and who holds what in its queue and
 * beside it. ORR_DATA also when it does not wait then. */
enum orr_status orr_explain_job_at(const char *db_path, const char *job, orr_ms at_ms, bool json,
                                   FILE *out, struct orr_err *err) ORR_MUST_USE;
/* All jobs that wait at a time: how many for which reason, and of `most` of them, the longest wait
 * first, since when and why. */
enum orr_status orr_explain_waiting(const char *db_path, orr_ms at_ms, uint32_t most, bool json,
                                    FILE *out, struct orr_err *err) ORR_MUST_USE;
/* Why a queue gets what it gets: quota, fair share and what it and its siblings hold, over the
 * window or (at_ms not ORR_MS_NONE) at a time. */
enum orr_status orr_explain_queue(const char *db_path, const char *queue, orr_ms at_ms, bool json,
                                  FILE *out, struct orr_err *err) ORR_MUST_USE;
/* The floor plan at a time: a row a node, a character a device, a letter a queue. */
enum orr_status orr_explain_floor(const char *db_path, orr_ms at_ms, bool json, FILE *out,
                                  struct orr_err *err) ORR_MUST_USE;

#endif
