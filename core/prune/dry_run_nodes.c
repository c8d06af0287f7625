/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of a dry run: on counts of GPUs, on a sketch upon these, or on one upon books.
 *
 * Where the preemptor and all victims ask whole GPUs and these decide on every node
 * (victim_index.c), they are counted (gpu_counts.c); a job that has to stay in a domain of a
 * topology or prefers to, and asks nothing else, is sketched on the counts, as what domains have
 * left is a sum of them. Else, where parts of devices are asked or something else may be short, all
 * placing is sketched on books (place_sketch.c). Choices are the literal ones, on the nodes that a
 * simulation opens.
 */
#include "dry_run.h"

#include <orrery/core/gpu_counts.h>

#include "flat_int.h"

/* Parts are no less than 1 MiB of any device: none has less than 100. */
static bool is_sketched(const struct orr_session *session, uint32_t task)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
    return orr_ask_is_shared(ask) ? ask->memory_mib > 0 || ask->portion >= 0.01
                                  : orr_ask_is_whole_gpus(ask);
}

/* A sketch tells where its tasks go, and where others go before. */
static bool may_be_sketched(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    bool may = session->numa == NULL &&
               orr_prune__only_pod_set(session, &session->jobs[search->job]) != ORR_NONE;
    for (uint32_t i = 0; may && i < search->tasks.count; i++) {
        const uint32_t t = search->tasks.tasks[i];
        may = session->tasks[t].live.status == ORR_TASK_PENDING &&
              t == search->tasks.tasks[0] + i && is_sketched(session, t) &&
              orr_apart__is_simple(session, &session->tasks[t]);
    }
    for (uint32_t n = 0; may && n < session->node_count; n++) {
        const int64_t idle = session->nodes[n].idle.v[ORR_SLOT_GPU];
        const int64_t releasing = session->nodes[n].releasing.v[ORR_SLOT_GPU];
        may = idle % ORR_MGPU == 0 && releasing % ORR_MGPU == 0 && idle + releasing >= 0;
    }
    return may;
}

static bool asks_gpus_alone(const struct orr_session *session, uint32_t task)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
    bool alone = orr_flat__goes_anywhere(session, ask);
    for (uint32_t s = 0; s < session->slot_count; s++) {
        alone = alone && (s == ORR_SLOT_GPU || s == ORR_SLOT_PODS || ask->request.v[s] == 0);
    }
    return alone;
}

bool orr_dry_run__may_count(const struct orr_session *session, uint32_t job, bool constrained)
{
    const struct orr_sjob *of = &session->jobs[job];
    bool may = true;
    for (uint32_t t = of->first_task; may && t < of->first_task + of->task_count; t++) {
        const uint32_t node = session->tasks[t].live.node;
        may = orr_flat__asks_whole_gpus(session, orr_task_ask(session, &session->tasks[t])) &&
              (!constrained || asks_gpus_alone(session, t)) &&
              (node == ORR_NONE || session->nodes[node].allocatable.v[ORR_SLOT_GPU] > 0);
    }
    return may;
}

/* What is counted tells where its tasks go. */
static bool may_be_counted(const struct orr_victim_search *search, const struct orr_dry_run *run)
{
    const struct orr_session *session = search->session;
    bool may = orr_victim_index_now(search->session)->uneven_nodes == 0 &&
               (run->constrained ? run->by_sketch : orr_flat__is_preemptor(search, false));
    for (uint32_t i = 0; may && run->constrained && i < search->tasks.count; i++) {
        may = asks_gpus_alone(session, search->tasks.tasks[i]);
    }
    return may;
}

struct orr_dry_run *orr_dry_run__make(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    struct orr_dry_run *run = orr_arena_alloc(memory, 1, sizeof *run);
    const bool allowed = orr_flat__rules_allow(session);
    run->by_sketch = allowed && may_be_sketched(search);
    run->constrained = orr_prune__is_constrained(session, &session->jobs[search->job]);
    run->limited = orr_apart__is_limited(session, search->job);
    if (allowed && may_be_counted(search, run)) {
        run->counts = orr_gpu_counts_make(memory, session, &orr_victim_index_now(session)->filters);
        run->by_windows = !run->constrained && session->victim_index->most_idle == 0 &&
                          session->victim_index->whole_in_all == 0;
    }
    if (orr_dry_run__knows(run)) {
        run->nodes = orr_arena_take(memory, session->node_count, sizeof *run->nodes);
        run->is_open = orr_arena_alloc(memory, session->node_count, sizeof *run->is_open);
        run->roomy = orr_arena_take(memory, session->node_count, sizeof *run->roomy);
        for (uint32_t n = 0; n < session->node_count; n++) {
            if (session->victim_index->whole[n] > 0) {
                run->roomy[run->roomy_count++] = n;
            }
        }
        run->positions =
            orr_arena_take(memory, session->job_count + (size_t)3, sizeof *run->positions);
    }
    return run;
}

static void open_node(struct orr_dry_run *run, uint32_t node)
{
    if (!run->is_open[node]) {
        run->nodes[run->open_count++] = node;
        run->is_open[node] = true;
    }
}

