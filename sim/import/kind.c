/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kind.h"

#include <string.h>

enum orr_kind import_kind_of(const char *origin, bool of_kai, int64_t priority)
{
    static const char *const serves[] = {"Deployment",       "Service",  "LeaderWorkerSet",
                                         "InferenceService", "Revision", "ReplicaSet"};
    for (size_t i = 0; origin != NULL && i < sizeof serves / sizeof serves[0]; i++) {
        if (strcmp(origin, serves[i]) == 0) {
            return ORR_KIND_INFERENCE;
        }
    }
    if (origin != NULL && strcmp(origin, "Notebook") == 0) {
        return ORR_KIND_INTERACTIVE;
    }
    return !of_kai           ? ORR_KIND_TRAINING
           : priority >= 125 ? ORR_KIND_INFERENCE
           : priority >= 100 ? ORR_KIND_INTERACTIVE
                             : ORR_KIND_TRAINING;
}
