/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cells.h"

#include <stdio.h>

#include <orrery/analysis/names.h>

void orr_cells_plain(const char *text)
{
    for (; *text != '\0'; text++) {
        (void)putchar((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
    }
}

static int width_of(const char *text)
{
    return text == NULL ? 1 : orr_text_width(text);
}

void orr_cells_put(const char *text, int width)
{
    const char *shown = text == NULL ? "-" : text;
    orr_cells_plain(shown);
    (void)printf("%*s", width > width_of(shown) ? width - width_of(shown) + 2 : 2, "");
}

int orr_cells_wider(int width, const char *text)
{
    return width_of(text) > width ? width_of(text) : width;
}
