/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.c - a model as a scenario and a trace that begin from it. state_cluster.c writes nodes,
 * queues and policy, state_jobs.c the jobs; what a snapshot does not say is collected here. */
#include <string.h>

#include <orrery/base/text.h>

#include "state_int.h"

/* --- what the snapshot does not say --- */

void state_tell(struct state_writer *w, const char *code, const char *text, uint64_t more)
{
    struct orr_snapshot_state *out = w->out;
    uint32_t f = 0;
    while (f < out->fact_count && strcmp(out->facts[f].code, code) != 0) {
        f++;
    }
    if (f == out->fact_count) {
        ORR_ASSERT(f < ORR_SNAPSHOT_FACTS);
        out->facts[out->fact_count++] = (struct orr_snapshot_fact){
            .code = code, .text = orr_arena_strndup(&out->arena, text, strlen(text))};
    }
    out->facts[f].count += more;
}

/* --- the whole --- */

static void write_head(struct state_writer *w)
{
    char text[32], span[32];
    (void)orr_format_timestamp(text, w->model->now / 1000 * 1000);
    (void)orr_format_span(span, w->rest->horizon_ms);
    (void)fprintf(w->scenario,
                  "# A cluster as it was at %s. Edit it as any scenario; the jobs are in %s.\n"
                  "apiVersion: orrery/v1alpha1\nkind: Scenario\nstart: %s\nbegin: 0s\n"
                  "horizon: %llds\n",
                  text, w->trace_name, text, (long long)(w->rest->horizon_ms / 1000));
}

static void write_all(struct state_writer *w)
{
    w->out->queues = w->model->queue_count;
    state_find_cluster(w);
    write_head(w);
    state_write_cluster(w);
    state_write_queues(w);
    state_write_policy(w);
    (void)fprintf(w->scenario, "workload:\n- {name: jobs, trace: %s, keep_impossible: true}\n",
                  w->trace_name);
    state_write_jobs(w);
    if (w->templates.count > 0) {
        (void)fputs("templates:\n", w->scenario);
    }
    for (uint32_t t = 0; t < w->templates.count; t++) {
        (void)fprintf(w->scenario, "  t%u: %s\n", (unsigned)t + 1,
                      orr_idmap_name(&w->templates, t));
    }
    state_tell(w, "arrivals", "jobs that come after now: none, add a workload part for them", 0);
    state_tell(w, "usage", "past use of queues: 0, as in KAI's own tool", 0);
}

enum orr_status import_write_state(struct import_model *model, const struct orr_snapshot_rest *rest,
                                   const char *trace_name, FILE *scenario, FILE *trace,
                                   struct orr_snapshot_state *out)
{
    struct state_writer w = {.model = model,
                             .rest = rest,
                             .out = out,
                             .load = model->load,
                             .scenario = scenario,
                             .trace = trace,
                             .trace_name = trace_name};
    struct orr_idmap *const maps[] = {&w.keys, &w.affinities, &w.devices, &w.templates};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_init(maps[i]);
    }
    out->form = import_format(model->load, "%s", model->form != NULL ? model->form : "");
    out->form = orr_arena_strndup(&out->arena, out->form, strlen(out->form));
    out->now = model->now;
    write_all(&w);
    for (uint32_t n = 0; n < model->note_count && n < ORR_SNAPSHOT_FACTS; n++) {
        const char *text = model->notes[n].text;
        out->notes[out->note_count++] =
            (struct orr_snapshot_note){.text = orr_arena_strndup(&out->arena, text, strlen(text)),
                                       .count = model->notes[n].count};
    }
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_release(maps[i]);
    }
    if (w.durations != NULL) {
        orr_durations_close(w.durations);
    }
    orr_free(w.order);
    orr_free(w.places);
    orr_free(w.affine);
    orr_free(w.device_of);
    return model->load->err->status;
}
