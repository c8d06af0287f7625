/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_output.c - where answers that are files go, and scenarios out of them. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <orrery/analysis/results.h>
#include <orrery/sim/study.h>

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

enum orr_status orr_cli_rerun(const char *results, struct orr_arena *arena,
                              struct orr_scenario *scenario, struct orr_err *err)
{
    struct orr_scenario_options again;
    const enum orr_status status = orr_rerun_of(results, arena, &again, err);
    return status == ORR_OK ? orr_scenario_load(&again, scenario, err) : status;
}

enum orr_status orr_cli_scenario(const char *path, struct orr_arena *arena,
                                 struct orr_scenario *scenario, struct orr_err *err)
{
    static const char magic[] = "SQLite format 3";
    char begin[sizeof magic - 1] = "";
    FILE *file = fopen(path, "rb");
    const bool results = file != NULL && fread(begin, 1, sizeof begin, file) == sizeof begin &&
                         memcmp(begin, magic, sizeof begin) == 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    const struct orr_scenario_options plain = {.path = path};
    return results ? orr_cli_rerun(path, arena, scenario, err)
                   : orr_scenario_load(&plain, scenario, err);
}
