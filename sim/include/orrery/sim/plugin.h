/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin.h - policies from outside: a shared object, or a child process that speaks JSON lines.
 *
 * Either becomes an orr_policy as any other. A shared object runs in this process, under guard:
 * where it crashes, or a call takes longer than the timeout, the process ends with a sentence that
 * names the policy (exit 70) and leaves no results. What a child does wrong comes back as an error
 * from the run. The timeout is ORRERY_POLICY_TIMEOUT, in seconds, 60 unless it is set. */
#ifndef ORR_SIM_PLUGIN_H
#define ORR_SIM_PLUGIN_H

#include <orrery/core/policy.h>

#define ORR_PLUGIN_CHILD "exec:" /* before the command of a child process */

struct orr_plugin;

/* Is that the name of a plug-in: `exec:COMMAND`, or a path to a .so? */
bool orr_plugin_is(const char *name);
/* Loads it. A relative path starts in `folder` ("": here). Settings are those a child process is
 * told; a shared object has rows of its own. Errors: the file is missing, no shared object, made
 * for another version of the contract, or says nonsense of itself. */
enum orr_status orr_plugin_open(const char *name, const char *folder,
                                const struct orr_setting *settings, size_t count,
                                struct orr_plugin **plugin, struct orr_err *err) ORR_MUST_USE;
/* The same for hooks of kai (kai_hooks.h), which are a shared object. It is no policy. */
enum orr_status orr_plugin_open_hooks(const char *name, const char *folder,
                                      struct orr_plugin **plugin, struct orr_err *err) ORR_MUST_USE;
/* Not before nobody uses its policy any more. NULL is nothing. */
void orr_plugin_close(struct orr_plugin *plugin);
/* Lives as long as the plug-in. */
const struct orr_policy *orr_plugin_policy(const struct orr_plugin *plugin);
/* What it is made of, as it was when it was opened: the shared object; of a child process each file
 * that a word of its command names, also behind a `=`, but for those that output goes to (`>
 * FILE`). They live as long as the plug-in; NULL has none. */
struct orr_plugin_file {
    char *path;      /* from the root on */
    char sha256[65]; /* as orr_file_sha256 has it */
    int64_t bytes;
};
const struct orr_plugin_file *orr_plugin_files(const struct orr_plugin *plugin, uint32_t *count);
/* Parameters that were allocated for its policy, before they are filled in; of hooks those of kai,
 * when they are. */
void orr_plugin_bind(struct orr_plugin *plugin, void *params);
/* What is done before a crash or a hang ends the process: to be safe in a signal handler. */
void orr_plugin_at_end(void (*clean)(void));
/* For a signal handler that is to end the process: is a plug-in at work, whose call or cycle may
 * have no end? Then its child process is killed and its call given up: end the process. */
bool orr_plugin_abandon(void);

#endif
