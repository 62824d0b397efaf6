/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Slots: the latest Snapshot, for one writer and many readers, without a lock
 *
 * A snapshot of a thousand jobs is a megabyte, so there is one as long as nobody is slow. The writer withdraws the
 * current slot; when nobody reads it, it is filled anew in place, and who comes meanwhile waits for it. When somebody does,
 * it is current again at once and another slot is filled, which costs its memory and nobody's time: the writer never waits.
 *
 * A reader counts itself into the current slot, and looks again: if that has been withdrawn meanwhile, it may be under the
 * writer's pen already, so the reader counts itself out and tries again. With one slot per reader and one more, the writer
 * always finds one.
 */

#include <stddef.h>

#include "snapshot/snapshot.h"
#include "util/scoped.h"

typedef struct Slots Slots;

/* A slot that was free so many times in a row, and not needed, gives its memory back. */
#define SLOTS_IDLE_MAX 60U

/* n_readers: at the same time. Caller frees. */
int slots_new(Slots **ret, size_t n_readers);
Slots *slots_free(Slots *slots);
DEFINE_SCOPED(Slots, slots_free);

/* The writer's side, one thread: NULL when every slot is being read. What was begun is published, or abandoned: then it may be empty. */
Snapshot *slots_begin(Slots *slots);
void slots_publish(Slots *slots, Snapshot *snapshot);
void slots_abandon(Slots *slots);

/* A reader's side. NULL when none is published, nor about to be. Release what was acquired. */
const Snapshot *slots_acquire(Slots *slots);
void slots_release(Slots *slots, const Snapshot *snapshot);
