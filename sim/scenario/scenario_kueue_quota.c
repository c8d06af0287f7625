/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue_quota.c - what Kueue's ClusterQueues and Cohorts have of each flavor, as queues.
 *
 * A queue's quota includes that of those below it, a Cohort's does not: what a Cohort owns is added
 * to its children's sum once all are read. Where all objects name one flavor of which no
 * ResourceFlavor says on which nodes it is, and all ClusterQueues have quota of the same resources,
 * but not of pods, amounts are of all nodes; else each queue states its flavors.
 *
 * What was summed up so follows what is set later: a cohort's quota those of the queues below it, a
 * limit the quota that it goes beyond. Events state it beside what they set, so that the resolved
 * text says it too.
 */
#include "scenario_kueue.h"

#include <string.h>

#include <orrery/base/text.h>

static const char *const resource_keys[KUEUE_QUOTAS] = {"gpu", "cpu", "memory", "pods"};
/* Origins of values that follow others. */
static const char cohort_note[] = "own quota and that of the queues below";
static const char limit_note[] = "quota and borrowing limit";

struct amount { /* whole GPUs, milli-CPU, bytes, pods */
    bool stated, limited, lent;
    int64_t nominal, borrowing, lending;
};

struct orr_scenario__flavored { /* of a holder, in the order they were read */
    struct orr_scenario__flavored *next;
    const char *flavor;
    struct amount amounts[KUEUE_QUOTAS];
};

struct orr_scenario__holder { /* a ClusterQueue or Cohort; its amounts are written when all are read
                               */
    struct orr_scenario__holder *next;
    const char *name, *weight;
    struct orr_scenario__node *queue; /* NULL: others name it as the cohort above them */
    bool cohort, stated, summed, summing;
    struct orr_scenario__flavored *own, *total;
};

/* --- reading --- */

int orr_scenario__resource_of(const char *name)
{
    const size_t bytes = strlen(name);
    return strcmp(name, "cpu") == 0                             ? KUEUE_CPU
           : strcmp(name, "memory") == 0                        ? KUEUE_MEMORY
           : bytes > 4 && strcmp(name + bytes - 4, "/gpu") == 0 ? KUEUE_GPU
                                                                : KUEUE_RESOURCES;
}

int orr_scenario__quota_of(const char *name)
{
    const int resource = orr_scenario__resource_of(name);
    return strcmp(name, "pods") == 0     ? KUEUE_PODS
           : resource == KUEUE_RESOURCES ? KUEUE_QUOTAS
                                         : resource;
}

static bool parse_amount(int resource, const char *text, int64_t *out)
{
    const size_t bytes = strlen(text);
    return resource == KUEUE_CPU ? orr_parse_cpu(text, bytes, out)
           : resource != KUEUE_MEMORY
               ? orr_parse_i64(text, bytes, out)
               : orr_parse_i64(text, bytes, out) || /* without a unit: bytes */
                     orr_parse_memory(text, bytes, out);
}

static enum orr_status read_quantity(struct orr_scenario__load *load,
                                     const struct orr_scenario__node *map, const char *key,
                                     int resource, bool *stated, int64_t *out)
{
    const struct orr_scenario__node *value = orr_scenario__below(map, key);
    *stated = value != NULL;
    if (value == NULL) {
        return ORR_OK;
    }
    const char *text = value->kind == ORR_NODE_SCALAR ? value->text : "";
    return parse_amount(resource, text, out) && *out >= 0
               ? ORR_OK
               : orr_scenario__fail(load, &value->at, "%s: \"%.80s\" is no quantity of %s", key,
                                    text, resource_keys[resource]);
}

/* Rows of a run ask nothing else, and instances of MIG are GPUs. */
static void note_other(struct orr_scenario__load *load, const struct orr_scenario__node *quota,
                       const char *name)
{
    const char *why = strstr(name, "/mig-") != NULL ? "MIG instances count as GPUs"
                                                    : "rows ask GPUs, cpu and memory alone";
    orr_scenario__note(load, quota->at,
                       orr_scenario__format(load->arena, "quota of %.100s: %s", name, why));
}

