/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files as they lie on disk: compressed, cut off, empty, missing. */
#include "test_traces.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <orrery/base/mem.h>
#include <orrery/traces/source.h>

#define ROWS 20000

struct fixture {
    char folder[64], path[128];
    char *text; /* a native trace of ROWS rows */
    size_t bytes;
};

static int setup(void **state)
{
    struct fixture *f = orr_zalloc(1, sizeof *f);
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/orr-traces-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->text = orr_alloc((size_t)ROWS * 40, 1);
    f->bytes = (size_t)sprintf(f->text, "job,submit_s,run_s,gpus\n");
    for (unsigned i = 0; i < ROWS; i++) {
        f->bytes += (size_t)sprintf(f->text + f->bytes, "job%u,%u,%u,%u\n", i, i,
                                    i * 2654435761u % 100000, 1 + i % 8);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)rmdir(f->folder);
    orr_free(f->text);
    orr_free(f);
    return 0;
}

static const char *path_of(struct fixture *f, const char *name)
{
    (void)snprintf(f->path, sizeof f->path, "%s/%s", f->folder, name);
    return f->path;
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void add_entry(struct archive *archive, const char *name, const char *text, size_t bytes)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (la_int64_t)bytes);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_true(archive_write_data(archive, text, bytes) == (la_ssize_t)bytes);
    archive_entry_free(entry);
}

/* Writes the text of the fixture as the suffix of the path says. */
static void write_compressed(const struct fixture *f, const char *path, int entries)
{
    const char *suffix = strrchr(path, '.');
    struct archive *archive = archive_write_new();
    if (strcmp(suffix, ".zip") == 0) {
        (void)archive_write_set_format_zip(archive);
    } else {
        (void)archive_write_set_format_raw(archive);
    }
    int code = ARCHIVE_OK;
    if (strcmp(suffix, ".gz") == 0) {
        code = archive_write_add_filter_gzip(archive);
    } else if (strcmp(suffix, ".zst") == 0) {
        code = archive_write_add_filter_zstd(archive);
    } else if (strcmp(suffix, ".xz") == 0) {
        code = archive_write_add_filter_xz(archive);
    } else if (strcmp(suffix, ".bz2") == 0) {
        code = archive_write_add_filter_bzip2(archive);
    }
    assert_int_equal(code, ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    for (int i = 0; i < entries; i++) {
        add_entry(archive, i == 0 ? "trace.csv" : "other.csv", f->text, f->bytes);
    }
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    (void)archive_write_free(archive);
}

static void assert_read(const char *path)
{
    struct orr_workload workload;
    struct orr_err err = {0};
    enum orr_status status = orr_trace_read(path, NULL, &workload, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, ORR_OK);
    assert_int_equal(workload.count, ROWS);
    assert_string_equal(job_name(&workload, ROWS - 1), "job19999");
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    assert_true(workload.file_bytes == stat_of.st_size);
    assert_int_equal(strlen(workload.sha256), 64);
    orr_workload_release(&workload);
}

static void assert_fails(const char *path, enum orr_status want, const char *part)
{
    struct orr_workload workload;
    struct orr_err err = {0};
    enum orr_status status = orr_trace_read(path, NULL, &workload, &err);
    if (strncmp(err.text, path, strlen(path)) != 0 || strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" should start with \"%s\" and have \"%s\" in it", err.text, path, part);
    }
    assert_int_equal(status, want);
    orr_workload_release(&workload); /* must do no harm */
}

static void files__are_read_in_every_compression(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"t.csv.gz", "t.csv.zst", "t.csv.xz", "t.csv.bz2",
                                        "t.csv.zip"};
    write_file(path_of(f, "t.csv"), f->text, f->bytes);
    assert_read(f->path);
    (void)unlink(f->path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        write_compressed(f, path_of(f, names[i]), 1);
        assert_read(f->path);
        (void)unlink(f->path);
    }
}

