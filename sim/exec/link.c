/* SPDX-License-Identifier: GPL-3.0-or-later */
/* link.c - from spans to the levels and links they cross.
 *
 *   GPUs --NVLink--> islands --PCIe--> nodes --NICs--> racks --uplinks--> blocks ...
 *
 * Each level joins the groups that the levels inside it have made. An NVLink domain may be part of
 * a node, a node, or a rack of nodes; then PCIe or NICs only join what NVLink does not.
 */
#include <orrery/sim/link.h>

#include <string.h>

#include <orrery/base/sort.h>

/* Fitted on the odd rows of the published figures (README.md): what is left of a line rate, and
 * the time of one pass. */
#define RING_EFFICIENCY 0.775 /* NVLink, data through every GPU */
#define SWITCH_EFFICIENCY                                                                          \
    1.0076 /* NVLink, sums made in the switch: less crosses than a ring needs */
#define NIC_EFFICIENCY   0.9414 /* and everything behind the NICs */
#define NVLINK_LATENCY_S 5.47e-6
/* Assumed: no published row is about small messages between nodes. */
#define PCIE_EFFICIENCY  0.8
#define PCIE_LATENCY_S   6e-6
#define NIC_LATENCY_S    10e-6
#define UPLINK_LATENCY_S 11e-6       /* NICs and one more pair of switches */
#define PCIE_BYTES_S     32000000000 /* PCIe 4.0 x16, where a node type does not say */

/* Line rates where a node type does not say: per GPU and direction, of vendors' data sheets. */
static const struct model_rate {
    const char *model;
    int64_t nvlink_bytes_s, nic_bytes_s;
} model_rates[] = {
    {"A100", 300000000000, 25000000000},  {"H100", 450000000000, 50000000000},
    {"H200", 450000000000, 50000000000},  {"B200", 900000000000, 50000000000},
    {"GB200", 900000000000, 50000000000},
};

static struct orr_line_rates rates_of(const struct orr_cluster *cluster,
                                      const struct orr_node_type *type)
{
    struct orr_line_rates rates = {.nvlink_bytes_s = type->nvlink_bytes_s,
                                   .pcie_bytes_s =
                                       type->pcie_bytes_s > 0 ? type->pcie_bytes_s : PCIE_BYTES_S,
                                   .nic_bytes_s = type->nic_bytes_s,
                                   .nics = type->nics};
    const char *model =
        type->gpu_model == ORR_NONE ? "" : orr_idmap_name(&cluster->models, type->gpu_model);
    for (size_t i = 0; i < sizeof model_rates / sizeof model_rates[0]; i++) {
        const struct model_rate *known = &model_rates[i];
        if (strcmp(known->model, model) == 0) {
            rates.nvlink_bytes_s =
                rates.nvlink_bytes_s > 0 ? rates.nvlink_bytes_s : known->nvlink_bytes_s;
            rates.nic_bytes_s = rates.nic_bytes_s > 0 ? rates.nic_bytes_s : known->nic_bytes_s;
            rates.nics = rates.nics > 0 ? rates.nics : type->gpus;
        }
    }
    return rates;
}

static const struct orr_line_rates *rates_at(const struct orr_fabric *fabric, uint32_t node)
{
    return &fabric->rates[fabric->cluster->nodes[node].type];
}

static int64_t nic_bytes_of(const struct orr_fabric *fabric, uint32_t node)
{
    const struct orr_line_rates *rates = rates_at(fabric, node);
    return (int64_t)rates->nics * rates->nic_bytes_s;
}

/* Nodes of a pool lie in the cluster side by side; a domain larger than a node takes whole runs. */
static void group_by_nvlink(struct orr_fabric *fabric)
{
    const struct orr_cluster *cluster = fabric->cluster;
    uint32_t group = 0, in_group = 0;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        uint32_t wide = type->gpus > 0 ? type->nvlink_domain / type->gpus : 1;
        bool same_pool = n > 0 && cluster->nodes[n].pool == cluster->nodes[n - 1].pool &&
                         cluster->nodes[n].type == cluster->nodes[n - 1].type;
        if (n > 0 && (!same_pool || in_group >= wide)) {
            group++;
            in_group = 0;
        }
        fabric->nvlink_group[n] = group;
        in_group++;
    }
}

