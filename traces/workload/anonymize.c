/* SPDX-License-Identifier: GPL-3.0-or-later */
/* anonymize.c - a workload without the names of who and what was there. What a run needs without
 * knowing the name gets another one, the same wherever it stood; what only says something beside
 * other files goes. */
#include <stdio.h>
#include <string.h>

#include <nettle/hmac.h>

#include <orrery/base/text.h>

#include "edit_int.h"

static void hide(char out[40], const char *prefix, const char *name, uint32_t number,
                 const char *key)
{
    if (key == NULL) {
        (void)snprintf(out, 40, "%s%u", prefix, (unsigned)number + 1);
        return;
    }
    struct hmac_sha256_ctx hmac;
    uint8_t digest[8];
    hmac_sha256_set_key(&hmac, strlen(key), (const uint8_t *)key);
    hmac_sha256_update(&hmac, strlen(prefix), (const uint8_t *)prefix);
    hmac_sha256_update(&hmac, strlen(name), (const uint8_t *)name);
    hmac_sha256_digest(&hmac, sizeof digest, digest);
    int used = snprintf(out, 40, "%s", prefix);
    for (size_t i = 0; i < sizeof digest; i++) {
        used += snprintf(out + used, 40 - (size_t)used, "%02x", digest[i]);
    }
}

/* By order of first use in the rows, so that names nobody uses any more count for nothing. */
static uint32_t *hide_all(struct orr_idmap *names, const char *prefix, const char *key,
                          const uint32_t *order, uint32_t count)
{
    struct orr_idmap hidden;
    uint32_t *to = orr_alloc(names->count + (size_t)1, sizeof *to);
    char text[40];
    orr_idmap_init(&hidden);
    for (uint32_t i = 0; i < names->count; i++) {
        to[i] = ORR_NONE;
    }
    for (uint32_t r = 0; r < count; r++) {
        if (order[r] != ORR_NONE && to[order[r]] == ORR_NONE) {
            hide(text, prefix, orr_idmap_name(names, order[r]), hidden.count, key);
            to[order[r]] = orr_idmap_put(&hidden, text, strlen(text), NULL);
        }
    }
    orr_idmap_release(names);
    *names = hidden;
    return to;
}

/* --- texts of extras -------------------------------------------------------------------------- */

struct hider {
    struct orr_workload *workload;
    const char *key;
    struct orr_idmap groups, templates, nodes, arrays, classes; /* numbers by first use */
};

static void hidden_part(struct hider *hider, struct orr_idmap *map, const char *prefix,
                        const char *text, size_t bytes, char out[40])
{
    const uint32_t number = orr_idmap_put(map, text, bytes, NULL);
    hide(out, prefix, orr_idmap_name(map, number), number, hider->key);
}

static const char *kept(struct hider *hider, const char *text)
{
    return orr_arena_strndup(&hider->workload->arena, text, strlen(text));
}

static void hide_text(struct hider *hider, struct orr_idmap *map, const char *prefix,
                      const char **text)
{
    char out[40];
    if (*text != NULL) {
        hidden_part(hider, map, prefix, *text, strlen(*text), out);
        *text = kept(hider, out);
    }
}

/* What open_memstream made, as a text of the workload; NULL: nothing was written. */
static const char *take(struct hider *hider, FILE *out, char *const *text)
{
    (void)fclose(out);
    const char *taken = (*text)[0] == '\0' ? NULL : kept(hider, *text);
    orr_free(*text);
    return taken;
}

/* Entries NODE, NODE*COUNT, NODE:DEVICES, parted by blanks and |. */
static const char *hide_nodes(struct hider *hider, const char *seats)
{
    char *text = NULL, node[40];
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    while (*seats != '\0') {
        const size_t between = strspn(seats, " \t|"), name = strcspn(seats + between, ":* \t|");
        const size_t rest = strcspn(seats + between + name, " \t|");
        (void)fprintf(out, "%.*s", (int)between, seats);
        if (name > 0) {
            hidden_part(hider, &hider->nodes, "n", seats + between, name, node);
            (void)fprintf(out, "%s%.*s", node, (int)rest, seats + between + name);
        }
        seats += between + name + rest;
    }
    return take(hider, out, &text);
}

/* Options of sbatch whose values are numbers stay, and an array, by a number. The others name
 * accounts, partitions or nodes, which say something only beside the cluster's own slurm.conf. */
