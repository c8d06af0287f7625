/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_json_lines.c - any bytes broken into lines as JSON: nothing but line ends is added, and each
 * byte is found again where it was. */
#include <stdint.h>
#include <string.h>

#include <orrery/base/status.h>

#include "json_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct place {
    uint32_t line, column;
};

static void pass(struct place *place, char c)
{
    place->line += c == '\n';
    place->column = c == '\n' ? 1 : place->column + (((unsigned char)c & 0xc0) != 0x80);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = bytes > 0 ? (const char *)data : "";
    struct json_lines lines;
    struct place given = {1, 1}, broken = {1, 1};
    size_t at = 0;
    json_lines_init(&lines, text, bytes);
    ORR_ASSERT(lines.bytes == bytes + lines.count);
    for (size_t i = 0; i < lines.bytes; i++) {
        const bool added = at >= bytes || lines.text[i] != text[at];
        ORR_ASSERT(!added || lines.text[i] == '\n');
        if (!added) {
            struct place found = broken;
            json_lines_place(&lines, &found.line, &found.column);
            ORR_ASSERT(found.line == given.line && found.column == given.column);
            pass(&given, text[at++]);
        }
        pass(&broken, lines.text[i]);
    }
    ORR_ASSERT(at == bytes);
    json_lines_release(&lines);
    return 0;
}
