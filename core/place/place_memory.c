/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What attempts to place jobs keep in a session: made and given back with it. */
#include "place_int.h"
#include "session_int.h"

struct orr_place_memory *orr_place__open(void)
{
    return orr_zalloc(1, sizeof(struct orr_place_memory));
}

void orr_place__close(struct orr_place_memory *place)
{
    orr_task_list_release(&place->tasks);
    for (uint32_t i = 0; i < place->preferred_capacity; i++) {
        orr_free(place->preferred[i].of_domain);
    }
    orr_free(place->preferred);
    orr_free(place->ranked);
    for (uint32_t i = 0; i < place->node_index_count; i++) {
        orr_free(place->node_indices[i]);
    }
    orr_free(place->node_indices);
    for (uint32_t i = 0; i < place->domain_sum_count; i++) {
        orr_free(place->domain_sums[i]);
    }
    orr_free(place->domain_sums);
    orr_free(place->spreads[0]);
    orr_free(place->spreads[1]);
    orr_free(place);
}
