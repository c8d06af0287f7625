/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of a trace file. Everything goes through libarchive, plain files too, so there is one
 * path to test; libarchive hands on blocks of plain files without copying them. The digest is taken
 * where libarchive is given its input: of the file as it lies on disk, in one pass. */
#include "reader_int.h"

#include <orrery/traces/source.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <archive_entry.h>

#include "input.h"

#define BLOCK_BYTES ((size_t)128 * 1024) /* of memory at a time */
#define HEAD_BYTES  ((size_t)4096)

struct orr_source {
    struct archive *archive; /* NULL: memory */
    struct orr_input input;  /* of a file */
    struct orr_text memory;  /* what is left of it */
    int64_t memory_bytes;
    struct orr_text peeked; /* to be given out first */
    bool has_peeked, peeked_all;
    bool ended; /* the entry has no more text */
    char *head; /* peeked blocks put together, when the first was short */
    char reason[300];
};

static enum orr_status archive_fault(struct orr_source *source, const char **reason)
{
    if (archive_errno(source->archive) == ENOMEM) {
        orr_out_of_memory();
    }
    const char *what = archive_error_string(source->archive);
    bool of_file = source->input.read_errno != 0;
    if (source->input.read_errno == EINTR) { /* only who asked for it hears of that */
        *reason = "interrupted";
        return ORR_INTERRUPTED;
    }
    (void)snprintf(
        source->reason, sizeof source->reason, "%s%s",
        of_file ? "" : "cannot be decompressed: ", what != NULL ? what : "damaged or cut short");
    *reason = source->reason;
    return of_file ? ORR_IO : ORR_DATA;
}

static struct archive *open_archive(void)
{
    struct archive *archive = orr_input_archive();
    (void)archive_read_support_format_zip_streamable(archive);
    (void)archive_read_support_format_empty(archive);
    (void)archive_read_support_format_raw(archive);
    return archive;
}

enum orr_status orr_source_open(const char *path, const volatile sig_atomic_t *interrupted,
                                struct orr_source **out, struct orr_err *err)
{
    struct orr_source *source = orr_zalloc(1, sizeof *source);
    enum orr_status status = orr_input_open(path, interrupted, &source->input, err);
    if (status != ORR_OK) {
        orr_free(source);
        return status;
    }
    source->archive = open_archive();
    struct archive_entry *entry;
    const char *reason = "";
    int code = orr_input_attach(&source->input, source->archive);
    if (code == ARCHIVE_OK) {
        code = archive_read_next_header(source->archive, &entry);
    }
    if (code == ARCHIVE_EOF) {
        source->ended = true; /* no text at all: for the caller to say */
    } else if (code < ARCHIVE_WARN) {
        status = archive_fault(source, &reason);
        status = orr_fail(err, status, "%s: %s", path, reason);
        orr_source_close(source);
        return status;
    }
    *out = source;
    return ORR_OK;
}

struct orr_source *orr_source_open_memory(const void *bytes, size_t count)
{
    struct orr_source *source = orr_zalloc(1, sizeof *source);
    source->memory = (struct orr_text){bytes, count};
    source->memory_bytes = (int64_t)count;
    sha256_init(&source->input.sha);
    sha256_update(&source->input.sha, count, bytes);
    return source;
}

void orr_source_close(struct orr_source *source)
{
    if (source == NULL) {
        return;
    }
    if (source->archive != NULL) {
        (void)archive_read_free(source->archive);
        orr_input_close(&source->input);
    }
    orr_free(source->head);
    orr_free(source);
}

/* The end of the text: of a zip, only if nothing else is in it. */
static enum orr_status end_entry(struct orr_source *source, const char **reason)
{
    source->ended = true;
    struct archive_entry *entry;
    int code = archive_read_next_header(source->archive, &entry);
    if (code == ARCHIVE_EOF) {
        return ORR_OK;
    }
    if (code < ARCHIVE_WARN) {
        return archive_fault(source, reason);
    }
    *reason = "the archive holds more than one file";
    return ORR_DATA;
}

