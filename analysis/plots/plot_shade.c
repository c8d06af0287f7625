/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_shade.c - the colours of figures on a dark page.
 *
 * Figures name their colours as they are on white. On a dark page each that stands here is another:
 * greys change places, hues are lightened until they stand out from the page at 3:1 (WCAG 2.2,
 * 1.4.11) and are as far apart as on white, scales begin dark. Tol's light hues stay as they are.
 */
#include "plot_int.h"

#include <stdio.h>
#include <string.h>

static const struct {
    char light[8], dark[8];
} shades[] = {
    {"#ffffff", "#15181c"}, /* the page, that of a report in the dark */
    {"#000000", "#f2f4f6"},     {"#101010", "#eceff1"}, {"#202020", "#e6e8ea"},
    {"#303030", "#d4d8dc"},     {"#404040", "#c3c9cf"}, {"#606060", "#a4acb5"},
    {"#707070", "#98a1aa"},     {"#808080", "#8b949e"}, {"#8c8c8c", "#7d8690"},
    {ORR_PLOT_GREY, "#69717a"}, {"#d4d4d0", "#4a5159"}, {"#dcdcd8", "#3d444b"},
    {"#e2e2e2", "#2c3238"},     {"#e8e8e8", "#2a3036"}, {"#f1f1ef", "#23282e"},
    {"#ecece8", "#2a2f35"},     {"#bcbcb8", "#666e77"}, {"#0072b2", "#3f8fdc"}, /* of queues */
    {"#e69f00", "#f2a93b"},     {"#009e73", "#14b083"}, {"#cc79a7", "#e8a0cb"},
    {"#56b4e9", "#93d6ff"},     {"#d55e00", "#e2622a"}, {"#332288", "#7566dc"},
    {"#ddcc77", "#f2e9a8"},     {"#882255", "#b0336f"}, {"#44aa99", "#4fc4b4"},
    {"#8c6d31", "#9c7a3c"},     {"#999933", "#b9b93f"}, {"#aa4499", "#c46bb4"},
    {"#7fb8d8", "#2d5f7d"},                             /* boxes below a line */
    {"#b00020", "#ff6b7a"},     {"#f7f7f2", "#1b1f24"}, /* scales, from none to all */
    {"#fdd0a2", "#5a2d0c"},     {"#fd8d3c", "#a84c12"}, {"#d94801", "#ef7a2a"},
    {"#7f2704", "#ffd9a8"},     {"#c3dbea", "#16344d"}, {"#6baed6", "#1f6396"},
    {"#2171b5", "#4ea2dc"},     {"#08264d", "#c9e6fb"},
};

const char *orr_plot__shade(const struct orr_plot *plot, const char *colour)
{
    for (size_t i = 0; plot->options->dark && i < sizeof shades / sizeof shades[0]; i++) {
        if (strncmp(colour, shades[i].light, 7) == 0) {
            return shades[i].dark;
        }
    }
    return colour;
}

bool orr_plot__is_named(const char *colour)
{
    for (size_t i = 0; i < sizeof shades / sizeof shades[0]; i++) {
        if (strcmp(colour, shades[i].light) == 0 || strcmp(colour, shades[i].dark) == 0) {
            return true;
        }
    }
    return orr_plot__layers_have(colour);
}

/* gnuplot's SVG writes a colour in three ways. */
static void rule(FILE *out, const char *within, const char *property, const char *light,
                 const char *dark)
{
    unsigned red = 0, green = 0, blue = 0;
    ORR_ASSERT(sscanf(light, "#%2x%2x%2x", &red, &green, &blue) == 3);
    (void)fprintf(out,
                  "%s [%s=\"rgb(%u,%u,%u)\"],%s [%s=\"rgb(%3u, %3u, %3u)\"],%s [%s=\"%s\" "
                  "i]{%s:%s}\n",
                  within, property, red, green, blue, within, property, red, green, blue, within,
                  property, light, property, dark);
}

void orr_plot_dark_css(FILE *out, const char *within)
{
    for (size_t i = 0; i < sizeof shades / sizeof shades[0]; i++) {
        rule(out, within, "fill", shades[i].light, shades[i].dark);
        rule(out, within, "stroke", shades[i].light, shades[i].dark);
    }
    for (size_t i = 0; i < 2; i++) { /* of the page and of what is written on it, also by name */
        (void)fprintf(out, "%s [color=\"%s\" i]{color:%s}%s [%s=%s]{%s:%s}\n", within,
                      shades[i].light, shades[i].dark, within, i == 0 ? "fill" : "color",
                      i == 0 ? "white" : "black", i == 0 ? "fill" : "color", shades[i].dark);
    }
    (void)fprintf(out, "%s [stroke=black]{stroke:%s}\n", within, shades[1].dark);
}

void orr_plot__shaded(struct orr_plot *plot, char *script)
{
    for (char *at = script; plot->options->dark && (at = strchr(at, '#')) != NULL; at++) {
        const char *shade = orr_plot__shade(plot, at);
        if (shade != at) {
            memcpy(at, shade, 7);
        }
    }
}
