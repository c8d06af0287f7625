/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "seen-before": in trees, a scenario of the same victims was refuted by a dry run, of this
 * search or an earlier one, and all that the dry run read is as it was. Where the
 * preemptor asks whole GPUs nothing is known if some victim does not, or if somebody has a
 * constraint of topology and somebody asks other resources beside GPUs.
 *
 * A search that fails is mostly followed by one for the same job where a few nodes, queues or jobs
 * are others, and most scenarios of both have the same victims. What a dry run reads is the
 * preemptor and how many of its tasks are tried; how queues stand; who waits, as far as that
 * counts (waiting_fingerprint.c); the victims, task by task; their nodes and those that are
 * feasible, or where somebody has a constraint of topology, all nodes. Rules, names, ages, asks,
 * filters and the topology are the session's and do not change. Hashes of the parts are added up,
 * so that only the victims cost anything with each scenario. An answer stays until another one
 * takes its slot.
 *
 * Where whole GPUs are asked, a node is hashed only as far as it decides where these go
 * (victim_index.c), as its shared devices change all the time.
 */
#include "flat_int.h"
#include "seen_before.h"

/* Of a job, in the lowest bits of its fingerprint. */
#define CONSTRAINED UINT64_C(1) /* by a topology */
#define IN_PARTS    UINT64_C(2) /* some task asks something else than whole GPUs, */
#define ASKS_MORE   UINT64_C(4) /* or other resources beside, or a domain within one */
#define TRAITS      UINT64_C(7)

struct orr_seen {      /* of a search */
    uint64_t *of_job;  /* by job: its fingerprint with its traits; 0: not known */
    uint64_t *of_task; /* by task: its fingerprint as a victim, with what its node holds; 0: not
                        * known */
    uint64_t search;   /* what is the same for all scenarios; 0: not known */
    uint64_t preemptor;
    bool in_parts;           /* the preemptor asks something else than whole GPUs */
    const uint64_t *content; /* by node: what places for this preemptor hang on */
    uint64_t probe;          /* of which this is: */
    uint64_t nodes;          /* of the feasible nodes */
    uint64_t scenario;       /* the one asked last; 0: not known */
};

static uint64_t fingerprint_job(const struct orr_session *session, struct orr_seen *seen,
                                uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    if (seen->of_job[index] == 0) {
        uint64_t fingerprint = 0, traits = 0;
        orr_victim__fingerprint_job(&fingerprint, session, index);
        for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
            if (session->sets[s].constraint.topology != NULL && session->rules.topology) {
                traits |= (traits & CONSTRAINED) == 0 ? CONSTRAINED : ASKS_MORE;
            }
        }
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            const struct orr_ask *ask = orr_task_ask(session, &session->tasks[t]);
            traits |= orr_ask_is_whole_gpus(ask) ? 0 : IN_PARTS;
            traits |= orr_prune__asks_beside_gpus(session, ask) ? ASKS_MORE : 0;
        }
        seen->of_job[index] = ((orr_scatter(fingerprint) | (TRAITS + 1)) & ~TRAITS) | traits;
    }
    return seen->of_job[index];
}

static struct orr_seen *open_seen(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_seen *seen = orr_arena_alloc(&search->memory, 1, sizeof *seen);
    seen->of_job = orr_arena_alloc(&search->memory, session->job_count, sizeof *seen->of_job);
    seen->of_task = orr_arena_alloc(&search->memory, session->task_count, sizeof *seen->of_task);
    if (orr_apart__of(search) != NULL) {
        seen->preemptor = fingerprint_job(session, seen, search->job);
        seen->search = orr_victim__search_fingerprint(search);
        seen->in_parts = (seen->preemptor & IN_PARTS) != 0;
        seen->content =
            seen->in_parts ? session->victim_index->content : session->victim_index->gpu_content;
    }
    return seen;
}

/* All feasible nodes of the topology are in one domain of the level. */
static bool share_domain(const struct orr_victim_search *search,
                         const struct orr_topology *topology, uint32_t level, uint32_t *domain)
{
    const uint32_t *deepest = topology->levels[topology->level_count - 1].domain_of_node;
    const uint32_t *of_node = topology->levels[level].domain_of_node;
    bool shared = true;
    *domain = ORR_NONE;
    for (uint32_t n = 0; shared && n < search->session->node_count; n++) {
        if (search->feasible[n] && deepest[n] != ORR_NONE) {
            shared = *domain == ORR_NONE || of_node[n] == *domain;
            *domain = of_node[n];
        }
    }
    return shared && *domain != ORR_NONE;
}

