/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/job.h>

#include <string.h>

#include <orrery/base/text.h>

struct named {
    const char *name;
    int32_t priority;
};

static bool find(const struct named *rows, size_t count, const char *name, int32_t *priority)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *priority = rows[i].priority;
            return true;
        }
    }
    return false;
}

bool orr_priority_class(const char *name, int32_t *priority)
{
    static const struct named shipped[] = {
        {"train", 50}, {"build-preemptible", 75}, {"build", 100}, {"inference", 125}};
    return find(shipped, sizeof shipped / sizeof shipped[0], name, priority);
}

bool orr_priority_parse(const char *text, int32_t *priority)
{
    static const struct named kinds[] = {{"training", 50}, {"interactive", 100}};
    int64_t number;
    if (orr_priority_class(text, priority) ||
        find(kinds, sizeof kinds / sizeof kinds[0], text, priority)) {
        return true;
    }
    if (!orr_parse_i64(text, strlen(text), &number) || number < INT32_MIN || number > INT32_MAX) {
        return false;
    }
    *priority = (int32_t)number;
    return true;
}
