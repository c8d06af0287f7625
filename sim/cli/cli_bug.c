/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_bug.c - exit code 70: a file that says what to type to see the bug again. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* What a signal handler can reach: all is made up before anything can go wrong. */
static char name[64], report[16384];
static size_t report_bytes;

static void add(const char *text, size_t bytes)
{
    bytes = bytes < sizeof report - report_bytes ? bytes : sizeof report - report_bytes;
    memcpy(report + report_bytes, text, bytes);
    report_bytes += bytes;
}

static void add_text(const char *text)
{
    add(text, strlen(text));
}

char *orr_cli_shell_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,%@";
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const bool quoted = word[0] == '\0' || word[strspn(word, plain)] != '\0';
    (void)fputs(quoted ? "'" : "", out);
    for (; *word != '\0'; word++) {
        (void)(*word == '\'' ? fputs("'\\''", out) : fputc(*word, out));
    }
    (void)fputs(quoted ? "'" : "", out);
    (void)fclose(out);
    return text;
}

static void add_word(const char *word)
{
    char *text = orr_cli_shell_word(word);
    add_text(text);
    free(text);
}

void orr_bug_remember(int argc, char **argv)
{
    char *folder = getcwd(NULL, 0);
    (void)snprintf(name, sizeof name, "orrery-bug-%ld.txt", (long)getpid());
    add_text("# orrery " ORR_VERSION " (compiler " __VERSION__ ") met a bug in itself. Please send "
             "this with the files it names.\ncd ");
    add_word(folder != NULL ? folder : ".");
    add_text("\n");
    for (int i = 0; i < argc; i++) {
        add_text(i > 0 ? " " : "");
        add_word(argv[i]);
    }
    add_text("\n");
    free(folder);
}

void orr_bug_write(void)
{
    static const char message[] = "orrery: what to type to see it again is in ";
    const int out = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (out < 0) {
        return;
    }
    const bool whole = write(out, report, report_bytes) == (ssize_t)report_bytes;
    if (close(out) == 0 && whole) {
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        (void)!write(STDERR_FILENO, name, strlen(name));
        (void)!write(STDERR_FILENO, "\n", 1);
    }
}
