/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/mem.h>

#include <stdlib.h>
#include <string.h>

#include <orrery/base/status.h>

#if defined(__SANITIZE_ADDRESS__)
#define ORR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORR_ASAN 1
#endif
#endif
#ifdef ORR_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define SPOIL(p, n)    memset(p, 0xa5, n)
#define REDZONE        ((size_t)16)
#else
#define POISON(p, n)   ((void)0)
#define UNPOISON(p, n) ((void)0)
#define SPOIL(p, n)    ((void)0)
#define REDZONE        ((size_t)0)
#endif

#define BLOCK_BYTES ((size_t)64 * 1024)
#define ALIGNMENT   ((size_t)16)

static struct orr_mem_large large; /* resize NULL: the heap alone */

void orr_mem_large(const struct orr_mem_large *use)
{
    large = *use;
}

static bool is_large(const void *old, size_t bytes)
{
    return large.resize != NULL &&
           (bytes >= large.least_bytes || (old != NULL && large.holds(old)));
}

static void *checked(void *memory)
{
    if (memory == NULL) {
        orr_out_of_memory();
    }
    return memory;
}

void *orr_alloc(size_t count, size_t size)
{
    return orr_realloc(NULL, count, size);
}

void *orr_zalloc(size_t count, size_t size)
{
    void *array = size > 0 && count <= SIZE_MAX / size && is_large(NULL, count * size)
                      ? large.resize(NULL, count * size)
                      : NULL;
    return array != NULL ? array : orr_zalloc_near(count, size);
}

void *orr_zalloc_near(size_t count, size_t size)
{
    return checked(calloc(count > 0 ? count : 1, size));
}

void *orr_realloc(void *old, size_t count, size_t size)
{
    ORR_ASSERT(size == 0 || count <= SIZE_MAX / size);
    const size_t bytes = count * size;
    if (is_large(old, bytes)) {
        const bool own = old != NULL && large.holds(old);
        void *array = large.resize(old, bytes);
        if (array != NULL || own) {
            return checked(array);
        }
    }
    return checked(realloc(old, bytes > 0 ? bytes : 1));
}

char *orr_strndup(const char *text, size_t bytes)
{
    char *copy = orr_alloc(bytes + 1, 1);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

char *orr_strdup(const char *text)
{
    return orr_strndup(text, strlen(text));
}

void orr_free(void *memory)
{
    if (large.resize == NULL || !large.release(memory)) {
        free(memory);
    }
}

size_t orr_grow(size_t capacity, size_t need)
{
    size_t grown = capacity < 16 ? 16 : capacity + capacity / 2;
    return grown < need ? need : grown;
}

void *orr_zgrow(void *array, uint32_t *capacity, size_t need, size_t size)
{
    if (need > *capacity) {
        const size_t had = *capacity, has = orr_grow(had, need);
        array = orr_realloc(array, has, size);
        memset((char *)array + had * size, 0, (has - had) * size);
        *capacity = (uint32_t)has;
    }
    return array;
}

struct orr_arena_block {
    struct orr_arena_block *next;
    size_t bytes; /* usable, behind this header */
};

static char *block_start(struct orr_arena_block *block)
{
    return (char *)block + (sizeof *block + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void orr_arena_init(struct orr_arena *arena)
{
    *arena = (struct orr_arena){0};
}

void *orr_arena_take(struct orr_arena *arena, size_t count, size_t size)
{
    ORR_ASSERT(size == 0 || count <= (SIZE_MAX / 4) / size);
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->head == NULL || arena->head->bytes - arena->used < bytes + REDZONE) {
        size_t want = arena->head == NULL ? BLOCK_BYTES : arena->head->bytes * 2;
        if (want < bytes + REDZONE) {
            want = bytes + REDZONE;
        }
        struct orr_arena_block *block = orr_alloc(1, sizeof *block + ALIGNMENT + want);
        block->next = arena->head;
        block->bytes = want;
        arena->head = block;
        arena->used = 0;
        POISON(block_start(block), want);
    }
    char *memory = block_start(arena->head) + arena->used;
    arena->used += bytes + REDZONE;
    UNPOISON(memory, bytes);
    SPOIL(memory, bytes);
    return memory;
}

void *orr_arena_alloc(struct orr_arena *arena, size_t count, size_t size)
{
    void *memory = orr_arena_take(arena, count, size);
    return memset(memory, 0, count * size);
}

char *orr_arena_strndup(struct orr_arena *arena, const char *text, size_t bytes)
{
    char *copy = orr_arena_alloc(arena, bytes + 1, 1);
    memcpy(copy, text, bytes);
    return copy;
}

static void free_blocks(struct orr_arena_block *block)
{
    while (block != NULL) {
        struct orr_arena_block *next = block->next;
        UNPOISON(block_start(block), block->bytes);
        orr_free(block);
        block = next;
    }
}

void orr_arena_reset(struct orr_arena *arena)
{
    if (arena->head != NULL) {
        free_blocks(arena->head->next);
        arena->head->next = NULL;
        arena->used = 0;
        POISON(block_start(arena->head), arena->head->bytes);
    }
}

void orr_arena_release(struct orr_arena *arena)
{
    free_blocks(arena->head);
    *arena = (struct orr_arena){0};
}
