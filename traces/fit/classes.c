/* SPDX-License-Identifier: GPL-3.0-or-later */
/* classes.c - the table of a model's classes: read, checked and written. */
#include <orrery/traces/classes.h>

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/table.h>

#define COUNT_MOST 1000000.0
#define TIME_MOST  3162240000.0 /* a century, as readers take it */

enum {
    QUEUE,
    KIND,
    GPUS,
    PODS,
    GPUS_PER_POD,
    GPU_FRACTION,
    CPU_MILLI,
    MEM_MIB,
    FROM,
    UNTIL,
    BURSTS,
    JOBS,
    GAP,
    RUN,
    ALIKE,
    USERS,
    COLUMNS
};

static const struct orr_table_column columns[COLUMNS] = {
    [QUEUE] = {"queue", true, false},
    [KIND] = {"kind", true, false},
    [GPUS] = {"gpus", false, false},
    [PODS] = {"pods", false, false},
    [GPUS_PER_POD] = {"gpus_per_pod", false, false},
    [GPU_FRACTION] = {"gpu_fraction", false, false},
    [CPU_MILLI] = {"cpu_milli", false, false},
    [MEM_MIB] = {"mem_mib", false, false},
    [FROM] = {"from_s", false, true},
    [UNTIL] = {"until_s", false, true},
    [BURSTS] = {"bursts", false, true},
    [JOBS] = {"jobs", true, false},
    [GAP] = {"gap_s", true, false},
    [RUN] = {"run_s", true, true},
    [ALIKE] = {"alike", false, false},
    [USERS] = {"users", true, false},
};
_Static_assert((int)COLUMNS <= (int)ORR_TABLE_COLUMNS, "a table has no more");

double orr_steps_at(const struct orr_steps *steps, double p)
{
    const double want = p * steps->sums[steps->count - 1];
    uint32_t low = 0, high = steps->count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (steps->sums[middle] > want) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return steps->values[low];
}

void orr_classes_init(struct orr_classes *classes)
{
    *classes = (struct orr_classes){0};
    orr_arena_init(&classes->arena);
}

void orr_classes_release(struct orr_classes *classes)
{
    orr_free(classes->items);
    orr_arena_release(&classes->arena);
    *classes = (struct orr_classes){0};
}

/* --- in -------------------------------------------------------------------------------------- */

struct reading {
    const char *path;
    const struct orr_table *table;
    struct orr_classes *classes;
    struct orr_err *err;
    uint32_t row;
};

static enum orr_status wrong(const struct reading *reading, int column, const char *what)
{
    return orr_fail(reading->err, ORR_DATA, "%s:%u: column %s: %s", reading->path,
                    (unsigned)reading->table->lines[reading->row], columns[column].name, what);
}

static bool has(const struct reading *reading, int column)
{
    return (reading->table->present >> column & 1) != 0 &&
           (columns[column].text ? reading->table->texts[column][reading->row] != NULL
                                 : !isnan(reading->table->numbers[column][reading->row]));
}

static double number(const struct reading *reading, int column)
{
    return reading->table->numbers[column][reading->row];
}

/* "60 3600*12": values by blanks, ascending, each with how often it counts. */
static enum orr_status take_steps(const struct reading *reading, int column, double most,
                                  struct orr_steps *out)
{
    const char *text = has(reading, column) ? reading->table->texts[column][reading->row] : "";
    const size_t bytes = strlen(text);
    double *values = orr_arena_alloc(&reading->classes->arena, bytes / 2 + 1, sizeof *values);
    double *sums = orr_arena_alloc(&reading->classes->arena, bytes / 2 + 1, sizeof *sums);
    uint32_t count = 0;
    double sum = 0.0;
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        const char *star = memchr(at, '*', length);
        const size_t digits = star == NULL ? length : (size_t)(star - at);
        double weight = 1.0;
        if (length > 0) {
            if (!orr_parse_double(at, digits, &values[count]) || values[count] < 0.0 ||
                values[count] > most ||
                (star != NULL && (!orr_parse_double(star + 1, length - digits - 1, &weight) ||
                                  !(weight > 0.0) || weight > 1e9))) {
                return wrong(reading, column,
                             "expected numbers with blanks between them, such as 60 3600*12");
            }
            if (count > 0 && values[count] < values[count - 1]) {
                return wrong(reading, column, "its numbers must rise");
            }
            sums[count++] = sum += weight;
        }
        at += length + (at[length] == ' ');
    }
    *out = (struct orr_steps){values, sums, count};
    return ORR_OK;
}

static enum orr_status take_count(const struct reading *reading, int column, uint32_t *out)
{
    if (!has(reading, column)) {
        return ORR_OK;
    }
    const double value = number(reading, column);
    if (!(value >= 0.0 && value <= COUNT_MOST) || value != floor(value)) {
        return wrong(reading, column, "expected a whole number from 0 to 1000000");
    }
    *out = (uint32_t)value;
    return ORR_OK;
}

