/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of each workload, by name, and why the others wait, with the numbers. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>

#include "admission.h"

#define SENTENCE_MAX 600

struct teller {
    const struct admission_run *run;
    const struct kq_world *world;
    struct orr_admission *out;
};

static const char *keep(struct teller *teller, const char *text)
{
    return text == NULL ? NULL : orr_arena_strndup(&teller->out->arena, text, strlen(text));
}

static void ORR_PRINTF(2, 3) append(char text[SENTENCE_MAX], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, SENTENCE_MAX - used, format, args);
    va_end(args);
}

/* --- what it holds --- */

static const char *domain_name(struct teller *teller, uint32_t flavor,
                               const struct orr_kueue_domain *domain)
{
    char text[SENTENCE_MAX] = "";
    uint32_t levels = 1;
    const char *const *values = &domain->name;
    if (domain->leaf != ORR_NONE) {
        values = orr_kueue_leaf_values(teller->world->kueue, flavor, domain->leaf, &levels);
    }
    for (uint32_t l = 0; l < levels; l++) {
        append(text, "%s%.200s", l > 0 ? "/" : "", values[l]);
    }
    return keep(teller, text);
}

static void tell_set(struct teller *teller, const struct kq_pod_set *stated,
                     const struct orr_kueue_held_set *held, struct orr_admission_set *set)
{
    const struct kq_world *world = teller->world;
    struct orr_arena *arena = &teller->out->arena;
    *set = (struct orr_admission_set){.name = keep(teller, stated->name), .pods = held->count};
    set->uses = orr_arena_alloc(arena, (size_t)world->resources.count + 1, sizeof *set->uses);
    for (uint32_t r = 0; r < world->resources.count; r++) {
        if (held->flavors[r] != ORR_NONE) {
            set->uses[set->use_count++] = (struct orr_admission_use){
                keep(teller, world->resources.names[r]),
                keep(teller, world->flavors.names[held->flavors[r]]), held->usage[r]};
        }
    }
    const uint32_t places = held->topology_flavor != ORR_NONE ? held->domain_count : 0;
    set->places = orr_arena_alloc(arena, (size_t)places + 1, sizeof *set->places);
    for (uint32_t d = 0; d < places; d++) {
        set->places[set->place_count++] = (struct orr_admission_place){
            domain_name(teller, held->topology_flavor, &held->domains[d]), held->domains[d].count};
    }
}

static void tell_sets(struct teller *teller, uint32_t index, struct orr_admission_row *row)
{
    const struct kq_workload *stated = &teller->run->input->objects.workloads[index];
    const struct orr_kueue_held_set *held =
        orr_kueue_held(teller->world->kueue, teller->world->ids[index]);
    row->sets =
        orr_arena_alloc(&teller->out->arena, (size_t)stated->set_count + 1, sizeof *row->sets);
    row->set_count = stated->set_count;
    for (uint32_t s = 0; s < stated->set_count; s++) {
        tell_set(teller, &stated->sets[s], &held[s], &row->sets[s]);
    }
}

/* --- why it waits --- */

static bool is_of_bytes(const char *resource)
{
    return strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0 ||
           strncmp(resource, "hugepages-", sizeof "hugepages-" - 1) == 0;
}

const char *orr_admission_amount(char out[ORR_ADMISSION_AMOUNT], const char *resource,
                                 int64_t amount)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    if (amount == ORR_QUOTA_UNLIMITED) {
        (void)snprintf(out, ORR_ADMISSION_AMOUNT, "any");
    } else if (strcmp(resource, "cpu") == 0) {
        (void)snprintf(out, ORR_ADMISSION_AMOUNT, "%.10g", (double)amount / 1000);
    } else {
        size_t s = 0;
        for (; is_of_bytes(resource) && amount != 0 && amount % ORR_KIB == 0 &&
               s + 1 < sizeof suffixes / sizeof suffixes[0];
             s++) {
            amount /= ORR_KIB;
        }
        (void)snprintf(out, ORR_ADMISSION_AMOUNT, "%" PRId64 "%s", amount, suffixes[s]);
    }
    return out;
}

