/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_file.h - bytes as a file, for readers that want a path. */
#ifndef ORR_TESTS_FUZZ_FILE_H
#define ORR_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <orrery/base/status.h>

/* A file in memory with these bytes; its name is `path` until it is closed. Needs _GNU_SOURCE. */
static inline int fuzz_file(const uint8_t *data, size_t bytes, char path[64])
{
    const int fd = memfd_create("fuzz", 0);
    ORR_ASSERT(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
