/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the cases of one file: files are written to a fresh folder, commands run there, and what
 * they say is compared. README.md beside this file tells the format.
 *
 *   run_case ORRERY SOURCE_DIR FILE
 *
 * Exits 0 when all holds, 1 when something differs, 64 when FILE is no case. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include <orrery/base/mem.h>

enum { MAX_WORDS = 64, MAX_COLUMNS = 8 };

struct text {
    char *at;
    size_t count, room;
};

struct run {
    const char *orrery, *source, *file;
    size_t columns; /* of the row that is run: what takes the place of each {NAME} */
    const char *names[MAX_COLUMNS], *values[MAX_COLUMNS];
    size_t line;         /* of FILE, from 1 */
    struct text command; /* the last one, as written */
    size_t command_line;
    struct text out, err;
    int code;
    struct text wanted; /* all of its output, by lines that begin with > */
    bool ran, coded, wants, differs;
};

static void put(struct text *text, const char *bytes, size_t count)
{
    if (text->count + count + 1 > text->room) {
        text->room = 2 * (text->count + count + 1);
        text->at = orr_realloc(text->at, text->room, 1);
    }
    memcpy(text->at + text->count, bytes, count);
    text->count += count;
    text->at[text->count] = '\0';
}

static void puts_to(struct text *text, const char *string)
{
    put(text, string, strlen(string));
}

static void clear(struct text *text)
{
    text->count = 0;
    put(text, "", 0);
}

static struct text read_whole(const char *path)
{
    struct text text = {0};
    clear(&text);
    FILE *file = fopen(path, "rb");
    char bytes[1 << 14];
    size_t count;
    while (file != NULL && (count = fread(bytes, 1, sizeof bytes, file)) > 0) {
        put(&text, bytes, count);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

__attribute__((format(printf, 2, 3))) static _Noreturn void malformed(const struct run *run,
                                                                      const char *format, ...)
{
    va_list list;
    (void)fprintf(stderr, "%s:%zu: ", run->file, run->line);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
    exit(64);
}

/* Says what differs once a command, with all that the command said. */
__attribute__((format(printf, 2, 3))) static void differ(struct run *run, const char *format, ...)
{
    va_list list;
    (void)printf("%s:%zu: ", run->file, run->line);
    if (run->columns > 0) {
        (void)printf("with %s %s: ", run->names[0], run->values[0]);
    }
    va_start(list, format);
    (void)vprintf(format, list);
    va_end(list);
    (void)printf("\n  of line %zu: %s\n--- stdout\n%.4000s--- stderr\n%.4000s", run->command_line,
                 run->command.at, run->out.at, run->err.at);
    run->differs = true;
}

/* `line` with {source} and {NAME} replaced. */
static struct text filled(const struct run *run, const char *line)
{
    struct text text = {0};
    clear(&text);
    while (*line != '\0') {
        const char *with = NULL;
        size_t skip = 1;
        const char *end = line[0] == '{' ? strchr(line, '}') : NULL;
        const size_t length = end != NULL ? (size_t)(end - line - 1) : 0;
        if (length == 6 && memcmp(line + 1, "source", 6) == 0) {
            with = run->source;
        }
        for (size_t i = 0; i < run->columns && with == NULL && end != NULL; i++) {
            const char *name = run->names[i];
            with = strlen(name) == length && memcmp(line + 1, name, length) == 0 ? run->values[i]
                                                                                 : NULL;
        }
        if (with != NULL) {
            puts_to(&text, with);
            skip = length + 2;
        } else {
            put(&text, line, 1);
        }
        line += skip;
    }
    return text;
}

/* ---- verbs of the runner's own ---- */

static void put_seconds(struct text *text, sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL) {
        return;
    }
    const long long ms = sqlite3_column_int64(row, column);
    char digits[40];
    int length = snprintf(digits, sizeof digits, "%lld.%03lld", ms / 1000, ms % 1000);
    while (digits[length - 1] == '0') {
        length--;
    }
    length -= digits[length - 1] == '.';
    put(text, digits, (size_t)length);
}

/* job@start/evictions of every job (`starts`), job@start-end (`times`) or job@start-end/evictions
 * (`jobs`), on one line in the order of the trace. */
static void put_job(struct text *text, sqlite3_stmt *row, const char *verb)
{
    if (text->count > 0) {
        puts_to(text, " ");
    }
    puts_to(text, (const char *)sqlite3_column_text(row, 0));
    puts_to(text, "@");
    put_seconds(text, row, 1);
    if (strcmp(verb, "starts") != 0) {
        puts_to(text, "-");
        put_seconds(text, row, 2);
    }
    if (strcmp(verb, "times") != 0) {
        puts_to(text, "/");
        puts_to(text, (const char *)sqlite3_column_text(row, 3));
    }
}

static void put_row(struct text *text, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        const unsigned char *value = sqlite3_column_text(row, i);
        puts_to(text, i > 0 ? "|" : "");
        puts_to(text, value != NULL ? (const char *)value : "");
    }
    puts_to(text, "\n");
}

