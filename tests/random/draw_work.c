/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_work.c - profiles, templates and the parts of the workload. */
#include "draw.h"

#include <string.h>

/* ---- profiles ---- */

static void write_tables(struct draw *d)
{
    FILE *rows = open_file(d, "rows.csv");
    (void)fputs("profile,placement,step_s\n", rows);
    for (uint32_t gpus = 1; gpus <= 8; gpus *= 2) {
        (void)fprintf(rows, "small,%u,%.1f\n", gpus, 1.0 + tenths(d, 3));
        (void)fprintf(rows, "large,%u,%.1f\n", gpus, 1.0 + tenths(d, 4));
    }
    close_file(rows);
    FILE *steps = open_file(d, "steps.csv");
    (void)fputs("placement,step_s\n", steps);
    for (uint32_t gpus = 1; gpus <= 8; gpus *= 2) {
        (void)fprintf(steps, "%u,%.1f\n", gpus, 1.0 + tenths(d, 3));
        (void)fprintf(steps, "2x%u,%.1f\n", gpus, 1.0 + tenths(d, 4));
    }
    close_file(steps);
    FILE *epochs = open_file(d, "epochs.csv");
    (void)fputs("end,gain\n", epochs);
    const uint32_t count = between(d, 1, 4);
    for (uint32_t e = 1; e <= count; e++) {
        (void)fprintf(epochs, "%u,%u.5\n", e * (d->span_s / 8 + 1), between(d, 1, 3));
    }
    close_file(epochs);
}

static void put_speedup(struct draw *d)
{
    const double of_two = 1.1 + 0.1 * below(d, 9);
    put(d, "speedup", "{1: 1, 2: %.1f, 4: %.1f}", of_two, 2.0 + tenths(d, 1));
}

static void put_reference(struct draw *d)
{
    const char *model = d->pools[below(d, d->pool_count)].model;
    const uint32_t gpus = between(d, 1, 4);
    if (model != NULL && one_in(d, 2)) {
        put(d, "reference", "{gpu_model: %s, placement: %u}", model, gpus);
    } else {
        put(d, "reference", "{placement: %u}", gpus);
    }
}

static void draw_profile(struct draw *d, uint32_t p)
{
    static const char *const algorithms[] = {"ring", "tree", "hierarchical", NULL};
    open_map(d, "  %s", quoted(d->profiles[p]));
    switch (below(d, d->mig ? 3 : 5)) { /* those of devices are refused for jobs of MIG */
    case 0: put(d, "kind", "fixed"); break;
    case 1:
        put(d, "kind", "speedup");
        put_speedup(d);
        break;
    case 2:
        put(d, "kind", "speedup");
        put(d, "serial", "0.%u", between(d, 1, 9));
        break;
    case 3:
        put(d, "kind", "allreduce");
        put(d, "compute", "{any: %ums}", between(d, 1, 2000));
        put(d, "bytes", "%uMB", between(d, 1, 20000));
        put(d, "reference", "{placement: %u}", between(d, 1, 4));
        put(d, "algorithm", "%s", any(d, algorithms));
        put(d, "overlap", "0.%u", below(d, 10));
        break;
    default:
        put(d, "kind", "table");
        if (one_in(d, 3)) {
            put(d, "table", "rows.csv");
            put(d, "row", "%s", one_in(d, 2) ? "small" : "large");
        } else {
            put(d, "table", "steps.csv");
        }
        put_reference(d);
        if (one_in(d, 2)) {
            put(d, "epochs", "epochs.csv");
        }
        break;
    }
    if (one_in(d, 4)) {
        put(d, "misaligned", "0.%u", between(d, 3, 9));
    }
    end_map(d);
}

void draw_profiles(struct draw *d)
{
    stream(d, "profiles");
    if (!has(d, "profiles", 25)) {
        return;
    }
    write_tables(d);
    d->profile_count = between(d, 1, PROFILES);
    (void)fputs("profiles:\n", d->out);
    for (uint32_t p = 0; p < d->profile_count; p++) {
        (void)make_name(d, d->profiles[p], "f", p);
        draw_profile(d, p);
    }
}

/* ---- templates ---- */

