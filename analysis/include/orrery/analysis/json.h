/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json.h - a text as a JSON string. */
#ifndef ORR_ANALYSIS_JSON_H
#define ORR_ANALYSIS_JSON_H

#include <stdio.h>

/* Writes the text in quotes, escaped. Bytes from 0x20 on go out as they are (UTF-8 stays UTF-8). */
void orr_json_string(FILE *out, const char *text);

#endif
