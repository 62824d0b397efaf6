/* SPDX-License-Identifier: Apache-2.0 */
#include "store/leftover.h"

#include <assert.h>

static int remove_rows(const Leftover *leftover, Database *database, int64_t number, int64_t n_max, int64_t *ret_n) {
        int64_t n = 0;
        int r = 0;

        assert(number > 0 && n_max > 0);
        for (size_t i = 0; r == 0 && i < leftover->n_removals && n < n_max; i++) {
                r = database_run(database, leftover->removals[i], FIELDS(field_i64(number), field_i64(n_max - n)));
                n += r == 0 ? database_changes(database) : 0;
        }
        *ret_n = n;
        return r;
}

int leftover_run(const Leftover *leftover, Database *database, Prepared *noted, int64_t *ret_n) {
        int64_t number, n;
        int r;

        r = database_step(database, noted);
        if (r != DATABASE_ROW)
                return r;
        number = column_i64(noted, LEFTOVER_NUMBER);
        n = column_i64(noted, LEFTOVER_ROWS);
        r = database_finish(database, noted);
        return r == 0 ? remove_rows(leftover, database, number, n, ret_n) : r;
}

int leftover_find(const Leftover *leftover, Database *database, bool *ret_has_work) {
        int64_t number = 0;
        int r;

        r = database_get(database, leftover->first, NULL, 0, &number);
        *ret_has_work = number != 0;
        return r;
}

int leftover_step(const Leftover *leftover, Database *database, bool *ret_has_more) {
        int64_t n = 0;
        int r;

        r = leftover_run(leftover, database, database_prepare(database, leftover->work, NULL, 0), &n);
        return r == 0 ? leftover_find(leftover, database, ret_has_more) : r;
}
