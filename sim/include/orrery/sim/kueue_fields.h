/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_fields.h - which fields of Kueue's objects, and which feature gates, are heeded.
 *
 * One table serves who decides one cycle on objects (`schedule`) and who makes queues of a run of
 * them: a field that is heeded by one of them alone says so there.
 */
#ifndef ORR_SIM_KUEUE_FIELDS_H
#define ORR_SIM_KUEUE_FIELDS_H

#include <stdbool.h>

enum kq_use { KQ_IN_CYCLE, KQ_IN_RUN, KQ_USES };

enum kq_field {
    KQ_FIELD_PASSED,     /* heeded, or without a part in it, with all below it */
    KQ_FIELD_ABOVE,      /* a map or list: look at what is below it */
    KQ_FIELD_NOT_HEEDED, /* it would have a part: `why` says what is done instead */
    KQ_FIELD_UNKNOWN
};

/* By the path below the object, such as "spec.resourceGroups[].flavors[].name": "[]" is an item of
 * a list. */
enum kq_field orr_kq_field(const char *kind, enum kq_use use, const char *path, const char **why);
/* Is the text, as an entry of a ConfigMap has it, a Configuration in YAML? */
bool orr_kq_is_configuration(const char *text);
/* What stands beside it and may be meant, or NULL. */
const char *orr_kq_nearest_field(const char *kind, const char *path);

struct kq_gate {
    const char *name;
    bool on; /* by default */
    /* '+' heeded, '.' has no part in what is decided, '!' would have one and is not heeded */
    char marks[KQ_USES + 1];
};
/* NULL: none that is known here. */
const struct kq_gate *orr_kq_find_gate(const char *name);
/* Would it decide something that is not decided so? One that is as by default never does. */
bool orr_kq_ignores_gate(const char *name, bool on, enum kq_use use);
/* A known name that is near, or NULL. */
const char *orr_kq_nearest_gate(const char *name);

#endif
