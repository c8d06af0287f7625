/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_params.c - what a policy's parameters, as a results file has them, say of past use and of
 * what counts. */
#include "audit_int.h"

#include <string.h>

#include <orrery/base/text.h>

#define SESSION_MS 1000 /* kai: a cycle a second */

/* The value of a line NAME=VALUE; no bytes: there is none. */
static const char *param_of(const char *params, const char *name, size_t *bytes)
{
    const size_t length = strlen(name);
    while (*params != '\0') {
        if (strncmp(params, name, length) == 0 && params[length] == '=') {
            *bytes = strcspn(params + length + 1, "\n");
            return params + length + 1;
        }
        params += strcspn(params, "\n");
        params += *params == '\n';
    }
    *bytes = 0;
    return params;
}

static bool read_time(const char *params, const char *name, orr_ms *ms)
{
    size_t bytes;
    const char *text = param_of(params, name, &bytes);
    return orr_parse_duration(text, bytes, ms);
}

/* Either names each resource that it changes. */
bool orr_audit__is_transformed(const char *params, enum orr_audit_resource kind)
{
    static const char *const names[] = {"exclude_resources", "resource_transformations"};
    static const char *const words[] = {[ORR_AUDIT_GPU] = "gpu",
                                        [ORR_AUDIT_CPU] = "cpu",
                                        [ORR_AUDIT_MEMORY] = "memory",
                                        [ORR_AUDIT_PODS] = "pods"};
    const size_t length = strlen(words[kind]);
    bool named = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t bytes;
        const char *text = param_of(params, names[i], &bytes);
        for (size_t at = 0; at + length <= bytes && !named; at++) {
            named = memcmp(text + at, words[kind], length) == 0;
        }
    }
    return named;
}

bool orr_audit__read_window(const char *params, orr_ms clock_origin_ms,
                            struct orr_audit_window *window)
{
    size_t bytes;
    const char *text = param_of(params, "usage_db", &bytes);
    window->whole_units = strncmp(text, "fake", strlen("fake")) == 0;
    text = param_of(params, "window_type", &bytes);
    window->tumbles = strncmp(text, "tumbling", strlen("tumbling")) == 0;
    bool known = strncmp(text, "cron", strlen("cron")) != 0 &&
                 read_time(params, "window_size", &window->window_ms) &&
                 read_time(params, "half_life_period", &window->half_life_ms);
    if (window->whole_units) { /* by every session */
        window->resolution_ms = window->fetch_ms = SESSION_MS;
    } else {
        known = known && read_time(params, "query_resolution", &window->resolution_ms) &&
                read_time(params, "fetch_interval", &window->fetch_ms);
    }
    text = param_of(params, "tumbling_window_start_time", &bytes);
    if (known && bytes > 0 && !orr_parse_duration(text, bytes, &window->boundary_ms)) {
        known = orr_parse_timestamp(text, bytes, &window->boundary_ms);
        window->boundary_ms -= clock_origin_ms;
    }
    return known;
}
