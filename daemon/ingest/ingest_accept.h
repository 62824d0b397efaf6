/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accepting: which connections stay
 *
 * A connection is charged to its user; one beyond the share is told so and closed.
 */

#include "ingest/ingest_state.h"

/* Accepts the peers that wait, up to a number for each turn of the loop. */
void ingest_accept_peers(Ingest *ingest);

/* Checks whether the peer is an administrator, by the group as it is now. */
bool ingest_accept_judge(const Ingest *ingest, int fd, const Peer *peer);
