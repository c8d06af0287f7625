/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Amounts, times and durations as Kubernetes writes them. */
#include <string.h>

#include <orrery/base/text.h>

#include "model.h"

/* Sums over nodes and pods stay in 64 bits; what a file states beyond is as good as unlimited. */
#define AMOUNT_MAX ((int64_t)100000000000000)
#define SPAN_MAX   ((orr_ms)1000000000000000) /* 30 thousand years */

static int64_t bounded(int64_t amount)
{
    return amount < AMOUNT_MAX ? amount : AMOUNT_MAX;
}

/* "9223372036854775807", "250m" of a thousandth: written as it is counted. */
static bool read_exactly(const char *text, int64_t scale, int64_t *out)
{
    const size_t bytes = strlen(text);
    return (scale == 1 && orr_parse_i64(text, bytes, out)) ||
           (scale == 1000 && bytes > 1 && text[bytes - 1] == 'm' &&
            orr_parse_i64(text, bytes - 1, out));
}

/* mantissa * 10^exponent * 2^(10 * binary), as digits and suffix say. */
struct quantity {
    int64_t mantissa;
    int exponent, binary;
    bool negative;
};

static size_t read_digits(const char *text, struct quantity *out)
{
    size_t i = 0;
    bool any = false, point = false;
    for (;; i++) {
        const char c = text[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            break;
        }
        any = true;
        if (out->mantissa < INT64_MAX / 100) {
            out->mantissa = out->mantissa * 10 + (c - '0');
            out->exponent -= point;
        } else { /* beyond what counts, but a rest is still rounded up */
            out->mantissa |= c > '0';
            out->exponent += !point;
        }
    }
    return any ? i : 0;
}

static bool read_suffix(const char *suffix, struct quantity *out)
{
    static const struct {
        const char *text;
        int exponent, binary;
    } suffixes[] = {{"", 0, 0},   {"n", -9, 0}, {"u", -6, 0}, {"m", -3, 0},
                    {"k", 3, 0},  {"M", 6, 0},  {"G", 9, 0},  {"T", 12, 0},
                    {"P", 15, 0}, {"E", 18, 0}, {"Ki", 0, 1}, {"Mi", 0, 2},
                    {"Gi", 0, 3}, {"Ti", 0, 4}, {"Pi", 0, 5}, {"Ei", 0, 6}};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(suffix, suffixes[i].text) == 0) {
            out->exponent += suffixes[i].exponent;
            out->binary = suffixes[i].binary;
            return true;
        }
    }
    int64_t power;
    if ((suffix[0] != 'e' && suffix[0] != 'E') ||
        !orr_parse_i64(suffix + 1, strlen(suffix + 1), &power) || power < -400 || power > 400) {
        return false;
    }
    out->exponent += (int)power;
    return true;
}

static bool read_quantity(const char *text, int64_t scale, int64_t max, int64_t *out)
{
    struct quantity q = {.negative = text[0] == '-'};
    text += text[0] == '-' || text[0] == '+';
    const size_t digits = read_digits(text, &q);
    if (digits == 0 || !read_suffix(text + digits, &q)) {
        return false;
    }
    int64_t value = q.mantissa;
    bool rest = false;
    /* Grow and shrink in turns, so that neither overflows nor loses more than a rounding. */
    int64_t factors[32];
    int count = 0;
    factors[count++] = scale;
    for (int i = 0; i < q.binary; i++) {
        factors[count++] = 1024;
    }
    for (; q.exponent > 0 && value > 0 && count < 31; q.exponent--) {
        factors[count++] = 10;
    }
    const bool beyond = q.exponent > 0 && value > 0;
    for (int i = 0; i < count; i++) {
        while (value > INT64_MAX / factors[i]) {
            if (q.exponent >= 0) { /* not a size of this world */
                *out = q.negative ? -max : max;
                return true;
            }
            rest = rest || value % 10 != 0;
            value /= 10;
            q.exponent++;
        }
        value *= factors[i];
    }
    for (; q.exponent < 0 && (value > 0 || rest); q.exponent++) {
        rest = rest || value % 10 != 0;
        value /= 10;
        if (value == 0) {
            break;
        }
    }
    value += rest && !q.negative;
    value = beyond || value > max ? max : value;
    *out = q.negative ? -value : value;
    return true;
}

