/* SPDX-License-Identifier: GPL-3.0-or-later */
/* history_jobs.c - jobs and their attempts of what was seen of pods.
 *
 * Pods come again under other names when they were evicted or failed. A job has as many pods as
 * existed at a time, at most. An attempt goes from when its gang was there (min_pods were bound) to
 * when none of its pods is left. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/core/cluster.h>
#include <orrery/traces/native.h>

#include "history.h"
#include "kind.h"
#include "native_out.h"

enum { ATTEMPTS_SHOWN = 64, GRACE_MS = 30000 /* of pods, unless they state another */ };

struct attempt {
    orr_ms start_ms, end_ms; /* end ORR_MS_NONE: it runs yet */
    const char *state;
};

struct one { /* job that is made of its pods */
    uint32_t job;
    const uint32_t *pods; /* by creation */
    uint32_t pod_count;
    orr_ms submit_ms;
    uint32_t width; /* pods at a time, of those that count */
    int64_t gpus;   /* of all these */
    uint32_t shape; /* pod whose shape is theirs; ORR_NONE: they differ */
    struct attempt *attempts;
    uint32_t attempt_count, attempt_capacity;
    double earlier_gpu_h;
};

struct out {
    struct history *h;
    struct native_out rows;
    struct orr_idmap names; /* of jobs that were written */
    uint64_t cut;           /* jobs with more attempts than fit */
    uint64_t several, guessed, mixed, beside;
    double lost_gpu_h, guess_s;
    double *queue_gpu_ms; /* held within the samples, by queue of the metrics */
};

/* --- when pods ended --- */

static int by_time(const void *a, const void *b, void *context)
{
    (void)context;
    const orr_ms x = *(const orr_ms *)a, y = *(const orr_ms *)b;
    return x < y ? -1 : x > y;
}

/* The first dump without a pod that was seen last at that time. */
static orr_ms next_dump(const struct history *h, orr_ms seen)
{
    uint32_t low = 0, high = h->dump_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (h->dumps[middle] <= seen) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < h->dump_count ? h->dumps[low] : ORR_MS_NONE;
}

static orr_ms earlier(orr_ms a, orr_ms b)
{
    return a == ORR_MS_NONE || (b != ORR_MS_NONE && b < a) ? b : a;
}

static void find_gone(struct history *h)
{
    orr_sort(h->dumps, h->dump_count, sizeof *h->dumps, by_time, NULL);
    for (uint32_t p = 0; p < h->pod_ids.count; p++) {
        struct history_pod *pod = &h->pods[p];
        if (pod->listed) {
            pod->gone_ms = earlier(pod->gone_ms, next_dump(h, pod->seen_ms));
        }
        if (pod->sampled && pod->seen_ms < h->samples_until) {
            pod->gone_ms = earlier(pod->gone_ms, pod->seen_ms + h->step_ms);
        }
    }
}

/* A pod that vanished between two looks: when the one came that took its place, else in the middle.
 * A controller makes the new pod as it hears that the old one goes; a sample may still see the old
 * one in its grace. */
static void settle_end(struct out *out, const struct one *one, uint32_t nth)
{
    struct history *h = out->h;
    struct history_pod *pod = &h->pods[one->pods[nth]];
    if (pod->ended_ms != ORR_MS_NONE) {
        return;
    }
    if (pod->leaving_ms != ORR_MS_NONE || pod->gone_ms == ORR_MS_NONE) {
        pod->ended_ms = pod->leaving_ms;
        return;
    }
    if (pod->seen_ms == ORR_MS_NONE) {
        pod->ended_ms = pod->gone_ms;
        return;
    }
    for (uint32_t i = nth + 1; i < one->pod_count; i++) {
        const orr_ms came = h->pods[one->pods[i]].created_ms;
        if (came > pod->seen_ms - (pod->sampled ? GRACE_MS : 0) && came <= pod->gone_ms &&
            came >= pod->bound_ms) {
            pod->ended_ms = came;
            return;
        }
    }
    const orr_ms half = (pod->gone_ms - pod->seen_ms) / 2000 * 1000;
    pod->ended_ms = pod->gone_ms > pod->seen_ms ? pod->seen_ms + half : pod->gone_ms;
    if (pod->bound_ms != ORR_MS_NONE && pod->gone_ms > pod->seen_ms) {
        out->guessed++;
        out->guess_s += (double)(pod->gone_ms - pod->seen_ms) / 2000.0;
    }
}

