/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_terminal.c - names cannot command a terminal: all that is printed goes through here, and each
 * character that terminals obey comes out as ?.
 *
 * Names are bytes that strangers chose, and every verb prints some; so the streams themselves are
 * guarded, not their users. What is for programs (JSON, tables, traces) goes out as it is unless
 * standard output is a terminal. */
#define _GNU_SOURCE /* fopencookie */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

struct guard {
    int fd;
    bool is_data;       /* bytes go out as they are */
    unsigned char lead; /* of a character that the bytes so far begin; 0: none */
    unsigned left;      /* its bytes that are still to come */
};

/* A process has one of each stream, and so one guard each. */
static struct guard guards[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static bool write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t wrote = write(fd, text, bytes);
        if (wrote < 0 && errno != EINTR) {
            return false;
        }
        text += wrote > 0 ? wrote : 0;
        bytes -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

/* How many bytes follow this one in a character of UTF-8; 0: it begins none. */
static unsigned more_bytes(unsigned char c)
{
    return c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 0;
}

/* Appends what becomes of one byte, up to two. Obeyed are C0 but the ends of lines and tabs, DEL,
 * and C1, both as UTF-8 and as a byte alone. The lead 0xc2 waits for what it leads. */
static size_t take(struct guard *guard, unsigned char c, char *out)
{
    const unsigned char lead = guard->lead;
    size_t used = 0;
    if (guard->left > 0 && c >= 0x80 && c < 0xc0) {
        guard->left--;
        guard->lead = 0;
        if (lead != 0xc2) {
            out[used++] = (char)c;
            return used;
        }
        if (c >= 0xa0) {
            out[used++] = (char)lead;
        }
        out[used++] = c < 0xa0 ? '?' : (char)c;
        return used;
    }
    if (lead == 0xc2) { /* what it was to lead never came */
        out[used++] = '?';
    }
    guard->left = more_bytes(c);
    guard->lead = guard->left > 0 ? c : 0;
    if (guard->left > 0) {
        if (c != 0xc2) {
            out[used++] = (char)c;
        }
        return used;
    }
    const bool obeyed = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f || c >= 0x80;
    out[used++] = obeyed ? '?' : (char)c;
    return used;
}

static ssize_t guard_write(void *cookie, const char *text, size_t bytes)
{
    struct guard *guard = cookie;
    char block[4096];
    size_t used = 0;
    if (guard->is_data) {
        return write_all(guard->fd, text, bytes) ? (ssize_t)bytes : 0;
    }
    for (size_t i = 0; i < bytes; i++) {
        used += take(guard, (unsigned char)text[i], block + used);
        if (used + 2 > sizeof block || i + 1 == bytes) {
            if (!write_all(guard->fd, block, used)) {
                return 0;
            }
            used = 0;
        }
    }
    return (ssize_t)bytes;
}

static FILE *guarded(struct guard *guard, FILE *plain, int mode)
{
    FILE *stream = fopencookie(guard, "w", (cookie_io_functions_t){.write = guard_write});
    if (stream == NULL || setvbuf(stream, NULL, mode, BUFSIZ) != 0) {
        return plain;
    }
    return stream;
}

/* A descriptor that is closed would be that of the next file to be opened, and what is printed
 * would go into it. So it is taken, by something that cannot be used as it would be. */
static void take_closed(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1) { /* opening takes the lowest that is free: this one */
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

void orr_cli_guard(void)
{
    take_closed();
    stdout = guarded(&guards[0], stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = guarded(&guards[1], stderr, _IONBF);
}

void orr_cli_data(void)
{
    if (!isatty(STDOUT_FILENO)) {
        (void)fflush(stdout);
        guards[0].is_data = true;
    }
}

bool orr_cli_is_terminal(FILE *out)
{
    return isatty(out == stderr ? STDERR_FILENO : STDOUT_FILENO);
}

void orr_cli_command(FILE *out, const char *command)
{
    (void)fflush(out);
    (void)write_all(out == stderr ? STDERR_FILENO : STDOUT_FILENO, command, strlen(command));
}
