/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparing the model's decisions and the state they leave with the core's. */
#include "shadow.h"

#include <math.h>
#include <stdarg.h>

#include <orrery/base/idmap.h>
#include <orrery/base/sort.h>

struct shadow_tally shadow_tally;

struct report {
    const struct orr_session *session;
    FILE *out;
    uint32_t count;
};

ORR_PRINTF(2, 3) static void differs(struct report *report, const char *format, ...)
{
    report->count++;
    if (report->out != NULL) {
        va_list args;
        va_start(args, format);
        (void)fputs("  differs: ", report->out);
        (void)vfprintf(report->out, format, args);
        (void)fputc('\n', report->out);
        va_end(args);
    }
}

/* --- decisions --- */

static int by_content(const void *a, const void *b, void *context)
{
    const struct orr_decision *x = a;
    const struct orr_decision *y = b;
    const int64_t keys[][2] = {{x->action, y->action},
                               {x->preemptor, y->preemptor},
                               {x->kind, y->kind},
                               {x->task, y->task},
                               {x->node, y->node}};
    (void)context;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static struct orr_decision *sorted(const struct orr_decision *from, uint32_t count)
{
    struct orr_decision *out = orr_alloc(count + (size_t)1, sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = from[i];
    }
    orr_sort(out, count, sizeof *out, by_content, NULL);
    return out;
}

static void tell(const struct report *report, const char *who, const struct orr_decision *d)
{
    static const char *const kinds[] = {"bind", "pipeline", "evict"};
    const struct orr_session *session = report->session;
    if (report->out != NULL) {
        (void)fprintf(report->out, "  %s: %s: %s %s on %s%s%s\n", who,
                      orr_action_name((enum orr_action)d->action), kinds[d->kind],
                      session->tasks[d->task].name, session->nodes[d->node].name,
                      d->preemptor == ORR_NONE ? "" : " for ",
                      d->preemptor == ORR_NONE ? "" : session->jobs[d->preemptor].name);
    }
}

static void tell_all(const struct report *report, const struct slow *slow)
{
    for (uint32_t i = 0; i < slow->decision_count; i++) {
        tell(report, "model", &slow->decisions[i]);
    }
    for (uint32_t i = 0; i < report->session->decision_count; i++) {
        tell(report, "core", &report->session->decisions[i]);
    }
}

static void compare_decisions(struct report *report, const struct slow *slow)
{
    const struct orr_session *session = report->session;
    struct orr_decision *slows = sorted(slow->decisions, slow->decision_count);
    struct orr_decision *fasts = sorted(session->decisions, session->decision_count);
    uint32_t s = 0;
    uint32_t f = 0;
    while (s < slow->decision_count || f < session->decision_count) {
        int order = s == slow->decision_count      ? 1
                    : f == session->decision_count ? -1
                                                   : by_content(&slows[s], &fasts[f], NULL);
        if (order < 0) {
            tell(report, "differs: only the model", &slows[s]);
        } else if (order > 0) {
            tell(report, "differs: only the core", &fasts[f]);
        }
        report->count += order != 0;
        s += order <= 0;
        f += order >= 0;
    }
    orr_free(slows);
    orr_free(fasts);
}

/* --- state --- */

/* Two tasks share a device in the one if and only if they do in the other. */
static void compare_devices(struct report *report, const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_session *session = report->session;
    const struct orr_stask *task_a = &session->tasks[a];
    const struct orr_stask *task_b = &session->tasks[b];
    for (uint32_t i = 0; i < task_a->live.group_count; i++) {
        for (uint32_t k = 0; k < task_b->live.group_count; k++) {
            const bool fast =
                orr_task_groups(session, task_a)[i] == orr_task_groups(session, task_b)[k];
            const bool plain = slow->at.tasks[a].now.groups[i] == slow->at.tasks[b].now.groups[k];
            if (fast != plain) {
                differs(report, "%s and %s share a device in the %s", task_a->name, task_b->name,
                        fast ? "core" : "model");
            }
        }
    }
}

static void compare_tasks(struct report *report, const struct slow *slow)
{
    const struct orr_session *session = report->session;
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_place *fast = &session->tasks[t].live;
        const struct slow_where *plain = &slow->at.tasks[t].now;
        if (fast->status != plain->status || fast->node != plain->node ||
            fast->group_count != plain->group_count) {
            differs(report, "%s: model status %u node %d, core status %u node %d",
                    session->tasks[t].name, plain->status, (int)plain->node, fast->status,
                    (int)fast->node);
            continue;
        }
        for (uint32_t u = 0; u <= t; u++) {
            if (session->tasks[u].live.node == fast->node &&
                session->tasks[u].live.group_count == slow->at.tasks[u].now.group_count) {
                compare_devices(report, slow, u, t);
            }
        }
    }
}

static void compare_shares(struct report *report, const struct slow *slow)
{
    const struct orr_session *session = report->session;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
            const double fast = session->shares[q].resource[k].fair_share;
            const double plain = slow->fair[q][k];
            if (fabs(fast - plain) > 1e-9 * fmax(1, fabs(plain))) {
                differs(report, "fair share %u of %s: model %.17g, core %.17g", k,
                        session->queues[q].name, plain, fast);
            }
            if (session->queues[q].allocated[k] != slow->at.queues[q].allocated[k]) {
                differs(report, "allocated %u of %s: model %lld, core %lld", k,
                        session->queues[q].name, (long long)slow->at.queues[q].allocated[k],
                        (long long)session->queues[q].allocated[k]);
            }
        }
    }
}

