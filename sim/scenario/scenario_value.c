/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_value.c - scalars by type: read, checked, changed, written in canonical form, stored.
 */
#include "scenario_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

struct type_traits {
    const char *wanted; /* "is not ..." */
    bool number, real, may_be_unlimited;
};

static const struct type_traits traits_of[] = {
    [ORR_TYPE_TEXT] = {"text", false, false, false},
    [ORR_TYPE_CHOICE] = {"text", false, false, false},
    [ORR_TYPE_COUNT] = {"a whole number", true, false, false},
    [ORR_TYPE_INTEGER] = {"a whole number", true, false, false},
    [ORR_TYPE_PODS] = {"a whole number or unlimited", true, false, true},
    [ORR_TYPE_CPU] = {"a number of CPUs such as 64 or 500m", true, false, true},
    [ORR_TYPE_MEMORY] = {"an amount of memory such as 80Gi or 512Mi", false, false, true},
    [ORR_TYPE_DEVICE_MEMORY] = {"an amount of memory such as 80Gi or 512Mi", false, false, false},
    [ORR_TYPE_BANDWIDTH] = {"a bandwidth such as 450GB/s or 400Gb/s", false, false, false},
    [ORR_TYPE_POWER] = {"a power such as 700W or 10.2kW", false, false, false},
    [ORR_TYPE_PRICE] = {"a number of at least 0", true, true, false},
    [ORR_TYPE_DURATION] = {"a time such as 90s, 30m, 2h or 3d", false, false, false},
    [ORR_TYPE_MOMENT] = {"a time such as 12d 10:00, 90s or 3d, or a date", false, false, false},
    [ORR_TYPE_WARMUP] = {"a time such as 12h or 2d, or detect", false, false, false},
    [ORR_TYPE_TIMESTAMP] = {"a date and time such as 2026-06-01T00:00:00Z", false, false, false},
    [ORR_TYPE_FACTOR] = {"a number above 0", true, true, false},
    [ORR_TYPE_WEIGHT] = {"a number of at least 0", true, true, false},
    [ORR_TYPE_SHARE] = {"a share below 1 such as 0.01 or 1%", true, true, false},
    [ORR_TYPE_BOOL] = {"true or false", true, false, false},
    [ORR_TYPE_SEEDS] = {"a seed such as 7 or a range such as 1..10", false, false, false},
    [ORR_TYPE_RANGE] = {"a count such as 8 or a range such as 8..48", false, false, false},
    [ORR_TYPE_SPLIT] = {"node or a number of GPUs", false, false, false},
    [ORR_TYPE_GPU_AMOUNT] = {"a number of GPUs or unlimited", true, true, true},
    [ORR_TYPE_POD_AMOUNT] = {"a number of pods or unlimited", true, false, true},
    [ORR_TYPE_CPU_AMOUNT] = {"a number of CPUs such as 64 or 500m, or unlimited", true, false,
                             true},
    [ORR_TYPE_MEMORY_AMOUNT] = {"an amount of memory such as 80Gi, or unlimited", false, false,
                                true},
    [ORR_TYPE_KAI_AMOUNT] = {"a number", true, true, false},
    [ORR_TYPE_NUMBER] = {"a number", true, true, false},
};

bool orr_scenario__is_scalar(enum orr_scenario__type type)
{
    return type >= ORR_TYPE_TEXT;
}

bool orr_scenario__is_number(enum orr_scenario__type type)
{
    return orr_scenario__is_scalar(type) && traits_of[type].number;
}

static bool no(char *why, const char *text, const char *rest)
{
    (void)snprintf(why, ORR_SCENARIO__WHY, "\"%.80s\" %s", text, rest);
    return false;
}

static bool is_bare_number(const char *text)
{
    double ignored;
    return orr_parse_double(text, strlen(text), &ignored);
}

