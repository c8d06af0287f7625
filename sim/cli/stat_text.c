/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stat_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>

enum { NAMES_SHOWN = 6, PICTURE_ROWS = 6 };

static const char *when(char *out, const struct stat_view *view, orr_ms at)
{
    return orr_format_clock(out, at, view->origin_ms);
}

static double span_h(const struct orr_trace_stat *stat)
{
    return (double)(stat->last_ms - stat->first_ms) / 3.6e6;
}

/* The busiest hour of a load curve, and its mean over the span of submits. */
static double busiest(const struct orr_load *load)
{
    double most = 0.0;
    double *curve = orr_load_curve(load);
    for (uint32_t h = 0; h < load->hours; h++) {
        most = curve[h] > most ? curve[h] : most;
    }
    orr_free(curve);
    return most;
}

static double hours_above(const struct orr_load *load, double gpus)
{
    double hours = 0.0;
    double *curve = orr_load_curve(load);
    for (uint32_t h = 0; h < load->hours; h++) {
        hours += curve[h] > gpus;
    }
    orr_free(curve);
    return hours;
}

static const char *quantiles(char *out, size_t bytes, const struct orr_histogram *histogram)
{
    char text[4][24];
    static const double ps[] = {0.5, 0.9, 0.99};
    for (int i = 0; i < 3; i++) {
        (void)orr_format_rough(text[i], (double)orr_histogram_quantile(histogram, ps[i]) / 1000.0);
    }
    (void)orr_format_rough(text[3],
                           histogram->count == 0 ? (double)NAN : (double)histogram->most / 1000.0);
    (void)snprintf(out, bytes, "median %s, 90 %% %s, 99 %% %s, longest %s", text[0], text[1],
                   text[2], text[3]);
    return out;
}

static void put_demand(const struct stat_view *view, FILE *out)
{
    const struct orr_trace_stat *stat = view->stat;
    const double hours = span_h(stat);
    (void)fprintf(out,
                  stat->gpu_h < 10 ? "  demand    %.3g GPU-hours" : "  demand    %.0f GPU-hours",
                  stat->gpu_h);
    if (hours > 0.0) {
        (void)fprintf(out,
                      ", %.1f GPUs on average over the submits; %.1f in the busiest hour if "
                      "every job ran at once",
                      stat->gpu_h / hours, busiest(&stat->wanted));
    }
    (void)putc('\n', out);
    if (stat->recorded > 0) {
        (void)fprintf(out,
                      "  recorded  %llu job%s with start and end: %.1f GPUs held in the busiest "
                      "hour\n",
                      (unsigned long long)stat->recorded, ORR_PLURAL(stat->recorded),
                      busiest(&stat->held));
    }
    if (view->capacity <= 0) {
        return;
    }
    const double capacity = (double)view->capacity;
    (void)fprintf(out, "  capacity  %lld GPU%s", (long long)view->capacity,
                  ORR_PLURAL(view->capacity));
    if (hours > 0.0) {
        (void)fprintf(out,
                      ": the demand is %.0f %% of it; more is wanted than there is in %.0f of "
                      "%u hour%s",
                      100.0 * stat->gpu_h / hours / capacity, hours_above(&stat->wanted, capacity),
                      (unsigned)stat->wanted.hours, ORR_PLURAL(stat->wanted.hours));
    }
    const double over = hours_above(&stat->held, capacity);
    if (over > 0.0) {
        (void)fprintf(out,
                      "; the record holds more than there is in %.0f hours, so it is of "
                      "another cluster, or its times or sizes are wrong",
                      over);
    }
    (void)putc('\n', out);
}

