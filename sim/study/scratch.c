/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scratch.c - folders and files of a study. */
#include <orrery/sim/study.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process that removes the folder once this one and all it started are gone, however they ended:
 * it reads a pipe whose other end they hold and nobody writes to. */
static void guard(const char *path)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return; /* then it is removed if all goes well */
    }
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL);
    if (fork() != 0) {
        (void)close(ends[0]);
        return;
    }
    const int kept[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        (void)signal(kept[i], SIG_IGN);
    }
    (void)close(ends[1]);
    (void)close(STDIN_FILENO); /* who reads what this program prints must not wait for the guard */
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    char nothing;
    while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    orr_scratch_remove(path);
    _exit(0);
}

enum orr_status orr_scratch_open(char *path, size_t bytes, struct orr_err *err)
{
    (void)orr_interrupt_catch();
    const char *where = getenv("TMPDIR");
    (void)snprintf(path, bytes, "%s/orrery-XXXXXX",
                   where != NULL && where[0] != '\0' ? where : P_tmpdir);
    if (mkdtemp(path) == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s (TMPDIR says where temporary files go)", path,
                        strerror(errno));
    }
    guard(path);
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

static bool copy_bytes(FILE *in, FILE *out)
{
    char block[65536];
    size_t bytes;
    while ((bytes = fread(block, 1, sizeof block, in)) > 0) {
        if (fwrite(block, 1, bytes, out) != bytes) {
            return false;
        }
    }
    return ferror(in) == 0 && fflush(out) == 0 && fsync(fileno(out)) == 0;
}

enum orr_status orr_file_replace(const char *from, const char *to, struct orr_err *err)
{
    char beside[4600];
    (void)snprintf(beside, sizeof beside, "%s.new", to);
    FILE *in = fopen(from, "rb");
    if (in == NULL) {
        return orr_fail(err, ORR_NO_INPUT, "%s: %s", from, strerror(errno));
    }
    orr_interrupt_unfinished(beside);
    FILE *out = fopen(beside, "wb");
    enum orr_status status = ORR_OK;
    if (out == NULL) {
        status = orr_fail(err, ORR_CANT_CREATE, "%s: %s", beside, strerror(errno));
    } else {
        const bool copied = copy_bytes(in, out);
        const bool closed = fclose(out) == 0;
        if (!copied || !closed || rename(beside, to) != 0) {
            status = orr_fail(err, ORR_IO, "%s: %s", to, strerror(errno));
            (void)unlink(beside);
        }
    }
    (void)fclose(in);
    return status;
}
