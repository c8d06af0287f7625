/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario.c - the order of a load, from options to a checked scenario. */
#include "scenario_int.h"

#include <string.h>

static bool strip(char *name, const char *suffix)
{
    size_t bytes = strlen(name), tail = strlen(suffix);
    if (bytes <= tail || strcmp(name + bytes - tail, suffix) != 0) {
        return false;
    }
    name[bytes - tail] = '\0';
    return true;
}

/* File name without folder, compression and one more suffix: "traces/may.csv.zst" is "may". */
static const char *stem(struct orr_arena *arena, const char *path)
{
    static const char *const packed[] = {".gz", ".zst", ".xz", ".zip", ".bz2"};
    const char *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    char *name = orr_arena_strndup(arena, file, strlen(file));
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        if (strip(name, packed[i])) {
            break;
        }
    }
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    const bool standard = strcmp(path, "-") == 0; /* standard input */
    const bool pipe = strncmp(path, "/dev/fd/", 8) == 0;
    return name[0] == '\0' ? "run" : standard ? "stdin" : pipe ? "pipe" : name;
}

static enum orr_status check_options(const struct orr_scenario_options *options,
                                     struct orr_err *err)
{
    bool run_without_file = options->trace != NULL || options->format != NULL ||
                            options->cluster_count > 0 || options->copies > 0 ||
                            options->split != NULL;
    if ((options->path != NULL || options->text != NULL) && run_without_file) {
        return orr_fail(err, ORR_USAGE,
                        "--trace, --format, --cluster, --copies and --split are for runs without a "
                        "scenario file: use --set to change a scenario");
    }
    return ORR_OK;
}

static enum orr_status take_given(struct orr_scenario__load *load, struct orr_scenario *scenario,
                                  struct orr_scenario__node **root)
{
    const struct orr_scenario_options *options = load->options;
    enum orr_status status;
    const struct orr_scenario__source *source;
    if (options->text != NULL) {
        struct orr_scenario__source *given = orr_arena_alloc(load->arena, 1, sizeof *given);
        given->name = scenario->path != NULL ? scenario->path : "scenario";
        given->folder = load->folder;
        if (options->text_bytes > ORR_SCENARIO__BYTES) {
            return orr_scenario__fail(load, NULL, "%s is larger than 16 MiB", given->name);
        }
        given->text = orr_arena_strndup(load->arena, options->text, options->text_bytes);
        given->bytes = options->text_bytes;
        load->sealed = true;
        status = orr_scenario__take_text(load, given);
        source = given;
    } else {
        status = orr_scenario__read(load, scenario->path, NULL, &source);
    }
    if (status != ORR_OK) {
        return status;
    }
    scenario->given_text = orr_arena_strndup(load->arena, source->text, source->bytes);
    return orr_scenario__load_file(load, source, root);
}

static const char **list_files(const struct orr_scenario__load *load)
{
    const char **files = orr_arena_alloc(load->arena, load->file_count + (size_t)1, sizeof *files);
    uint32_t at = load->file_count;
    files[at] = NULL;
    for (const struct orr_scenario__file *f = load->files; f != NULL; f = f->before) {
        files[--at] = f->path;
    }
    return files;
}

/* What is expected beside what the scenario says. */
static enum orr_status expect_more(struct orr_scenario__load *load, struct orr_scenario__node *root)
{
    const struct orr_scenario_options *options = load->options;
    struct orr_scenario__node *expects = orr_scenario__find(root, "expect");
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < options->expect_count && status == ORR_OK; i++) {
        struct orr_scenario__at at;
        status = orr_scenario__argument(load, "--objective", options->expects[i], &at);
        if (status == ORR_OK) {
            orr_scenario__add(load, expects, NULL, at,
                              orr_scenario__scalar(load, at.source->text, "command line", at));
        }
    }
    return status;
}

/* "PATH+=VALUE" as an event has it, PATH: +=VALUE. */
static enum orr_status set_later(struct orr_scenario__load *load, struct orr_scenario__node *set,
                                 const char *text)
{
    struct orr_scenario__at at;
    const char *option = load->options->later_option;
    enum orr_status status =
        orr_scenario__argument(load, option != NULL ? option : "--set", text, &at);
    const char *equals = strchr(text, '=');
    if (status != ORR_OK) {
        return status;
    }
    if (equals == NULL || equals == text) {
        return orr_scenario__fail_as(load, ORR_USAGE, &at, "expected PATH=VALUE");
    }
    const bool has_operator = equals > text + 1 && strchr("+-*", equals[-1]) != NULL &&
                              (equals[-1] != '*' || equals[-2] != '.');
    const char *key =
        orr_arena_strndup(load->arena, text, (size_t)(equals - text) - (has_operator ? 1 : 0));
    if (orr_scenario__find(set, key) != NULL) {
        return orr_scenario__fail_as(load, ORR_USAGE, &at, "\"%.80s\" is set twice", key);
    }
    const char *value = has_operator ? equals - 1 : equals + 1;
    orr_scenario__add(load, set, key, at,
                      orr_scenario__scalar(load,
                                           orr_arena_strndup(load->arena, value, strlen(value)),
                                           "command line", at));
    return ORR_OK;
}

