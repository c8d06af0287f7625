/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_text.c - times and resources as Slurm's files write them. */
#include <string.h>

#include <orrery/base/minutes.h>
#include <orrery/base/text.h>

#include "slurm_conf_int.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool orr_slurm__same(const char *text, size_t bytes, const char *word)
{
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] == '\0' || lower(text[i]) != lower(word[i])) {
            return false;
        }
    }
    return word[bytes] == '\0';
}

bool orr_slurm__time(const char *text, size_t bytes, orr_ms *out)
{
    if (orr_slurm__same(text, bytes, "INFINITE") || orr_slurm__same(text, bytes, "UNLIMITED")) {
        *out = ORR_MS_NEVER;
        return true;
    }
    int64_t part[4] = {0};
    size_t count = 0;
    bool days = false;
    while (true) {
        size_t digits = 0;
        while (digits < bytes && text[digits] >= '0' && text[digits] <= '9') {
            digits++;
        }
        if (digits == 0 || digits > 9 || count == 4 ||
            !orr_parse_i64(text, digits, &part[count++])) {
            return false;
        }
        text += digits;
        bytes -= digits;
        if (bytes == 0) {
            break;
        }
        if (*text == '-' && count == 1) {
            days = true;
        } else if (*text != ':') {
            return false;
        }
        text++;
        bytes--;
    }
    int64_t seconds;
    if (days) {
        seconds = ((part[0] * 24 + part[1]) * 60 + part[2]) * 60 + part[3];
    } else if (count == 3) {
        seconds = (part[0] * 60 + part[1]) * 60 + part[2];
    } else if (count < 3) {
        seconds = part[0] * 60 + part[1];
    } else {
        return false;
    }
    *out = seconds * 1000;
    return true;
}

bool orr_slurm__minutes(const char *text, size_t bytes, orr_ms *out)
{
    const bool read = orr_slurm__time(text, bytes, out);
    *out = read ? orr_ms_whole_minutes(*out) : *out;
    return read;
}

/* --- resources --- */

struct tres {
    const struct slurm_reader *reader;
    bool weights;
    bool of_all;  /* gres/gpu is stated */
    double typed; /* of gres/gpu:TYPE: limits together, or the largest weight; below 0: none */
    double *out;
};

/* "0.25G": of memory a number of MiB, or a weight of one. */
static bool read_amount(struct slurm_span text, bool weight, bool memory, double *out)
{
    static const char units[] = "KMGT";
    static const double per_mib[] = {1024, 1, 1.0 / 1024, 1.0 / 1024 / 1024};
    const char last = text.bytes > 0 ? text.at[text.bytes - 1] : '\0';
    const char *unit = last == '\0' ? NULL : strchr(units, last & ~0x20);
    const double scale = unit == NULL || !memory ? 1 : per_mib[unit - units];
    if (!orr_parse_double(text.at, text.bytes - (unit != NULL), out)) {
        return false;
    }
    *out = weight ? *out * scale : *out / scale;
    return true;
}

/* Of GPUs of one type. Those of all types are one resource here. */
static void take_typed(struct tres *tres, struct slurm_span item, double value)
{
    const double most = value > tres->typed ? value : tres->typed;
    const double sum = tres->typed < 0 ? value : tres->typed + value;
    tres->typed = tres->weights ? most : sum;
    orr_slurm__remark(tres->reader, item,
                      tres->weights
                          ? "is not heeded: types of GPUs are not kept apart, all weigh what "
                            "gres/gpu does, or without it the heaviest type"
                          : "is not heeded: types of GPUs are not kept apart, gres/gpu limits all, "
                            "or without it the sum of what is stated of types");
}

static enum orr_status take_tres(struct tres *tres, struct slurm_span item)
{
    static const struct {
        const char *name;
        enum slurm_tres tres;
    } known[] = {
        {"cpu", SLURM_CPU}, {"mem", SLURM_MEM}, {"node", SLURM_NODE}, {"gres/gpu", SLURM_GPU}};
    static const char *const others = "billing|energy|vmem|pages|gres/*|license/*|bb/*|fs/*|ic/*";
    const struct slurm_span value = orr_slurm__value_in(item);
    const struct slurm_span name = {item.at, (size_t)(value.at - item.at) - (value.bytes > 0)};
    const bool typed = name.bytes > 9 && orr_slurm__same(name.at, 9, "gres/gpu:");
    double amount;
    if (!read_amount(value, tres->weights, orr_slurm__is(name, "mem"), &amount)) {
        return orr_slurm__complain(tres->reader, item,
                                   "is no amount of a resource, as CPU=1 and GRES/gpu=2 are");
    }
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (orr_slurm__is(name, known[k].name)) {
            tres->out[known[k].tres] = amount;
            tres->of_all = tres->of_all || known[k].tres == SLURM_GPU;
            return ORR_OK;
        }
    }
    if (typed) {
        take_typed(tres, item, amount);
    } else if (orr_text_like(name.at, name.bytes, others, true)) {
        orr_slurm__remark(tres->reader, item,
                          "is not heeded: resources are cpu, mem, node and gres/gpu");
    } else {
        return orr_slurm__complain(tres->reader, item,
                                   "is of no resource: cpu, mem, node, gres/gpu");
    }
    return ORR_OK;
}

enum orr_status orr_slurm__tres(const struct slurm_reader *reader, struct slurm_span list,
                                bool weights, double *out)
{
    struct tres tres = {reader, weights, false, -1, out};
    struct slurm_span item;
    enum orr_status status = ORR_OK;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        out[t] = weights ? 0 : -1;
    }
    while (status == ORR_OK && orr_slurm__next_item(&list, &item)) {
        status = take_tres(&tres, item);
    }
    if (!tres.of_all && tres.typed >= 0) {
        out[SLURM_GPU] = tres.typed;
    }
    return status;
}
