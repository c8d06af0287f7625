/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair.h - a name and what is stated for it, both as text. */
#ifndef ORR_SIM_PAIR_H
#define ORR_SIM_PAIR_H

struct orr_pair {
    const char *name, *value; /* value: a string's text, or JSON for anything else */
};

#endif
