/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one scheduling case under a policy. */
#include "conform_int.h"

void orr_conform__run_case(const struct conform_case *one, const char *policy,
                           struct conform_outcome *outcome)
{
    if (one->extras != NULL) {
        orr_conform__say(outcome, CONFORM_SKIPPED, "key \"%s\" of %s", one->extras->key,
                         one->extras->what);
        return;
    }
    orr_conform__say(outcome, CONFORM_SKIPPED, "%s policy", policy);
}
