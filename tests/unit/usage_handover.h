/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage_handover.h - two queues of equal weight that each want all 16 GPUs for ever, one sample a
 * session, window 256, half-life 128, k 1, as KAI's usage simulator computes them. */
#ifndef ORR_TEST_USAGE_HANDOVER_H
#define ORR_TEST_USAGE_HANDOVER_H

/* From that session on the fair shares of both. */
static const int handover_shares[][3] = {
    {0, 8, 8},    {1, 0, 16},   {2, 8, 8},    {3, 11, 5},   {4, 12, 4},   {5, 13, 3},
    {7, 14, 2},   {11, 15, 1},  {30, 16, 0},  {31, 15, 1},  {32, 14, 2},  {35, 13, 3},
    {37, 12, 4},  {40, 11, 5},  {43, 10, 6},  {47, 9, 7},   {52, 8, 8},   {58, 7, 9},
    {65, 6, 10},  {75, 5, 11},  {88, 4, 12},  {107, 3, 13}, {137, 2, 14}, {192, 1, 15},
    {270, 0, 16}, {271, 1, 15}, {283, 2, 14}, {294, 3, 13}, {304, 4, 12}, {314, 5, 11},
    {326, 6, 10}, {338, 7, 9},  {350, 8, 8},  {364, 9, 7},  {379, 10, 6}, {396, 11, 5},
    {414, 12, 4}, {433, 13, 3}, {456, 14, 2}, {481, 15, 1}, {510, 16, 0}, {511, 15, 1}};

/* Usage of the first in a session. */
static const struct {
    int at;
    double usage;
} handover_usage[] = {{2, .498646}, {29, .031932}, {30, .030782}, {269, .967857}, {270, .969831}};

#endif