static void put_kinds(const struct stat_view *view, FILE *out)
{
    const struct orr_trace_stat *stat = view->stat;
    const char *separator = "  kinds     ";
    for (int k = 0; k < ORR_KIND_COUNT; k++) {
        if (stat->jobs_of[k] > 0) {
            (void)fprintf(out, "%s%s %llu job%s, %.1f %% of GPU-hours", separator,
                          orr_kind_name((enum orr_kind)k), (unsigned long long)stat->jobs_of[k],
                          ORR_PLURAL(stat->jobs_of[k]),
                          stat->gpu_h > 0.0 ? 100.0 * stat->gpu_h_of[k] / stat->gpu_h : 0.0);
            separator = "; ";
        }
    }
    (void)fputs(stat->jobs > 0 ? "\n" : "", out);
}

struct named {
    const char *name;
    struct orr_stat_name sums;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->sums.gpu_h < y->sums.gpu_h || x->sums.gpu_h > y->sums.gpu_h) {
        return x->sums.gpu_h > y->sums.gpu_h ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static struct named *sort_names(const struct orr_idmap *map, const struct orr_stat_name *sums)
{
    struct named *names = orr_alloc(map->count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < map->count; i++) {
        names[i] = (struct named){orr_idmap_name(map, i), sums[i]};
    }
    qsort(names, map->count, sizeof *names, compare_named);
    return names;
}

static void put_names(const struct stat_view *view, const char *title, const struct orr_idmap *map,
                      const struct orr_stat_name *sums, FILE *out)
{
    if (map->count == 0) {
        return;
    }
    struct named *names = sort_names(map, sums);
    (void)fprintf(out, "  %-8s  %u: ", title, (unsigned)map->count);
    for (uint32_t i = 0; i < map->count && i < NAMES_SHOWN; i++) {
        (void)fprintf(out, "%s%.40s %.1f %%", i == 0 ? "" : ", ", names[i].name,
                      view->stat->gpu_h > 0.0 ? 100.0 * names[i].sums.gpu_h / view->stat->gpu_h
                                              : 0.0);
    }
    (void)fprintf(out, "%s of GPU-hours\n", map->count > NAMES_SHOWN ? ", ..." : "");
    orr_free(names);
}

static void put_odd(const struct stat_view *view, FILE *out)
{
    const struct orr_trace_stat *stat = view->stat;
    const char *title = "odd";
    for (int o = 0; o < ORR_ODD_COUNT; o++) {
        if (stat->odd[o] == 0 || (o == ORR_ODD_NO_QUEUE && stat->queues.count == 0)) {
            continue;
        }
        (void)fprintf(out, "  %-8s  %s: %llu (first in line %llu)\n", title,
                      orr_odd_text((enum orr_odd)o), (unsigned long long)stat->odd[o],
                      (unsigned long long)stat->odd_line[o]);
        title = "";
    }
}

/* Means of so many equal parts of the curve. */
static double *in_parts(const struct orr_load *load, unsigned parts, double *most)
{
    double *curve = orr_load_curve(load);
    double *means = orr_zalloc(parts, sizeof *means);
    *most = 0.0;
    for (unsigned p = 0; p < parts; p++) {
        const uint64_t from = (uint64_t)load->hours * p / parts;
        uint64_t until = (uint64_t)load->hours * (p + 1) / parts;
        until = until > from ? until : from + 1;
        for (uint64_t h = from; h < until && h < load->hours; h++) {
            means[p] += curve[h] / (double)(until - from);
        }
        *most = means[p] > *most ? means[p] : *most;
    }
    orr_free(curve);
    return means;
}

static void put_picture(const struct stat_view *view, FILE *out)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    const bool held = view->stat->recorded > 0;
    const struct orr_load *load = held ? &view->stat->held : &view->stat->wanted;
    if (load->hours < 2) {
        return;
    }
    const unsigned parts = view->columns > 30 ? view->columns - 12 : 60;
    double most;
    double *means = in_parts(load, parts, &most);
    const double top =
        view->capacity > 0 && (double)view->capacity > most ? (double)view->capacity : most;
    char column[24];
    (void)fprintf(out, "  GPUs %s, %s a column\n",
                  held ? "held as recorded" : "wanted if every job ran at once",
                  orr_format_rough(column, 3600.0 * load->hours / parts));
    for (int row = PICTURE_ROWS - 1; row >= 0; row--) {
        (void)fprintf(out, "  %8.0f |", top * (row + 1) / PICTURE_ROWS);
        for (unsigned p = 0; p < parts; p++) {
            const double level = top > 0.0 ? means[p] / top * PICTURE_ROWS - row : 0.0;
            const int eighths = level >= 1.0 ? 8 : level <= 0.0 ? 0 : (int)(level * 8.0);
            (void)fputs(blocks[eighths], out);
        }
        (void)putc('\n', out);
    }
    orr_free(means);
}

