/* SPDX-License-Identifier: GPL-3.0-or-later */
/* temporary.h - names under which files are written before they take their place.
 *
 * PATH.tmp.PID, and with .1, .2 ... behind it where that is there already: a process that was
 * killed leaves its file, and the first process of a container has the same number each time.
 */
#ifndef ORR_SIM_TEMPORARY_H
#define ORR_SIM_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes an empty file of such a name, which is this process's alone. Returns its descriptor, which
 * holds a lock that ends with the process: who keeps it open shows that the file is still written.
 * -1: errno says why, and nothing is left. */
int orr_temporary_open(const char *path, char *temporary, size_t bytes);
/* Removes such a file if no process holds its lock. False: it stays, as it does where the file
 * system has no locks. */
bool orr_temporary_remove_stale(const char *temporary);

#endif