static struct orr_scenario__flavored *
flavor_in(struct orr_scenario__load *load, struct orr_scenario__flavored **list, const char *flavor)
{
    while (*list != NULL && strcmp((*list)->flavor, flavor) != 0) {
        list = &(*list)->next;
    }
    if (*list == NULL) {
        *list = orr_arena_alloc(load->arena, 1, sizeof **list);
        (*list)->flavor = flavor;
    }
    return *list;
}

static enum orr_status read_quota(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *quota, const char *flavor,
                                  struct orr_scenario__flavored **list)
{
    const char *name = orr_scenario__text_below(quota, "name");
    if (name == NULL) {
        return orr_scenario__fail(load, &quota->at, "a resource needs a name");
    }
    const int resource = orr_scenario__quota_of(name);
    if (resource == KUEUE_QUOTAS) {
        note_other(load, quota, name);
        return ORR_OK;
    }
    if (resource == KUEUE_GPU && load->gpu_resource != NULL &&
        strcmp(load->gpu_resource, name) != 0) {
        orr_scenario__note(load, quota->at,
                           orr_scenario__format(load->arena,
                                                "%.100s beside %.100s: a run counts both as GPUs",
                                                name, load->gpu_resource));
    } else if (resource == KUEUE_GPU) {
        load->gpu_resource = name;
    }
    struct orr_scenario__flavored *flavored = flavor_in(load, list, flavor);
    struct amount *amount = &flavored->amounts[resource];
    if (amount->stated) {
        return orr_scenario__fail(load, &quota->at,
                                  "a second quota of \"%.80s\" in flavor \"%.80s\": GPUs, cpu, "
                                  "memory and pods are one resource each",
                                  name, flavored->flavor);
    }
    bool given;
    amount->stated = true;
    enum orr_status status =
        read_quantity(load, quota, "nominalQuota", resource, &given, &amount->nominal);
    if (status == ORR_OK) {
        status = read_quantity(load, quota, "borrowingLimit", resource, &amount->limited,
                               &amount->borrowing);
    }
    return status == ORR_OK ? read_quantity(load, quota, "lendingLimit", resource, &amount->lent,
                                            &amount->lending)
                            : status;
}

static enum orr_status read_flavor(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *flavor,
                                   struct orr_scenario__flavored **list)
{
    const char *name = orr_scenario__text_below(flavor, "name");
    const struct orr_scenario__node *resources = orr_scenario__below(flavor, "resources");
    if (name == NULL) {
        return orr_scenario__fail(load, &flavor->at, "a flavor needs a name");
    }
    enum orr_status status = ORR_OK;
    for (uint32_t r = 0; status == ORR_OK && resources != NULL && r < resources->child_count; r++) {
        status = read_quota(load, resources->children[r], name, list);
    }
    return status;
}

static enum orr_status read_quotas(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *spec,
                                   struct orr_scenario__flavored **list)
{
    const struct orr_scenario__node *groups = orr_scenario__below(spec, "resourceGroups");
    enum orr_status status = ORR_OK;
    for (uint32_t g = 0; groups != NULL && g < groups->child_count; g++) {
        const struct orr_scenario__node *flavors =
            orr_scenario__below(groups->children[g], "flavors");
        for (uint32_t f = 0; status == ORR_OK && flavors != NULL && f < flavors->child_count; f++) {
            status = read_flavor(load, flavors->children[f], list);
        }
    }
    return status;
}

/* --- holders --- */

static struct orr_scenario__holder *holder_of(struct orr_scenario__load *load, const char *name,
                                              bool cohort)
{
    struct orr_scenario__holder **at = &load->holders;
    while (*at != NULL && ((*at)->cohort != cohort || strcmp((*at)->name, name) != 0)) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = orr_arena_alloc(load->arena, 1, sizeof **at);
        (*at)->name = name;
        (*at)->cohort = cohort;
    }
    return *at;
}