/* --- how many at a time --- */

struct change {
    orr_ms at;
    int by; /* -1 before +1 at one time */
    uint32_t pod;
};

static int by_change(const void *a, const void *b, void *context)
{
    (void)context;
    const struct change *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1)
                          : (x->by != y->by    ? (x->by < y->by ? -1 : 1)
                             : x->pod < y->pod ? -1
                                               : x->pod > y->pod);
}

/* Pods that count: those with GPUs, if any has some. */
static bool counts(const struct history *h, const struct one *one, uint32_t pod)
{
    return one->gpus == 0 || h->pods[pod].shape.kind != ORR_ASK_NO_GPU;
}

static bool same_shape(const struct history_shape *a, const struct history_shape *b)
{
    return a->kind == b->kind && a->gpus == b->gpus && a->devices == b->devices &&
           a->portion_milli == b->portion_milli && a->memory_mib == b->memory_mib &&
           a->mig == b->mig;
}

/* Into `changes`, room for two a pod: when pods begin (to be, or to be bound) and end. */
static uint32_t list_changes(const struct history *h, const struct one *one, bool bound,
                             struct change *changes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < one->pod_count; i++) {
        const struct history_pod *pod = &h->pods[one->pods[i]];
        const orr_ms from = bound ? pod->bound_ms : pod->created_ms;
        if (!counts(h, one, one->pods[i]) || from == ORR_MS_NONE ||
            (pod->ended_ms != ORR_MS_NONE && pod->ended_ms < from)) {
            continue;
        }
        changes[count++] = (struct change){from, 1, one->pods[i]};
        if (pod->ended_ms != ORR_MS_NONE) {
            /* one that ends as it begins is there for that instant */
            changes[count++] =
                (struct change){pod->ended_ms > from ? pod->ended_ms : from + 1, -1, one->pods[i]};
        }
    }
    orr_sort(changes, count, sizeof *changes, by_change, NULL);
    return count;
}

static void find_width(struct history *h, struct one *one, struct change *changes)
{
    for (uint32_t i = 0; i < one->pod_count; i++) {
        one->gpus += h->pods[one->pods[i]].shape.kind != ORR_ASK_NO_GPU;
    }
    const uint32_t count = list_changes(h, one, false, changes);
    int now = 0;
    int64_t gpus = 0, most = 0;
    one->shape = count > 0 ? changes[0].pod : ORR_NONE;
    const uint32_t like = one->shape;
    for (uint32_t c = 0; c < count; c++) {
        const struct history_shape *shape = &h->pods[changes[c].pod].shape;
        now += changes[c].by;
        gpus += changes[c].by * shape->gpus;
        one->width = now > (int)one->width ? (uint32_t)now : one->width;
        most = gpus > most ? gpus : most;
        one->shape = same_shape(shape, &h->pods[like].shape) ? one->shape : ORR_NONE;
    }
    one->gpus = most;
}

/* --- attempts --- */

static const char *state_of(const struct history *h, const struct one *one, orr_ms end, bool last)
{
    bool failed = false, succeeded = false, evicted = false;
    for (uint32_t i = 0; i < one->pod_count; i++) {
        const struct history_pod *pod = &h->pods[one->pods[i]];
        if (pod->bound_ms == ORR_MS_NONE || pod->ended_ms == ORR_MS_NONE || pod->ended_ms > end) {
            continue;
        }
        const bool now = pod->ended_ms == end;
        evicted = evicted || (now && pod->evicted);
        failed = failed || (now && pod->end == HISTORY_FAILED);
        succeeded = succeeded || (now && pod->end == HISTORY_SUCCEEDED);
    }
    return evicted     ? "PREEMPTED"
           : succeeded ? "COMPLETED"
           : failed    ? "FAILED"
           : last      ? "CANCELLED"
                       : "PREEMPTED";
}

