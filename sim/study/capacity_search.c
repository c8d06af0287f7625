/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity_search.c - which amount to try next: a bisection that does not believe in monotone
 * answers more than it has seen. */
#include <orrery/sim/capacity.h>

struct bracket {          /* of amounts as they were tried; -1 and count stand for neither */
    int64_t fails, holds; /* the largest that fails, and the next tried one */
    uint32_t tried;
};

static struct bracket bracket_of(const uint8_t *found, uint32_t count)
{
    struct bracket b = {.fails = -1, .holds = count};
    for (uint32_t i = 0; i < count; i++) {
        b.tried += found[i] != ORR_CAPACITY_UNTRIED;
        b.fails = found[i] == ORR_CAPACITY_FAILS ? (int64_t)i : b.fails;
    }
    for (uint32_t i = count; i-- > 0 && (int64_t)i > b.fails;) {
        b.holds = found[i] == ORR_CAPACITY_HOLDS ? (int64_t)i : b.holds;
    }
    return b;
}

static bool is_untried(const uint8_t *found, uint32_t count, int64_t at)
{
    return at >= 0 && at < (int64_t)count && found[at] == ORR_CAPACITY_UNTRIED;
}

/* Of the largest run of untried amounts, the end of the range if it reaches there, else the middle;
 * of equal runs the last. */
static uint32_t widest_gap(const uint8_t *found, uint32_t count)
{
    uint32_t best = ORR_NONE, longest = 0;
    for (uint32_t i = 0, end; i < count; i = end + 1) {
        end = i;
        while (end < count && found[end] == ORR_CAPACITY_UNTRIED) {
            end++;
        }
        if (end > i && end - i >= longest) {
            longest = end - i;
            best = end == count ? count - 1 : i == 0 ? 0 : i + (end - i) / 2;
        }
    }
    return best;
}

uint32_t orr_capacity_next(const uint8_t *found, uint32_t count, uint32_t tries)
{
    const struct bracket b = bracket_of(found, count);
    if (b.holds - b.fails > 1) {
        return (uint32_t)(b.fails + (b.holds - b.fails) / 2);
    }
    if (b.tried >= tries) {
        return ORR_NONE;
    }
    return is_untried(found, count, b.holds + 1)   ? (uint32_t)(b.holds + 1)
           : is_untried(found, count, b.fails - 1) ? (uint32_t)(b.fails - 1)
                                                   : widest_gap(found, count);
}

uint32_t orr_capacity_from(const uint8_t *found, uint32_t count)
{
    return (uint32_t)bracket_of(found, count).holds;
}

uint32_t orr_capacity_least(const uint8_t *found, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && found[i] != ORR_CAPACITY_HOLDS) {
        i++;
    }
    return i;
}

uint32_t orr_capacity_tries(uint32_t count)
{
    uint32_t bisection = 0;
    while (((uint64_t)1 << bisection) <= count) {
        bisection++;
    }
    return count / 5 > bisection + 2 ? count / 5 : bisection + 2;
}
