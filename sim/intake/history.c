/* SPDX-License-Identifier: GPL-3.0-or-later */
/* history.c - records of a Kubernetes cluster over time: which file is what, and when a dump was
 * made.
 *
 * A file is a sequence of JSON values, or YAML. A List with pods is a dump: what is not in it is
 * gone. Single objects, watch events and audit events are a log, whose clock is the newest time
 * that its objects state. A range query's answer is samples. All are merged by the uid of pods.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <orrery/base/text.h>
#include <orrery/traces/source.h>

#include "history.h"

#define FILE_BYTES_MAX ((size_t)2 << 30)

uint32_t history_name(struct history *h, const char *text)
{
    return text == NULL || text[0] == '\0' ? ORR_NONE
                                           : orr_idmap_put(&h->names, text, strlen(text), NULL);
}

void history_saw(struct history *h, orr_ms at)
{
    h->newest = at != ORR_MS_NONE && (h->newest == ORR_MS_NONE || at > h->newest) ? at : h->newest;
}

struct history_pod *history_pod(struct history *h, const char *uid)
{
    bool added;
    const uint32_t index = orr_idmap_put(&h->pod_ids, uid, strlen(uid), &added);
    if (added) {
        h->pods = ORR_ROOM_FOR_ONE(h->pods, index, h->pod_capacity);
        h->pods[index] = (struct history_pod){.job = ORR_NONE,
                                              .queue = ORR_NONE,
                                              .user = ORR_NONE,
                                              .origin = ORR_NONE,
                                              .created_ms = ORR_MS_NONE,
                                              .bound_ms = ORR_MS_NONE,
                                              .ended_ms = ORR_MS_NONE,
                                              .leaving_ms = ORR_MS_NONE,
                                              .seen_ms = ORR_MS_NONE,
                                              .gone_ms = ORR_MS_NONE,
                                              .shape = {.mig = ORR_NONE}};
    }
    return &h->pods[index];
}

uint32_t history_job(struct history *h, const char *key, const char *space, const char *name)
{
    bool added;
    const uint32_t index = orr_idmap_put(&h->job_ids, key, strlen(key), &added);
    if (added) {
        h->jobs = ORR_ROOM_FOR_ONE(h->jobs, index, h->job_capacity);
        h->jobs[index] = (struct history_job){.name = history_name(h, name[0] != '\0' ? name : key),
                                              .space = history_name(h, space),
                                              .queue = ORR_NONE,
                                              .created_ms = ORR_MS_NONE};
    }
    return index;
}

void history_join(struct history_pod *pod, enum history_rank rank, uint32_t job)
{
    if (pod->job == ORR_NONE || rank >= pod->rank) {
        pod->job = job;
        pod->rank = (uint8_t)rank;
    }
}

/* --- when a dump was made --- */

static bool digits(const char **at, int count, int64_t *out)
{
    int64_t value = 0;
    for (int i = 0; i < count; i++) {
        const char c = (*at)[i];
        if (c < '0' || c > '9') {
            return false;
        }
        value = value * 10 + (c - '0');
    }
    *at += count;
    *out = value;
    return true;
}

/* 2026-06-01T12:00:00Z, also with - or nothing between its parts. */
static bool date_at(const char *at, orr_ms *out)
{
    static const int lengths[] = {4, 2, 2, 2, 2, 2};
    int64_t part[6];
    char text[32];
    for (int i = 0; i < 6; i++) {
        const bool marked =
            i == 3 ? *at == 'T' || *at == '_' : i > 0 && (*at == '-' || *at == ':' || *at == '_');
        if (i == 3 && !marked) {
            return false;
        }
        at += marked;
        if (!digits(&at, lengths[i], &part[i])) {
            return false;
        }
    }
    if (*at != 'Z') {
        return false;
    }
    const int bytes =
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)part[0], (int)part[1],
                 (int)part[2], (int)part[3], (int)part[4], (int)part[5]);
    return orr_parse_timestamp(text, (size_t)bytes, out);
}

static orr_ms time_of_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    orr_ms at;
    for (const char *c = slash != NULL ? slash + 1 : path; *c != '\0'; c++) {
        if (date_at(c, &at)) {
            return at;
        }
    }
    return ORR_MS_NONE;
}

static void add_dump(struct history *h, orr_ms at)
{
    h->dumps = ORR_ROOM_FOR_ONE(h->dumps, h->dump_count, h->dump_capacity);
    h->dumps[h->dump_count++] = at;
}

/* --- one file --- */

