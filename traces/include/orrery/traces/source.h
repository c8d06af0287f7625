/* SPDX-License-Identifier: GPL-3.0-or-later */
/* source.h - the bytes of a file, whatever it is packed in. */
#ifndef ORR_TRACES_SOURCE_H
#define ORR_TRACES_SOURCE_H

#include <orrery/base/status.h>

/* The whole text of a file that is plain, .gz, .zst, .xz, .bz2, or a zip with one file in it.
 * `most` bounds what it may unpack to. The text has a final NUL that *bytes does not count; caller
 * frees it. */
enum orr_status orr_source_read_all(const char *path, size_t most, char **text, size_t *bytes,
                                    struct orr_err *err) ORR_MUST_USE;

#endif
