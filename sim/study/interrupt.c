/* SPDX-License-Identifier: GPL-3.0-or-later */
/* interrupt.c - Ctrl-C, SIGTERM, a closed terminal: the first one ends in order what runs, a second
 * one at once; so does the first while a policy from outside is at work. */
#include <orrery/sim/plugin.h>
#include <orrery/sim/study.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { UNFINISHED_MOST = 8 }; /* files of one command that are written at a time */

/* What a signal handler can reach. */
static volatile sig_atomic_t interrupted, at_once;
static volatile sig_atomic_t unfinished_count;
static char unfinished[UNFINISHED_MOST][4608];

static void remove_unfinished(void)
{
    for (sig_atomic_t i = 0; i < unfinished_count; i++) {
        (void)unlink(unfinished[i]);
    }
}

static void on_signal(int signal)
{
    (void)signal;
    if (interrupted || at_once || orr_plugin_abandon()) {
        remove_unfinished();
        _exit(orr_status_exit_code(ORR_INTERRUPTED));
    }
    interrupted = 1;
}

/* Whoever read what is printed has gone: ends as without a handler, with nothing left behind. */
static void on_pipe(int number)
{
    remove_unfinished();
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
    remove_unfinished();
}

void orr_interrupt_unfinished(const char *path)
{
    unfinished_count = 0;
    orr_interrupt_also(path);
}

void orr_interrupt_also(const char *path)
{
    ORR_ASSERT(unfinished_count < UNFINISHED_MOST);
    (void)snprintf(unfinished[unfinished_count], sizeof unfinished[0], "%s", path);
    unfinished_count = unfinished_count + 1;
}

void orr_interrupt_at_once(void)
{
    at_once = 1;
    (void)orr_interrupt_catch();
}
