/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Replies of ingest: the requests of a connection that are unanswered, and the answers on their way out
 *
 * For the files of ingest only. The answers are sent by ingest_flush().
 */

#include "ingest/ingest_state.h"

void ingest_reply_set_unsent(IngestClient *client, bool is_unsent);

/* Accounts for a request that costs n_bytes, and gives the request a number. 0, or < 0: the connection is given up. */
int ingest_reply_expect(IngestClient *client, uint64_t sequence, size_t n_bytes, uint64_t *ret_number);
void ingest_reply_answer(IngestClient *client, uint64_t number, uint64_t sequence, const Answer *answer);
void ingest_reply_hello(IngestClient *client, uint64_t number, uint64_t sequence);
/* Answers bytes that are not a request, CONNECTION_TOO_LARGE or CONNECTION_MALFORMED, and closes the connection after that. */
void ingest_reply_last_words(IngestClient *client, int outcome);