/* `starts FILE`, `times FILE`, `jobs FILE`, `placed FILE`, `sql FILE QUERY`: rows of a results file
 * into run->out. */
static void ask(struct run *run, const char *verb, const char *file, const char *query)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    const bool of_jobs = query == NULL && strcmp(verb, "placed") != 0;
    if (query == NULL && !of_jobs) {
        query = "SELECT job || '@' || CASE WHEN start_s = CAST(start_s AS INTEGER)"
                " THEN CAST(start_s AS INTEGER) ELSE coalesce(start_s, '') END || '/' ||"
                " coalesce(nodes, '') FROM v_jobs";
    } else if (of_jobs) {
        query = "SELECT name, start_ms, end_ms, evictions FROM job ORDER BY id";
    }
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, query, -1, &row, NULL) != SQLITE_OK) {
        puts_to(&run->err, sqlite3_errmsg(db));
        run->code = 1;
    }
    while (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
        if (of_jobs) {
            put_job(&run->out, row, verb);
        } else {
            put_row(&run->out, row);
        }
    }
    if (of_jobs) {
        puts_to(&run->out, "\n");
    }
    (void)sqlite3_finalize(row);
    (void)sqlite3_close(db);
}

/* Blanks in place of the commands to SQLite's own shell, lines that begin with a dot. */
static void blank_commands(char *script)
{
    for (char *line = script; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        if (*line == '.') {
            memset(line, ' ', strcspn(line, "\n"));
        }
    }
}

/* `recomputed FILE`: every metric made again by tests/metrics/recompute.sql. */
static void recompute(struct run *run, const char *file)
{
    static const char done[] = " compared, 0 differ\n";
    struct text path = {0};
    puts_to(&path, run->source);
    puts_to(&path, "/tests/metrics/recompute.sql");
    struct text script = read_whole(path.at);
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int code = sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL);
    blank_commands(script.at);
    for (const char *at = script.at; code == SQLITE_OK && *at != '\0';) {
        code = sqlite3_prepare_v2(db, at, -1, &row, &at);
        while (row != NULL && (code = sqlite3_step(row)) == SQLITE_ROW) {
            put_row(&run->out, row);
        }
        (void)sqlite3_finalize(row);
        code = code == SQLITE_DONE ? SQLITE_OK : code;
    }
    if (code != SQLITE_OK) {
        puts_to(&run->err, sqlite3_errmsg(db));
    }
    const size_t end = sizeof done - 1;
    run->code = code != SQLITE_OK || run->out.count < end ||
                strcmp(run->out.at + run->out.count - end, done) != 0;
    (void)sqlite3_close(db);
    orr_free(script.at);
    orr_free(path.at);
}

/* ---- commands ---- */