static void put_pattern(const struct orr_trace_stat *stat, FILE *out)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    int busy = 0, calm = 0, day = 0;
    for (int h = 1; h < 24; h++) {
        busy = stat->by_hour[h] > stat->by_hour[busy] ? h : busy;
        calm = stat->by_hour[h] < stat->by_hour[calm] ? h : calm;
    }
    for (int d = 1; d < 7; d++) {
        day = stat->by_day[d] > stat->by_day[day] ? d : day;
    }
    (void)fprintf(out,
                  "  arrivals  busiest hour of the day %02d:00 UTC (%.1f %%), calmest %02d:00 "
                  "(%.1f %%), busiest day %s (%.0f %%)\n",
                  busy, 100.0 * (double)stat->by_hour[busy] / (double)stat->jobs, calm,
                  100.0 * (double)stat->by_hour[calm] / (double)stat->jobs, days[day],
                  100.0 * (double)stat->by_day[day] / (double)stat->jobs);
}

void stat_text(const struct stat_view *view, FILE *out)
{
    const struct orr_trace_stat *stat = view->stat;
    char from[32], until[32], text[200], size[3][32], span[24];
    if (stat->jobs == 0) {
        return;
    }
    (void)fprintf(out, "  jobs      %llu, %llu with GPUs, submitted %s to %s (%s)\n",
                  (unsigned long long)stat->jobs, (unsigned long long)stat->gpu_jobs,
                  when(from, view, stat->first_ms), when(until, view, stat->last_ms),
                  orr_format_rough(span, span_h(stat) * 3600));
    put_demand(view, out);
    put_kinds(view, out);
    put_names(view, "queues", &stat->queues, stat->queue, out);
    put_names(view, "users", &stat->users, stat->user, out);
    if (stat->sizes.count > 0) {
        (void)fprintf(out, "  sizes     median %s GPU%s, 90 %% %s, largest %s; mean %.2f\n",
                      orr_format_gpus(size[0], orr_histogram_quantile(&stat->sizes, 0.5)),
                      ORR_PLURAL((double)orr_histogram_quantile(&stat->sizes, 0.5) / ORR_MGPU),
                      orr_format_gpus(size[1], orr_histogram_quantile(&stat->sizes, 0.9)),
                      orr_format_gpus(size[2], stat->sizes.most),
                      stat->sizes.sum / (double)stat->sizes.count / ORR_MGPU);
    }
    if (stat->runs.count > 0) {
        (void)fprintf(out, "  run times %s\n", quantiles(text, sizeof text, &stat->runs));
    }
    if (stat->waits.count > 0) {
        (void)fprintf(out, "  waits     %s (recorded)\n",
                      quantiles(text, sizeof text, &stat->waits));
    }
    if (view->picture) {
        if (view->origin_ms != ORR_MS_NONE) {
            put_pattern(stat, out);
        }
        put_picture(view, out);
    }
    put_odd(view, out);
}

static void json_quantiles(struct orr_json *json, const char *name, double scale,
                           const struct orr_histogram *histogram)
{
    if (histogram->count == 0) {
        orr_json_text(json, name, NULL);
        return;
    }
    orr_json_open(json, name, '{');
    orr_json_real(json, "mean", histogram->sum / (double)histogram->count / scale);
    orr_json_real(json, "p50", (double)orr_histogram_quantile(histogram, 0.5) / scale);
    orr_json_real(json, "p90", (double)orr_histogram_quantile(histogram, 0.9) / scale);
    orr_json_real(json, "p99", (double)orr_histogram_quantile(histogram, 0.99) / scale);
    orr_json_real(json, "max", (double)histogram->most / scale);
    orr_json_close(json, '}');
}

