/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reader: queries of the store, for one thread
 *
 * A read-only connection with a time limit for each query. Rows come one at a time; their texts are borrowed until the next step.
 * The subjects' queries are in store/jobs/job_reader.h, store/indicators/ and store/node/store_node.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/read/page.h"
#include "store/table/store_types.h"
#include "util/scoped.h"

typedef struct Reader Reader;

struct WalBarrier;
/*
 * path: store_path(). barrier: store_wal_barrier(), borrowed, or NULL for a file that nobody writes. timeout_ns: limit of one query with
 * all its rows. The file is opened by the first query. 0 or -ENOMEM.
 */
int reader_new(Reader **ret, const char *path, struct WalBarrier *barrier, uint64_t timeout_ns);
Reader *reader_free(Reader *reader);
DEFINE_SCOPED(Reader, reader_free);

/* Ends the query early; later queries end immediately, too. */
void reader_reset(Reader *reader);

/* --- for the subjects' readers ------------------------------------------------------------------- */

struct ReadConnection *reader_connection(Reader *reader);

/* State of a subject in each reader. */
typedef struct ReaderState {
        size_t size;
        void (*deinit)(void *state);
} ReaderState;
/* Returns the subject's state, initially zero. Lives as long as the reader; NULL: out of memory. */
void *reader_state(Reader *reader, const ReaderState *kind);