static const struct import_value *items_of(const struct import_value *document)
{
    const struct import_value *items = document->kind == IMPORT_LIST ? document
                                       : import_get(document, "rawObjects") != NULL
                                           ? import_get(document, "rawObjects/pods")
                                           : import_get(document, "items");
    return items != NULL && items->kind == IMPORT_LIST ? items : NULL;
}

static bool has_pods(const struct import_value *items, bool raw)
{
    IMPORT_EACH(item, items)
    {
        if (raw || strcmp(kube_kind_of(item), "Pod") == 0) {
            return true;
        }
    }
    return false;
}

static void see_items(struct history *h, const struct import_value *items, orr_ms at, bool dump)
{
    IMPORT_EACH(item, items)
    {
        if (item->kind == IMPORT_MAP && import_ok(&h->load)) {
            history_see(h, item, at, dump);
        }
    }
}

/* Twice over its objects where no name says when it was: first for the newest time in them. */
static void see_list(struct history *h, const char *path, const struct import_value *document)
{
    const struct import_value *raw = import_get(document, "rawObjects");
    const struct import_value *items = items_of(document);
    const bool dump = has_pods(items, raw != NULL);
    orr_ms at = time_of_name(path);
    if (at == ORR_MS_NONE && dump) {
        h->newest = ORR_MS_NONE;
        see_items(h, items, ORR_MS_NONE, false);
        at = h->newest;
    }
    if (raw != NULL) {
        see_items(h, import_get(raw, "priorityClasses"), at, false);
        see_items(h, import_get(raw, "podGroups"), at, false);
    }
    see_items(h, items, at, dump);
    if (dump && at != ORR_MS_NONE) {
        add_dump(h, at);
    }
}

static void see_document(struct history *h, const char *path, const struct import_value *document)
{
    h->objects++;
    if (items_of(document) != NULL) {
        see_list(h, path, document);
    } else if (document->kind != IMPORT_MAP) {
        import_fail(&h->load, document, "an object of Kubernetes belongs here, or a list of them");
    } else if (import_get(document, "errorType") != NULL) {
        import_fail(&h->load, import_get(document, "errorType"),
                    "an answer of Prometheus that is an error: %.200s",
                    import_text(&h->load, document, "error", ""));
    } else if (import_get(document, "data/resultType") != NULL) {
        history_see_samples(h, document);
    } else if (import_get(document, "auditID") != NULL ||
               import_get(document, "objectRef") != NULL) {
        history_see_audit(h, document);
    } else if (import_get(document, "object") != NULL && import_get(document, "type") != NULL) {
        history_see_watch(h, document);
    } else {
        history_see(h, document, ORR_MS_NONE, false);
    }
}

static void see_part(struct history *h, const char *path, const struct import_part *part)
{
    struct import_file *file;
    orr_arena_reset(&h->scratch);
    if (import_parse_part(&h->load, path, part, &file) == ORR_OK) {
        IMPORT_EACH(document, file->documents)
        {
            if (import_ok(&h->load) && document->kind != IMPORT_NULL) {
                see_document(h, path, document);
            }
        }
    }
}

static uint32_t lines_of(const char *text, size_t bytes)
{
    uint32_t lines = 0;
    for (const char *end = text + bytes; (text = memchr(text, '\n', (size_t)(end - text))) != NULL;
         text++) {
        lines++;
    }
    return lines;
}

/* JSON values one behind the other; a log that is being written may end within one. */
static void see_stream(struct history *h, const char *path, const char *text, size_t bytes)
{
    struct import_part part = {.text = text, .statuses = true};
    const char *end = text + bytes;
    while (import_ok(&h->load)) {
        const char *next = part.text + part.bytes;
        part.lines_before += lines_of(part.text, part.bytes);
        part.text = next;
        while (part.text < end && part.text[0] != '\0' &&
               strchr(" \t\r\n,", part.text[0]) != NULL) {
            part.lines_before += part.text[0] == '\n';
            part.text++;
        }
        if (part.text == end) {
            return;
        }
        part.bytes = import_json_bytes(part.text, (size_t)(end - part.text));
        if (part.bytes == 0 && (part.text[0] == '{' || part.text[0] == '[')) {
            h->cut++;
            return;
        }
        part.bytes = part.bytes > 0 ? part.bytes : (size_t)(end - part.text); /* it complains */
        see_part(h, path, &part);
    }
}

void intake_history_text(struct history *h, const char *path, const char *text, size_t bytes)
{
    const size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    size_t blank = mark;
    while (blank < bytes && text[blank] != '\0' && strchr(" \t\r\n", text[blank]) != NULL) {
        blank++;
    }
    h->stream = ORR_MS_NONE;
    if (blank < bytes && (text[blank] == '{' || text[blank] == '[')) {
        see_stream(h, path, text + mark, bytes - mark);
    } else {
        const struct import_part part = {.text = text, .bytes = bytes, .statuses = true};
        see_part(h, path, &part);
    }
}

