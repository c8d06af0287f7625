/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cells.h - names of an input in the columns of an answer. */
#ifndef ORR_SIM_CLI_CELLS_H
#define ORR_SIM_CLI_CELLS_H

/* One line whatever the input put into a name. */
void orr_cells_plain(const char *text);
/* In a column of that width and two spaces; NULL is "-". */
void orr_cells_put(const char *text, int width);
/* The width that shows the text too. */
int orr_cells_wider(int width, const char *text);

#endif
