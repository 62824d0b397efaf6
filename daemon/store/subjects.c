/* SPDX-License-Identifier: Apache-2.0 */
#include "store/subjects.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/database.h"
#include "store/indicators/indicator_subject.h"
#include "store/jobs/job_subject.h"
#include "store/node/node_subject.h"

/* The one list of subjects. */
static const Subject *const all[] = { &job_subject, &indicator_subject, &node_subject, NULL };

#define N_SUBJECTS (N_ELEMENTS(all) - 1)

struct Subjects {
        void *states[N_SUBJECTS]; /* owned */
};

const Subject *const *subjects_all(void) {
        return all;
}

/* --- statements ---------------------------------------------------------------------------------- */

int subjects_check_statements(Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                for (const StatementList *list = all[i]->statements; r == 0 && *list; list++)
                        r = database_check_list(database, *list);
        return r;
}

/* --- states -------------------------------------------------------------------------------------- */

int subjects_new(Subjects **ret) {
        scoped(subjects_freep) Subjects *subjects = calloc(1, sizeof(*subjects));
        int r = 0;

        if (!subjects)
                return -ENOMEM;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->new_state)
                        r = all[i]->new_state(&subjects->states[i]);
        if (r < 0)
                return r;

        *ret = TAKE(subjects);
        return 0;
}

Subjects *subjects_free(Subjects *subjects) {
        if (!subjects)
                return NULL;

        for (size_t i = 0; i < N_SUBJECTS; i++)
                if (subjects->states[i])
                        all[i]->free_state(subjects->states[i]);
        free(subjects);
        return NULL;
}

/* --- for the writer ------------------------------------------------------------------------------ */

static bool has_kind(const Subject *subject, const RowKind *kind) {
        const RowKind *const *next = subject->kinds;

        while (*next && *next != kind)
                next++;
        return *next;
}

int subjects_apply(Subjects *subjects, Database *database, RowSet *set) {
        size_t i = 0;

        while (i < N_SUBJECTS && !has_kind(all[i], set->kind))
                i++;
        assert(i < N_SUBJECTS);
        return set->kind->apply(set, database, subjects->states[i]);
}

int subjects_flush(Subjects *subjects, Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->flush)
                        r = all[i]->flush(subjects->states[i], database);
        return r;
}

void subjects_forget(Subjects *subjects) {
        for (size_t i = 0; i < N_SUBJECTS; i++)
                if (all[i]->forget)
                        all[i]->forget(subjects->states[i]);
}

int subjects_interrupt(Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SUBJECTS; i++)
                if (all[i]->interrupt)
                        r = all[i]->interrupt(database);
        return r;
}

bool subjects_take_work(Subjects *subjects) {
        bool has_work = false;

        for (size_t i = 0; i < N_SUBJECTS; i++)
                if (all[i]->take_work)
                        has_work |= all[i]->take_work(subjects->states[i]);
        return has_work;
}

int subjects_find_work(Database *database, bool *ret_has_work) {
        bool has_work = false;
        int r = 0;

        for (size_t i = 0; r == 0 && !has_work && i < N_SUBJECTS; i++)
                if (all[i]->find_work)
                        r = all[i]->find_work(database, &has_work);
        if (r == 0)
                *ret_has_work = has_work;
        return r;
}

int subjects_work(Subjects *subjects, Database *database, bool *ret_has_more) {
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