static double oversubscription(const struct orr_level *level)
{
    return level->oversubscription > 1.0 ? level->oversubscription : 1.0;
}

/* The domain of a node that hangs below `level`: in the next narrower level, or the node. */
static uint32_t child_of(const struct orr_cluster *cluster, uint32_t level, uint32_t node)
{
    return level + 1 < cluster->level_count ? cluster->levels[level + 1].domain_of_node[node]
                                            : node;
}

static uint32_t child_count(const struct orr_cluster *cluster, uint32_t level)
{
    return level + 1 < cluster->level_count ? cluster->levels[level + 1].domain_count
                                            : cluster->node_count;
}

/* Where the children are nodes, their uplinks are their NICs' way out and no links of their own. */
static void limit_nics(struct orr_fabric *fabric, const struct orr_level *level)
{
    uint32_t nodes = fabric->cluster->node_count;
    double over = oversubscription(level);
    fabric->first_uplink[level - fabric->cluster->levels] = ORR_NONE;
    for (uint32_t n = 0; n < nodes; n++) {
        int64_t *bytes_s = &fabric->link_bytes_s[n];
        int64_t most = level->uplink_bytes_s > 0 ? level->uplink_bytes_s : *bytes_s;
        if (most < INT64_MAX) {
            most = (int64_t)((double)most / over);
            *bytes_s = most < *bytes_s ? most : *bytes_s;
        }
    }
}

/* What a child's uplink carries: as stated, else all its NICs; less by the oversubscription. */
static void add_uplinks(struct orr_fabric *fabric, uint32_t l)
{
    const struct orr_cluster *cluster = fabric->cluster;
    const struct orr_level *level = &cluster->levels[l];
    uint32_t children = child_count(cluster, l);
    int64_t *bytes_s = fabric->link_bytes_s + fabric->link_count;
    double over = oversubscription(level);
    if (level->uplink_bytes_s == 0 && over <= 1.0) {
        fabric->first_uplink[l] = ORR_NONE;
        return;
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        uint32_t c = child_of(cluster, l, n);
        bytes_s[c] = level->uplink_bytes_s > 0 ? level->uplink_bytes_s
                                               : bytes_s[c] + nic_bytes_of(fabric, n);
    }
    for (uint32_t c = 0; c < children; c++) {
        bytes_s[c] = bytes_s[c] == 0 ? INT64_MAX : (int64_t)((double)bytes_s[c] / over);
    }
    fabric->first_uplink[l] = fabric->link_count;
    fabric->link_count += children;
}

void orr_fabric_init(struct orr_fabric *fabric, const struct orr_cluster *cluster)
{
    size_t links = cluster->node_count;
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        links += child_count(cluster, l);
    }
    *fabric = (struct orr_fabric){
        .cluster = cluster,
        .rates = orr_zalloc(cluster->type_count + (size_t)1, sizeof *fabric->rates),
        .nvlink_group = orr_zalloc(cluster->node_count, sizeof *fabric->nvlink_group),
        .first_uplink = orr_zalloc(cluster->level_count, sizeof *fabric->first_uplink),
        .link_bytes_s = orr_zalloc(links, sizeof *fabric->link_bytes_s),
        .link_count = cluster->node_count};
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        fabric->rates[t] = rates_of(cluster, &cluster->types[t]);
    }
    group_by_nvlink(fabric);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        int64_t bytes_s = nic_bytes_of(fabric, n);
        fabric->link_bytes_s[n] = bytes_s > 0 ? bytes_s : INT64_MAX;
    }
    for (uint32_t l = cluster->level_count; l-- > 0;) {
        if (l + 1 < cluster->level_count) {
            add_uplinks(fabric, l);
        } else {
            limit_nics(fabric, &cluster->levels[l]);
        }
    }
}