/* Returns whole GPUs of each, 0: they ask another way. */
static uint32_t put_pods(struct draw *d, uint32_t pods_most)
{
    const uint32_t pods = between(d, 1, pods_most);
    uint32_t gpus = 0;
    if (pods > 1 || one_in(d, 2)) {
        put(d, "pods", "%u", pods);
    }
    if (has(d, "elastic", 40) && one_in(d, 2)) {
        put(d, "min", "%u", between(d, 1, pods));
    }
    if (d->mig && one_in(d, 4)) {
        put(d, "mig_profile", "%s", mig_profile(d));
    } else if (has(d, "shares", 35) && one_in(d, 3)) {
        put(d, "gpu_fraction", "0.%u", between(d, 1, 9));
        if (one_in(d, 4)) {
            put(d, "gpu_devices", "2");
        }
    } else if (has(d, "shares", 35) && one_in(d, 4)) {
        put(d, "gpu_memory", "%uGi", between(d, 1, 50));
    } else if (!one_in(d, 8)) {
        gpus = between(d, 1, one_in(d, 3) ? d->gpus_most : 2);
        put(d, "gpus_per_pod", "%u", gpus);
    } else if (has(d, "cpu", 35) && !d->suspends) {
        put(d, "cpu", "%u", between(d, 1, 4));
    }
    if (d->suspends) {
        put(d, "cpu", "%u", between(d, 1, 3));
    }
    if (has(d, "cpu", 35) && one_in(d, 4)) {
        put(d, "memory", "%uGi", between(d, 1, 20));
    }
    return gpus;
}

static const char *level(struct draw *d)
{
    return d->blocks && one_in(d, 3)  ? "block"
           : d->racks && one_in(d, 2) ? "rack"
           : d->zones && one_in(d, 3) ? "zone"
                                      : "node";
}

static void put_constraints(struct draw *d)
{
    if (has(d, "levels", 30) && one_in(d, 3)) {
        open_inner(d, "topology");
        const char *how = one_in(d, 2) ? "required" : "preferred";
        put(d, how, "%s", level(d));
        if (one_in(d, 4)) {
            put(d, "slice", "{level: node, size: %u}", one_in(d, 3) ? 2u : 1u);
        }
        close_map(d);
    }
    if (has(d, "labels", 25) && one_in(d, 4)) {
        put(d, "node_selector", "%s", one_in(d, 2) ? "team=red" : "\"team=red|blue\"");
    }
    if (has(d, "taints", 20) && one_in(d, 3)) {
        put(d, "tolerations", "%s", one_in(d, 2) ? "team=red" : "\"*\"");
    }
    if (has(d, "models", 15) && one_in(d, 4)) {
        put(d, "gpu_model", "%s", one_in(d, 2) ? "H100" : "\"A100|H100\"");
    }
}

static void put_roles(struct draw *d, uint32_t depth)
{
    const uint32_t count = between(d, 1, 3);
    open_inner(d, "roles");
    for (uint32_t r = 0; r < count; r++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "%c%u", (char)('c' - (int)r), depth);
        open_inner(d, name);
        if (depth < 3 && has(d, "nested-roles", 50) && one_in(d, 3)) {
            put_roles(d, depth + 1);
        } else {
            (void)put_pods(d, 3);
        }
        put_constraints(d);
        close_map(d);
    }
    close_map(d);
    if (one_in(d, 3)) {
        put(d, "min_subgroups", "%u", between(d, 1, count));
    }
}

static void put_crew(struct draw *d)
{
    const uint32_t pods = between(d, 1, 4);
    open_inner(d, "roles");
    put(d, "head", "{cpu: 1}");
    const uint32_t least = between(d, 1, pods);
    put(d, "worker", "{pods: %u, min: %u, gpus_per_pod: 1}", pods, least);
    close_map(d);
    open_inner(d, "autoscale");
    put(d, "role", "worker");
    const uint32_t few = between(d, 1, 6);
    const uint32_t long_s = between(d, 1, d->span_s / 8 + 1);
    const uint32_t many = between(d, 1, 20);
    const uint32_t short_s = between(d, 1, d->span_s / 16 + 1);
    put(d, "backlog", "[%ux%us, %ux%us]", few, long_s, many, short_s);
    put(d, "slots", "%u", between(d, 1, 2));
    put(d, "idle", "%s", span(length_s(d, d->span_s / 8.0)));
    close_map(d);
}

