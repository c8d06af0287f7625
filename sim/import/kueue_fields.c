/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of Kueue's objects is not heeded is noted by its path; orrery/sim/kueue_fields.h has the
 * table. */
#include <orrery/sim/kueue_fields.h>

#include "kueue_input.h"

static void check_value(struct kueue_input *input, const char *kind, const char *path,
                        const struct import_value *value);

static void check_below(struct kueue_input *input, const char *kind, const char *path,
                        const struct import_value *value)
{
    IMPORT_EACH(child, value)
    {
        const char *below = value->kind == IMPORT_LIST
                                ? import_format(input->load, "%.400s[]", path)
                                : import_format(input->load, "%.400s%s%.200s", path,
                                                path[0] != '\0' ? "." : "", child->key);
        check_value(input, kind, below, child);
    }
}

static void check_value(struct kueue_input *input, const char *kind, const char *path,
                        const struct import_value *value)
{
    const char *why;
    switch (orr_kq_field(kind, KQ_IN_CYCLE, path, &why)) {
    case KQ_FIELD_PASSED: break;
    case KQ_FIELD_ABOVE: check_below(input, kind, path, value); break;
    case KQ_FIELD_NOT_HEEDED:
        if (value->kind != IMPORT_NULL && (value->first != NULL || value->text != NULL)) {
            import_note(input->model, "%s of a %s is not heeded: %s", path, kind, why);
        }
        break;
    case KQ_FIELD_UNKNOWN:
        import_note(input->model, "%.300s of a %s is no field that is known here", path, kind);
        break;
    }
}

void import_kueue_check(struct kueue_input *input, enum kueue_kind kind,
                        const struct import_value *object)
{
    static const char *const kinds[] = {
#define X(name, kind) kind,
        KUEUE_KIND_LIST(X)
#undef X
    };
    check_below(input, kinds[kind], "", object);
}
