/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place.c - where the scenario of a results file has its other files.
 *
 * A results file knows its scenario's folder twice: by its full name, and by the way there from its
 * own. The second finds a baseline's traces where both were moved, as in a fresh clone.
 */
#include "study_int.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <orrery/base/mem.h>

/* The folder of a file, without links. Caller frees (with free); NULL: there is none. */
static char *folder_of(const char *file)
{
    char *copy = orr_strdup(file);
    char *slash = strrchr(copy, '/');
    if (slash != NULL) {
        slash[slash == copy] = '\0';
    }
    char *real = realpath(slash != NULL ? copy : ".", NULL);
    orr_free(copy);
    return real;
}

bool orr_study__way(const char *file, const char *folder, char *way, size_t bytes)
{
    char *from = folder_of(file), *to = realpath(folder[0] == '\0' ? "." : folder, NULL);
    bool known = from != NULL && to != NULL;
    if (known) {
        size_t same = 0, part = 0; /* part: of the names they share, up to a slash */
        while (from[same] == to[same] && from[same] != '\0') {
            same++;
            part = from[same] == '/' || to[same] == '/' ? same : part;
        }
        const bool whole =
            (from[same] == '\0' || from[same] == '/') && (to[same] == '\0' || to[same] == '/');
        part = whole ? same : part;
        size_t used = 0;
        way[0] = '\0';
        for (const char *c = from + part; *c != '\0' && used + 4 < bytes; c++) {
            used +=
                *c == '/' && c[1] != '\0' ? (size_t)snprintf(way + used, bytes - used, "../") : 0;
        }
        const char *rest = to + part + (to[part] == '/');
        known = snprintf(way + used, bytes - used, "%s%s", rest, *rest == '\0' ? "." : "") <
                (int)(bytes - used);
    }
    free(from);
    free(to);
    return known;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

const char *orr_study__place(const char *file, const char *folder, const char *way,
                             struct orr_arena *arena)
{
    char moved[PATH_MAX * 2];
    if (!is_folder(folder) && way != NULL && way[0] != '\0') {
        const char *slash = strrchr(file, '/');
        const int used = slash != NULL ? (int)(slash - file) + 1 : 0;
        (void)snprintf(moved, sizeof moved, "%.*s%s", used, file, way);
        folder = is_folder(moved) ? moved : folder;
    }
    return orr_arena_strndup(arena, folder, strlen(folder));
}
