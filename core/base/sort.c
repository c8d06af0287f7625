/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/sort.h>

#include <string.h>

#include <orrery/base/mem.h>

#define DIGIT_BITS    11
#define DIGITS        (1u << DIGIT_BITS)
#define PASSES_MOST   (64 / DIGIT_BITS + 1)

/* Runs of so many items are sorted by insertion, larger ones merged of them. */
#define RUN           8
#define MOST_INSERTED 256 /* bytes of an item */

static inline void insert_items(char *items, size_t count, size_t size, orr_compare_fn *compare,
                                void *context)
{
    char kept[MOST_INSERTED];
    for (size_t i = 1; i < count; i++) {
        size_t at = i;
        while (at > 0 && compare(items + i * size, items + (at - 1) * size, context) < 0) {
            at--;
        }
        if (at < i) {
            memcpy(kept, items + i * size, size);
            memmove(items + (at + 1) * size, items + at * size, (i - at) * size);
            memcpy(items + at * size, kept, size);
        }
    }
}

static inline void merge(char *out, const char *left, const char *middle, const char *end,
                         size_t size, orr_compare_fn *compare, void *context)
{
    const char *right = middle;
    while (left < middle && right < end) {
        const char **from = compare(right, left, context) < 0 ? &right : &left;
        memcpy(out, *from, size);
        *from += size;
        out += size;
    }
    memcpy(out, left, (size_t)(middle - left));
    out += middle - left;
    memcpy(out, right, (size_t)(end - right));
}

static inline bool in_order(const char *items, size_t count, size_t size, orr_compare_fn *compare,
                            void *context)
{
    size_t i = 1;
    while (i < count && compare(items + i * size, items + (i - 1) * size, context) >= 0) {
        i++;
    }
    return i >= count;
}

static inline void sort_items(char *items, size_t count, size_t size, orr_compare_fn *compare,
                              void *context)
{
    const size_t run = size <= MOST_INSERTED ? RUN : 1;
    for (size_t i = 0; run > 1 && i < count; i += run) {
        insert_items(items + i * size, i + run < count ? run : count - i, size, compare, context);
    }
    if (count <= run || in_order(items, count, size, compare, context)) {
        return;
    }
    char *a = items;
    char *b = orr_alloc(count, size);
    for (size_t width = run; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t middle = i + width < count ? i + width : count;
            size_t end = i + 2 * width < count ? i + 2 * width : count;
            if (middle == end ||
                compare(a + middle * size, a + (middle - 1) * size, context) >= 0) {
                memcpy(b + i * size, a + i * size, (end - i) * size); /* in order already */
                continue;
            }
            merge(b + i * size, a + i * size, a + middle * size, a + end * size, size, compare,
                  context);
        }
        char *swap = a;
        a = b;
        b = swap;
    }
    if (a != items) {
        memcpy(items, a, count * size);
        b = a;
    }
    orr_free(b);
}

void orr_sort(void *items, size_t count, size_t size, orr_compare_fn *compare, const void *context)
{
    void *const read = (void *)(uintptr_t)context; /* comparisons do not write through it */
    /* Most are sorts of ids: with their size known, copies are single instructions. */
    if (size == sizeof(uint32_t)) {
        sort_items(items, count, sizeof(uint32_t), compare, read);
    } else {
        sort_items(items, count, size, compare, read);
    }
}

/* Order-preserving map of int64 to uint64. */
static inline uint64_t biased(int64_t key)
{
    return (uint64_t)key ^ (uint64_t)1 << 63;
}

static inline int64_t key_at(const void *keys, size_t stride, uint32_t id)
{
    int64_t key;
    memcpy(&key, (const char *)keys + stride * id, sizeof key);
    return key;
}

/* How often each digit comes is the same in any order: keys are read once for all of them, in the
 * order in which they most often lie. */
static void count_digits(const uint32_t *ids, uint32_t count, const void *keys, size_t stride,
                         const unsigned *shifts, unsigned passes, uint32_t (*counts)[DIGITS])
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = biased(key_at(keys, stride, ids[i]));
        for (unsigned p = 0; p < passes; p++) {
            counts[p][key >> shifts[p] & (DIGITS - 1)]++;
        }
    }
}

/* Least digit first, to and fro between ids and a buffer for as many. `differ`: bits in which keys
 * differ. */
