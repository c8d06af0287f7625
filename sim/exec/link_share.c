/* SPDX-License-Identifier: GPL-3.0-or-later */
/* link_share.c - max-min fair shares of links, worked out again only where sharers changed.
 *
 * A gang's demand on a link is what it would send there with nobody beside it. What protocols leave
 * of a link is divided by itself: what a gang does not get elsewhere is not handed on (one pass, no
 * fixed point), so a change reaches the sharers of the changed links and nobody else.
 */
#include <orrery/sim/link.h>

#include <orrery/base/sort.h>

struct sharer {
    uint32_t gang, nth;    /* it is the gang's nth crossing */
    int64_t demand, share; /* bytes a second */
};

struct link {
    struct sharer *sharers;
    uint32_t count, capacity;
    bool changed;
};

struct crossing { /* of a gang */
    uint32_t link;
    uint32_t at; /* its place among the sharers of the link */
};

struct gang {
    struct crossing *crossings;
    uint32_t count;
    int64_t slowdown_ppm;
    bool listed; /* in `touched` */
};

struct orr_link_sharers {
    const struct orr_fabric *fabric;
    struct link *links;
    struct gang *gangs;
    uint32_t gang_count;
    uint32_t *changed, changed_count, changed_capacity; /* links */
    uint32_t *touched, touched_count, touched_capacity; /* gangs */
    int64_t *demands, *shares;
    uint32_t scratch_capacity;
};

