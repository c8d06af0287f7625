/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <orrery/base/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int orr_status_exit_code(enum orr_status status)
{
    static const int codes[ORR_STATUS_COUNT] = {
#define X(name, code) [ORR_##name] = (code),
        ORR_STATUS_LIST(X)
#undef X
    };
    return codes[status];
}

enum orr_status orr_fail(struct orr_err *err, enum orr_status status, const char *format, ...)
{
    if (err != NULL && err->status == ORR_OK) {
        va_list args;
        err->status = status;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

void orr_err_prefix(struct orr_err *err, const char *format, ...)
{
    if (err == NULL || err->status == ORR_OK) {
        return;
    }
    char joined[sizeof err->text];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(joined, sizeof joined, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof joined) {
        return;
    }
    size_t used = (size_t)length;
    const char *parts[] = {": ", err->text};
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = strlen(parts[i]);
        bytes = bytes < sizeof joined - 1 - used ? bytes : sizeof joined - 1 - used;
        memcpy(joined + used, parts[i], bytes);
        used += bytes;
    }
    joined[used] = '\0';
    memcpy(err->text, joined, used + 1);
}

/* Unbuffered, because the process is about to die and stdio may be what broke. */
static void say(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, text, left);
        if (written <= 0) {
            return;
        }
        text += written;
        left -= (size_t)written;
    }
}

void orr_panic(const char *what, const char *file, int line)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", line);
    say("orrery: bug: ");
    say(what);
    say(" (");
    say(file);
    say(":");
    say(number);
    say(")\n");
    errno = 0;
    abort();
}

void orr_out_of_memory(void)
{
    say("orrery: out of memory\n");
    errno = ENOMEM;
    abort();
}

void orr_check_memory(void)
{
    if (errno == ENOMEM) {
        orr_out_of_memory();
    }
}
