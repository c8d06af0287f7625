/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_files.c - the files that a policy from outside is made of: another build of one is another
 * policy, and results name the one that they are of. */
#include "plugin_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/traces/pack.h>

#define BREAKS " \t\n;|&()<>" /* of words, where they are not quoted */

_Static_assert(sizeof((struct orr_plugin_file *)0)->sha256 == ORR_SHA256_TEXT, "as it is written");

void orr_plugin__files_add(struct orr_plugin__files *files, const char *path)
{
    struct stat about;
    struct orr_err ignored = {0};
    struct orr_plugin_file file;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || access(path, R_OK) != 0 ||
        orr_file_sha256(path, file.sha256, &ignored) != ORR_OK) {
        return;
    }
    char *whole = realpath(path, NULL);
    file.path = orr_strdup(whole != NULL ? whole : path);
    file.bytes = about.st_size;
    free(whole);
    files->items = ORR_ROOM_FOR_ONE(files->items, files->count, files->room);
    files->items[files->count++] = file;
}

/* One word of a command without its quotes; returns where it ends. */
static const char *take_word(const char *at, char *word)
{
    char quote = '\0';
    for (; *at != '\0' && (quote != '\0' || strchr(BREAKS, *at) == NULL); at++) {
        if (quote == '\0' ? *at == '\'' || *at == '"' : *at == quote) {
            quote = quote == '\0' ? *at : '\0';
        } else {
            at += *at == '\\' && quote != '\'' && at[1] != '\0';
            *word++ = *at;
        }
    }
    *word = '\0';
    return at;
}

void orr_plugin__files_add_words(struct orr_plugin__files *files, const char *command)
{
    char *word = orr_alloc(strlen(command) + 1, 1);
    bool is_output = false;
    for (const char *at = command; *at != '\0';) {
        if (strchr(BREAKS, *at) != NULL) {
            is_output = *at == '>' || (is_output && (*at == ' ' || *at == '\t'));
            at++;
            continue;
        }
        at = take_word(at, word);
        const char *equals = strchr(word, '=');
        if (!is_output) {
            orr_plugin__files_add(files,
                                  equals != NULL && access(word, F_OK) != 0 ? equals + 1 : word);
        }
        is_output = false;
    }
    orr_free(word);
}

void orr_plugin__files_release(struct orr_plugin__files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        orr_free(files->items[i].path);
    }
    orr_free(files->items);
}
