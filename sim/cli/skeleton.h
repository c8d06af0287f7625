/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skeleton.h - the files in plugin/skeleton/, embedded when the program is built; @NAME@ stands for
 * the name of the new policy. */
#ifndef ORR_SIM_CLI_SKELETON_H
#define ORR_SIM_CLI_SKELETON_H

extern const char orr_skeleton_policy_c[], orr_skeleton_test_sh[];

#endif
