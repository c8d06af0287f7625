/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_only.c - options that only some of the things heed that a verb does: beside others they are a
 * mistake, and are refused instead of ignored. */
#include <string.h>

#include "cli.h"

void orr_cli_see(struct orr_cli_seen *seen, int key)
{
    if (seen->count < sizeof seen->keys / sizeof seen->keys[0]) {
        seen->keys[seen->count++] = key;
    }
}

/* Is a word one of those of a text, between which stand commas? */
static bool has_word(const char *text, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ", ");
        if (length == bytes && memcmp(at, word, bytes) == 0) {
            return true;
        }
        at += length + strspn(at + length, ", ");
    }
    return false;
}

enum orr_status orr_cli_only(const struct orr_cli_only *rows, const struct orr_cli_seen *seen,
                             const char *what, struct orr_err *err)
{
    for (uint32_t s = 0; s < seen->count; s++) {
        const struct orr_cli_only *row = rows;
        while (row->of != NULL && row->key != seen->keys[s]) {
            row++;
        }
        if (row->of != NULL && !has_word(row->of, what)) {
            return orr_fail(err, ORR_USAGE, "%s does nothing here: it is of %s, not of %s",
                            row->option, row->of, what);
        }
    }
    return ORR_OK;
}
