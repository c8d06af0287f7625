/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Native rows that somebody else makes, one at a time. */
#include <orrery/traces/native.h>

#include <stdio.h>
#include <string.h>

#include <orrery/base/mig.h>
#include <orrery/base/text.h>

#include "native_int.h"

__extension__ typedef __int128 wide;

struct orr_native_row {
    struct native_values values;
    uint64_t dates; /* bits of instants that are ms since 1970 */
    char job[ORR_NAME_MAX];
};

uint32_t orr_native_column(const char *name)
{
    for (uint32_t i = 0; i < NATIVE_COLUMN_COUNT; i++) {
        if (strcmp(native_column_names[i], name) == 0) {
            return i;
        }
    }
    return ORR_NONE;
}

bool orr_native_is_instant(uint32_t column)
{
    return native_column_types[column] == NATIVE_INSTANT;
}

bool orr_native_is_text(uint32_t column)
{
    const enum native_type type = native_column_types[column];
    return type == NATIVE_TEXT || type == NATIVE_SWITCH || type == NATIVE_KIND;
}

struct orr_native_row *orr_native_row_new(void)
{
    return orr_zalloc(1, sizeof(struct orr_native_row));
}

void orr_native_row_free(struct orr_native_row *row)
{
    orr_free(row);
}

void orr_native_clear(struct orr_native_row *row)
{
    row->values.given = 0;
    row->dates = 0;
}

static void give(struct orr_native_row *row, uint32_t column, int64_t number)
{
    row->values.given |= (uint64_t)1 << column;
    row->values.number[column] = number;
}

/* A job's name as it will be written, so that names that become one are seen to be one. */
static struct orr_text mended(struct orr_native_row *row, struct orr_text name)
{
    size_t bytes = 0;
    while (name.bytes > 0) {
        const struct orr_name_part part = orr_name_part(name.at, name.bytes);
        memcpy(row->job + bytes, part.text, part.bytes);
        bytes += part.bytes;
        name = (struct orr_text){name.at + part.took, name.bytes - part.took};
    }
    return (struct orr_text){row->job, bytes};
}

bool orr_native_text(struct orr_native_row *row, uint32_t column, struct orr_cell cell,
                     char why[ORR_NATIVE_WHY])
{
    const struct orr_text text = {cell.at, cell.bytes};
    const enum native_type type = native_column_types[column];
    int64_t number;
    if (type != NATIVE_TEXT) {
        if (native_parse_word((enum native_column)column, text, &number)) {
            give(row, column, number);
            return true;
        }
        (void)snprintf(why, ORR_NATIVE_WHY, "\"%s\" is not %s", orr_text_show(text).text,
                       type == NATIVE_SWITCH ? "true or false"
                                             : "training, interactive, inference or unknown");
        return false;
    }
    const char *fault = native_text_fault((enum native_column)column, text);
    if (fault != NULL) {
        (void)snprintf(why, ORR_NATIVE_WHY, "\"%s\" %s", orr_text_show(text).text, fault);
    }
    if (fault != NULL || !orr_text_fits(text, why)) {
        return false;
    }
    if (text.bytes > 0) {
        row->values.given |= (uint64_t)1 << column;
        row->values.text[column] = column == COL_job ? mended(row, text) : text;
    }
    return true;
}

bool orr_native_number(struct orr_native_row *row, uint32_t column, int64_t num, int64_t den,
                       char why[ORR_NATIVE_WHY])
{
    const struct orr_number bounds = native_bounds((enum native_column)column);
    char shown[64];
    if (den == 1) {
        (void)snprintf(shown, sizeof shown, "%lld", (long long)num);
    } else {
        (void)snprintf(shown, sizeof shown, "%lld/%lld", (long long)num, (long long)den);
    }
    if (bounds.scale == 1 && den != 1) {
        (void)snprintf(why, ORR_NATIVE_WHY, "%s is not a whole number", shown);
        return false;
    }
    /* half up, also of negative ones */
    const wide scaled = (wide)num * bounds.scale * 2 + den, twice = (wide)den * 2;
    const wide rounded = scaled / twice - (scaled % twice < 0);
    if (rounded < bounds.min || rounded > bounds.max) {
        (void)snprintf(why, ORR_NATIVE_WHY, "%s %s", shown,
                       num < 0 && bounds.min >= 0 ? "is negative" : "is out of range");
        return false;
    }
    give(row, column, (int64_t)rounded);
    return true;
}