static void digest__is_of_the_file_on_disk(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "job,submit_s,run_s,gpus\na,0,1,1\n";
    struct orr_workload from_file, from_memory;
    write_file(path_of(f, "t.csv"), text, sizeof text - 1);
    assert_int_equal(orr_trace_read(f->path, NULL, &from_file, NULL), ORR_OK);
    assert_int_equal(
        orr_trace_read_memory("t.csv", text, sizeof text - 1, NULL, &from_memory, NULL), ORR_OK);
    assert_string_equal(from_file.sha256,
                        "b1f52b563b60b4e0be9e22676b9ad59a2109ac22151df899aeda630ab92a60d3");
    assert_string_equal(from_memory.sha256, from_file.sha256);
    orr_workload_release(&from_file);
    orr_workload_release(&from_memory);
    (void)unlink(f->path);
}

static void files__that_were_cut_off_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"t.csv.gz", "t.csv.zst", "t.csv.xz", "t.csv.bz2",
                                        "t.csv.zip"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat stat_of;
        write_compressed(f, path_of(f, names[i]), 1);
        assert_int_equal(stat(f->path, &stat_of), 0);
        assert_int_equal(truncate(f->path, stat_of.st_size * 2 / 3), 0);
        assert_fails(f->path, ORR_DATA, i == 0 ? ": truncated gzip input" : ":");
        (void)unlink(f->path);
    }
    write_compressed(f, path_of(f, "t.csv.gz"), 1); /* all text is there, its checksum is not */
    struct stat stat_of;
    assert_int_equal(stat(f->path, &stat_of), 0);
    assert_int_equal(truncate(f->path, stat_of.st_size - 4), 0);
    assert_fails(f->path, ORR_DATA, ": cannot be decompressed: truncated gzip input");
    (void)unlink(f->path);
}

static char *bytes_of(const char *path, size_t *bytes)
{
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    *bytes = (size_t)stat_of.st_size;
    char *all = orr_alloc(*bytes + 1, 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(all, 1, *bytes, file), *bytes);
    assert_int_equal(fclose(file), 0);
    return all;
}

/* Every third bit of a small file: the text is the same all the same, or it is refused. A zstd file
 * has a checksum if its writer wishes, as zstd(1) does and libarchive does not. */
static void files__with_a_flipped_bit_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"t.csv.gz", "t.csv.xz", "t.csv.bz2", "t.csv.zip"};
    static const size_t rows = 400; /* bytes of the text that are used */
    const size_t whole = f->bytes;
    f->bytes = rows;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t bytes, refused = 0;
        write_compressed(f, path_of(f, names[i]), 1);
        char *file = bytes_of(f->path, &bytes);
        for (size_t bit = 0; bit < bytes * 8; bit += 3) {
            char *text = NULL;
            size_t got;
            struct orr_err err = {0};
            file[bit / 8] = (char)(file[bit / 8] ^ (1 << bit % 8));
            write_file(f->path, file, bytes);
            file[bit / 8] = (char)(file[bit / 8] ^ (1 << bit % 8));
            const enum orr_status status =
                orr_source_read_all(f->path, (size_t)1 << 20, &text, &got, &err);
            refused += status != ORR_OK;
            /* without its magic bytes it is a plain file, which is no trace; a zip's header may
             * say that there is no text, which is none either */
            const bool plain = status == ORR_OK && (got == bytes || got == 0);
            if (status == ORR_OK && !plain && (got != rows || memcmp(text, f->text, rows) != 0)) {
                fail_msg("%s: bit %zu is not noticed", names[i], bit);
            }
            orr_free(text);
        }
        assert_true(refused > bytes);
        orr_free(file);
        (void)unlink(f->path);
    }
    f->bytes = whole;
}

/* Members one after the other are one text; behind the last there may be zeros, and nothing else.
 */
static void gzip__members_are_one_text(void **state)
{
    struct fixture *f = *state;
    size_t bytes;
    write_compressed(f, path_of(f, "t.csv.gz"), 1);
    char *one = bytes_of(f->path, &bytes), *all = orr_zalloc(bytes * 2 + 600, 1);
    static const struct {
        size_t members, zeros;
        const char *rest;
    } tried[] = {{1, 500, ""}, {2, 0, ""}, {2, 3, ""}, {1, 0, "x"}, {1, 4, "\x1f"}, {1, 0, "\x1f"}};
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        char *text = NULL;
        size_t got, used = 0;
        struct orr_err err = {0};
        memset(all, 0, bytes * 2 + 600);
        for (size_t m = 0; m < tried[i].members; m++, used += bytes) {
            memcpy(all + used, one, bytes);
        }
        used += tried[i].zeros;
        memcpy(all + used, tried[i].rest, strlen(tried[i].rest));
        write_file(f->path, all, used + strlen(tried[i].rest));
        const enum orr_status status =
            orr_source_read_all(f->path, (size_t)1 << 24, &text, &got, &err);
        assert_int_equal(status, tried[i].rest[0] == '\0' ? ORR_OK : ORR_DATA);
        assert_true(status != ORR_OK || got == f->bytes * tried[i].members);
        orr_free(text);
    }
    (void)unlink(f->path);
    orr_free(one);
    orr_free(all);
}

