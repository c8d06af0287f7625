/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_model.c - quotas, preemption, flavors, order and turns of one cycle, as they are described.
 */
#include "kueue_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t max0(int64_t x)
{
    return x > 0 ? x : 0;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- quotas --- */

static int64_t local_of(const model *m, int n, int c);

static int64_t whole(const model *m, int n, int c)
{
    int64_t sum = m->nominal[n][c];
    for (int k = 0; k < NODES; k++) {
        sum += m->parent[k] == n ? whole(m, k, c) - local_of(m, k, c) : 0;
    }
    return sum;
}

static int64_t local_of(const model *m, int n, int c)
{
    return m->lend[n][c] < 0 ? 0 : max0(whole(m, n, c) - m->lend[n][c]);
}

static int64_t usage(const model *m, int n, int c)
{
    int64_t sum = 0;
    if (n < QUEUES) {
        sum = m->extra[n][c];
        for (int w = 0; w < ALL; w++) {
            sum += m->all[w].held && !m->off[w] && m->all[w].queue == n ? m->all[w].usage[c] : 0;
        }
        return sum;
    }
    for (int k = 0; k < NODES; k++) {
        sum += m->parent[k] == n ? max0(usage(m, k, c) - local_of(m, k, c)) : 0;
    }
    return sum;
}

static int64_t local_available(const model *m, int n, int c)
{
    return max0(local_of(m, n, c) - usage(m, n, c));
}

static int64_t free_of(const model *m, int n, int c)
{
    const int64_t q = whole(m, n, c), u = usage(m, n, c), own = local_of(m, n, c);
    if (m->parent[n] == NONE) {
        return q - u;
    }
    int64_t above = free_of(m, m->parent[n], c);
    if (m->borrow[n][c] >= 0) {
        above = least_of(above, (q - own) - max0(u - own) + m->borrow[n][c]);
    }
    return local_available(m, n, c) + above;
}

int64_t kueue_model_available(const model *m, int n, int c)
{
    return max0(free_of(m, n, c));
}

static int64_t potential(const model *m, int n, int c)
{
    if (m->parent[n] == NONE) {
        return whole(m, n, c);
    }
    const int64_t most = local_of(m, n, c) + potential(m, m->parent[n], c);
    return m->borrow[n][c] >= 0 ? least_of(most, whole(m, n, c) + m->borrow[n][c]) : most;
}

static bool borrowing_with(const model *m, int n, int c, int64_t v)
{
    return whole(m, n, c) < usage(m, n, c) + v;
}

static int height(const model *m, int cohort)
{
    int tallest = -1;
    bool children = false;
    for (int k = 0; k < NODES; k++) {
        if (m->parent[k] == cohort) {
            children = true;
            if (k >= QUEUES && height(m, k) > tallest) {
                tallest = height(m, k);
            }
        }
    }
    return !children ? 0 : 1 + tallest > 1 ? 1 + tallest : 1;
}

static int find_height(const model *m, int q, int c, int64_t v, bool *reclaims)
{
    *reclaims = m->parent[q] != NONE;
    if (m->parent[q] == NONE || !borrowing_with(m, q, c, v)) {
        return 0;
    }
    int64_t rest = v - local_available(m, q, c);
    int a = m->parent[q];
    for (;; a = m->parent[a]) {
        if (!borrowing_with(m, a, c, rest)) {
            *reclaims = m->parent[a] != NONE;
            return height(m, a);
        }
        rest -= local_available(m, a, c);
        if (m->parent[a] == NONE) {
            *reclaims = false;
            return height(m, a);
        }
    }
}

static double share(const model *m, int n)
{
    double ratio = 0;
    int root = n;
    if (m->parent[n] == NONE) {
        return 0;
    }
    while (m->parent[root] != NONE) {
        root = m->parent[root];
    }
    for (int r = 0; r < RESOURCES; r++) {
        int64_t borrowed = 0, lendable = 0;
        for (int f = 0; f < FLAVORS; f++) {
            const int c = f * RESOURCES + r;
            borrowed += max0(usage(m, n, c) - whole(m, n, c));
            lendable += potential(m, m->parent[n], c);
        }
        if (lendable > 0 && (double)borrowed * 1000 / (double)lendable > ratio) {
            ratio = (double)borrowed * 1000 / (double)lendable;
        }
    }
    return ratio / m->weight[n];
}

static bool borrows(const model *m, int n)
{
    bool some = false;
    for (int c = 0; c < CELLS && m->parent[n] != NONE; c++) {
        some = some || usage(m, n, c) > whole(m, n, c);
    }
    return some;
}

static bool is_above(const model *m, int cohort, int n)
{
    while (n != NONE && n != cohort) {
        n = m->parent[n];
    }
    return n == cohort;
}

static int common(const model *m, int a, int b)
{
    int up = m->parent[a];
    while (up != NONE && !is_above(m, up, b)) {
        up = m->parent[up];
    }
    return up;
}

/* --- preemption --- */

typedef struct {
    model *m;
    int by, queue;
    const bool *need;
    const int64_t *request;
} problem;

static bool lets(const workload *w, const workload *x, enum orr_kueue_preemption policy)
{
    return policy == ORR_KUEUE_ANY ||
           (policy == ORR_KUEUE_LOWER_PRIORITY && w->priority > x->priority) ||
           (policy == ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY &&
            (w->priority > x->priority || (w->priority == x->priority && w->created < x->created)));
}

static bool over(const problem *p, int n)
{
    for (int c = 0; c < CELLS; c++) {
        if (p->need[c] && usage(p->m, n, c) > whole(p->m, n, c)) {
            return true;
        }
    }
    return false;
}

static bool uses(const problem *p, const workload *x)
{
    for (int c = 0; c < CELLS; c++) {
        if (p->need[c] && x->usage[c] > 0) {
            return true;
        }
    }
    return false;
}

static bool before(const problem *p, int a, int b)
{
    const workload *x = &p->m->all[a], *y = &p->m->all[b];
    if (x->evicted != y->evicted) {
        return x->evicted;
    }
    if ((x->queue == p->queue) != (y->queue == p->queue)) {
        return y->queue == p->queue;
    }
    if (x->priority != y->priority) {
        return x->priority < y->priority;
    }
    return x->reserved != y->reserved ? x->reserved > y->reserved : x->rank < y->rank;
}

static void put_in_order(const problem *p, list *to, int w, int reason)
{
    int at = to->count++;
    for (; at > 0 && before(p, w, to->items[at - 1]); at--) {
        to->items[at] = to->items[at - 1];
        to->reasons[at] = to->reasons[at - 1];
    }
    to->items[at] = w;
    to->reasons[at] = reason;
}

static bool fits(const problem *p, bool borrow)
{
    for (int c = 0; c < CELLS; c++) {
        if (p->request[c] > 0 && ((!borrow && borrowing_with(p->m, p->queue, c, p->request[c])) ||
                                  p->request[c] > kueue_model_available(p->m, p->queue, c))) {
            return false;
        }
    }
    return true;
}

static void restore(const problem *p, const list *targets)
{
    for (int i = 0; i < targets->count; i++) {
        p->m->off[targets->items[i]] = false;
    }
}

static void fill_back(const problem *p, list *targets, bool borrow)
{
    for (int i = targets->count - 2; i >= 0; i--) {
        p->m->off[targets->items[i]] = false;
        if (fits(p, borrow)) {
            targets->count--;
            targets->items[i] = targets->items[targets->count];
        } else {
            p->m->off[targets->items[i]] = true;
        }
    }
    restore(p, targets);
}

enum { HIERARCHICAL, WITHOUT_BORROWING, WHILE_BORROWING, OWN };

typedef struct {
    list lists[3]; /* H, R, own */
    int lca[ALL], variant[ALL];
} candidates;

static void collect(const problem *p, int node, int skip, int lca, bool advantage, candidates *out)
{
    model *m = p->m;
    const workload *w = &m->all[p->by];
    for (int k = 0; k < NODES; k++) {
        if (m->parent[k] != node || k == skip || k == p->queue || !over(p, k)) {
            continue;
        }
        if (k >= QUEUES) {
            collect(p, k, NONE, lca, advantage, out);
            continue;
        }
        for (int x = 0; x < ALL; x++) {
            const workload *is = &m->all[x];
            if (is->held && !is->hidden && is->queue == k && uses(p, is) &&
                lets(w, is, m->reclaim[p->queue])) {
                const bool without = !m->borrow_within[p->queue] || is->priority >= w->priority;
                out->lca[x] = lca;
                out->variant[x] = advantage ? HIERARCHICAL
                                  : without ? WITHOUT_BORROWING
                                            : WHILE_BORROWING;
                put_in_order(p, &out->lists[advantage ? 0 : 1], x, 0);
            }
        }
    }
}

static bool valid(const problem *p, const candidates *from, int x, bool borrow)
{
    const model *m = p->m;
    const int queue = m->all[x].queue;
    if (queue == p->queue) {
        return true;
    }
    if ((borrow && from->variant[x] == WITHOUT_BORROWING) || !over(p, queue)) {
        return false;
    }
    for (int a = m->parent[queue]; a != from->lca[x]; a = m->parent[a]) {
        if (!over(p, a)) {
            return false;
        }
    }
    return true;
}

static bool attempt(const problem *p, const candidates *from, bool borrow, list *targets)
{
    targets->count = 0;
    for (int pass = 0; pass < 2; pass++) { /* those evicted already, then the others */
        for (int l = 0; l < 3; l++) {
            for (int i = 0; i < from->lists[l].count; i++) {
                const int x = from->lists[l].items[i];
                if (p->m->all[x].evicted != (pass == 0) || !valid(p, from, x, borrow)) {
                    continue;
                }
                p->m->off[x] = true;
                targets->items[targets->count++] = x;
                if (fits(p, borrow)) {
                    fill_back(p, targets, borrow);
                    return true;
                }
            }
        }
    }
    restore(p, targets);
    targets->count = 0;
    return false;
}

static void collect_own(const problem *p, list *to)
{
    const model *m = p->m;
    for (int x = 0; x < ALL && m->within[p->queue] != ORR_KUEUE_NEVER; x++) {
        const workload *is = &m->all[x];
        if (is->held && !is->hidden && is->queue == p->queue && uses(p, is) &&
            lets(&m->all[p->by], is, m->within[p->queue])) {
            put_in_order(p, to, x, 0);
        }
    }
}

static void classic(const problem *p, list *targets)
{
    model *m = p->m;
    candidates from = {0};
    int64_t rest[CELLS];
    bool advantage = true, under = true;
    collect_own(p, &from.lists[2]);
    for (int c = 0; c < CELLS; c++) {
        const int64_t v = p->request[c];
        advantage = advantage && (v <= 0 || !borrowing_with(m, p->queue, c, v));
        rest[c] = v > 0 ? max0(v - local_available(m, p->queue, c)) : 0;
        under = under && (!p->need[c] || usage(m, p->queue, c) < m->nominal[p->queue][c]);
    }
    int done = p->queue;
    for (int a = m->parent[p->queue]; a != NONE && m->reclaim[p->queue] != ORR_KUEUE_NEVER;
         a = m->parent[a]) {
        collect(p, a, done, a, advantage, &from);
        bool room = true;
        for (int c = 0; c < CELLS; c++) {
            room = room && (p->request[c] <= 0 || !borrowing_with(m, a, c, rest[c]));
            rest[c] = max0(rest[c] - local_available(m, a, c));
        }
        advantage = advantage || room;
        done = a;
    }
    const bool forbidden = !m->borrow_within[p->queue];
    const bool nobody = from.lists[0].count == 0 && from.lists[1].count == 0;
    if (nobody || (forbidden && !under)) {
        (void)attempt(p, &from, true, targets);
    } else if (forbidden && from.lists[0].count == 0) {
        (void)(attempt(p, &from, false, targets) || attempt(p, &from, true, targets));
    } else {
        (void)(attempt(p, &from, true, targets) || attempt(p, &from, false, targets));
    }
}

/* --- fair sharing --- */

typedef struct {
    list left[QUEUES];
    bool pruned[NODES];
} ordering;

static int next_queue(const problem *p, ordering *o)
{
    const model *m = p->m;
    int root = p->queue;
    while (m->parent[root] != NONE) {
        root = m->parent[root];
    }
    if (root == p->queue) {
        return o->left[root].count > 0 ? root : NONE;
    }
    for (int at = root; !o->pruned[root];) {
        int queue = NONE, cohort = NONE;
        for (int k = 0; k < NODES; k++) {
            if (m->parent[k] != at || o->pruned[k]) {
                continue;
            }
            const bool apart = k < QUEUES ? k != p->queue : !is_above(m, k, p->queue);
            if ((k < QUEUES && o->left[k].count == 0) || (apart && !borrows(m, k))) {
                o->pruned[k] = true;
            } else if (k >= QUEUES) {
                cohort = cohort == NONE || share(m, k) >= share(m, cohort) ? k : cohort;
            } else if (queue == NONE || share(m, k) > share(m, queue) ||
                       (share(m, k) == share(m, queue) &&
                        before(p, o->left[k].items[0], o->left[queue].items[0]))) {
                queue = k;
            }
        }
        if (queue == NONE && cohort == NONE) {
            o->pruned[at] = true;
            at = root;
        } else if (cohort != NONE && (queue == NONE || share(m, cohort) >= share(m, queue))) {
            at = cohort;
        } else {
            return queue;
        }
    }
    return NONE;
}

static int take_first(list *from)
{
    const int first = from->items[0];
    from->count--;
    memmove(from->items, from->items + 1, (size_t)from->count * sizeof *from->items);
    return first;
}

static void move_usage(const problem *p, int64_t sign)
{
    for (int c = 0; c < CELLS; c++) {
        p->m->extra[p->queue][c] += p->request[c] > 0 ? sign * p->request[c] : 0;
    }
}

static bool fits_without(const problem *p)
{
    move_usage(p, -1);
    const bool good = fits(p, true);
    move_usage(p, 1);
    return good;
}

static int below_common(const model *m, int x, int lca)
{
    while (m->parent[x] != lca) {
        x = m->parent[x];
    }
    return x;
}

static bool first_strategy(const problem *p, ordering *o, ordering *retry, list *targets)
{
    model *m = p->m;
    bool within = true;
    for (int c = 0; c < CELLS; c++) {
        within = within && (!p->need[c] || usage(m, p->queue, c) <= m->nominal[p->queue][c]);
    }
    for (int t; (t = next_queue(p, o)) != NONE;) {
        int taken = NONE;
        if (t == p->queue || within) {
            taken = take_first(&o->left[t]);
            m->off[taken] = true;
        } else {
            const int lca = common(m, p->queue, t);
            const double mine = share(m, below_common(m, p->queue, lca));
            while (taken == NONE && o->left[t].count > 0) {
                const int x = take_first(&o->left[t]);
                m->off[x] = true;
                if (mine <= share(m, below_common(m, t, lca))) {
                    taken = x;
                } else {
                    m->off[x] = false;
                    retry->left[t].items[retry->left[t].count++] = x;
                }
            }
        }
        if (taken != NONE) {
            targets->items[targets->count++] = taken;
            if (fits_without(p)) {
                return true;
            }
        }
    }
    return false;
}

static bool second_strategy(const problem *p, ordering *retry, list *targets)
{
    model *m = p->m;
    for (int t; (t = next_queue(p, retry)) != NONE;) {
        const int lca = common(m, p->queue, t);
        if (share(m, below_common(m, p->queue, lca)) < share(m, below_common(m, t, lca))) {
            const int x = take_first(&retry->left[t]);
            m->off[x] = true;
            targets->items[targets->count++] = x;
            if (fits_without(p)) {
                return true;
            }
        }
        retry->pruned[t] = true;
    }
    return false;
}

static void fair(const problem *p, list *targets)
{
    model *m = p->m;
    ordering o = {0}, retry = {0};
    bool some = false;
    collect_own(p, &o.left[p->queue]);
    for (int x = 0; x < ALL; x++) {
        const workload *is = &m->all[x];
        if (is->held && !is->hidden && is->queue != p->queue && uses(p, is) &&
            common(m, p->queue, is->queue) != NONE && over(p, is->queue) &&
            lets(&m->all[p->by], is, m->reclaim[p->queue])) {
            put_in_order(p, &o.left[is->queue], x, 0);
        }
    }
    for (int q = 0; q < QUEUES; q++) {
        some = some || o.left[q].count > 0;
    }
    if (!some) {
        return;
    }
    move_usage(p, 1);
    const bool found =
        first_strategy(p, &o, &retry, targets) || second_strategy(p, &retry, targets);
    move_usage(p, -1);
    if (found) {
        fill_back(p, targets, true);
    } else {
        restore(p, targets);
        targets->count = 0;
    }
}

static void find_targets(const problem *p, list *targets)
{
    targets->count = 0;
    (p->m->fair ? fair : classic)(p, targets);
}

/* --- flavors --- */

static bool better(enum orr_kueue_preference preference, rating a, rating b)
{
    if (a.mode == NO_FIT || b.mode == NO_FIT) {
        return a.mode != NO_FIT;
    }
    if ((a.mode == NO_CANDIDATES) != (b.mode == NO_CANDIDATES)) {
        return b.mode == NO_CANDIDATES;
    }
    if (preference == ORR_KUEUE_PREEMPTION_OVER_BORROWING) {
        return a.level != b.level ? a.level < b.level : a.mode > b.mode;
    }
    return a.mode != b.mode ? a.mode > b.mode : a.level < b.level;
}

static rating rate(model *m, int by, int c, int64_t v)
{
    const int q = m->all[by].queue;
    bool reclaims, ignored;
    if (v > potential(m, q, c)) {
        return (rating){NO_FIT, 0};
    }
    const int level = find_height(m, q, c, v, &reclaims);
    if (v <= kueue_model_available(m, q, c)) {
        return (rating){FIT, level};
    }
    const bool borrow = m->borrow_within[q] || (m->fair && m->reclaim[q] != ORR_KUEUE_NEVER);
    if (m->nominal[q][c] < v && !reclaims && !borrow) {
        return (rating){NO_FIT, level};
    }
    bool need[CELLS] = {false}, own = false;
    int64_t request[CELLS] = {0};
    need[c] = true;
    request[c] = v;
    const problem p = {m, by, q, need, request};
    list targets = {.count = 0};
    find_targets(&p, &targets);
    if (targets.count == 0) {
        return (rating){NO_CANDIDATES, level};
    }
    for (int i = 0; i < targets.count; i++) {
        own = own || m->all[targets.items[i]].queue == q;
        m->off[targets.items[i]] = true;
    }
    const rating is = {own ? PREEMPT : RECLAIM, find_height(m, q, c, v, &ignored)};
    restore(&p, &targets);
    return is;
}

static bool goes_on(const model *m, int q, rating r)
{
    return r.mode <= NO_CANDIDATES || (r.mode < FIT && !m->stop_preempt[q]) ||
           (r.level > 0 && m->try_borrow[q]);
}

/* `only`: the flavor that it was nominated with; NONE: any. */
static assignment assign(model *m, int by, int64_t count, int only)
{
    const workload *w = &m->all[by];
    assignment best = {.mode = M_NO_FIT, .flavor = NONE, .count = count};
    rating best_rating = {NO_FIT, 1000};
    for (int i = 0; i < m->flavor_count[w->queue]; i++) {
        const int f = m->flavors[w->queue][i];
        if (only != NONE && f != only) {
            continue;
        }
        assignment is = {.mode = M_FIT, .flavor = f, .count = count};
        rating all = {FIT, 0};
        for (int r = 0; r < RESOURCES && all.mode != NO_FIT; r++) {
            const int c = f * RESOURCES + r;
            if (w->per_pod[r] < 0) {
                continue;
            }
            is.request[c] = w->per_pod[r] * count;
            const rating one = rate(m, by, c, is.request[c]);
            all = better(m->preference[w->queue], all, one) ? one : all;
            is.need[c] = one.mode != FIT;
            is.borrowing = one.level > is.borrowing ? one.level : is.borrowing;
        }
        is.mode = all.mode == FIT ? M_FIT : M_PREEMPT;
        if (all.mode != NO_FIT && !goes_on(m, w->queue, all)) {
            return is;
        }
        if (better(m->preference[w->queue], all, best_rating)) {
            best = is;
            best_rating = all;
        }
    }
    return best;
}

/* True: it fits, or will once the targets are gone. */
static bool try_count(model *m, entry *e, int64_t count, int only)
{
    const problem p = {m, e->workload, m->all[e->workload].queue, e->is.need, e->is.request};
    e->is = assign(m, e->workload, count, only);
    e->targets.count = 0;
    if (e->is.mode == M_PREEMPT) {
        find_targets(&p, &e->targets);
    }
    return e->is.mode == M_FIT || e->targets.count > 0;
}

static void nominate(model *m, entry *e, int only)
{
    const workload *w = &m->all[e->workload];
    if (try_count(m, e, w->count, only) || w->least >= w->count) {
        return;
    }
    const entry full = *e;
    entry good = full;
    int64_t low = 0, high = w->count - w->least + 1, found = -1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (try_count(m, e, w->count - middle, only)) {
            good = *e;
            found = high = middle;
        } else {
            low = middle + 1;
        }
    }
    *e = found >= 0 && low == found ? good : full;
}