/* What is set while the run goes on, as an event behind those of the scenario. */
static enum orr_status change_later(struct orr_scenario__load *load,
                                    struct orr_scenario__node *root)
{
    const struct orr_scenario_options *options = load->options;
    struct orr_scenario__node *events = orr_scenario__find(root, "events");
    const struct orr_scenario__at at = root->at;
    if (options->later_count == 0) {
        return ORR_OK;
    }
    if (events == NULL || events->kind != ORR_NODE_MAP) { /* none are listed */
        struct orr_scenario__node *none = orr_scenario__node(load, ORR_NODE_MAP, at);
        none->whole = true;
        if (events == NULL) {
            orr_scenario__add(load, root, "events", at, none);
            events = none;
        } else {
            orr_scenario__replace(events, none);
        }
    }
    struct orr_scenario__node *event = orr_scenario__node(load, ORR_NODE_MAP, at);
    struct orr_scenario__node *set = orr_scenario__node(load, ORR_NODE_MAP, at);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < options->later_count && status == ORR_OK; i++) {
        status = set_later(load, set, options->laters[i]);
    }
    if (set->child_count > 0) { /* errors about the event point at what sets it */
        event->at = set->at = set->children[0]->key_at;
    }
    orr_scenario__add(load, event, "at", at,
                      orr_scenario__scalar(
                          load,
                          orr_scenario__format(load->arena, "%lldms", (long long)options->later_ms),
                          "command line", at));
    orr_scenario__add(load, event, "set", at, set);
    orr_scenario__add(load, events,
                      orr_scenario__format(load->arena, "%u", events->child_count + 1), at, event);
    return status;
}

static void list_notes(const struct orr_scenario__load *load, struct orr_scenario *scenario)
{
    for (const struct orr_scenario__note *note = load->notes; note != NULL; note = note->next) {
        scenario->note_count++;
    }
    const char **texts =
        orr_arena_alloc(load->arena, scenario->note_count + (size_t)1, sizeof *texts);
    uint32_t count = 0;
    for (const struct orr_scenario__note *note = load->notes; note != NULL; note = note->next) {
        texts[count++] =
            orr_scenario__format(load->arena, "%s:%u:%u: %s", note->at.source->name,
                                 (unsigned)note->at.line, (unsigned)note->at.column, note->text);
    }
    scenario->notes = texts;
}

static enum orr_status load_all(const struct orr_scenario_options *options,
                                struct orr_scenario *scenario, struct orr_err *err)
{
    struct orr_arena *arena = &scenario->arena;
    struct orr_scenario__load load = {.options = options, .arena = arena, .err = err, .folder = ""};
    struct orr_scenario__node *root = NULL;
    enum orr_status status = check_options(options, err);
    scenario->given_text = orr_arena_strndup(arena, "", 0);
    if (options->path != NULL) {
        scenario->path = orr_arena_strndup(arena, options->path, strlen(options->path));
        load.folder = orr_scenario__folder(arena, scenario->path);
    }
    if (options->folder != NULL) {
        load.folder = options->folder;
    }
    scenario->folder = orr_arena_strndup(arena, load.folder, strlen(load.folder));
    if (status == ORR_OK) {
        bool file = options->path != NULL || options->text != NULL;
        status =
            file ? take_given(&load, scenario, &root) : orr_scenario__from_command(&load, &root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__complete(&load, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__change_all(&load, root);
    }
    if (status == ORR_OK) {
        status = expect_more(&load, root);
    }
    if (status == ORR_OK) {
        status = change_later(&load, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__complete(&load, root); /* a list set whole may leave values out */
    }
    if (status == ORR_OK) {
        status = orr_scenario__date_events(&load, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__state_events(&load, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__fill(&load, scenario, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__check(&load, scenario, root);
    }
    if (status == ORR_OK) {
        const char *named = options->path != NULL ? options->path : options->trace;
        scenario->name = options->name != NULL
                             ? orr_arena_strndup(arena, options->name, strlen(options->name))
                         : named == NULL ? "run"
                                         : stem(arena, named);
        scenario->files = list_files(&load);
        orr_scenario__note_prices(&load, scenario, root);
        list_notes(&load, scenario);
        scenario->resolved_yaml = orr_scenario__emit(arena, root);
        scenario->tree = orr_arena_alloc(arena, 1, sizeof *scenario->tree);
        scenario->tree->root = root;
    }
    return status;
}

enum orr_status orr_scenario_load(const struct orr_scenario_options *options,
                                  struct orr_scenario *scenario, struct orr_err *err)
{
    *scenario = (struct orr_scenario){0};
    orr_arena_init(&scenario->arena);
    enum orr_status status = load_all(options, scenario, err);
    if (status != ORR_OK) {
        orr_scenario_release(scenario);
    }
    return status;
}

void orr_scenario_release(struct orr_scenario *scenario)
{
    orr_arena_release(&scenario->arena);
    *scenario = (struct orr_scenario){0};
}
