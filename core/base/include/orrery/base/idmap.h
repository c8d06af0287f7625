/* SPDX-License-Identifier: GPL-3.0-or-later */
/* idmap.h - names to dense indices, in order of first appearance.
 *
 * Names live one after the other in one text block. As long as each is greater than the one before,
 * by length and then by bytes, as names are that count up, they are found by bisection; from the
 * first other one on through an open-addressing table of 32-bit indices: 8 bytes a name beside its
 * text, and 4 to 12 more with the table. Iterate by index; order never depends on hashing.
 */
#ifndef ORR_BASE_IDMAP_H
#define ORR_BASE_IDMAP_H

#include <orrery/base/units.h>

ORR_API_BEGIN

struct orr_idmap {
    char *text; /* names, each with a final NUL */
    size_t text_bytes, text_capacity;
    uint64_t *name_at; /* offset of name i in text */
    uint32_t count, capacity;
    bool has_table;  /* names do not rise */
    uint32_t *slots; /* 0, or index + 1 below bits of the hash; their number is a power of two */
    uint32_t slot_count;
};

void orr_idmap_init(struct orr_idmap *map);
void orr_idmap_release(struct orr_idmap *map);
/* Index of the name, added if new; *added (may be NULL) tells which. */
uint32_t orr_idmap_put(struct orr_idmap *map, const char *name, size_t bytes, bool *added);
/* The same in two steps: what seek returns (0: nothing yet) is for put_sought, some work later,
 * when the slot of the name has come into the cache. */
uint64_t orr_idmap_seek(const struct orr_idmap *map, const char *name, size_t bytes);
uint32_t orr_idmap_put_sought(struct orr_idmap *map, const char *name, size_t bytes,
                              uint64_t sought, bool *added);
/* Index of the name or ORR_NONE. */
uint32_t orr_idmap_find(const struct orr_idmap *map, const char *name, size_t bytes);
/* From now on names are read by their index only: the table that finds them is given back. */
void orr_idmap_settle(struct orr_idmap *map);
/* The name of an index; borrowed until the next put. */
const char *orr_idmap_name(const struct orr_idmap *map, uint32_t index);

ORR_API_END

#endif