static void put_habits(struct draw *d)
{
    static const char *const kinds[] = {"training", "interactive", "inference", "unknown", NULL};
    static const char *const priorities[] = {"train", "build", "inference", "60", "-5", NULL};
    if (one_in(d, 3)) {
        put(d, "kind", "%s", any(d, kinds));
    }
    if (one_in(d, 4)) {
        put(d, "priority", "%s", any(d, priorities));
    }
    if (one_in(d, 4)) {
        put(d, "preemptible", "%s", one_in(d, 2) ? "\"true\"" : "\"false\"");
    }
    if (has(d, "job-periods", 20) && one_in(d, 2)) {
        put(d, "preemption_delay", "%s", span(length_s(d, d->span_s / 8.0)));
        put(d, "staleness_grace", "%s", span(length_s(d, 30.0)));
    }
    if (has(d, "checkpoints", 30) && one_in(d, 2)) {
        put(d, "checkpoint", "%s", span(1.0 + length_s(d, d->span_s / 6.0)));
        put(d, "checkpoint_cost", "%s", span(length_s(d, 5.0)));
        put(d, "restart", "%s", span(length_s(d, 9.0)));
    }
    if (has(d, "busy", 25) && one_in(d, 2)) {
        put(d, "busy", "0.%u", between(d, 1, 9));
    }
    if (has(d, "deadlines", 20) && one_in(d, 2)) {
        put(d, "deadline", "%s", span(1.0 + length_s(d, d->span_s)));
    }
    if (has(d, "cull", 15) && one_in(d, 3)) {
        put(d, "cull_idle", "%s", span(length_s(d, d->span_s / 4.0)));
    }
    if (d->profile_count > 0 && one_in(d, 2)) {
        put(d, "profile", "%s", quoted(d->profiles[below(d, d->profile_count)]));
    }
}

static void draw_template(struct draw *d, uint32_t t)
{
    struct draw_template *template = &d->templates[t];
    (void)make_name(d, template->name, "t", t);
    template->crew = has(d, "crews", 25) && one_in(d, 4);
    template->roles = template->crew || (has(d, "roles", 40) && one_in(d, 2));
    template->run = !template->crew && one_in(d, 3);
    open_map(d, "  %s", quoted(template->name));
    if (template->crew) {
        put_crew(d);
    } else if (template->roles) {
        put_roles(d, 1);
    } else {
        const uint32_t gpus = put_pods(d, 4);
        if (gpus > 0 && has(d, "resize", 40)) {
            put(d, "min_gpus_per_pod", "%u", between(d, 1, gpus));
        }
    }
    if (template->run) {
        put(d, "run", "%s", span(length_s(d, d->span_s / 2.0)));
    }
    put_constraints(d);
    put_habits(d);
    end_map(d);
}

void draw_templates(struct draw *d)
{
    stream(d, "templates");
    if (!has(d, "templates", 50)) {
        return;
    }
    d->template_count = between(d, 1, TEMPLATES);
    (void)fputs("templates:\n", d->out);
    for (uint32_t t = 0; t < d->template_count; t++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "template.%u", t);
        stream(d, name);
        draw_template(d, t);
    }
}

/* ---- parts ---- */

static uint32_t any_leaf(struct draw *d)
{
    uint32_t q = below(d, d->queue_count);
    while (!d->queues[q].leaf) {
        q = (q + 1) % d->queue_count;
    }
    return q;
}

static void put_queue(struct draw *d)
{
    if (d->queue_count > 0) {
        put(d, "queue", "%s", quoted(d->queues[any_leaf(d)].name));
    }
}

static void put_weighted_queues(struct draw *d)
{
    if (d->queue_count == 0) {
        return;
    }
    open_inner(d, "queues");
    const uint32_t first = any_leaf(d);
    const uint32_t second = any_leaf(d);
    put(d, quoted(d->queues[first].name), "%u", between(d, 1, 3));
    if (second != first) {
        put(d, quoted(d->queues[second].name), "0.5");
    }
    close_map(d);
}

