/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ORR_SIM_PLUGIN_INT_H
#define ORR_SIM_PLUGIN_INT_H

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

/* ORRERY_POLICY_TIMEOUT, or the default; seconds. */
enum orr_status orr_plugin__timeout_s(int64_t *seconds, struct orr_err *err);

#endif
