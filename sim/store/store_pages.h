/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_pages.h - fills an empty table of a closed SQLite file, page by page.
 *
 * A table of as many rows as there are jobs is most of a results file, and going through an INSERT
 * for each row costs SQLite five times what its bytes cost. The form of a file is documented and
 * stays as it is (https://www.sqlite.org/fileformat2.html): a table is a B-tree of pages whose
 * leaves hold a record for each row. Rows come by rising id, so that leaves are filled one after
 * the other behind the pages there are, and the pages above them are made at the end.
 */
#ifndef ORR_SIM_STORE_PAGES_H
#define ORR_SIM_STORE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include <orrery/base/status.h>

enum {
    ORR_RECORD_COLUMNS_MOST = 25
}; /* the bytes of their types fit a header of one length byte */

struct orr_record { /* the values of a row, first column first */
    uint8_t types[5 * ORR_RECORD_COLUMNS_MOST];
    size_t types_bytes;
    uint8_t *body;
    size_t body_bytes, capacity;
};

struct orr_pages;

/* `root` is the root page of a table without rows and without indices. */
enum orr_status orr_pages_open(int file, uint32_t root, struct orr_pages **out,
                               struct orr_err *err) ORR_MUST_USE;
/* An empty record to put values into; it is the pages' own. */
struct orr_record *orr_pages_record(struct orr_pages *pages);
void orr_record_null(struct orr_record *record);
void orr_record_int(struct orr_record *record, int64_t value);
void orr_record_text(struct orr_record *record, const char *text);
/* How many values it has. */
uint32_t orr_record_columns(const struct orr_record *record);
/* Adds the record as the row `id`, which is above all before. */
enum orr_status orr_pages_add(struct orr_pages *pages, int64_t id,
                              struct orr_err *err) ORR_MUST_USE;
/* Writes what is left, and the pages above the leaves. */
enum orr_status orr_pages_finish(struct orr_pages *pages, struct orr_err *err) ORR_MUST_USE;
void orr_pages_close(struct orr_pages *pages);

#endif
