/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns: decides which connection may pass on the next request
 *
 * Users with complete requests come in turn (deficit round robin): a user's turn ends after TURNS_QUANTUM_BYTES of
 * work, so that a user with many connections or large requests gets no more than a user with one. Within a turn, the
 * user's connections come in turn. A user who had no requests when the order came to them is the first once they
 * have: few requests wait for the present one only, whatever others send. After that turn, the user is the last (as
 * in FQ-CoDel, RFC 8290).
 *
 * The bytes of a user's unanswered requests are charged to RESOURCE_REQUESTS. A user whose share is used up waits
 * until requests are answered; nothing is refused, as the further requests stay in the kernel's buffers. The store
 * takes rows in the order of the requests, so while several users send requests, a user with TURNS_SHARED_BYTES
 * unanswered waits as well: nobody waits for more than that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shares/shares.h"
#include "util/clock.h"

#define TURNS_QUANTUM_BYTES 16384U
/* Step of a charge, so that few requests change the charge. */
#define TURNS_CHARGE_STEP_BYTES 65536U
#define TURNS_SHARED_BYTES 32768U /* up to CODEC_WORK_MODEL */
#define TURNS_SHARED_NS NS_PER_S /* since requests of different users came one after the other */

typedef struct TurnUser TurnUser;

/* Position of a connection in the order; embedded in the connection. */
typedef struct TurnEntry {
        TurnUser *user; /* NULL: not joined */
        bool is_ready;
        unsigned n_taken; /* requests in the user's current turn */
        TAILQ_ENTRY(TurnEntry) ready;
} TurnEntry;

typedef struct Turns {
        LIST_HEAD(, TurnUser) users;
        /* users with ready entries and room for requests; others until it is their turn */
        TAILQ_HEAD(, TurnUser) order;
        const TurnUser *last; /* whose request was taken last; identity only */
        uint64_t shared_until_ns;
        bool is_shared; /* when the last request was taken */
} Turns;

void turns_init(Turns *turns);
/* Call when no entry is left. */
void turns_deinit(Turns *turns);

/* Adds a connection of this user. 0 or -ENOMEM. */
int turns_join(Turns *turns, ShareAccount *account, TurnEntry *entry);
/* Removes a connection that has no unanswered requests. */
void turns_leave(Turns *turns, TurnEntry *entry);

/* Sets whether a connection has a complete request. */
void turns_set_ready(Turns *turns, TurnEntry *entry, bool is_ready);
/* Returns the connection whose request is next; NULL: no request is complete, or all users wait for answers. */
TurnEntry *turns_next(Turns *turns);

/*
 * Accounts for a request that was taken from the entry of turns_next(). An answered one is given back to
 * turns_answered().
 * now_ns: CLOCK_BOOTTIME.
 */
void turns_taken(Turns *turns, TurnEntry *entry, size_t n_bytes, uint64_t now_ns);
void turns_answered(Turns *turns, TurnEntry *entry, size_t n_bytes);

/* Sets whether the user's further requests wait for one that is not placed yet; of one entry at a time. */
void turns_keep(Turns *turns, TurnEntry *entry, bool is_kept);