static enum orr_status take_amount(const struct reading *reading, int column, int64_t *out)
{
    *out = -1;
    if (has(reading, column)) {
        if (!(number(reading, column) >= 0.0 && number(reading, column) <= 1e12)) {
            return wrong(reading, column, "expected a number from 0 to 10^12");
        }
        *out = (int64_t)(number(reading, column) + 0.5);
    }
    return ORR_OK;
}

static enum orr_status take_shape(const struct reading *reading, struct orr_arrival_class *class)
{
    static const int counts[] = {GPUS, PODS, GPUS_PER_POD};
    uint32_t *const fields[] = {&class->gpus, &class->pods, &class->gpus_per_pod};
    enum orr_status status = ORR_OK;
    for (int i = 0; i < 3 && status == ORR_OK; i++) {
        status = take_count(reading, counts[i], fields[i]);
    }
    if (status == ORR_OK) {
        status = take_amount(reading, CPU_MILLI, &class->cpu_milli);
    }
    if (status == ORR_OK) {
        status = take_amount(reading, MEM_MIB, &class->mem_mib);
    }
    if (status != ORR_OK) {
        return status;
    }
    if (has(reading, GPU_FRACTION)) {
        const double part = number(reading, GPU_FRACTION);
        if (!(part >= 0.001 && part <= 1.0)) {
            return wrong(reading, GPU_FRACTION, "expected a number from 0.001 to 1");
        }
        class->gpu_fraction_milli = (int64_t)(part * ORR_MGPU + 0.5);
    }
    const int ways = (class->gpus > 0) + (has(reading, GPUS_PER_POD) && class->gpus_per_pod > 0) +
                     (class->gpu_fraction_milli > 0);
    if (ways > 1 || (class->gpus > 0 && has(reading, PODS))) {
        return wrong(reading, GPUS, "either gpus, or pods with gpus_per_pod or gpu_fraction");
    }
    if (ways == 0 && class->cpu_milli < 0 && !has(reading, GPUS_PER_POD)) {
        return wrong(reading, GPUS,
                     "what does a job ask? One of gpus, gpus_per_pod, gpu_fraction and cpu_milli");
    }
    return has(reading, PODS) && class->pods == 0 ? wrong(reading, PODS, "a job has pods") : ORR_OK;
}

static enum orr_status take_window(const struct reading *reading, struct orr_arrival_class *class)
{
    const double from = number(reading, FROM), until = number(reading, UNTIL);
    const double bursts = number(reading, BURSTS);
    if (!(fabs(from) <= TIME_MOST && fabs(until) <= TIME_MOST && until > from)) {
        return wrong(reading, UNTIL, "expected a time behind from_s, within a century of 0");
    }
    if (!(bursts >= 0.0 && bursts <= 1e8)) {
        return wrong(reading, BURSTS, "expected a number from 0 to 10^8");
    }
    class->alike = has(reading, ALIKE) ? number(reading, ALIKE) : 0.0;
    if (!(class->alike >= 0.0 && class->alike <= 1.0)) {
        return wrong(reading, ALIKE, "expected a number from 0 to 1");
    }
    class->from_ms = (orr_ms)llround(from * 1000.0);
    class->until_ms = (orr_ms)llround(until * 1000.0);
    class->bursts = bursts;
    return class->until_ms > class->from_ms ? ORR_OK
                                            : wrong(reading, UNTIL, "is less than 1 ms later");
}

static enum orr_status take_row(const struct reading *reading)
{
    struct orr_classes *classes = reading->classes;
    classes->items = ORR_ROOM_FOR_ONE(classes->items, classes->count, classes->capacity);
    struct orr_arrival_class *class = &classes->items[classes->count++];
    *class = (struct orr_arrival_class){.line = reading->table->lines[reading->row]};
    if (has(reading, QUEUE)) {
        const char *queue = reading->table->texts[QUEUE][reading->row];
        if (orr_name_written(queue, strlen(queue)) > ORR_NAME_MAX) {
            return wrong(reading, QUEUE, "the name is longer than 1000 bytes");
        }
        class->queue = orr_arena_strndup(&classes->arena, queue, strlen(queue));
    }
    if (has(reading, KIND)) {
        const char *kind = reading->table->texts[KIND][reading->row];
        class->has_kind = orr_kind_parse(kind, strlen(kind), &class->kind);
        if (!class->has_kind) {
            return wrong(reading, KIND, "training, interactive, inference or unknown");
        }
    }
    enum orr_status status = take_shape(reading, class);
    if (status == ORR_OK) {
        status = take_window(reading, class);
    }
    if (status == ORR_OK) {
        status = take_steps(reading, JOBS, COUNT_MOST, &class->jobs);
    }
    if (status == ORR_OK) {
        status = take_steps(reading, GAP, TIME_MOST, &class->gap_s);
    }
    if (status == ORR_OK) {
        status = take_steps(reading, RUN, TIME_MOST, &class->run_s);
    }
    if (status == ORR_OK) {
        status = take_steps(reading, USERS, COUNT_MOST, &class->users);
    }
    if (status == ORR_OK && class->jobs.count > 0 && !(class->jobs.values[0] >= 1.0)) {
        status = wrong(reading, JOBS, "a burst has a job or more");
    }
    return status == ORR_OK && class->run_s.count == 0 ? wrong(reading, RUN, "has no number")
                                                       : status;
}

