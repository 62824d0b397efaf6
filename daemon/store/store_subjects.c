/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_subjects.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct StoreSubjects {
        size_t n;
        void *states[]; /* owned; by the order of store_subjects */
};

/* --- states -------------------------------------------------------------------------------------- */

int store_subjects_new(StoreSubjects **ret, struct Shares *shares) {
        scoped(store_subjects_freep) StoreSubjects *subjects = NULL;
        size_t n = 0;
        int r = 0;

        while (store_subjects[n])
                n++;
        subjects = calloc(1, sizeof(*subjects) + n * sizeof(subjects->states[0]));
        if (!subjects)
                return -ENOMEM;

        subjects->n = n;
        for (size_t i = 0; r == 0 && i < n; i++)
                if (store_subjects[i]->new_state)
                        r = store_subjects[i]->new_state(&subjects->states[i], shares);
        if (r < 0)
                return r;

        *ret = TAKE(subjects);
        return 0;
}

StoreSubjects *store_subjects_free(StoreSubjects *subjects) {
        if (!subjects)
                return NULL;

        for (size_t i = 0; i < subjects->n; i++)
                if (subjects->states[i])
                        store_subjects[i]->free_state(subjects->states[i]);
        free(subjects);
        return NULL;
}

/* --- for the writer ------------------------------------------------------------------------------ */

static bool has_kind(const StoreSubject *subject, const RowKind *kind) {
        const RowKind *const *next = subject->kinds;

        while (*next && *next != kind)
                next++;
        return *next;
}

int store_subjects_apply(StoreSubjects *subjects, Database *database, RowSet *set) {
        size_t i = 0;
        int r;

        while (i < subjects->n && !has_kind(store_subjects[i], set->kind))
                i++;
        assert(i < subjects->n);

        set->made = rowset_free(set->made);
        r = set->kind->apply(set, database, subjects->states[i]);
        for (i = 0; r == 0 && i < subjects->n; i++)
                if (store_subjects[i]->follow)
                        r = store_subjects[i]->follow(subjects->states[i], database, set);
        return r;
}

int store_subjects_flush(StoreSubjects *subjects, Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < subjects->n; i++)
                if (store_subjects[i]->flush)
                        r = store_subjects[i]->flush(subjects->states[i], database);
        return r;
}

void store_subjects_forget(StoreSubjects *subjects) {
        for (size_t i = 0; i < subjects->n; i++)
                if (store_subjects[i]->forget)
                        store_subjects[i]->forget(subjects->states[i]);
}

int store_subjects_undo(Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && store_subjects[i]; i++)
                if (store_subjects[i]->undo)
                        r = store_subjects[i]->undo(database);
        return r;
}

int store_subjects_interrupt(Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && store_subjects[i]; i++)
                if (store_subjects[i]->interrupt)
                        r = store_subjects[i]->interrupt(database);
        return r;
}

bool store_subjects_take_work(StoreSubjects *subjects) {
        bool has_work = false;

        for (size_t i = 0; i < subjects->n; i++)
                if (store_subjects[i]->take_work)
                        has_work |= store_subjects[i]->take_work(subjects->states[i]);
        return has_work;
}

int store_subjects_find_work(Database *database, bool *ret_has_work) {
        bool has_work = false;
        int r = 0;

        for (size_t i = 0; r == 0 && !has_work && store_subjects[i]; i++)
                if (store_subjects[i]->find_work)
                        r = store_subjects[i]->find_work(database, &has_work);
        if (r == 0)
                *ret_has_work = has_work;
        return r;
}

int store_subjects_work(StoreSubjects *subjects, Database *database, bool *ret_has_more) {
        bool has_more = false;
        int r = 0;

        for (size_t i = 0; r == 0 && i < subjects->n; i++)
                if (store_subjects[i]->work) {
                        bool has_more_of_it = false;

                        r = store_subjects[i]->work(subjects->states[i], database, &has_more_of_it);
                        has_more |= has_more_of_it;
                }
        if (r == 0)
                *ret_has_more = has_more;
        return r;
}
