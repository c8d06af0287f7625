/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run_tables.c - the answer of `orrery run`: a row for each queue and kind, and for each shard. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#include "run_answer.h"

const char *run_number(double value, int digits, char out[24])
{
    (void)(isfinite(value) ? snprintf(out, 24, "%.*f", digits, value) : snprintf(out, 24, "-"));
    return out;
}

const char *run_quantile(const struct orr_waits *waits, double value_s, char out[24])
{
    char least[24];
    if (!isnan(value_s) || waits->jobs == 0 || !(waits->seen_s > 0)) {
        return orr_format_rough(out, value_s);
    }
    (void)snprintf(out, 24, ">%.22s", orr_format_rough(least, waits->seen_s));
    return out;
}

const char *run_ratio(double value, char out[24])
{
    return run_number(value, 3, out);
}

struct queue_order {
    const struct orr_queue_summary *rows;
    double *gpu_h; /* by queue, of all its kinds */
};

/* Queues that held most come first, their kinds together. */
static int by_gpu_hours(const void *a, const void *b, void *context)
{
    const struct queue_order *order = context;
    const struct orr_queue_summary *x = &order->rows[*(const uint32_t *)a];
    const struct orr_queue_summary *y = &order->rows[*(const uint32_t *)b];
    const double of_x = order->gpu_h[x->queue], of_y = order->gpu_h[y->queue];
    if (of_x > of_y || of_x < of_y) {
        return of_x > of_y ? -1 : 1;
    }
    return (x->queue > y->queue) - (x->queue < y->queue);
}

const char *orr_cli_gpu_hours(double value, char out[24])
{
    const double size = fabs(value);
    const int digits = size >= 99.5 || size < 0.005 ? 0 : size >= 9.95 ? 1 : 2;
    return run_number(value, digits, out);
}

void orr_cli_say_turns(double longer_gpu_h, double shorter_gpu_h)
{
    if (shorter_gpu_h > 0.25 * longer_gpu_h) {
        (void)printf("Waits that are spared are many beside those that are longer: this schedule "
                     "turns over for little, and part of both is chance (`orrery explain R.db "
                     "--stability`).\n");
    }
}

#define QUEUE_ROW 86 /* columns of a row beside the name of its queue, or shard */
#define SHARD_ROW 75

static void text_queue_row(const struct orr_queue_summary *q, bool again, FILE *out)
{
    char a[24], b[24], c[24], d[24], hours[24], share[24] = "";
    if (!again) { /* the share is of all the queue, and stands beside the first of its kinds */
        (void)run_number(q->share_mean, 1, share);
    }
    (void)fprintf(
        out, " %-11s %8llu %11s %10s | %9s %9s %9s %9s\n", orr_kind_name((enum orr_kind)q->kind),
        (unsigned long long)(q->waits.jobs + q->waits.never), orr_cli_gpu_hours(q->gpu_h, hours),
        share, run_quantile(&q->waits, q->waits.p50_s, a),
        run_quantile(&q->waits, q->waits.p95_s, b), run_quantile(&q->waits, q->waits.p99_s, c),
        orr_format_rough(d, q->waits.max_s));
}

void run_text_queues(const struct orr_report *r, FILE *out)
{
    const struct orr_queue_summary *queues = r->summary->queues;
    const uint32_t count = r->summary->queue_count;
    struct orr_arena arena;
    orr_arena_init(&arena);
    uint32_t *order = orr_arena_alloc(&arena, count + 1, sizeof *order);
    struct queue_order by = {
        .rows = queues,
        .gpu_h = orr_arena_alloc(&arena, r->world->queues.count + 1, sizeof *by.gpu_h)};
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        by.gpu_h[queues[i].queue] += queues[i].gpu_h;
    }
    orr_sort(order, count, sizeof *order, by_gpu_hours, &by);
    struct orr_name_column shown = {.count = count < 20 ? count : 20};
    shown.names = orr_arena_alloc(&arena, shown.count + 1, sizeof *shown.names);
    for (uint32_t i = 0; i < shown.count; i++) {
        shown.names[i] = orr_idmap_name(&r->world->shown, queues[order[i]].queue);
    }
    orr_name_column(&shown, QUEUE_ROW, &arena);
    (void)fprintf(out, "\n%-*s %-11s %8s %11s %10s | %9s %9s %9s %9s\n", shown.width, "queue",
                  "kind", "jobs", "GPU-hours", "share GPUs", "wait p50", "p95", "p99", "max");
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct orr_queue_summary *q = &queues[order[i]];
        orr_pad(out, shown.shorts[i], shown.width);
        text_queue_row(q, i > 0 && queues[order[i - 1]].queue == q->queue, out);
    }
    if (count > 20) {
        (void)fprintf(out, "... and %u more (--json has all)\n", count - 20);
    }
    orr_short_legend(out, "", shown.names, (const char *const *)shown.shorts, shown.count);
    orr_arena_release(&arena);
}

