/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_policies.c - `orrery policies`: what policies there are, what they can be told, and the start
 * of one of your own. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/policies/kai.h>
#include <orrery/policies/kueue.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/plugin.h>

#include "cli.h"
#include "skeleton.h"

static const char *type_name(enum orr_param_type type)
{
    static const char *const names[] = {"bool", "whole number", "number", "time", "one of", "text"};
    return names[type];
}

/* The next of a parameter's other names after `at`; NULL at first, and when there is no more. */
static const struct orr_param_alias *next_alias(const struct orr_policy *policy,
                                                const struct orr_param_alias *at, const char *name)
{
    at = at == NULL ? policy->aliases : at + 1;
    while (at != NULL && at->alias != NULL && (at->name == NULL || strcmp(at->name, name) != 0)) {
        at++;
    }
    return at != NULL && at->alias != NULL ? at : NULL;
}

/* --- for people --- */

static void print_aliases(const struct orr_policy *policy, const char *name)
{
    unsigned count = 0;
    for (const struct orr_param_alias *a = NULL; (a = next_alias(policy, a, name)) != NULL;) {
        (void)printf("%s%s", count++ == 0 ? "      also " : ", ", a->alias);
    }
    (void)printf("%s", count > 0 ? "\n" : "");
}

/* Words of another scheduler that set nothing: those of no effect, then those refused. */
static void print_words(const struct orr_policy *policy)
{
    for (int refused = 0; refused < 2; refused++) {
        const char *why = NULL;
        for (const struct orr_param_alias *a = policy->aliases; a != NULL && a->alias != NULL;
             a++) {
            if ((a->name != NULL && a->name[0] != '\0') || (a->name != NULL) != (refused != 0)) {
                continue;
            }
            if (why == NULL) {
                (void)printf("\n%s:", refused != 0 ? "refused" : "taken without effect");
            }
            if (why == NULL || strcmp(why, a->why) != 0) {
                (void)printf("\n  %s:\n     ", a->why);
            }
            (void)printf(" %s", a->alias);
            why = a->why;
        }
        (void)printf("%s", why != NULL ? "\n" : "");
    }
}

/* What of the real scheduler is heeded, and what shows it; NULL: the policy is nobody's else. */
static const struct orr_feature *features_of(const struct orr_policy *policy)
{
    return strcmp(policy->name, "kai") == 0     ? orr_kai_features()
           : strcmp(policy->name, "kueue") == 0 ? orr_kueue_features()
                                                : NULL;
}

static void print_features(const struct orr_feature *features)
{
    (void)printf("\nfeatures of the real scheduler:\n");
    for (const struct orr_feature *f = features; f->name != NULL; f++) {
        (void)printf("  %s: %s%s%s\n      evidence: %s\n", f->name, f->status,
                     f->means != NULL ? "; " : "", f->means != NULL ? f->means : "", f->evidence);
    }
}

static void print_presets(const struct orr_policy *policy)
{
    for (const struct orr_preset *preset = policy->presets; preset != NULL && preset->name != NULL;
         preset++) {
        (void)printf("%s  preset: %s\n      %s:", preset == policy->presets ? "\n" : "",
                     preset->name, preset->help);
        for (const char *const *s = preset->settings; s[0] != NULL; s += 2) {
            (void)printf(" %s=%s", s[0], s[1]);
        }
        (void)printf("\n");
    }
}

static void print_policy(const struct orr_policy *policy)
{
    (void)printf("%s: %s\n", policy->name, policy->summary);
    if (orr_policy_round_ms(policy) > 0) {
        (void)printf("runs in rounds of %g s, or as long as execution.round says\n",
                     (double)orr_policy_round_ms(policy) / 1000.0);
    } else if (policy->cycle_ms == 0) {
        (void)printf("runs after all events of an instant\n");
    } else {
        (void)printf("runs every %g s while something changed\n",
                     (double)policy->cycle_ms / 1000.0);
    }
    for (const struct orr_param *row = policy->params; row->name != NULL; row++) {
        (void)printf("\n  %s (%s", row->name, type_name(row->type));
        for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
            (void)printf("%s %s", i == 0 ? "" : ",", row->choices[i]);
        }
        (void)printf("%s%s%s%s)\n      %s\n", row->unit[0] == '\0' ? "" : ", ", row->unit,
                     row->fallback[0] == '\0' ? "" : "; default ", row->fallback, row->help);
        print_aliases(policy, row->name);
    }
    print_words(policy);
    print_presets(policy);
    if (features_of(policy) != NULL) {
        print_features(features_of(policy));
    }
}

