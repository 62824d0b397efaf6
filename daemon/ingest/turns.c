/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/turns.h"

#include <assert.h>
#include <errno.h>

#define REQUESTS_PER_ENTRY 64U /* requests of one connection before it is the turn of the user's next connection */

struct TurnUser {
        ShareAccount *account; /* a reference */
        unsigned n_entries;
        Charge charge;        /* at least n_unanswered, unless the share is exceeded by the last request */
        size_t n_unanswered;  /* bytes */
        size_t n_turn_bytes;  /* of the present turn */
        bool is_kept;         /* a request is not placed yet */
        bool is_waiting;      /* for answers: its share is used up, or others wait as well */
        bool is_in_order;
        bool is_first;        /* of the order, until this turn has ended */
        TAILQ_HEAD(, TurnEntry) ready;
        TAILQ_ENTRY(TurnUser) order;
        LIST_ENTRY(TurnUser) users;
};

void turns_init(Turns *turns) {
        *turns = (Turns){};
        LIST_INIT(&turns->users);
        TAILQ_INIT(&turns->order);
}

void turns_deinit(Turns *turns) {
        (void)turns;
        assert(LIST_EMPTY(&turns->users) && TAILQ_EMPTY(&turns->order));
}

/* --- users ----------------------------------------------------------------------------------------- */

static TurnUser *find_user(const Turns *turns, const ShareAccount *account) {
        TurnUser *user;

        LIST_FOREACH(user, &turns->users, users)
                if (user->account == account)
                        return user;
        return NULL;
}

static TurnUser *add_user(Turns *turns, ShareAccount *account) {
        TurnUser *user = calloc(1, sizeof(*user));

        if (!user)
                return NULL;
        if (shares_charge(account, RESOURCE_REQUESTS, 0, &user->charge) != 0) {
                free(user);
                return NULL;
        }
        user->account = account;
        TAILQ_INIT(&user->ready);
        LIST_INSERT_HEAD(&turns->users, user, users);
        return user;
}

static void leave_order(Turns *turns, TurnUser *user) {
        if (user->is_in_order)
                TAILQ_REMOVE(&turns->order, user, order);
        user->is_in_order = false;
}

static void remove_user(Turns *turns, TurnUser *user) {
        assert(user->n_unanswered == 0 && TAILQ_EMPTY(&user->ready));
        leave_order(turns, user);
        if (turns->last == user)
                turns->last = NULL;
        LIST_REMOVE(user, users);
        shares_release(&user->charge);
        free(user);
}

static bool has_next(const TurnUser *user) {
        return !TAILQ_EMPTY(&user->ready) && !user->is_waiting && !user->is_kept;
}

/* Adds a user with requests to the order. A user without keeps the place: requests that come before the turn are no
 * reason to be first. */
static void settle_user(Turns *turns, TurnUser *user) {
        if (user->is_in_order || !has_next(user))
                return;
        user->is_in_order = user->is_first = true;
        user->n_turn_bytes = 0;
        TAILQ_INSERT_HEAD(&turns->order, user, order);
}

static void end_turn(Turns *turns, TurnUser *user) {
        user->is_first = false;
        user->n_turn_bytes = 0;
        TAILQ_REMOVE(&turns->order, user, order);
        TAILQ_INSERT_TAIL(&turns->order, user, order);
}

/* --- connections ----------------------------------------------------------------------------------- */

int turns_join(Turns *turns, ShareAccount *account, TurnEntry *entry) {
        TurnUser *user = find_user(turns, account);

        assert(!entry->user);
        if (!user)
                user = add_user(turns, account);
        if (!user)
                return -ENOMEM;

        user->n_entries++;
        *entry = (TurnEntry){ .user = user };
        return 0;
}

void turns_leave(Turns *turns, TurnEntry *entry) {
        TurnUser *user = entry->user;

        if (!user)
                return;
        turns_set_ready(turns, entry, false);
        entry->user = NULL;
        if (--user->n_entries == 0)
                remove_user(turns, user);
}

void turns_set_ready(Turns *turns, TurnEntry *entry, bool is_ready) {
        TurnUser *user = entry->user;

        if (entry->is_ready == is_ready)
                return;

        entry->is_ready = is_ready;
        entry->n_taken = 0;
        if (is_ready)
                TAILQ_INSERT_TAIL(&user->ready, entry, ready);
        else
                TAILQ_REMOVE(&user->ready, entry, ready);
        settle_user(turns, user);
}

TurnEntry *turns_next(Turns *turns) {
        TurnUser *user;

        while ((user = TAILQ_FIRST(&turns->order)) && !has_next(user))
                if (user->is_first)
                        end_turn(turns, user);
                else
                        leave_order(turns, user);
        return user ? TAILQ_FIRST(&user->ready) : NULL;
}

/* --- requests ------------------------------------------------------------------------------------ */

/* Charges unanswered requests, in steps. False: the share is used up. */
static bool charge_user(TurnUser *user) {
        size_t n = (user->n_unanswered + TURNS_CHARGE_STEP_BYTES - 1) / TURNS_CHARGE_STEP_BYTES *
                   TURNS_CHARGE_STEP_BYTES;

        if (n <= user->charge.amount && n + TURNS_CHARGE_STEP_BYTES >= user->charge.amount)
                return true;
        return shares_resize(&user->charge, n) == 0;
}

static void rotate_entries(TurnUser *user, TurnEntry *entry) {
        TAILQ_REMOVE(&user->ready, entry, ready);
        TAILQ_INSERT_TAIL(&user->ready, entry, ready);
        entry->n_taken = 0;
}

/* A user who holds more than a share that has shrunk continues once all requests of the user are answered. */
static bool must_wait(const Turns *turns, TurnUser *user) {
        bool has_room = charge_user(user) && (!turns->is_shared || user->n_unanswered < TURNS_SHARED_BYTES);

        return !has_room && user->n_unanswered > 0;
}

static void note_user(Turns *turns, const TurnUser *user, uint64_t now_ns) {
        if (turns->last && turns->last != user)
                turns->shared_until_ns = now_ns + TURNS_SHARED_NS;
        turns->last = user;
        turns->is_shared = now_ns < turns->shared_until_ns;
}

void turns_taken(Turns *turns, TurnEntry *entry, size_t n_bytes, uint64_t now_ns) {
        TurnUser *user = entry->user;

        assert(entry->is_ready && user->is_in_order);
        note_user(turns, user, now_ns);
        user->n_unanswered += n_bytes;
        user->n_turn_bytes += n_bytes;
        if (++entry->n_taken >= REQUESTS_PER_ENTRY)
                rotate_entries(user, entry);

        if (user->n_turn_bytes >= TURNS_QUANTUM_BYTES)
                end_turn(turns, user);
        user->is_waiting = must_wait(turns, user);
}

void turns_answered(Turns *turns, TurnEntry *entry, size_t n_bytes) {
        TurnUser *user = entry->user;

        assert(user->n_unanswered >= n_bytes);
        user->n_unanswered -= n_bytes;
        user->is_waiting = must_wait(turns, user);
        settle_user(turns, user);
}

void turns_keep(Turns *turns, TurnEntry *entry, bool is_kept) {
        assert(entry->user->is_kept != is_kept);
        entry->user->is_kept = is_kept;
        settle_user(turns, entry->user);
}
