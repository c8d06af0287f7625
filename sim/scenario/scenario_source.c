/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_source.c - texts a scenario comes from, places in them, and errors that show the place.
 */
#include "scenario_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/base/text.h>

#define LINE_SHOWN 160 /* bytes of a source line repeated in an error */

ORR_PRINTF(2, 0)
static char *format_list(struct orr_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    ORR_ASSERT(length >= 0);
    char *text = orr_arena_alloc(arena, (size_t)length + 1, 1);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

char *orr_scenario__format(struct orr_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_list(arena, format, args);
    va_end(args);
    return text;
}

const char *orr_scenario__folder(struct orr_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    /* standard input, and what a shell calls <(...), lie in no folder of files */
    if (slash == NULL || strncmp(path, "/dev/fd/", 8) == 0 || strcmp(path, "/dev/stdin") == 0) {
        return "";
    }
    return slash == path ? "/" : orr_arena_strndup(arena, path, (size_t)(slash - path));
}

const char *orr_scenario__join(struct orr_arena *arena, const char *folder, const char *path)
{
    if (path[0] == '/' || folder[0] == '\0') {
        return path;
    }
    const char *between = folder[strlen(folder) - 1] == '/' ? "" : "/";
    return orr_scenario__format(arena, "%s%s%s", folder, between, path);
}

/* Length of a line end at text[i], 0 if there is none. */
static size_t line_end(const char *text, size_t bytes, size_t i)
{
    if (text[i] == '\r') {
        return i + 1 < bytes && text[i + 1] == '\n' ? 2 : 1;
    }
    return text[i] == '\n' ? 1 : 0;
}

static const char *find_line(const struct orr_scenario__source *source, uint32_t line,
                             size_t *bytes)
{
    const char *text = source->shown != NULL ? source->shown : source->text;
    size_t length = source->shown != NULL ? strlen(source->shown) : source->bytes;
    size_t i = 0;
    for (uint32_t n = 1; n < line && i < length;) {
        size_t skip = line_end(text, length, i);
        n += skip > 0;
        i += skip > 0 ? skip : 1;
    }
    size_t end = i;
    while (end < length && line_end(text, length, end) == 0) {
        end++;
    }
    *bytes = end - i;
    return text + i;
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* Copies what can be shown, a question mark for each byte that cannot. Returns the bytes written.
 */
static size_t copy_line(char *out, size_t room, const char *line, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < bytes;) {
        size_t n = orr_utf8_bytes(line + i, bytes - i);
        bool shown = n > 0 && !is_control(line[i]);
        size_t take = n > 0 ? n : 1;
        if (used + take >= room) {
            break;
        }
        memcpy(out + used, shown ? line + i : "?", shown ? take : 1);
        used += shown ? take : 1;
        i += take;
    }
    return used;
}

/* The source line, and below it a caret under the column. Long lines are cut around it. */
static void write_line(char *out, size_t room, const struct orr_scenario__at *at)
{
    size_t bytes;
    const char *line = find_line(at->source, at->line, &bytes);
    if (bytes == 0) {
        return;
    }
    size_t target = 0; /* byte of the column */
    for (uint32_t column = 1; target < bytes && column < at->column; column++) {
        target++;
        while (target < bytes && is_continuation(line[target])) {
            target++;
        }
    }
    size_t from = target > LINE_SHOWN / 2 ? target - LINE_SHOWN / 2 : 0;
    while (from > 0 && is_continuation(line[from])) {
        from--;
    }
    size_t to = bytes - from > LINE_SHOWN ? from + LINE_SHOWN : bytes;
    while (to > from && to < bytes && is_continuation(line[to])) {
        to--;
    }
    size_t used = 0;
    out[used++] = '\n';
    used += copy_line(out + used, room - used, line + from, to - from);
    if (used + 1 < room) {
        out[used++] = '\n';
    }
    for (size_t i = from; i < target && used + 1 < room; i++) {
        if (!is_continuation(line[i])) {
            out[used++] = line[i] == '\t' ? '\t' : ' ';
        }
    }
    if (used + 1 < room) {
        out[used++] = '^';
    }
    out[used] = '\0';
}

ORR_PRINTF(4, 0)
static void fail_list(const struct orr_scenario__load *load, enum orr_status status,
                      const struct orr_scenario__at *at, const char *format, va_list args)
{
    struct orr_err made = {0};
    char given[500], message[sizeof given];
    (void)vsnprintf(given, sizeof given, format, args);
    message[copy_line(message, sizeof message, given, strlen(given))] = '\0';
    char line[2 * LINE_SHOWN + 8] = "";
    if (at == NULL || at->source == NULL) {
        (void)orr_fail(&made, status, "%s", message);
    } else {
        write_line(line, sizeof line, at);
        if (at->source->argument) {
            (void)orr_fail(&made, status, "%s: %s", at->source->name, message);
        } else {
            (void)orr_fail(&made, status, "%s:%u:%u: %s", at->source->name, (unsigned)at->line,
                           (unsigned)at->column, message);
        }
    }
    /* the source line is worth more than the tail of an overlong message */
    made.text[sizeof made.text - sizeof line] = '\0';
    (void)orr_fail(load->err, status, "%s%s", made.text, line);
}

enum orr_status orr_scenario__fail(const struct orr_scenario__load *load,
                                   const struct orr_scenario__at *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_list(load, ORR_SCENARIO, at, format, args);
    va_end(args);
    return ORR_SCENARIO;
}

enum orr_status orr_scenario__fail_as(const struct orr_scenario__load *load, enum orr_status status,
                                      const struct orr_scenario__at *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_list(load, status, at, format, args);
    va_end(args);
    return status;
}

struct orr_scenario__at orr_scenario__at_byte(struct orr_scenario__at at, const char *text,
                                              size_t bytes)
{
    for (size_t i = 0; i < bytes && text[i] != '\0'; i++) {
        at.column += !is_continuation(text[i]);
    }
    return at;
}

const char *orr_scenario__origin(struct orr_arena *arena, const struct orr_scenario__node *node)
{
    if (node->note != NULL) {
        return node->note;
    }
    if (node->at.source == NULL) {
        return "default";
    }
    return orr_scenario__format(arena, "%s:%u:%u", node->at.source->name, (unsigned)node->at.line,
                                (unsigned)node->at.column);
}

/* Only clean text reaches the YAML parser: it was not made for anything else. */
enum orr_status orr_scenario__take_text(struct orr_scenario__load *load,
                                        struct orr_scenario__source *source)
{
    if (source->bytes >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0) {
        source->text += 3;
        source->bytes -= 3;
    }
    struct orr_scenario__at at = {source, 1, 1};
    for (size_t i = 0; i < source->bytes;) {
        unsigned char c = (unsigned char)source->text[i];
        size_t end = line_end(source->text, source->bytes, i);
        if (end > 0) {
            at.line++;
            at.column = 1;
            i += end;
            continue;
        }
        size_t n = orr_utf8_bytes(source->text + i, source->bytes - i);
        if (i == 0 && source->bytes > 1 &&
            (memcmp(source->text, "\xff\xfe", 2) == 0 ||
             memcmp(source->text, "\xfe\xff", 2) == 0)) {
            return orr_scenario__fail(load, &at, "is UTF-16 text; save it as UTF-8");
        }
        if (n == 0 || is_control(source->text[i])) {
            return orr_scenario__fail(load, &at, "byte 0x%02x is not %s", (unsigned)c,
                                      n == 0 ? "UTF-8 text" : "allowed in a scenario");
        }
        at.column++;
        i += n;
    }
    return ORR_OK;
}

enum orr_status orr_scenario__argument(struct orr_scenario__load *load, const char *option,
                                       const char *text, struct orr_scenario__at *out)
{
    struct orr_scenario__source *source = orr_arena_alloc(load->arena, 1, sizeof *source);
    source->name = option;
    source->folder = "";
    source->text = orr_arena_strndup(load->arena, text, strlen(text));
    source->bytes = strlen(text);
    source->argument = true;
    *out = (struct orr_scenario__at){source, 1, 1};
    return orr_scenario__take_text(load, source);
}

static enum orr_status read_all(struct orr_scenario__load *load, int fd,
                                struct orr_scenario__source *source,
                                const struct orr_scenario__at *named_at)
{
    size_t capacity = 64 * 1024;
    char *text = orr_alloc(capacity, 1);
    size_t used = 0;
    ssize_t got;
    while ((got = read(fd, text + used, capacity - used)) != 0 && used <= ORR_SCENARIO__BYTES) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            break;
        }
        used += (size_t)got;
        if (used == capacity) {
            capacity = orr_grow(capacity, used + 1);
            text = orr_realloc(text, capacity, 1);
        }
    }
    enum orr_status status = ORR_OK;
    if (got < 0) {
        status = orr_scenario__fail_as(load, ORR_NO_INPUT, named_at, "cannot read %s: %s",
                                       source->name, strerror(errno));
    } else if (used > ORR_SCENARIO__BYTES) {
        status = orr_scenario__fail(load, named_at, "%s is larger than 16 MiB", source->name);
    } else {
        source->text = orr_arena_strndup(load->arena, text, used);
        source->bytes = used;
    }
    orr_free(text);
    return status;
}

