/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_shipped.c - files that scenarios name, and those of them that come with the program. */
#include "scenario_int.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *path)
{
    return access(path, R_OK) == 0;
}

const char *orr_scenario__shipped(struct orr_arena *arena, const char *name)
{
    char program[PATH_MAX];
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    if (bytes < 0) {
        return NULL;
    }
    program[bytes] = '\0';
    const char *prefix = orr_scenario__folder(arena, orr_scenario__folder(arena, program));
    /* why: a program that was built and not installed is two folders below its sources */
    const char *sources = orr_scenario__folder(arena, prefix);
    if (!is_there(orr_scenario__format(arena, "%s/scenarios/first/first.yaml", sources))) {
        sources = NULL;
    }
    const char *const roots[][2] = {{prefix, "/share/orrery/scenarios"},
                                    {prefix, "/share/orrery"},
                                    {sources, "/scenarios"},
                                    {sources, ""}};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const char *path = roots[i][0] == NULL ? NULL
                                               : orr_scenario__format(arena, "%s%s/%s", roots[i][0],
                                                                      roots[i][1], name);
        if (path != NULL && is_there(path)) {
            return path;
        }
    }
    return NULL;
}

const char *orr_scenario__data(struct orr_arena *arena, const char *folder, const char *name)
{
    const char *path = orr_scenario__join(arena, folder, name), *below = name;
    while (strncmp(below, "../", 3) == 0) {
        below += 3;
    }
    if (below == name || is_there(path)) {
        return path;
    }
    const char *shipped = orr_scenario__shipped(arena, below);
    return shipped != NULL ? shipped : path;
}
