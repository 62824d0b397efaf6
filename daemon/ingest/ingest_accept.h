/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accepting: adds or refuses connections
 *
 * A connection is charged to its user; a connection beyond the share gets the reason and is closed.
 */

#include "ingest/ingest_state.h"

/* Accepts waiting peers, up to a limit for each turn of the loop. */
void ingest_accept_peers(Ingest *ingest);

/* Checks whether the peer is an administrator, by the current group. */
bool ingest_accept_judge(const Ingest *ingest, int fd, const Peer *peer);
