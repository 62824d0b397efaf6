/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retention/leftover.h"

#include <assert.h>

/* --- one table ----------------------------------------------------------------------------------- */

static int remove_rows(const Leftover *leftover, Database *database, int64_t number, int64_t n_max, int64_t *ret_n) {
        int64_t n = 0;
        int r = 0;

        assert(number > 0 && n_max > 0);
        for (const Statement *const *next = leftover->removals; r == 0 && *next && n < n_max; next++) {
                r = database_run(database, *next, FIELDS(field_i64(number), field_i64(n_max - n)));
                n += r == 0 ? database_changes(database) : 0;
        }
        if (r == 0 && n < n_max) {
                r = database_run(database, leftover->done, FIELDS(field_i64(number)));
                n++;
        }
        *ret_n = n;
        return r;
}

int leftover_remove(const Leftover *leftover, Database *database, Prepared *selected, int64_t *ret_n) {
        int64_t number, n;
        int r;

        r = database_step(database, selected);
        if (r != DATABASE_ROW)
                return r;
        number = column_i64(selected, 0);
        n = column_i64(selected, 1);
        r = database_finish(database, selected);
        return r == 0 ? remove_rows(leftover, database, number, n, ret_n) : r;
}

/* --- all tables of a subject --------------------------------------------------------------------- */

int leftover_find(const StoreTable *const *tables, Database *database, bool *ret_has_work) {
        int64_t step[2] = {};
        int r = 0;

        for (; r == 0 && step[0] == 0 && *tables; tables++)
                if ((*tables)->leftover)
                        r = database_get_row(database, (*tables)->leftover->step, NULL, 0, step, N_ELEMENTS(step));
        *ret_has_work = step[0] != 0;
        return r;
}

int leftover_step(const StoreTable *const *tables, Database *database, bool *ret_has_more) {
        int64_t n = 0;
        int r = 0;

        for (const StoreTable *const *table = tables; r == 0 && *table; table++)
                if ((*table)->leftover)
                        r = leftover_remove((*table)->leftover, database,
                                            database_prepare(database, (*table)->leftover->step, NULL, 0), &n);
        return r == 0 ? leftover_find(tables, database, ret_has_more) : r;
}
