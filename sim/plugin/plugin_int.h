/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ORR_SIM_PLUGIN_INT_H
#define ORR_SIM_PLUGIN_INT_H

#include <sys/types.h>

#include <orrery/base/mem.h>
#include <orrery/sim/plugin.h>

struct orr_plugin__object; /* plugin_object.c: a shared object under guard */
struct orr_plugin__child;  /* plugin_child.c: a child process */

enum orr_status orr_plugin__object_open(const char *name, const char *folder,
                                        struct orr_plugin__object **object, struct orr_err *err);
void orr_plugin__object_close(struct orr_plugin__object *object);
const struct orr_policy *orr_plugin__object_policy(const struct orr_plugin__object *object);
void orr_plugin__object_bind(struct orr_plugin__object *object, void *params);

enum orr_status orr_plugin__child_open(const char *name, const struct orr_setting *settings,
                                       size_t count, struct orr_plugin__child **child,
                                       struct orr_err *err);
void orr_plugin__child_close(struct orr_plugin__child *child);
const struct orr_policy *orr_plugin__child_policy(const struct orr_plugin__child *child);
void orr_plugin__child_bind(struct orr_plugin__child *child, void *params);

/* plugin_hooks.c: a shared object with hooks of kai under guard. */
struct orr_plugin__hooks;
enum orr_status orr_plugin__hooks_open(const char *name, const char *folder,
                                       struct orr_plugin__hooks **hooks, struct orr_err *err);
void orr_plugin__hooks_close(struct orr_plugin__hooks *hooks);
void orr_plugin__hooks_bind(struct orr_plugin__hooks *hooks, void *params);

/* plugin_guard.c: before a first call; around each, `name` and `call` living as long as the object;
 * after the last one. */
void orr_plugin__guard(void);
void orr_plugin__enter(const char *name, int64_t timeout_s, const char *call);
void orr_plugin__leave(void);
void orr_plugin__unguard(void);
/* A cycle of a child process begins; 0: it is over. */
void orr_plugin__ask(pid_t child);
/* The status that a call returned, with a sentence in any case. */
enum orr_status orr_plugin__said(enum orr_status status, const char *what, const char *name,
                                 const char *call, struct orr_err *err);

/* Why no policy from outside may call itself so, which begins with a verb; NULL: it may. */
const char *orr_plugin__name_fault(const char *name);

/* plugin_library.c: the symbol of a shared object; errors name the object, and `is_no` what it is
 * not. *library is NULL, or to be closed, whatever comes of it. Its constructors are under guard.
 */
enum orr_status orr_plugin__library_open(const char *name, const char *folder, const char *symbol,
                                         const char *is_no, int64_t timeout_s, void **library,
                                         void **found, struct orr_err *err);
/* Where that looks for it. */
void orr_plugin__library_path(const char *name, const char *folder, char *path, size_t bytes);

/* plugin_files.c: what a plug-in is made of, with its contents at that moment. */
struct orr_plugin__files {
    struct orr_plugin_file *items;
    uint32_t count, room;
};
/* A file; what cannot be read, or is none, is left out. */
void orr_plugin__files_add(struct orr_plugin__files *files, const char *path);
/* Each file that a word of a shell's command names, but for those that output goes to. */
void orr_plugin__files_add_words(struct orr_plugin__files *files, const char *command);
void orr_plugin__files_release(struct orr_plugin__files *files);

/* ORRERY_POLICY_TIMEOUT, or the default; seconds. */
enum orr_status orr_plugin__timeout_s(int64_t *seconds, struct orr_err *err);

#endif