/* --- order of entries --- */

static bool own_cells_borrow(const model *m, const entry *e, int n)
{
    for (int c = 0; c < CELLS; c++) {
        if (e->is.request[c] > 0 && usage(m, n, c) > whole(m, n, c)) {
            return true;
        }
    }
    return false;
}

typedef struct {
    bool borrows;
    double share;
} standing;

static standing stand(model *m, const entry *e, int cohort)
{
    const problem p = {m, e->workload, m->all[e->workload].queue, e->is.need, e->is.request};
    move_usage(&p, 1);
    const int n = below_common(m, p.queue, cohort);
    const standing is = {own_cells_borrow(m, e, n), share(m, n)};
    move_usage(&p, -1);
    return is;
}

static bool less(model *m, const entry *a, const entry *b, int cohort)
{
    const standing x = stand(m, a, cohort), y = stand(m, b, cohort);
    const workload *v = &m->all[a->workload], *w = &m->all[b->workload];
    if (x.borrows != y.borrows) {
        return y.borrows;
    }
    if (x.share < y.share || x.share > y.share) {
        return x.share < y.share;
    }
    return v->priority != w->priority ? v->priority > w->priority : v->created < w->created;
}

static entry *winner(model *m, int cohort)
{
    entry *best = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = pass == 0 ? QUEUES : 0; k < (pass == 0 ? NODES : QUEUES); k++) {
            if (m->parent[k] != cohort) {
                continue;
            }
            entry *one = NULL;
            if (pass == 0) {
                one = winner(m, k);
            }
            for (int e = 0; e < HEADS && pass == 1; e++) {
                if (!m->entries[e].done && m->all[m->entries[e].workload].queue == k) {
                    one = &m->entries[e];
                }
            }
            if (one != NULL && (best == NULL || less(m, one, best, cohort))) {
                best = one;
            }
        }
    }
    return best;
}