static bool has_unit(enum orr_scenario__type type)
{
    return type == ORR_TYPE_DURATION || type == ORR_TYPE_MOMENT || type == ORR_TYPE_WARMUP ||
           type == ORR_TYPE_MEMORY || type == ORR_TYPE_DEVICE_MEMORY ||
           type == ORR_TYPE_MEMORY_AMOUNT || type == ORR_TYPE_BANDWIDTH || type == ORR_TYPE_POWER;
}

static bool parse_seeds(const char *text, size_t bytes, struct orr_scenario__value *value)
{
    const char *dots = strstr(text, "..");
    if (dots == NULL) {
        bool good = orr_parse_i64(text, bytes, &value->whole) && value->whole >= 0;
        value->second = value->whole;
        return good;
    }
    size_t first = (size_t)(dots - text);
    return orr_parse_i64(text, first, &value->whole) &&
           orr_parse_i64(dots + 2, bytes - first - 2, &value->second) && value->whole >= 0 &&
           value->second >= value->whole;
}

static bool parse_bool(const char *text, struct orr_scenario__value *value)
{
    value->whole = strcmp(text, "true") == 0;
    return value->whole != 0 || strcmp(text, "false") == 0;
}

static bool parse_moment(const char *text, size_t bytes, struct orr_scenario__value *value)
{
    if (orr_parse_clock(text, bytes, ORR_MS_NONE, &value->whole)) {
        return true;
    }
    value->second = orr_parse_clock(text, bytes, 0, &value->whole);
    return value->second != 0;
}

static bool parse_plain(enum orr_scenario__type type, const char *text, size_t bytes,
                        struct orr_scenario__value *value)
{
    switch (type) {
    case ORR_TYPE_COUNT:
    case ORR_TYPE_INTEGER:
    case ORR_TYPE_POD_AMOUNT:
    case ORR_TYPE_PODS: return orr_parse_i64(text, bytes, &value->whole);
    case ORR_TYPE_CPU:
    case ORR_TYPE_CPU_AMOUNT: return orr_parse_cpu(text, bytes, &value->whole);
    case ORR_TYPE_MEMORY:
    case ORR_TYPE_MEMORY_AMOUNT:
    case ORR_TYPE_DEVICE_MEMORY: return orr_parse_memory(text, bytes, &value->whole);
    case ORR_TYPE_BANDWIDTH: return orr_parse_bandwidth(text, bytes, &value->whole);
    case ORR_TYPE_POWER: return orr_parse_power(text, bytes, &value->whole);
    case ORR_TYPE_DURATION: return orr_parse_duration(text, bytes, &value->whole);
    case ORR_TYPE_MOMENT: return parse_moment(text, bytes, value);
    case ORR_TYPE_WARMUP:
        value->unlimited = strcmp(text, "detect") == 0; /* what the run itself shows */
        value->whole = 0;
        return value->unlimited || orr_parse_duration(text, bytes, &value->whole);
    case ORR_TYPE_TIMESTAMP: return orr_parse_timestamp(text, bytes, &value->whole);
    case ORR_TYPE_FACTOR: return orr_parse_double(text, bytes, &value->real) && value->real > 0.0;
    case ORR_TYPE_SHARE: return orr_parse_share(text, bytes, &value->real);
    case ORR_TYPE_PRICE:
    case ORR_TYPE_WEIGHT:
    case ORR_TYPE_GPU_AMOUNT:
    case ORR_TYPE_KAI_AMOUNT:
    case ORR_TYPE_NUMBER: return orr_parse_double(text, bytes, &value->real);
    case ORR_TYPE_BOOL: return parse_bool(text, value);
    case ORR_TYPE_SEEDS: return parse_seeds(text, bytes, value);
    case ORR_TYPE_RANGE: return parse_seeds(text, bytes, value) && value->second <= 1000000;
    case ORR_TYPE_SPLIT:
        value->unlimited = strcmp(text, "node") == 0; /* as many as a node has */
        return value->unlimited || (orr_parse_i64(text, bytes, &value->whole) &&
                                    value->whole >= 1 && value->whole <= 1000000);
    case ORR_TYPE_TEXT:
    case ORR_TYPE_CHOICE:
    case ORR_TYPE_GROUP:
    case ORR_TYPE_NAMES:
    case ORR_TYPE_OPEN:
    case ORR_TYPE_OPENS:
    case ORR_TYPE_WORDS:
    case ORR_TYPE_ANY:
    case ORR_TYPE_EXTENDS:
    case ORR_TYPE_REFUSED: break;
    }
    return true;
}