static void archives__with_two_files_are_refused(void **state)
{
    struct fixture *f = *state;
    write_compressed(f, path_of(f, "t.zip"), 2);
    assert_fails(f->path, ORR_DATA, "the archive holds more than one file");
    (void)unlink(f->path);
}

static void files__that_are_not_there_are_missing_input(void **state)
{
    struct fixture *f = *state;
    assert_fails(path_of(f, "none.csv"), ORR_NO_INPUT, "No such file");
    assert_fails(f->folder, ORR_NO_INPUT, "is a directory");
    assert_fails("", ORR_NO_INPUT, "No such file");
}

static void files__without_contents_are_refused(void **state)
{
    struct fixture *f = *state;
    write_file(path_of(f, "t.csv"), "", 0);
    assert_fails(f->path, ORR_DATA, "is empty");
    (void)unlink(f->path);
    struct fixture empty = *f;
    empty.bytes = 0;
    write_compressed(&empty, path_of(f, "t.csv.gz"), 1);
    assert_fails(f->path, ORR_DATA, "is empty");
    (void)unlink(f->path);
    write_file(path_of(f, "t.csv"), "\x1f\x8b", 2);
    assert_fails(f->path, ORR_DATA, "");
    (void)unlink(f->path);
}

/* A pipe gives a few bytes at a time: the header in pieces, lines in pieces. */
static void pipes__are_read_to_their_end(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    static const char *const parts[] = {"j",        "ob,submit_s,r", "un_s,gpus\na,0",
                                        ",1,1\nb,", "1,2,3\n",       "c,2,3,4"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_int_equal(write(ends[1], parts[i], strlen(parts[i])), strlen(parts[i]));
    }
    (void)close(ends[1]);
    (void)snprintf(f->path, sizeof f->path, "/dev/fd/%d", ends[0]);
    struct orr_workload workload;
    struct orr_err err = {0};
    enum orr_status status = orr_trace_read(f->path, NULL, &workload, &err);
    (void)close(ends[0]);
    assert_string_equal(err.text, "");
    assert_int_equal(status, ORR_OK);
    assert_int_equal(workload.count, 3);
    orr_workload_release(&workload);
}

static void philly__is_shipped_whole(void **state)
{
    (void)state;
    struct orr_workload workload;
    assert_int_equal(orr_trace_read(ORR_TRACES_DATA "/philly.csv.gz", NULL, &workload, NULL),
                     ORR_OK);
    assert_int_equal(workload.count, 82247);
    assert_int_equal(workload.rejects.count, 0);
    assert_int_equal(workload.queues.count, 15);
    assert_string_equal(workload.notes, "");
    int64_t gpu_ms = 0;
    for (uint32_t i = 0; i < workload.count; i++) {
        gpu_ms += workload.rows[i].gpus * workload.rows[i].run_ms;
    }
    assert_true(gpu_ms == 3521082502000);
    assert_true(workload.rows[82246].submit_ms == 9408690000);
    orr_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files__are_read_in_every_compression, setup, teardown),
        cmocka_unit_test_setup_teardown(digest__is_of_the_file_on_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(files__that_were_cut_off_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(files__with_a_flipped_bit_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(gzip__members_are_one_text, setup, teardown),
        cmocka_unit_test_setup_teardown(archives__with_two_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(files__that_are_not_there_are_missing_input, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(files__without_contents_are_refused, setup, teardown),
        cmocka_unit_test(philly__is_shipped_whole),
        cmocka_unit_test_setup_teardown(pipes__are_read_to_their_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
