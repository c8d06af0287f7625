/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pack.h - several files as one archive, and back, without trusting the archive.
 *
 * Names in an archive are FOLDER/NAME or NAME, of letters, digits, '.', '_' and '-'; a name starts
 * with none of '.' and '-'. The last file is SHA256SUMS, as sha256sum writes it, of all others.
 */
#ifndef ORR_TRACES_PACK_H
#define ORR_TRACES_PACK_H

#include <stdio.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_pack_file {
    const char *name; /* in the archive */
    const char *path; /* what it is a copy of; NULL: the text */
    const char *text; /* with a final NUL */
};

#define ORR_SHA256_TEXT 65

/* Of a file as it lies on disk, in lower-case hex. ORR_NO_INPUT, ORR_IO. */
enum orr_status orr_file_sha256(const char *path, char text[ORR_SHA256_TEXT],
                                struct orr_err *err) ORR_MUST_USE;
/* The same of texts, each with its end, so that no two lists of texts are alike. */
void orr_texts_sha256(const char *const *texts, size_t count, char text[ORR_SHA256_TEXT]);

/* Characters that a name may not have become '_'; lives in the arena. */
const char *orr_pack_name(struct orr_arena *arena, const char *folder, const char *name);

/* Writes what is to become PATH (.tar.zst, .tar.gz or .zip) to an open file: the same bytes for the
 * same files. ORR_USAGE (suffix), ORR_NO_INPUT, ORR_IO. */
enum orr_status orr_pack_write(const char *path, FILE *out, const struct orr_pack_file *files,
                               uint32_t count, struct orr_err *err) ORR_MUST_USE;

struct orr_unpacked {
    const char **names; /* in the archive */
    const char **paths; /* where the file is now: in one folder, '/' of the name replaced by '+' */
    uint32_t count, capacity;
};

/* Unpacks into an empty folder and holds every file against SHA256SUMS. An archive with anything
 * but plain files of proper names, twice the same name, more than 10,000 files or 16 GiB, or files
 * that the sums do not cover is refused: ORR_DATA, names the entry. Texts live in the arena; the
 * arrays are orr_free's. ORR_NO_INPUT, ORR_IO. */
enum orr_status orr_pack_read(const char *path, const char *folder, struct orr_arena *arena,
                              struct orr_unpacked *files, struct orr_err *err) ORR_MUST_USE;

#endif
