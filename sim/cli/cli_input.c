/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_input.c - input that comes through a pipe, made one that can be read again.
 *
 * Most verbs look at a file before they read it, or read it once for each of many runs. A pipe
 * gives its bytes once, so they are copied into a file without a name, which takes the pipe's
 * descriptor: what was typed (-, /dev/stdin, /dev/fd/63 of a shell's <(...)) names that file from
 * then on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/base/text.h>

#include "cli.h"

enum { PIPES_MAX = 16 };

/* The descriptor that a path names; -1: it is an ordinary path. */
static int named_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t number = -1;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0) {
        return STDIN_FILENO;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t bytes = strlen(folders[i]);
        if (strncmp(path, folders[i], bytes) == 0 &&
            (!orr_parse_i64(path + bytes, strlen(path + bytes), &number) || number > INT16_MAX)) {
            number = -1;
        }
    }
    return (int)number;
}

/* -1: errno says why. */
static int open_nameless(void)
{
    const char *where = getenv("TMPDIR");
    char path[4200];
    (void)snprintf(path, sizeof path, "%.4000s/orrery-input-XXXXXX",
                   where != NULL && where[0] != '\0' ? where : P_tmpdir);
    const int file = mkstemp(path);
    if (file >= 0) {
        (void)unlink(path);
    }
    return file;
}

static bool copy_all(int from, int to)
{
    static char block[1 << 16];
    ssize_t got = 0;
    while ((got = read(from, block, sizeof block)) > 0 || (got < 0 && errno == EINTR)) {
        for (ssize_t done = 0; done < got;) {
            const ssize_t wrote = write(to, block + done, (size_t)(got - done));
            if (wrote < 0 && errno != EINTR) {
                return false;
            }
            done += wrote > 0 ? wrote : 0;
        }
    }
    return got == 0;
}

static void keep(const char *path, int pipe)
{
    struct orr_err err = {0};
    const int file = open_nameless();
    if (file < 0 || !copy_all(pipe, file) || dup2(file, pipe) < 0 ||
        lseek(pipe, 0, SEEK_SET) != 0) {
        (void)orr_fail(&err, file < 0 ? ORR_CANT_CREATE : ORR_IO,
                       "%s: cannot be kept to be read again: %s (TMPDIR says where temporary files "
                       "go)",
                       path, strerror(errno));
        exit(orr_cli_fail(&err));
    }
    (void)close(file);
}

const char *orr_cli_input(const char *path)
{
    static char again[PIPES_MAX][24]; /* of pipes that have names */
    static uint32_t count;
    struct stat about;
    int pipe = path != NULL ? named_descriptor(path) : -1;
    if (pipe >= 0 && fstat(pipe, &about) == 0 && !S_ISREG(about.st_mode) &&
        !S_ISDIR(about.st_mode)) {
        keep(path, pipe);
    }
    if (path == NULL || pipe >= 0 || count == PIPES_MAX || stat(path, &about) != 0 ||
        !S_ISFIFO(about.st_mode) || (pipe = open(path, O_RDONLY)) < 0) {
        return path; /* who reads it says why it cannot be read */
    }
    keep(path, pipe);
    (void)snprintf(again[count], sizeof again[0], "/dev/fd/%d", pipe);
    return again[count++];
}

const char *orr_cli_dash(const char *path)
{
    return strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}