static enum orr_status see_file(struct history *h, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    const enum orr_status status =
        orr_source_read_all(path, FILE_BYTES_MAX, &text, &bytes, h->load.err);
    if (status == ORR_OK) {
        intake_history_text(h, path, text, bytes);
    }
    orr_free(text);
    return h->load.err->status;
}

/* A folder stands for its files, by name. */
static enum orr_status see_path(struct history *h, const char *path)
{
    struct stat about;
    struct dirent **entries = NULL;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return see_file(h, path);
    }
    const int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        return orr_fail(h->load.err, ORR_NO_INPUT, "%s: %s", path, strerror(errno));
    }
    enum orr_status status = ORR_OK;
    bool any = false;
    for (int i = 0; i < count; i++) {
        char name[4600];
        (void)snprintf(name, sizeof name, "%.4000s/%.500s", path, entries[i]->d_name);
        if (status == ORR_OK && entries[i]->d_name[0] != '.' && stat(name, &about) == 0 &&
            S_ISREG(about.st_mode)) {
            any = true;
            status = see_file(h, name);
        }
        free(entries[i]);
    }
    free(entries);
    return status == ORR_OK && !any
               ? orr_fail(h->load.err, ORR_NO_INPUT, "%s: a folder without a file to read", path)
               : status;
}

/* --- all of them --- */

void intake_history_open(struct history *h, struct orr_intake_report *report, struct orr_err *err)
{
    *h = (struct history){.report = report,
                          .load = {.arena = &h->scratch, .err = err},
                          .kept = {.arena = &h->lasting, .err = err},
                          .newest = ORR_MS_NONE,
                          .stream = ORR_MS_NONE,
                          .samples_from = ORR_MS_NONE,
                          .samples_until = ORR_MS_NONE};
    struct orr_idmap *const maps[] = {&h->names,   &h->pod_ids,  &h->pod_names,
                                      &h->job_ids, &h->requests, &h->queues};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_init(maps[i]);
    }
    orr_arena_init(&h->scratch);
    orr_arena_init(&h->lasting);
    import_model_init(&h->model, &h->kept);
    kube_init(&h->kube, &h->model);
    h->kube.load = &h->load;
}

void intake_history_close(struct history *h)
{
    struct orr_idmap *const maps[] = {&h->names,   &h->pod_ids,  &h->pod_names,
                                      &h->job_ids, &h->requests, &h->queues};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_release(maps[i]);
    }
    kube_release(&h->kube);
    import_model_release(&h->model);
    orr_arena_release(&h->scratch);
    orr_arena_release(&h->lasting);
    orr_free(h->pods);
    orr_free(h->latest);
    orr_free(h->jobs);
    orr_free(h->dumps);
    orr_free(h->queue_rows);
}

enum orr_status orr_intake_history(const char *const *paths, uint32_t count, FILE *out,
                                   struct orr_intake_report *report, struct orr_err *err)
{
    struct history *h = orr_alloc(1, sizeof *h);
    orr_intake_report_init(report, paths[0]);
    report->about = "records of a Kubernetes cluster over time";
    report->is_dated = true;
    intake_history_open(h, report, err);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = see_path(h, paths[i]);
    }
    if (status == ORR_OK && h->pod_ids.count == 0) {
        status =
            orr_fail(err, ORR_DATA,
                     "%s: no pod that asks for GPUs or that KAI schedules is in it%s", paths[0],
                     h->without_object > 0 ? ": its audit events have no objects, which an "
                                             "audit policy of level RequestResponse writes"
                                           : "");
    }
    if (status == ORR_OK) {
        history_write(h, out);
    }
    intake_history_close(h);
    orr_free(h);
    return status;
}

bool orr_intake_is_history(const char *path)
{
    struct stat about;
    char head[4096];
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        return true;
    }
    FILE *file = fopen(path, "rb");
    const size_t bytes = file == NULL ? 0 : fread(head, 1, sizeof head - 1, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    head[bytes] = '\0';
    const size_t blank = strspn(head, " \t\r\n");
    return head[blank] == '{' &&
           (strstr(head, "\"audit.k8s.io/") != NULL || strstr(head, "\"resultType\"") != NULL ||
            (strstr(head, "\"object\"") != NULL &&
             (strstr(head, "\"ADDED\"") != NULL || strstr(head, "\"MODIFIED\"") != NULL ||
              strstr(head, "\"DELETED\"") != NULL)));
}
