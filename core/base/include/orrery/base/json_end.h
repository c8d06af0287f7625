/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_end.h - texts of JSON that were cut: a parser sees a comma or a bracket missing where the
 * text just ends. */
#ifndef ORRERY_BASE_JSON_END_H
#define ORRERY_BASE_JSON_END_H

#include <stddef.h>
#include <stdint.h>

#include <orrery/base/status.h>

ORR_API_BEGIN

/* Why the text is no JSON where a parser gave up at a place of it (from 1, columns in characters)
 * because the text ends too soon; the place becomes that end. NULL: because of something else. */
const char *orr_json_end(const char *text, size_t bytes, uint32_t *line, uint32_t *column);

ORR_API_END

#endif
