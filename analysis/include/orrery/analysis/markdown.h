/* SPDX-License-Identifier: GPL-3.0-or-later */
/* markdown.h - a text in a cell of a Markdown table. */
#ifndef ORR_ANALYSIS_MARKDOWN_H
#define ORR_ANALYSIS_MARKDOWN_H

#include <stdio.h>

/* What would end the cell or begin a tag or emphasis is escaped; ends of lines become blanks. */
void orr_markdown_text(FILE *out, const char *text);

#endif
