/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Publisher: the current Snapshot, for one writer and any number of readers
 *
 * The writer fills a snapshot that nobody else sees and publishes it, which replaces the current one. A reader acquires the
 * current one and holds it as long as it likes: it does not change, and the writer fills another one meanwhile. The last reader to
 * release a replaced snapshot gives it back to the writer, who fills it again: two snapshots take turns while readers are
 * quick, and nothing is allocated. The lock is held to swap a pointer and to count, never while a snapshot is filled or read.
 */

#include "snapshot/snapshot.h"
#include "util/scoped.h"

typedef struct Publisher Publisher;

int publisher_new(Publisher **ret);
/* No reader holds a snapshot any more. */
Publisher *publisher_free(Publisher *publisher);
DEFINE_SCOPED(Publisher, publisher_free);

/*
 * The writer's side, one thread. The snapshot has the arrays of a former filling, for reuse; NULL: out of memory. The caller publishes
 * it or abandons it.
 */
Snapshot *publisher_begin(Publisher *publisher);
void publisher_publish(Publisher *publisher, Snapshot *snapshot);
void publisher_abandon(Publisher *publisher, Snapshot *snapshot);

/* A reader's side, any thread. NULL before the first is published. The caller releases what it acquired; NULL does nothing. */
const Snapshot *publisher_acquire(Publisher *publisher);
void publisher_release(Publisher *publisher, const Snapshot *snapshot);
