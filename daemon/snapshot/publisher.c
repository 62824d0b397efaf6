/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/publisher.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "util/lock.h"

typedef struct Edition {
        Snapshot snapshot; /* must be the first member: a Snapshot of the publisher is cast to its Edition */
        unsigned n_references; /* number of readers, plus 1 for the current edition */
        struct Edition *next;  /* next free edition */
} Edition;

_Static_assert(offsetof(Edition, snapshot) == 0, "a Snapshot of the publisher is cast to its Edition");

struct Publisher {
        pthread_mutex_t mutex; /* protects all members below, and n_references */
        Edition *current;      /* NULL: no snapshot is published yet */
        Edition *free;
        uint64_t serial;       /* of the last published snapshot */
};

int publisher_new(Publisher **ret) {
        Publisher *publisher;

        publisher = calloc(1, sizeof(*publisher));
        if (!publisher)
                return -ENOMEM;

        (void)pthread_mutex_init(&publisher->mutex, NULL);
        *ret = publisher;
        return 0;
}

static void free_list(Edition *edition) {
        while (edition) {
                Edition *next = edition->next;

                assert(edition->n_references == 0);
                snapshot_deinit(&edition->snapshot);
                free(edition);
                edition = next;
        }
}

Publisher *publisher_free(Publisher *publisher) {
        if (!publisher)
                return NULL;

        publisher_publish(publisher, NULL);
        free_list(publisher->free);
        (void)pthread_mutex_destroy(&publisher->mutex);
        free(publisher);
        return NULL;
}

/* Drops a reference. Caller holds the mutex. */
static void drop_reference(Publisher *publisher, Edition *edition) {
        assert(edition->n_references > 0);
        if (--edition->n_references > 0)
                return;

        assert(edition != publisher->current);
        edition->next = publisher->free;
        publisher->free = edition;
}

/*
 * Takes the free edition, or NULL. Several can be free after slow readers: the writer frees all but one, because
 * only its thread may free job descriptions.
 */
static Edition *take_free(Publisher *publisher) {
        Edition *edition;

        pthread_mutex_lock(&publisher->mutex);
        edition = TAKE(publisher->free);
        pthread_mutex_unlock(&publisher->mutex);
        if (edition)
                free_list(TAKE(edition->next));
        return edition;
}

Snapshot *publisher_begin(Publisher *publisher) {
        Edition *edition = take_free(publisher);

        return edition ? &edition->snapshot : calloc(1, sizeof(*edition));
}

void publisher_publish(Publisher *publisher, Snapshot *snapshot) {
        Edition *edition = (Edition *)snapshot, *former;

        assert(!edition || edition->n_references == 0);
        LOCKED(&publisher->mutex);
        former = publisher->current;
        publisher->current = edition;
        if (edition) {
                edition->n_references = 1;
                edition->snapshot.serial = ++publisher->serial;
        }
        if (former)
                drop_reference(publisher, former);
}

void publisher_abandon(Publisher *publisher, Snapshot *snapshot) {
        Edition *edition = (Edition *)snapshot;

        assert(edition->n_references == 0);
        LOCKED(&publisher->mutex);
        edition->next = publisher->free;
        publisher->free = edition;
}

void publisher_trim(Publisher *publisher) {
        Edition *edition = take_free(publisher);

        if (!edition)
                return;
        snapshot_jobs_trim(&edition->snapshot.jobs);
        publisher_abandon(publisher, &edition->snapshot);
}

const Snapshot *publisher_acquire(Publisher *publisher) {
        LOCKED(&publisher->mutex);

        if (!publisher->current)
                return NULL;

        publisher->current->n_references++;
        return &publisher->current->snapshot;
}

void publisher_release(Publisher *publisher, const Snapshot *snapshot) {
        Edition *edition = (Edition *)(uintptr_t)snapshot;

        if (!edition)
                return;

        LOCKED(&publisher->mutex);
        drop_reference(publisher, edition);
}
