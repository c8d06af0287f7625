/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_pipe.h - a child process with a pipe to it and one back, line by line. */
#ifndef ORR_SIM_PLUGIN_PIPE_H
#define ORR_SIM_PLUGIN_PIPE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <orrery/base/status.h>

struct orr_pipe {
    const char *name; /* borrowed, for errors */
    pid_t pid;
    FILE *to; /* gathers what is to be sent, until a line is waited for */
    char *gathered;
    size_t gathered_bytes;
    int down, from;
    char *line; /* what was read: lines, and the begin of one */
    size_t used, taken, room;
    int64_t timeout_s;
    int64_t cycle_until_ms; /* of the monotonic clock; 0: no cycle is under way */
    bool has_answered;      /* in the cycle that is under way */
};

/* Starts `sh -c COMMAND` in a process group of its own; its errors go to this one's stderr. */
enum orr_status orr_pipe_open(struct orr_pipe *pipe, const char *name, const char *command,
                              int64_t timeout_s, struct orr_err *err);
/* Hangs up; who is still there a second later is killed, and whatever it started with it. */
void orr_pipe_close(struct orr_pipe *pipe);
/* From here to the end of the cycle all lines together may take no longer than the timeout. */
void orr_pipe_begin_cycle(struct orr_pipe *pipe);
void orr_pipe_end_cycle(struct orr_pipe *pipe);
/* Says what was gathered; then the next line, without its end, until the next call. ORR_POLICY
 * names the policy: it is gone, took longer than the timeout, or wrote a line of over a MiB. */
enum orr_status orr_pipe_line(struct orr_pipe *pipe, char **line, struct orr_err *err);

#endif
