/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_pages.c - a B-tree in SQLite's file format, of rows by rising id. */
#include "store_pages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/mem.h>

#define LOCK_BYTE 0x40000000u /* SQLite locks bytes from here: their page is never written */

enum {
    HEADER_BYTES = 100, /* of the file, and what of it is read */
    AT_PAGE_BYTES = 16,
    AT_RESERVED = 20, /* bytes at the end of each page */
    AT_CHANGES = 24,
    AT_PAGE_COUNT = 28, /* counts only while the two numbers of changes are equal */
    AT_FIRST_FREE = 32,
    AT_FORM = 44,
    AT_AUTO_VACUUM = 52,
    AT_ENCODING = 56,
    AT_CHANGES_COUNTED = 92
};

enum { FORM = 4, UTF8 = 1 }; /* the form that has 0 and 1 as types */
enum { LEAF = 13, INNER = 5, LEAF_HEADER = 8, INNER_HEADER = 12, POINTER = 2, CHILD = 4 };
enum { VARINT_MOST = 8 };

enum record_type { TYPE_NULL = 0, TYPE_ZERO = 8, TYPE_TEXT = 13 };

struct child { /* a page below another, and its last row */
    int64_t last_id;
    uint32_t page;
};

struct orr_pages {
    int file;
    uint32_t page_bytes, usable_bytes;
    uint32_t root, next; /* page numbers */
    uint8_t *page;       /* the leaf that is being filled: pointers grow up, cells grow down */
    uint32_t cell_count, cells_at;
    int64_t last_id;
    struct orr_record record;
    struct child *children;
    uint32_t child_count, child_capacity;
};

/* The lowest bytes of a value, the highest of them first. Eight are stored: there is room. */
static void store_big_endian(uint8_t *to, uint64_t value, unsigned bytes)
{
    const uint64_t first = value << (64 - 8 * bytes);
    for (unsigned i = 0; i < 8; i++) {
        to[i] = (uint8_t)(first >> (56 - 8 * i));
    }
}

static void store_u16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static void store_u32(uint8_t *to, uint32_t value)
{
    store_u16(to, value >> 16);
    store_u16(to + 2, value);
}

static uint32_t load_u32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Seven bits a byte, the highest first; all but the last byte have bit 7. Ids and sizes are below
 * 2^56: the ninth byte of larger values would hold eight bits. */
static unsigned put_varint(uint8_t *to, uint64_t value)
{
    unsigned bytes = 1;
    while (bytes < VARINT_MOST && value >> (7 * bytes) != 0) {
        bytes++;
    }
    for (unsigned i = 0; i < bytes; i++) {
        const unsigned more = i + 1 < bytes ? 0x80 : 0;
        to[i] = (uint8_t)((value >> (7 * (bytes - 1 - i)) & 0x7f) | more);
    }
    return bytes;
}

void orr_record_null(struct orr_record *record)
{
    record->types[record->types_bytes++] = TYPE_NULL;
}

void orr_record_int(struct orr_record *record, int64_t value)
{
    if (value == 0 || value == 1) {
        record->types[record->types_bytes++] = (uint8_t)(TYPE_ZERO + value);
        return;
    }
    const uint64_t size = value < 0 ? ~(uint64_t)value : (uint64_t)value;
    const uint8_t type = size <= INT8_MAX      ? 1
                         : size <= INT16_MAX   ? 2
                         : size < (1u << 23)   ? 3
                         : size <= INT32_MAX   ? 4
                         : size < (1ull << 47) ? 5
                                               : 6;
    const unsigned bytes = type <= 4 ? type : type == 5 ? 6 : 8;
    record->types[record->types_bytes++] = type;
    store_big_endian(record->body + record->body_bytes, (uint64_t)value, bytes);
    record->body_bytes += bytes;
}

/* Room for so many bytes, and for an integer in each column. */
static void reserve(struct orr_record *record, size_t bytes)
{
    const size_t need = record->body_bytes + bytes + sizeof(int64_t) * ORR_RECORD_COLUMNS_MOST;
    if (need > record->capacity) {
        record->capacity = orr_grow(record->capacity, need);
        record->body = orr_realloc(record->body, record->capacity, 1);
    }
}

void orr_record_text(struct orr_record *record, const char *text)
{
    const size_t bytes = strlen(text);
    reserve(record, bytes);
    record->types_bytes += put_varint(record->types + record->types_bytes, TYPE_TEXT + 2 * bytes);
    memcpy(record->body + record->body_bytes, text, bytes);
    record->body_bytes += bytes;
}

uint32_t orr_record_columns(const struct orr_record *record)
{
    uint32_t columns = 0;
    for (size_t i = 0; i < record->types_bytes; i++) {
        columns += (record->types[i] & 0x80) == 0; /* the last byte of a type */
    }
    return columns;
}

