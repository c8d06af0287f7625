/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_include.h - the files that a slurm.conf includes, put in the place of their lines Include.
 * A text made so says by lines of its own from which file and line on it goes on
 * (orr_slurm_next_line). */
#ifndef ORR_SIM_SLURM_INCLUDE_H
#define ORR_SIM_SLURM_INCLUDE_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_slurm_file {
    const char *name, *text;
    size_t bytes;
    const void *context; /* of whoever opens files */
};

/* Opens a file named at a place of another. That it is not there is ORR_OK without a text where a
 * file may lack. */
typedef enum orr_status orr_slurm_open_fn(const struct orr_slurm_file *from, uint32_t line,
                                          uint32_t column, const char *name,
                                          struct orr_slurm_file *out, void *context);

enum { ORR_SLURM_INCLUDE_DEPTH = 16 }; /* files within files */
/* Of the name and the depth. */
#define ORR_SLURM_TOO_DEEP "includes %.200s at a depth of %d: does one of them include itself?"

/* `text` is the file's own where it includes none, else in the arena. What lies deeper is not
 * opened: `deep` fails then. */
enum orr_status orr_slurm_include(const struct orr_slurm_file *file, struct orr_arena *arena,
                                  orr_slurm_open_fn *open, orr_slurm_open_fn *deep, void *context,
                                  const char **text, size_t *bytes);

#endif
