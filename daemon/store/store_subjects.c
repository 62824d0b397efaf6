/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_subjects.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/database.h"
#include "store/expiry.h"
#include "store/holders.h"
#include "store/indicators/store_indicators.h"
#include "store/jobs/store_jobs.h"
#include "store/node/store_node.h"
#include "store/pipelines/store_pipelines.h"

/* List of all subjects. */
static const StoreSubject *const all[] = {
        &store_jobs, &store_indicators, &store_pipelines, &store_node, &holders_subject, &expiry_subject, NULL,
};

#define N_SUBJECTS (N_ELEMENTS(all) - 1)

struct StoreSubjects {
        void *states[N_SUBJECTS]; /* owned */
};

const StoreSubject *const *store_subjects_all(void) {
        return all;
}

/* --- states -------------------------------------------------------------------------------------- */

int store_subjects_new(StoreSubjects **ret, struct Shares *shares) {
        scoped(store_subjects_freep) StoreSubjects *subjects = calloc(1, sizeof(*subjects));
        int r = 0;

        if (!subjects)
                return -ENOMEM;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->new_state)
                        r = all[i]->new_state(&subjects->states[i], shares);
        if (r < 0)
                return r;

        *ret = TAKE(subjects);
        return 0;
}

StoreSubjects *store_subjects_free(StoreSubjects *subjects) {
        if (!subjects)
                return NULL;

        for (size_t i = 0; i < N_SUBJECTS; i++)
                if (subjects->states[i])
                        all[i]->free_state(subjects->states[i]);
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

        while (i < N_SUBJECTS && !has_kind(all[i], set->kind))
                i++;
        assert(i < N_SUBJECTS);

        set->made = rowset_free(set->made);
        r = set->kind->apply(set, database, subjects->states[i]);
        for (i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->follow)
                        r = all[i]->follow(subjects->states[i], database, set);
        return r;
}

int store_subjects_flush(StoreSubjects *subjects, Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->flush)
                        r = all[i]->flush(subjects->states[i], database);
        return r;
}

void store_subjects_forget(StoreSubjects *subjects) {
        for (size_t i = 0; i < N_SUBJECTS; i++)
                if (all[i]->forget)
                        all[i]->forget(subjects->states[i]);
}

int store_subjects_undo(Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->undo)
                        r = all[i]->undo(database);
        return r;
}

int store_subjects_interrupt(Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->interrupt)
                        r = all[i]->interrupt(database);
        return r;
}

bool store_subjects_take_work(StoreSubjects *subjects) {
        bool has_work = false;

        for (size_t i = 0; i < N_SUBJECTS; i++)
                if (all[i]->take_work)
                        has_work |= all[i]->take_work(subjects->states[i]);
        return has_work;
}

int store_subjects_find_work(Database *database, bool *ret_has_work) {
        bool has_work = false;
        int r = 0;

        for (size_t i = 0; r == 0 && !has_work && i < N_SUBJECTS; i++)
                if (all[i]->find_work)
                        r = all[i]->find_work(database, &has_work);
        if (r == 0)
                *ret_has_work = has_work;
        return r;
}

int store_subjects_work(StoreSubjects *subjects, Database *database, bool *ret_has_more) {
        bool has_more = false;
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->work) {
                        bool has_more_of_it = false;

                        r = all[i]->work(subjects->states[i], database, &has_more_of_it);
                        has_more |= has_more_of_it;
                }
        if (r == 0)
                *ret_has_more = has_more;
        return r;
}
