/* SPDX-License-Identifier: GPL-3.0-or-later */
/* history_prometheus.c - pods from range queries of kube-state-metrics, and what KAI's metrics say
 * of queues, to hold the jobs against.
 *
 * A series has one value for ever (when a pod was created, what it requests) or one that changes
 * (its phase); a pod is there from its first sample to its last. */
#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

#include "history.h"

#define SPAN_MAX_S 1e11

struct series {
    const struct import_value *metric, *values;
    const char *name;
    orr_ms first_ms, last_ms; /* of its samples */
    double last;              /* value that is a number; NAN: none is */
};

/* What a query divides by nothing, or a pod has not reached, is NaN or infinite. */
static bool value_of(const char *text, double *value)
{
    const bool is_none =
        strcmp(text, "NaN") == 0 || strcmp(text, "+Inf") == 0 || strcmp(text, "-Inf") == 0;
    *value = (double)NAN;
    return is_none || orr_parse_double(text, strlen(text), value);
}

static bool sample_of(const struct import_value *pair, orr_ms *at, double *value)
{
    const struct import_value *time = pair->first;
    const struct import_value *text = time != NULL ? time->next : NULL;
    double seconds;
    if (pair->kind != IMPORT_LIST || text == NULL || time->kind != IMPORT_TEXT ||
        text->kind != IMPORT_TEXT || !orr_parse_double(time->text, strlen(time->text), &seconds) ||
        !(seconds >= 0 && seconds < SPAN_MAX_S) || !value_of(text->text, value)) {
        return false;
    }
    *at = (orr_ms)(seconds * 1000.0 + 0.5);
    return true;
}

static const char *label(const struct series *series, const char *name)
{
    const char *text = import_label(series->metric, name);
    return text != NULL ? text : "";
}

static orr_ms instant(double seconds)
{
    return seconds > 0 && seconds < SPAN_MAX_S ? (orr_ms)seconds * 1000 : ORR_MS_NONE;
}

/* The first sample at which it was 1; ORR_MS_NONE: it never was. */
static orr_ms first_one(const struct series *series)
{
    IMPORT_EACH(pair, series->values)
    {
        orr_ms at;
        double value;
        if (sample_of(pair, &at, &value) && value > 0.5) {
            return at;
        }
    }
    return ORR_MS_NONE;
}

static bool measure(struct history *h, struct series *series)
{
    orr_ms before = ORR_MS_NONE;
    series->last = (double)NAN;
    IMPORT_EACH(pair, series->values)
    {
        orr_ms at;
        double value;
        if (!sample_of(pair, &at, &value)) {
            import_fail(&h->load, pair, "a sample is [SECONDS, \"VALUE\"]");
            return false;
        }
        series->first_ms = before == ORR_MS_NONE ? at : series->first_ms;
        if (before != ORR_MS_NONE && at > before && (h->step_ms == 0 || at - before < h->step_ms)) {
            h->step_ms = at - before;
        }
        series->last_ms = before = at;
        series->last = isnan(value) ? series->last : value;
    }
    if (before == ORR_MS_NONE) {
        return false;
    }
    h->samples_from = h->samples_from == ORR_MS_NONE || series->first_ms < h->samples_from
                          ? series->first_ms
                          : h->samples_from;
    h->samples_until = h->samples_until == ORR_MS_NONE || series->last_ms > h->samples_until
                           ? series->last_ms
                           : h->samples_until;
    return true;
}

/* --- queues --- */

static void see_queue(struct history *h, const struct series *series)
{
    const char *name = label(series, "queue_name");
    name = name[0] != '\0' ? name : label(series, "queue");
    bool added;
    const uint32_t index = orr_idmap_put(&h->queues, name, strlen(name), &added);
    if (added) {
        h->queue_rows = ORR_ROOM_FOR_ONE(h->queue_rows, index, h->queue_capacity);
        h->queue_rows[index] = (struct history_queue){0};
    }
    IMPORT_EACH(pair, series->values)
    {
        orr_ms at;
        double value;
        if (sample_of(pair, &at, &value) && value >= 0) {
            h->queue_rows[index].sum += value;
            h->queue_rows[index].samples++;
        }
    }
}

/* --- pods --- */

