/* SPDX-License-Identifier: Apache-2.0 */
#include "store/batches.h"

#include <assert.h>

bool batches_are_empty(const Batches *batches) {
        return !batches->waiting && !batches->partial;
}

static uint64_t user_of(const RowSet *set) {
        return set->cookie.ticket.user;
}

static void note_user(Batches *batches, uint64_t user, uint64_t now_ns) {
        if (user == 0)
                return;
        if (batches->last_user != 0 && batches->last_user != user)
                batches->shared_until_ns = now_ns + BATCHES_SHARED_NS;
        batches->last_user = user;
}

void batches_add(Batches *batches, RowSet *sets, uint64_t now_ns) {
        RowSet **end = &batches->waiting;

        for (const RowSet *set = sets; set; set = set->next)
                note_user(batches, user_of(set), now_ns);
        while (*end)
                end = &(*end)->next;
        *end = sets;
}

/* --- whole sets ---------------------------------------------------------------------------------- */

static RowBatch cut_first(Batches *batches, size_t n_bytes_max) {
        RowSet *last = batches->waiting;
        RowBatch batch = { .sets = last, .n_rows = last->n_rows, .n_bytes = last->n_bytes };

        for (const RowSet *next; (next = last->next); last = last->next) {
                if (rowset_is_small(batch.n_rows, batch.n_bytes) && !rowset_is_small(next->n_rows, next->n_bytes))
                        break;
                if (batch.n_rows + next->n_rows > BATCH_ROWS_MAX || batch.n_bytes + next->n_bytes > n_bytes_max)
                        break;
                batch.n_rows += next->n_rows;
                batch.n_bytes += next->n_bytes;
        }

        batches->waiting = last->next;
        last->next = NULL;
        return batch;
}

void batches_begin_again(Batches *batches) {
        if (batches->partial)
                batches->partial->part = (RowPart){};
}

/* --- sets in parts ------------------------------------------------------------------------------- */

/* Cuts the small sets off the list that may be stored before a large set, or the rest of it, of the user. */
static RowBatch cut_others(Batches *batches, uint64_t user) {
        RowSet **link = &batches->waiting, *set;
        RowBatch batch = {};
        RowSet **end = &batch.sets;

        while ((set = *link) && user_of(set) != 0) {
                if (user_of(set) == user && set->kind->may_wait) {
                        link = &set->next;
                        continue;
                }
                if (user_of(set) == user || !rowset_is_small(batch.n_rows + set->n_rows, batch.n_bytes + set->n_bytes))
                        break;
                *link = set->next;
                set->next = NULL;
                *end = set;
                end = &set->next;
                batch.n_rows += set->n_rows;
                batch.n_bytes += set->n_bytes;
        }
        return batch;
}

RowBatch batches_join(Batches *batches, const RowSet *part) {
        assert(!batches->partial && user_of(part) != 0);
        return cut_others(batches, user_of(part));
}

void batches_give_back(Batches *batches, RowSet *sets) {
        RowSet **end = &sets;

        while (*end)
                end = &(*end)->next;
        *end = batches->waiting;
        batches->waiting = sets;
}

/* A row of any size is stored at once: a part has an average row more than the limit. */
static RowBatch take_part(Batches *batches, bool is_limited) {
        RowSet *set = TAKE(batches->partial);
        size_t n_rows = set->n_rows - set->part.n_done, n_bytes = set->n_bytes - set->part.offset;

        set->part.is_limited = is_limited;
        if (is_limited && n_rows > ROWSET_SMALL_ROWS_MAX)
                n_rows = ROWSET_SMALL_ROWS_MAX;
        if (is_limited && n_bytes > ROWSET_SMALL_BYTES_MAX + set->n_bytes / set->n_rows)
                n_bytes = ROWSET_SMALL_BYTES_MAX + set->n_bytes / set->n_rows;
        return (RowBatch){ .sets = set, .n_rows = n_rows, .n_bytes = n_bytes, .is_part = true };
}

void batches_continue(Batches *batches, RowSet *set) {
        assert(!batches->partial && !set->next);
        assert(set->part.n_end > set->part.n_done && set->part.n_end < set->n_rows);

        set->part.n_done = set->part.n_end;
        set->part.offset = set->part.offset_end;
        batches->partial = set;
}

static RowBatch take_first(Batches *batches) {
        RowSet *set = batches->waiting;

        batches->waiting = set->next;
        set->next = NULL;
        return (RowBatch){ .sets = set, .n_rows = set->n_rows, .n_bytes = set->n_bytes };
}

/* True for a large set before which small sets of other users may be stored. */
static bool may_wait(const RowSet *set) {
        return set && set->kind && set->kind->may_wait && user_of(set) != 0 &&
               !rowset_is_small(set->n_rows, set->n_bytes);
}

/* --- the next batch ------------------------------------------------------------------------------ */

/* Small sets of others and the large set of a user in turn, so that neither waits for ever. */
static RowBatch take_in_turn(Batches *batches, bool is_limited) {
        if (!batches->others_were_last) {
                RowBatch others = cut_others(batches, user_of(batches->partial ?: batches->waiting));

                batches->others_were_last = others.sets;
                if (others.sets)
                        return others;
        }
        batches->others_were_last = false;
        return batches->partial ? take_part(batches, is_limited) : take_first(batches);
}

RowBatch batches_next(Batches *batches, size_t n_bytes_max, bool may_split, uint64_t now_ns) {
        bool is_shared = now_ns < batches->shared_until_ns;

        if (!batches->partial && is_shared && may_wait(batches->waiting)) {
                if (!may_split || !batches->waiting->kind->has_parts || batches->waiting->n_rows <= 1)
                        return take_in_turn(batches, false);
                batches->partial = take_first(batches).sets;
                batches->others_were_last = false;
        }
        if (batches->partial)
                return take_in_turn(batches, may_split && is_shared);
        return batches->waiting ? cut_first(batches, n_bytes_max) : (RowBatch){};
}
