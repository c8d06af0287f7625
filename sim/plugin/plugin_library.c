/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin_int.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_here(const char *name, const char *folder)
{
    return name[0] == '/' || folder[0] == '\0';
}

void orr_plugin__library_path(const char *name, const char *folder, char *path, size_t bytes)
{
    const bool here = is_here(name, folder);
    const char *join = !here ? "/" : strchr(name, '/') == NULL ? "./" : "";
    (void)snprintf(path, bytes, "%s%s%s", here ? "" : folder, join, name);
}

enum orr_status orr_plugin__library_open(const char *name, const char *folder, const char *symbol,
                                         const char *is_no, int64_t timeout_s, void **library,
                                         void **found, struct orr_err *err)
{
    char path[4200];
    orr_plugin__library_path(name, folder, path, sizeof path);
    *library = NULL;
    if (access(path, F_OK) != 0) {
        const bool nor_here = !is_here(name, folder) && access(name, F_OK) != 0;
        return orr_fail(err, ORR_NO_INPUT, "%s %s: there is no file %s%s%s%s", is_no, name, path,
                        nor_here ? ", nor " : "", nor_here ? name : "",
                        nor_here ? " in the current folder" : "");
    }
    orr_plugin__guard();
    orr_plugin__enter(name, timeout_s, "its loading");
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    orr_plugin__leave();
    if (*library == NULL) {
        return orr_fail(err, ORR_SCENARIO, "%s %s: cannot be loaded: %s", is_no, name, dlerror());
    }
    *found = dlsym(*library, symbol);
    if (*found == NULL) {
        return orr_fail(err, ORR_SCENARIO, "%s %s: is a shared object without `%s`, so no %s",
                        is_no, name, symbol, is_no);
    }
    return ORR_OK;
}
