/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retention/erasure.h"

#include <assert.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "store/retention/holders.h"
#include "store/retention/retention.h"

#define STEP_ROWS 256 /* maximum number of rows that one step removes */

/* --- orders -------------------------------------------------------------------------------------- */

/* The rows are removed after the transaction, in steps. */
static int apply(RowSet *set, Database *database, void *state) {
        (void)database;
        (void)state;
        set->outcome = STORE_DONE;
        return 0;
}

static const RowKind erasure_kind = { &holders_subject, .apply = apply };

_Static_assert(sizeof(RowSet) % alignof(Erasure) == 0, "a row set's body is aligned for an order");

RowSet *erasure_pack(const Erasure *order, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, NULL, 0);
        buffer_put(&buffer, order, sizeof(*order));
        return rowset_finish(&buffer, &erasure_kind, 1, cookie);
}

Erasure *erasure_of(const RowSet *set) {
        assert(set->kind == &erasure_kind);
        return (Erasure *)(uintptr_t)(set + 1);
}

RowSet *erasure_take_orders(RowSet *sets, RowSet **orders) {
        RowSet **link = &sets;

        while (*orders)
                orders = &(*orders)->next;
        while (*link) {
                RowSet *set = *link;

                if (set->kind != &erasure_kind || set->outcome != STORE_DONE) {
                        link = &set->next;
                        continue;
                }
                *link = set->next;
                set->next = NULL;
                *orders = set;
                orders = &set->next;
                erasure_begin_again(erasure_of(set));
        }
        return sets;
}

void erasure_begin_again(Erasure *erasure) {
        erasure->stage = ERASURE_ROWS;
        erasure->table = 0;
        erasure->row = 1;
        erasure->n_rows = 0;
        erasure->removed[0] = '\0';
}

/* --- rows ---------------------------------------------------------------------------------------- */

static const StoreTable *find_table(size_t i) {
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++)
                        if (i-- == 0)
                                return *table;
        return NULL;
}

static void end_table(Erasure *erasure, const StoreTable *table) {
        size_t n = strlen(erasure->removed);

        if (erasure->n_rows > 0)
                (void)snprintf(erasure->removed + n, sizeof(erasure->removed) - n, "%s%lu of %s", n > 0 ? ", " : "",
                               (unsigned long)erasure->n_rows, table->name);
        erasure->table++;
        erasure->row = 1;
        erasure->n_rows = 0;
}

static int remove_rows(Erasure *erasure, Database *database, const StoreTable *table) {
        const TableErasure *of = table->erasure;
        int64_t row = 0, n = 0;
        int r;

        r = database_get(database, of->next, FIELDS(field_i64(erasure->uid), field_i64(erasure->row)), &row);
        if (r == 0 && row == 0)
                end_table(erasure, table);
        if (r != 0 || row == 0)
                return r;

        r = table->retention->run(database,
                                  database_prepare(database, of->select,
                                                   FIELDS(field_i64(STEP_ROWS), field_i64(erasure->uid), field_i64(row),
                                                          field_i64(erasure->before_ms))),
                                  &n);
        erasure->n_rows += (uint64_t)n;
        erasure->row = n < STEP_ROWS ? row + ERASURE_WINDOW : row;
        return r;
}

static int remove_leftovers(Database *database, bool *ret_has_more) {
        int r = 0;

        for (const StoreSubject *const *subject = store_subject_list; r == 0 && !*ret_has_more && *subject; subject++)
                r = retention_step_leftover((*subject)->tables, database, ret_has_more);
        return r;
}

static int finish(const Erasure *erasure, Database *database) {
        const StoreTable *table;
        int r = 0;

        for (size_t i = 0; r == 0 && (table = find_table(i)); i++)
                if (table->retention && table->retention->tidy)
                        r = table->retention->tidy(database);
        for (size_t i = 0; r == 0 && erasure->before_ms == INT64_MAX && (table = find_table(i)); i++)
                for (const Statement *last = table->erasure->last; r == 0 && last && last->sql; last++)
                        r = database_run(database, last, FIELDS(field_i64(erasure->uid)));
        return r;
}

int erasure_step(Erasure *erasure, Database *database, bool *ret_has_more) {
        const StoreTable *table;
        int r;

        while ((table = find_table(erasure->table)) && !table->erasure->next)
                erasure->table++;
        *ret_has_more = table;
        if (table)
                return remove_rows(erasure, database, table);
        r = remove_leftovers(database, ret_has_more);
        return r == 0 && !*ret_has_more ? finish(erasure, database) : r;
}

/* --- the file ------------------------------------------------------------------------------------ */

/* The copy that SQLite makes in between has the size of the database: it is a file, beside the database, because other
 * directories may not be writable. */
int erasure_rewrite(Database *database, const char *directory) {
        char text[STORE_DIRECTORY_MAX + 64];
        int r;

        (void)snprintf(text, sizeof(text), "PRAGMA temp_store = FILE; PRAGMA temp_store_directory = '%s'",
                       strchr(directory, '\'') ? "" : directory);
        r = database_exec(database, text);
        if (r == 0)
                r = database_exec(database, "VACUUM");
        return r != 0 ? r : database_exec(database, "PRAGMA temp_store = MEMORY; PRAGMA temp_store_directory = ''");
}