bool orr_scenario__has_cohort(struct orr_scenario__load *load, const char *name)
{
    return holder_of(load, name, true)->stated;
}

static void write_parent(struct orr_scenario__load *load, struct orr_scenario__node *queue,
                         const char *parent)
{
    if (parent != NULL && parent[0] != '\0') {
        orr_scenario__add_text(load, queue, "parent", parent, queue->at);
        (void)holder_of(load, parent, true);
    } else {
        orr_scenario__add_text(load, queue, "apart", "true", queue->at);
    }
}

enum orr_status orr_scenario__add_holder(struct orr_scenario__load *load, const char *name,
                                         bool cohort, const struct orr_scenario__node *spec,
                                         struct orr_scenario__node *queue)
{
    struct orr_scenario__holder *holder = holder_of(load, name, cohort);
    const char *parent = orr_scenario__text_below(spec, cohort ? "parentName" : "cohortName");
    parent = parent != NULL
                 ? parent
                 : orr_scenario__text_below(spec, cohort ? "parent" : "cohort"); /* v1beta1 */
    holder->stated = true;
    holder->queue = queue;
    write_parent(load, queue, parent);
    const enum orr_status status = orr_scenario__read_weight(load, spec, &holder->weight);
    return status == ORR_OK ? read_quotas(load, spec, &holder->own) : status;
}

/* --- what a cohort has with those below it --- */

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void add_amounts(struct amount *to, const struct amount *amount)
{
    to->nominal = sum_of(to->nominal, amount->nominal);
    to->stated = to->stated || amount->stated;
}

static void add_flavors(struct orr_scenario__load *load, struct orr_scenario__flavored **to,
                        const struct orr_scenario__flavored *from)
{
    for (; from != NULL; from = from->next) {
        struct orr_scenario__flavored *flavored = flavor_in(load, to, from->flavor);
        for (int r = 0; r < KUEUE_QUOTAS; r++) {
            add_amounts(&flavored->amounts[r], &from->amounts[r]);
        }
    }
}

/* A queue of short form below a cohort, of a run without flavors. */
static void add_short(struct orr_scenario__load *load, struct orr_scenario__flavored **to,
                      const struct orr_scenario__node *queue, const char *flavor)
{
    for (int r = 0; r < KUEUE_RESOURCES; r++) {
        struct amount amount = {.stated = true};
        const char *text =
            orr_scenario__text_below(orr_scenario__below(queue, resource_keys[r]), "quota");
        if (text != NULL && parse_amount(r, text, &amount.nominal)) {
            add_amounts(&flavor_in(load, to, flavor)->amounts[r], &amount);
        }
    }
}

