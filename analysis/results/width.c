/* SPDX-License-Identifier: GPL-3.0-or-later */
/* width.c - columns that a text takes in a terminal. The C library knows them in a UTF-8 locale
 * only, and what is printed must not depend on the locale. */
#include <orrery/analysis/names.h>

#include <stdint.h>
#include <string.h>

#include <orrery/base/text.h>

struct range {
    uint32_t first, last;
};

/* Marks over the character before, and what is not seen: of Unicode's classes Mn, Me and Cf those
 * of scripts that names are written in. */
static const struct range none[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x200b, 0x200f}, {0x20d0, 0x20f0},
    {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};

/* Two columns each: East Asian Width W and F (Unicode Standard Annex 11). */
static const struct range two[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x2705, 0x2705},
    {0x274c, 0x274c},   {0x2753, 0x2755},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},   {0xffe0, 0xffe6},
    {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd}};

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
    size_t i = 0;
    while (i < count && code > ranges[i].last) {
        i++;
    }
    return i < count && code >= ranges[i].first;
}

/* Of the character at the start of a text, which takes *bytes; a byte that begins none is one. */
static int width_of(const char *text, size_t *bytes)
{
    *bytes = orr_utf8_bytes(text, strnlen(text, 4));
    if (*bytes <= 1) {
        *bytes = 1;
        return 1;
    }
    uint32_t code = (unsigned char)text[0] & (0xffU >> (*bytes + 1));
    for (size_t i = 1; i < *bytes; i++) {
        code = (code << 6) | ((unsigned char)text[i] & 0x3fU);
    }
    return is_in(none, sizeof none / sizeof none[0], code) ? 0
           : is_in(two, sizeof two / sizeof two[0], code)  ? 2
                                                           : 1;
}

int orr_text_width(const char *text)
{
    int width = 0;
    while (*text != '\0') {
        size_t bytes;
        width += width_of(text, &bytes);
        text += bytes;
    }
    return width;
}

const char *orr_text_from(const char *text, int columns)
{
    while (*text != '\0') {
        size_t bytes;
        const int width = width_of(text, &bytes);
        if (width > columns) {
            break;
        }
        columns -= width;
        text += bytes;
    }
    return text;
}