/* --- as JSON --- */

static void json_param(struct orr_json *json, const struct orr_policy *policy,
                       const struct orr_param *row)
{
    const bool bounded = row->type == ORR_PARAM_INT || row->type == ORR_PARAM_REAL;
    const bool bounds = bounded && (row->min < 0 || row->max > 0);
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "name", row->name);
    orr_json_text(json, "type", type_name(row->type));
    orr_json_text(json, "unit", row->unit);
    orr_json_text(json, "default", row->fallback);
    orr_json_real(json, "min", bounds ? row->min : (double)NAN);
    orr_json_real(json, "max", bounds ? row->max : (double)NAN);
    orr_json_open(json, "choices", '[');
    for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
        orr_json_text(json, NULL, row->choices[i]);
    }
    orr_json_close(json, ']');
    orr_json_text(json, "help", row->help);
    orr_json_open(json, "also", '[');
    for (const struct orr_param_alias *a = NULL; (a = next_alias(policy, a, row->name)) != NULL;) {
        orr_json_text(json, NULL, a->alias);
    }
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}

static void json_presets(struct orr_json *json, const struct orr_policy *policy)
{
    orr_json_open(json, "presets", '[');
    for (const struct orr_preset *p = policy->presets; p != NULL && p->name != NULL; p++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", p->name);
        orr_json_text(json, "help", p->help);
        orr_json_open(json, "settings", '{');
        for (const char *const *s = p->settings; s[0] != NULL; s += 2) {
            orr_json_text(json, s[0], s[1]);
        }
        orr_json_close(json, '}');
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_words(struct orr_json *json, const struct orr_policy *policy)
{
    orr_json_open(json, "words", '[');
    for (const struct orr_param_alias *a = policy->aliases; a != NULL && a->alias != NULL; a++) {
        const bool sets = a->name != NULL && a->name[0] != '\0';
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "word", a->alias);
        orr_json_text(json, "status",
                      sets              ? "parameter"
                      : a->name == NULL ? "no effect"
                                        : "refused");
        orr_json_text(json, "parameter", sets ? a->name : NULL);
        orr_json_text(json, "why", a->why);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_features(struct orr_json *json, const struct orr_feature *features)
{
    orr_json_open(json, "features", '[');
    for (const struct orr_feature *f = features; f->name != NULL; f++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", f->name);
        orr_json_text(json, "status", f->status);
        orr_json_text(json, "means", f->means);
        orr_json_text(json, "evidence", f->evidence);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_policy(const struct orr_policy *policy)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "name", policy->name);
    orr_json_text(&json, "summary", policy->summary);
    orr_json_seconds(&json, "cycle_s", policy->cycle_ms);
    orr_json_seconds(&json, "round_s", orr_policy_round_ms(policy));
    orr_json_open(&json, "params", '[');
    for (const struct orr_param *row = policy->params; row->name != NULL; row++) {
        json_param(&json, policy, row);
    }
    orr_json_close(&json, ']');
    json_words(&json, policy);
    json_presets(&json, policy);
    if (features_of(policy) != NULL) {
        json_features(&json, features_of(policy));
    }
    orr_json_close(&json, '}');
}

/* --- the list --- */

void orr_cli_json_policies(struct orr_json *json)
{
    size_t count;
    const struct orr_policy *const *all = orr_policies(&count);
    orr_json_open(json, "policies", '[');
    for (size_t i = 0; i < count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", all[i]->name);
        orr_json_text(json, "summary", all[i]->summary);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void list(bool as_json)
{
    size_t count;
    const struct orr_policy *const *all = orr_policies(&count);
    if (as_json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_cli_json_policies(&json);
        orr_json_close(&json, '}');
        return;
    }
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-8s %s\n", all[i]->name, all[i]->summary);
    }
    (void)printf("\n`orrery policies NAME` lists a policy's parameters; `orrery whatif S.yaml "
                 "--policy NAME` "
                 "holds\nit against the one a scenario has.\n");
}

static int unknown(const char *name)
{
    const char *names[64];
    size_t count;
    const struct orr_policy *const *all = orr_policies(&count);
    for (size_t i = 0; i < count && i < 64; i++) {
        names[i] = all[i]->name;
    }
    const char *near = orr_nearest(name, names, count < 64 ? count : 64);
    (void)fprintf(stderr, "orrery: unknown policy \"%s\"%s%s%s; `orrery policies` lists them\n",
                  name, near != NULL ? " (did you mean \"" : "", near != NULL ? near : "",
                  near != NULL ? "\"?)" : "");
    return orr_status_exit_code(ORR_USAGE);
}

/* --- a new one --- */

/* The text with each @NAME@ replaced; false if it cannot be written. */
static bool write_text(FILE *out, const char *text, const char *name)
{
    static const char mark[] = "@NAME@";
    for (const char *at = strstr(text, mark); at != NULL; at = strstr(text, mark)) {
        (void)fprintf(out, "%.*s%s", (int)(at - text), text, name);
        text = at + sizeof mark - 1;
    }
    (void)fputs(text, out);
    const bool good = fflush(out) == 0 && !ferror(out);
    return fclose(out) == 0 && good;
}

/* A file that is there already is left alone. */
static enum orr_status write_new(const char *path, int mode, const char *text, const char *name,
                                 struct orr_err *err)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (out == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    if (!write_text(out, text, name)) {
        (void)unlink(path);
        return orr_fail(err, ORR_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    return ORR_OK;
}

static bool is_identifier(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", more[] = "0123456789_";
    size_t bytes = strspn(name, letters);
    const bool starts = bytes > 0;
    while (name[bytes] != '\0' &&
           (strchr(letters, name[bytes]) != NULL || strchr(more, name[bytes]) != NULL)) {
        bytes++;
    }
    return starts && name[bytes] == '\0' && bytes <= 40;
}

static int make_new(const char *name)
{
    struct orr_err err = {0};
    char code[64], test[64];
    if (!is_identifier(name)) {
        orr_fail(&err, ORR_USAGE,
                 "--new \"%s\": a name of small letters, digits and _, such as widest_first", name);
        return orr_cli_fail(&err);
    }
    if (orr_policy_find(name) != NULL) {
        orr_fail(&err, ORR_USAGE, "--new \"%s\": is the name of a built-in policy", name);
        return orr_cli_fail(&err);
    }
    (void)snprintf(code, sizeof code, "%s.c", name);
    (void)snprintf(test, sizeof test, "%s_test.sh", name);
    enum orr_status status = write_new(code, 0666, orr_skeleton_policy_c, name, &err);
    if (status == ORR_OK) {
        status = write_new(test, 0777, orr_skeleton_test_sh, name, &err);
        if (status != ORR_OK) {
            (void)unlink(code);
        }
    }
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    (void)printf("%s and %s are written; `sh %s` compiles and tries them, then\n"
                 "`orrery run S.yaml --policy ./%s.so`\n",
                 code, test, test, name);
    return 0;
}

/* --- the verb --- */

enum { KEY_NEW = 256 };

struct policies_options {
    const char *name, *new_name;
    struct orr_cli_common common;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct policies_options *o = state->input;
    switch (key) {
    case KEY_NEW: o->new_name = arg; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG:
        if (o->name != NULL) {
            argp_error(state, "one policy at a time: \"%s\"?", arg);
        }
        o->name = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->name != NULL && o->new_name != NULL) {
            argp_error(state, "--new takes the name of the new policy: \"%s\"?", o->name);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* One from outside is looked at as a run would. */
static int print_plugin(const char *name, bool as_json)
{
    struct orr_err err = {0};
    struct orr_plugin *plugin;
    if (orr_plugin_open(name, "", NULL, 0, &plugin, &err) != ORR_OK) {
        return orr_cli_fail(&err);
    }
    (as_json ? json_policy : print_policy)(orr_plugin_policy(plugin));
    orr_plugin_close(plugin);
    return 0;
}

int orr_cli_policies(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"new", KEY_NEW, "NAME", 0, "write NAME.c, a policy to start from, and NAME_test.sh", 1},
        {0, 0, 0, 0, 0, 0}};
    const struct argp parser = {
        rows,
        parse,
        "[NAME]",
        "List policies, or one policy's parameters with type, unit, default "
        "and meaning; one of your own is a path to a .so or exec:COMMAND.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct policies_options o = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    const char *name = o.name;
    const struct orr_cli_common common = o.common;
    if (o.new_name != NULL) {
        return make_new(o.new_name);
    }
    if (name == NULL) {
        list(common.json);
        return 0;
    }
    const struct orr_policy *policy = orr_policy_find(name);
    if (policy == NULL && orr_plugin_is(name)) {
        return print_plugin(name, common.json);
    }
    if (policy == NULL) {
        return unknown(name);
    }
    if (common.json) {
        json_policy(policy);
    } else {
        print_policy(policy);
    }
    return 0;
}
