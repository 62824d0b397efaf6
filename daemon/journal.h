/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Journal: log messages with fields, while perfd runs under systemd
 *
 * Takes the place of stderr as a stream and sends each record of util/log.h to journald as a datagram (systemd's "Native Journal
 * Protocol"). A send never waits: a datagram that journald has no room for is kept in a bounded queue and sent again by
 * journal_flush(), and what the queue has no room for is counted and reported later. Anything else that is written to the
 * stream, such as the text of a failed assertion, goes to the descriptor of stderr at once.
 *
 * sd_journal_send(3) would need a thread instead, since it waits for journald.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/scoped.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_QUEUE_MAX 512U /* records */

typedef struct Journal Journal;

/* True when stderr is connected to the journal: $JOURNAL_STREAM names its device and inode. */
bool journal_is_connected(void);

/* Call before other threads start. 0, or a negative errno: stderr is unchanged. Caller frees. */
int journal_new(Journal **ret, const char *socket_path);
/* Sends what it can without waiting, and gives stderr back. Call after other threads have ended. */
Journal *journal_free(Journal *journal);
DEFINE_SCOPED(Journal, journal_free);

/* Sends what is queued, as far as journald takes it. */
void journal_flush(Journal *journal);
/* Messages that were dropped since journal_new(). */
uint64_t journal_n_dropped(const Journal *journal);
