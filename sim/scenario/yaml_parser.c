/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/yaml_parser.h>

#include <errno.h>

#include <orrery/base/status.h>

static struct fy_diag *open_diag(void)
{
    struct fy_diag_cfg config;
    fy_diag_cfg_default(&config);
    config.fp = NULL;
    config.colorize = false;
    errno = 0;
    struct fy_diag *diag = fy_diag_create(&config);
    if (diag == NULL) {
        orr_out_of_memory();
    }
    fy_diag_set_collect_errors(diag, true);
    return diag;
}

static void fail(struct fy_diag *diag, const struct orr_yaml_reader *reader)
{
    void *iterator = NULL;
    orr_check_memory();
    reader->fail(reader->context, fy_diag_errors_iterate(diag, &iterator));
}

/* The next event is taken. False: there is none, or none is wanted. */
static bool pass_on(struct fy_parser *parser, struct fy_diag *diag,
                    const struct orr_yaml_reader *reader)
{
    struct fy_event *event = fy_parser_parse(parser);
    if (event == NULL) {
        fail(diag, reader);
        return false;
    }
    const bool ended = event->type == FYET_STREAM_END;
    const bool more = reader->take(reader->context, event);
    fy_parser_event_free(parser, event);
    return more && !ended;
}

void orr_yaml_read(const char *text, size_t bytes, bool json, const struct orr_yaml_reader *reader)
{
    if (bytes == 0) {
        return; /* the library takes an empty string for a missing one */
    }
    struct fy_diag *diag = open_diag();
    const struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
                                                 FYPCF_DEFAULT_VERSION_1_2 |
                                                 (json ? FYPCF_JSON_FORCE : FYPCF_JSON_NONE),
                                        .diag = diag};
    struct fy_parser *parser = fy_parser_create(&config);
    if (parser == NULL) {
        orr_out_of_memory();
    }
    if (fy_parser_set_string(parser, text, bytes) != 0) {
        fail(diag, reader);
    } else {
        while (pass_on(parser, diag, reader)) {
        }
    }
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
}