static void json_names(struct orr_json *json, const char *title, const struct orr_idmap *map,
                       const struct orr_stat_name *sums)
{
    struct named *names = sort_names(map, sums);
    orr_json_open(json, title, '[');
    for (uint32_t i = 0; i < map->count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", names[i].name);
        orr_json_int(json, "jobs", (int64_t)names[i].sums.jobs);
        orr_json_real(json, "gpu_h", names[i].sums.gpu_h);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_free(names);
}

static void json_odd(struct orr_json *json, const struct orr_trace_stat *stat)
{
    orr_json_open(json, "odd", '[');
    for (int o = 0; o < ORR_ODD_COUNT; o++) {
        if (stat->odd[o] > 0 && (o != ORR_ODD_NO_QUEUE || stat->queues.count > 0)) {
            orr_json_open(json, NULL, '{');
            orr_json_text(json, "what", orr_odd_text((enum orr_odd)o));
            orr_json_int(json, "jobs", (int64_t)stat->odd[o]);
            orr_json_int(json, "line", (int64_t)stat->odd_line[o]);
            orr_json_close(json, '}');
        }
    }
    orr_json_close(json, ']');
}

void stat_json(const struct stat_view *view, struct orr_json *json)
{
    const struct orr_trace_stat *stat = view->stat;
    const double hours = stat->jobs > 0 ? span_h(stat) : 0.0;
    orr_json_int(json, "jobs", (int64_t)stat->jobs);
    orr_json_int(json, "gpu_jobs", (int64_t)stat->gpu_jobs);
    orr_json_seconds(json, "clock_origin_s", view->origin_ms);
    orr_json_seconds(json, "first_submit_s", stat->first_ms);
    orr_json_seconds(json, "last_submit_s", stat->last_ms);
    orr_json_seconds(json, "last_end_s", stat->end_ms);
    orr_json_real(json, "gpu_h", stat->gpu_h);
    orr_json_real(json, "demand_mean_gpus", hours > 0.0 ? stat->gpu_h / hours : (double)NAN);
    orr_json_real(json, "demand_busiest_hour_gpus", busiest(&stat->wanted));
    orr_json_int(json, "recorded_jobs", (int64_t)stat->recorded);
    orr_json_real(json, "recorded_busiest_hour_gpus",
                  stat->recorded > 0 ? busiest(&stat->held) : (double)NAN);
    if (view->capacity > 0) {
        orr_json_int(json, "capacity_gpus", view->capacity);
        orr_json_real(json, "demand_share",
                      hours > 0.0 ? stat->gpu_h / hours / (double)view->capacity : (double)NAN);
        orr_json_real(json, "recorded_hours_above_capacity",
                      hours_above(&stat->held, (double)view->capacity));
    }
    orr_json_open(json, "kinds", '[');
    for (int k = 0; k < ORR_KIND_COUNT; k++) {
        if (stat->jobs_of[k] > 0) {
            orr_json_open(json, NULL, '{');
            orr_json_text(json, "name", orr_kind_name((enum orr_kind)k));
            orr_json_int(json, "jobs", (int64_t)stat->jobs_of[k]);
            orr_json_real(json, "gpu_h", stat->gpu_h_of[k]);
            orr_json_close(json, '}');
        }
    }
    orr_json_close(json, ']');
    json_names(json, "queues", &stat->queues, stat->queue);
    json_names(json, "users", &stat->users, stat->user);
    json_quantiles(json, "gpus", ORR_MGPU, &stat->sizes);
    json_quantiles(json, "run_s", 1000.0, &stat->runs);
    json_quantiles(json, "recorded_wait_s", 1000.0, &stat->waits);
    json_odd(json, stat);
}
