/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_option_near.c - long options that no parser of a verb knows, and the nearest that one does.
 * getopt itself only says that it knows none of that name. */
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>

#include "cli.h"

enum { OPTIONS_MAX = 256, NAME_BYTES = 64 };

struct known {
    const char *name;
    int key;
    bool takes_next; /* an argument, as the next word where no = follows */
    bool hidden;
};

struct all_known {
    struct known list[OPTIONS_MAX];
    size_t count;
};

static void add_options(const struct argp *argp, struct all_known *all)
{
    struct known of = {0}; /* an alias has key and argument of the option before it */
    for (const struct argp_option *o = argp->options;
         o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL || o->group != 0); o++) {
        if ((o->flags & OPTION_DOC) != 0) {
            continue;
        }
        if ((o->flags & OPTION_ALIAS) == 0) {
            of.key = o->key;
            of.takes_next = o->arg != NULL && (o->flags & OPTION_ARG_OPTIONAL) == 0;
        }
        if (o->name != NULL || o->key != 0) {
            ORR_ASSERT(all->count < OPTIONS_MAX);
            of.name = o->name;
            of.hidden = (o->flags & OPTION_HIDDEN) != 0;
            all->list[all->count++] = of;
        }
    }
    for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++) {
        add_options(c->argp, all);
    }
}

/* The option that getopt takes the name for: it may be cut short. */
static const struct known *find_long(const struct all_known *all, const char *name, size_t bytes)
{
    const struct known *found = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const struct known *k = &all->list[i];
        if (k->name != NULL && strncmp(k->name, name, bytes) == 0) {
            if (k->name[bytes] == '\0') {
                return k;
            }
            found = found == NULL ? k : found;
        }
    }
    return found;
}

/* "-qo": does the next word belong to the last letter? */
static bool short_takes_next(const struct all_known *all, const char *letters)
{
    for (const char *c = letters; *c != '\0'; c++) {
        for (size_t i = 0; i < all->count; i++) {
            if (all->list[i].key == *c && all->list[i].takes_next) {
                return c[1] == '\0';
            }
        }
    }
    return false;
}

static void refuse(struct argp_state *state, const struct all_known *all, const char *given,
                   size_t bytes)
{
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", (int)bytes, given);
    for (size_t i = 0; i < all->count; i++) {
        if (all->list[i].name != NULL && !all->list[i].hidden) {
            names[count++] = all->list[i].name;
        }
    }
    const char *near = orr_nearest(name, names, count);
    if (near != NULL) {
        state->name = state->argv[0]; /* argp names the verb only once all parsers have begun */
        argp_error(state, "unknown option \"--%s\" (did you mean \"--%s\"?)", name, near);
    }
}

void orr_cli_look_at_options(struct argp_state *state)
{
    struct all_known all = {.count = 0};
    add_options(state->root_argp, &all);
    for (int i = 1; i < state->argc && strcmp(state->argv[i], "--") != 0; i++) {
        const char *word = state->argv[i];
        if (word[0] != '-') {
            continue;
        }
        if (word[1] != '-') {
            i += short_takes_next(&all, word + 1) ? 1 : 0;
            continue;
        }
        const size_t bytes = strcspn(word + 2, "=");
        const struct known *known = find_long(&all, word + 2, bytes);
        if (known == NULL) {
            refuse(state, &all, word + 2, bytes);
        } else if (known->takes_next && word[2 + bytes] == '\0') {
            i++;
        }
    }
}