static bool check_choice(const struct orr_scenario__row *row, const char *text, char *why)
{
    size_t count = 0;
    for (; row->choices[count] != NULL; count++) {
        if (strcmp(row->choices[count], text) == 0) {
            return true;
        }
    }
    const char *near = orr_nearest(text, row->choices, count);
    if (near != NULL) {
        (void)snprintf(why, ORR_SCENARIO__WHY, "\"%.80s\" is not known (did you mean \"%s\"?)",
                       text, near);
        return false;
    }
    int used = snprintf(why, ORR_SCENARIO__WHY, "\"%.80s\" is not ", text);
    for (size_t i = 0; i < count && used > 0 && used < ORR_SCENARIO__WHY; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used += snprintf(why + used, (size_t)(ORR_SCENARIO__WHY - used), "%s%s", between,
                         row->choices[i]);
    }
    return false;
}

static bool check_range(const struct orr_scenario__row *row, const char *text,
                        const struct orr_scenario__value *value, char *why)
{
    bool limited = row->type == ORR_TYPE_COUNT || row->type == ORR_TYPE_INTEGER;
    if (limited && (value->whole < row->min || value->whole > row->max)) {
        (void)snprintf(why, ORR_SCENARIO__WHY, "%.80s is not within %lld to %lld", text,
                       (long long)row->min, (long long)row->max);
        return false;
    }
    if (row->type == ORR_TYPE_KAI_AMOUNT) {
        bool good = value->real >= 0.0 || value->real == ORR_UNLIMITED;
        return good || no(why, text, "is negative but not -1");
    }
    if (row->type == ORR_TYPE_MOMENT && value->second != 0) {
        return true; /* the scenario's start bounds it */
    }
    if ((row->type == ORR_TYPE_DURATION || row->type == ORR_TYPE_MOMENT ||
         row->type == ORR_TYPE_WARMUP) &&
        value->whole > ORR_SCENARIO__LONGEST_MS) {
        (void)snprintf(why, ORR_SCENARIO__WHY, "more than 36500d");
        return false;
    }
    bool anything = limited || row->type == ORR_TYPE_TIMESTAMP || row->type == ORR_TYPE_NUMBER;
    if (!anything && (value->whole < 0 || value->real < 0.0)) {
        return no(why, text,
                  traits_of[row->type].may_be_unlimited
                      ? "is negative (write unlimited for no bound)"
                      : "is negative");
    }
    return true;
}

bool orr_scenario__value_parse(const struct orr_scenario__row *row, const char *text,
                               struct orr_scenario__value *value, char *why)
{
    *value = (struct orr_scenario__value){0};
    size_t bytes = strlen(text);
    if (row->type == ORR_TYPE_CHOICE) {
        return check_choice(row, text, why);
    }
    if (row->type == ORR_TYPE_TEXT) {
        return bytes > 0 || no(why, text, "is empty");
    }
    if (traits_of[row->type].may_be_unlimited && strcmp(text, "unlimited") == 0) {
        value->unlimited = true;
        return true;
    }
    if (has_unit(row->type) && is_bare_number(text)) {
        char wanted[ORR_SCENARIO__WHY / 2];
        (void)snprintf(wanted, sizeof wanted, "has no unit (write %s)",
                       traits_of[row->type].wanted);
        return no(why, text, wanted);
    }
    if (!parse_plain(row->type, text, bytes, value)) {
        char wanted[ORR_SCENARIO__WHY / 2];
        const bool digits = bytes > 0 && strspn(text, "0123456789") == bytes;
        if (digits && (row->type == ORR_TYPE_COUNT || row->type == ORR_TYPE_INTEGER)) {
            return no(why, text, "is far too large");
        }
        (void)snprintf(wanted, sizeof wanted, "is not %s", traits_of[row->type].wanted);
        return no(why, text, wanted);
    }
    return check_range(row, text, value, why);
}

