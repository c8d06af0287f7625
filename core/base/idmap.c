/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/idmap.h>

#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/mem.h>
#include <orrery/base/status.h>

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
    return map->text + map->name_at[index];
}

/* Length of a name: up to where the next one starts, without its NUL. */
static size_t name_bytes(const struct orr_idmap *map, uint32_t index)
{
    uint64_t end = index + 1 < map->count ? map->name_at[index + 1] : map->text_bytes;
    return (size_t)(end - map->name_at[index]) - 1;
}

/* The bits of a slot that no index needs, from the hash: names that only share a slot are told
 * apart without a look at their text, which lies anywhere. */
static uint32_t tag_of(const struct orr_idmap *map, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & ~(map->slot_count - 1);
}

/* Slot that holds the name, or the empty slot where it belongs. */
static uint32_t slot_of(const struct orr_idmap *map, const char *name, size_t bytes, uint64_t hash)
{
    const uint32_t mask = map->slot_count - 1, tag = tag_of(map, hash);
    uint32_t slot = (uint32_t)hash & mask;
    for (; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        if ((map->slots[slot] & ~mask) == tag) {
            const uint32_t index = (map->slots[slot] & mask) - 1;
            if (name_bytes(map, index) == bytes &&
                memcmp(map->text + map->name_at[index], name, bytes) == 0) {
                break;
            }
        }
    }
    return slot;
}

/* By length, then by bytes: what counts up rises so. */
static int order_of(const struct orr_idmap *map, uint32_t index, const char *name, size_t bytes)
{
    const size_t own = name_bytes(map, index);
    return own != bytes ? (own > bytes) - (own < bytes)
                        : memcmp(map->text + map->name_at[index], name, bytes);
}

static bool rises_with(const struct orr_idmap *map, const char *name, size_t bytes)
{
    return map->count == 0 || order_of(map, map->count - 1, name, bytes) < 0;
}

/* Of names that rise: the first that is not less, or their number. */
static uint32_t place_of(const struct orr_idmap *map, const char *name, size_t bytes)
{
    uint32_t low = 0, high = map->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (order_of(map, middle, name, bytes) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t orr_idmap_seek(const struct orr_idmap *map, const char *name, size_t bytes)
{
    if (!map->has_table) {
        return 0;
    }
    const uint64_t hash = orr_hash_bytes(name, bytes);
    __builtin_prefetch(&map->slots[(uint32_t)hash & (map->slot_count - 1)]);
    return hash;
}

void orr_idmap_settle(struct orr_idmap *map)
{
    orr_free(map->slots);
    map->slots = NULL;
    map->slot_count = 0;
}

uint32_t orr_idmap_find(const struct orr_idmap *map, const char *name, size_t bytes)
{
    if (!map->has_table) {
        const uint32_t index = place_of(map, name, bytes);
        return index < map->count && order_of(map, index, name, bytes) == 0 ? index : ORR_NONE;
    }
    ORR_ASSERT(map->slot_count > 0);
    const uint32_t slot = slot_of(map, name, bytes, orr_hash_bytes(name, bytes));
    return map->slots[slot] == 0 ? ORR_NONE : (map->slots[slot] & (map->slot_count - 1)) - 1;
}

/* Slots are anywhere in memory: those of a few names are on their way at a time. */
#define AHEAD 16

static void rehash(struct orr_idmap *map)
{
    uint64_t hashes[AHEAD];
    map->slot_count = map->slot_count == 0 ? 64 : map->slot_count;
    while (map->count + (map->count >> 1) >= map->slot_count) {
        map->slot_count *= 2;
    }
    map->has_table = true;
    orr_free(map->slots);
    map->slots = orr_zalloc_near(map->slot_count, sizeof *map->slots);
    const uint32_t mask = map->slot_count - 1;
    for (uint32_t i = 0; i < map->count + AHEAD; i++) {
        if (i >= AHEAD) {
            const uint64_t hash = hashes[i % AHEAD];
            uint32_t slot = (uint32_t)hash & mask;
            while (map->slots[slot] != 0) {
                slot = (slot + 1) & mask;
            }
            map->slots[slot] = tag_of(map, hash) | (i - AHEAD + 1);
        }
        if (i < map->count) {
            hashes[i % AHEAD] = orr_idmap_seek(map, orr_idmap_name(map, i), name_bytes(map, i));
        }
    }
}

uint32_t orr_idmap_put(struct orr_idmap *map, const char *name, size_t bytes, bool *added)
{
    return orr_idmap_put_sought(map, name, bytes, orr_idmap_seek(map, name, bytes), added);
}

static uint32_t append(struct orr_idmap *map, const char *name, size_t bytes)
{
    if (map->text_bytes + bytes + 1 > map->text_capacity) {
        map->text_capacity = orr_grow(map->text_capacity, map->text_bytes + bytes + 1);
        map->text = orr_realloc(map->text, map->text_capacity, 1);
    }
    map->name_at = ORR_ROOM_FOR_ONE(map->name_at, map->count, map->capacity);
    map->name_at[map->count] = map->text_bytes;
    memcpy(map->text + map->text_bytes, name, bytes);
    map->text[map->text_bytes + bytes] = '\0';
    map->text_bytes += bytes + 1;
    return map->count++;
}

uint32_t orr_idmap_put_sought(struct orr_idmap *map, const char *name, size_t bytes,
                              uint64_t sought, bool *added)
{
    ORR_ASSERT(!map->has_table || map->slot_count > 0);
    const bool rises = !map->has_table && rises_with(map, name, bytes);
    if (added != NULL) {
        *added = rises;
    }
    if (rises) {
        return append(map, name, bytes);
    }
    if (!map->has_table || map->count + (map->count >> 1) >= map->slot_count) {
        rehash(map);
    }
    const uint64_t hash = sought != 0 ? sought : orr_hash_bytes(name, bytes);
    const uint32_t slot = slot_of(map, name, bytes, hash);
    const bool is_new = map->slots[slot] == 0;
    if (added != NULL) {
        *added = is_new;
    }
    if (is_new) {
        map->slots[slot] = tag_of(map, hash) | (append(map, name, bytes) + 1);
    }
    return (map->slots[slot] & (map->slot_count - 1)) - 1;
}
