/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/study.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum orr_status orr_scratch_open(char *path, size_t bytes, struct orr_err *err)
{
    const char *where = getenv("TMPDIR");
    (void)snprintf(path, bytes, "%s/orrery-XXXXXX",
                   where != NULL && where[0] != '\0' ? where : P_tmpdir);
    if (mkdtemp(path) == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    return ORR_OK;
}

/* Only what this program puts there: files, no folders. */
void orr_scratch_remove(const char *path)
{
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char file[4600];
        (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        (void)unlink(file); /* . and .. are folders: not removed */
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(path);
}
