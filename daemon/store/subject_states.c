/* SPDX-License-Identifier: Apache-2.0 */
#include "store/subject_states.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/retention/retention.h"

#define STATEMENT_FIELDS_MAX 8 /* of a row set of one statement */

struct SubjectStates {
        size_t n;
        void *items[]; /* owned; by the order of store_subject_list */
};

/* --- states -------------------------------------------------------------------------------------- */

int subject_states_new(SubjectStates **ret, struct Shares *shares) {
        scoped(subject_states_freep) SubjectStates *states = NULL;
        size_t n = 0;
        int r = 0;

        while (store_subject_list[n])
                n++;
        states = calloc(1, sizeof(*states) + n * sizeof(states->items[0]));
        if (!states)
                return -ENOMEM;

        states->n = n;
        for (size_t i = 0; r == 0 && i < n; i++)
                if (store_subject_list[i]->new_state)
                        r = store_subject_list[i]->new_state(&states->items[i], shares);
        if (r < 0)
                return r;

        *ret = TAKE(states);
        return 0;
}

SubjectStates *subject_states_free(SubjectStates *states) {
        if (!states)
                return NULL;

        for (size_t i = 0; i < states->n; i++)
                if (states->items[i])
                        store_subject_list[i]->free_state(states->items[i]);
        free(states);
        return NULL;
}

/* --- for the writer ------------------------------------------------------------------------------ */

/* Runs the statement of a kind that has no function. */
static int run_statement(RowSet *set, Database *database) {
        Unpack from = rowset_unpack(set);
        Field fields[STATEMENT_FIELDS_MAX];
        size_t n = 0;
        int r;

        while (from.p < from.end) {
                assert(n < N_ELEMENTS(fields));
                fields[n++] = pack_read(&from);
        }
        r = database_run(database, set->kind->statement, fields, n);
        set->outcome = set->kind->needs_change && database_changes(database) == 0 ? STORE_MISSING : STORE_DONE;
        return r;
}

int subject_states_apply(SubjectStates *states, Database *database, RowSet *set) {
        size_t i = 0;
        int r;

        while (i < states->n && store_subject_list[i] != set->kind->subject)
                i++;
        assert(i < states->n);

        set->derived = rowset_free(set->derived);
        r = set->kind->apply ? set->kind->apply(set, database, states->items[i]) : run_statement(set, database);
        for (i = 0; r == 0 && i < states->n; i++)
                if (store_subject_list[i]->follow)
                        r = store_subject_list[i]->follow(states->items[i], database, set);
        return r;
}

int subject_states_flush(SubjectStates *states, Database *database, bool *ret_has_work) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < states->n; i++)
                if (store_subject_list[i]->flush)
                        r = store_subject_list[i]->flush(states->items[i], database, ret_has_work);
        return r;
}

void subject_states_forget(SubjectStates *states) {
        for (size_t i = 0; i < states->n; i++)
                if (store_subject_list[i]->forget)
                        store_subject_list[i]->forget(states->items[i]);
}

int subject_states_mend(Database *database, bool is_late) {
        int r = 0;

        for (size_t i = 0; r == 0 && store_subject_list[i]; i++)
                if (store_subject_list[i]->mend)
                        r = store_subject_list[i]->mend(database, is_late);
        return r;
}

int subject_states_find_work(Database *database, bool *ret_has_work) {
        bool has_work = false;
        int r = 0;

        for (const StoreSubject *const *next = store_subject_list; r == 0 && !has_work && *next; next++) {
                r = retention_find_leftover((*next)->tables, database, &has_work);
                if (r == 0 && !has_work && (*next)->find_work)
                        r = (*next)->find_work(database, &has_work);
        }
        if (r == 0)
                *ret_has_work = has_work;
        return r;
}

/* Makes a step of each kind of work of the subject. */
static int work(const StoreSubject *subject, void *state, Database *database, bool *ret_has_more) {
        bool has_more_leftovers = false, has_more = false;
        int r;

        r = retention_step_leftover(subject->tables, database, &has_more_leftovers);
        if (r == 0 && subject->work)
                r = subject->work(state, database, &has_more);
        *ret_has_more = has_more_leftovers || has_more;
        return r;
}

int subject_states_work(SubjectStates *states, Database *database, bool *ret_has_more) {
        bool has_more = false;
        int r = 0;

        for (size_t i = 0; r == 0 && i < states->n; i++) {
                bool has_more_of_it = false;

                r = work(store_subject_list[i], states->items[i], database, &has_more_of_it);
                has_more |= has_more_of_it;
        }
        if (r == 0)
                *ret_has_more = has_more;
        return r;
}