static void find_attempts(struct history *h, struct one *one, uint32_t min, struct change *changes)
{
    const uint32_t count = list_changes(h, one, true, changes);
    uint32_t now = 0;
    orr_ms start = ORR_MS_NONE;
    one->attempt_count = 0;
    for (uint32_t c = 0; c < count; c++) {
        now += (uint32_t)changes[c].by;
        if (start == ORR_MS_NONE && now >= min) {
            start = changes[c].at;
        }
        if (start != ORR_MS_NONE && (now == 0 || c + 1 == count)) {
            one->attempts =
                ORR_ROOM_FOR_ONE(one->attempts, one->attempt_count, one->attempt_capacity);
            one->attempts[one->attempt_count++] = (struct attempt){
                .start_ms = start, .end_ms = now == 0 ? changes[c].at : ORR_MS_NONE};
            start = ORR_MS_NONE;
        }
    }
    for (uint32_t a = 0; a < one->attempt_count; a++) {
        struct attempt *attempt = &one->attempts[a];
        attempt->state = attempt->end_ms == ORR_MS_NONE
                             ? "RUNNING"
                             : state_of(h, one, attempt->end_ms, a + 1 == one->attempt_count);
    }
}

/* --- rows --- */

static void put_name(struct out *out, enum native_out_column column, uint32_t name)
{
    if (name != ORR_NONE) {
        native_out_text(&out->rows, column, orr_idmap_name(&out->h->names, name));
    }
}

static void put_shape(struct out *out, const struct one *one)
{
    const struct history_shape *shape = &out->h->pods[one->shape].shape;
    native_out_number(&out->rows, OUT_PODS, one->width, 1);
    if (shape->kind == ORR_ASK_FRACTION) {
        native_out_number(&out->rows, OUT_FRACTION, shape->portion_milli, 1000);
        native_out_number(&out->rows, OUT_DEVICES, shape->devices, 1);
    } else if (shape->kind == ORR_ASK_MEMORY) {
        native_out_number(&out->rows, OUT_MEMORY, shape->memory_mib, 1);
        native_out_number(&out->rows, OUT_DEVICES, shape->devices, 1);
    } else if (shape->kind == ORR_ASK_MIG) {
        put_name(out, OUT_MIG, shape->mig);
    } else {
        native_out_number(&out->rows, OUT_PER_POD, shape->gpus, 1);
    }
    native_out_number(&out->rows, OUT_CPU, shape->cpu_milli, 1);
    native_out_number(&out->rows, OUT_MEM, shape->mem_mib, 1);
    const struct history_job *job = &out->h->jobs[one->job];
    if (job->min_pods > 0 && job->min_pods < one->width) {
        native_out_number(&out->rows, OUT_MIN, job->min_pods, 1);
    }
}

/* Its own name; NAMESPACE/NAME, then with a number behind it, where others had that before. */
static const char *name_of(struct out *out, const struct history_job *job, char *text, size_t bytes)
{
    struct orr_idmap *names = &out->h->names;
    (void)snprintf(text, bytes, "%.400s", orr_idmap_name(names, job->name));
    bool added;
    (void)orr_idmap_put(&out->names, text, strlen(text), &added);
    for (uint32_t n = 1; !added; n++) {
        const int used = snprintf(text, bytes, "%.300s/%.400s",
                                  job->space != ORR_NONE ? orr_idmap_name(names, job->space) : "",
                                  orr_idmap_name(names, job->name));
        if (n > 1) {
            (void)snprintf(text + used, bytes - (size_t)used, "#%u", (unsigned)n);
        }
        (void)orr_idmap_put(&out->names, text, strlen(text), &added);
    }
    return text;
}

/* "36:PREEMPTED 120:COMPLETED", as of sacct. */
static const char *attempts_of(const struct one *one, char *text, size_t bytes)
{
    size_t used = 0;
    const uint32_t skip =
        one->attempt_count > ATTEMPTS_SHOWN ? one->attempt_count - ATTEMPTS_SHOWN : 0;
    text[0] = '\0';
    for (uint32_t a = skip; a < one->attempt_count && used + 40 < bytes; a++) {
        const struct attempt *attempt = &one->attempts[a];
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64 ":%s", used > 0 ? " " : "",
                                 (attempt->end_ms - attempt->start_ms) / 1000, attempt->state);
    }
    return text;
}

/* The first pod that says it. */
static uint32_t first_said(const struct history *h, const struct one *one, size_t offset)
{
    uint32_t name = ORR_NONE;
    for (uint32_t i = 0; i < one->pod_count && name == ORR_NONE; i++) {
        memcpy(&name, (const char *)&h->pods[one->pods[i]] + offset, sizeof name);
    }
    return name;
}