static void add_request(struct history *h, struct history_pod *pod, const char *uid,
                        const struct series *series)
{
    const char *resource = label(series, "resource");
    const char *key =
        import_format(&h->load, "%.200s/%.200s/%.200s", uid, label(series, "container"), resource);
    const size_t bytes = strlen(resource);
    bool added;
    (void)orr_idmap_put(&h->requests, key, strlen(key), &added);
    if (!added || !(series->last > 0 && series->last < 1e15)) {
        return;
    }
    const char *mig = strstr(resource, "_mig_");
    if (strcmp(resource, "cpu") == 0) {
        pod->shape.cpu_milli += (int64_t)(series->last * 1000.0 + 0.5);
    } else if (strcmp(resource, "memory") == 0) {
        pod->shape.mem_mib += (int64_t)(series->last / (double)ORR_MIB + 0.5);
    } else if (mig != NULL) { /* nvidia_com_mig_1g_10gb */
        char *profile = orr_arena_strndup(h->load.arena, mig + 5, strlen(mig + 5));
        for (char *c = profile; *c != '\0'; c++) {
            *c = *c == '_' ? '.' : *c;
        }
        pod->shape.kind = ORR_ASK_MIG;
        pod->shape.mig = history_mig(h, pod->shape.mig, profile, (int64_t)(series->last + 0.5));
    } else if (bytes >= 3 && strcmp(resource + bytes - 3, "gpu") == 0 && series->last <= 1e6) {
        pod->shape.gpus += (int64_t)(series->last + 0.5);
        pod->shape.kind = pod->shape.kind == ORR_ASK_NO_GPU ? ORR_ASK_WHOLE : pod->shape.kind;
    }
}

static void join(struct history *h, struct history_pod *pod, enum history_rank rank,
                 const char *space, const char *name)
{
    static const char *const words[] = {"pod", "owner", "group"};
    const char *key = import_format(&h->load, "%s/%.250s/%.250s", words[rank], space, name);
    history_join(pod, rank, history_job(h, key, space, name));
}

/* What annotations say that share devices. */
static void share(struct history_pod *pod, const struct series *series)
{
    double portion = 0, memory = 0, devices = 1;
    const char *fraction = label(series, "annotation_gpu_fraction");
    const char *mib = label(series, "annotation_gpu_memory");
    const char *count = label(series, "annotation_gpu_fraction_num_devices");
    (void)orr_parse_double(fraction, strlen(fraction), &portion);
    (void)orr_parse_double(mib, strlen(mib), &memory);
    if (count[0] != '\0' && !orr_parse_double(count, strlen(count), &devices)) {
        devices = 1;
    }
    const bool whole = !(portion > 0 && portion < 1);
    if ((!(portion > 0 && portion <= 1) && !(memory >= 1 && memory < 1e9)) ||
        !(devices >= 1 && devices <= 64)) {
        return;
    }
    pod->shape.devices = (uint32_t)devices;
    pod->shape.kind = portion > 0 ? (whole ? ORR_ASK_WHOLE : ORR_ASK_FRACTION) : ORR_ASK_MEMORY;
    pod->shape.gpus = portion > 0 && whole ? (int64_t)devices : pod->shape.gpus;
    pod->shape.portion_milli = (int64_t)(portion * 1000.0 + 0.5);
    pod->shape.memory_mib = (int64_t)memory;
}

static void set(orr_ms *to, orr_ms at)
{
    *to = at != ORR_MS_NONE ? at : *to;
}

static void take_phase(struct history_pod *pod, const struct series *series)
{
    const char *phase = label(series, "phase");
    const orr_ms at = first_one(series);
    if (at == ORR_MS_NONE) {
        return;
    }
    const bool succeeded = strcmp(phase, "Succeeded") == 0;
    if (succeeded || strcmp(phase, "Failed") == 0) {
        pod->end = succeeded ? HISTORY_SUCCEEDED : HISTORY_FAILED;
        pod->ended_ms = pod->ended_ms == ORR_MS_NONE ? at : pod->ended_ms;
    } else if (strcmp(phase, "Running") == 0 && pod->bound_ms == ORR_MS_NONE) {
        pod->bound_ms = at;
    }
}