struct orr_record *orr_pages_record(struct orr_pages *pages)
{
    struct orr_record *record = &pages->record;
    record->types_bytes = 0;
    record->body_bytes = 0;
    return record;
}

static enum orr_status write_at(int file, const uint8_t *bytes, size_t count, uint64_t at,
                                struct orr_err *err)
{
    while (count > 0) {
        const ssize_t done = pwrite(file, bytes, count, (off_t)at);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return orr_fail(err, ORR_IO, "cannot write results: %s",
                            strerror(done < 0 ? errno : ENOSPC));
        }
        bytes += done;
        count -= (size_t)done;
        at += (size_t)done;
    }
    return ORR_OK;
}

static enum orr_status write_page(struct orr_pages *pages, uint32_t number, struct orr_err *err)
{
    return write_at(pages->file, pages->page, pages->page_bytes,
                    (uint64_t)(number - 1) * pages->page_bytes, err);
}

static uint32_t take_page(struct orr_pages *pages)
{
    if (pages->next == LOCK_BYTE / pages->page_bytes + 1) {
        pages->next++;
    }
    return pages->next++;
}

enum orr_status orr_pages_open(int file, uint32_t root, struct orr_pages **out, struct orr_err *err)
{
    uint8_t header[HEADER_BYTES];
    const bool whole = pread(file, header, sizeof header, 0) == (ssize_t)sizeof header;
    if (!whole || load_u32(header + AT_FORM) != FORM || load_u32(header + AT_ENCODING) != UTF8 ||
        load_u32(header + AT_AUTO_VACUUM) != 0 || load_u32(header + AT_FIRST_FREE) != 0 ||
        load_u32(header + AT_CHANGES) != load_u32(header + AT_CHANGES_COUNTED)) {
        return orr_fail(err, ORR_IO, "cannot write results: SQLite made a file of another form");
    }
    struct orr_pages *pages = orr_zalloc(1, sizeof *pages);
    pages->file = file;
    pages->page_bytes = load_u32(header + AT_PAGE_BYTES) >> 16; /* 1 would be 65536: never here */
    pages->usable_bytes = pages->page_bytes - header[AT_RESERVED];
    pages->root = root;
    pages->next = load_u32(header + AT_PAGE_COUNT) + 1;
    pages->page = orr_zalloc(pages->page_bytes, 1);
    pages->cells_at = pages->usable_bytes;
    reserve(&pages->record, 0);
    *out = pages;
    return ORR_OK;
}

void orr_pages_close(struct orr_pages *pages)
{
    if (pages != NULL) {
        orr_free(pages->page);
        orr_free(pages->record.body);
        orr_free(pages->children);
        orr_free(pages);
    }
}

static void add_child(struct orr_pages *pages, uint32_t page)
{
    pages->children = ORR_ROOM_FOR_ONE(pages->children, pages->child_count, pages->child_capacity);
    pages->children[pages->child_count++] = (struct child){.last_id = pages->last_id, .page = page};
}

/* Writes the leaf with its header and goes on to an empty one. */
static enum orr_status write_leaf(struct orr_pages *pages, uint32_t number, struct orr_err *err)
{
    uint8_t *page = pages->page;
    const uint32_t pointers_end = LEAF_HEADER + POINTER * pages->cell_count;
    page[0] = LEAF;
    store_u16(page + 1, 0); /* no free blocks */
    store_u16(page + 3, pages->cell_count);
    store_u16(page + 5, pages->cells_at);
    page[7] = 0; /* no fragments */
    memset(page + pointers_end, 0, pages->cells_at - pointers_end);
    pages->cell_count = 0;
    pages->cells_at = pages->usable_bytes;
    return write_page(pages, number, err);
}

/* Puts a payload that is longer than a leaf takes on pages of its own, each with the number of the
 * next before it. `first` is the first of them. */
static enum orr_status write_overflow(struct orr_pages *pages, const uint8_t *rest, size_t bytes,
                                      uint32_t *first, struct orr_err *err)
{
    const size_t most = pages->usable_bytes - sizeof(uint32_t);
    uint8_t *page = orr_zalloc(pages->page_bytes, 1);
    enum orr_status status = ORR_OK;
    uint32_t number = *first = take_page(pages);
    while (status == ORR_OK && bytes > 0) {
        const size_t here = bytes < most ? bytes : most;
        const uint32_t next = bytes > here ? take_page(pages) : 0;
        store_u32(page, next);
        memcpy(page + sizeof(uint32_t), rest, here);
        status = write_at(pages->file, page, pages->page_bytes,
                          (uint64_t)(number - 1) * pages->page_bytes, err);
        rest += here;
        bytes -= here;
        number = next;
    }
    orr_free(page);
    return status;
}

