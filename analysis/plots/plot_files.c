/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_files.c - the files of one figure.
 *
 * Everything is made in a folder of its own beside the result, DIR/.orrery-plot.XXXXXX, and what is
 * kept is renamed out of it. Scripts name their files as ./NAME: gnuplot takes a leading | or < for
 * a command, and a results file may be called anything.
 */
#include "plot_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct orr_plot_files {
    char dir[1200];  /* where results go */
    char work[1300]; /* made for this figure */
    const char *figure;
    char stem[300];   /* STEM-FIGURE */
    char script[310]; /* stem.gp, stem.dat, stem.svg ... */
    char data[310], image[310], caption[320];
    char data_in_script[320];
};

static const char *const suffixes[] = {"svg", "png", "pdf", "txt"};

ORR_PRINTF(3, 4) static bool fits(char *out, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, room, format, args);
    va_end(args);
    return length >= 0 && (size_t)length < room;
}

/* The name of the results file without folder and suffix. */
static void stem_of(const char *path, const char **stem, size_t *bytes)
{
    const char *slash = strrchr(path, '/');
    *stem = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(*stem, '.');
    *bytes = dot != NULL && dot != *stem ? (size_t)(dot - *stem) : strlen(*stem);
}

static bool names_set(struct orr_plot *plot, struct orr_plot_files *files, const char *figure)
{
    const char *dir = plot->options->dir != NULL ? plot->options->dir : ".";
    const char *stem = NULL;
    size_t bytes = 0;
    files->figure = figure;
    stem_of(plot->in.path, &stem, &bytes);
    return bytes < 230 && fits(files->dir, sizeof files->dir, "%s", dir[0] != '\0' ? dir : ".") &&
           fits(files->work, sizeof files->work, "%s/.orrery-plot.XXXXXX", files->dir) &&
           fits(files->stem, sizeof files->stem, "%.*s-%s", (int)bytes, stem, figure) &&
           fits(files->script, sizeof files->script, "%s.gp", files->stem) &&
           fits(files->data, sizeof files->data, "%s.dat", files->stem) &&
           fits(files->image, sizeof files->image, "%s.%s", files->stem, suffixes[plot->term]) &&
           fits(files->caption, sizeof files->caption, "%s.caption", files->stem) &&
           fits(files->data_in_script, sizeof files->data_in_script, "./%s", files->data);
}

static FILE *create(struct orr_plot *plot, const struct orr_plot_files *files, const char *name)
{
    char path[1700];
    (void)snprintf(path, sizeof path, "%s/%s", files->work, name);
    FILE *file = fopen(path, "w");
    if (file == NULL && plot->in.status == ORR_OK) {
        plot->in.status = orr_fail(plot->in.err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    return file;
}

static void work_remove(const struct orr_plot_files *files)
{
    const char *const names[] = {files->script, files->data, files->image, files->caption,
                                 "messages"};
    char path[1700];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", files->work, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(files->work);
}

struct orr_plot_files *orr_plot__files_open(struct orr_plot *plot, const char *figure)
{
    struct orr_plot_files *files = orr_zalloc(1, sizeof *files);
    plot->named = 0;
    plot->beside = 0;
    plot->nothing = NULL;
    plot->caption[0] = '\0';
    if (!names_set(plot, files, figure)) {
        plot->in.status =
            orr_fail(plot->in.err, ORR_USAGE, "%s: the name is too long", plot->in.path);
        orr_free(files);
        return NULL;
    }
    if (mkdtemp(files->work) == NULL) {
        plot->in.status = orr_fail(plot->in.err, ORR_CANT_CREATE, "%s: cannot write there: %s",
                                   files->dir, strerror(errno));
        orr_free(files);
        return NULL;
    }
    plot->gp = create(plot, files, files->script);
    plot->dat = create(plot, files, files->data);
    plot->dat_name = files->data_in_script;
    plot->blocks = 0;
    if (plot->in.status == ORR_OK) {
        static const char *const kinds[] = {"svg", "pngcairo", "pdfcairo", "dumb"};
        orr_plot__gp(plot, "# %s, drawn by: gnuplot ", kinds[plot->term]);
        orr_plot__quote(plot, files->script, 400, false);
        orr_plot__gp(plot, "\nset encoding utf8\nset output ");
        char image[320];
        (void)snprintf(image, sizeof image, "./%s", files->image);
        orr_plot__quote(plot, image, 400, false);
        orr_plot__gp(plot, "\n");
    }
    return files;
}

/* Whether gnuplot wrote all of it: it does not notice a full disk. */
static bool is_whole(const struct orr_plot_files *files, const char *end)
{
    char path[1700], tail[17] = "";
    (void)snprintf(path, sizeof path, "%s/%s", files->work, files->image);
    FILE *file = fopen(path, "rb");
    size_t bytes = 0;
    if (file != NULL) {
        bytes = fseek(file, -16, SEEK_END) == 0 ? fread(tail, 1, 16, file) : 0;
        (void)fclose(file);
    }
    for (size_t i = 0; i + strlen(end) <= bytes; i++) {
        if (memcmp(tail + i, end, strlen(end)) == 0) {
            return true;
        }
    }
    return false;
}

/* Moves a file out of the work folder into its place and reports it. */
static void keep(struct orr_plot *plot, const struct orr_plot_files *files, const char *name,
                 const char *warning, orr_plot_report_fn *report, void *context)
{
    char from[1700], to[1700];
    (void)snprintf(from, sizeof from, "%s/%s", files->work, name);
    bool here = strcmp(files->dir, ".") == 0;
    (void)snprintf(to, sizeof to, "%s%s%s", here ? "" : files->dir, here ? "" : "/", name);
    if (rename(from, to) != 0) {
        plot->in.status = orr_fail(plot->in.err, ORR_CANT_CREATE, "%s: %s", to, strerror(errno));
        return;
    }
    if (report != NULL) {
        report(context, to, warning);
    }
}

/* What gnuplot said, made one line; NULL for nothing. */
static const char *first_message(const struct orr_plot_files *files, char *text, size_t room)
{
    char path[1700];
    (void)snprintf(path, sizeof path, "%s/messages", files->work);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return NULL;
    }
    size_t bytes = fread(text, 1, room - 1, file);
    (void)fclose(file);
    while (bytes > 0 && (unsigned char)text[bytes - 1] <= ' ') {
        bytes--;
    }
    size_t first = 0;
    while (first < bytes && (unsigned char)text[first] <= ' ') {
        first++;
    }
    memmove(text, text + first, bytes - first);
    bytes -= first;
    text[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)text[i] < ' ') {
            text[i] = ' ';
        }
    }
    return bytes > 0 ? text : NULL;
}

