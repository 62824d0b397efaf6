#pragma once

/*
 * Slots: the latest Snapshot, for one writer and many readers, without a lock
 *
 * The writer fills a slot that is neither current nor read, and makes it current. A reader counts itself
 * into the current slot, and looks again: if another has become current meanwhile, the slot it counted
 * itself into may be under the writer's pen already, so it counts itself out and tries again. With one slot
 * per reader and three more, the writer always finds one.
 */

#include <stddef.h>

#include "model/snapshot.h"
#include "util/scoped.h"

typedef struct Slots Slots;

/* A slot that was free so many times in a row, and not needed, gives its memory back. */
#define SLOTS_IDLE_MAX 60U

/* n_readers: at the same time. Caller frees. */
int slots_new(Slots **ret, size_t n_readers);
Slots *slots_free(Slots *slots);
DEFINE_SCOPED(Slots, slots_free);

/* The writer's side, one thread: NULL when every slot is being read. What was begun need not be published. */
Snapshot *slots_begin(Slots *slots);
void slots_publish(Slots *slots, Snapshot *snapshot);

/* A reader's side. NULL before the first was published. Release what was acquired. */
const Snapshot *slots_acquire(Slots *slots);
void slots_release(Slots *slots, const Snapshot *snapshot);
