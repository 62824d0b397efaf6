/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accepting: adds or refuses connections
 *
 * A connection is charged to its user; a connection beyond the share gets the reason and is closed. The kernel then frees what the
 * peer has sent, which takes longer than to accept and refuse a connection. So it is closed when the loop has nothing else to do,
 * unless REFUSED_MAX others wait for that.
 */

#include "ingest/ingest_state.h"

/* Accepts waiting peers, up to a limit for each turn of the loop. */
void ingest_accept_peers(Ingest *ingest);

/* Closes refused connections, up to a limit for each turn of the loop. Returns true if there are more. */
bool ingest_accept_close_refused(Ingest *ingest);

/* Checks whether the peer is an administrator, by the current group. */
bool ingest_accept_judge(const Ingest *ingest, int fd, const Peer *peer);
