/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_panels.c - two panels above each other, with one legend to the right of both. */
#include "plot_int.h"

void orr_plot__panel_above(struct orr_plot *plot)
{
    orr_plot__gp(plot, "set multiplot\nunset key\n");
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set size 1,0.48\nset origin 0,0.52\n");
        return;
    }
    orr_plot__gp(plot, "set lmargin at screen 0.13\nset rmargin at screen 0.78\n"
                       "set tmargin at screen 0.87\nset bmargin at screen 0.53\n");
}

void orr_plot__panel_below(struct orr_plot *plot)
{
    orr_plot__gp(plot, "\nunset title\nunset label 90\nunset label 91\n");
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set key bottom outside center horizontal\nset size 1,0.52\n"
                           "set origin 0,0\n");
        return;
    }
    orr_plot__gp(plot, "set tmargin at screen 0.46\nset bmargin at screen 0.12\n");
}

/* A frame without axes over both panels, only for its legend: it has the height of the page. */
void orr_plot__panel_legend(struct orr_plot *plot, const char *title)
{
    orr_plot__gp(plot,
                 "\nunset tics\nunset border\nunset grid\nunset xlabel\nunset ylabel\n"
                 "unset arrow 90\nunset arrow 91\nset tmargin at screen 0.87\nset yrange [0:1]\n"
                 "set key at screen 0.81,graph 1 left top title '%s' left\n"
                 "plot -1 notitle",
                 title);
}

void orr_plot__panel_close(struct orr_plot *plot)
{
    orr_plot__gp(plot, "\nunset multiplot\n");
}
