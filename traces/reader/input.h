/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input.h - a file as libarchive is given it.
 *
 * gzip is undone here, by zlib, and not by libarchive, which reads the checksum and the length at
 * the end of a member and compares them with nothing. The other formats check theirs themselves.
 * Several members one after the other are one text, as for gzip(1); zeros behind the last are
 * padding, anything else there is an error. */
#ifndef ORR_TRACES_INPUT_H
#define ORR_TRACES_INPUT_H

#include <signal.h>

#include <archive.h>
#include <zlib.h>

#include <orrery/base/status.h>

#include "sha256.h"

struct orr_input {
    int fd;
    int read_errno; /* the file, not its contents, failed; EINTR: interrupted; else 0 */
    const volatile sig_atomic_t *interrupted; /* or NULL */
    int64_t file_bytes;                       /* read so far, as they lie on disk */
    struct sha256_ctx sha;                    /* of those */
    unsigned char *raw;                       /* what was read last */
    unsigned char *text;                      /* what was made of it; NULL: not gzip */
    z_stream gzip;
    bool started, over; /* over: the last member has ended */
};

/* ORR_NO_INPUT names what is wrong with the path. On failure there is nothing to close. Once
 * `interrupted` (or NULL) is not 0 nothing more is read: opening fails with ORR_INTERRUPTED, a read
 * with read_errno EINTR. */
enum orr_status orr_input_open(const char *path, const volatile sig_atomic_t *interrupted,
                               struct orr_input *input, struct orr_err *err) ORR_MUST_USE;
void orr_input_close(struct orr_input *input);
/* An archive that undoes what else there is; formats are the caller's. Only decompressors that are
 * code in libarchive: the others run programs, and which one would be the file's choice. */
struct archive *orr_input_archive(void);
/* archive_read_open() of it on the input, which stays the caller's. */
int orr_input_attach(struct orr_input *input, struct archive *archive);
/* Reads what the archive left, so that file_bytes and sha are of the whole file and gzip's checksum
 * is compared. False: the archive has the error. */
bool orr_input_drain(struct orr_input *input, struct archive *archive);

#endif