static bool is_holder(const struct orr_scenario__load *load, const char *name)
{
    for (const struct orr_scenario__holder *h = load->holders; h != NULL; h = h->next) {
        if (!h->cohort && strcmp(h->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_below(const struct orr_scenario__node *queue, const char *cohort)
{
    const char *parent = queue != NULL ? orr_scenario__text_below(queue, "parent") : NULL;
    return parent != NULL && strcmp(parent, cohort) == 0;
}

static void sum_holder(struct orr_scenario__load *load, struct orr_scenario__holder *holder,
                       const struct orr_scenario__node *queues, const char *only)
{
    if (holder->summed || holder->summing) {
        return; /* in a circle: the tree of queues says so later */
    }
    holder->summing = true;
    add_flavors(load, &holder->total, holder->own);
    for (uint32_t q = 0; only != NULL && q < queues->child_count; q++) {
        const struct orr_scenario__node *queue = queues->children[q];
        if (is_below(queue, holder->name) && !is_holder(load, queue->key)) {
            add_short(load, &holder->total, queue, only);
        }
    }
    for (struct orr_scenario__holder *child = load->holders; child != NULL; child = child->next) {
        if (is_below(child->queue, holder->name)) {
            sum_holder(load, child, queues, only);
            add_flavors(load, &holder->total, child->total);
        }
    }
    holder->summed = true;
}

/* --- writing --- */

static const char *amount_text(struct orr_scenario__load *load, int resource, int64_t amount)
{
    static const char *const units[KUEUE_QUOTAS] = {"", "m", "B", ""};
    return orr_scenario__format(load->arena, "%lld%s", (long long)amount, units[resource]);
}

static void write_value(struct orr_scenario__load *load, struct orr_scenario__node *map,
                        const char *key, const char *text, const char *note)
{
    orr_scenario__add(load, map, key, map->at, orr_scenario__scalar(load, text, note, map->at));
}

/* Limits are the holder's own; what is borrowed comes on top of all it has with those below it. */
static void write_amounts(struct orr_scenario__load *load,
                          const struct orr_scenario__holder *holder, struct orr_scenario__node *map,
                          const struct amount totals[KUEUE_QUOTAS],
                          const struct amount own[KUEUE_QUOTAS])
{
    const char *weight = holder->weight;
    struct orr_scenario__node *lend = NULL;
    for (int r = 0; r < KUEUE_QUOTAS; r++) {
        if (!totals[r].stated) {
            continue;
        }
        struct orr_scenario__node *amounts =
            orr_scenario__add_map(load, map, resource_keys[r], map->at);
        const int64_t total = totals[r].nominal;
        write_value(load, amounts, "quota", amount_text(load, r, total),
                    holder->cohort ? cohort_note : NULL);
        if (weight != NULL && r == KUEUE_GPU) {
            orr_scenario__add_text(load, amounts, "weight", weight, map->at);
        }
        if (own[r].limited) {
            const int64_t limit = sum_of(total, own[r].borrowing);
            write_value(load, amounts, "limit", amount_text(load, r, limit), limit_note);
        }
        if (own[r].lent) {
            lend = lend != NULL ? lend : orr_scenario__add_map(load, map, "lend", map->at);
            orr_scenario__add_text(load, lend, resource_keys[r],
                                   amount_text(load, r, own[r].lending), map->at);
        }
    }
}

static const struct amount *own_of(const struct orr_scenario__holder *holder, const char *flavor)
{
    static const struct amount none[KUEUE_QUOTAS];
    const struct orr_scenario__flavored *own = holder->own;
    while (own != NULL && strcmp(own->flavor, flavor) != 0) {
        own = own->next;
    }
    return own != NULL ? own->amounts : none;
}

/* Of all nodes: there is one flavor at most. A ClusterQueue without GPUs borrows none either. A
 * Cohort without quota of a resource that ClusterQueues have quota of has 0 of it. */
static void write_plain(struct orr_scenario__load *load, const struct orr_scenario__holder *holder,
                        unsigned covered, struct orr_scenario__node *queue)
{
    struct amount totals[KUEUE_QUOTAS] = {{0}}, own[KUEUE_QUOTAS] = {{0}};
    if (holder->total != NULL) {
        memcpy(totals, holder->total->amounts, sizeof totals);
        memcpy(own, own_of(holder, holder->total->flavor), sizeof own);
    }
    own[KUEUE_GPU].limited =
        own[KUEUE_GPU].limited || (!holder->cohort && !totals[KUEUE_GPU].stated);
    totals[KUEUE_GPU].stated = true;
    for (int r = 0; r < KUEUE_QUOTAS; r++) {
        totals[r].stated = totals[r].stated || (holder->cohort && (covered >> r & 1) != 0);
    }
    write_amounts(load, holder, queue, totals, own);
}

/* Kueue goes by flavors, which have no GPUs here; other policies go by the queue's own limit. */
static void write_no_gpus(struct orr_scenario__load *load,
                          const struct orr_scenario__holder *holder,
                          struct orr_scenario__node *queue)
{
    if (holder->cohort && holder->weight == NULL) {
        return;
    }
    struct orr_scenario__node *gpu = orr_scenario__add_map(load, queue, "gpu", queue->at);
    if (!holder->cohort) {
        orr_scenario__add_text(load, gpu, "limit", "0", queue->at);
    }
    if (holder->weight != NULL) {
        orr_scenario__add_text(load, gpu, "weight", holder->weight, queue->at);
    }
}

static void write_flavors(struct orr_scenario__load *load,
                          const struct orr_scenario__holder *holder,
                          struct orr_scenario__node *queue)
{
    struct orr_scenario__node *flavors = orr_scenario__add_map(load, queue, "flavors", queue->at);
    bool any_gpu = false;
    for (const struct orr_scenario__flavored *f = holder->total; f != NULL; f = f->next) {
        write_amounts(load, holder, orr_scenario__add_map(load, flavors, f->flavor, queue->at),
                      f->amounts, own_of(holder, f->flavor));
        any_gpu = any_gpu || f->amounts[KUEUE_GPU].stated;
    }
    if (!any_gpu) {
        write_no_gpus(load, holder, queue);
    }
}

/* The one flavor that all name, "" for none; NULL: several, or it is of some nodes only. */
static const char *only_flavor(const struct orr_scenario__load *load)
{
    const char *only = "";
    for (const struct orr_scenario__holder *h = load->holders; h != NULL; h = h->next) {
        for (const struct orr_scenario__flavored *f = h->own; f != NULL; f = f->next) {
            if (only[0] != '\0' && strcmp(only, f->flavor) != 0) {
                return NULL;
            }
            only = f->flavor;
        }
    }
    const struct orr_scenario__node *flavors = load->flavor_objects;
    for (uint32_t i = 0; flavors != NULL && i < flavors->child_count; i++) {
        if (flavors->children[i]->child_count > 0) {
            return NULL;
        }
    }
    return only;
}

/* Of which resources the ClusterQueue has quota, a bit each. */
static unsigned covered_by(const struct orr_scenario__holder *holder)
{
    unsigned covered = 0;
    for (const struct orr_scenario__flavored *f = holder->own; f != NULL; f = f->next) {
        for (int r = 0; r < KUEUE_QUOTAS; r++) {
            covered |= (unsigned)f->amounts[r].stated << r;
        }
    }
    return covered;
}

/* What every ClusterQueue covers; false: they differ, or there is quota of pods. */
static bool cover_alike(const struct orr_scenario__load *load, unsigned *covered)
{
    bool alike = true, any = false;
    *covered = 0;
    for (const struct orr_scenario__holder *h = load->holders; h != NULL; h = h->next) {
        const unsigned own = covered_by(h);
        alike = alike && (own >> KUEUE_PODS & 1) == 0;
        if (!h->cohort) {
            alike = alike && (!any || own == *covered);
            *covered |= own;
            any = true;
        }
    }
    return alike;
}

/* The one flavor of all nodes, which queues state since they do not have the same of it. */
static void keep_only(struct orr_scenario__load *load, const char *flavor,
                      struct orr_scenario__at at)
{
    if (load->flavor_objects == NULL) {
        load->flavor_objects = orr_scenario__node(load, ORR_NODE_MAP, at);
    }
    if (orr_scenario__find(load->flavor_objects, flavor) == NULL) {
        (void)orr_scenario__add_map(load, load->flavor_objects, flavor, at);
    }
}

static enum orr_status write_cohort(struct orr_scenario__load *load,
                                    const struct orr_scenario__holder *holder,
                                    struct orr_scenario__node *queues)
{
    if (orr_scenario__find(queues, holder->name) != NULL) {
        return orr_scenario__fail(
            load, &holder->queue->at,
            "there is a queue named \"%.80s\" already: a cohort needs another "
            "name",
            holder->name);
    }
    orr_scenario__add(load, queues, holder->name, holder->queue->at, holder->queue);
    return ORR_OK;
}

/* What they own is wanted again when a quota changes. */
static void keep_holders(struct orr_scenario__load *load)
{
    struct orr_scenario__holder **end = &load->settled;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = load->holders;
    load->holders = NULL;
}

enum orr_status orr_scenario__settle_cohorts(struct orr_scenario__load *load,
                                             struct orr_scenario__node *queues)
{
    unsigned covered;
    const bool alike = cover_alike(load, &covered);
    const char *only = only_flavor(load);
    enum orr_status status = ORR_OK;
    if (only != NULL && !alike) {
        keep_only(load, only, queues->at);
        only = NULL;
    }
    for (struct orr_scenario__holder *h = load->holders; h != NULL; h = h->next) {
        if (h->queue == NULL) { /* named by others only */
            h->queue = orr_scenario__node(load, ORR_NODE_MAP, queues->at);
            h->queue->whole = true;
            orr_scenario__add_text(load, h->queue, "apart", "true", queues->at);
        }
    }
    for (struct orr_scenario__holder *h = load->holders; h != NULL; h = h->next) {
        sum_holder(load, h, queues, only);
    }
    for (struct orr_scenario__holder *h = load->holders; h != NULL && status == ORR_OK;
         h = h->next) {
        if (only != NULL || h->total == NULL) {
            write_plain(load, h, only != NULL ? covered : 0, h->queue);
        } else {
            write_flavors(load, h, h->queue);
        }
        status = h->cohort ? write_cohort(load, h, queues) : ORR_OK;
    }
    keep_holders(load);
    load->flavor_objects = only == NULL ? load->flavor_objects : NULL;
    return status;
}

/* --- values that follow others: after each change of a queue --- */

static const struct orr_scenario__row *row_in(const struct orr_scenario__row *group,
                                              const char *key)
{
    const struct orr_scenario__row *row = group->rows;
    while (strcmp(row->key, key) != 0) {
        row++;
    }
    return row;
}

/* Flavors have rows of every resource, which parse as those of the queue itself do. */
static const struct orr_scenario__row *row_of(const char *resource, const char *key)
{
    return row_in(row_in(orr_scenario__row_at("queues", "flavors"), resource), key);
}

/* Quota or limit of a queue, of a flavor or (NULL) of all nodes; NULL: it has none. */
static struct orr_scenario__node *value_at(const struct orr_scenario__node *queue,
                                           const char *flavor, int resource, const char *key)
{
    const struct orr_scenario__node *map =
        flavor == NULL ? queue : orr_scenario__below(orr_scenario__below(queue, "flavors"), flavor);
    const struct orr_scenario__node *amounts = orr_scenario__below(map, resource_keys[resource]);
    struct orr_scenario__node *value =
        amounts == NULL || amounts->kind != ORR_NODE_MAP ? NULL : orr_scenario__find(amounts, key);
    return value == NULL || value->kind != ORR_NODE_SCALAR || value->text == NULL ? NULL : value;
}

static enum orr_status add_value(const struct orr_scenario__load *load,
                                 const struct orr_scenario__row *row,
                                 const struct orr_scenario__node *at, const char *text,
                                 struct orr_scenario__value *sum)
{
    char why[ORR_SCENARIO__WHY];
    if (sum->unlimited || strcmp(text, "unlimited") == 0) {
        sum->unlimited = true;
        return ORR_OK;
    }
    return orr_scenario__value_change(row, sum, '+', text, why)
               ? ORR_OK
               : orr_scenario__fail(load, &at->at, "%s: %s", row->key, why);
}

static void put_value(struct orr_scenario__load *load, const struct orr_scenario__row *row,
                      const struct orr_scenario__value *sum, struct orr_scenario__node *out)
{
    out->text = sum->unlimited ? "unlimited" : orr_scenario__value_text(load->arena, row, sum);
}

/* One that somebody stated since is his. */
static bool follows(const struct orr_scenario__node *value, const char *note)
{
    return value != NULL && value->note == note;
}

/* A cohort's own quota and those of the queues below it. */
static enum orr_status sum_quotas(struct orr_scenario__load *load,
                                  const struct orr_scenario__holder *holder,
                                  const struct orr_scenario__node *queues, const char *flavor,
                                  int resource, const struct amount *own)
{
    struct orr_scenario__node *quota =
        value_at(orr_scenario__find(queues, holder->name), flavor, resource, "quota");
    const struct orr_scenario__row *row = row_of(resource_keys[resource], "quota");
    struct orr_scenario__value sum = {0};
    char why[ORR_SCENARIO__WHY];
    if (!follows(quota, cohort_note)) {
        return ORR_OK;
    }
    enum orr_status status =
        orr_scenario__value_parse(row, amount_text(load, resource, own->nominal), &sum, why)
            ? ORR_OK
            : orr_scenario__fail(load, &quota->at, "quota: %s", why);
    for (uint32_t q = 0; q < queues->child_count && status == ORR_OK; q++) {
        const struct orr_scenario__node *below =
            is_below(queues->children[q], holder->name)
                ? value_at(queues->children[q], flavor, resource, "quota")
                : NULL;
        status = below != NULL ? add_value(load, row, below, below->text, &sum) : ORR_OK;
    }
    put_value(load, row, &sum, quota);
    return status;
}

/* What is borrowed comes on top of the quota. */
static enum orr_status sum_limit(struct orr_scenario__load *load,
                                 const struct orr_scenario__node *queue, const char *flavor,
                                 int resource, const struct amount *own)
{
    const struct orr_scenario__node *quota = value_at(queue, flavor, resource, "quota");
    struct orr_scenario__node *limit = value_at(queue, flavor, resource, "limit");
    const struct orr_scenario__row *row = row_of(resource_keys[resource], "limit");
    struct orr_scenario__value sum = {0};
    if (quota == NULL || !follows(limit, limit_note)) {
        return ORR_OK;
    }
    enum orr_status status = add_value(load, row, quota, quota->text, &sum);
    if (status == ORR_OK) {
        status = add_value(load, row, limit, amount_text(load, resource, own->borrowing), &sum);
    }
    put_value(load, row, &sum, limit);
    return status;
}

/* Depth follows the tree of cohorts. */
static enum orr_status follow(struct orr_scenario__load *load, struct orr_scenario__holder *holder,
                              const struct orr_scenario__node *queues)
{
    const struct orr_scenario__node *queue = orr_scenario__find(queues, holder->name);
    enum orr_status status = ORR_OK;
    if (holder->summed || queue == NULL) {
        return ORR_OK;
    }
    holder->summed = true; /* before those below: cohorts in a circle are an error later */
    for (struct orr_scenario__holder *h = load->settled;
         holder->cohort && h != NULL && status == ORR_OK; h = h->next) {
        if (h->cohort && is_below(orr_scenario__find(queues, h->name), holder->name)) {
            status = follow(load, h, queues);
        }
    }
    const struct orr_scenario__node *flavors = orr_scenario__below(queue, "flavors");
    const uint32_t count = flavors != NULL ? flavors->child_count : 0;
    for (uint32_t i = 0; i < (count + 1) * KUEUE_QUOTAS && status == ORR_OK; i++) {
        const uint32_t f = i / KUEUE_QUOTAS, r = i % KUEUE_QUOTAS;
        const char *flavor = f < count ? flavors->children[f]->key : NULL;
        const char *name = flavor != NULL          ? flavor
                           : holder->total != NULL ? holder->total->flavor
                                                   : "";
        const struct amount *own = &own_of(holder, name)[r];
        if (holder->cohort) {
            status = sum_quotas(load, holder, queues, flavor, (int)r, own);
        }
        status = status == ORR_OK ? sum_limit(load, queue, flavor, (int)r, own) : status;
    }
    return status;
}

enum orr_status orr_scenario__follow_quotas(struct orr_scenario__load *load,
                                            const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    enum orr_status status = ORR_OK;
    for (struct orr_scenario__holder *h = load->settled; h != NULL; h = h->next) {
        h->summed = false;
    }
    for (struct orr_scenario__holder *h = load->settled; h != NULL && status == ORR_OK;
         h = h->next) {
        status = queues != NULL ? follow(load, h, queues) : ORR_OK;
    }
    return status;
}

struct followers { /* values of queues that follow others, by their paths */
    const char **paths, **texts;
    uint32_t count;
};

static void add_followers(struct orr_scenario__load *load, const struct orr_scenario__node *queue,
                          const char *flavor, struct followers *out)
{
    static const char *const keys[] = {"quota", "limit"};
    for (int i = 0; i < 2 * KUEUE_QUOTAS; i++) {
        const int resource = i / 2;
        const struct orr_scenario__node *value = value_at(queue, flavor, resource, keys[i % 2]);
        if (!follows(value, cohort_note) && !follows(value, limit_note)) {
            continue;
        }
        out->paths[out->count] = orr_scenario__format(
            load->arena, "queues.%s%s%s.%s.%s", queue->key, flavor != NULL ? ".flavors." : "",
            flavor != NULL ? flavor : "", resource_keys[resource], keys[i % 2]);
        out->texts[out->count++] = value->text;
    }
}

static struct followers list_followers(struct orr_scenario__load *load,
                                       const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    struct followers out = {0};
    size_t most = 0;
    for (uint32_t q = 0; q < queues->child_count; q++) {
        const struct orr_scenario__node *flavors =
            orr_scenario__below(queues->children[q], "flavors");
        most += 1 + (flavors != NULL ? flavors->child_count : 0);
    }
    out.paths = orr_arena_alloc(load->arena, 2 * KUEUE_QUOTAS * most + 1, sizeof *out.paths);
    out.texts = orr_arena_alloc(load->arena, 2 * KUEUE_QUOTAS * most + 1, sizeof *out.texts);
    for (uint32_t q = 0; q < queues->child_count; q++) {
        const struct orr_scenario__node *queue = queues->children[q];
        const struct orr_scenario__node *flavors = orr_scenario__below(queue, "flavors");
        add_followers(load, queue, NULL, &out);
        for (uint32_t f = 0; flavors != NULL && f < flavors->child_count; f++) {
            add_followers(load, queue, flavors->children[f]->key, &out);
        }
    }
    return out;
}

static const char *keep(struct orr_scenario__load *load, const char *text)
{
    return orr_arena_strndup(load->arena, text, strlen(text));
}

enum orr_status orr_scenario__state_followers(struct orr_scenario__load *load,
                                              const struct orr_scenario__node *root,
                                              orr_scenario__apply_fn *apply, void *context,
                                              struct orr_scenario__node *set)
{
    static const char note[] = "follows what the event sets";
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_scenario__load scratch = *load;
    scratch.arena = &arena;
    const struct followers before = list_followers(&scratch, root);
    const enum orr_status status = apply(context);
    const struct followers now =
        status == ORR_OK ? list_followers(&scratch, root) : (struct followers){0};
    for (uint32_t i = 0, b = 0; i < now.count; i++) { /* one that was set follows no more */
        while (strcmp(before.paths[b], now.paths[i]) != 0) {
            b++;
        }
        if (strcmp(before.texts[b], now.texts[i]) != 0) {
            orr_scenario__add(load, set, keep(load, now.paths[i]), set->at,
                              orr_scenario__scalar(load, keep(load, now.texts[i]), note, set->at));
        }
    }
    orr_arena_release(&arena);
    return status;
}
