/* SPDX-License-Identifier: GPL-3.0-or-later */
/* param.h - typed rows of parameters: one table yields parser, validator, help and record. */
#ifndef ORR_CORE_PARAM_H
#define ORR_CORE_PARAM_H

#include <orrery/base/status.h>

ORR_API_BEGIN

enum orr_param_type {
    ORR_PARAM_BOOL,   /* bool */
    ORR_PARAM_INT,    /* int64_t */
    ORR_PARAM_REAL,   /* double */
    ORR_PARAM_TIME,   /* orr_ms */
    ORR_PARAM_CHOICE, /* int64_t: index in choices */
    ORR_PARAM_TEXT    /* const char *: borrowed from whoever set it */
};

struct orr_param {
    const char *name;
    enum orr_param_type type;
    size_t offset;              /* in the policy's parameter struct */
    const char *fallback;       /* default, as text */
    const char *unit;           /* "" when it has none */
    const char *const *choices; /* CHOICE: NULL-ended */
    double min, max; /* INT, REAL; both 0: no bounds. TIME: min < 0 lets it be negative */
    const char *help;
};

struct orr_setting {
    const char *name, *value;
    const char *origin; /* where it was given, for errors; may be NULL */
};

/* How long the path of the file is, in `origin`, whose whole text the value is; 0: it is none. */
size_t orr_setting_file_bytes(const struct orr_setting *setting);

/* Writes every default. */
void orr_params_init(const struct orr_param *rows, void *params);
/* Sets one by name; errors name the nearest known one or what was expected. */
enum orr_status orr_params_set(const struct orr_param *rows, void *params, const char *name,
                               const char *value, struct orr_err *err) ORR_MUST_USE;
/* The value as text, as orr_params_set would read it. */
void orr_params_format(const struct orr_param *row, const void *params, char *out, size_t bytes);

ORR_API_END

#endif
