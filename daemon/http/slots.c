/* SPDX-License-Identifier: Apache-2.0 */
#include "http/slots.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

typedef struct Slot {
        Snapshot snapshot; /* first: a Snapshot of ours is its Slot */
        atomic_uint n_readers;
        unsigned n_idle;   /* times it was free and another was taken */
} Slot;

_Static_assert(offsetof(Slot, snapshot) == 0, "a Snapshot of ours is its Slot");

struct Slots {
        _Atomic(Slot *) current; /* NULL: none, or it is being filled */
        atomic_bool is_filling;  /* the current one, in place */
        size_t n;
        Slot slots[];
};

int slots_new(Slots **ret, size_t n_readers) {
        size_t n = n_readers + 1;
        Slots *slots;

        slots = calloc(1, sizeof(*slots) + n * sizeof(slots->slots[0]));
        if (!slots)
                return -ENOMEM;

        slots->n = n;
        *ret = slots;
        return 0;
}

Slots *slots_free(Slots *slots) {
        if (!slots)
                return NULL;

        for (size_t i = 0; i < slots->n; i++)
                snapshot_deinit(&slots->slots[i].snapshot);
        free(slots);
        return NULL;
}

/* What only slow readers made necessary is given back. A reader may still count itself in for a moment, but looks no further. */
static void note_idle(Slot *slot) {
        if (slot->n_idle < SLOTS_IDLE_MAX && ++slot->n_idle == SLOTS_IDLE_MAX)
                snapshot_deinit(&slot->snapshot);
}

/* From here on nobody gets in who was not in before. */
static Slot *withdraw(Slots *slots) {
        atomic_store(&slots->is_filling, true);
        return atomic_exchange(&slots->current, NULL);
}

static Slot *find_free(Slots *slots, const Slot *current) {
        for (size_t i = 0; i < slots->n; i++)
                if (&slots->slots[i] != current && atomic_load(&slots->slots[i].n_readers) == 0)
                        return &slots->slots[i];
        return NULL;
}

Snapshot *slots_begin(Slots *slots) {
        Slot *current = withdraw(slots), *chosen = current;

        if (!current || atomic_load(&current->n_readers) > 0) {
                slots_publish(slots, current ? &current->snapshot : NULL);
                chosen = find_free(slots, current);
        }
        for (size_t i = 0; i < slots->n; i++)
                if (&slots->slots[i] != current && &slots->slots[i] != chosen && atomic_load(&slots->slots[i].n_readers) == 0)
                        note_idle(&slots->slots[i]);
        if (!chosen)
                return NULL;

        chosen->n_idle = 0;
        return &chosen->snapshot;
}

void slots_publish(Slots *slots, Snapshot *snapshot) {
        atomic_store(&slots->current, (Slot *)snapshot);
        atomic_store(&slots->is_filling, false);
}

void slots_abandon(Slots *slots) {
        atomic_store(&slots->is_filling, false);
}

/* A slot that is filled in place is back within a millisecond or so. */
static bool is_none(Slots *slots) {
        const struct timespec moment = { .tv_nsec = 50000 };

        if (!atomic_load(&slots->is_filling))
                return !atomic_load(&slots->current);

        (void)nanosleep(&moment, NULL);
        return false;
}

const Snapshot *slots_acquire(Slots *slots) {
        for (;;) {
                Slot *slot = atomic_load(&slots->current);

                if (!slot && is_none(slots))
                        return NULL;
                if (!slot)
                        continue;

                atomic_fetch_add(&slot->n_readers, 1);
                if (atomic_load(&slots->current) == slot)
                        return &slot->snapshot;
                atomic_fetch_sub(&slot->n_readers, 1);
        }
}

void slots_release(Slots *slots, const Snapshot *snapshot) {
        Slot *slot = snapshot ? &slots->slots[(const Slot *)snapshot - slots->slots] : NULL;

        if (slot)
                atomic_fetch_sub(&slot->n_readers, 1);
}
