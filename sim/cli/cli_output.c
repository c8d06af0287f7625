/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_output.c - where answers that are files go. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum orr_status orr_cli_output(const char *path, struct orr_err *err)
{
    struct stat file;
    if (path == NULL || stat(path, &file) != 0 || S_ISREG(file.st_mode)) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_CANT_CREATE, "%s: is %s, not a file", path,
                    S_ISDIR(file.st_mode) ? "a folder" : "a device or pipe");
}

enum orr_status orr_cli_folder(const char *path, struct orr_err *err)
{
    if (path == NULL || mkdir(path, 0777) == 0 || errno == EEXIST) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_CANT_CREATE, "%s: cannot make this folder: %s", path, strerror(errno));
}
