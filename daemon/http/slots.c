#include "http/slots.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Slot {
        Snapshot snapshot; /* first: a Snapshot of ours is its Slot */
        atomic_uint n_readers;
        unsigned n_idle;   /* times it was free and another was taken */
} Slot;

_Static_assert(offsetof(Slot, snapshot) == 0, "a Snapshot of ours is its Slot");

struct Slots {
        _Atomic(Slot *) current;
        size_t n;
        Slot slots[];
};

int slots_new(Slots **ret, size_t n_readers) {
        size_t n = n_readers + 3;
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

static bool is_free(Slots *slots, Slot *slot) {
        return slot != atomic_load(&slots->current) && atomic_load(&slot->n_readers) == 0;
}

/* What only slow readers made necessary is given back. A reader may still count itself in for a moment, but looks no further. */
static void note_idle(Slot *slot) {
        if (slot->n_idle < SLOTS_IDLE_MAX && ++slot->n_idle == SLOTS_IDLE_MAX)
                snapshot_deinit(&slot->snapshot);
}

/* The first that is free, so that the others stay idle. */
Snapshot *slots_begin(Slots *slots) {
        Slot *first = NULL;

        for (size_t i = 0; i < slots->n; i++) {
                Slot *slot = &slots->slots[i];

                if (!is_free(slots, slot))
                        continue;
                if (first)
                        note_idle(slot);
                else
                        first = slot;
        }

        if (!first)
                return NULL;
        first->n_idle = 0;
        return &first->snapshot;
}

void slots_publish(Slots *slots, Snapshot *snapshot) {
        atomic_store(&slots->current, (Slot *)snapshot);
}

const Snapshot *slots_acquire(Slots *slots) {
        for (;;) {
                Slot *slot = atomic_load(&slots->current);

                if (!slot)
                        return NULL;

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
