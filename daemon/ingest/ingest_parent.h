/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests of the parent of ingest: the last request, and one that the parent keeps beyond the next
 *
 * For the files of ingest only. A request may live longer than its connection. The pidfd of its process must not be closed meanwhile,
 * since its number could be reused; a connection lends it to one request only, because the user of a kept request has no other.
 */

#include "ingest/ingest_state.h"

void ingest_parent_init(Ingest *ingest);
void ingest_parent_deinit(Ingest *ingest);

/* The parent needs the last request no longer, unless it is kept. */
void ingest_parent_end_last(Ingest *ingest);
/* Keeps the last request, which is of this client. False: another request is kept. */
bool ingest_parent_keep(IngestClient *client);
/* Releases the kept request. True if the decoder has its frame. */
bool ingest_parent_release(Ingest *ingest);

/* Call before a connection is closed. */
void ingest_parent_leave(IngestClient *client);
/* True if the decoder has a frame whose request the parent needs no longer. */
bool ingest_parent_has_left_decoder(const Ingest *ingest);
