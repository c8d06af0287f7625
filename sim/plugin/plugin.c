/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin_int.h"

#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/policies/registry.h>

#define TIMEOUT_S 60

struct orr_plugin { /* one of them */
    struct orr_plugin__object *object;
    struct orr_plugin__child *child;
    struct orr_plugin__hooks *hooks;
    struct orr_plugin__files files;
};

static bool is_child(const char *name)
{
    return strncmp(name, ORR_PLUGIN_CHILD, sizeof ORR_PLUGIN_CHILD - 1) == 0;
}

bool orr_plugin_is(const char *name)
{
    const size_t bytes = strlen(name);
    return is_child(name) || (bytes > 3 && strcmp(name + bytes - 3, ".so") == 0);
}

enum orr_status orr_plugin__timeout_s(int64_t *seconds, struct orr_err *err)
{
    const char *text = getenv("ORRERY_POLICY_TIMEOUT");
    *seconds = TIMEOUT_S;
    if (text != NULL &&
        (!orr_parse_i64(text, strlen(text), seconds) || *seconds < 1 || *seconds > 86400)) {
        return orr_fail(err, ORR_USAGE,
                        "ORRERY_POLICY_TIMEOUT: \"%s\" is not a whole number of seconds from 1 to "
                        "86400",
                        text);
    }
    return ORR_OK;
}

const char *orr_plugin__name_fault(const char *name)
{
    static const char of_words[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t bytes = strlen(name);
    if (bytes == 0 || bytes >= 64 || strspn(name, of_words) != bytes) {
        return "is no word of letters, digits, _ - and .";
    }
    return orr_policy_find(name) == NULL
               ? NULL
               : "is that of a built-in policy, by whose rules it would be judged";
}

/* A shared object is loaded from there. */
static void add_library(struct orr_plugin *plugin, const char *name, const char *folder)
{
    char path[4200];
    orr_plugin__library_path(name, folder, path, sizeof path);
    orr_plugin__files_add(&plugin->files, path);
}

enum orr_status orr_plugin_open(const char *name, const char *folder,
                                const struct orr_setting *settings, size_t count,
                                struct orr_plugin **plugin, struct orr_err *err)
{
    if (is_child(name) &&
        name[strspn(name + sizeof ORR_PLUGIN_CHILD - 1, " \t") + sizeof ORR_PLUGIN_CHILD - 1] ==
            '\0') {
        return orr_fail(err, ORR_SCENARIO, "%s names no command, such as exec:./mine", name);
    }
    struct orr_plugin *made = orr_zalloc(1, sizeof *made);
    const enum orr_status status =
        is_child(name) ? orr_plugin__child_open(name, settings, count, &made->child, err)
                       : orr_plugin__object_open(name, folder, &made->object, err);
    if (status != ORR_OK) {
        orr_free(made);
        return status;
    }
    if (is_child(name)) {
        orr_plugin__files_add_words(&made->files, name + sizeof ORR_PLUGIN_CHILD - 1);
    } else {
        add_library(made, name, folder);
    }
    *plugin = made;
    return ORR_OK;
}

enum orr_status orr_plugin_open_hooks(const char *name, const char *folder,
                                      struct orr_plugin **plugin, struct orr_err *err)
{
    struct orr_plugin *made = orr_zalloc(1, sizeof *made);
    const enum orr_status status = orr_plugin__hooks_open(name, folder, &made->hooks, err);
    if (status != ORR_OK) {
        orr_free(made);
        return status;
    }
    add_library(made, name, folder);
    *plugin = made;
    return ORR_OK;
}

void orr_plugin_close(struct orr_plugin *plugin)
{
    if (plugin != NULL) {
        orr_plugin__hooks_close(plugin->hooks);
        orr_plugin__object_close(plugin->object);
        orr_plugin__child_close(plugin->child);
        orr_plugin__files_release(&plugin->files);
        orr_free(plugin);
    }
}

const struct orr_policy *orr_plugin_policy(const struct orr_plugin *plugin)
{
    return plugin->object != NULL ? orr_plugin__object_policy(plugin->object)
                                  : orr_plugin__child_policy(plugin->child);
}

const struct orr_plugin_file *orr_plugin_files(const struct orr_plugin *plugin, uint32_t *count)
{
    *count = plugin != NULL ? plugin->files.count : 0;
    return plugin != NULL ? plugin->files.items : NULL;
}

void orr_plugin_bind(struct orr_plugin *plugin, void *params)
{
    if (plugin->hooks != NULL) {
        orr_plugin__hooks_bind(plugin->hooks, params);
    } else if (plugin->object != NULL) {
        orr_plugin__object_bind(plugin->object, params);
    } else {
        orr_plugin__child_bind(plugin->child, params);
    }
}