void orr_fabric_release(struct orr_fabric *fabric)
{
    orr_free(fabric->rates);
    orr_free(fabric->nvlink_group);
    orr_free(fabric->first_uplink);
    orr_free(fabric->link_bytes_s);
    *fabric = (struct orr_fabric){0};
}

int64_t orr_fabric_usable_bytes_s(const struct orr_fabric *fabric, uint32_t link)
{
    const int64_t line_rate = fabric->link_bytes_s[link];
    return line_rate == INT64_MAX ? line_rate : (int64_t)((double)line_rate * NIC_EFFICIENCY);
}

/* ---- hops ---- */

static double slower(double a, double b)
{
    return b < a ? b : a;
}

static double or_none(double bytes_s) /* 0: not known, so it never limits */
{
    return bytes_s > 0.0 ? bytes_s : 1e300;
}

/* NICs that `gpus` devices of a node reach: their part of the rails, at least one. */
static uint32_t rails(const struct orr_node_type *type, uint32_t nics, uint32_t gpus)
{
    uint32_t used = type->gpus > 0 ? (gpus * nics + type->gpus - 1) / type->gpus : nics;
    return used == 0 && nics > 0 ? 1 : used;
}

struct walk { /* what the levels so far have made of the gang */
    const struct orr_fabric *fabric;
    const struct orr_node_part *spans;
    uint32_t count; /* of spans */
    uint32_t total; /* groups left */
    struct orr_hop *hops;
    uint32_t hop_count;
};

