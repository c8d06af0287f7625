/* SPDX-License-Identifier: GPL-3.0-or-later */
/* yaml.h - text that a YAML file holds. */
#ifndef ORR_SIM_YAML_H
#define ORR_SIM_YAML_H

#include <stdio.h>

/* Writes `text` as a YAML scalar in double quotes; control characters become \xNN. */
void orr_put_quoted(FILE *out, const char *text);

#endif