static void append_amount(char text[SENTENCE_MAX], const char *resource, int64_t amount)
{
    char written[ORR_ADMISSION_AMOUNT];
    append(text, "%s", orr_admission_amount(written, resource, amount));
}

/* "cpu: asks 6, free 4 of at most 8 in h100": each flavor in which it would not fit. */
static void append_short(struct teller *teller, uint32_t id, uint32_t queue,
                         char text[SENTENCE_MAX])
{
    const struct kq_world *world = teller->world;
    const struct orr_kueue_queue *is = &world->spec.queues[queue];
    for (uint32_t g = 0; g < is->group_count; g++) {
        for (uint32_t r = 0; r < is->groups[g].resource_count; r++) {
            const uint32_t resource = is->groups[g].resources[r];
            const char *name = world->resources.names[resource];
            const int64_t asked = orr_kueue_asks(world->kueue, id, resource);
            for (uint32_t f = 0; f < is->groups[g].flavor_count && asked > 0; f++) {
                const uint32_t flavor = is->groups[g].flavors[f];
                const uint32_t cell = flavor * world->resources.count + resource;
                const int64_t free = orr_quota_available(&world->tree, queue, cell);
                if (free >= asked || strlen(text) + 200 > SENTENCE_MAX) {
                    continue;
                }
                append(text, "; %.60s: asks ", name);
                append_amount(text, name, asked);
                append(text, ", free ");
                append_amount(text, name, free);
                append(text, " of at most ");
                append_amount(text, name, orr_quota_potential(&world->tree, queue, cell));
                append(text, " in %.60s", world->flavors.names[flavor]);
            }
        }
    }
}

static const char *words_of(enum orr_kueue_wait wait)
{
    switch (wait) {
    case ORR_KUEUE_NOT_TRIED: return "no cycle looked at it: others of its queue are before it";
    case ORR_KUEUE_EXCEEDS_MAX_QUOTA: return "it asks more than its queue can ever have";
    case ORR_KUEUE_WAITING_FOR_QUOTA: return "there is not enough quota left";
    case ORR_KUEUE_NO_MATCHING_FLAVOR: return "no flavor takes its pods";
    case ORR_KUEUE_TOPOLOGY_PLACEMENT_FAILED:
        return "there is quota, and no place for all its pods";
    case ORR_KUEUE_WAITING_FOR_PREEMPTED:
        return "it waits until the pods of those it preempts are gone";
    case ORR_KUEUE_LOST_RACE: return "others of the cycle took the quota first";
    case ORR_KUEUE_ADMISSION_GATED: return "its gate against preempting others is closed";
    case ORR_KUEUE_WAITING_FOR_PODS_READY:
        return "pods of an admitted workload are not ready, and blockAdmission waits for them";
    }
    return "";
}

static bool covers(const struct orr_kueue_queue *queue, uint32_t resource)
{
    for (uint32_t g = 0; g < queue->group_count; g++) {
        for (uint32_t r = 0; r < queue->groups[g].resource_count; r++) {
            if (queue->groups[g].resources[r] == resource) {
                return true;
            }
        }
    }
    return false;
}

/* The first resource that it asks and its queue has no quota of; ORR_NONE: there is none such. */
static uint32_t find_uncovered(const struct teller *teller, uint32_t id, uint32_t queue)
{
    const struct kq_world *world = teller->world;
    for (uint32_t r = 0; r < world->resources.count; r++) {
        if (orr_kueue_asks(world->kueue, id, r) > 0 && !covers(&world->spec.queues[queue], r)) {
            return r;
        }
    }
    return ORR_NONE;
}

