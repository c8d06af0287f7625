/* SPDX-License-Identifier: GPL-3.0-or-later */
/* names.c - names in little room: those that begin alike are told apart by their ends. */
#include <orrery/analysis/names.h>

#include <stdlib.h>
#include <string.h>

#include <orrery/base/idmap.h>
#include <orrery/base/text.h>

#define COLUMN_LEAST 20 /* columns of a table's names ... */
#define COLUMN_MOST  36 /* ... a longer one is shortened */

int orr_text_columns(int otherwise)
{
    const char *text = getenv("COLUMNS");
    int64_t stated = 0;
    const bool given = text != NULL && orr_parse_i64(text, strlen(text), &stated);
    return given && stated >= 40 && stated <= 500 ? (int)stated : otherwise;
}

void orr_pad(FILE *out, const char *text, int width)
{
    const int used = orr_text_width(text);
    (void)fprintf(out, "%s%*s", text, width > used ? width - used : 0, "");
}

/* The end of a text in so many columns; a wide character that stands across its begin is left out.
 */
static const char *end_of(const char *text, int width, int columns)
{
    const char *end = orr_text_from(text, width - columns);
    return orr_text_width(end) > columns ? orr_text_from(text, width - columns + 1) : end;
}

/* Its two ends around "…", or around "…2…" for the second of those that would be alike. */
static const char *shorten(struct orr_arena *arena, const char *name, int width, int most,
                           uint32_t turn)
{
    char gap[32] = "…";
    if (turn > 1) {
        (void)snprintf(gap, sizeof gap, "…%u…", turn);
    }
    const int left = most - orr_text_width(gap), before = left > 1 ? (left + 1) / 2 : 1;
    const char *const tail = end_of(name, width, left > 1 ? left - before : 1);
    const size_t head = (size_t)(orr_text_from(name, before) - name);
    const size_t bytes = head + strlen(gap) + strlen(tail) + 1;
    char *text = orr_arena_alloc(arena, bytes, 1);
    (void)snprintf(text, bytes, "%.*s%s%s", (int)head, name, gap, tail);
    return text;
}

const char **orr_short_names(struct orr_arena *arena, const char *const *names, size_t count,
                             int most)
{
    struct orr_idmap given, taken;
    const char **shorts = orr_arena_alloc(arena, count + 1, sizeof *shorts);
    const char **of_given = orr_arena_alloc(arena, count + 1, sizeof *of_given);
    orr_idmap_init(&given);
    orr_idmap_init(&taken);
    for (size_t i = 0; i < count; i++) { /* those that are whole go first */
        if (orr_text_width(names[i]) <= most) {
            (void)orr_idmap_put(&taken, names[i], strlen(names[i]), NULL);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const int width = orr_text_width(names[i]);
        bool is_new = false;
        const uint32_t name = orr_idmap_put(&given, names[i], strlen(names[i]), &is_new);
        if (is_new) {
            of_given[name] = names[i];
            bool alone = width <= most;
            for (uint32_t turn = 1; !alone; turn++) {
                of_given[name] = shorten(arena, names[i], width, most, turn);
                (void)orr_idmap_put(&taken, of_given[name], strlen(of_given[name]), &alone);
            }
        }
        shorts[i] = of_given[name];
    }
    orr_idmap_release(&given);
    orr_idmap_release(&taken);
    return shorts;
}

static void fit(struct orr_name_column *column, int least, int most, struct orr_arena *arena)
{
    column->shorts = orr_short_names(arena, column->names, column->count, most);
    column->width = least;
    for (uint32_t i = 0; i < column->count; i++) {
        const int width = orr_text_width(column->shorts[i]);
        column->width = width > column->width ? width : column->width;
    }
}

void orr_name_column(struct orr_name_column *column, int rest, struct orr_arena *arena)
{
    const int left = orr_text_columns(rest + COLUMN_MOST) - rest;
    const int most = left > COLUMN_MOST ? COLUMN_MOST : left < 8 ? 8 : left;
    fit(column, most < COLUMN_LEAST ? most : COLUMN_LEAST, most, arena);
}

void orr_name_column_of(struct orr_name_column *column, int least, struct orr_arena *arena)
{
    fit(column, least, COLUMN_MOST, arena);
}

void orr_short_legend(FILE *out, const char *indent, const char *const *names,
                      const char *const *shorts, size_t count)
{
    struct orr_idmap listed;
    orr_idmap_init(&listed);
    for (size_t i = 0; i < count; i++) {
        bool is_new = false;
        if (strcmp(names[i], shorts[i]) != 0) {
            (void)orr_idmap_put(&listed, shorts[i], strlen(shorts[i]), &is_new);
        }
        if (is_new) {
            (void)fprintf(out, "%s%s: %s\n", indent, shorts[i], names[i]);
        }
    }
    orr_idmap_release(&listed);
}
