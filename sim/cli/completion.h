/* SPDX-License-Identifier: GPL-3.0-or-later */
/* completion.h - the scripts in completion/, embedded when the program is built. */
#ifndef ORR_SIM_CLI_COMPLETION_H
#define ORR_SIM_CLI_COMPLETION_H

extern const char orr_completion_bash[], orr_completion_zsh[], orr_completion_fish[];

#endif