static void add_hop(struct walk *walk, const struct orr_hop *hop, uint32_t groups_after)
{
    if (hop->groups > 1 && walk->hop_count < ORR_HOPS_MAX) {
        struct orr_hop *made = &walk->hops[walk->hop_count++];
        *made = *hop;
        made->steps = walk->total - groups_after;
    }
    walk->total = groups_after;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

uint32_t orr_span_islands(const struct orr_node_type *type, const struct orr_node_part *span)
{
    uint32_t size = type->nvlink_domain;
    if (size == 0 || size >= type->gpus) {
        return 1;
    }
    if (span->devices == 0) {
        return (span->gpus + size - 1) / size;
    }
    uint32_t islands = 0;
    for (uint32_t first = 0; first < type->gpus && first < 64; first += size) {
        uint64_t island = size < 64 ? ((UINT64_C(1) << size) - 1) << first : UINT64_MAX;
        islands += (span->devices & island) != 0;
    }
    return larger(islands, 1);
}

uint32_t orr_layout_extent(const struct orr_fabric *fabric, const struct orr_layout *layout)
{
    const struct orr_cluster *cluster = fabric->cluster;
    const struct orr_node_part *first = &layout->spans[0];
    bool one_group = true, one_island = true;
    for (uint32_t i = 0; i < layout->span_count; i++) {
        const struct orr_node_part *span = &layout->spans[i];
        const struct orr_node_type *type = orr_cluster_type(cluster, span->node);
        one_group =
            one_group && fabric->nvlink_group[span->node] == fabric->nvlink_group[first->node];
        one_island = one_island && orr_span_islands(type, span) == 1;
    }
    if (layout->gpus < 2) {
        return ORR_EXTENT_GPU;
    }
    if (one_group && one_island) {
        return ORR_EXTENT_NVLINK;
    }
    if (layout->span_count == 1) {
        return ORR_EXTENT_NODE;
    }
    for (uint32_t l = cluster->level_count; l-- > 0;) {
        const uint32_t *domain = cluster->levels[l].domain_of_node;
        uint32_t i = 1;
        while (i < layout->span_count && domain[layout->spans[i].node] == domain[first->node]) {
            i++;
        }
        if (i == layout->span_count && domain[first->node] != ORR_NONE) {
            return ORR_EXTENT_LEVEL + l;
        }
    }
    return ORR_EXTENT_CLUSTER;
}

/* Runs of spans of one NVLink group; each is one group afterwards, but for islands in a node. */
static void join_by_nvlink(struct walk *walk)
{
    const struct orr_fabric *f = walk->fabric;
    struct orr_hop nvlink = {
        .kind = ORR_HOP_NVLINK, .bytes_s = 1e300, .latency_s = NVLINK_LATENCY_S};
    struct orr_hop pcie = {.kind = ORR_HOP_PCIE, .bytes_s = 1e300, .latency_s = PCIE_LATENCY_S};
    uint32_t islands = 0, groups = 0;
    for (uint32_t i = 0, next = 0; i < walk->count; i = next) {
        uint32_t gpus = 0, most_islands = 1;
        for (next = i; next < walk->count && f->nvlink_group[walk->spans[next].node] ==
                                                 f->nvlink_group[walk->spans[i].node];
             next++) {
            const struct orr_node_part *span = &walk->spans[next];
            const struct orr_node_type *type = orr_cluster_type(f->cluster, span->node);
            const struct orr_line_rates *rates = rates_at(f, span->node);
            double left = type->nvlink_reduces ? SWITCH_EFFICIENCY : RING_EFFICIENCY;
            nvlink.bytes_s = slower(nvlink.bytes_s, or_none((double)rates->nvlink_bytes_s * left));
            pcie.bytes_s = slower(pcie.bytes_s, (double)rates->pcie_bytes_s * PCIE_EFFICIENCY);
            gpus += span->gpus;
            most_islands = larger(most_islands, orr_span_islands(type, span));
        }
        groups++;
        islands += most_islands;
        nvlink.groups = larger(nvlink.groups, (gpus + most_islands - 1) / most_islands);
        pcie.groups = larger(pcie.groups, most_islands);
        pcie.gpus = larger(pcie.gpus, gpus);
    }
    nvlink.gpus = nvlink.groups;
    add_hop(walk, &nvlink, islands);
    add_hop(walk, &pcie, groups);
}

/* ---- levels outside NVLink ----
 *
 * A level is joined from parts into wholes: NVLink groups into the domains below the first level
 * with uplinks, those into the domains below the next one, and at last into the cluster. */
#define BY_NVLINK ORR_NONE

struct keyed { /* a span by the whole and the part it lies in */
    uint32_t whole, part, gpus;
    double nics_bytes_s; /* of the NICs that its devices reach */
};

static double nics_of(const struct orr_fabric *f, const struct orr_node_part *span)
{
    const struct orr_node_type *type = orr_cluster_type(f->cluster, span->node);
    const struct orr_line_rates *rates = rates_at(f, span->node);
    return slower((double)rails(type, rates->nics, span->gpus) * (double)rates->nic_bytes_s,
                  (double)f->link_bytes_s[span->node]);
}

static uint32_t key_of(const struct orr_fabric *f, uint32_t level, uint32_t node)
{
    return level == BY_NVLINK                ? f->nvlink_group[node]
           : level < f->cluster->level_count ? child_of(f->cluster, level, node)
                                             : 0;
}

static int compare_keyed(const void *a, const void *b, void *context)
{
    const struct keyed *x = a, *y = b;
    (void)context;
    return x->whole != y->whole ? (x->whole > y->whole) - (x->whole < y->whole)
                                : (x->part > y->part) - (x->part < y->part);
}

/* Sorted by whole and part; caller frees. */
static struct keyed *key_spans(const struct walk *walk, uint32_t whole_level, uint32_t part_level)
{
    struct keyed *keyed = orr_alloc(walk->count, sizeof *keyed);
    for (uint32_t i = 0; i < walk->count; i++) {
        keyed[i] = (struct keyed){key_of(walk->fabric, whole_level, walk->spans[i].node),
                                  key_of(walk->fabric, part_level, walk->spans[i].node),
                                  walk->spans[i].gpus, nics_of(walk->fabric, &walk->spans[i])};
    }
    orr_sort(keyed, walk->count, sizeof *keyed, compare_keyed, NULL);
    return keyed;
}

struct tally {
    uint32_t wholes, parts, gpus; /* parts and GPUs of the whole that has most */
};

static struct tally tally_level(const struct walk *walk, uint32_t whole_level, uint32_t part_level)
{
    struct keyed *keyed = key_spans(walk, whole_level, part_level);
    struct tally tally = {0};
    for (uint32_t i = 0, next = 0; i < walk->count; i = next) {
        uint32_t parts = 0, gpus = 0;
        for (next = i; next < walk->count && keyed[next].whole == keyed[i].whole; next++) {
            parts += next == i || keyed[next].part != keyed[next - 1].part;
            gpus += keyed[next].gpus;
        }
        tally.wholes++;
        tally.parts = larger(tally.parts, parts);
        tally.gpus = larger(tally.gpus, gpus);
    }
    orr_free(keyed);
    return tally;
}

/* Each group that NVLink made sends through the NICs that its devices reach, all of them at once.
 */
static double slowest_nics(const struct walk *walk)
{
    struct keyed *keyed = key_spans(walk, BY_NVLINK, BY_NVLINK);
    double slowest = 1e300, nics = 0.0;
    for (uint32_t i = 0; i < walk->count; i++) {
        nics += keyed[i].nics_bytes_s;
        if (i + 1 == walk->count || keyed[i + 1].part != keyed[i].part) {
            slowest = slower(slowest, or_none(nics * NIC_EFFICIENCY));
            nics = 0.0;
        }
    }
    orr_free(keyed);
    return slowest;
}

/* What leaves a part goes through the NICs of its nodes and then its uplink. */
static double slowest_uplink(const struct walk *walk, uint32_t level)
{
    const struct orr_fabric *f = walk->fabric;
    struct keyed *keyed = key_spans(walk, level, level);
    double slowest = 1e300, nics = 0.0;
    for (uint32_t i = 0; i < walk->count; i++) {
        nics += keyed[i].nics_bytes_s;
        if (i + 1 == walk->count || keyed[i + 1].part != keyed[i].part) {
            int64_t bytes_s = f->link_bytes_s[f->first_uplink[level] + keyed[i].part];
            slowest = slower(slowest, or_none(slower(nics, (double)bytes_s) * NIC_EFFICIENCY));
            nics = 0.0;
        }
    }
    orr_free(keyed);
    return slowest;
}

uint32_t orr_fabric_hops(const struct orr_fabric *fabric, const struct orr_layout *layout,
                         struct orr_hop hops[ORR_HOPS_MAX])
{
    const struct orr_cluster *cluster = fabric->cluster;
    struct walk walk = {.fabric = fabric,
                        .spans = layout->spans,
                        .count = layout->span_count,
                        .total = layout->gpus,
                        .hops = hops};
    if (walk.total < 2) {
        return 0;
    }
    join_by_nvlink(&walk);
    uint32_t part_level = BY_NVLINK;
    for (uint32_t l = cluster->level_count; walk.total > 1; l--) {
        /* l - 1 is the next wider level; past the widest one comes the cluster as a whole */
        while (l > 0 && fabric->first_uplink[l - 1] == ORR_NONE) {
            l--;
        }
        uint32_t whole_level = l > 0 ? l - 1 : cluster->level_count;
        struct tally tally = tally_level(&walk, whole_level, part_level);
        bool nics = part_level == BY_NVLINK;
        struct orr_hop hop = {.kind = nics ? ORR_HOP_NIC : ORR_HOP_UPLINK,
                              .level = part_level,
                              .gpus = tally.gpus,
                              .groups = tally.parts,
                              .bytes_s =
                                  nics ? slowest_nics(&walk) : slowest_uplink(&walk, part_level),
                              .latency_s = nics ? NIC_LATENCY_S : UPLINK_LATENCY_S};
        add_hop(&walk, &hop, tally.wholes);
        part_level = whole_level;
    }
    return walk.hop_count;
}

/* ---- time ---- */

/* Bytes over one group's way through level i for each byte that is reduced. A ring runs through
 * all GPUs of the gang whatever the level. */
static double share_of(enum orr_allreduce algorithm, const struct orr_hop *hops, uint32_t count,
                       uint32_t i)
{
    uint32_t n = algorithm == ORR_ALLREDUCE_RING ? hops[count - 1].gpus : hops[i].groups;
    return n > 1 ? 2.0 * (double)(n - 1) / (double)n : 0.0;
}

static uint32_t log2_up(uint32_t n)
{
    uint32_t log = 0;
    while (log < 31 && (UINT32_C(1) << log) < n) {
        log++;
    }
    return log;
}

double orr_allreduce_s(enum orr_allreduce algorithm, const struct orr_hop *hops, uint32_t count,
                       double bytes)
{
    double slowest = 0.0, sum = 0.0, latency = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        bool ring = algorithm == ORR_ALLREDUCE_RING;
        double moving = share_of(algorithm, hops, count, i) * bytes / hops[i].bytes_s;
        uint32_t passes = ring                              ? hops[i].steps
                          : algorithm == ORR_ALLREDUCE_TREE ? log2_up(hops[i].groups)
                                                            : hops[i].groups - 1;
        slowest = moving > slowest ? moving : slowest;
        sum += moving;
        latency += 2.0 * (double)passes * hops[i].latency_s;
    }
    return (algorithm == ORR_ALLREDUCE_HIERARCHICAL ? sum : slowest) + latency;
}

