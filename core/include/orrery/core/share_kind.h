/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share_kind.h - the resources that quotas, limits and fair shares are stated in. */
#ifndef ORR_CORE_SHARE_KIND_H
#define ORR_CORE_SHARE_KIND_H

#include <orrery/base/units.h>

ORR_API_BEGIN

/* In the order they are always walked. */
enum orr_share_kind {
    ORR_SHARE_CPU,
    ORR_SHARE_MEMORY,
    ORR_SHARE_GPU,
    ORR_SHARE_KINDS,
    ORR_SHARE_RESOURCES = ORR_SHARE_KINDS
};

ORR_API_END

#endif
