/* SPDX-License-Identifier: GPL-3.0-or-later */
/* yaml_parser.h - a text as libfyaml's events, for who builds values with places of their own.
 *
 * Errors are passed on instead of printed, and a lack of memory ends the program as everywhere. */
#ifndef ORR_SIM_YAML_PARSER_H
#define ORR_SIM_YAML_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include <libfyaml.h>

struct orr_yaml_reader {
    void *context;
    /* False: enough, no more events. The event is valid during the call alone. */
    bool (*take)(void *context, struct fy_event *event);
    /* The text is no YAML, or no JSON; `error`: as libfyaml says it, or NULL. */
    void (*fail)(void *context, const struct fy_diag_error *error);
};

/* Passes on the events of the text until its end, an error, or one after which `take` wants no
 * more. With `json` the text has to be JSON. An empty text has no events. */
void orr_yaml_read(const char *text, size_t bytes, bool json, const struct orr_yaml_reader *reader);

#endif
