/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw SEED FOLDER [--without=FEATURE,...]: writes the random scenario of a seed. */
#include "draw.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <orrery/base/digest.h>

/* ---- draws ---- */

void stream(struct draw *d, const char *name)
{
    d->rng = orr_rng_stream(d->seed, name, 0);
}

uint32_t below(struct draw *d, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&d->rng, bound);
}

double tenths(struct draw *d, uint32_t bound)
{
    return 0.1 * below(d, 10 * bound);
}

uint32_t between(struct draw *d, uint32_t least, uint32_t most)
{
    return least + below(d, most - least + 1);
}

bool one_in(struct draw *d, uint32_t n)
{
    return below(d, n) == 0;
}

static bool left_out(const struct draw *d, const char *feature)
{
    const size_t bytes = strlen(feature);
    for (const char *at = d->without; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, feature, bytes) == 0 && (at[bytes] == ',' || at[bytes] == '\0')) {
            return true;
        }
    }
    return false;
}

bool has(const struct draw *d, const char *feature, uint32_t percent)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "has.%s", feature);
    struct orr_rng rng = orr_rng_stream(d->seed, name, 0);
    uint32_t part = percent * d->breadth / 100;
    part = part > 90 ? 90 : part;
    return orr_rng_below(&rng, 100) < part && !left_out(d, feature);
}

bool has_each(const struct draw *d, const char *feature, uint32_t n, uint32_t each)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "each.%s", feature);
    struct orr_rng rng = orr_rng_stream(d->seed, name, n);
    return orr_rng_below(&rng, 100) < each && !left_out(d, feature);
}

const char *any(struct draw *d, const char *const *list)
{
    uint32_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    return list[below(d, count)];
}

double instant_s(struct draw *d)
{
    if (one_in(d, 2)) {
        return d->instants[below(d, INSTANTS)];
    }
    const double whole = below(d, d->span_s + 1);
    const double quarters = one_in(d, 6) ? 0.25 * below(d, 4) : 0.0;
    const double thousandth = one_in(d, 20) ? 0.001 : 0.0;
    return whole + quarters + thousandth;
}

double length_s(struct draw *d, double most)
{
    static const uint32_t steps[] = {1, 5, 10, 60};
    if (one_in(d, 9)) {
        return below(d, 3);
    }
    const uint32_t step = steps[below(d, 4)];
    const uint32_t count = (uint32_t)most / step + 1;
    const double whole = below(d, count + 1) * (double)step;
    return whole + (one_in(d, 9) ? 0.5 : 0.0);
}

bool make_name(struct draw *d, char *name, const char *stem, uint32_t n)
{
    static const char *const odd[] = {"%s%u a",  "%s\"%u\"", "%s'%u", "%s.%u",  "%s-%u_",
                                      "%s%%s%u", "%s/%u",    "%s,%u", "%s=%u;", "\303\274%s%u",
                                      "%s#%u",   "%s: %u",   "*%s%u", "%s{%u",  "-%s%u"};
    const bool plain = !has(d, "odd-names", 15) || one_in(d, 2);
    const char *form = plain ? "%s%u" : odd[below(d, sizeof odd / sizeof odd[0])];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(name, NAME_BYTES, form, stem, n);
#pragma GCC diagnostic pop
    return plain;
}

/* ---- text ---- */

enum { RING = 16, RING_BYTES = 200 };

static char *next_buffer(void)
{
    static char ring[RING][RING_BYTES];
    static unsigned next;
    return ring[next++ % RING];
}

const char *quoted(const char *text)
{
    char *out = next_buffer();
    size_t used = 0;
    out[used++] = '"';
    for (; *text != '\0' && used < RING_BYTES - 4; text++) {
        if (*text == '"' || *text == '\\') {
            out[used++] = '\\';
        }
        out[used++] = *text;
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}

const char *span(double seconds)
{
    char *out = next_buffer();
    const long long ms = (long long)(seconds * 1000.0 + 0.5);
    if (ms % 1000 == 0) {
        (void)snprintf(out, RING_BYTES, "%llds", ms / 1000);
    } else {
        (void)snprintf(out, RING_BYTES, "%lldms", ms);
    }
    return out;
}

const char *ringed(const char *format, ...)
{
    char *out = next_buffer();
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out, RING_BYTES, format, args);
    va_end(args);
    return out;
}

void open_map(struct draw *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(d->out, format, args);
    va_end(args);
    (void)fputs(": {", d->out);
    d->first = true;
}

void put(struct draw *d, const char *key, const char *format, ...)
{
    va_list args;
    (void)fprintf(d->out, "%s%s: ", d->first ? "" : ", ", key);
    va_start(args, format);
    (void)vfprintf(d->out, format, args);
    va_end(args);
    d->first = false;
}

void open_inner(struct draw *d, const char *key)
{
    (void)fprintf(d->out, "%s%s: {", d->first ? "" : ", ", key);
    d->first = true;
}

void close_map(struct draw *d)
{
    (void)fputs("}", d->out);
    d->first = false;
}

void end_map(struct draw *d)
{
    (void)fputs("}\n", d->out);
}

static void die(const char *what)
{
    (void)fprintf(stderr, "draw: %s\n", what);
    exit(EXIT_FAILURE);
}

FILE *open_file(const struct draw *d, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", d->folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        die(path);
    }
    return file;
}

void close_file(FILE *file)
{
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        die("cannot write");
    }
}

static bool is_gzip(const char *name)
{
    const size_t bytes = strlen(name);
    return bytes > 3 && strcmp(name + bytes - 3, ".gz") == 0;
}

FILE *open_trace(const struct draw *d, const char *name)
{
    char command[4200];
    if (!is_gzip(name)) {
        return open_file(d, name);
    }
    (void)snprintf(command, sizeof command, "gzip -n >'%s/%s'", d->folder, name);
    FILE *file = popen(command, "w"); /* the folder is the caller's own, the name ours */
    if (file == NULL) {
        die(command);
    }
    return file;
}

void close_trace(FILE *file, const char *name)
{
    if (!is_gzip(name)) {
        close_file(file);
    } else if (pclose(file) != 0) {
        die("cannot write");
    }
}

void make_folder(const struct draw *d, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", d->folder, name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        die(path);
    }
}

int main(int argc, char **argv)
{
    static const uint32_t breadths[] = {30, 70, 100, 100, 160};
    static const char without[] = "--without=";
    if (argc < 3) {
        die("SEED FOLDER [--without=FEATURE,...]");
    }
    struct draw d = {.seed = strtoull(argv[1], NULL, 10), .folder = argv[2]};
    if (argc > 3 && strncmp(argv[3], without, sizeof without - 1) == 0) {
        d.without = argv[3] + sizeof without - 1;
    }
    stream(&d, "breadth");
    d.breadth = breadths[below(&d, sizeof breadths / sizeof breadths[0])];
    draw_extends(&d);
    draw_frame(&d);
    draw_cluster(&d);
    draw_queues(&d);
    draw_profiles(&d);
    draw_templates(&d);
    draw_workload(&d);
    draw_policy(&d);
    draw_execution(&d);
    draw_events(&d);
    draw_variants(&d);
    close_file(d.out);
    return EXIT_SUCCESS;
}
