/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Journal: log messages with fields when perfd runs under systemd
 *
 * Replaces stderr by a stream that sends each record of util/log.h to journald as a datagram (systemd's "Native
 * Journal Protocol"). Sending never blocks: if journald has no space for a datagram, the record is queued and sent
 * again by journal_flush(); the queue is bounded, and records that do not fit are counted and reported later. All
 * other text written to the stream, such as the text of a failed assertion, goes to the descriptor of stderr at once.
 *
 * sd_journal_send(3) blocks until journald accepts the message, and would require a thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/scoped.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_QUEUE_MAX 512U /* in records */

typedef struct Journal Journal;

/* Returns true if stderr is connected to the journal: $JOURNAL_STREAM has the device and inode of stderr. */
bool journal_is_connected(void);

/* Call before other threads start. Returns 0, or a negative errno with stderr unchanged. Caller frees. */
int journal_new(Journal **ret, const char *socket_path);
/*
 * Sends the queued records that can be sent without blocking, and restores stderr. Call after other threads have
 * ended.
 */
Journal *journal_free(Journal *journal);
DEFINE_SCOPED(Journal, journal_free);

/* Sends queued records until journald accepts no more. */
void journal_flush(Journal *journal);
/* Returns the number of messages dropped since journal_new(). */
uint64_t journal_n_dropped(const Journal *journal);