bool import_quantity(const char *text, int64_t scale, int64_t *out)
{
    return read_quantity(text, scale, AMOUNT_MAX, out);
}

bool import_whole_quantity(const char *text, int64_t scale, int64_t *out)
{
    return read_exactly(text, scale, out) || read_quantity(text, scale, INT64_MAX, out);
}

uint32_t import_resource(struct import_model *model, const char *name)
{
    uint32_t index = orr_idmap_find(&model->resources, name, strlen(name));
    if (index == ORR_NONE && model->resources.count >= IMPORT_RESOURCES_MAX - IMPORT_EXTENDED) {
        import_note(model, "resource %.100s is one too many and not heeded", name);
        return ORR_NONE;
    }
    index = orr_idmap_put(&model->resources, name, strlen(name), NULL);
    return IMPORT_EXTENDED + index;
}

const char *import_instances(struct import_load *load, const char *profile, int64_t count)
{
    return count <= 1 ? import_format(load, "%s", profile)
                      : import_format(load, "%s*%lld", profile, (long long)count);
}

static bool ends_in_gpu(const char *name)
{
    const size_t bytes = strlen(name);
    return bytes >= 3 && strcmp(name + bytes - 3, "gpu") == 0;
}

static bool has_key(const struct import_value *map, const char *key)
{
    IMPORT_EACH(item, map)
    {
        if (item->kind != IMPORT_NULL && strcmp(item->key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds what a map asks for, without the names that `but` has. */
static void add_resources(struct import_model *model, const struct import_value *map,
                          const struct import_value *but, struct import_vec *vec)
{
    IMPORT_EACH(item, map)
    {
        if (item->kind == IMPORT_NULL || has_key(but, item->key)) {
            continue;
        }
        const bool cpu = strcmp(item->key, "cpu") == 0;
        int64_t amount = 0;
        const char *text = import_scalar(model->load, item);
        if (text[0] == '\0') {
            return;
        }
        if (!import_quantity(text, cpu ? 1000 : 1, &amount) || amount < 0) {
            import_fail(model->load, item,
                        "%.100s: \"%.60s\" is not a quantity such as 500m or 64Gi", item->key,
                        text);
            return;
        }
        uint32_t slot = cpu                                ? IMPORT_CPU
                        : strcmp(item->key, "memory") == 0 ? IMPORT_MEMORY
                        : strcmp(item->key, "pods") == 0   ? IMPORT_PODS
                        : ends_in_gpu(item->key)           ? IMPORT_GPU
                                                           : import_resource(model, item->key);
        if (slot != ORR_NONE) {
            vec->v[slot] = bounded(vec->v[slot] + amount);
        }
    }
}

struct import_vec import_resources(struct import_model *model, const struct import_value *map)
{
    struct import_vec vec = {{0}};
    add_resources(model, map, NULL, &vec);
    return vec;
}

struct import_vec import_requests(struct import_model *model, const struct import_value *requests,
                                  const struct import_value *limits)
{
    struct import_vec vec = {{0}};
    add_resources(model, requests, NULL, &vec);
    add_resources(model, limits, requests, &vec);
    return vec;
}

bool import_time(const char *text, orr_ms *out)
{
    return orr_parse_timestamp(text, strlen(text), out);
}

bool import_duration(const char *text, orr_ms *out)
{
    const bool negative = text[0] == '-';
    text += negative;
    if (strcmp(text, "0") == 0) {
        *out = 0;
        return true;
    }
    if (!orr_parse_duration(text, strlen(text), out)) {
        return false;
    }
    *out = *out < SPAN_MAX ? *out : SPAN_MAX;
    *out = negative ? -*out : *out;
    return true;
}