static void put_names(struct out *out, const struct one *one, char *text, size_t bytes)
{
    struct history *h = out->h;
    const struct history_job *job = &h->jobs[one->job];
    const struct history_pod *first = &h->pods[one->pods[0]];
    const uint32_t origin = first_said(h, one, offsetof(struct history_pod, origin));
    const bool known = job->has_group || first->has_priority;
    const int64_t priority = job->has_group        ? job->priority
                             : first->has_priority ? first->priority
                                                   : 50;
    put_name(out, OUT_QUEUE,
             job->queue != ORR_NONE ? job->queue
                                    : first_said(h, one, offsetof(struct history_pod, queue)));
    put_name(out, OUT_USER, first_said(h, one, offsetof(struct history_pod, user)));
    native_out_text(
        &out->rows, OUT_KIND,
        orr_kind_name(import_kind_of(origin != ORR_NONE ? orr_idmap_name(&h->names, origin) : NULL,
                                     !first->other_scheduler, priority)));
    if (known) {
        (void)snprintf(text, bytes, "%" PRId64, priority);
        native_out_text(&out->rows, OUT_PRIORITY, text);
    }
    if (job->has_preemptible) {
        native_out_text(&out->rows, OUT_PREEMPTIBLE, job->preemptible ? "true" : "false");
    }
}

/* What a queue of KAI's metrics held of the job while there are samples. */
static void hold_against_samples(struct out *out, const struct one *one, const char *queue)
{
    struct history *h = out->h;
    const uint32_t index = orr_idmap_find(&h->queues, queue, strlen(queue));
    for (uint32_t a = 0; index != ORR_NONE && a < one->attempt_count; a++) {
        const struct attempt *attempt = &one->attempts[a];
        const orr_ms from =
            attempt->start_ms > h->samples_from ? attempt->start_ms : h->samples_from;
        const orr_ms until = attempt->end_ms == ORR_MS_NONE || attempt->end_ms > h->samples_until
                                 ? h->samples_until
                                 : attempt->end_ms;
        out->queue_gpu_ms[index] += until > from ? (double)(until - from) * (double)one->gpus : 0.0;
    }
}

/* When each of them was. */
static void put_attempts(struct out *out, const struct one *one, char text[ORR_NAME_MAX + 1])
{
    struct intake_span *spans = orr_alloc(one->attempt_count, sizeof *spans);
    for (uint32_t a = 0; a < one->attempt_count; a++) {
        spans[a] = (struct intake_span){one->attempts[a].start_ms, one->attempts[a].end_ms};
    }
    out->cut += !intake_attempts(spans, one->attempt_count, one->attempts[0].start_ms, text);
    orr_free(spans);
    native_out_text(&out->rows, OUT_ATTEMPTS, text);
}

static void put_row(struct out *out, const struct one *one)
{
    struct history *h = out->h;
    const struct attempt *last = &one->attempts[one->attempt_count - 1];
    /* The row keeps texts where they are until it is written. */
    char name[800], attempts[1600], priority[24], spans[ORR_NAME_MAX + 1];
    orr_native_clear(out->rows.row);
    native_out_time(&out->rows, OUT_SUBMIT, one->submit_ms);
    native_out_number(&out->rows, OUT_RUN, last->end_ms - last->start_ms, 1000);
    if (one->shape != ORR_NONE) {
        put_shape(out, one);
    } else {
        native_out_number(&out->rows, OUT_GPUS, one->gpus, 1);
        out->mixed++;
    }
    put_names(out, one, priority, sizeof priority);
    native_out_time(&out->rows, OUT_START, one->attempts[0].start_ms);
    native_out_time(&out->rows, OUT_END, last->end_ms);
    native_out_text(&out->rows, OUT_STATE, last->state);
    put_attempts(out, one, spans);
    native_out_text(&out->rows, OUT_JOB, name_of(out, &h->jobs[one->job], name, sizeof name));
    if (!native_out_count(&out->rows, h->report, 0, name)) {
        return;
    }
    out->several += one->attempt_count > 1;
    out->lost_gpu_h += one->earlier_gpu_h;
    native_out_write(&out->rows,
                     one->attempt_count > 1 ? attempts_of(one, attempts, sizeof attempts) : "");
}

static void drop(struct out *out, const struct one *one, bool asked, const char *reason)
{
    struct orr_idmap *names = &out->h->names;
    orr_intake_drop(out->h->report, asked, reason, 0,
                    orr_idmap_name(names, out->h->jobs[one->job].name));
}