static void radix(uint32_t *ids, uint32_t count, const void *keys, size_t stride, uint64_t differ,
                  uint32_t *buffer)
{
    uint32_t first[PASSES_MOST][DIGITS];
    unsigned shifts[PASSES_MOST], passes = 0;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) != 0) {
            memset(first[passes], 0, sizeof first[passes]);
            shifts[passes++] = shift;
        }
    }
    count_digits(ids, count, keys, stride, shifts, passes, first);
    uint32_t *a = ids, *b = buffer;
    for (unsigned p = 0; p < passes; p++) {
        uint32_t sum = 0;
        for (uint32_t d = 0; d < DIGITS; d++) {
            uint32_t n = first[p][d];
            first[p][d] = sum;
            sum += n;
        }
        for (uint32_t i = 0; i < count; i++) {
            b[first[p][biased(key_at(keys, stride, a[i])) >> shifts[p] & (DIGITS - 1)]++] = a[i];
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != ids) {
        memcpy(ids, a, count * sizeof *ids);
    }
}

void orr_sort_ids_by_i64(uint32_t *ids, uint32_t count, const void *keys, size_t stride)
{
    uint64_t differ = 0;
    bool sorted = true;
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t key = key_at(keys, stride, ids[i]);
        differ |= biased(key) ^ biased(key_at(keys, stride, ids[0]));
        sorted = sorted && last <= key;
        last = key;
    }
    if (sorted) {
        return;
    }
    /* by halves, the first of which is then merged from the buffer: it need not be larger */
    const uint32_t half = count / 2;
    uint32_t *buffer = orr_alloc(count - half, sizeof *buffer);
    radix(ids, half, keys, stride, differ, buffer);
    radix(ids + half, count - half, keys, stride, differ, buffer);
    memcpy(buffer, ids, half * sizeof *ids);
    uint32_t left = 0, right = half;
    for (uint32_t out = 0; left < half; out++) {
        const bool first = right == count ||
                           key_at(keys, stride, buffer[left]) <= key_at(keys, stride, ids[right]);
        ids[out] = first ? buffer[left++] : ids[right++];
    }
    orr_free(buffer);
}

uint32_t *orr_sort_index_by_i64(const int64_t *keys, uint32_t count)
{
    uint32_t *ids = orr_alloc(count, sizeof *ids);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = i;
    }
    orr_sort_ids_by_i64(ids, count, keys, sizeof *keys);
    return ids;
}

void orr_sort_i64(int64_t *values, size_t count)
{
    if (count < 2) {
        return;
    }
    int64_t *a = values;
    int64_t *b = orr_alloc(count, sizeof *b);
    uint64_t differ = 0;
    for (size_t i = 0; i < count; i++) {
        differ |= biased(values[i]) ^ biased(values[0]);
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) == 0) {
            continue;
        }
        size_t first[DIGITS] = {0};
        for (size_t i = 0; i < count; i++) {
            first[biased(a[i]) >> shift & (DIGITS - 1)]++;
        }
        size_t sum = 0;
        for (uint32_t d = 0; d < DIGITS; d++) {
            size_t n = first[d];
            first[d] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++) {
            b[first[biased(a[i]) >> shift & (DIGITS - 1)]++] = a[i];
        }
        int64_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != values) {
        memcpy(values, a, count * sizeof *values);
        b = a;
    }
    orr_free(b);
}

/* Hoare's partition: afterwards values[low..result] <= pivot <= values[result + 1..high - 1], and
 * neither part is empty, because the middle of three is never alone at the end. */
static size_t partition(double *values, size_t low, size_t high)
{
    double a = values[low], b = values[low + (high - low - 1) / 2], c = values[high - 1];
    double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
    size_t i = low, j = high - 1;
    for (;; i++, j--) {
        while (values[i] < pivot) {
            i++;
        }
        while (values[j] > pivot) {
            j--;
        }
        if (i >= j) {
            return j;
        }
        double swap = values[i];
        values[i] = values[j];
        values[j] = swap;
    }
}

double orr_select(double *values, size_t count, size_t rank)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = partition(values, low, high);
        if (rank <= middle) {
            high = middle + 1;
        } else {
            low = middle + 1;
        }
    }
    return values[low];
}

int orr_compare_u32(const void *a, const void *b, void *context)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    (void)context;
    return (x > y) - (x < y);
}

int orr_compare_texts(const void *a, const void *b, void *context)
{
    (void)context;
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