/* How much of a payload a leaf holds; the rest goes on pages of its own. */
static size_t local_bytes(const struct orr_pages *pages, size_t payload)
{
    const size_t usable = pages->usable_bytes, most = usable - 35;
    const size_t least = (usable - 12) * 32 / 255 - 23;
    const size_t even = least + (payload - least) % (usable - 4);
    return payload <= most ? payload : even <= most ? even : least;
}

enum orr_status orr_pages_add(struct orr_pages *pages, int64_t id, struct orr_err *err)
{
    struct orr_record *record = &pages->record;
    const size_t header_bytes = 1 + record->types_bytes;
    const size_t payload = header_bytes + record->body_bytes;
    const size_t local = local_bytes(pages, payload), local_body = local - header_bytes;
    uint8_t sizes[2 * VARINT_MOST];
    unsigned sizes_bytes = put_varint(sizes, payload);
    sizes_bytes += put_varint(sizes + sizes_bytes, (uint64_t)id);
    const size_t cell = sizes_bytes + local + (local < payload ? sizeof(uint32_t) : 0);
    if (LEAF_HEADER + POINTER * (pages->cell_count + 1) + cell > pages->cells_at) {
        const uint32_t number = take_page(pages);
        add_child(pages, number);
        const enum orr_status status = write_leaf(pages, number, err);
        if (status != ORR_OK) {
            return status;
        }
    }
    pages->cells_at -= (uint32_t)cell;
    store_u16(pages->page + LEAF_HEADER + POINTER * pages->cell_count++, pages->cells_at);
    uint8_t *to = pages->page + pages->cells_at;
    memcpy(to, sizes, sizes_bytes);
    to += sizes_bytes;
    *to++ = (uint8_t)header_bytes;
    memcpy(to, record->types, record->types_bytes);
    to += record->types_bytes;
    memcpy(to, record->body, local_body);
    pages->last_id = id;
    if (local == payload) {
        return ORR_OK;
    }
    uint32_t first;
    const enum orr_status status = write_overflow(pages, record->body + local_body,
                                                  record->body_bytes - local_body, &first, err);
    store_u32(to + local_body, first);
    return status;
}

/* A page above `count` children: a cell for each but the last, which is at the right. */
static enum orr_status write_inner(struct orr_pages *pages, const struct child *children,
                                   uint32_t count, uint32_t number, struct orr_err *err)
{
    uint8_t *page = pages->page;
    uint32_t at = pages->usable_bytes;
    memset(page, 0, pages->page_bytes);
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint8_t cell[CHILD + VARINT_MOST];
        store_u32(cell, children[i].page);
        const unsigned bytes = CHILD + put_varint(cell + CHILD, (uint64_t)children[i].last_id);
        at -= bytes;
        memcpy(page + at, cell, bytes);
        store_u16(page + INNER_HEADER + POINTER * i, at);
    }
    page[0] = INNER;
    store_u16(page + 3, count - 1);
    store_u16(page + 5, at);
    store_u32(page + 8, children[count - 1].page);
    return write_page(pages, number, err);
}

/* Puts pages above the children, as many on each, and makes these the children. */
static enum orr_status raise_level(struct orr_pages *pages, uint32_t most, struct orr_err *err)
{
    const uint32_t count = pages->child_count, parents = (count + most - 1) / most;
    struct child *children = pages->children;
    for (uint32_t p = 0, begin = 0; p < parents; p++) {
        const uint32_t end = (uint32_t)((uint64_t)count * (p + 1) / parents);
        const uint32_t number = take_page(pages);
        const enum orr_status status =
            write_inner(pages, children + begin, end - begin, number, err);
        if (status != ORR_OK) {
            return status;
        }
        children[p] = (struct child){.last_id = children[end - 1].last_id, .page = number};
        begin = end;
    }
    pages->child_count = parents;
    return ORR_OK;
}

static enum orr_status write_root(struct orr_pages *pages, struct orr_err *err)
{
    if (pages->child_count == 0) {
        return write_leaf(pages, pages->root, err);
    }
    const uint32_t number = take_page(pages);
    add_child(pages, number);
    enum orr_status status = write_leaf(pages, number, err);
    const uint32_t most =
        (pages->usable_bytes - INNER_HEADER) / (POINTER + CHILD + VARINT_MOST) + 1;
    while (status == ORR_OK && pages->child_count > most) {
        status = raise_level(pages, most, err);
    }
    return status == ORR_OK
               ? write_inner(pages, pages->children, pages->child_count, pages->root, err)
               : status;
}

enum orr_status orr_pages_finish(struct orr_pages *pages, struct orr_err *err)
{
    const enum orr_status status = write_root(pages, err);
    uint8_t count[sizeof(uint32_t)];
    store_u32(count, pages->next - 1);
    return status == ORR_OK ? write_at(pages->file, count, sizeof count, AT_PAGE_COUNT, err)
                            : status;
}