bool orr_native_instant(struct orr_native_row *row, uint32_t column, orr_ms at, bool is_date,
                        char why[ORR_NATIVE_WHY])
{
    const bool fits = is_date ? at >= 0 && at <= ORR_DATE_MAX_MS
                              : at >= -ORR_INSTANT_MAX_MS && at <= ORR_INSTANT_MAX_MS;
    if (!fits) {
        (void)snprintf(why, ORR_NATIVE_WHY,
                       is_date ? "is a date before 1970 or after 2286" : "is out of range");
        return false;
    }
    give(row, column, at);
    row->dates |= is_date ? (uint64_t)1 << column : 0;
    return true;
}

struct orr_cell orr_native_job(const struct orr_native_row *row)
{
    return (struct orr_cell){row->values.text[COL_job].at, row->values.text[COL_job].bytes};
}

bool orr_native_is_dated(const struct orr_native_row *row)
{
    return (row->dates & NATIVE_BIT(submit_s)) != 0;
}

const char *orr_native_fault(const struct orr_native_row *row)
{
    return native_fault(&row->values);
}

static orr_ms number_or_none(const struct native_values *values, enum native_column column)
{
    return (values->given >> column & 1) != 0 ? values->number[column] : ORR_MS_NONE;
}

static struct orr_cell text_or_none(const struct native_values *values, enum native_column column)
{
    return (values->given >> column & 1) != 0
               ? (struct orr_cell){values->text[column].at, values->text[column].bytes}
               : (struct orr_cell){"", 0};
}

/* What MIG instances of a pod count in a run: 1g.5gb*2 two GPUs, the g of each. */
static int64_t instances_mgpu(struct orr_text asked)
{
    char text[ORR_MIG_NAME_MAX + 8], profile[ORR_MIG_NAME_MAX];
    uint32_t instances;
    (void)snprintf(text, sizeof text, "%.*s", (int)asked.bytes, asked.at);
    return orr_mig_parse(text, profile, &instances)
               ? (int64_t)orr_mig_gpus(profile) * instances * ORR_MGPU
               : 0;
}

static void fact_of(const struct native_values *values, struct orr_job_fact *fact)
{
    *fact = (struct orr_job_fact){
        .submit_ms = values->number[COL_submit_s],
        .run_ms = number_or_none(values, COL_run_s),
        .start_ms = number_or_none(values, COL_recorded_start_s),
        .end_ms = number_or_none(values, COL_recorded_end_s),
        .limit_ms = number_or_none(values, COL_time_limit_s),
        .pods = native_has(values, NATIVE_BIT(pods)) ? (uint32_t)values->number[COL_pods] : 1,
        .kind = native_has(values, NATIVE_BIT(kind)) ? (enum orr_kind)values->number[COL_kind]
                                                     : ORR_KIND_UNKNOWN,
        .queue = text_or_none(values, COL_queue),
        .user = text_or_none(values, COL_user),
        .attempts = text_or_none(values, COL_recorded_attempts),
        .by_memory = native_has(values, NATIVE_BIT(gpu_memory_mib)),
    };
    if (native_has(values, NATIVE_BIT(gpus))) {
        fact->mgpu = values->number[COL_gpus] * ORR_MGPU;
    } else if (native_has(values, NATIVE_BIT(gpus_per_pod))) {
        fact->mgpu = values->number[COL_gpus_per_pod] * ORR_MGPU * fact->pods;
    } else if (native_has(values, NATIVE_BIT(gpu_fraction))) {
        const int64_t devices =
            native_has(values, NATIVE_BIT(gpu_devices)) ? values->number[COL_gpu_devices] : 1;
        fact->mgpu = values->number[COL_gpu_fraction] * devices * fact->pods;
    } else if (native_has(values, NATIVE_BIT(mig_profile))) {
        fact->mgpu = instances_mgpu(values->text[COL_mig_profile]) * fact->pods;
        fact->of_instances = true;
    }
}

void orr_native_fact(const struct orr_native_row *row, struct orr_job_fact *fact)
{
    fact_of(&row->values, fact);
}

void orr_workload_fact(const struct orr_workload *workload, const struct orr_row *row,
                       struct orr_job_fact *fact)
{
    struct native_values values;
    native_give(workload, row, &values);
    fact_of(&values, fact);
}

void orr_native_write_header(FILE *out, uint64_t columns, const char *x_name)
{
    native_write_header(out, columns, x_name);
}

void orr_native_write_row(FILE *out, uint64_t columns, const struct orr_native_row *row,
                          const char *x_text)
{
    native_write_row(out, &row->values, columns, row->dates, x_text);
}