/* Splits `text` in place at blanks outside quotes; returns the number of words. */
static int split(const struct run *run, char *text, char *words[MAX_WORDS])
{
    int count = 0;
    char *from = text, *to = text;
    while (*(from += strspn(from, " ")) != '\0') {
        if (count == MAX_WORDS - 1) {
            malformed(run, "more than %d words", MAX_WORDS - 2);
        }
        words[count++] = to;
        while (*from != '\0' && *from != ' ') {
            if (*from == '\'' || *from == '"') {
                char *end = strchr(from + 1, *from);
                if (end == NULL) {
                    malformed(run, "a quote is never closed");
                }
                memmove(to, from + 1, (size_t)(end - from - 1));
                to += end - from - 1;
                from = end + 1;
            } else {
                *to++ = *from++;
            }
        }
        from += *from == ' ';
        *to++ = '\0';
    }
    words[count] = NULL;
    return count;
}

static int spawn(const char *program, char *words[])
{
    int status = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int in = open("/dev/null", O_RDONLY);
        const int out = open(".out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int err = open(".err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (in >= 0 && out >= 0 && err >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 &&
            dup2(err, 2) == 2) {
            (void)execv(program, words);
        }
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void execute(struct run *run, const char *line)
{
    struct text words_text = filled(run, line);
    char *words[MAX_WORDS];
    clear(&run->command);
    puts_to(&run->command, words_text.at);
    run->command_line = run->line;
    clear(&run->out);
    clear(&run->err);
    clear(&run->wanted);
    run->ran = true;
    run->coded = run->wants = false;
    run->code = 0;
    if (strncmp(words_text.at, "sql ", 4) == 0) { /* the query is the rest as it stands */
        char *file = words_text.at + 4, *query = strchr(file, ' ');
        if (query == NULL) {
            malformed(run, "sql FILE QUERY");
        }
        *query = '\0';
        ask(run, "sql", file, query + 1);
        orr_free(words_text.at);
        return;
    }
    const int count = split(run, words_text.at, words);
    if (count == 2 && (strcmp(words[0], "starts") == 0 || strcmp(words[0], "times") == 0 ||
                       strcmp(words[0], "jobs") == 0 || strcmp(words[0], "placed") == 0)) {
        ask(run, words[0], words[1], NULL);
    } else if (count == 2 && strcmp(words[0], "recomputed") == 0) {
        recompute(run, words[1]);
    } else if (count > 0 && strcmp(words[0], "orrery") == 0) {
        orr_free(run->out.at);
        orr_free(run->err.at);
        run->code = spawn(run->orrery, words);
        run->out = read_whole(".out");
        run->err = read_whole(".err");
    } else {
        malformed(run, "expected $ orrery ..., $ starts FILE, $ times FILE, $ jobs FILE, $ placed "
                       "FILE, $ recomputed FILE or $ sql FILE QUERY");
    }
    orr_free(words_text.at);
}

/* What is left to compare of the last command. */
static void finish_command(struct run *run)
{
    if (run->ran && !run->coded && run->code != 0) {
        differ(run, "exit %d, expected 0", run->code);
    }
    if (run->ran && run->wants && strcmp(run->out.at, run->wanted.at) != 0) {
        differ(run, "stdout is not\n%s", run->wanted.at);
    }
    run->ran = run->wants = false;
}

/* ---- lines ---- */

static const char *after(const char *line, const char *words)
{
    const size_t length = strlen(words);
    return strncmp(line, words, length) == 0 ? line + length : NULL;
}

/* stdout is one JSON object, `out`, of which the expression holds. */
static void check_json(struct run *run, const char *expression)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    struct text query = {0};
    puts_to(&query, "SELECT json_type(out) = 'object' AND (");
    puts_to(&query, expression);
    puts_to(&query, ") FROM (SELECT ?1 AS out)");
    bool holds =
        sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, query.at, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 1, run->out.at, (int)run->out.count, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) == 1;
    if (!holds) {
        differ(run, "json %s (%s)", expression, sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(row);
    (void)sqlite3_close(db);
    orr_free(query.at);
}

/* Whether the last lines of `said` are a line of a file and a caret under its `text`. */
static bool has_caret(const char *said, const char *text)
{
    const char *caret = strrchr(said, '^'), *line = said, *at;
    if (caret == NULL || caret == said) {
        return false;
    }
    const char *pointing = caret;
    while (pointing > said && pointing[-1] != '\n') {
        pointing--;
    }
    for (at = said; at < pointing; at++) {
        line = *at == '\n' && at + 1 < pointing ? at + 1 : line;
    }
    at = strstr(line, text);
    return at != NULL && at < pointing && at - line == caret - pointing;
}

static void expect(struct run *run, const char *line)
{
    static const struct {
        const char *words;
        bool of_err, lacks;
    } kinds[] = {{"stdout has ", false, false},
                 {"stdout lacks ", false, true},
                 {"stderr has ", true, false},
                 {"stderr lacks ", true, true}};
    const char *rest;
    if (!run->ran) {
        malformed(run, "expected a file (==), a command ($) or a comment (#), found \"%s\"", line);
    }
    if ((rest = after(line, "exit ")) != NULL) {
        run->coded = true;
        if (run->code != atoi(rest)) {
            differ(run, "exit %d, expected %s", run->code, rest);
        }
        return;
    }
    if ((rest = after(line, "gone ")) != NULL) {
        glob_t found = {0};
        if (glob(rest, 0, NULL, &found) == 0) {
            differ(run, "%s was left behind", found.gl_pathv[0]);
        }
        globfree(&found);
        return;
    }
    if ((rest = after(line, "json ")) != NULL) {
        check_json(run, rest);
        return;
    }
    if ((rest = after(line, "caret ")) != NULL) {
        if (!has_caret(run->err.at, rest)) {
            differ(run, "no caret under %s", rest);
        }
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if ((rest = after(line, kinds[i].words)) != NULL) {
            const char *said = kinds[i].of_err ? run->err.at : run->out.at;
            if ((strstr(said, rest) != NULL) == kinds[i].lacks) {
                differ(run, "%s", line);
            }
            return;
        }
    }
    if (line[0] != '>' || (line[1] != ' ' && line[1] != '\0')) {
        malformed(run, "expected exit, gone, stdout, stderr or >, found \"%s\"", line);
    }
    run->wants = true;
    puts_to(&run->wanted, line[1] == ' ' ? line + 2 : "");
    puts_to(&run->wanted, "\n");
}

/* Writes the file whose lines follow; blank lines at its end are none of it. */
static void write_file(struct run *run, const char *name, char **lines, size_t count)
{
    FILE *file = fopen(name, "wb");
    while (count > 0 && lines[count - 1][0] == '\0') {
        count--;
    }
    for (size_t i = 0; file != NULL && i < count; i++) {
        struct text line = filled(run, lines[i]);
        (void)fprintf(file, "%s\n", line.at);
        orr_free(line.at);
    }
    if (file == NULL || fclose(file) != 0) {
        malformed(run, "%s: %s", name, strerror(errno));
    }
}

/* `copy PATH FILE` */
static void copy_file(struct run *run, const char *words)
{
    struct text both = filled(run, words);
    char *name = strrchr(both.at, ' ');
    if (name == NULL) {
        malformed(run, "copy PATH FILE");
    }
    *name++ = '\0';
    struct text bytes = read_whole(both.at);
    FILE *file = fopen(name, "wb");
    if (bytes.count == 0 || file == NULL || fwrite(bytes.at, 1, bytes.count, file) != bytes.count ||
        fclose(file) != 0) {
        malformed(run, "%s cannot be copied to %s", both.at, name);
    }
    orr_free(bytes.at);
    orr_free(both.at);
}

static bool begins_step(const char *line)
{
    return strncmp(line, "== ", 3) == 0 || strncmp(line, "$ ", 2) == 0 ||
           strncmp(line, "change ", 7) == 0 || strncmp(line, "copy ", 5) == 0;
}

/* The file with its one line `old` replaced by `new`; a NULL `old` adds `new` at the end. */
static void change_line(struct run *run, const char *name, const char *old, const char *new)
{
    struct text before = read_whole(name), after_it = {0};
    uint32_t found = old == NULL;
    clear(&after_it);
    for (char *at = before.at, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        const bool is_it = old != NULL && strcmp(at, old) == 0;
        found += is_it;
        if (!is_it || new != NULL) {
            puts_to(&after_it, is_it ? new : at);
            puts_to(&after_it, "\n");
        }
    }
    if (old == NULL) {
        puts_to(&after_it, new);
        puts_to(&after_it, "\n");
    }
    FILE *file = fopen(name, "wb");
    if (found != 1 || file == NULL || fputs(after_it.at, file) < 0 || fclose(file) != 0) {
        malformed(run, "%s: %u lines are \"%s\"", name, found, old != NULL ? old : "");
    }
    orr_free(before.at);
    orr_free(after_it.at);
}

/* Lines `- OLD`, each with the `+ NEW` that takes its place; returns how many were read. */
static size_t change_file(struct run *run, const char *name, char **lines, size_t count)
{
    size_t i = 0;
    while (i < count && (lines[i][0] == '-' || lines[i][0] == '+') && lines[i][1] == ' ') {
        const bool replaced = lines[i][0] == '-' && i + 1 < count && after(lines[i + 1], "+ ");
        struct text old = filled(run, lines[i] + 2), new = {0};
        if (replaced) {
            new = filled(run, lines[i + 1] + 2);
        }
        run->line += 1 + replaced;
        if (lines[i][0] == '-') {
            change_line(run, name, old.at, replaced ? new.at : NULL);
        } else {
            change_line(run, name, NULL, old.at);
        }
        orr_free(old.at);
        orr_free(new.at);
        i += 1 + replaced;
    }
    return i;
}

static bool begins_rows(const char *line)
{
    return strncmp(line, "for ", 4) == 0 || strncmp(line, "table ", 6) == 0;
}

static void run_lines(struct run *run, char **lines, size_t count)
{
    size_t commands = 0;
    for (size_t i = 0; i < count; i++) {
        const char *line = lines[i];
        run->line = i + 1;
        if (strncmp(line, "== ", 3) == 0) {
            finish_command(run);
            const size_t from = i + 1;
            while (i + 1 < count && !begins_step(lines[i + 1])) {
                i++;
            }
            write_file(run, line + 3, lines + from, i + 1 - from);
        } else if (strncmp(line, "copy ", 5) == 0) {
            finish_command(run);
            copy_file(run, line + 5);
        } else if (strncmp(line, "change ", 7) == 0) {
            finish_command(run);
            i += change_file(run, line + 7, lines + i + 1, count - i - 1);
        } else if (strncmp(line, "$ ", 2) == 0) {
            finish_command(run);
            struct text command = {0};
            puts_to(&command, line + 2);
            while (i + 1 < count && strncmp(lines[i + 1], "  ", 2) == 0) {
                puts_to(&command, lines[++i] + 1);
            }
            execute(run, command.at);
            orr_free(command.at);
            commands++;
        } else if (line[0] != '\0' && line[0] != '#' && line[0] != '|' && !begins_rows(line)) {
            struct text expected = filled(run, line);
            expect(run, expected.at);
            orr_free(expected.at);
        }
    }
    finish_command(run);
    if (commands == 0) {
        malformed(run, "no command");
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

/* Runs the lines in a folder of their own. */
static void run_once(struct run *run, char **lines, size_t count)
{
    const char *under = getenv("TMPDIR");
    char folder[1024];
    (void)snprintf(folder, sizeof folder, "%s/case.XXXXXX", under != NULL ? under : "/tmp");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        malformed(run, "%s: %s", folder, strerror(errno));
    }
    run_lines(run, lines, count);
    if (chdir("/") != 0 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        malformed(run, "%s: %s", folder, strerror(errno));
    }
}

/* `\n` in a value begins a line: in place. */
static void break_lines(char *cell)
{
    char *to = cell;
    for (; *cell != '\0'; cell++, to++) {
        const bool breaks = cell[0] == '\\' && cell[1] == 'n';
        *to = breaks ? '\n' : *cell;
        cell += breaks;
    }
    *to = '\0';
}

/* The bar, between blanks or at the end, that ends the cell at `cell`; NULL if it is the last. */
static char *find_bar(char *cell)
{
    for (char *at = cell; (at = strchr(at, '|')) != NULL; at++) {
        if ((at == cell || at[-1] == ' ') && (at[1] == ' ' || at[1] == '\0')) {
            return at;
        }
    }
    return NULL;
}

/* Cells of a row, blanks around them left out; returns how many. */
static size_t split_cells(const struct run *run, char *row, const char *cells[MAX_COLUMNS])
{
    size_t count = 0;
    for (char *next = row; next != NULL; row = next) {
        row += strspn(row, " ");
        next = find_bar(row);
        if (next != NULL) {
            *next++ = '\0';
        }
        for (size_t end = strlen(row); end > 0 && row[end - 1] == ' '; end--) {
            row[end - 1] = '\0';
        }
        if (count == MAX_COLUMNS) {
            malformed(run, "more than %d columns", MAX_COLUMNS);
        }
        break_lines(row);
        cells[count++] = row;
    }
    return count;
}

/* `table NAME | NAME...`, below it a line `| VALUE | VALUE...` for each time that the case is run.
 */
static void run_table(struct run *run, const char *head, char **lines, size_t count)
{
    struct text names = {0};
    puts_to(&names, head);
    const size_t columns = split_cells(run, names.at, run->names);
    for (size_t i = 0; i < count; i++) {
        if (lines[i][0] == '|') {
            struct text cells = {0};
            run->line = i + 1;
            puts_to(&cells, lines[i] + 1);
            run->columns = split_cells(run, cells.at, run->values);
            if (run->columns != columns) {
                malformed(run, "%zu cells, the table has %zu columns", run->columns, columns);
            }
            run_once(run, lines, count);
            orr_free(cells.at);
        }
    }
    orr_free(names.at);
}

/* `for NAME: VALUES` runs the whole case once a value. */
static void run_values(struct run *run, const char *loop, char **lines, size_t count)
{
    struct text copy = {0};
    puts_to(&copy, loop);
    char *colon = strchr(copy.at, ':'), *values[MAX_WORDS];
    if (colon == NULL) {
        malformed(run, "for NAME: VALUES");
    }
    *colon = '\0';
    run->columns = 1;
    run->names[0] = copy.at;
    const int values_count = split(run, colon + 1, values);
    for (int v = 0; v < values_count; v++) {
        run->values[0] = values[v];
        run_once(run, lines, count);
    }
    orr_free(copy.at);
}

static void run_all(struct run *run, char **lines, size_t count)
{
    for (size_t i = 0; i < count && !begins_step(lines[i]); i++) {
        if (after(lines[i], "for ") != NULL) {
            run_values(run, lines[i] + 4, lines, count);
            return;
        }
        if (after(lines[i], "table ") != NULL) {
            run_table(run, lines[i] + 6, lines, count);
            return;
        }
    }
    run_once(run, lines, count);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        (void)fputs("usage: run_case ORRERY SOURCE_DIR FILE\n", stderr);
        return 64;
    }
    struct run run = {.orrery = argv[1], .source = argv[2], .file = argv[3]};
    struct text text = read_whole(run.file);
    size_t count = 0, room = 64;
    char **lines = orr_zalloc(room, sizeof *lines);
    for (char *at = text.at, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        if (count == room) {
            room *= 2;
            lines = orr_realloc(lines, room, sizeof *lines);
        }
        lines[count++] = at;
    }
    run_all(&run, lines, count);
    orr_free(lines);
    orr_free(text.at);
    orr_free(run.command.at);
    orr_free(run.out.at);
    orr_free(run.err.at);
    orr_free(run.wanted.at);
    return run.differs ? 1 : 0;
}
