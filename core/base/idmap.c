/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/idmap.h>

#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/mem.h>
#include <orrery/base/status.h>

#define HASH_SHIFT 40
#define AT_MASK    (((uint64_t)1 << HASH_SHIFT) - 1)

void orr_idmap_init(struct orr_idmap *map)
{
    *map = (struct orr_idmap){0};
}

void orr_idmap_release(struct orr_idmap *map)
{
    orr_free(map->text);
    orr_free(map->name_at);
    orr_free(map->slots);
    *map = (struct orr_idmap){0};
}

const char *orr_idmap_name(const struct orr_idmap *map, uint32_t index)
{
    ORR_ASSERT(index < map->count);
    return map->text + (map->name_at[index] & AT_MASK);
}

/* Length of a name: up to where the next one starts, without its NUL. */
static size_t name_bytes(const struct orr_idmap *map, uint32_t index)
{
    uint64_t end = index + 1 < map->count ? map->name_at[index + 1] & AT_MASK : map->text_bytes;
    return (size_t)(end - (map->name_at[index] & AT_MASK)) - 1;
}

/* Slot that holds the name, or the empty slot where it belongs. */
static uint32_t slot_of(const struct orr_idmap *map, const char *name, size_t bytes, uint64_t hash)
{
    uint32_t mask = map->slot_count - 1;
    uint32_t slot = (uint32_t)hash & mask;
    for (; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        uint32_t index = map->slots[slot] - 1;
        uint64_t at = map->name_at[index];
        if (at >> HASH_SHIFT == hash >> HASH_SHIFT && name_bytes(map, index) == bytes &&
            memcmp(map->text + (at & AT_MASK), name, bytes) == 0) {
            break;
        }
    }
    return slot;
}

uint32_t orr_idmap_find(const struct orr_idmap *map, const char *name, size_t bytes)
{
    if (map->count == 0) {
        return ORR_NONE;
    }
    uint32_t index = map->slots[slot_of(map, name, bytes, orr_hash_bytes(name, bytes))];
    return index == 0 ? ORR_NONE : index - 1;
}

static void rehash(struct orr_idmap *map)
{
    map->slot_count = map->slot_count == 0 ? 64 : map->slot_count * 2;
    orr_free(map->slots);
    map->slots = orr_zalloc(map->slot_count, sizeof *map->slots);
    uint32_t mask = map->slot_count - 1;
    for (uint32_t i = 0; i < map->count; i++) {
        const char *name = orr_idmap_name(map, i);
        uint32_t slot = (uint32_t)orr_hash_bytes(name, name_bytes(map, i)) & mask;
        while (map->slots[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        map->slots[slot] = i + 1;
    }
}

uint32_t orr_idmap_put(struct orr_idmap *map, const char *name, size_t bytes, bool *added)
{
    if (map->text_bytes + bytes + 1 > map->text_capacity) {
        map->text_capacity = orr_grow(map->text_capacity, map->text_bytes + bytes + 1);
        map->text = orr_realloc(map->text, map->text_capacity, 1);
    }
    if (map->count + (map->count >> 1) >= map->slot_count) {
        rehash(map);
    }
    uint64_t hash = orr_hash_bytes(name, bytes);
    uint32_t slot = slot_of(map, name, bytes, hash);
    bool is_new = map->slots[slot] == 0;
    if (added != NULL) {
        *added = is_new;
    }
    if (!is_new) {
        return map->slots[slot] - 1;
    }
    map->name_at = ORR_ROOM_FOR_ONE(map->name_at, map->count, map->capacity);
    map->name_at[map->count] = (uint64_t)map->text_bytes | (hash >> HASH_SHIFT << HASH_SHIFT);
    memcpy(map->text + map->text_bytes, name, bytes);
    map->text[map->text_bytes + bytes] = '\0';
    map->text_bytes += bytes + 1;
    map->slots[slot] = ++map->count;
    return map->count - 1;
}
