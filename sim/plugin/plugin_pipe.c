/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <orrery/base/mem.h>

#define LINE_MAX_BYTES ((size_t)1 << 20)

ORR_NORETURN static void child(const char *command, int in, int out)
{
    (void)setpgid(0, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    }
    _exit(127);
}

enum orr_status orr_pipe_open(struct orr_pipe *pipe_, const char *name, const char *command,
                              int64_t timeout_s, struct orr_err *err)
{
    int down[2], up[2];
    *pipe_ = (struct orr_pipe){.name = name, .down = -1, .from = -1, .timeout_s = timeout_s};
    if (pipe(down) != 0) {
        return orr_fail(err, ORR_UNAVAILABLE, "policy %s: no pipe: %s", name, strerror(errno));
    }
    if (pipe(up) != 0) {
        (void)close(down[0]);
        (void)close(down[1]);
        return orr_fail(err, ORR_UNAVAILABLE, "policy %s: no pipe: %s", name, strerror(errno));
    }
    const int ends[] = {down[0], down[1], up[0], up[1]};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a child that is gone is an error of write() */
    pipe_->pid = fork();
    if (pipe_->pid == 0) {
        child(command, down[0], up[1]);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    pipe_->from = up[0];
    pipe_->down = down[1];
    (void)fcntl(down[1], F_SETFL, O_NONBLOCK);
    pipe_->to = open_memstream(&pipe_->gathered, &pipe_->gathered_bytes);
    if (pipe_->pid < 0 || pipe_->to == NULL) {
        orr_pipe_close(pipe_);
        return orr_fail(err, ORR_UNAVAILABLE, "policy %s: cannot be started: %s", name,
                        strerror(errno));
    }
    (void)setpgid(pipe_->pid, pipe_->pid); /* whoever is first */
    return ORR_OK;
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits up to a second; -1: it is still there, else its status. */
static int reap(pid_t pid)
{
    const int64_t until = now_ms() + 1000;
    int status;
    pid_t done;
    do {
        done = waitpid(pid, &status, WNOHANG);
        if (done == 0) {
            (void)poll(NULL, 0, 5);
        }
    } while ((done == 0 || (done < 0 && errno == EINTR)) && now_ms() < until);
    return done == pid ? status : -1;
}

void orr_pipe_close(struct orr_pipe *pipe)
{
    if (pipe->to != NULL) {
        (void)fclose(pipe->to);
        free(pipe->gathered); /* the C library's */
    }
    if (pipe->down >= 0) {
        (void)close(pipe->down);
        (void)close(pipe->from);
    }
    if (pipe->pid > 0) {
        const bool gone = reap(pipe->pid) != -1;
        (void)kill(-pipe->pid, SIGKILL);
        while (!gone && waitpid(pipe->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    orr_free(pipe->line);
    *pipe = (struct orr_pipe){.down = -1, .from = -1};
}

static enum orr_status fail_gone(struct orr_pipe *pipe, struct orr_err *err)
{
    const int status = reap(pipe->pid);
    if (status == -1) {
        return orr_fail(err, ORR_PLUGIN, "policy %s: closed its output; no results are kept",
                        pipe->name);
    }
    pipe->pid = 0;
    const int shell =
        WIFEXITED(status) ? WEXITSTATUS(status) - 128 : 0; /* as it tells of signals */
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : shell > 0 ? shell : 0;
    return signal != 0
               ? orr_fail(err, ORR_PLUGIN, "policy %s: died of signal %d; no results are kept",
                          pipe->name, signal)
               : orr_fail(err, ORR_PLUGIN,
                          "policy %s: ended with exit code %d in the middle of a run; no results "
                          "are kept",
                          pipe->name, WEXITSTATUS(status));
}

static enum orr_status fail_late(const struct orr_pipe *pipe, const char *what, struct orr_err *err)
{
    return orr_fail(err, ORR_PLUGIN,
                    "policy %s: did not %s within %lld s (ORRERY_POLICY_TIMEOUT); no results are "
                    "kept",
                    pipe->name, what, (long long)pipe->timeout_s);
}

/* A child that has answered in this cycle is one that does not end it, wherever in an answer the
 * time ran out. */
static enum orr_status fail_silent(const struct orr_pipe *pipe, struct orr_err *err)
{
    return fail_late(pipe, pipe->has_answered ? "end its cycle" : "answer", err);
}

/* The rest of the time that there is, for poll(). */
static int left_ms(int64_t until)
{
    const int64_t left = until - now_ms();
    return left > 0 ? (int)left : 0;
}

static enum orr_status say_all(struct orr_pipe *pipe, int64_t until, struct orr_err *err)
{
    if (fflush(pipe->to) != 0) {
        orr_out_of_memory();
    }
    for (size_t at = 0; at < pipe->gathered_bytes;) {
        const ssize_t put = write(pipe->down, pipe->gathered + at, pipe->gathered_bytes - at);
        struct pollfd one = {.fd = pipe->down, .events = POLLOUT};
        if (put >= 0) {
            at += (size_t)put;
        } else if (errno == EAGAIN && poll(&one, 1, left_ms(until)) == 0) {
            return fail_late(pipe, "read what it is sent", err);
        } else if (errno != EAGAIN && errno != EINTR) {
            return fail_gone(pipe, err);
        }
    }
    (void)fseek(pipe->to, 0, SEEK_SET);
    return ORR_OK;
}

void orr_pipe_begin_cycle(struct orr_pipe *pipe)
{
    pipe->cycle_until_ms = now_ms() + pipe->timeout_s * 1000;
    pipe->has_answered = false;
}

void orr_pipe_end_cycle(struct orr_pipe *pipe)
{
    pipe->cycle_until_ms = 0;
}

enum orr_status orr_pipe_line(struct orr_pipe *pipe, char **line, struct orr_err *err)
{
    const int64_t now = now_ms();
    const int64_t until =
        pipe->cycle_until_ms > 0 ? pipe->cycle_until_ms : now + pipe->timeout_s * 1000;
    if (now >= until) {
        return fail_silent(pipe, err);
    }
    if (pipe->taken > 0) {
        memmove(pipe->line, pipe->line + pipe->taken, pipe->used - pipe->taken);
        pipe->used -= pipe->taken;
        pipe->taken = 0;
    }
    const enum orr_status status = say_all(pipe, until, err);
    if (status != ORR_OK) {
        return status;
    }
    for (size_t looked = 0;;) {
        char *end = pipe->used == 0 ? NULL : memchr(pipe->line + looked, '\n', pipe->used - looked);
        if (end != NULL) {
            *end = '\0';
            pipe->taken = (size_t)(end - pipe->line) + 1;
            *line = pipe->line;
            pipe->has_answered = pipe->cycle_until_ms > 0;
            return ORR_OK;
        }
        looked = pipe->used;
        if (pipe->used >= LINE_MAX_BYTES) {
            return orr_fail(err, ORR_PLUGIN,
                            "policy %s: wrote a line of over a MiB; no results are kept",
                            pipe->name);
        }
        struct pollfd one = {.fd = pipe->from, .events = POLLIN};
        const int ready = poll(&one, 1, left_ms(until));
        if (ready == 0) {
            return fail_silent(pipe, err);
        }
        if (pipe->used + 4096 > pipe->room) {
            pipe->room = orr_grow(pipe->room, pipe->used + 4096);
            pipe->line = orr_realloc(pipe->line, pipe->room, 1);
        }
        const ssize_t got =
            ready < 0 ? -1 : read(pipe->from, pipe->line + pipe->used, pipe->room - pipe->used);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return fail_gone(pipe, err);
        }
        pipe->used += got > 0 ? (size_t)got : 0;
    }
}