/* A text of several lines by the name of its file, or by their number. */
static void short_value(const struct orr_engine_shard *shard, const char *name, const char *text,
                        char *value, size_t bytes)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < shard->setting_count; i++) {
        const struct orr_setting *setting = &shard->settings[i];
        const size_t file = orr_setting_file_bytes(setting);
        if (file > 0 && strcmp(setting->name, name) == 0) {
            (void)snprintf(value, bytes, "%.*s", (int)(file < 180 ? file : 180), setting->origin);
            return;
        }
    }
    for (const char *at = text; *at != '\0'; lines++) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    if (lines > 1) {
        (void)snprintf(value, bytes, "(%u lines)", (unsigned)lines);
    }
}

void run_text_params(const struct orr_engine_shard *shard, FILE *out)
{
    size_t bytes = shard->policy->params_bytes;
    void *defaults = orr_zalloc(bytes == 0 ? 1 : bytes, 1);
    orr_params_init(shard->policy->params, defaults);
    for (const struct orr_param *row = shard->policy->params; row->name != NULL; row++) {
        char value[200], fallback[200];
        orr_params_format(row, shard->params, value, sizeof value);
        orr_params_format(row, defaults, fallback, sizeof fallback);
        if (strcmp(value, fallback) == 0) {
            continue;
        }
        if (row->type == ORR_PARAM_TEXT) {
            const char *text;
            memcpy(&text, (const char *)shard->params + row->offset, sizeof text);
            short_value(shard, row->name, text, value, sizeof value);
        }
        (void)fprintf(out, " %s=%s", row->name, value);
    }
    orr_free(defaults);
}

void run_text_shards(const struct orr_report *r, FILE *out)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_name_column shown = {.count = r->summary->shard_count};
    shown.names = orr_arena_alloc(&arena, shown.count + 1, sizeof *shown.names);
    for (uint32_t i = 0; i < shown.count; i++) {
        const char *name = orr_idmap_name(&r->world->cluster.shards, i);
        shown.names[i] = name[0] == '\0' ? "(none)" : name;
    }
    orr_name_column(&shown, SHARD_ROW, &arena);
    (void)fprintf(out, "\n%-*s %8s %8s %10s %10s | %9s %9s | policy\n", shown.width, "shard",
                  "GPUs", "jobs", "occupancy", "Jain", "wait p50", "p95");
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct orr_shard_summary *s = &r->summary->shards[i];
        char a[24], b[24], c[24], d[24];
        orr_pad(out, shown.shorts[i], shown.width);
        (void)fprintf(out, " %8lld %8llu %10s %10s | %9s %9s | %s", (long long)s->gpus,
                      (unsigned long long)s->jobs, run_ratio(s->gpu_occupancy, a),
                      run_ratio(s->fairness_jain, b), run_quantile(&s->waits, s->waits.p50_s, c),
                      run_quantile(&s->waits, s->waits.p95_s, d), r->shards[i].policy->name);
        run_text_params(&r->shards[i], out);
        (void)fputc('\n', out);
    }
    orr_short_legend(out, "", shown.names, (const char *const *)shown.shorts, shown.count);
    orr_arena_release(&arena);
}
