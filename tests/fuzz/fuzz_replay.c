/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a fuzz target over files, or over all files of folders, without a fuzzer; and over their
 * neighbours: each cut short at some places, and with one bit turned at others, always the same. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUTS = 16, TURNS = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Below `bound`, which is above 0. */
static size_t draw(uint64_t *state, size_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*state >> 33) % bound;
}

static void try_neighbours(uint8_t *data, size_t size)
{
    uint64_t state = size;
    for (int i = 0; i < CUTS && size > 0; i++) {
        const size_t kept = draw(&state, size);
        uint8_t *cut = malloc(kept + (kept == 0)); /* so that a sanitizer sees its end */
        if (cut != NULL) {
            memcpy(cut, data, kept);
            (void)LLVMFuzzerTestOneInput(cut, kept);
        }
        free(cut);
    }
    for (int i = 0; i < TURNS && size > 0; i++) {
        const size_t at = draw(&state, size);
        const uint8_t bit = (uint8_t)(1u << draw(&state, 8));
        data[at] ^= bit;
        (void)LLVMFuzzerTestOneInput(data, size);
        data[at] ^= bit;
    }
}

/* Reads and tries one file; false if it cannot be read. */
static bool try_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    size_t size = 0, capacity = 4096;
    uint8_t *data = malloc(capacity);
    while (data != NULL && !feof(file) && !ferror(file)) {
        size += fread(data + size, 1, capacity - size, file);
        if (size == capacity) {
            capacity *= 2;
            uint8_t *larger = realloc(data, capacity);
            if (larger == NULL) {
                free(data);
            }
            data = larger;
        }
    }
    bool failed = data == NULL || ferror(file) != 0;
    (void)fclose(file);
    if (!failed) {
        (void)LLVMFuzzerTestOneInput(data, size);
        try_neighbours(data, size);
    }
    free(data);
    return !failed;
}

/* Tries every file of a folder; returns how many. */
static unsigned try_folder(DIR *folder, const char *path)
{
    unsigned tried = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && (size_t)length < sizeof name) {
            tried += try_file(name);
        }
    }
    return tried;
}

int main(int argc, char **argv)
{
    unsigned tried = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder != NULL) {
            tried += try_folder(folder, argv[i]);
            (void)closedir(folder);
        } else {
            tried += try_file(argv[i]);
        }
    }
    (void)printf("%u inputs\n", tried);
    return tried > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