static int compare_demand(const void *a, const void *b, void *context)
{
    const int64_t *demands = context;
    int64_t x = demands[*(const uint32_t *)a], y = demands[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

void orr_link_divide(int64_t capacity, const int64_t *demands, uint32_t count, int64_t *shares)
{
    uint32_t *order = orr_alloc(count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    orr_sort(order, count, sizeof *order, compare_demand, demands);
    int64_t left = capacity;
    uint32_t i = 0;
    while (i < count && demands[order[i]] <= left / (int64_t)(count - i)) { /* smallest first */
        shares[order[i]] = demands[order[i]];
        left -= demands[order[i++]];
    }
    int64_t even = i < count ? left / (int64_t)(count - i) : 0;
    for (; i < count; i++) {
        shares[order[i]] = even;
    }
    orr_free(order);
}

struct orr_link_sharers *orr_link_sharers_open(const struct orr_fabric *fabric, uint32_t gang_count)
{
    struct orr_link_sharers *sharers = orr_zalloc(1, sizeof *sharers);
    sharers->fabric = fabric;
    sharers->links = orr_zalloc(fabric->link_count, sizeof *sharers->links);
    sharers->gangs = orr_zalloc(gang_count, sizeof *sharers->gangs);
    sharers->gang_count = gang_count;
    for (uint32_t g = 0; g < gang_count; g++) {
        sharers->gangs[g].slowdown_ppm = ORR_PPM;
    }
    return sharers;
}

void orr_link_sharers_close(struct orr_link_sharers *sharers)
{
    if (sharers == NULL) {
        return;
    }
    for (uint32_t l = 0; l < sharers->fabric->link_count; l++) {
        orr_free(sharers->links[l].sharers);
    }
    for (uint32_t g = 0; g < sharers->gang_count; g++) {
        orr_free(sharers->gangs[g].crossings);
    }
    orr_free(sharers->links);
    orr_free(sharers->gangs);
    orr_free(sharers->changed);
    orr_free(sharers->touched);
    orr_free(sharers->demands);
    orr_free(sharers->shares);
    orr_free(sharers);
}

static void note_link(struct orr_link_sharers *sharers, uint32_t link)
{
    if (!sharers->links[link].changed) {
        sharers->links[link].changed = true;
        sharers->changed =
            ORR_ROOM_FOR_ONE(sharers->changed, sharers->changed_count, sharers->changed_capacity);
        sharers->changed[sharers->changed_count++] = link;
    }
}

static void note_gang(struct orr_link_sharers *sharers, uint32_t gang)
{
    if (!sharers->gangs[gang].listed) {
        sharers->gangs[gang].listed = true;
        sharers->touched =
            ORR_ROOM_FOR_ONE(sharers->touched, sharers->touched_count, sharers->touched_capacity);
        sharers->touched[sharers->touched_count++] = gang;
    }
}

/* What a gang wants of a link, which alone it gets: never more than there is. */
static int64_t within(double demand, int64_t usable)
{
    const int64_t bytes_s = demand < 1e18 ? (int64_t)(demand + 0.5) : INT64_MAX / 4;
    return bytes_s < usable ? bytes_s : usable;
}

void orr_link_sharers_join(struct orr_link_sharers *sharers, uint32_t gang,
                           const struct orr_link_use *uses, uint32_t count, double bytes_s)
{
    struct gang *g = &sharers->gangs[gang];
    ORR_ASSERT(gang < sharers->gang_count && g->count == 0);
    g->crossings = count > 0 ? orr_alloc(count, sizeof *g->crossings) : NULL;
    g->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct link *link = &sharers->links[uses[i].link];
        const int64_t usable = orr_fabric_usable_bytes_s(sharers->fabric, uses[i].link);
        double demand = uses[i].share * bytes_s;
        g->crossings[i] = (struct crossing){.link = uses[i].link, .at = link->count};
        link->sharers = ORR_ROOM_FOR_ONE(link->sharers, link->count, link->capacity);
        link->sharers[link->count++] =
            (struct sharer){.gang = gang, .nth = i, .demand = within(demand, usable)};
        note_link(sharers, uses[i].link);
    }
}

/* The last of its sharers takes the place. */
static void take_out(struct orr_link_sharers *sharers, struct crossing crossing)
{
    struct link *link = &sharers->links[crossing.link];
    const struct sharer *last = &link->sharers[--link->count];
    link->sharers[crossing.at] = *last;
    sharers->gangs[last->gang].crossings[last->nth].at = crossing.at;
    note_link(sharers, crossing.link);
}

void orr_link_sharers_leave(struct orr_link_sharers *sharers, uint32_t gang)
{
    struct gang *g = &sharers->gangs[gang];
    for (uint32_t i = 0; i < g->count; i++) {
        take_out(sharers, g->crossings[i]);
    }
    orr_free(g->crossings);
    g->crossings = NULL;
    g->count = 0;
    g->slowdown_ppm = ORR_PPM;
}

static void divide_link(struct orr_link_sharers *sharers, uint32_t l)
{
    struct link *link = &sharers->links[l];
    if (link->count > sharers->scratch_capacity) {
        sharers->scratch_capacity = (uint32_t)orr_grow(sharers->scratch_capacity, link->count);
        sharers->demands =
            orr_realloc(sharers->demands, sharers->scratch_capacity, sizeof *sharers->demands);
        sharers->shares =
            orr_realloc(sharers->shares, sharers->scratch_capacity, sizeof *sharers->shares);
    }
    for (uint32_t i = 0; i < link->count; i++) {
        sharers->demands[i] = link->sharers[i].demand;
    }
    orr_link_divide(orr_fabric_usable_bytes_s(sharers->fabric, l), sharers->demands, link->count,
                    sharers->shares);
    for (uint32_t i = 0; i < link->count; i++) {
        link->sharers[i].share = sharers->shares[i];
        note_gang(sharers, link->sharers[i].gang);
    }
    link->changed = false;
}

static int64_t worst_link(const struct orr_link_sharers *sharers, uint32_t gang)
{
    const struct gang *g = &sharers->gangs[gang];
    int64_t worst = ORR_PPM;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct crossing crossing = g->crossings[i];
        const struct sharer *sharer = &sharers->links[crossing.link].sharers[crossing.at];
        if (sharer->share < sharer->demand) {
            double times = (double)sharer->demand / (double)(sharer->share > 0 ? sharer->share : 1);
            int64_t ppm = times < 1e12 ? (int64_t)(times * ORR_PPM + 0.5) : INT64_MAX;
            worst = ppm > worst ? ppm : worst;
        }
    }
    return worst;
}

const uint32_t *orr_link_sharers_settle(struct orr_link_sharers *sharers, uint32_t *count)
{
    sharers->touched_count = 0;
    for (uint32_t i = 0; i < sharers->changed_count; i++) {
        divide_link(sharers, sharers->changed[i]);
    }
    sharers->changed_count = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sharers->touched_count; i++) {
        uint32_t gang = sharers->touched[i];
        int64_t ppm = worst_link(sharers, gang);
        sharers->gangs[gang].listed = false;
        if (ppm != sharers->gangs[gang].slowdown_ppm) {
            sharers->gangs[gang].slowdown_ppm = ppm;
            sharers->touched[kept++] = gang;
        }
    }
    orr_sort(sharers->touched, kept, sizeof *sharers->touched, orr_compare_u32, NULL);
    *count = kept;
    return sharers->touched;
}

int64_t orr_link_sharers_slowdown_ppm(const struct orr_link_sharers *sharers, uint32_t gang)
{
    return sharers->gangs[gang].slowdown_ppm;
}