/* A field of a CSV: quotes in it are doubled. */
static void put_field(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '"' ? "\"\"" : (const char[]){*text, '\0'}, out);
    }
    (void)fputc('"', out);
}

/* A model: two classes of jobs, with all that a class can say. */
static void put_classes(struct draw *d, uint32_t until_s)
{
    FILE *out = open_file(d, "classes.csv");
    const uint32_t from_s = below(d, until_s / 2 + 1);
    const uint32_t bursts = between(d, 1, 6);
    const double run_s = length_s(d, d->span_s / 4.0);
    const uint32_t most = between(d, 1, 4);
    const char *queue = d->queue_count == 0 ? "" : d->queues[any_leaf(d)].name;
    (void)fputs("queue,kind,gpus,pods,gpus_per_pod,gpu_fraction,from_s,until_s,bursts,jobs,gap_s,"
                "run_s,alike,users\n",
                out);
    put_field(out, queue);
    (void)fprintf(out, ",training,1,,,,0,%u,%u.5,1*3 %u,0 1*2 7,1 %.3f*2,0.8,0 3*2\n", until_s,
                  bursts, most, 1.0 + run_s);
    put_field(out, queue);
    (void)fprintf(out, ",,,2,%u,,%u,%u,2,,,%.3f,,\n", between(d, 0, 1), from_s, until_s, run_s);
    put_field(out, queue);
    (void)fprintf(out, ",,,1,,0.5,%u,%u,1,2,0,5,,\n", from_s, until_s);
    close_file(out);
    put(d, "classes", "classes.csv");
    put(d, "until", "%us", until_s);
}

/* A template of which a generator can make jobs: its own run time, or one that the part gives. */
static void put_generate(struct draw *d)
{
    const uint32_t until_s = d->span_s;
    const struct draw_template *template =
        d->template_count == 0 ? NULL : &d->templates[below(d, d->template_count)];
    open_inner(d, "generate");
    if (has(d, "classes", 20)) {
        put_classes(d, until_s);
        close_map(d);
        return;
    }
    bool runs = true; /* a duration of its own */
    if (template == NULL || one_in(d, 3)) {
        put(d, "sizes", "{1: 3, 2: 1%s}", d->gpus > 8 && one_in(d, 3) ? ", 9: 1" : "");
        put_duration(d);
    } else {
        if (one_in(d, 2)) {
            put(d, "template", "%s", quoted(template->name));
        } else {
            open_inner(d, "templates");
            put(d, quoted(template->name), "%u", between(d, 1, 3));
            close_map(d);
        }
        runs = !template->run && !template->crew;
        if (runs) {
            put_duration(d);
        }
    }
    put_weighted_queues(d);
    const bool users = one_in(d, 2);
    if (users) {
        put(d, "users", "%u", between(d, 1, 5));
    }
    const bool session = has(d, "sessions", 40) && users && runs;
    if (session) {
        put_session(d);
    } else {
        put_arrivals(d, until_s, users);
    }
    put(d, "until", "%us", until_s);
    if (one_in(d, 4)) {
        put(d, "from", "%us", below(d, until_s / 2 + 1));
    }
    const bool batch = one_in(d, 4);
    if (batch && !session) {
        put(d, "batch", "%u", between(d, 1, 4));
    }
    if (has(d, "give-up", 25)) {
        put(d, "give_up", "%s", span(1.0 + length_s(d, d->span_s / 4.0)));
    }
    close_map(d);
}