/* Copies a figure drawn as text to where text goes, without gnuplot's form feed. */
static void print_text(struct orr_plot *plot, const struct orr_plot_files *files,
                       const char *warning, orr_plot_report_fn *report, void *context)
{
    char path[1700];
    (void)snprintf(path, sizeof path, "%s/%s", files->work, files->image);
    FILE *in = fopen(path, "r");
    FILE *out = plot->options->out != NULL ? plot->options->out : stdout;
    if (in == NULL) {
        plot->in.status = orr_fail(plot->in.err, ORR_IO, "%s: %s", path, strerror(errno));
        return;
    }
    for (int c = getc(in); c != EOF; c = getc(in)) {
        if (c != '\f') {
            (void)putc(c, out);
        }
    }
    (void)putc('\n', out);
    (void)fclose(in);
    if (fflush(out) != 0 || ferror(out)) {
        plot->in.status = orr_fail(plot->in.err, ORR_IO, "writing a figure: %s", strerror(errno));
    } else if (report != NULL) {
        report(context, "-", warning);
    }
}

/* Says once, in the error, that gnuplot is absent, and adds the name of every script kept. */
static void absent(struct orr_plot *plot, const struct orr_plot_files *files)
{
    if (plot->in.err->status == ORR_OK) {
        (void)orr_fail(plot->in.err, ORR_UNAVAILABLE,
                       "gnuplot is not installed; scripts and data written to %s, to be drawn with "
                       "gnuplot elsewhere: %s (and .dat)",
                       files->dir, files->script);
    } else {
        size_t used = strlen(plot->in.err->text);
        (void)snprintf(plot->in.err->text + used, sizeof plot->in.err->text - used, ", %s",
                       files->script);
    }
    plot->in.status = ORR_UNAVAILABLE;
}

static const char polygon[] = "<polygon";

/* Is it a step of the bar beside a heat map? Pages turn those on their own, as they do the map. */
static bool is_of_scale(const char *line)
{
    unsigned red = 0, green = 0, blue = 0;
    char colour[24];
    if (sscanf(line, " <polygon fill = 'rgb(%u, %u, %u)'", &red, &green, &blue) != 3) {
        return false;
    }
    (void)snprintf(colour, sizeof colour, "#%02x%02x%02x", red & 255, green & 255, blue & 255);
    return !orr_plot__is_named(colour);
}

/* An SVG without the names that gnuplot gives it, which a browser shows beside the pointer:
 * "Gnuplot" of the picture, "gnuplot_plot_1" or the words of its command of a line. Names of a
 * legend stay. Images, the cells of heat maps, are not to be smoothed into each other. */