static void close_nodes(struct orr_dry_run *run, uint32_t but)
{
    while (run->open_count > but) {
        const uint32_t node = run->nodes[--run->open_count];
        run->is_open[node] = false;
    }
}

/* The order of domains hangs on the lowest one that all nodes are in (place_topology.c). */
static void find_open_domains(const struct orr_session *session, struct orr_dry_run *run)
{
    run->open_domains = 0;
    for (uint32_t t = 0; t < session->topology_count; t++) {
        const struct orr_topology *topology = &session->topologies[t];
        for (uint32_t l = 0; l < topology->level_count; l++) {
            const uint32_t *of_node = topology->levels[l].domain_of_node;
            uint32_t i = 1;
            while (i < run->open_count && of_node[run->nodes[i]] == of_node[run->nodes[0]]) {
                i++;
            }
            const bool one = run->open_count > 0 && i == run->open_count;
            orr_fingerprint_word(&run->open_domains, one ? of_node[run->nodes[0]] : ORR_NONE - 1u);
        }
    }
}

/* For sketches: nodes that are feasible, which stay open for the probe, and those of victims. */
static void list_open_nodes(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    if (run->opened_for != run->probe) {
        close_nodes(run, 0);
        for (uint32_t n = 0; n < session->node_count; n++) {
            if (search->feasible[n]) {
                open_node(run, n);
            }
        }
        run->opened_for = run->probe;
        run->feasible_count = run->open_count;
    }
    for (uint32_t i = 0; i < s->taken_count; i++) {
        open_node(run, session->tasks[s->taken[i]].live.node);
    }
    if (run->constrained || s->any_constrained) {
        find_open_domains(session, run);
    }
}

static bool open_sketch(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    bool known = true;
    run->sketch = &session->victim_index->sketch;
    orr_sketch_start(run->sketch, session, run->is_open);
    list_open_nodes(search);
    for (uint32_t i = 0; known && i < s->taken_count; i++) {
        known = is_sketched(session, s->taken[i]);
        if (known) {
            orr_sketch_evict(run->sketch, s->taken[i]);
        }
    }
    return known;
}

static void open_counts(const struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    const struct orr_dry_run *run = s->run;
    for (uint32_t i = 0; i < run->roomy_count; i++) {
        if (search->feasible[run->roomy[i]]) {
            orr_gpu_counts_open(run->counts, run->roomy[i]);
        }
    }
    for (uint32_t i = 0; i < s->taken_count; i++) {
        orr_gpu_counts_evict(run->counts, s->taken[i]);
    }
    orr_gpu_counts_start(run->counts, run->constrained || s->any_constrained);
}

/* Constrained jobs are sketched on the counts. */
static void sketch_on_counts(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_dry_run *run = search->refuter.apart->run;
    run->sketch = &session->victim_index->sketch;
    orr_sketch_start_on_counts(run->sketch, session, run->counts);
    list_open_nodes(search);
}

bool orr_dry_run__open(const struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    struct orr_dry_run *run = s->run;
    run->counted = run->counts != NULL && s->all_counted && (run->by_sketch || !s->any_constrained);
    if (run->counted) {
        open_counts(search);
        if (run->constrained || s->any_constrained) {
            sketch_on_counts(search);
        }
        return true;
    }
    return run->by_sketch && open_sketch(search);
}

void orr_dry_run__close(struct orr_dry_run *run)
{
    if (run->sketch != NULL) {
        orr_sketch_end(run->sketch);
        close_nodes(run, run->feasible_count);
    }
    if (run->counted) {
        orr_gpu_counts_close(run->counts);
    }
    run->sketch = NULL;
    run->counted = false;
}

/* --- what open nodes have --- */

bool orr_dry_run__has_content(const struct orr_apart *s)
{
    return s->run->counted || (!s->run->constrained && !s->any_constrained);
}

uint64_t orr_dry_run__content(const struct orr_session *session, const struct orr_apart *s)
{
    const struct orr_dry_run *run = s->run;
    const struct orr_node_list open = {.nodes = run->nodes, .count = run->open_count};
    uint64_t content = run->counted ? run->counts->content : orr_sketch_content(run->sketch, open);
    if (run->constrained || s->any_constrained) {
        orr_fingerprint_word(&content, run->open_domains);
        orr_fingerprint_word(&content, session->victim_index->gpu_content_fingerprint);
    }
    return content;
}

/* --- placing --- */

bool orr_dry_run__place(const struct orr_apart *s, const struct orr_jobview *view, bool constrained,
                        uint32_t *tasks, uint32_t count)
{
    const struct orr_dry_run *run = s->run;
    return run->counted && !constrained
               ? orr_gpu_counts_place(run->counts, tasks, count)
               : orr_sketch_job(
                     run->sketch, *view, (struct orr_task_list){.tasks = tasks, .count = count},
                     s->is_lost,
                     (struct orr_node_list){.nodes = run->nodes, .count = run->open_count});
}