/* The queue, user and group that labels name. */
static void take_labels(struct history *h, struct history_pod *pod, const char *space,
                        const struct series *series)
{
    static const char *const queues[] = {"label_kai_scheduler_queue",
                                         "label_kueue_x_k8s_io_queue_name",
                                         "label_volcano_sh_queue_name", "label_project"};
    const char *group = label(series, "annotation_pod_group_name");
    const char *user = label(series, "label_user");
    if (group[0] != '\0') {
        join(h, pod, HISTORY_GROUP, space, group);
    }
    for (size_t i = 0; i < 4 && pod->queue == ORR_NONE; i++) {
        pod->queue = history_name(h, label(series, queues[i]));
    }
    pod->user = user[0] != '\0' ? history_name(h, user) : pod->user;
}

static void see_pod(struct history *h, const struct series *series)
{
    const char *space = label(series, "namespace"), *name = label(series, "pod");
    const char *whole = import_format(&h->load, "%.250s/%.250s", space, name);
    const char *uid = label(series, "uid")[0] != '\0' ? label(series, "uid") : whole;
    struct history_pod *pod = history_pod(h, uid);
    join(h, pod, HISTORY_ITSELF, space, name);
    pod->user = pod->user == ORR_NONE ? history_name(h, space) : pod->user;
    pod->sampled = true;
    pod->seen_ms = pod->seen_ms == ORR_MS_NONE || series->last_ms > pod->seen_ms ? series->last_ms
                                                                                 : pod->seen_ms;
    const char *what = series->name;
    if (strcmp(what, "kube_pod_created") == 0) {
        set(&pod->created_ms, instant(series->last));
    } else if (strcmp(what, "kube_pod_status_scheduled_time") == 0 ||
               (strcmp(what, "kube_pod_start_time") == 0 && pod->bound_ms == ORR_MS_NONE)) {
        set(&pod->bound_ms, instant(series->last));
    } else if (strcmp(what, "kube_pod_completion_time") == 0) {
        set(&pod->ended_ms, instant(series->last));
    } else if (strcmp(what, "kube_pod_deletion_timestamp") == 0) {
        set(&pod->gone_ms, instant(series->last)); /* when its grace ends, which is not said */
    } else if (strcmp(what, "kube_pod_container_resource_requests") == 0) {
        add_request(h, pod, uid, series);
    } else if (strcmp(what, "kube_pod_status_phase") == 0) {
        take_phase(pod, series);
    } else if (strcmp(what, "kube_pod_status_reason") == 0) {
        pod->evicted = pod->evicted || (first_one(series) != ORR_MS_NONE &&
                                        strcmp(label(series, "reason"), "Evicted") == 0);
    } else if (strcmp(what, "kube_pod_owner") == 0 && label(series, "owner_name")[0] != '\0' &&
               strcmp(label(series, "owner_name"), "<none>") != 0) {
        join(h, pod, HISTORY_OWNER, space, label(series, "owner_name"));
        pod->origin = history_name(h, label(series, "owner_kind"));
    } else if (strcmp(what, "kube_pod_info") == 0) {
        pod->has_priority =
            kube_class_priority(&h->kube, label(series, "priority_class"), &pod->priority);
    } else if (strcmp(what, "kube_pod_annotations") == 0) {
        share(pod, series);
        take_labels(h, pod, space, series);
    } else if (strcmp(what, "kube_pod_labels") == 0) {
        take_labels(h, pod, space, series);
    }
}

void history_see_samples(struct history *h, const struct import_value *answer)
{
    const char *type = import_text(&h->load, answer, "data/resultType", "");
    if (strcmp(type, "matrix") != 0) {
        import_fail(&h->load, import_get(answer, "data/resultType"),
                    "a range query's answer is a matrix, not a %.40s: ask /api/v1/query_range",
                    type);
        return;
    }
    IMPORT_EACH(row, import_list(&h->load, answer, "data/result"))
    {
        struct series series = {.metric = import_map(&h->load, row, "metric"),
                                .values = import_list(&h->load, row, "values")};
        series.name = label(&series, "__name__");
        if (!import_ok(&h->load) || !measure(h, &series)) {
            continue;
        }
        const size_t bytes = strlen(series.name);
        if (strncmp(series.name, "kube_pod_", 9) == 0 && label(&series, "pod")[0] != '\0') {
            see_pod(h, &series);
        } else if (bytes >= 20 && strcmp(series.name + bytes - 20, "queue_allocated_gpus") == 0) {
            see_queue(h, &series);
        }
    }
}
