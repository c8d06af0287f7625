/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_include.c - the files that a slurm.conf includes. */
#include <orrery/sim/slurm_include.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <orrery/policies/slurm_lines.h>

struct join {
    struct orr_arena *arena;
    orr_slurm_open_fn *open, *deep;
    void *context;
    FILE *out;
    const char *cluster; /* of ClusterName= so far, or NULL */
};

/* "Include FILE", whose name is then in the pair. */
static bool is_include(const struct orr_slurm_line *line, struct orr_slurm_pair *file)
{
    const char *text = line->text;
    size_t bytes = line->bytes;
    struct orr_slurm_pair word;
    return orr_slurm_next_pair(&text, &bytes, &word) && !word.has_sign && word.name_bytes == 7 &&
           strncasecmp(word.name, "include", 7) == 0 && orr_slurm_next_pair(&text, &bytes, file) &&
           !file->has_sign;
}

static void note_cluster(struct join *join, const struct orr_slurm_line *line)
{
    const char *text = line->text;
    size_t bytes = line->bytes;
    struct orr_slurm_pair pair;
    while (orr_slurm_next_pair(&text, &bytes, &pair)) {
        if (pair.has_sign && pair.name_bytes == 11 &&
            strncasecmp(pair.name, "clustername", 11) == 0) {
            join->cluster = orr_arena_strndup(join->arena, pair.value, pair.value_bytes);
        }
    }
}

/* The name of a file, in which %c is the cluster's. */
static const char *name_of(const struct join *join, const struct orr_slurm_pair *pair)
{
    const char *name = orr_arena_strndup(join->arena, pair->name, pair->name_bytes);
    const char *mark = strstr(name, "%c");
    char full[4400];
    if (mark == NULL || join->cluster == NULL) {
        return name;
    }
    const int bytes =
        snprintf(full, sizeof full, "%.*s%s%s", (int)(mark - name), name, join->cluster, mark + 2);
    return bytes < 0 || (size_t)bytes >= sizeof full
               ? name
               : orr_arena_strndup(join->arena, full, (size_t)bytes);
}

static bool includes_any(const struct orr_slurm_file *file, struct orr_arena *arena)
{
    struct orr_slurm_lines lines = {.at = file->text, .end = file->text + file->bytes};
    struct orr_slurm_line line;
    struct orr_slurm_pair pair;
    bool any = false;
    while (!any && orr_slurm_next_line(&lines, arena, &line)) {
        any = is_include(&line, &pair);
    }
    return any;
}

static enum orr_status put_file(struct join *join, const struct orr_slurm_file *file,
                                uint32_t depth);

static enum orr_status put_included(struct join *join, const struct orr_slurm_file *from,
                                    uint32_t depth, const struct orr_slurm_line *line,
                                    const struct orr_slurm_pair *pair)
{
    uint32_t number, column;
    struct orr_slurm_file file = {NULL, NULL, 0, NULL};
    const char *name = name_of(join, pair);
    orr_slurm_place(line, pair->name, &number, &column);
    const enum orr_status status = (depth < ORR_SLURM_INCLUDE_DEPTH ? join->open : join->deep)(
        from, number, column, name, &file, join->context);
    if (status != ORR_OK || file.text == NULL) {
        return status;
    }
    (void)fprintf(join->out, ORR_SLURM_FILE_LINE "1 \"%s\"\n", file.name);
    return put_file(join, &file, depth + 1);
}

static enum orr_status put_file(struct join *join, const struct orr_slurm_file *file,
                                uint32_t depth)
{
    struct orr_slurm_lines lines = {.at = file->text, .end = file->text + file->bytes};
    struct orr_slurm_line line;
    struct orr_slurm_pair pair;
    enum orr_status status = ORR_OK;
    while (status == ORR_OK && orr_slurm_next_line(&lines, join->arena, &line)) {
        if (!is_include(&line, &pair)) {
            note_cluster(join, &line);
            (void)fwrite(line.raw, 1, (size_t)(lines.at - line.raw), join->out);
            continue;
        }
        status = put_included(join, file, depth, &line, &pair);
        (void)fprintf(join->out, ORR_SLURM_FILE_LINE "%u \"%s\"\n", (unsigned)lines.number + 1,
                      depth == 0 ? "" : file->name);
    }
    (void)fputs(file->bytes > 0 && file->text[file->bytes - 1] != '\n' ? "\n" : "", join->out);
    return status;
}

enum orr_status orr_slurm_include(const struct orr_slurm_file *file, struct orr_arena *arena,
                                  orr_slurm_open_fn *open, orr_slurm_open_fn *deep, void *context,
                                  const char **text, size_t *bytes)
{
    struct join join = {.arena = arena, .open = open, .deep = deep, .context = context};
    char *joined = NULL;
    size_t used = 0;
    *text = file->text;
    *bytes = file->bytes;
    if (!includes_any(file, arena)) {
        return ORR_OK;
    }
    join.out = open_memstream(&joined, &used);
    ORR_ASSERT(join.out != NULL);
    const enum orr_status status = put_file(&join, file, 0);
    (void)fclose(join.out);
    if (status == ORR_OK) {
        *text = orr_arena_strndup(arena, joined, used);
        *bytes = used;
    }
    free(joined);
    return status;
}