static enum orr_status next_block(struct orr_source *source, struct orr_text *block,
                                  const char **reason)
{
    *block = (struct orr_text){"", 0};
    if (source->archive == NULL) {
        size_t bytes = source->memory.bytes < BLOCK_BYTES ? source->memory.bytes : BLOCK_BYTES;
        *block = (struct orr_text){source->memory.at, bytes};
        source->memory.at += bytes;
        source->memory.bytes -= bytes;
        return ORR_OK;
    }
    while (!source->ended && block->bytes == 0) {
        const void *at;
        la_int64_t offset;
        int code = archive_read_data_block(source->archive, &at, &block->bytes, &offset);
        if (code == ARCHIVE_EOF) {
            block->bytes = 0;
            return end_entry(source, reason);
        }
        if (code != ARCHIVE_OK) { /* a warning too: a wrong checksum is one */
            return archive_fault(source, reason);
        }
        block->at = at;
    }
    return ORR_OK;
}

enum orr_status orr_source_next(struct orr_source *source, struct orr_text *block,
                                const char **reason)
{
    if (source->has_peeked) {
        source->has_peeked = false;
        *block = source->peeked;
        if (block->bytes > 0) {
            return ORR_OK;
        }
    }
    return next_block(source, block, reason);
}

/* Pipes and stored zips may give a few bytes at a time: those are put together. */
enum orr_status orr_source_peek(struct orr_source *source, struct orr_text *head,
                                const char **reason)
{
    struct orr_text block;
    size_t have = 0;
    do {
        enum orr_status status = next_block(source, &block, reason);
        if (status != ORR_OK) {
            return status;
        }
        if (have == 0 && block.bytes >= HEAD_BYTES) {
            break;
        }
        source->head = orr_realloc(source->head, have + block.bytes + 1, 1);
        memcpy(source->head + have, block.at, block.bytes);
        have += block.bytes;
    } while (block.bytes > 0 && have < HEAD_BYTES);
    source->peeked = have > 0 ? (struct orr_text){source->head, have} : block;
    source->has_peeked = true;
    source->peeked_all = block.bytes == 0;
    *head = source->peeked;
    return ORR_OK;
}

bool orr_source_peeked_all(const struct orr_source *source)
{
    return source->peeked_all;
}

void orr_source_skip(struct orr_source *source, size_t bytes)
{
    ORR_ASSERT(source->has_peeked && bytes <= source->peeked.bytes);
    source->peeked.at += bytes;
    source->peeked.bytes -= bytes;
}

enum orr_status orr_source_finish(struct orr_source *source, int64_t *file_bytes, char *sha256,
                                  const char **reason)
{
    /* a zip's directory lies behind its files */
    if (source->archive != NULL && !orr_input_drain(&source->input, source->archive)) {
        return archive_fault(source, reason);
    }
    *file_bytes = source->archive == NULL ? source->memory_bytes : source->input.file_bytes;
    orr_sha256_text(&source->input.sha, sha256);
    return ORR_OK;
}

enum orr_status orr_source_read_all(const char *path, size_t most, char **text, size_t *bytes,
                                    struct orr_err *err)
{
    struct orr_source *source = NULL;
    enum orr_status status = orr_source_open(path, NULL, &source, err);
    char *all = NULL;
    size_t used = 0, capacity = 0;
    struct orr_text block = {"", 1};
    while (status == ORR_OK && block.bytes > 0) {
        const char *reason = "";
        status = orr_source_next(source, &block, &reason);
        if (status == ORR_OK && block.bytes > most - used) {
            status = ORR_DATA;
            reason = "larger than can be read";
        }
        if (status != ORR_OK) {
            (void)orr_fail(err, status, "%s: %s", path, reason);
            break;
        }
        if (used + block.bytes + 1 > capacity) {
            capacity = orr_grow(capacity, used + block.bytes + 1);
            all = orr_realloc(all, capacity, 1);
        }
        memcpy(all + used, block.at, block.bytes);
        used += block.bytes;
    }
    orr_source_close(source);
    if (status != ORR_OK) {
        orr_free(all);
        return status;
    }
    all = all != NULL ? all : orr_alloc(1, 1);
    all[used] = '\0';
    *text = all;
    *bytes = used;
    return ORR_OK;
}
