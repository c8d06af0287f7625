/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/base/mem.h>

#define READ_BYTES ((size_t)128 * 1024)

static bool is_interrupted(const struct orr_input *input)
{
    return input->interrupted != NULL && *input->interrupted != 0;
}

enum orr_status orr_input_open(const char *path, const volatile sig_atomic_t *interrupted,
                               struct orr_input *input, struct orr_err *err)
{
    struct stat stat;
    *input = (struct orr_input){.interrupted = interrupted};
    do { /* a pipe that nobody writes to yet is waited for */
        input->fd = is_interrupted(input) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    } while (input->fd < 0 && !is_interrupted(input) && errno == EINTR);
    if (input->fd < 0 && is_interrupted(input)) {
        return orr_fail(err, ORR_INTERRUPTED, "%s: interrupted", path);
    }
    if (input->fd < 0) {
        return orr_fail(err, ORR_NO_INPUT, "%s: %s", path, strerror(errno));
    }
    if (fstat(input->fd, &stat) != 0 || S_ISDIR(stat.st_mode)) {
        (void)close(input->fd);
        return orr_fail(err, ORR_NO_INPUT, "%s: is a directory, not a file", path);
    }
    input->raw = orr_alloc(READ_BYTES, 1);
    sha256_init(&input->sha);
    return ORR_OK;
}

void orr_input_close(struct orr_input *input)
{
    if (input->text != NULL) {
        (void)inflateEnd(&input->gzip);
    }
    (void)close(input->fd);
    orr_free(input->text);
    orr_free(input->raw);
}

/* The next bytes of the file behind those that are in `raw`, hashed; 0 at the end, -1 on failure.
 */
static ssize_t read_behind(struct orr_input *input, size_t have)
{
    ssize_t got = -1;
    errno = EINTR;
    while (got < 0 && errno == EINTR && !is_interrupted(input)) {
        got = read(input->fd, input->raw + have, READ_BYTES - have);
    }
    if (got < 0) {
        input->read_errno = errno;
        return -1;
    }
    sha256_update(&input->sha, (size_t)got, input->raw + have);
    input->file_bytes += got;
    return got;
}

/* The first bytes, as many as tell gzip from the rest. */
static ssize_t read_first(struct orr_input *input)
{
    size_t have = 0;
    ssize_t got = 1;
    while (got > 0 && have < 3) {
        got = read_behind(input, have);
        have += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        return -1;
    }
    const unsigned char *raw = input->raw;
    if (have >= 3 && raw[0] == 0x1f && raw[1] == 0x8b && raw[2] == Z_DEFLATED) {
        int code = inflateInit2(&input->gzip, MAX_WBITS + 16);
        if (code == Z_MEM_ERROR) {
            orr_out_of_memory();
        }
        ORR_ASSERT(code == Z_OK);
        input->text = orr_alloc(READ_BYTES, 1);
        input->gzip.next_in = input->raw;
        input->gzip.avail_in = (uInt)have;
    }
    return (ssize_t)have;
}

static la_ssize_t fault(struct archive *archive, const char *text)
{
    archive_set_error(archive, EILSEQ, "%s", text);
    return ARCHIVE_FATAL;
}

static la_ssize_t file_fault(const struct orr_input *input, struct archive *archive)
{
    archive_set_error(archive, input->read_errno, "%s", strerror(input->read_errno));
    return ARCHIVE_FATAL;
}

/* Fills `raw` when all of it is used up. False: the file cannot be read. */
static bool refill(struct orr_input *input)
{
    if (input->gzip.avail_in == 0) {
        const ssize_t got = read_behind(input, 0);
        input->gzip.next_in = input->raw;
        input->gzip.avail_in = got > 0 ? (uInt)got : 0;
        return got >= 0;
    }
    return true;
}

/* Behind a member: another, or zeros to the end. */
static la_ssize_t end_member(struct orr_input *input, struct archive *archive)
{
    bool padded = false;
    while (!input->over) {
        if (!refill(input)) {
            return file_fault(input, archive);
        }
        if (input->gzip.avail_in == 0) {
            input->over = true;
        } else if (*input->gzip.next_in == 0) {
            padded = true;
            input->gzip.next_in++;
            input->gzip.avail_in--;
        } else if (padded || *input->gzip.next_in != 0x1f) {
            return fault(archive, "there is something else behind the gzip data");
        } else {
            return inflateReset(&input->gzip) == Z_OK ? 0 : fault(archive, "gzip");
        }
    }
    return 0;
}

static la_ssize_t inflate_next(struct orr_input *input, struct archive *archive, const void **block)
{
    z_stream *gzip = &input->gzip;
    gzip->next_out = input->text;
    gzip->avail_out = READ_BYTES;
    while (!input->over && gzip->avail_out == READ_BYTES) {
        if (!refill(input)) {
            return file_fault(input, archive);
        }
        if (gzip->avail_in == 0) {
            return fault(archive, "truncated gzip input");
        }
        const int code = inflate(gzip, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR) {
            orr_out_of_memory();
        }
        if (code == Z_STREAM_END) {
            const la_ssize_t ended = end_member(input, archive);
            if (ended != 0) {
                return ended;
            }
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            return fault(archive, gzip->msg != NULL ? gzip->msg : "damaged gzip data");
        }
    }
    *block = input->text;
    return (la_ssize_t)(READ_BYTES - gzip->avail_out);
}

static la_ssize_t next(struct archive *archive, void *context, const void **block)
{
    struct orr_input *input = context;
    if (!input->started) {
        input->started = true;
        const ssize_t first = read_first(input);
        if (first < 0) {
            return file_fault(input, archive);
        }
        if (input->text == NULL) {
            *block = input->raw;
            return first;
        }
    }
    if (input->text != NULL) {
        return inflate_next(input, archive, block);
    }
    const ssize_t got = read_behind(input, 0);
    *block = input->raw;
    return got < 0 ? file_fault(input, archive) : got;
}

struct archive *orr_input_archive(void)
{
    struct archive *archive = archive_read_new();
    if (archive == NULL) {
        orr_out_of_memory();
    }
    (void)archive_read_support_filter_zstd(archive);
    (void)archive_read_support_filter_xz(archive);
    (void)archive_read_support_filter_bzip2(archive);
    return archive;
}

int orr_input_attach(struct orr_input *input, struct archive *archive)
{
    return archive_read_open(archive, input, NULL, next, NULL);
}

bool orr_input_drain(struct orr_input *input, struct archive *archive)
{
    const void *block;
    la_ssize_t got = 1;
    while (got > 0) {
        got = next(archive, input, &block);
    }
    return got == 0;
}
