/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scratch.c - folders and files of a study. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <orrery/sim/study.h>
#include <orrery/sim/temporary.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a process of its own: makes the folder, says how that went, and removes it once the other
 * process and all it started are gone, however they ended. It reads a pipe whose other end they
 * hold and nobody writes to. */
static void guard(char *path, int alive, int reply)
{
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        (void)signal(ignored[i], SIG_IGN);
    }
    (void)close(STDIN_FILENO); /* who reads what this program prints must not wait for the guard */
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    const int error = mkdtemp(path) != NULL ? 0 : errno;
    const size_t length = strlen(path);
    if (write(reply, &error, sizeof error) == (ssize_t)sizeof error &&
        write(reply, path, length) == (ssize_t)length) {
        (void)close(reply);
        char nothing;
        while (read(alive, &nothing, 1) < 0 && errno == EINTR) {
        }
    }
    if (error == 0) {
        orr_scratch_remove(path);
    }
    _exit(0);
}

static bool read_all(int from, void *to, size_t bytes)
{
    for (size_t have = 0; have < bytes;) {
        const ssize_t more = read(from, (char *)to + have, bytes - have);
        if (more == 0 || (more < 0 && errno != EINTR)) {
            return false;
        }
        have += more > 0 ? (size_t)more : 0;
    }
    return true;
}

/* 0, what mkdtemp says, or -1 if there can be no guard. */
static int make_guarded(char *path)
{
    int alive[2], reply[2], error = -1;
    if (pipe(alive) != 0) {
        return -1;
    }
    if (pipe(reply) != 0) {
        (void)close(alive[0]);
        (void)close(alive[1]);
        return -1;
    }
    (void)fcntl(alive[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)close(alive[1]);
        (void)close(reply[0]);
        guard(path, alive[0], reply[1]);
    }
    (void)close(alive[0]);
    (void)close(reply[1]);
    if (child < 0 || !read_all(reply[0], &error, sizeof error) ||
        !read_all(reply[0], path, strlen(path))) {
        (void)close(alive[1]);
        error = -1;
    }
    (void)close(reply[0]);
    return error;
}

enum orr_status orr_scratch_open(char *path, size_t bytes, struct orr_err *err)
{
    (void)orr_interrupt_catch();
    const char *where = getenv("TMPDIR");
    (void)snprintf(path, bytes, "%s/orrery-XXXXXX",
                   where != NULL && where[0] != '\0' ? where : P_tmpdir);
    int error = make_guarded(path);
    if (error < 0) { /* then it is removed if all goes well */
        error = mkdtemp(path) != NULL ? 0 : errno;
    }
    return error == 0
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE, "%s: %s (TMPDIR says where temporary files go)",
                          path, strerror(error));
}

static int remove_one(const char *path, const struct stat *of, int kind, struct FTW *at)
{
    (void)of;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

void orr_scratch_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

bool orr_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

bool orr_is_taken(const char *path)
{
    struct stat ignored;
    return lstat(path, &ignored) == 0;
}

FILE *orr_beside(const char *path, char *beside, size_t bytes)
{
    sigset_t ending, before;
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGINT);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigaddset(&ending, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ending, &before);
    const int fd = orr_temporary_open(path, beside, bytes);
    const int why = errno;
    if (fd >= 0) {
        orr_interrupt_also(beside);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return fd >= 0 ? fdopen(fd, "w") : NULL;
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
    FILE *in = fopen(from, "rb");
    if (in == NULL) {
        return orr_fail(err, ORR_NO_INPUT, "%s: %s", from, strerror(errno));
    }
    FILE *out = orr_beside(to, beside, sizeof beside);
    enum orr_status status = ORR_OK;
    if (out == NULL) {
        status = orr_fail(err, ORR_CANT_CREATE, "%s: %s", to, strerror(errno));
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
