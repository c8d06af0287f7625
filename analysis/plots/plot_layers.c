/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_layers.c - amounts by cause or reason over time, stacked. */
#include "plot_int.h"

#include <string.h>

/* Tol's light set: told apart by the colour-blind, and from the colours of queues. */
static const char *const colours[ORR_PLOT_LAYERS] = {
    "#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#bbcc33",
    "#99ddff", "#aaaa00", "#b58ecc", "#c9a27e", "#8899aa", "#dddddd",
};

bool orr_plot__layers_have(const char *colour)
{
    for (size_t i = 0; i < ORR_PLOT_LAYERS; i++) {
        if (strcmp(colours[i], colour) == 0) {
            return true;
        }
    }
    return false;
}

/* What is met most has a colour of its own wherever it is met, so that figures of several runs read
 * alike; the others one by their name, unless that is taken. */
static uint32_t colour_of(const struct orr_plot_layers *layers, const char *name)
{
    static const char *const usual[][ORR_PLOT_LAYERS - 1] = {
        {"no capacity", "head of line", "fragmented", "over limit", "reserved", "gang partial",
         "non preemptible over quota", "topology", "pipelined", "constrained", "dependency"},
        {"reclaim", "preempt", "consolidate", "node failure", "maintenance", "max runtime",
         "stale gang"}};
    const uint32_t others = ORR_PLOT_LAYERS - 1;
    uint32_t colour = 0;
    for (const char *c = name; *c != '\0'; c++) {
        colour = (colour * 31 + (unsigned char)*c) % others;
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        for (uint32_t k = 0; k < others && usual[i][k] != NULL; k++) {
            colour = strcmp(usual[i][k], name) == 0 ? k : colour;
        }
    }
    for (uint32_t tried = 0; tried < others; tried++, colour = (colour + 1) % others) {
        bool taken = false;
        for (uint32_t i = 0; i < layers->count; i++) {
            taken = taken || layers->colours[i] == colour;
        }
        if (!taken) {
            return colour;
        }
    }
    return others;
}

void orr_plot__layers_open(struct orr_plot_layers *layers, orr_ms from, orr_ms to, uint32_t most)
{
    static const orr_ms lengths[] = {1,       1000,     10000,    60000,    300000,   900000,
                                     3600000, 10800000, 21600000, 43200000, 86400000, 604800000};
    const uint32_t last = sizeof lengths / sizeof lengths[0] - 1;
    uint32_t at = 0;
    while (at < last && (to - from) / lengths[at] >= (orr_ms)most) {
        at++;
    }
    *layers = (struct orr_plot_layers){.from = from, .to = to, .bucket_ms = lengths[at]};
    while ((to - from) / layers->bucket_ms >= (orr_ms)most) {
        layers->bucket_ms *= 2;
    }
    layers->buckets = (uint32_t)((to - from + layers->bucket_ms - 1) / layers->bucket_ms);
    layers->cells = orr_zalloc((size_t)ORR_PLOT_LAYERS * layers->buckets, sizeof *layers->cells);
}

void orr_plot__layers_close(struct orr_plot_layers *layers)
{
    orr_free(layers->cells);
}

uint32_t orr_plot__layer(struct orr_plot_layers *layers, const char *name)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        if (strcmp(layers->names[i], name) == 0) {
            return i;
        }
    }
    if (layers->count == ORR_PLOT_LAYERS) {
        layers->names[ORR_PLOT_LAYERS - 1] = "others";
        return ORR_PLOT_LAYERS - 1;
    }
    layers->colours[layers->count] = colour_of(layers, name);
    layers->names[layers->count] = name;
    return layers->count++;
}

void orr_plot__layers_spread(struct orr_plot_layers *layers, uint32_t layer, orr_ms from, orr_ms to,
                             double amount)
{
    from = from > layers->from ? from : layers->from;
    to = to < layers->to ? to : layers->to;
    double *row = layers->cells + (size_t)layer * layers->buckets;
    while (from < to) {
        orr_ms bucket = (from - layers->from) / layers->bucket_ms;
        orr_ms end = layers->from + (bucket + 1) * layers->bucket_ms;
        end = end < to ? end : to;
        row[bucket] += amount * (double)(end - from);
        layers->totals[layer] += amount * (double)(end - from);
        from = end;
    }
}

