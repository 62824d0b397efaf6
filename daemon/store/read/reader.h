/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reader: queries of the store, for one thread
 *
 * A read-only connection with a time limit for each query. Rows come one at a time; their texts are borrowed until
 * the next step. The subjects' queries are in store/jobs/job_reader.h, store/indicators/ and
 * store/node/store_node.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/store_types.h"
#include "util/scoped.h"

typedef struct Reader Reader;

struct Field;
struct Statement;
struct WalBarrier;
/*
 * path: store_path(). barrier: store_wal_barrier(), borrowed, or NULL for a file that nobody writes. timeout_ns:
 * limit of one query with
 * all its rows. The file is opened by the first query. 0 or -ENOMEM.
 */
int reader_new(Reader **ret, const char *path, struct WalBarrier *barrier, uint64_t timeout_ns);
Reader *reader_free(Reader *reader);
DEFINE_SCOPED(Reader, reader_free);

/* Whether the next queries leave out rows of all users but this one, -1: of all users. */
void reader_hide_others(Reader *reader, bool is_hiding, int64_t uid);

/* Counts a text that is damaged in the database, in the statistics of the store. */
void reader_note_damaged_text(Reader *reader);
/* Ends the query early; later queries end immediately, too. */
void reader_reset(Reader *reader);

/* Reads the next row into *ret, a struct of n_ret bytes. 0 or an outcome of store_types.h. */
int reader_next(Reader *reader, void *ret, size_t n_ret);
/* Defines the function that reads the next row of a query of rows of this type. */
#define READER_NEXT(name, Type)                                    \
        static inline int name(Reader *reader, Type *ret) {        \
                return reader_next(reader, ret, sizeof(*ret));     \
        }

/* --- for the subjects' readers ------------------------------------------------------------------- */

struct ReadConnection *reader_connection(Reader *reader);

/* State of the subject that needs one in each reader. */
typedef struct ReaderState {
        size_t size;
        void (*deinit)(void *state);
} ReaderState;
/* Returns the subject's state, initially zero. Lives as long as the reader; NULL: out of memory. */
void *reader_state(Reader *reader, const ReaderState *kind);

/*
 * A page: a part of a list that is sorted by time and row, newest first. Its rows come strictly before the key,
 * which is that of the last row of the page before.
 */
typedef struct PageKey {
        uint64_t time_ms;
        int64_t row;
} PageKey; /* {} for the first page */

/*
 * Writes three fields for "time >= ? AND (time, row) < (?, ?)": rows of [since, until) before the key; until_ms 0:
 * no end. INT64_MAX is the highest row.
 */
void reader_put_page_fields(uint64_t since_ms, uint64_t until_ms, const PageKey *before, struct Field *ret);

/* Rows of a page with a text (NULL: any) in each of three columns. */
typedef struct PageFilter {
        uint64_t since_ms, until_ms; /* [since, until); 0: open */
        PageKey before;
        const char *texts[3];
} PageFilter;

/*
 * Begins the query of a page. A text that is not given does not appear in the statement, so that each of the eight
 * statements can name its index: with INDEXED BY, a statement that cannot use the index is an error. The number of a
 * statement has a bit for each text. The texts come after the fields of reader_put_page_fields(). 0 or an outcome of
 * store_types.h.
 */
int reader_begin_page(Reader *reader, const struct Statement *lists, const PageFilter *filter);