/* What people hand in for a scenario; NULL: it may be one. */
static const char *mistaken_for(const struct orr_scenario__source *source)
{
    static const struct {
        const char *magic, *what;
    } kinds[] = {{"SQLite format 3", "is a results file, not a scenario"},
                 {"\x1f\x8b", "is packed, not a scenario; a trace goes with --trace"},
                 {"\x28\xb5\x2f\xfd", "is packed, not a scenario; a trace goes with --trace"},
                 {"\xfd"
                  "7zXZ",
                  "is packed, not a scenario; a trace goes with --trace"},
                 {"PK\x03\x04", "is packed, not a scenario; a trace goes with --trace"}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const size_t bytes = strlen(kinds[k].magic);
        if (source->bytes >= bytes && memcmp(source->text, kinds[k].magic, bytes) == 0) {
            return kinds[k].what;
        }
    }
    const size_t name = strlen(source->name);
    const bool trace = name > 4 && (strcmp(source->name + name - 4, ".csv") == 0 ||
                                    strcmp(source->name + name - 4, ".swf") == 0);
    return trace ? "is a trace by its name, not a scenario; a trace goes with --trace" : NULL;
}

enum orr_status orr_scenario__read(struct orr_scenario__load *load, const char *path,
                                   const struct orr_scenario__at *named_at,
                                   const struct orr_scenario__source **out)
{
    if (load->sealed) {
        return orr_scenario__fail(load, named_at, "a stored scenario cannot read %s", path);
    }
    struct orr_scenario__source *source = orr_arena_alloc(load->arena, 1, sizeof *source);
    const bool standard = named_at == NULL && strcmp(path, "-") == 0;
    source->folder = orr_scenario__folder(load->arena, path);
    path = standard ? "standard input" : path;
    source->name = orr_arena_strndup(load->arena, path, strlen(path));
    struct stat about;
    /* why: opening a pipe that a scenario names by mistake would wait for ever */
    if (named_at != NULL && stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        return orr_scenario__fail(load, named_at, "%s is not a regular file", path);
    }
    int fd = open(standard ? "/dev/stdin" : path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return orr_scenario__fail_as(load, ORR_NO_INPUT, named_at, "cannot read %s: %s", path,
                                     strerror(error));
    }
    struct orr_scenario__file *file = orr_arena_alloc(load->arena, 1, sizeof *file);
    *file = (struct orr_scenario__file){source->name, load->files};
    load->files = file;
    load->file_count++;
    source->device = (uint64_t)about.st_dev;
    source->inode = (uint64_t)about.st_ino;
    enum orr_status status = read_all(load, fd, source, named_at);
    (void)close(fd);
    *out = source;
    const char *mistaken = status == ORR_OK ? mistaken_for(source) : NULL;
    if (mistaken != NULL) {
        return orr_scenario__fail(load, named_at, "%s %s", path, mistaken);
    }
    return status == ORR_OK ? orr_scenario__take_text(load, source) : status;
}

void orr_scenario_show_line(const char *path, uint32_t line, uint32_t column, char *out,
                            size_t room)
{
    const struct orr_scenario_options none = {0};
    struct orr_err ignored = {0};
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_scenario__load load = {
        .options = &none, .arena = &arena, .err = &ignored, .folder = ""};
    const struct orr_scenario__source *source;
    out[0] = '\0';
    const bool is_piped = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
    if (!is_piped && orr_scenario__read(&load, path, NULL, &source) == ORR_OK) {
        const struct orr_scenario__at at = {source, line, column};
        size_t bytes;
        (void)find_line(source, line, &bytes);
        if (bytes > 0 && room > 2 * LINE_SHOWN + 8) {
            write_line(out, room, &at);
        }
    }
    orr_arena_release(&arena);
}