void orr_plot__layers_count(struct orr_plot_layers *layers, uint32_t layer, orr_ms at,
                            double amount)
{
    at = at == layers->to ? at - 1 : at; /* what happened at the very end is drawn too */
    if (at >= layers->from && at < layers->to) {
        orr_ms bucket = (at - layers->from) / layers->bucket_ms;
        layers->cells[(size_t)layer * layers->buckets + (size_t)bucket] += amount;
        layers->totals[layer] += amount;
    }
}

void orr_plot__layers_means(struct orr_plot_layers *layers, double factor)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        for (uint32_t b = 0; b < layers->buckets; b++) {
            orr_ms left = layers->to - layers->from - (orr_ms)b * layers->bucket_ms;
            orr_ms length = left < layers->bucket_ms ? left : layers->bucket_ms;
            layers->cells[(size_t)i * layers->buckets + b] *= factor / (double)length;
        }
    }
}

void orr_plot__layers_sum(struct orr_plot_layers *layers)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        double *row = layers->cells + (size_t)i * layers->buckets;
        for (uint32_t b = 1; b < layers->buckets; b++) {
            row[b] += row[b - 1];
        }
    }
}

double orr_plot__layers_top(const struct orr_plot_layers *layers)
{
    double top = 0;
    for (uint32_t b = 0; b < layers->buckets; b++) {
        double sum = 0;
        for (uint32_t i = 0; i < layers->count; i++) {
            sum += layers->cells[(size_t)i * layers->buckets + b];
        }
        top = sum > top ? sum : top;
    }
    return top;
}

uint32_t orr_plot__layers_rows(struct orr_plot *plot, const struct orr_plot_layers *layers)
{
    bool steps = plot->term != ORR_PLOT_DUMB;
    uint32_t block = orr_plot__block(plot, "seconds, 0, then summed over layers one by one");
    for (uint32_t b = 0; b < layers->buckets; b++) {
        for (int side = 0; side < (steps ? 2 : 1); side++) {
            orr_ms at = layers->from + ((orr_ms)b + side) * layers->bucket_ms;
            double sum = 0;
            orr_plot__row(plot, "%.3f 0", orr_plot__x(plot, at < layers->to ? at : layers->to));
            for (uint32_t i = 0; i < layers->count; i++) {
                double value = layers->cells[(size_t)i * layers->buckets + b];
                sum = steps ? sum + value : value;
                orr_plot__row(plot, " %.6g", sum);
            }
            orr_plot__row(plot, "\n");
        }
    }
    return block;
}

void orr_plot__layers_plot(struct orr_plot *plot, const struct orr_plot_layers *layers, bool names)
{
    uint32_t block = orr_plot__layers_rows(plot, layers);
    for (uint32_t i = 0; i < layers->count; i++) {
        orr_plot__gp(plot, i == 0 ? "plot " : ", \\\n  ");
        orr_plot__data(plot, block);
        if (plot->term == ORR_PLOT_DUMB) {
            orr_plot__gp(plot, "using 1:%u with lines ", i + 3);
        } else {
            orr_plot__between(plot, layers->bucket_ms, i + 2);
            orr_plot__gp(plot, "fc rgb '%s' ", colours[layers->colours[i]]);
        }
        if (names) {
            orr_plot__gp(plot, "title ");
            orr_plot__quote(plot, layers->names[i], 28, false);
        } else {
            orr_plot__gp(plot, "notitle");
        }
    }
}

void orr_plot__layers_keys(struct orr_plot *plot, const struct orr_plot_layers *layers)
{
    for (uint32_t i = layers->count; i-- > 0;) {
        orr_plot__gp(plot, ", \\\n  keyentry with boxes fc rgb '%s' title ",
                     colours[layers->colours[i]]);
        orr_plot__quote(plot, layers->names[i], 28, false);
    }
}
