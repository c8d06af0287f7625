/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spill.c - large arrays in files, so that a run of any number of jobs fits into memory.
 *
 * A run has some 160 bytes for each job of its trace. Most are of jobs that are over or far ahead:
 * they are written once and read once as the results are stored; what is simulated touches few of
 * them. So an array that is large lies in a file without a name that is mapped, and where much of
 * such files is mapped all of it is handed back: the pages stay in the page cache as long as there
 * is room, go to the disk when there is none, and are mapped again where they are touched. What a
 * run computes does not depend on any of it.
 *
 * A forked run would share the arrays with the first: only runs that do not fork begin this. Where
 * the disk has no room an array stays on the heap. */
#define _GNU_SOURCE
#include "spill.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <orrery/base/mem.h>

#define ARRAYS_MAX 256
#define MAPPED     8 /* times least_bytes: so much of the files is mapped before it is handed back */
#define PAUSE_NS   10000000L

struct array {
    char *at;
    size_t bytes; /* of the mapping */
    int file;
};

/* The heap of the process is one, and so is what stands beside it. */
static struct {
    pthread_mutex_t lock; /* of arrays: the thread that hands back reads them */
    struct array arrays[ARRAYS_MAX];
    uint32_t count;
    bool hands_back; /* the thread does: from the first array on */
    size_t page, most_bytes;
    char folder[4200];
} spill = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct array *find(const void *at)
{
    for (uint32_t i = 0; i < spill.count; i++) {
        if (spill.arrays[i].at == at) {
            return &spill.arrays[i];
        }
    }
    return NULL;
}

static int open_file(void)
{
    int file = open(spill.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) { /* a file system that knows no files without a name */
        char path[sizeof spill.folder + 32];
        (void)snprintf(path, sizeof path, "%s/.orrery-spill-XXXXXX", spill.folder);
        file = mkostemp(path, O_CLOEXEC);
        if (file >= 0) {
            (void)unlink(path);
        }
    }
    return file;
}

/* Pages of files that are in memory as the process's own. */
static size_t mapped_bytes(int statm)
{
    char text[128];
    size_t all = 0, resident = 0, shared = 0;
    const ssize_t got = pread(statm, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return sscanf(text, "%zu %zu %zu", &all, &resident, &shared) == 3 ? shared * spill.page : 0;
}

static void *hand_back(void *unused)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    while (statm >= 0) {
        (void)nanosleep(&pause, NULL);
        if (mapped_bytes(statm) <= spill.most_bytes) {
            continue;
        }
        (void)pthread_mutex_lock(&spill.lock);
        for (uint32_t i = 0; i < spill.count; i++) {
            (void)madvise(spill.arrays[i].at, spill.arrays[i].bytes, MADV_DONTNEED);
        }
        (void)pthread_mutex_unlock(&spill.lock);
    }
    return unused;
}

/* Signals are for the thread that runs. False: there is no second one. */
static bool start_handing_back(void)
{
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, NULL, hand_back, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started && pthread_detach(thread) == 0;
}

/* Room on the disk is taken at once: a write to a mapping that finds none would end the program. */
static void *map_new(size_t bytes)
{
    spill.hands_back = spill.hands_back || start_handing_back();
    const int file = spill.hands_back && spill.count < ARRAYS_MAX ? open_file() : -1;
    if (file < 0 || fallocate(file, 0, 0, (off_t)bytes) != 0) {
        (void)(file < 0 ? 0 : close(file));
        return NULL;
    }
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        (void)close(file);
        return NULL;
    }
    (void)pthread_mutex_lock(&spill.lock);
    spill.arrays[spill.count++] = (struct array){.at = at, .bytes = bytes, .file = file};
    (void)pthread_mutex_unlock(&spill.lock);
    return at;
}

static bool release(void *at)
{
    struct array *array = find(at);
    if (array == NULL) {
        return false;
    }
    const struct array gone = *array;
    (void)pthread_mutex_lock(&spill.lock);
    *array = spill.arrays[--spill.count];
    (void)pthread_mutex_unlock(&spill.lock);
    (void)munmap(gone.at, gone.bytes);
    (void)close(gone.file);
    return true;
}

/* As long as it was and longer; NULL: there is no room. */
static void *stretch(struct array *array, size_t bytes)
{
    const off_t had = (off_t)array->bytes;
    if (fallocate(array->file, 0, had, (off_t)bytes - had) != 0) {
        return NULL;
    }
    (void)pthread_mutex_lock(&spill.lock);
    void *at = mremap(array->at, array->bytes, bytes, MREMAP_MAYMOVE);
    if (at != MAP_FAILED) {
        array->at = at;
        array->bytes = bytes;
    }
    (void)pthread_mutex_unlock(&spill.lock);
    return at == MAP_FAILED ? NULL : at;
}

static void *to_heap(const struct array *array, size_t bytes)
{
    void *heap = malloc(bytes);
    if (heap != NULL) {
        memcpy(heap, array->at, bytes < array->bytes ? bytes : array->bytes);
        (void)release(array->at);
    }
    return heap;
}

static bool holds(const void *at)
{
    return find(at) != NULL;
}

static void *resize(void *old, size_t bytes)
{
    struct array *array = old != NULL ? find(old) : NULL;
    const size_t mapped = (bytes + spill.page - 1) / spill.page * spill.page;
    if (array != NULL) {
        void *longer = mapped <= array->bytes ? old : stretch(array, mapped);
        return longer != NULL ? longer : to_heap(array, bytes);
    }
    void *at = map_new(mapped);
    if (at != NULL && old != NULL) {
        const size_t had = malloc_usable_size(old);
        memcpy(at, old, had < bytes ? had : bytes);
        free(old);
    }
    return at;
}

void orr_spill_begin(const char *results, size_t least_bytes)
{
    const char *slash = strrchr(results, '/');
    (void)snprintf(spill.folder, sizeof spill.folder, "%.*s",
                   slash == NULL      ? 1
                   : slash == results ? 1
                                      : (int)(slash - results),
                   slash == NULL ? "." : results);
    spill.page = (size_t)sysconf(_SC_PAGESIZE);
    spill.most_bytes = least_bytes < SIZE_MAX / MAPPED ? least_bytes * MAPPED : SIZE_MAX;
    orr_mem_large(&(struct orr_mem_large){
        .least_bytes = least_bytes, .resize = resize, .holds = holds, .release = release});
}
