/* SPDX-License-Identifier: GPL-3.0-or-later */
/* interrupt.c - Ctrl-C, SIGTERM, a closed terminal: the first one ends in order what runs, a second
 * one at once; so does the first while a policy from outside is at work. */
#include <orrery/sim/plugin.h>
#include <orrery/sim/study.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a signal handler can reach. */
static volatile sig_atomic_t interrupted, at_once;
static char unfinished[4096];

static void on_signal(int signal)
{
    (void)signal;
    if (interrupted || at_once || orr_plugin_abandon()) {
        (void)unlink(unfinished);
        _exit(orr_status_exit_code(ORR_INTERRUPTED));
    }
    interrupted = 1;
}

/* Whoever read what is printed has gone: ends as without a handler, with nothing left behind. */
static void on_pipe(int number)
{
    (void)unlink(unfinished);
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* it comes once this handler is left */
}

static void handle(int number, void (*handler)(int number), bool even_if_ignored)
{
    const struct sigaction action = {.sa_handler = handler};
    struct sigaction before;
    if (even_if_ignored ||
        (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)) {
        (void)sigaction(number, &action, NULL);
    }
}

/* Waiting calls end with EINTR. What is ignored stays so: under nohup the end of the terminal. */
const volatile sig_atomic_t *orr_interrupt_catch(void)
{
    handle(SIGINT, on_signal, true);
    handle(SIGTERM, on_signal, true);
    handle(SIGHUP, on_signal, false);
    handle(SIGPIPE, on_pipe, false); /* a write fails where somebody has it ignored */
    return &interrupted;
}

void orr_interrupt_remove(void)
{
    (void)unlink(unfinished);
}

void orr_interrupt_unfinished(const char *path)
{
    (void)snprintf(unfinished, sizeof unfinished, "%s", path);
}

void orr_interrupt_at_once(const char *path)
{
    orr_interrupt_unfinished(path);
    at_once = 1;
    (void)orr_interrupt_catch();
}
