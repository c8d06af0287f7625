/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unpack.c - reading an archive that anybody may have made. */
#include "pack_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <archive_entry.h>

#include <orrery/base/text.h>
#include <orrery/traces/source.h>

#include "input.h"

#define FILES_MAX 10000
#define BYTES_MAX ((int64_t)16 << 30)
#define SUMS_MAX  ((size_t)4 << 20)

struct unpack {
    struct archive *archive;
    const char *path, *folder;
    struct orr_arena *arena;
    struct orr_unpacked *files;
    int64_t bytes;
    struct orr_err *err;
};

/* A name as printable text, for an error. */
static enum orr_status refuse(const struct unpack *unpack, const char *name, const char *why)
{
    char shown[100];
    size_t used = 0;
    for (; name != NULL && name[used] != '\0' && used + 1 < sizeof shown; used++) {
        unsigned char c = (unsigned char)name[used];
        shown[used] = c < ' ' || c > '~' ? '?' : (char)c;
    }
    shown[used] = '\0';
    return orr_fail(unpack->err, ORR_DATA, "%s: \"%s\": %s", unpack->path, shown, why);
}

static bool name_is_proper(const char *name)
{
    unsigned slashes = 0;
    size_t i = 0;
    for (; name[i] != '\0'; i++) {
        bool starts = i == 0 || name[i - 1] == '/';
        if (name[i] == '/' && !starts) {
            slashes++;
        } else if (!pack_char_allowed(name[i]) || (starts && (name[i] == '.' || name[i] == '-'))) {
            return false;
        }
    }
    return i > 0 && i < PACK_NAME_MAX && name[i - 1] != '/' && slashes < 2;
}

static enum orr_status copy_out(struct unpack *unpack, const char *name, int fd)
{
    const void *block;
    size_t bytes;
    la_int64_t offset;
    int code;
    while ((code = archive_read_data_block(unpack->archive, &block, &bytes, &offset)) ==
           ARCHIVE_OK) {
        unpack->bytes += (int64_t)bytes;
        if (unpack->bytes > BYTES_MAX || offset > BYTES_MAX) {
            return refuse(unpack, name, "unpacks to more than 16 GiB");
        }
        if (bytes > 0 && pwrite(fd, block, bytes, offset) != (ssize_t)bytes) {
            return orr_fail(unpack->err, ORR_IO, "%s: %s", unpack->folder, strerror(errno));
        }
    }
    return code == ARCHIVE_EOF ? ORR_OK
                               : refuse(unpack, name, archive_error_string(unpack->archive));
}

