/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_guard.c - calls into a shared object: where one crashes, ends the process or does not
 * return, the process ends with a sentence that names it.
 *
 * A timer looks each second whether the call is still the same, so that a call costs no system
 * call. */
#include "plugin_int.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static const char *volatile who;
static const char *volatile in_call; /* NULL: in none */
static volatile sig_atomic_t limit_s;
static volatile sig_atomic_t calls, calls_seen, seconds; /* of the same call, so many ticks */
static volatile sig_atomic_t ticking;                    /* in this process */
static void (*volatile at_end)(void);
static struct sigaction before_abort; /* who hears of a bug of this program */

static volatile pid_t asked; /* the child process whose cycle it is; 0: none */

void orr_plugin__ask(pid_t child)
{
    asked = child;
}

bool orr_plugin_abandon(void)
{
    const pid_t child = asked;
    if (child > 0) {
        (void)kill(-child, SIGKILL);
    }
    const bool in_one = child > 0 || in_call != NULL;
    in_call = NULL; /* the end of the process is not its doing */
    return in_one;
}

void orr_plugin_at_end(void (*clean)(void))
{
    at_end = clean;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* A second is over: is it the same call for too long? */
static bool is_hanging(void)
{
    seconds = in_call == NULL || calls != calls_seen ? 0 : seconds + 1;
    calls_seen = calls;
    return seconds >= limit_s;
}

/* The sentence, and the end of the process. */
static _Noreturn void end_run(const char *did, bool late)
{
    if (at_end != NULL) {
        at_end();
    }
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    for (long rest = limit_s; rest > 0 && at > 0; rest /= 10) {
        digits[--at] = (char)('0' + rest % 10);
    }
    say("orrery: policy ");
    say(who);
    say(did);
    say(in_call);
    in_call = NULL;
    if (late) {
        say(" within ");
        say(digits + at);
        say(" s (ORRERY_POLICY_TIMEOUT)");
    }
    say("; no results are kept\n");
    _exit(orr_status_exit_code(ORR_PLUGIN));
}

static void on_signal(int signal)
{
    if (signal == SIGALRM && !is_hanging()) {
        return;
    }
    if (in_call == NULL && signal == SIGABRT && before_abort.sa_handler != SIG_DFL) {
        before_abort.sa_handler(signal);
        return;
    }
    if (in_call == NULL) { /* not the policy's doing */
        (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        (void)raise(signal);
        return;
    }
    end_run(signal == SIGALRM   ? ": did not return from "
            : signal == SIGABRT ? ": aborted in "
                                : ": crashed in ",
            signal == SIGALRM);
}

/* exit() and quick_exit() within a call. */
static void on_exit_call(void)
{
    if (in_call != NULL) {
        end_run(": ended the process in ", false);
    }
}

/* That of the C library, which runs no handler: a plug-in finds this one, as the symbols of the
 * program go before those of its libraries. */
ORR_EXPORT _Noreturn void _exit(int status)
{
    on_exit_call();
    (void)syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

/* For a call that has used up the stack. Where there is one already, as of a sanitizer, it does. */
static void lay_second_stack(void)
{
    static max_align_t room[(1 << 16) / sizeof(max_align_t)];
    stack_t before;
    if (sigaltstack(NULL, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0) {
        (void)sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
    }
}

static void catch_signals(void)
{
    static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    const struct sigaction action = {.sa_handler = on_signal,
                                     .sa_flags = SA_NODEFER | SA_RESTART | SA_ONSTACK};
    struct sigaction before;
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        (void)sigaction(caught[i], &action, NULL);
    }
    if (sigaction(SIGABRT, &action, &before) == 0 && before.sa_handler != on_signal) {
        before_abort = before;
    }
}

static void tick(bool on)
{
    const struct timeval each = {.tv_sec = on ? 1 : 0};
    (void)setitimer(ITIMER_REAL, &(struct itimerval){.it_interval = each, .it_value = each}, NULL);
    ticking = on;
}

/* A child inherits no timer; one that a plug-in forks is no call of this process. */
static void in_child(void)
{
    ticking = false;
    in_call = NULL;
}

void orr_plugin__guard(void)
{
    static bool guarded;
    if (!guarded) {
        guarded = true;
        lay_second_stack();
        catch_signals();
        (void)atexit(on_exit_call);
        (void)at_quick_exit(on_exit_call);
        (void)pthread_atfork(NULL, NULL, in_child);
    }
}

void orr_plugin__unguard(void)
{
    if (ticking) {
        tick(false);
    }
}

void orr_plugin__enter(const char *name, int64_t timeout_s, const char *call)
{
    who = name;
    limit_s = (sig_atomic_t)timeout_s;
    calls = (calls + 1) & 0xffffff;
    in_call = call;
    if (!ticking) {
        tick(true);
    }
}

void orr_plugin__leave(void)
{
    in_call = NULL;
}

/* A plug-in that is linked to nothing may fail without a sentence. */
enum orr_status orr_plugin__said(enum orr_status status, const char *what, const char *name,
                                 const char *call, struct orr_err *err)
{
    if (status != ORR_OK && err != NULL) {
        const bool silent = err->status == ORR_OK || err->text[0] == '\0';
        err->status = silent ? ORR_OK : err->status;
        return orr_fail(err, silent ? ORR_SCENARIO : err->status,
                        "%s %s: its %s failed and does not say why", what, name, call);
    }
    return status;
}
