/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results_sql.h"

#include <string.h>

#include <orrery/analysis/course.h>

void orr_course_open(struct orr_results *in, struct orr_course *course)
{
    *course = (struct orr_course){0};
    const size_t room = (size_t)orr_results_int(in, orr_results_sql__queue_count, 0) + 1;
    course->ids = orr_zalloc(room, sizeof *course->ids);
    course->shards = orr_zalloc(room, sizeof *course->shards);
    course->names = orr_zalloc(room, sizeof *course->names);
    course->held_mgpu = orr_zalloc(room, sizeof *course->held_mgpu);
    course->waits_mgpu = orr_zalloc(room, sizeof *course->waits_mgpu);
    course->never_mgpu = orr_zalloc(room, sizeof *course->never_mgpu);
    course->quota_mgpu = orr_zalloc(room, sizeof *course->quota_mgpu);
    orr_idmap_init(&course->keys);
    sqlite3_stmt *row = orr_results_prepare(in, orr_results_sql__leaf_queues);
    while (orr_results_step(in, row) && course->queue_count + 1 < room) {
        const uint32_t q = course->queue_count++;
        course->ids[q] = sqlite3_column_int64(row, 0);
        course->names[q] = orr_results_text(in, row, 1);
        course->quota_mgpu[q] = sqlite3_column_double(row, 2);
        course->shards[q] = sqlite3_column_int64(row, 3);
        const char *key = orr_results_text(in, row, 4);
        (void)orr_idmap_put(&course->keys, key, strlen(key), NULL);
    }
}

uint32_t orr_course_named(const struct orr_course *course, const char *name)
{
    return name != NULL ? orr_idmap_find(&course->keys, name, strlen(name)) : ORR_NONE;
}

uint32_t orr_course_queue(const struct orr_course *course, int64_t id)
{
    uint32_t low = 0, high = course->queue_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (course->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < course->queue_count && course->ids[low] == id ? low : ORR_NONE;
}

static void take(struct orr_course *course, sqlite3_stmt *row)
{
    course->up_mgpu += sqlite3_column_double(row, 5);
    const uint32_t q = sqlite3_column_type(row, 1) == SQLITE_NULL
                           ? ORR_NONE
                           : orr_course_queue(course, sqlite3_column_int64(row, 1));
    if (q == ORR_NONE) {
        return;
    }
    const double waits_mgpu = sqlite3_column_double(row, 3);
    course->held_mgpu[q] += sqlite3_column_double(row, 2);
    course->waits_mgpu[q] += waits_mgpu;
    course->never_mgpu[q] += sqlite3_column_int(row, 4) != 0 ? waits_mgpu : 0;
    if (sqlite3_column_type(row, 6) != SQLITE_NULL) {
        course->quota_mgpu[q] = sqlite3_column_double(row, 6);
    }
}

void orr_course_walk(struct orr_results *in, struct orr_course *course, orr_ms from_ms,
                     orr_ms to_ms, orr_course_fn *step, void *context)
{
    orr_ms since = from_ms;
    sqlite3_stmt *row = orr_results_prepare(in, orr_results_sql__course);
    while (orr_results_step(in, row)) {
        orr_ms at = sqlite3_column_int64(row, 0);
        at = at < to_ms ? at : to_ms;
        if (at > since) {
            step(course, since, at, context);
            since = at;
        }
        take(course, row);
    }
    if (to_ms > since) {
        step(course, since, to_ms, context);
    }
}

void orr_course_close(struct orr_course *course)
{
    orr_free(course->ids);
    orr_free(course->shards);
    orr_free(course->names);
    orr_free(course->held_mgpu);
    orr_free(course->waits_mgpu);
    orr_free(course->never_mgpu);
    orr_free(course->quota_mgpu);
    orr_idmap_release(&course->keys);
    *course = (struct orr_course){0};
}

double orr_course_debt_mgpu(const struct orr_course *course, uint32_t q)
{
    const double waits = course->waits_mgpu[q], quota = course->quota_mgpu[q];
    const double lacks = quota < 0 ? waits : quota - course->held_mgpu[q];
    const double debt = waits < lacks ? waits : lacks;
    return debt > 0 ? debt : 0;
}

double orr_course_waits_mgpu(const struct orr_course *course, uint32_t q)
{
    const double waits = course->waits_mgpu[q] - course->never_mgpu[q];
    return waits > 0 ? waits : 0;
}
