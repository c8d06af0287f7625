/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_file.c - an answer that is a file: written under a name of its own beside its place, and put
 * there when it is whole. Nothing is left of one that fails or is interrupted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/sim/study.h>

#include "cli.h"

enum orr_status orr_cli_file_open(struct orr_cli_file *file, const char *path, const char *else_do,
                                  struct orr_err *err)
{
    *file = (struct orr_cli_file){.out = NULL};
    const enum orr_status status = orr_cli_new_output(path, else_do, err);
    if (status != ORR_OK) {
        return status;
    }
    orr_interrupt_at_once();
    return orr_cli_file_begin(file, path, else_do, err);
}

enum orr_status orr_cli_file_begin(struct orr_cli_file *file, const char *path, const char *else_do,
                                   struct orr_err *err)
{
    *file = (struct orr_cli_file){.path = path, .else_do = else_do};
    file->out = orr_beside(path, file->beside, sizeof file->beside);
    return file->out != NULL ? ORR_OK
                             : orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
}

/* Where nothing may be, a link takes the place or fails: a name that another process took since it
 * was looked at stays. File systems without links have a rename, and a look before it. */
static enum orr_status put_in_place(const struct orr_cli_file *file, struct orr_err *err)
{
    if (file->else_do != NULL && link(file->beside, file->path) == 0) {
        (void)unlink(file->beside);
        return ORR_OK;
    }
    if (file->else_do != NULL && (errno == EEXIST || orr_is_taken(file->path))) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: exists already; %s", file->path, file->else_do);
    }
    return rename(file->beside, file->path) == 0
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE, "%s: %s", file->path, strerror(errno));
}

enum orr_status orr_cli_file_close(struct orr_cli_file *file, enum orr_status status,
                                   struct orr_err *err)
{
    if (file->out == NULL) {
        return status;
    }
    bool failed = fflush(file->out) != 0 || ferror(file->out) != 0;
    const int why = errno;
    failed = fclose(file->out) != 0 || failed;
    file->out = NULL;
    /* a full disk is the cause of whatever the writer says of it */
    if (failed && (status == ORR_OK || status == ORR_IO)) {
        *err = (struct orr_err){0};
        status = orr_fail(err, ORR_IO, "%s: %s", file->path, strerror(why));
    }
    if (status == ORR_OK) {
        status = put_in_place(file, err);
    }
    if (status != ORR_OK) {
        (void)unlink(file->beside);
    }
    return status;
}

enum orr_status orr_cli_write(const char *path, const char *begin,
                              void (*print)(FILE *out, const void *context), const void *context,
                              struct orr_err *err)
{
    struct orr_cli_file file;
    enum orr_status status = orr_cli_report(path, begin, err);
    if (status != ORR_OK || path == NULL) {
        return status;
    }
    status = orr_cli_file_open(&file, path, NULL, err);
    if (status == ORR_OK) {
        print(file.out, context);
    }
    return orr_cli_file_close(&file, status, err);
}
