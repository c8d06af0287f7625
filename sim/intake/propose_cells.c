/* SPDX-License-Identifier: GPL-3.0-or-later */
/* propose_cells.c - a table whose header is of another language or house.
 *
 * A job is submitted before it starts and starts before it ends, whatever the columns are called:
 * dates that come in the same order in each row are these. Units of time and GPUs have their names
 * in every language.
 */
#include <string.h>

#include "propose_int.h"

#define MOST_DATES 3

struct dated {
    uint32_t column;
    enum times_format format;
    orr_ms at[SAMPLE_ROWS]; /* ORR_MS_NONE: not given */
};

static bool read_dates(struct guess *guess, uint32_t column, struct dated *dated)
{
    struct times *times;
    struct orr_err err;
    if (!propose_times(guess, column, PROPOSE_NEARLY_ALL, &dated->format) ||
        dated->format > TIMES_MONTH_FIRST ||
        times_make(guess->arena, dated->format, NULL, &times, &err) != ORR_OK) {
        return false;
    }
    dated->column = column;
    for (uint32_t r = 0; r < guess->rows; r++) {
        if (!times_read(times, guess->cells[column][r], &dated->at[r])) {
            dated->at[r] = ORR_MS_NONE;
        }
    }
    return true;
}

/* 1: a is never later than b and sometimes earlier, in 19 of 20 rows at least that give both. */
static bool is_before(const struct dated *a, const struct dated *b, uint32_t rows)
{
    uint32_t both = 0, late = 0, early = 0;
    for (uint32_t r = 0; r < rows; r++) {
        if (a->at[r] != ORR_MS_NONE && b->at[r] != ORR_MS_NONE) {
            both++;
            late += a->at[r] > b->at[r];
            early += a->at[r] < b->at[r];
        }
    }
    return early > 0 && late * 20 <= both;
}

static void take(struct guess *guess, enum role role, uint32_t column)
{
    guess->of[role] = column;
    guess->used[column] = true;
}

static void take_dates(struct guess *guess)
{
    struct dated *dates = orr_arena_alloc(guess->arena, MOST_DATES + 1, sizeof *dates);
    const struct dated *order[MOST_DATES];
    uint32_t count = 0;
    for (uint32_t c = 0; c < guess->count && count <= MOST_DATES; c++) {
        count += !guess->used[c] && read_dates(guess, c, &dates[count]);
    }
    if (count == 0 || count > MOST_DATES) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = 0;
        for (uint32_t k = 0; k < count; k++) {
            if (k != i && is_before(&dates[k], &dates[i], guess->rows)) {
                before++;
            } else if (k != i && !is_before(&dates[i], &dates[k], guess->rows)) {
                return; /* no order: nobody knows which is which */
            }
        }
        order[before] = &dates[i];
    }
    static const enum role three[] = {ROLE_SUBMIT, ROLE_START, ROLE_END};
    static const enum role run_known[] = {ROLE_SUBMIT, ROLE_START};
    static const enum role two[] = {ROLE_START, ROLE_END};
    const enum role *roles = count != 2 ? three : guess->of[ROLE_RUN] != ORR_NONE ? run_known : two;
    for (uint32_t i = 0; i < count; i++) {
        take(guess, roles[i], order[i]->column);
        guess->formats[roles[i]] = order[i]->format;
    }
    guess->by_cells = true;
}

static bool are_numbers(const struct guess *guess, uint32_t column)
{
    uint32_t given;
    const uint32_t numbers = propose_numbers(guess, column, guess->mark[column], &given);
    return guess->rows > 0 && (given == 0 || times_nearly_all(numbers, given));
}

bool propose_all_differ(const struct guess *guess, uint32_t column)
{
    for (uint32_t r = 0; r < guess->rows; r++) {
        const struct orr_cell one = guess->cells[column][r];
        for (uint32_t k = 0; k < r; k++) {
            const struct orr_cell other = guess->cells[column][k];
            if (one.bytes == other.bytes && memcmp(one.at, other.at, one.bytes) == 0) {
                return false;
            }
        }
    }
    return guess->rows > 1;
}

/* Beside the one date of a row, the only column of numbers that names a unit of time, "Laufzeit
 * (min)", is how long the job ran. */
static void take_run(struct guess *guess)
{
    uint32_t only = ORR_NONE, count = 0;
    for (uint32_t c = 0; c < guess->count; c++) {
        char bare[200];
        if (!guess->used[c] && propose_unit(guess->names[c], bare, sizeof bare) > 0 &&
            are_numbers(guess, c)) {
            only = c;
            count++;
        }
    }
    if (count == 1) {
        take(guess, ROLE_RUN, only);
    }
}

void propose_from_cells(struct guess *guess)
{
    if (guess->of[ROLE_SUBMIT] != ORR_NONE || guess->of[ROLE_START] != ORR_NONE ||
        guess->of[ROLE_END] != ORR_NONE) {
        return;
    }
    take_dates(guess);
    if (guess->by_cells && guess->of[ROLE_RUN] == ORR_NONE && guess->of[ROLE_START] == ORR_NONE) {
        take_run(guess);
    }
    for (uint32_t c = 0; c < guess->count && guess->by_cells; c++) {
        char name[200];
        propose_fold(guess->names[c], name, sizeof name);
        if (guess->used[c]) {
            continue;
        }
        if (strstr(name, "gpu") != NULL && guess->of[ROLE_GPUS] == ORR_NONE &&
            guess->of[ROLE_POD_GPUS] == ORR_NONE && are_numbers(guess, c)) {
            take(guess, ROLE_GPUS, c);
        } else if (guess->of[ROLE_JOB] == ORR_NONE && propose_all_differ(guess, c)) {
            take(guess, ROLE_JOB, c);
        }
    }
}