/* The order of domains depends on the lowest one that all nodes given are in (place_topology.c):
 * nodes that have nothing free count there too. */
static uint64_t fingerprint_lowest_common(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    uint64_t fingerprint = 0;
    for (uint32_t t = 0; t < session->topology_count; t++) {
        const struct orr_topology *topology = &session->topologies[t];
        uint32_t domain;
        for (uint32_t l = 0;
             l < topology->level_count && share_domain(search, topology, l, &domain); l++) {
            orr_fingerprint_word(&fingerprint, (uint64_t)l << 32 | domain);
        }
        orr_fingerprint_word(&fingerprint, t);
    }
    return fingerprint;
}

static void fingerprint_probe(const struct orr_victim_search *search, struct orr_seen *seen)
{
    const struct orr_session *session = search->session;
    const uint64_t *content = seen->content;
    seen->probe = search->refuter.probe;
    seen->nodes = orr_scatter(seen->preemptor + search->k) + fingerprint_lowest_common(search);
    for (uint32_t n = 0; n < session->node_count; n++) {
        seen->nodes += search->feasible[n] && content[n] != 0 ? orr_scatter(content[n]) : 0;
    }
}

static uint64_t mark_victim(const struct orr_session *session, struct orr_seen *seen,
                            const struct orr_victim *victim)
{
    uint64_t *mark = &seen->of_task[victim->task];
    if (*mark == 0) {
        const uint32_t node = session->tasks[victim->task].live.node;
        const uint64_t nth = victim->task - session->jobs[victim->job].first_task;
        const uint64_t task = orr_scatter(fingerprint_job(session, seen, victim->job) + nth);
        const uint64_t content = node == ORR_NONE ? 0 : seen->content[node];
        *mark = orr_scatter(task ^ content) | 1;
    }
    return *mark;
}

/* Adds what tells one set of victims from another. Returns their traits. */
static uint64_t add_up(const struct orr_victim_search *search, struct orr_seen *seen,
                       const struct orr_victims *victims, bool recorded, uint64_t *sum)
{
    uint64_t traits = 0;
    for (uint32_t i = 0; i < victims->count && (seen->in_parts || (traits & IN_PARTS) == 0); i++) {
        const uint64_t mark = mark_victim(search->session, seen, &victims->items[i]);
        traits |= seen->of_job[victims->items[i].job];
        *sum += recorded ? ~mark : mark;
    }
    return traits;
}

/* What placing reads: the preemptor, the victims and the nodes. 0: it is not known. */
static uint64_t fingerprint_places(const struct orr_victim_search *search, struct orr_seen *seen,
                                   const struct orr_victims *potential)
{
    const struct orr_victim_index *all = search->session->victim_index;
    uint64_t sum = seen->nodes;
    const uint64_t traits = seen->preemptor | add_up(search, seen, potential, false, &sum) |
                            add_up(search, seen, &search->recorded, true, &sum);
    if ((traits & CONSTRAINED) != 0) {
        sum += seen->in_parts ? all->content_fingerprint : all->gpu_content_fingerprint;
    }
    const bool by_gpus =
        (traits & IN_PARTS) == 0 && ((traits & CONSTRAINED) == 0 || (traits & ASKS_MORE) == 0);
    return seen->in_parts || by_gpus ? orr_scatter(sum + seen->search) | 1 : 0;
}

enum orr_outcome orr_seen__outcome(struct orr_victim_search *search,
                                   const struct orr_victims *potential)
{
    if (search->refuter.seen == NULL) {
        search->refuter.seen = open_seen(search);
    }
    struct orr_seen *seen = search->refuter.seen;
    seen->scenario = 0;
    if (seen->search == 0) {
        return ORR_OUTCOME_SOLVED;
    }
    if (seen->probe != search->refuter.probe) {
        fingerprint_probe(search, seen);
    }
    seen->scenario = fingerprint_places(search, seen, potential);
    const unsigned answer = orr_answers_find(&search->session->victim_index->seen, seen->scenario);
    if (answer == ORR_LOSES_TOO_MUCH) {
        return search->outcome >= ORR_OUTCOME_REJECTED ? ORR_OUTCOME_REJECTED : ORR_OUTCOME_SOLVED;
    }
    return answer == 0 ? ORR_OUTCOME_SOLVED : (enum orr_outcome)answer;
}

void orr_seen__note(const struct orr_victim_search *search, unsigned answer)
{
    const struct orr_seen *seen = search->refuter.seen;
    if (seen != NULL && seen->scenario != 0) {
        orr_answers_note(&search->session->victim_index->seen, seen->scenario, answer);
    }
}