static entry *next_entry(model *m)
{
    entry *best = NULL;
    for (int i = 0; i < HEADS; i++) {
        entry *e = &m->entries[i];
        if (e->done) {
            continue;
        }
        if (m->fair) {
            int root = m->all[e->workload].queue;
            while (m->parent[root] != NONE) {
                root = m->parent[root];
            }
            return root < QUEUES ? e : winner(m, root);
        }
        const workload *v = &m->all[e->workload];
        const workload *w = best == NULL ? NULL : &m->all[best->workload];
        if (best == NULL || e->is.borrowing < best->is.borrowing ||
            (e->is.borrowing == best->is.borrowing &&
             (v->priority > w->priority ||
              (v->priority == w->priority && v->created < w->created)))) {
            best = e;
        }
    }
    return best;
}

/* --- the turn of an entry --- */

static bool overlaps(const model *m, const entry *e)
{
    bool some = false;
    for (int i = 0; i < e->targets.count; i++) {
        some = some || m->chosen[e->targets.items[i]];
    }
    return some;
}

static void hide_chosen(model *m, bool hide)
{
    for (int w = 0; w < ALL; w++) {
        m->off[w] = m->chosen[w] && hide;
        m->all[w].hidden = m->chosen[w] && hide;
    }
}

static bool fits_now(model *m, const entry *e)
{
    const problem p = {m, e->workload, m->all[e->workload].queue, e->is.need, e->is.request};
    for (int w = 0; w < ALL; w++) {
        m->off[w] = m->chosen[w];
    }
    for (int i = 0; i < e->targets.count; i++) {
        m->off[e->targets.items[i]] = true;
    }
    const bool good = fits(&p, true);
    memset(m->off, 0, sizeof m->off);
    return good;
}

