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

/* Waiting calls end with EINTR. Under nohup the end of the terminal is to be ignored, and stays so.
 */
const volatile sig_atomic_t *orr_interrupt_catch(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, NULL);
    }
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