static void hide_option(struct hider *hider, const char *option, size_t bytes, FILE *out)
{
    static const char *const plain[] = {"nodes",    "nice",       "priority",
                                        "switches", "no-requeue", "exclusive"};
    const size_t dashes = strspn(option, "-"), name = strcspn(option, "= ") - dashes;
    const char *value = option + dashes + name;
    const size_t length = bytes - dashes - name; /* with the sign */
    const char *comma = ftell(out) > 0 ? " " : "";
    char array[40];
    if (name == 5 && strncmp(option + dashes, "array", name) == 0 && length > 1) {
        const size_t id = strcspn(value + 1, "% ");
        hidden_part(hider, &hider->arrays, "a", value + 1, id, array);
        (void)fprintf(out, "%s--array=%s%.*s", comma, array, (int)(length - 1 - id),
                      value + 1 + id);
        return;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strlen(plain[i]) == name && strncmp(option + dashes, plain[i], name) == 0) {
            const bool number = strspn(value, "=0123456789-@:") == length;
            (void)fprintf(out, "%s--%s%.*s", comma, plain[i], number ? (int)length : 0, value);
        }
    }
}

static const char *hide_options(struct hider *hider, const char *options)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    for (options += strspn(options, " "); *options != '\0'; options += strspn(options, " ")) {
        const size_t length = strcspn(options, " ");
        hide_option(hider, options, length, out);
        options += length;
    }
    return take(hider, out, &text);
}

/* Numbers and the words that every trace may use for them are no names. */
static void hide_class(struct hider *hider, const char **priority)
{
    static const char *const words[] = {"train",     "build-preemptible", "build",
                                        "inference", "training",          "interactive"};
    int64_t number;
    bool name = *priority != NULL && !orr_parse_i64(*priority, strlen(*priority), &number);
    for (size_t i = 0; name && i < sizeof words / sizeof words[0]; i++) {
        name = strcmp(*priority, words[i]) != 0;
    }
    if (name) {
        hide_text(hider, &hider->classes, "p", priority);
    }
}

static void hide_extra(struct hider *hider, struct orr_row_extra *extra,
                       const struct orr_idmap *had, const uint32_t *to)
{
    struct orr_workload *workload = hider->workload;
    hide_text(hider, &hider->groups, "g", &extra->group);
    hide_text(hider, &hider->templates, "t", &extra->template_name);
    hide_class(hider, &extra->priority);
    if (extra->after != NULL) {
        char *text = orr_workload__rename_after(extra->after, had, to, &workload->jobs, false);
        extra->after = text[0] == '\0' ? NULL : kept(hider, text);
        orr_free(text);
    }
    extra->running_on = extra->running_on == NULL ? NULL : hide_nodes(hider, extra->running_on);
    extra->sbatch = extra->sbatch == NULL ? NULL : hide_options(hider, extra->sbatch);
    if (extra->recorded_state != NULL) { /* CANCELLED by USER */
        extra->recorded_state = orr_arena_strndup(&workload->arena, extra->recorded_state,
                                                  strcspn(extra->recorded_state, " \t"));
    }
    extra->node_selector = extra->tolerations = extra->profile = NULL;
}

static void hide_extras(struct orr_workload *workload, const struct orr_idmap *had,
                        const uint32_t *to, const char *key)
{
    struct hider hider = {.workload = workload, .key = key};
    struct orr_idmap *const maps[] = {&hider.groups, &hider.templates, &hider.nodes, &hider.arrays,
                                      &hider.classes};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_init(maps[i]);
    }
    for (uint32_t r = 0; r < workload->count; r++) {
        if (workload->rows[r].extra != 0) {
            hide_extra(&hider, &workload->extras[workload->rows[r].extra - 1], had, to);
        }
    }
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_release(maps[i]);
    }
}

/* --- the rows --------------------------------------------------------------------------------- */

void orr_workload_anonymize(struct orr_workload *workload, const char *key)
{
    uint32_t *order = orr_alloc(workload->count + (size_t)1, sizeof *order);
    struct orr_idmap had;
    orr_idmap_init(&had); /* names of jobs, to find them in `after` */
    for (uint32_t j = 0; j < workload->jobs.count; j++) {
        const char *name = orr_idmap_name(&workload->jobs, j);
        (void)orr_idmap_put(&had, name, strlen(name), NULL);
    }
#define HIDE(field, map, prefix)                                                                   \
    for (uint32_t r = 0; r < workload->count; r++) {                                               \
        order[r] = workload->rows[r].field;                                                        \
    }                                                                                              \
    uint32_t *to_##field = hide_all(&workload->map, prefix, key, order, workload->count);          \
    for (uint32_t r = 0; r < workload->count; r++) {                                               \
        struct orr_row *row = &workload->rows[r];                                                  \
        row->field = row->field == ORR_NONE ? ORR_NONE : to_##field[row->field];                   \
    }
    HIDE(job, jobs, "j")
    HIDE(queue, queues, "q")
    HIDE(user, users, "u")
#undef HIDE
    hide_extras(workload, &had, to_job, key);
    workload->clock_origin_ms = ORR_MS_NONE;
    orr_free(to_job);
    orr_free(to_queue);
    orr_free(to_user);
    orr_free(order);
    orr_idmap_release(&had);
}