static void amend_svg(struct orr_plot *plot, const struct orr_plot_files *files)
{
    static const char numbered[] = "<title>gnuplot_plot_", command[] = "' index ";
    static const char picture[] = "<title>Gnuplot</title>", image[] = "<image ";
    char from[1700], to[1700];
    char *line = NULL;
    size_t room = 0;
    (void)snprintf(from, sizeof from, "%s/%s", files->work, files->image);
    (void)snprintf(to, sizeof to, "%s/nameless", files->work);
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    while (in != NULL && out != NULL && getline(&line, &room, in) >= 0) {
        char *title = strstr(line, "<title>");
        char *end = title != NULL ? strstr(title, "</title>") : NULL;
        if (end != NULL && (strncmp(title, numbered, strlen(numbered)) == 0 ||
                            (title[strlen("<title>")] == '\'' && strstr(title, command) != NULL))) {
            (void)fprintf(out, "%.*s%s", (int)(title - line), line, end + strlen("</title>"));
        } else if (is_of_scale(line)) {
            (void)fprintf(out, "%s class='scale'%s", polygon,
                          strstr(line, polygon) + strlen(polygon));
        } else if (strncmp(line, image, strlen(image)) == 0) {
            (void)fprintf(out, "%sstyle='image-rendering:pixelated' %s", image,
                          line + strlen(image));
        } else if (strncmp(line, picture, strlen(picture)) != 0) {
            (void)fputs(line, out);
        }
    }
    bool good = in != NULL && out != NULL && ferror(in) == 0 && ferror(out) == 0;
    if (in != NULL) {
        (void)fclose(in);
    }
    good = (out == NULL || fclose(out) == 0) && good;
    if (!good || rename(to, from) != 0) {
        plot->in.status = orr_fail(plot->in.err, ORR_IO, "%s: %s", to, strerror(errno));
        (void)unlink(to);
    }
    free(line);
}

/* Says why there is no figure, and that one which lies in its place is of an earlier run. */
static void leave_out(struct orr_plot *plot, const struct orr_plot_files *files,
                      orr_plot_report_fn *report, void *context)
{
    char path[1700], text[2000];
    (void)snprintf(path, sizeof path, "%s/%s", files->dir, files->image);
    const bool old = plot->term != ORR_PLOT_DUMB && access(path, F_OK) == 0;
    (void)snprintf(text, sizeof text, "%s: %s%s%s%s%s", files->figure, plot->nothing,
                   orr_plot__is_part(plot) ? " in the part of the run asked for" : "",
                   old ? "; " : "", old ? files->image : "",
                   old ? " there is of an earlier run" : "");
    if (report != NULL) {
        report(context, NULL, text);
    }
}

static void finish(struct orr_plot *plot, const struct orr_plot_files *files,
                   orr_plot_report_fn *report, void *context)
{
    static const char *const ends[] = {"</svg>", "IEND", "%%EOF", ""};
    char text[600];
    if (plot->nothing != NULL) {
        leave_out(plot, files, report, context);
        return;
    }
    if (plot->options->script) {
        keep(plot, files, files->script, NULL, report, context);
        keep(plot, files, files->data, NULL, report, context);
        return;
    }
    enum orr_plot_ran ran = orr_plot__gnuplot(files->work, files->script, "messages");
    const char *warning = first_message(files, text, sizeof text);
    if (ran == ORR_PLOT_NOT_THERE) {
        keep(plot, files, files->script, NULL, report, context);
        keep(plot, files, files->data, NULL, report, context);
        if (plot->in.status == ORR_OK) {
            absent(plot, files);
        }
    } else if (ran == ORR_PLOT_RAN_BADLY) {
        plot->in.status = orr_fail(plot->in.err, ORR_IO, "gnuplot failed on %s: %s", files->stem,
                                   warning != NULL ? warning : "it said nothing");
    } else if (plot->term == ORR_PLOT_DUMB) {
        print_text(plot, files, warning, report, context);
    } else if (!is_whole(files, ends[plot->term])) {
        plot->in.status =
            orr_fail(plot->in.err, ORR_IO, "%s/%s: gnuplot did not write all of it%s%s", files->dir,
                     files->image, warning != NULL ? ": " : "; is the disk full?",
                     warning != NULL ? warning : "");
    } else {
        if (plot->term == ORR_PLOT_SVG) {
            amend_svg(plot, files);
        }
        keep(plot, files, files->image, warning, report, context);
    }
}

static void close_written(struct orr_plot *plot, FILE *file, const char *name)
{
    if (file == NULL) {
        return;
    }
    bool bad = ferror(file) != 0;
    bad = fclose(file) != 0 || bad;
    if (bad && plot->in.status == ORR_OK) {
        plot->in.status = orr_fail(plot->in.err, ORR_IO, "%s: %s", name, strerror(errno));
    }
}

/* What stood in the title, beside the figure or its script. */
static void keep_caption(struct orr_plot *plot, const struct orr_plot_files *files,
                         orr_plot_report_fn *report, void *context)
{
    FILE *out = create(plot, files, files->caption);
    if (out != NULL) {
        (void)fputs(plot->caption, out);
        close_written(plot, out, files->caption);
    }
    if (plot->in.status == ORR_OK) {
        keep(plot, files, files->caption, NULL, report, context);
    }
}

void orr_plot__files_close(struct orr_plot *plot, struct orr_plot_files *files,
                           orr_plot_report_fn *report, void *context)
{
    close_written(plot, plot->gp, files->script);
    close_written(plot, plot->dat, files->data);
    plot->gp = NULL;
    plot->dat = NULL;
    if (plot->in.status == ORR_OK) {
        finish(plot, files, report, context);
    }
    if (plot->in.status == ORR_OK && plot->nothing == NULL && plot->caption[0] != '\0' &&
        plot->term != ORR_PLOT_DUMB) {
        keep_caption(plot, files, report, context);
    }
    work_remove(files);
    orr_free(files);
}