struct unit {
    const char *name;
    int64_t scale;
};

/* A whole number of the largest unit that divides the amount. */
static const char *in_units(struct orr_arena *arena, const struct unit *units, int64_t amount)
{
    while (units->scale > 1 && (amount == 0 || amount % units->scale != 0)) {
        units++;
    }
    return orr_scenario__format(arena, "%lld%s", (long long)(amount / units->scale), units->name);
}

static const char *memory_text(struct orr_arena *arena, int64_t bytes)
{
    static const struct unit units[] = {
        {"Ti", ORR_GIB * 1024}, {"T", 1000000000000}, {"Gi", ORR_GIB},
        {"G", 1000000000},      {"Mi", ORR_MIB},      {"M", 1000000},
        {"Ki", ORR_KIB},        {"k", 1000},          {"B", 1}};
    return bytes == 0 ? "0B" : in_units(arena, units, bytes);
}

static const char *duration_text(struct orr_arena *arena, orr_ms ms)
{
    static const struct unit units[] = {
        {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    return ms == 0 ? "0s" : in_units(arena, units, ms);
}

static const char *bandwidth_text(struct orr_arena *arena, int64_t bytes)
{
    static const struct unit units[] = {{"TB/s", 1000000000000},
                                        {"GB/s", 1000000000},
                                        {"MB/s", 1000000},
                                        {"KB/s", 1000},
                                        {"B/s", 1}};
    return in_units(arena, units, bytes);
}

static const char *power_text(struct orr_arena *arena, int64_t watts)
{
    static const struct unit units[] = {{"MW", 1000000}, {"kW", 1000}, {"W", 1}};
    return in_units(arena, units, watts);
}

static const char *timestamp_text(struct orr_arena *arena, orr_ms ms)
{
    char text[32];
    return orr_arena_strndup(arena, text, (size_t)orr_format_timestamp(text, ms));
}

/* Fewest digits that read back as the same number. */
const char *orr_scenario__real_text(struct orr_arena *arena, double real)
{
    char text[40] = "";
    for (int digits = 15; digits <= 17; digits++) {
        double again;
        (void)snprintf(text, sizeof text, "%.*g", digits, real);
        if (orr_parse_double(text, strlen(text), &again) && again == real) {
            break;
        }
    }
    return orr_arena_strndup(arena, text, strlen(text));
}

const char *orr_scenario__value_text(struct orr_arena *arena, const struct orr_scenario__row *row,
                                     const struct orr_scenario__value *value)
{
    static const struct unit cpus[] = {{"", 1000}, {"m", 1}};
    if (value->unlimited) {
        return row->type == ORR_TYPE_SPLIT    ? "node"
               : row->type == ORR_TYPE_WARMUP ? "detect"
                                              : "unlimited";
    }
    switch (row->type) {
    case ORR_TYPE_BOOL: return value->whole != 0 ? "true" : "false";
    case ORR_TYPE_CPU:
    case ORR_TYPE_CPU_AMOUNT: return value->whole == 0 ? "0" : in_units(arena, cpus, value->whole);
    case ORR_TYPE_MEMORY:
    case ORR_TYPE_MEMORY_AMOUNT:
    case ORR_TYPE_DEVICE_MEMORY: return memory_text(arena, value->whole);
    case ORR_TYPE_BANDWIDTH: return bandwidth_text(arena, value->whole);
    case ORR_TYPE_POWER: return power_text(arena, value->whole);
    case ORR_TYPE_WARMUP:
    case ORR_TYPE_DURATION: return duration_text(arena, value->whole);
    case ORR_TYPE_MOMENT:
        return value->second != 0 ? timestamp_text(arena, value->whole)
                                  : duration_text(arena, value->whole);
    case ORR_TYPE_TIMESTAMP: return timestamp_text(arena, value->whole);
    case ORR_TYPE_SEEDS:
    case ORR_TYPE_RANGE:
        if (value->second != value->whole) {
            return orr_scenario__format(arena, "%lld..%lld", (long long)value->whole,
                                        (long long)value->second);
        }
        break;
    default:
        if (traits_of[row->type].real) {
            return orr_scenario__real_text(arena, value->real);
        }
        break;
    }
    return orr_scenario__format(arena, "%lld", (long long)value->whole);
}

static bool change_whole(int64_t *whole, char op, int64_t operand, double factor)
{
    switch (op) {
    case '+': return !__builtin_add_overflow(*whole, operand, whole);
    case '-': return !__builtin_sub_overflow(*whole, operand, whole);
    default: break;
    }
    double product = (double)*whole * factor;
    if (!(product < 9e18 && product > -9e18)) {
        return false;
    }
    *whole = (int64_t)llround(product);
    return true;
}

/* "20%" more or less of anything is to multiply it. */
static bool is_part(const char *operand, char *op, double *factor)
{
    size_t bytes = strlen(operand);
    double percent;
    if (bytes < 2 || operand[bytes - 1] != '%' || !orr_parse_double(operand, bytes - 1, &percent)) {
        return false;
    }
    *factor = (100.0 + (*op == '+' ? percent : -percent)) / 100.0;
    *op = '*';
    return true;
}

static bool changes_by(const struct orr_scenario__row *row, char *op, const char *operand,
                       struct orr_scenario__value *by, char *why)
{
    *by = (struct orr_scenario__value){0};
    if (*op != '*') {
        return is_part(operand, op, &by->real) || orr_scenario__value_parse(row, operand, by, why);
    }
    return orr_parse_double(operand, strlen(operand), &by->real) ||
           no(why, operand, "is not a number to multiply by");
}

bool orr_scenario__value_change(const struct orr_scenario__row *row,
                                struct orr_scenario__value *value, char op, const char *operand,
                                char *why)
{
    const struct type_traits *traits = &traits_of[row->type];
    bool is_amount = (traits->number || has_unit(row->type)) && row->type != ORR_TYPE_BOOL;
    if (!is_amount) {
        (void)snprintf(why, ORR_SCENARIO__WHY, "only = can be used: this is not an amount");
        return false;
    }
    struct orr_scenario__value by;
    const char given = op;
    if (!changes_by(row, &op, operand, &by, why)) {
        return false;
    }
    if (value->null || value->unlimited || by.unlimited) {
        (void)snprintf(why, ORR_SCENARIO__WHY, "%c= needs a number, and this is %s", given,
                       value->null ? "not set" : "unlimited");
        return false;
    }
    if (row->type == ORR_TYPE_MOMENT && (by.second != 0 || (value->second != 0 && op == '*'))) {
        return no(why, operand, "is no span of time to move it by");
    }
    if (!traits->real) {
        bool exact = row->type == ORR_TYPE_COUNT || row->type == ORR_TYPE_INTEGER ||
                     row->type == ORR_TYPE_POD_AMOUNT;
        double product = (double)value->whole * by.real;
        /* percent of a number of things are rounded, unless nothing would come of them */
        const bool rounds = given != '*' && llround(product) != value->whole;
        if (op == '*' && exact && floor(product) < product && !rounds) {
            (void)snprintf(why, ORR_SCENARIO__WHY, "%lld times %g is not a whole number",
                           (long long)value->whole, by.real);
            return false;
        }
        return change_whole(&value->whole, op, by.whole, by.real) ||
               no(why, operand, "makes the value too large");
    }
    value->real = op == '+'   ? value->real + by.real
                  : op == '-' ? value->real - by.real
                              : value->real * by.real;
    return isfinite(value->real) || no(why, operand, "makes the value too large");
}

static double amount(const struct orr_scenario__row *row, const struct orr_scenario__value *value)
{
    if (value->unlimited || (value->null && row->type == ORR_TYPE_GPU_AMOUNT)) {
        return ORR_UNLIMITED;
    }
    switch (row->type) {
    case ORR_TYPE_POD_AMOUNT:
    case ORR_TYPE_CPU_AMOUNT: return (double)value->whole;
    case ORR_TYPE_MEMORY_AMOUNT: return (double)value->whole / 1e6;
    default: return value->real;
    }
}

void orr_scenario__value_store(const struct orr_scenario__row *row, const char *text,
                               const struct orr_scenario__value *value, void *base)
{
    ORR_ASSERT(orr_scenario__is_scalar(row->type));
    void *field = (char *)base + row->offset;
    void *field2 = (char *)base + row->offset2;
    switch (row->type) {
    case ORR_TYPE_TEXT:
    case ORR_TYPE_CHOICE: *(const char **)field = text; break;
    case ORR_TYPE_COUNT: *(uint32_t *)field = (uint32_t)value->whole; break;
    case ORR_TYPE_INTEGER:
        *(int *)field = value->null ? ORR_SCENARIO_NO_NUMBER : (int)value->whole;
        break;
    case ORR_TYPE_PODS:
    case ORR_TYPE_CPU:
    case ORR_TYPE_MEMORY: *(int64_t *)field = value->unlimited ? -1 : value->whole; break;
    case ORR_TYPE_DEVICE_MEMORY: *(int64_t *)field = value->whole / ORR_MIB; break;
    case ORR_TYPE_BANDWIDTH: *(int64_t *)field = value->whole; break;
    case ORR_TYPE_POWER: *(int64_t *)field = value->null ? -1 : value->whole; break;
    case ORR_TYPE_PRICE: *(double *)field = value->null ? -1.0 : value->real; break;
    case ORR_TYPE_DURATION:
    case ORR_TYPE_MOMENT:
    case ORR_TYPE_WARMUP:
    case ORR_TYPE_TIMESTAMP:
        *(orr_ms *)field = value->null || value->unlimited ? ORR_MS_NONE : value->whole;
        break;
    case ORR_TYPE_FACTOR:
    case ORR_TYPE_WEIGHT:
    case ORR_TYPE_SHARE:
    case ORR_TYPE_GPU_AMOUNT:
    case ORR_TYPE_POD_AMOUNT:
    case ORR_TYPE_CPU_AMOUNT:
    case ORR_TYPE_MEMORY_AMOUNT:
    case ORR_TYPE_KAI_AMOUNT:
    case ORR_TYPE_NUMBER: *(double *)field = amount(row, value); break;
    case ORR_TYPE_BOOL: *(bool *)field = value->whole != 0; break;
    case ORR_TYPE_SEEDS:
        *(uint64_t *)field = (uint64_t)value->whole;
        *(uint64_t *)field2 = (uint64_t)value->second;
        break;
    case ORR_TYPE_RANGE:
        *(uint32_t *)field = (uint32_t)value->whole;
        *(uint32_t *)field2 = (uint32_t)value->second;
        break;
    case ORR_TYPE_SPLIT:
        *(enum orr_split *)field = value->unlimited    ? ORR_SPLIT_NODE
                                   : value->whole == 1 ? ORR_SPLIT_ONE
                                                       : ORR_SPLIT_SIZE;
        *(uint32_t *)field2 = (uint32_t)value->whole;
        break;
    case ORR_TYPE_GROUP:
    case ORR_TYPE_NAMES:
    case ORR_TYPE_OPEN:
    case ORR_TYPE_OPENS:
    case ORR_TYPE_WORDS:
    case ORR_TYPE_ANY:
    case ORR_TYPE_EXTENDS:
    case ORR_TYPE_REFUSED: break;
    }
}
