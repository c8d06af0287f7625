/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json.h - one JSON document, written as it goes; what every answer with --json is made by.
 *
 * Names have their unit last (wait_s, free_gpus, lost_gpu_h); what is not known is null, a quota or
 * limit without a bound is -1. A failed write shows in ferror() of the stream.
 */
#ifndef ORR_ANALYSIS_JSON_H
#define ORR_ANALYSIS_JSON_H

#include <stdio.h>

#include <orrery/base/units.h>

struct orr_json {
    FILE *out;
    int depth;
    bool first;    /* nothing written yet at this depth */
    bool one_line; /* no line breaks but the last */
};

/* To begin: {.out = stream}. `key` is NULL in an array and for the document itself; `bracket` is
 * one of { } [ ]. Closing the outermost bracket ends the line. */
void orr_json_open(struct orr_json *json, const char *key, char bracket);
void orr_json_close(struct orr_json *json, char bracket);
/* NULL: null. Control characters are escaped, bytes that are not UTF-8 replaced (U+FFFD). */
void orr_json_text(struct orr_json *json, const char *key, const char *value);
/* The same of an item of a list, as a callback that is handed sentences. */
void orr_json_sentence(const char *text, void *json);
void orr_json_int(struct orr_json *json, const char *key, int64_t value);
void orr_json_real(struct orr_json *json, const char *key, double value); /* NAN: null */
void orr_json_bool(struct orr_json *json, const char *key, bool value);
/* A time or span in seconds; ORR_MS_NONE: null. */
void orr_json_seconds(struct orr_json *json, const char *key, orr_ms value);

#endif