enum orr_status orr_classes_read(const char *path, struct orr_classes *classes, struct orr_err *err)
{
    struct orr_table table;
    enum orr_status status = orr_table_read(path, columns, COLUMNS, &table, err);
    if (status != ORR_OK) {
        return status;
    }
    orr_classes_init(classes);
    memcpy(classes->sha256, table.sha256, sizeof classes->sha256);
    struct reading reading = {.path = path, .table = &table, .classes = classes, .err = err};
    for (; reading.row < table.rows && status == ORR_OK; reading.row++) {
        status = take_row(&reading);
    }
    if (status == ORR_OK && classes->count == 0) {
        status = orr_fail(err, ORR_DATA, "%s: no class", path);
    }
    orr_table_release(&table);
    if (status != ORR_OK) {
        orr_classes_release(classes);
    }
    return status;
}

/* --- out ------------------------------------------------------------------------------------- */

static void put_number(double value, FILE *out)
{
    char text[400];
    int length = snprintf(text, sizeof text, "%.6f", value);
    while (length > 1 && text[length - 1] == '0') {
        length--;
    }
    length -= text[length - 1] == '.';
    (void)fprintf(out, "%.*s", length, text);
}

/* Neighbours that are equal are one. */
static void put_steps(const struct orr_steps *steps, FILE *out)
{
    for (uint32_t i = 0; i < steps->count;) {
        const double value = steps->values[i];
        const double before = i == 0 ? 0.0 : steps->sums[i - 1];
        const uint32_t first = i;
        while (i < steps->count && !(steps->values[i] > value)) {
            i++;
        }
        const double weight = steps->sums[i - 1] - before;
        (void)fputs(first == 0 ? "" : " ", out);
        put_number(value, out);
        if (weight > 1.0 || weight < 1.0) {
            (void)putc('*', out);
            put_number(weight, out);
        }
    }
}

/* As CSV: quoted if it has to be. */
static void put_text(const char *text, FILE *out)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0' && text[0] != ' ') {
        (void)fputs(text, out);
        return;
    }
    (void)putc('"', out);
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '"' ? "\"\"" : (const char[2]){*text, '\0'}, out);
    }
    (void)putc('"', out);
}

static void put_shape(const struct orr_arrival_class *class, FILE *out)
{
    if (class->gpus > 0) {
        (void)fprintf(out, ",%u,,,", (unsigned)class->gpus);
    } else if (class->gpu_fraction_milli > 0) {
        (void)fprintf(out, ",,%u,,", (unsigned)(class->pods > 0 ? class->pods : 1));
        put_number((double)class->gpu_fraction_milli / ORR_MGPU, out);
    } else {
        (void)fprintf(out, ",,%u,%u,", (unsigned)(class->pods > 0 ? class->pods : 1),
                      (unsigned)class->gpus_per_pod);
    }
    const int64_t amounts[] = {class->cpu_milli, class->mem_mib};
    for (int i = 0; i < 2; i++) {
        (void)putc(',', out);
        if (amounts[i] >= 0) {
            (void)fprintf(out, "%lld", (long long)amounts[i]);
        }
    }
}

void orr_classes_write(const struct orr_classes *classes, FILE *out)
{
    for (int c = 0; c < COLUMNS; c++) {
        (void)fprintf(out, "%s%s", c > 0 ? "," : "", columns[c].name);
    }
    (void)putc('\n', out);
    for (uint32_t i = 0; i < classes->count; i++) {
        const struct orr_arrival_class *class = &classes->items[i];
        put_text(class->queue != NULL ? class->queue : "", out);
        (void)fprintf(out, ",%s", class->has_kind ? orr_kind_name(class->kind) : "");
        put_shape(class, out);
        char from[32], until[32];
        (void)orr_format_seconds(from, class->from_ms);
        (void)orr_format_seconds(until, class->until_ms);
        (void)fprintf(out, ",%s,%s,", from, until);
        put_number(class->bursts, out);
        const struct orr_steps *const steps[] = {&class->jobs, &class->gap_s, &class->run_s};
        for (int s = 0; s < 3; s++) {
            (void)putc(',', out);
            put_steps(steps[s], out);
        }
        (void)putc(',', out);
        put_number(class->alike, out);
        (void)putc(',', out);
        put_steps(&class->users, out);
        (void)putc('\n', out);
    }
}
