/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mem.h - memory by lifetime.
 *
 * Running out of memory ends the program: Orrery is a batch tool and nothing is half-written.
 * An arena frees everything at once; use one per lifetime (run, cycle) instead of pairing frees.
 */
#ifndef ORR_BASE_MEM_H
#define ORR_BASE_MEM_H

#include <orrery/base/units.h>

ORR_API_BEGIN

/* Never return NULL for count > 0; contents are undefined (alloc) or zero (zalloc). */
void *orr_alloc(size_t count, size_t size) ORR_MUST_USE;
void *orr_zalloc(size_t count, size_t size) ORR_MUST_USE;
/* Zeros, on the heap whatever their size: for tables that are touched all over in turn. */
void *orr_zalloc_near(size_t count, size_t size) ORR_MUST_USE;
void *orr_realloc(void *old, size_t count, size_t size) ORR_MUST_USE;
char *orr_strdup(const char *text) ORR_MUST_USE;
char *orr_strndup(const char *text, size_t bytes) ORR_MUST_USE;
void orr_free(void *memory);

/* Where arrays lie that are large, if not on the heap: a program with more of them than memory maps
 * files. A state of the process, as the heap is. */
struct orr_mem_large {
    size_t least_bytes; /* from which on it is asked */
    /* An array of so many bytes: what `old`, of the heap or of its own, holds, then zeros where it
     * makes a new one. NULL: there is no room, `old` stays as it is; one of the heap may then be
     * resized there. */
    void *(*resize)(void *old, size_t bytes);
    bool (*holds)(const void *array);
    bool (*release)(void *array); /* false: it is not its own */
};
/* Copies what it is given. Before any array of that size; not while other threads allocate. */
void orr_mem_large(const struct orr_mem_large *large);

/* The capacity to grow to so that `need` fits: by at least half more, so pushing is amortised O(1).
 */
size_t orr_grow(size_t capacity, size_t need);

/* Makes room for one more element in a dynamic array of `count` elements. Returns the array. */
#define ORR_ROOM_FOR_ONE(array, count, capacity)                                                   \
    ((count) < (capacity) ? (array)                                                                \
                          : ((capacity) = (uint32_t)orr_grow((capacity), (size_t)(count) + 1),     \
                             orr_realloc((array), (capacity), sizeof *(array))))

/* An array of zeros, NULL at first, that grows to hold at least `need` elements. Returns it. */
void *orr_zgrow(void *array, uint32_t *capacity, size_t need, size_t size) ORR_MUST_USE;

struct orr_arena {
    struct orr_arena_block *head;
    size_t used; /* bytes taken in the head block */
};

void orr_arena_init(struct orr_arena *arena);
/* Zeroed memory, aligned for any type, that lives until reset or release. */
void *orr_arena_alloc(struct orr_arena *arena, size_t count, size_t size) ORR_MUST_USE;
/* The same, not zeroed: for what is written before it is read. Under AddressSanitizer it is filled
 * with nonsense. */
void *orr_arena_take(struct orr_arena *arena, size_t count, size_t size) ORR_MUST_USE;
char *orr_arena_strndup(struct orr_arena *arena, const char *text, size_t bytes) ORR_MUST_USE;
/* Forgets everything but keeps the largest block for the next round. */
void orr_arena_reset(struct orr_arena *arena);
void orr_arena_release(struct orr_arena *arena);

ORR_API_END

#endif