static bool is_of_kai(const struct history *h, const struct one *one)
{
    return h->jobs[one->job].has_group || h->pods[one->pods[0]].rank == HISTORY_GROUP ||
           !h->pods[one->pods[0]].sampled;
}

/* Can no row state what its pods ask of MIG? */
static bool asks_odd_instances(const struct history *h, const struct one *one)
{
    const struct history_shape *shape = one->shape == ORR_NONE ? NULL : &h->pods[one->shape].shape;
    char profile[ORR_MIG_NAME_MAX];
    uint32_t instances;
    return shape != NULL && shape->kind == ORR_ASK_MIG &&
           (shape->mig == ORR_NONE ||
            !orr_mig_parse(orr_idmap_name(&h->names, shape->mig), profile, &instances));
}

static void make_job(struct out *out, struct one *one, struct change *changes)
{
    struct history *h = out->h;
    const struct history_job *job = &h->jobs[one->job];
    h->report->rows++;
    for (uint32_t i = 0; i < one->pod_count; i++) {
        settle_end(out, one, i);
    }
    find_width(h, one, changes);
    const uint32_t min =
        job->min_pods > 0 && job->min_pods < one->width ? (uint32_t)job->min_pods : one->width;
    find_attempts(h, one, min, changes);
    one->earlier_gpu_h = 0.0;
    for (uint32_t a = 0; a + 1 < one->attempt_count; a++) {
        one->earlier_gpu_h += (double)one->gpus *
                              (double)(one->attempts[a].end_ms - one->attempts[a].start_ms) / 3.6e6;
    }
    const uint32_t queue = job->queue != ORR_NONE
                               ? job->queue
                               : first_said(h, one, offsetof(struct history_pod, queue));
    if (queue != ORR_NONE) {
        hold_against_samples(out, one, orr_idmap_name(&h->names, queue));
    }
    if (one->shape != ORR_NONE && h->pods[one->shape].shape.kind == ORR_ASK_NO_GPU &&
        !is_of_kai(h, one)) {
        drop(out, one, true, "asks for no GPU");
    } else if (one->width == 0) {
        drop(out, one, false, "when its pods were created is not known");
    } else if (one->attempt_count == 0) {
        drop(out, one, true, "never started");
    } else if (one->attempts[one->attempt_count - 1].end_ms == ORR_MS_NONE) {
        drop(out, one, true, "had not ended");
    } else if (one->shape == ORR_NONE && one->gpus == 0) {
        drop(out, one, false, "its pods ask for different parts of GPUs");
    } else if (asks_odd_instances(h, one)) {
        drop(out, one, false,
             "its pods ask MIG instances of several profiles, of a name that is none such as "
             "1g.5gb, or more than 999");
    } else {
        put_row(out, one);
    }
}

/* --- all of them --- */

static int by_job(const void *a, const void *b, void *context)
{
    const struct history *h = context;
    const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    const struct history_pod *x = &h->pods[p], *y = &h->pods[q];
    return x->job != y->job                 ? (x->job < y->job ? -1 : 1)
           : x->created_ms != y->created_ms ? (x->created_ms < y->created_ms ? -1 : 1)
           : p < q                          ? -1
                                            : p > q;
}

static int by_submit(const void *a, const void *b, void *context)
{
    const struct history *h = context;
    const struct one *x = a, *y = b;
    if (x->submit_ms != y->submit_ms) {
        return x->submit_ms < y->submit_ms ? -1 : 1;
    }
    const int names = strcmp(orr_idmap_name(&h->names, h->jobs[x->job].name),
                             orr_idmap_name(&h->names, h->jobs[y->job].name));
    return names != 0 ? names : x->job < y->job ? -1 : x->job > y->job;
}

static struct one *list_jobs(struct history *h, uint32_t *order, uint32_t *count)
{
    struct one *all = orr_zalloc(h->job_ids.count + (size_t)1, sizeof *all);
    uint32_t n = 0;
    for (uint32_t p = 0; p < h->pod_ids.count; p++) {
        order[p] = p;
    }
    orr_sort(order, h->pod_ids.count, sizeof *order, by_job, h);
    for (uint32_t p = 0; p < h->pod_ids.count; p++) {
        const struct history_pod *pod = &h->pods[order[p]];
        if (pod->job == ORR_NONE) {
            continue;
        }
        if (n == 0 || all[n - 1].job != pod->job) {
            all[n++] =
                (struct one){.job = pod->job,
                             .pods = &order[p],
                             .submit_ms = earlier(h->jobs[pod->job].created_ms, ORR_MS_NONE)};
        }
        struct one *one = &all[n - 1];
        one->pod_count++;
        one->submit_ms = earlier(one->submit_ms, pod->created_ms);
    }
    orr_sort(all, n, sizeof *all, by_submit, h);
    *count = n;
    return all;
}

