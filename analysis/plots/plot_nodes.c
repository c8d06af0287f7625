/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_nodes.c - nodes: how busy each node was over time. */
#include "plot_int.h"

void orr_plot__nodes(struct orr_plot *plot)
{
    const struct orr_plot_lanes *lanes = orr_plot__lanes(plot, false);
    struct orr_plot_heat heat;
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__heat_open(plot, lanes, &heat);
    for (uint32_t i = 0; i < lanes->held_count; i++) {
        const struct orr_plot_held *held = &lanes->held[i];
        orr_plot__heat_add(&heat, held->node, held->nodes, held->start, held->end,
                           (double)held->mgpu);
    }
    const bool away = orr_plot__heat_gaps(&heat, lanes);
    orr_plot__heat_percent(&heat);
    orr_plot__start(plot, (struct orr_plot_size){900, heat.rows > 40 ? 620 : 500, 100, 30, false});
    orr_plot__means_over(plot, (heat.to - heat.from + heat.columns - 1) / heat.columns, NULL);
    orr_plot__title(plot, dumb ? "Use of nodes ( .:-=+*#%@ is 0 to 100 % of GPUs)" : "Use of nodes",
                    !away  ? NULL
                    : dumb ? "x: down or away"
                           : "grey: down or away");
    if (heat.rows == 0 || lanes->held_count == 0) {
        orr_plot__nothing(plot, "no job started");
    } else {
        orr_plot__time_axis(plot, heat.from, heat.to, orr_plot__narrow(plot) ? 4 : 8, true);
        orr_plot__heat_axis(plot, lanes, &heat, 21);
        if (dumb) {
            orr_plot__heat_text(plot, &heat);
        } else {
            uint32_t block = orr_plot__heat_rows(plot, &heat);
            orr_plot__heat_away(plot, &heat);
            orr_plot__gp(plot, "set rmargin at screen %g\n", orr_plot__narrow(plot) ? 0.76 : 0.84);
            orr_plot__heat_image(plot, block, 100, "GPUs held",
                                 "0 '#f7f7f2', 0.25 '#c3dbea', 0.5 '#6baed6', 0.75 '#2171b5', "
                                 "1 '#08264d'");
        }
    }
    orr_plot__heat_close(&heat);
}
