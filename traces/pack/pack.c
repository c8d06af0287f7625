/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pack.c - writing an archive, and what both directions share. */
#include "pack_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "sha256.h"

enum orr_status orr_file_sha256(const char *path, char text[ORR_SHA256_TEXT], struct orr_err *err)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return orr_fail(err, ORR_NO_INPUT, "%s: %s", path, strerror(errno));
    }
    struct sha256_ctx sha;
    unsigned char block[16384];
    size_t bytes;
    sha256_init(&sha);
    while ((bytes = fread(block, 1, sizeof block, in)) > 0) {
        sha256_update(&sha, bytes, block);
    }
    bool failed = ferror(in) != 0;
    (void)fclose(in);
    orr_sha256_text(&sha, text);
    return failed ? orr_fail(err, ORR_IO, "%s: cannot be read", path) : ORR_OK;
}

void orr_texts_sha256(const char *const *texts, size_t count, char text[ORR_SHA256_TEXT])
{
    struct sha256_ctx sha;
    sha256_init(&sha);
    for (size_t i = 0; i < count; i++) {
        sha256_update(&sha, strlen(texts[i]) + 1, (const uint8_t *)texts[i]);
    }
    orr_sha256_text(&sha, text);
}

bool pack_char_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

const char *orr_pack_name(struct orr_arena *arena, const char *folder, const char *name)
{
    char text[PACK_NAME_MAX];
    int used = snprintf(text, sizeof text, "%s/%.150s", folder, name);
    for (char *c = text + strlen(folder) + 1; *c != '\0'; c++) {
        bool first = c[-1] == '/';
        *c = !pack_char_allowed(*c) || (first && (*c == '.' || *c == '-')) ? '_' : *c;
    }
    return orr_arena_strndup(arena, text, (size_t)used);
}

struct pack {
    struct archive *archive;
    const char *path;
    char *sums;
    size_t sums_bytes;
    struct orr_err *err;
};

static enum orr_status pack_failed(const struct pack *pack)
{
    const char *why = archive_error_string(pack->archive);
    return orr_fail(pack->err, ORR_IO, "%s: %s", pack->path, why != NULL ? why : "write failed");
}

static bool choose_format(struct archive *archive, const char *path)
{
    static const char *const suffixes[] = {".tar.zst", ".tar.gz", ".zip"};
    size_t length = strlen(path);
    for (unsigned i = 0; i < 3; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (length > suffix && strcmp(path + length - suffix, suffixes[i]) == 0) {
            return i == 2 ? archive_write_set_format_zip(archive) == ARCHIVE_OK
                   : i == 1
                       ? archive_write_add_filter_gzip(archive) == ARCHIVE_OK &&
                             archive_write_set_options(archive, "gzip:!timestamp") == ARCHIVE_OK &&
                             archive_write_set_format_pax_restricted(archive) == ARCHIVE_OK
                       : archive_write_add_filter_zstd(archive) == ARCHIVE_OK &&
                             archive_write_set_format_pax_restricted(archive) == ARCHIVE_OK;
        }
    }
    return false;
}

static enum orr_status put_header(struct pack *pack, const char *name, int64_t bytes)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, bytes);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_mtime(entry, 0, 0);
    int code = archive_write_header(pack->archive, entry);
    archive_entry_free(entry);
    return code == ARCHIVE_OK ? ORR_OK : pack_failed(pack);
}

static void add_sum(struct pack *pack, const char *sum, const char *name)
{
    char line[PACK_NAME_MAX + 80];
    int used = snprintf(line, sizeof line, "%s  %s\n", sum, name);
    pack->sums = orr_realloc(pack->sums, pack->sums_bytes + (size_t)used + 1, 1);
    memcpy(pack->sums + pack->sums_bytes, line, (size_t)used + 1);
    pack->sums_bytes += (size_t)used;
}

static enum orr_status put_text(struct pack *pack, const char *name, const char *text)
{
    size_t bytes = strlen(text);
    char sum[ORR_SHA256_TEXT];
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, bytes, (const uint8_t *)text);
    orr_sha256_text(&sha, sum);
    add_sum(pack, sum, name);
    enum orr_status status = put_header(pack, name, (int64_t)bytes);
    return status == ORR_OK && archive_write_data(pack->archive, text, bytes) != (la_ssize_t)bytes
               ? pack_failed(pack)
               : status;
}

/* The size is known before the bytes are; a file that changes meanwhile is an error. */
static enum orr_status put_file(struct pack *pack, const char *name, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL || fseeko(in, 0, SEEK_END) != 0) {
        enum orr_status status = orr_fail(pack->err, ORR_NO_INPUT, "%s: %s", path, strerror(errno));
        if (in != NULL) {
            (void)fclose(in);
        }
        return status;
    }
    int64_t size = ftello(in), done = 0;
    rewind(in);
    enum orr_status status = put_header(pack, name, size);
    unsigned char block[16384];
    size_t bytes;
    struct sha256_ctx sha;
    sha256_init(&sha);
    while (status == ORR_OK && (bytes = fread(block, 1, sizeof block, in)) > 0) {
        sha256_update(&sha, bytes, block);
        done += (int64_t)bytes;
        if (archive_write_data(pack->archive, block, bytes) != (la_ssize_t)bytes) {
            status = done > size ? ORR_OK : pack_failed(pack);
            break;
        }
    }
    (void)fclose(in);
    char sum[ORR_SHA256_TEXT];
    orr_sha256_text(&sha, sum);
    add_sum(pack, sum, name);
    return status == ORR_OK && done != size
               ? orr_fail(pack->err, ORR_IO, "%s: changed while it was read", path)
               : status;
}

static enum orr_status put_all(struct pack *pack, const struct orr_pack_file *files, uint32_t count)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = files[i].path != NULL ? put_file(pack, files[i].name, files[i].path)
                                       : put_text(pack, files[i].name, files[i].text);
    }
    char *sums = pack->sums; /* its own line is not part of it */
    pack->sums = NULL;
    pack->sums_bytes = 0;
    if (status == ORR_OK) {
        status = put_text(pack, PACK_SUMS, sums != NULL ? sums : "");
    }
    orr_free(sums);
    orr_free(pack->sums);
    return status == ORR_OK && archive_write_close(pack->archive) != ARCHIVE_OK ? pack_failed(pack)
                                                                                : status;
}

enum orr_status orr_pack_write(const char *path, FILE *out, const struct orr_pack_file *files,
                               uint32_t count, struct orr_err *err)
{
    struct pack pack = {.archive = archive_write_new(), .path = path, .err = err};
    enum orr_status status = ORR_OK;
    if (!choose_format(pack.archive, path)) {
        status = orr_fail(err, ORR_USAGE, "%s: name it .tar.zst, .tar.gz or .zip", path);
    } else if (archive_write_open_fd(pack.archive, fileno(out)) != ARCHIVE_OK) {
        status = pack_failed(&pack);
    } else {
        status = put_all(&pack, files, count);
    }
    if (archive_write_free(pack.archive) != ARCHIVE_OK && status == ORR_OK) {
        status = orr_fail(err, ORR_IO, "%s: cannot be written", path);
    }
    return status;
}