static void put_service(struct draw *d, uint32_t part)
{
    char file[NAME_BYTES];
    (void)snprintf(file, sizeof file, "rate%u.csv", part);
    FILE *rates = open_file(d, file);
    const uint32_t step_s = between(d, 1, 30);
    (void)fputs("time_s,rate\n", rates);
    const uint32_t steps = between(d, 3, 13);
    for (uint32_t i = 0; i < steps; i++) {
        (void)fprintf(rates, "%u,%.1f\n", i * step_s, one_in(d, 4) ? 0.0 : tenths(d, 6));
    }
    close_file(rates);
    const uint32_t least = below(d, 3);
    open_inner(d, "service");
    if (has(d, "shares", 35) && one_in(d, 3)) {
        if (one_in(d, 2)) {
            put(d, "gpu_fraction", "0.5");
        } else {
            put(d, "gpu_memory", "%uGi", between(d, 1, 30));
        }
        if (one_in(d, 3)) {
            put(d, "gpu_devices", "2");
        }
    } else if (d->mig) {
        put(d, "mig_profile", "%s", mig_profile(d));
    } else {
        put(d, "gpus_per_pod", "%u", between(d, 1, 2));
        if (one_in(d, 4)) {
            put(d, "pods", "2");
        }
    }
    if (has(d, "cpu", 35) && one_in(d, 3)) {
        put(d, "cpu", "%u", between(d, 1, 3));
        put(d, "memory", "%uGi", between(d, 1, 4));
    }
    if (has(d, "models", 15) && one_in(d, 2)) {
        put(d, "gpu_model", "%s", one_in(d, 2) ? "H100" : "\"A100|T4\"");
    }
    put(d, "replicas", "%u..%u", least, least + between(d, 1, 3));
    put_rate(d, file);
    if (one_in(d, 3)) {
        put(d, "target_utilisation", "0.%u", between(d, 3, 9));
    }
    put(d, "service_time", "%ums", between(d, 100, 3000));
    put(d, "concurrency", "%u", between(d, 1, 4));
    put(d, "load", "%s", span(length_s(d, 20.0)));
    put(d, "scale_interval", "%us", between(d, 1, 30));
    put(d, "scale_down_window", "%s", span(length_s(d, d->span_s / 4.0)));
    put(d, "patience", "%us", between(d, 1, 60));
    close_map(d);
    if (one_in(d, 2)) {
        put(d, "objective", "{served_within: 5s, share: 0.9}");
    }
}

/* What rows leave open. */
static void put_part_template(struct draw *d)
{
    const struct draw_template *template =
        d->template_count == 0 ? NULL : &d->templates[below(d, d->template_count)];
    if (template != NULL && !template->roles && one_in(d, 4)) {
        put(d, "template", "%s", quoted(template->name));
    }
}

/* Which rows of a trace are taken. */
static void put_filter(struct draw *d)
{
    static const char *const kinds[] = {"training", "interactive", "inference", "unknown", NULL};
    open_inner(d, "filter");
    switch (below(d, 6)) {
    case 0: put(d, "from", "%us", below(d, d->span_s / 2 + 1)); break;
    case 1: put(d, "until", "%us", between(d, d->span_s / 2, d->span_s)); break;
    case 2: put(d, "user", "\"%s\"", one_in(d, 2) ? "u*" : "?1|*2"); break;
    case 3: put(d, "kind", "%s", any(d, kinds)); break;
    case 4: put(d, "min_gpus", "%s", one_in(d, 2) ? "1" : "0.5"); break;
    default: put(d, "sample", "0.%u", between(d, 3, 9)); break;
    }
    if (one_in(d, 3)) {
        put(d, "max_gpus", "%u", between(d, 1, 8));
    }
    close_map(d);
}

