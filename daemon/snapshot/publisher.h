/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Publisher: the current Snapshot, for one writer and any number of readers
 *
 * The writer fills a private snapshot and publishes it, which replaces the current snapshot. A reader acquires the
 * current snapshot and may hold it for any time: a published snapshot is immutable. The last reader to release a
 * replaced snapshot returns it to the writer for reuse: if readers are fast, two snapshots alternate. The large arrays
 * of a replaced snapshot are freed, because with many jobs they would double the memory for a copy that nobody reads.
 * The lock is held only to swap a pointer and to count references, never while a snapshot is filled or read.
 */

#include "snapshot/snapshot.h"
#include "util/scoped.h"

typedef struct Publisher Publisher;

int publisher_new(Publisher **ret);
/* Frees all snapshots; no reader may hold a snapshot. */
Publisher *publisher_free(Publisher *publisher);
DEFINE_SCOPED(Publisher, publisher_free);

/*
 * Functions for the writer, a single thread. publisher_begin() returns a snapshot with its previous arrays for reuse,
 * or NULL if out of memory. The caller must publish or abandon the snapshot.
 */
Snapshot *publisher_begin(Publisher *publisher);
void publisher_publish(Publisher *publisher, Snapshot *snapshot);
void publisher_abandon(Publisher *publisher, Snapshot *snapshot);
/* Frees large arrays of the snapshots that were replaced and have no reader. */
void publisher_trim(Publisher *publisher);

/*
 * Functions for readers in any thread. The snapshot is NULL before the first publication. Releasing NULL does
 * nothing.
 */
const Snapshot *publisher_acquire(Publisher *publisher);
void publisher_release(Publisher *publisher, const Snapshot *snapshot);
