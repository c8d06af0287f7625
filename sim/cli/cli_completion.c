/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_completion.c - `orrery completion SHELL`: a script that asks the program's own --help. */
#include <string.h>

#include "cli.h"
#include "completion.h"

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", orr_completion_bash}, {"zsh", orr_completion_zsh}, {"fish", orr_completion_fish}};

int orr_cli_completion(int argc, char **argv)
{
    struct orr_cli_common common;
    const char *shell = "";
    (void)orr_cli_parse_plain(argc, argv, "bash|zsh|fish",
                              "Write a script that completes verbs, options, policies and files; "
                              "its first lines say where to put it.",
                              &shell, 1, &common);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(scripts[i].shell, shell) != 0) {
            continue;
        }
        if (common.json) {
            struct orr_json json = {.out = stdout};
            orr_json_open(&json, NULL, '{');
            orr_json_text(&json, "shell", shell);
            orr_json_text(&json, "script", scripts[i].script);
            orr_json_close(&json, '}');
        } else {
            (void)fputs(scripts[i].script, stdout);
        }
        return 0;
    }
    struct orr_err err = {0};
    (void)(shell[0] == '\0'
               ? orr_fail(&err, ORR_USAGE, "completion: name the shell: bash, zsh or fish")
               : orr_fail(&err, ORR_USAGE, "completion: \"%s\" is not bash, zsh or fish", shell));
    return orr_cli_fail(&err);
}