/* ---- links ---- */

struct use_list {
    struct orr_link_use *uses;
    uint32_t count, room;
};

static void add_use(struct use_list *list, uint32_t link, double share)
{
    if (list->count < list->room) {
        list->uses[list->count] = (struct orr_link_use){link, share};
    }
    list->count++;
}

static void add_nics(const struct walk *walk, double share, struct use_list *list)
{
    const struct orr_fabric *f = walk->fabric;
    for (uint32_t i = 0, next = 0; i < walk->count; i = next) {
        uint32_t gpus = 0;
        for (next = i; next < walk->count && f->nvlink_group[walk->spans[next].node] ==
                                                 f->nvlink_group[walk->spans[i].node];
             next++) {
            gpus += walk->spans[next].gpus;
        }
        for (uint32_t j = i; j < next; j++) { /* the nodes of a domain carry it together */
            add_use(list, walk->spans[j].node, share * (double)walk->spans[j].gpus / (double)gpus);
        }
    }
}

static void add_uplinks_of(const struct walk *walk, uint32_t level, double share,
                           struct use_list *list)
{
    struct keyed *keyed = key_spans(walk, level, level);
    for (uint32_t i = 0; i < walk->count; i++) {
        if (i == 0 || keyed[i].part != keyed[i - 1].part) {
            add_use(list, walk->fabric->first_uplink[level] + keyed[i].part, share);
        }
    }
    orr_free(keyed);
}

uint32_t orr_fabric_uses(const struct orr_fabric *fabric, enum orr_allreduce algorithm,
                         const struct orr_layout *layout, struct orr_link_use *uses, uint32_t room)
{
    struct orr_hop hops[ORR_HOPS_MAX];
    uint32_t hop_count = orr_fabric_hops(fabric, layout, hops);
    struct walk walk = {.fabric = fabric, .spans = layout->spans, .count = layout->span_count};
    struct use_list list = {.uses = uses, .room = room};
    double nics = 0.0; /* what leaves a node may cross several levels: the one with most counts */
    for (uint32_t h = 0; h < hop_count; h++) {
        double share = share_of(algorithm, hops, hop_count, h);
        if (hops[h].kind == ORR_HOP_NIC || hops[h].kind == ORR_HOP_UPLINK) {
            nics = share > nics ? share : nics;
        }
        if (hops[h].kind == ORR_HOP_UPLINK) {
            add_uplinks_of(&walk, hops[h].level, share, &list);
        }
    }
    if (nics > 0.0) {
        add_nics(&walk, nics, &list);
    }
    return list.count;
}