static const struct kq_queue *stated_queue(const struct teller *teller, const char *name)
{
    const struct kq_queue *queue = teller->world->from->queues;
    while (strcmp(queue->name, name) != 0) {
        queue++;
    }
    return queue;
}

static const char *missing_topology(const struct kq_objects *objects, const char *flavor)
{
    for (uint32_t f = 0; f < objects->flavor_count; f++) {
        if (strcmp(objects->flavors[f].name, flavor) == 0) {
            return objects->flavors[f].topology;
        }
    }
    return NULL;
}

/* Why its ClusterQueue is not active. */
static void append_inactive(const struct teller *teller, const char *name, uint32_t index,
                            char text[SENTENCE_MAX])
{
    const struct kq_world *world = teller->world;
    const struct orr_kueue_queue *queue = &world->spec.queues[index];
    const char *stop = stated_queue(teller, name)->stop_policy;
    append(text, "ClusterQueue %.200s is not active: ", name);
    for (uint32_t g = 0; g < queue->group_count; g++) {
        for (uint32_t f = 0; f < queue->groups[g].flavor_count; f++) {
            const struct orr_kueue_flavor *flavor =
                &world->spec.flavors[queue->groups[g].flavors[f]];
            if (!flavor->missing) {
                continue;
            }
            const char *topology = missing_topology(world->from, flavor->name);
            if (topology != NULL) {
                append(text, "Topology %.100s of its ResourceFlavor %.100s is not given", topology,
                       flavor->name);
            } else {
                append(text, "its ResourceFlavor %.100s is not given", flavor->name);
            }
            return;
        }
    }
    if (stop != NULL && !orr_kq_is_word(stop, "None")) {
        append(text, "its stopPolicy is %.40s", stop);
    } else {
        append(text, "its cohorts are in a circle");
    }
}

static void tell_pending(struct teller *teller, uint32_t index, struct orr_admission_row *row)
{
    const struct kueue_input *input = teller->run->input;
    const struct kq_workload *workload = &input->objects.workloads[index];
    const uint32_t id = teller->world->ids[index];
    const struct kueue_held_back *held_back = &input->held_back[index];
    const uint32_t queue = orr_kq_find(&teller->world->queues, workload->queue);
    char text[SENTENCE_MAX] = "";
    if (held_back->reason != NULL || id == ORR_NONE) {
        row->reason = keep(teller, held_back->reason != NULL ? held_back->reason : "Inadmissible");
        row->why = keep(teller, held_back->why != NULL ? held_back->why : "no queue takes it");
        return;
    }
    const enum orr_kueue_wait wait = orr_kueue_wait(teller->world->kueue, id);
    row->parked = orr_kueue_is_parked(teller->world->kueue, id);
    row->reason = keep(teller, orr_kueue_waits[wait]);
    if (!workload->requeued) {
        append(text, "it was evicted, and its time to come back is not yet there");
    } else if (teller->world->spec.queues[queue].inactive) {
        row->reason = keep(teller, "Inadmissible");
        append_inactive(teller, workload->queue, queue, text);
    } else if (orr_kueue_wrong_namespace(teller->world->kueue, id)) {
        append(text, "ClusterQueue %.200s does not select its namespace (namespaceSelector)",
               workload->queue);
    } else if (wait == ORR_KUEUE_NOT_TRIED && row->parked) {
        append(text, "one alike of its queue was looked at, and could not be admitted");
    } else if (wait == ORR_KUEUE_NO_MATCHING_FLAVOR &&
               find_uncovered(teller, id, queue) != ORR_NONE) {
        append(text, "ClusterQueue %.100s has no quota of %.100s, which it asks", workload->queue,
               teller->world->resources.names[find_uncovered(teller, id, queue)]);
    } else {
        append(text, "%s", words_of(wait));
        if (wait == ORR_KUEUE_EXCEEDS_MAX_QUOTA || wait == ORR_KUEUE_WAITING_FOR_QUOTA ||
            wait == ORR_KUEUE_WAITING_FOR_PREEMPTED || wait == ORR_KUEUE_LOST_RACE) {
            append_short(teller, id, queue, text);
        }
    }
    row->why = keep(teller, text);
}