static enum orr_status take(struct unpack *unpack, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);
    if (name == NULL || !name_is_proper(name)) {
        return refuse(unpack, name, "not a name that a bundle has");
    }
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != NULL) {
        return refuse(unpack, name, "not a plain file");
    }
    struct orr_unpacked *files = unpack->files;
    if (files->count == FILES_MAX) {
        return refuse(unpack, name, "more than 10000 files");
    }
    char path[5000];
    (void)snprintf(path, sizeof path, "%.4700s/%s", unpack->folder, name);
    char *slash = strchr(path + strlen(unpack->folder) + 1, '/');
    if (slash != NULL) {
        *slash = '+'; /* no name has one */
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return errno == EEXIST
                   ? refuse(unpack, name, "is there twice")
                   : orr_fail(unpack->err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    enum orr_status status = copy_out(unpack, name, fd);
    if (close(fd) != 0 && status == ORR_OK) {
        status = orr_fail(unpack->err, ORR_IO, "%s: %s", path, strerror(errno));
    }
    if (files->count == files->capacity) {
        files->capacity = (uint32_t)orr_grow(files->capacity, 16);
        files->names = orr_realloc(files->names, files->capacity, sizeof *files->names);
        files->paths = orr_realloc(files->paths, files->capacity, sizeof *files->paths);
    }
    files->names[files->count] = orr_arena_strndup(unpack->arena, name, strlen(name));
    files->paths[files->count++] = orr_arena_strndup(unpack->arena, path, strlen(path));
    return status;
}

static enum orr_status take_all(struct unpack *unpack)
{
    struct archive_entry *entry;
    int code;
    enum orr_status status = ORR_OK;
    while (status == ORR_OK &&
           (code = archive_read_next_header(unpack->archive, &entry)) != ARCHIVE_EOF) {
        const char *why = archive_error_string(unpack->archive);
        status = code == ARCHIVE_OK
                     ? take(unpack, entry)
                     : orr_fail(unpack->err, ORR_DATA, "%s: not a whole archive (%s)", unpack->path,
                                why != NULL ? why : "damaged");
    }
    return status;
}

/* The line of a name in SHA256SUMS, or NULL. */
static const char *line_of(const char *sums, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = sums; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        if (bytes == 66 + length && memcmp(line + 66, name, length) == 0) {
            return line;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return NULL;
}

static uint32_t lines_in(const char *text)
{
    uint32_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static enum orr_status check_sums(const struct unpack *unpack)
{
    const struct orr_unpacked *files = unpack->files;
    const char *path = NULL;
    for (uint32_t i = 0; i < files->count; i++) {
        path = strcmp(files->names[i], PACK_SUMS) == 0 ? files->paths[i] : path;
    }
    if (path == NULL) {
        return orr_fail(unpack->err, ORR_DATA, "%s: not a bundle (no %s in it)", unpack->path,
                        PACK_SUMS);
    }
    char *sums = NULL;
    size_t bytes = 0;
    enum orr_status status = orr_source_read_all(path, SUMS_MAX, &sums, &bytes, unpack->err);
    for (uint32_t i = 0; i < files->count && status == ORR_OK; i++) {
        char sum[ORR_SHA256_TEXT];
        const char *name = files->names[i], *line = line_of(sums, name);
        if (files->paths[i] == path) {
            continue;
        }
        if (line == NULL) {
            status = refuse(unpack, name, "has no line in " PACK_SUMS);
            break;
        }
        status = orr_file_sha256(files->paths[i], sum, unpack->err);
        if (status == ORR_OK && memcmp(sum, line, 64) != 0) {
            status = refuse(unpack, name, "is not what " PACK_SUMS " says it is");
        }
    }
    if (status == ORR_OK && lines_in(sums) != files->count - 1) {
        status = orr_fail(unpack->err, ORR_DATA, "%s: %s names files that are not there",
                          unpack->path, PACK_SUMS);
    }
    orr_free(sums);
    return status;
}

enum orr_status orr_pack_read(const char *path, const char *folder, struct orr_arena *arena,
                              struct orr_unpacked *files, struct orr_err *err)
{
    *files = (struct orr_unpacked){0};
    struct orr_input input;
    enum orr_status status = orr_input_open(path, NULL, &input, err);
    if (status != ORR_OK) {
        return status;
    }
    struct unpack unpack = {.path = path,
                            .folder = folder,
                            .arena = arena,
                            .files = files,
                            .err = err,
                            .archive = orr_input_archive()};
    (void)archive_read_support_format_tar(unpack.archive);
    (void)archive_read_support_format_zip(unpack.archive);
    if (orr_input_attach(&input, unpack.archive) != ARCHIVE_OK) {
        status = orr_fail(err, ORR_DATA, "%s: not an archive (%s)", path,
                          archive_error_string(unpack.archive));
    } else {
        status = take_all(&unpack);
    }
    if (status == ORR_OK && !orr_input_drain(&input, unpack.archive)) {
        status = orr_fail(err, ORR_DATA, "%s: not a whole archive (%s)", path,
                          archive_error_string(unpack.archive));
    }
    (void)archive_read_free(unpack.archive);
    orr_input_close(&input);
    return status == ORR_OK ? check_sums(&unpack) : status;
}
