/* SPDX-License-Identifier: GPL-3.0-or-later */
/* temporary.c - files that are written, and those that killed processes have left. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include <orrery/sim/temporary.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A byte that SQLite never locks: its own are at 1 GiB. The lock is of the open file, not of the
 * process, so SQLite's opening and closing of it does not end the lock. */
#define LOCK_AT ((off_t)1 << 40)

enum { NAMES_MOST = 10000 };

/* The nth name; false: it is too long. */
static bool put_name(const char *path, unsigned nth, char *temporary, size_t bytes)
{
    const long pid = (long)getpid();
    const int used = nth == 0 ? snprintf(temporary, bytes, "%s.tmp.%ld", path, pid)
                              : snprintf(temporary, bytes, "%s.tmp.%ld.%u", path, pid, nth);
    return used > 0 && (size_t)used < bytes;
}

static int lock(int fd)
{
    const struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &byte);
}

/* Has somebody taken a new file for stale before its lock was there? */
static bool is_lost(int fd)
{
    struct stat of;
    const bool taken = lock(fd) != 0 && (errno == EAGAIN || errno == EACCES);
    return taken || (fstat(fd, &of) == 0 && of.st_nlink == 0);
}

int orr_temporary_open(const char *path, char *temporary, size_t bytes)
{
    for (unsigned nth = 0; nth < NAMES_MOST; nth++) {
        if (!put_name(path, nth, temporary, bytes)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int fd = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) {
            return -1;
        }
        if (fd >= 0 && !is_lost(fd)) {
            return fd;
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    errno = EEXIST;
    return -1;
}

bool orr_temporary_remove_stale(const char *temporary)
{
    const int fd = open(temporary, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat of, named;
    if (fd < 0) {
        return false;
    }
    /* by the lock it is nobody's, but its name may be another file's by now */
    const bool removed = lock(fd) == 0 && fstat(fd, &of) == 0 && S_ISREG(of.st_mode) &&
                         lstat(temporary, &named) == 0 && named.st_ino == of.st_ino &&
                         named.st_dev == of.st_dev && unlink(temporary) == 0;
    (void)close(fd);
    return removed;
}