static void add_notes(struct out *out)
{
    struct history *h = out->h;
    struct orr_intake_report *report = h->report;
    char text[32];
    orr_intake_note(report, "%llu object%s and lists, %u dump%s, %u pod%s",
                    (unsigned long long)h->objects, ORR_PLURAL(h->objects), (unsigned)h->dump_count,
                    ORR_PLURAL(h->dump_count), (unsigned)h->pod_ids.count,
                    ORR_PLURAL(h->pod_ids.count));
    if (out->several > 0) {
        orr_intake_note(report,
                        "jobs with several attempts (x_attempts lists them): %llu; each is one "
                        "job, submitted at first, as long as its last attempt; earlier attempts "
                        "held %.1f GPU-hours beside",
                        (unsigned long long)out->several, out->lost_gpu_h);
    }
    intake_note_cut(report, out->cut);
    if (out->guessed > 0) {
        orr_intake_note(report,
                        "pods that vanished between two looks without an end: %llu; taken in the "
                        "middle, off by up to %s in the mean",
                        (unsigned long long)out->guessed,
                        orr_format_rough(text, out->guess_s / (double)out->guessed));
    }
    if (out->mixed > 0) {
        orr_intake_note(report, "jobs whose pods differ in GPUs, each a total to be split: %llu",
                        (unsigned long long)out->mixed);
    }
    if (h->passed_over > 0) {
        orr_intake_note(report,
                        "pods that ask for no GPU and are not KAI's, or are its own, are passed "
                        "over (seen %llu times)",
                        (unsigned long long)h->passed_over);
    }
    if (h->cut > 0) {
        orr_intake_note(report, "%llu file%s within an object, which is left out",
                        (unsigned long long)h->cut, ORR_ONE(h->cut, " ends", "s end"));
    }
    if (h->without_object > 0) {
        orr_intake_note(report,
                        "audit events of pods that are nowhere described: %llu (an audit policy of "
                        "level RequestResponse writes the objects)",
                        (unsigned long long)h->without_object);
    }
    for (uint32_t q = 0; q < h->queues.count; q++) {
        const struct history_queue *row = &h->queue_rows[q];
        const double span = (double)(h->samples_until - h->samples_from);
        if (row->samples > 0 && span > 0.0) {
            orr_intake_note(report,
                            "queue %.200s: KAI's metrics say %.1f GPUs allocated in the mean, the "
                            "jobs here held %.1f",
                            orr_idmap_name(&h->queues, q), row->sum / (double)row->samples,
                            out->queue_gpu_ms[q] / span);
        }
    }
    for (uint32_t n = 0; n < h->model.note_count; n++) {
        orr_intake_note(report, "%s", h->model.notes[n].text);
    }
}

void history_write(struct history *h, FILE *file)
{
    struct out out = {.h = h,
                      .queue_gpu_ms = orr_zalloc(h->queues.count + (size_t)1, sizeof(double))};
    uint32_t count, most = 0;
    orr_idmap_init(&out.names);
    native_out_open(&out.rows, file,
                    1u << OUT_MODEL | 1u << OUT_LIMIT | 1u << OUT_ELIGIBLE | 1u << OUT_SBATCH);
    find_gone(h);
    uint32_t *order = orr_alloc(h->pod_ids.count + (size_t)1, sizeof *order);
    struct one *all = list_jobs(h, order, &count);
    for (uint32_t i = 0; i < count; i++) {
        most = all[i].pod_count > most ? all[i].pod_count : most;
    }
    struct change *changes = orr_alloc(2 * (size_t)most + 2, sizeof *changes);
    for (uint32_t i = 0; i < count; i++) {
        make_job(&out, &all[i], changes);
        orr_free(all[i].attempts);
    }
    add_notes(&out);
    orr_free(changes);
    orr_free(all);
    orr_free(order);
    orr_free(out.queue_gpu_ms);
    orr_idmap_release(&out.names);
    native_out_close(&out.rows);
}