static void compare_jobs(struct report *report, const struct slow *slow)
{
    const struct orr_session *session = report->session;
    for (uint32_t j = 0; j < session->job_count; j++) {
        const struct orr_sjob *fast = &session->jobs[j];
        const struct slow_job *plain = &slow->at.jobs[j];
        if (fast->invalid) {
            continue;
        }
        if (fast->last_start != plain->last_start || fast->last_eviction != plain->last_eviction ||
            fast->stale_since != plain->stale_since) {
            differs(report,
                    "%s: last start, eviction, stale since: model %lld %lld %lld, "
                    "core %lld %lld %lld",
                    fast->name, (long long)plain->last_start, (long long)plain->last_eviction,
                    (long long)plain->stale_since, (long long)fast->last_start,
                    (long long)fast->last_eviction, (long long)fast->stale_since);
        }
    }
}

uint32_t shadow_compare(const struct slow *slow, const struct orr_session *session, FILE *out)
{
    struct report report = {.session = session, .out = out};
    compare_shares(&report, slow);
    compare_decisions(&report, slow);
    compare_tasks(&report, slow);
    compare_jobs(&report, slow);
    if (report.count > 0) {
        tell_all(&report, slow);
    }
    return report.count;
}

/* --- printing --- */

static void print_queue(const struct orr_session *session, uint32_t q, FILE *out)
{
    const struct orr_share_queue *share = &session->shares[q];
    const struct orr_share_resource *gpu = &share->resource[ORR_SHARE_GPU];
    const struct orr_share_resource *cpu = &share->resource[ORR_SHARE_CPU];
    (void)fprintf(out,
                  "queue %s in %s: gpu quota %g limit %g weight %g usage %g fair %g, cpu quota %g "
                  "limit %g, priority %d created %lld, min runtimes %lld %lld\n",
                  session->queues[q].name,
                  share->parent == ORR_NONE ? "-" : session->queues[share->parent].name,
                  gpu->deserved, gpu->limit, gpu->weight, gpu->usage, gpu->fair_share,
                  cpu->deserved, cpu->limit, share->priority, (long long)share->created,
                  (long long)session->queues[q].preempt_min_runtime,
                  (long long)session->queues[q].reclaim_min_runtime);
}

static void print_job(const struct orr_session *session, uint32_t j, FILE *out)
{
    const struct orr_sjob *job = &session->jobs[j];
    (void)fprintf(out, "job %s in %s: priority %d%s created %lld start %lld delay %lld\n",
                  job->name, job->queue == ORR_NONE ? "-" : session->queues[job->queue].name,
                  job->priority, job->preemptible ? "" : " non-preemptible",
                  (long long)job->created_s, (long long)job->last_start,
                  (long long)job->preemption_delay);
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        const struct orr_sset *set = &session->sets[s];
        const struct orr_constraint *c = &set->constraint;
        (void)fprintf(out, "  %s %s min %d%s in %s%s%s%s%s%s\n", set->is_pods ? "pods" : "set",
                      set->name[0] == '\0' ? "(root)" : set->name, set->min,
                      set->is_pods || set->min_stated ? "" : " (all)",
                      set->parent == ORR_NONE ? "-" : session->sets[set->parent].name,
                      c->topology != NULL ? ", topology" : "",
                      c->required != NULL ? " within " : "", c->required != NULL ? c->required : "",
                      c->preferred != NULL ? " preferred " : "",
                      c->preferred != NULL ? c->preferred : "");
    }
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = &session->asks[task->ask];
        (void)fprintf(out, "  task %s of %s: cpu %lld mem %lld gpu %lld", task->name,
                      session->sets[task->set].name, (long long)ask->request.v[ORR_SLOT_CPU],
                      (long long)ask->request.v[ORR_SLOT_MEMORY],
                      (long long)ask->request.v[ORR_SLOT_GPU]);
        (void)fprintf(out, " (kind %u devices %u portion %g MiB %lld mig %lld filter %d)",
                      ask->kind, ask->devices, ask->portion, (long long)ask->memory_mib,
                      (long long)ask->mig_mgpu, (int)ask->affinity);
        (void)fprintf(out, " status %u on %s", task->held.status,
                      task->held.node == ORR_NONE ? "-" : session->nodes[task->held.node].name);
        for (uint32_t g = 0; g < task->held.group_count; g++) {
            (void)fprintf(out, " #%u",
                          session->gpu_group_ids[task->gpu_groups_at + ask->devices + g]);
        }
        (void)fputc('\n', out);
    }
}

void shadow_print(const struct orr_session *session, FILE *out)
{
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        (void)fprintf(out, "node %s:", node->name);
        for (uint32_t s = 0; s < session->slot_count; s++) {
            (void)fprintf(out, " %lld", (long long)node->allocatable.v[s]);
        }
        (void)fprintf(out, " devices %lld x %lld MiB%s%s", (long long)node->gpu_count,
                      (long long)node->gpu_memory_mib, node->ready ? "" : " not ready",
                      node->is_mig ? " mig" : "");
        for (uint32_t t = 0; t < session->topology_count; t++) {
            for (uint32_t l = 0; l < session->topologies[t].level_count; l++) {
                const struct orr_topology_level *level = &session->topologies[t].levels[l];
                (void)fprintf(out, " %s=%d", level->label, (int)level->domain_of_node[n]);
            }
        }
        (void)fputc('\n', out);
    }
    for (uint32_t q = 0; q < session->queue_count; q++) {
        print_queue(session, q, out);
    }
    for (uint32_t j = 0; j < session->job_count; j++) {
        if (!session->jobs[j].invalid) {
            print_job(session, j, out);
        }
    }
}