static void put_trace(struct draw *d, uint32_t part)
{
    char file[NAME_BYTES];
    const bool swf = has(d, "swf", 12) && one_in(d, 2) && d->queue_count == 0;
    const bool gzip = has(d, "gzip", 15) && one_in(d, 2);
    (void)snprintf(file, sizeof file, "t%u.%s%s", part, swf ? "swf" : "csv", gzip ? ".gz" : "");
    put(d, "trace", "%s", file);
    if (swf) {
        put(d, "split", "%s", one_in(d, 2) ? "1" : "node");
        draw_swf(d, file, between(d, 3, 40));
        return;
    }
    put_queue(d);
    if (one_in(d, 6)) {
        put(d, "split", "%s", one_in(d, 2) ? "1" : "2");
    }
    if (has(d, "estimates", 20)) {
        static const char *const by[] = {"user", "exact", "predicted", NULL};
        const char *first = any(d, by);
        const bool noisy = one_in(d, 2);
        put(d, "estimates", "{by: %s, scale: %s%s}", first, one_in(d, 2) ? "1" : "2.5",
            noisy ? ", noise: 0.7" : "");
    }
    if (has(d, "scale", 12)) {
        const char *arrivals = one_in(d, 2) ? "2" : "0.3";
        put(d, "scale", "{arrivals: %s%s}", arrivals,
            has(d, "edits", 60) ? ", jobs: 1.5, run: 0.5, gpus: 2" : "");
    }
    if (has(d, "copies", 6)) {
        put(d, "copies", "%u", between(d, 2, 5));
    }
    if (one_in(d, 5)) {
        put(d, "kill_at_limit", "true");
    }
    if (has(d, "keep_impossible", 8)) {
        put(d, "keep_impossible", "true");
    }
    if (one_in(d, 8)) {
        put(d, "format", "native");
    }
    const bool by_queue = d->queue_count > 0 && one_in(d, 20);
    if (has(d, "edits", 20)) {
        put_filter(d);
    } else if (by_queue) {
        put(d, "filter", "{queue: %s}", quoted(d->queues[any_leaf(d)].name));
    }
    put_part_template(d);
    draw_trace(d, file, one_in(d, 4) ? between(d, 20, 60) : between(d, 2, 25));
}

static void draw_part(struct draw *d, uint32_t part)
{
    static const char *const kinds[] = {"training", "interactive", "inference", "unknown", NULL};
    (void)make_name(d, d->parts[part], "w", part);
    (void)fprintf(d->out, "- {name: %s", quoted(d->parts[part]));
    d->first = false;
    if (part > 0 && d->horizon_s > 0 && has(d, "services", 30) && one_in(d, 2)) {
        put_queue(d);
        put_service(d, part);
        (void)fputs("}\n", d->out);
        return;
    }
    if (one_in(d, 3)) {
        put(d, "kind", "%s", any(d, kinds));
    }
    if (part > 0 && has(d, "generators", 50)) {
        put_generate(d);
    } else {
        put_trace(d, part);
    }
    if (one_in(d, 4)) {
        put(d, "objective", "{start_within: %s}", span(length_s(d, d->span_s / 4.0)));
    }
    (void)fputs("}\n", d->out);
}

/* Jobs of all queues with plain names that ask CPUs alone, several at each instant. */
static void put_contenders(struct draw *d, const char *file)
{
    static const char *const options[] = {"", "", "--qos=low", "--qos=high", "--exclusive", NULL};
    stream(d, "contenders");
    FILE *out = open_file(d, file);
    (void)fputs("job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,queue,sbatch\n", out);
    const uint32_t jobs = between(d, 10, 80);
    for (uint32_t j = 0; j < jobs; j++) {
        const uint32_t leaf = d->queue_count == 0 ? 0 : any_leaf(d);
        const char *queue = d->queue_count == 0 ? "" : d->queues[leaf].name;
        const double submit_s = instant_s(d);
        const double run_s = length_s(d, d->span_s / 2.0);
        const bool wide = one_in(d, 3);
        const uint32_t pods = between(d, 1, wide ? 4 : 1);
        const bool large = one_in(d, 2);
        const uint32_t cpus = between(d, 1, large ? d->gpus_most + 1 : 3);
        const char *option = any(d, options);
        if (d->queue_count == 0 || d->queues[leaf].plain) {
            (void)fprintf(out, "c%u,%g,%g,%u,0,%u,%s,%s\n", j, submit_s, run_s, pods, 1000 * cpus,
                          queue, option);
        }
    }
    close_file(out);
    (void)fprintf(d->out, "- {name: contenders, trace: %s}\n", file);
}

void draw_workload(struct draw *d)
{
    stream(d, "workload");
    d->part_count = one_in(d, 2) ? 1 : between(d, 2, PARTS);
    (void)fputs("workload:\n", d->out);
    for (uint32_t p = 0; p < d->part_count; p++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "part.%u", p);
        stream(d, name);
        draw_part(d, p);
    }
    if (d->suspends) {
        put_contenders(d, "contenders.csv");
    }
    stream(d, "state");
    if (d->begin_s > 0 && draw_state(d, "state.csv")) {
        (void)fputs("- {name: state, trace: state.csv}\n", d->out);
    }
}