static void keep_room(model *m, const entry *e)
{
    const int q = m->all[e->workload].queue;
    for (int c = 0; c < CELLS; c++) {
        const int64_t v = e->is.request[c], room = m->nominal[q][c] - usage(m, q, c);
        if (v > 0 && e->is.borrowing > 0) {
            m->extra[q][c] += m->borrow[q][c] < 0 ? v : least_of(v, room + m->borrow[q][c]);
        } else if (v > 0) {
            m->extra[q][c] += max0(least_of(v, room));
        }
    }
}

static void process(model *m, entry *e)
{
    const int q = m->all[e->workload].queue;
    const problem p = {m, e->workload, q, e->is.need, e->is.request};
    e->done = true;
    if (e->is.mode == M_NO_FIT) {
        return;
    }
    if (overlaps(m, e)) {
        hide_chosen(m, true);
        nominate(m, e, e->is.flavor);
        hide_chosen(m, false);
        e->is.mode = e->is.mode == M_FIT ? M_DEFERRED : e->is.mode;
    }
    if (e->is.mode == M_NO_FIT) {
        return;
    }
    if (e->is.mode == M_PREEMPT && e->targets.count == 0) {
        if (m->reclaim[q] != ORR_KUEUE_ANY) {
            keep_room(m, e);
        }
        return;
    }
    if (e->is.mode == M_DEFERRED) {
        move_usage(&p, 1);
        return;
    }
    if (overlaps(m, e) || !fits_now(m, e)) {
        return;
    }
    for (int i = 0; i < e->targets.count; i++) {
        const int x = e->targets.items[i];
        m->chosen[x] = true;
        m->evicted_for[x] = m->all[x].evicted ? NONE : e->workload;
    }
    move_usage(&p, 1);
    if (e->is.mode == M_FIT) {
        m->admitted[e->workload] = (int)e->is.count;
        m->admitted_flavor[e->workload] = e->is.flavor;
    }
}

void kueue_model_run(model *m)
{
    for (int w = 0; w < ALL; w++) {
        m->admitted[w] = 0;
        m->evicted_for[w] = NONE;
    }
    for (int e = 0; e < HEADS; e++) {
        m->entries[e] = (entry){.workload = HOLDERS + e};
        nominate(m, &m->entries[e], NONE);
    }
    for (entry *e; (e = next_entry(m)) != NULL;) {
        process(m, e);
    }
}
