/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pack_int.h - what writing and reading archives share. */
#ifndef ORR_TRACES_PACK_INT_H
#define ORR_TRACES_PACK_INT_H

#include <orrery/traces/pack.h>

#define PACK_SUMS     "SHA256SUMS"
#define PACK_NAME_MAX 200

bool pack_char_allowed(char c);

#endif
