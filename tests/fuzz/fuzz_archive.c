/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_archive.c - any bytes as an archive that somebody sent, in any compression: files of proper
 * names that lie in the folder given, or an error that says something. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <orrery/traces/pack.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Empties and removes the folder; only files may be in it. */
static uint32_t remove_all(const char *folder)
{
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    ORR_ASSERT(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            ORR_ASSERT(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
            count++;
        }
    }
    (void)closedir(dir);
    ORR_ASSERT(rmdir(folder) == 0);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64], folder[] = "/dev/shm/orr-fuzz-XXXXXX";
    struct orr_arena arena;
    struct orr_unpacked files;
    struct orr_err err = {0};
    ORR_ASSERT(mkdtemp(folder) != NULL);
    orr_arena_init(&arena);
    const int fd = fuzz_file(data, bytes, path);
    const bool good = orr_pack_read(path, folder, &arena, &files, &err) == ORR_OK;
    ORR_ASSERT(good || (err.status != ORR_OK && err.text[0] != '\0'));
    for (uint32_t i = 0; good && i < files.count; i++) {
        struct stat stat_of;
        ORR_ASSERT(strncmp(files.paths[i], folder, sizeof folder - 1) == 0);
        ORR_ASSERT(lstat(files.paths[i], &stat_of) == 0 && S_ISREG(stat_of.st_mode));
    }
    const uint32_t left = remove_all(folder);
    ORR_ASSERT(!good || left == files.count);
    orr_free((void *)files.names);
    orr_free((void *)files.paths);
    orr_arena_release(&arena);
    (void)close(fd);
    return 0;
}