/* --- a row --- */

static enum orr_admission_state state_of(const struct teller *teller, uint32_t index)
{
    const struct kq_workload *workload = &teller->run->input->objects.workloads[index];
    const struct admission_fate *fate = &teller->run->fates[index];
    const uint32_t id = teller->world->ids[index];
    if (workload->finished || (fate->cycle != 0 && fate->deed == ORR_KUEUE_FINISH)) {
        return ORR_ADMISSION_FINISHED;
    }
    if (id == ORR_NONE || !orr_kueue_holds(teller->world->kueue, id)) {
        return ORR_ADMISSION_PENDING;
    }
    return fate->cycle == 0                ? ORR_ADMISSION_HOLDS
           : fate->deed == ORR_KUEUE_ADMIT ? ORR_ADMISSION_ADMITTED
           : fate->deed == ORR_KUEUE_MOVE  ? ORR_ADMISSION_MOVED
                                           : ORR_ADMISSION_PREEMPTED;
}

static void tell_row(struct teller *teller, uint32_t index, struct orr_admission_row *row)
{
    const struct kq_objects *objects = &teller->run->input->objects;
    const struct kq_workload *workload = &objects->workloads[index];
    const struct admission_fate *fate = &teller->run->fates[index];
    *row = (struct orr_admission_row){.workload = keep(teller, workload->name),
                                      .queue = keep(teller, workload->admission != NULL
                                                                ? workload->admission->queue
                                                                : workload->queue),
                                      .local_queue = keep(teller, workload->local_queue),
                                      .priority = workload->priority,
                                      .state = state_of(teller, index),
                                      .cycle = fate->cycle};
    if (row->state == ORR_ADMISSION_PREEMPTED) {
        row->reason = keep(teller, orr_kueue_reasons[fate->reason]);
        row->by = fate->by != ORR_NONE ? keep(teller, objects->workloads[fate->by].name) : NULL;
    }
    if (row->state == ORR_ADMISSION_PENDING) {
        tell_pending(teller, index, row);
    } else if (row->state != ORR_ADMISSION_FINISHED) {
        tell_sets(teller, index, row);
    }
}

static int by_state(const void *a, const void *b, void *context)
{
    const struct orr_admission_row *x = a, *y = b;
    (void)context;
    return x->state != y->state   ? (x->state < y->state ? -1 : 1)
           : x->cycle != y->cycle ? (x->cycle < y->cycle ? -1 : 1)
                                  : strcmp(x->workload, y->workload);
}

void import_admission_tell(const struct admission_run *run, struct orr_admission *out)
{
    struct teller teller = {run, &run->world, out};
    const struct kq_objects *objects = &run->input->objects;
    const struct import_model *model = run->input->model;
    out->queues = objects->queue_count;
    out->cohorts = run->world.cohorts.count;
    out->flavors = objects->flavor_count;
    out->local_queues = objects->local_queue_count;
    out->nodes = objects->node_count;
    out->row_count = objects->workload_count;
    out->rows = orr_arena_alloc(&out->arena, (size_t)out->row_count + 1, sizeof *out->rows);
    for (uint32_t i = 0; i < out->row_count; i++) {
        tell_row(&teller, i, &out->rows[i]);
    }
    orr_sort(out->rows, out->row_count, sizeof *out->rows, by_state, NULL);
    out->notes = orr_arena_alloc(&out->arena, (size_t)model->note_count + 1, sizeof *out->notes);
    for (uint32_t i = 0; i < model->note_count; i++) {
        out->notes[out->note_count++] =
            (struct orr_snapshot_note){keep(&teller, model->notes[i].text), model->notes[i].count};
    }
}
