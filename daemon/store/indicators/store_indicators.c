/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of results
 *
 * Results of one user, name and component that were measured with the same parameters, version and hardware are a
 * series, as in a time series database: a row of series has what they have in common, and a property row has each
 * parameter that the model wants indexed, so that MATRIX_SIZE=512 of a name is a search in property's key. A point
 * is what a result adds: its score and the numbers of its results in the order of the series' shape. A shape is what
 * a model indexes (shape.h). Points are clustered by series and time, so that a query reads no document.
 *
 * Of an indicator with a shape, the results from row indexed_from on have points. The results before are looked up
 * in their documents until all of them are indexed (indexing.h). After a change of models, an indicator keeps its
 * former shape for a while (shape_update.h).
 */
#include "store/indicators/result_rows.h"

#include "store/catalog/catalog.h"
#include "store/catalog/indexing.h"
#include "store/database/database.h"
#include "store/indicators/attachments.h"
#include "store/indicators/job_results.h"
#include "store/jobs/job_rows.h"
#include "store/retention/holders.h"
#include "store/retention/retention.h"
#include "store/table/store_subject.h"

/* --- removal ------------------------------------------------------------------------------------- */

enum { REMOVED_ROW, REMOVED_NAME, REMOVED_COMPONENT, REMOVED_UID, REMOVED_BYTES, N_REMOVED_COLUMNS };

/* The size that result_rows.c counted. */
#define SIZE_OF_RESULT                                                                                                 \
        HOLDER_RESULT_BYTES_TEXT " + length(CAST(document AS BLOB)) + ifnull(length(CAST(run AS BLOB)), 0)"
#define REMOVED(rows) \
        SQL("SELECT row, name, component, uid, " SIZE_OF_RESULT " FROM result WHERE row IN (" rows ")",                \
            N_REMOVED_COLUMNS)

STATEMENT result_remove = REMOVED("SELECT row FROM result ORDER BY row LIMIT ?1");

STATEMENT result_remove_of_user = REMOVED(
        "SELECT r.row FROM (SELECT min(block) AS block FROM holding WHERE uid = ?2)"
        " AS h"
        " CROSS JOIN result AS r WHERE r.row BETWEEN " HOLDING_BLOCK_TEXT " * h.block AND " HOLDING_BLOCK_TEXT
        " * h.block + " HOLDING_BLOCK_TEXT " - 1 AND r.uid = ?2 ORDER BY r.row LIMIT ?1");

STATEMENT result_expire = REMOVED(
        "SELECT row FROM result INDEXED BY result_by_time WHERE time_ms < ?2 ORDER BY time_ms LIMIT ?1");
STATEMENT result_next_of_user = SQL(
        "SELECT ifnull(max(" HOLDING_BLOCK_TEXT " * min(block), ?2), 0) FROM holding"
        " WHERE uid = ?1 AND block >= ?2 / " HOLDING_BLOCK_TEXT,
        1);
STATEMENT result_erase = REMOVED("SELECT row FROM result WHERE row BETWEEN ?3 AND " ERASURE_WINDOW_END
                                 " AND uid = ?2 AND time_ms < ?4 ORDER BY row LIMIT ?1");

/* The models of an administrator apply to results of others, and stay. */
STATEMENT model_erase[] = {
        SQL("DELETE FROM model WHERE owner = ?1 AND NOT is_declared", 0),
        SQL("UPDATE model SET uid = 0 WHERE uid = ?1", 0),
        {},
};

STATEMENT result_delete = SQL("DELETE FROM result WHERE row = ?1", 0);

STATEMENT count_subtract = SQL(
        "UPDATE indicator SET n_results = n_results - ?4 WHERE name = ?1 AND component = ?2 AND uid = ?3", 0);

/* Removed results of one indicator, user and block. */
typedef struct Removed {
        int64_t name, component;
        HeldRows holding;
} Removed;

static int subtract(Database *database, const Removed *removed) {
        int r;

        if (removed->holding.n_rows == 0)
                return 0;

        r = database_run(database, &count_subtract,
                         FIELDS(field_i64(removed->name), field_i64(removed->component),
                                field_i64(removed->holding.uid), field_i64(removed->holding.n_rows)));
        return r != 0 ? r : holders_remove(database, &removed->holding);
}

/* Removes a result, and subtracts the results before it if they are of another indicator, user or block. */
static int remove_result(Database *database, const int64_t columns[static N_REMOVED_COLUMNS], Removed *removed) {
        int64_t name = columns[REMOVED_NAME], component = columns[REMOVED_COMPONENT];
        HeldRows holding = { .uid = columns[REMOVED_UID], .block = columns[REMOVED_ROW] / HOLDING_BLOCK_ROWS };
        int r = 0;

        if (name != removed->name || component != removed->component || holding.uid != removed->holding.uid ||
            holding.block != removed->holding.block) {
                r = subtract(database, removed);
                *removed = (Removed){ .name = name, .component = component, .holding = holding };
        }
        removed->holding.n_rows++;
        removed->holding.n_bytes += columns[REMOVED_BYTES];
        return r == 0 ? database_run(database, &result_delete, FIELDS(field_i64(columns[REMOVED_ROW]))) : r;
}

/* Subtracts the removed results from their indicators' counts and their users' sizes, consecutive ones together. */
static int run_removal(Database *database, Prepared *selection, int64_t *ret_n) {
        scoped(buffer_deinit) Buffer rows = {};
        int64_t columns[N_REMOVED_COLUMNS];
        Removed removed = {};
        int r;

        r = database_collect(database, selection, &rows);
        for (size_t at = 0; r == 0 && at < rows.n; at += sizeof(columns)) {
                memcpy(columns, rows.text + at, sizeof(columns));
                r = remove_result(database, columns, &removed);
        }
        if (r == 0)
                r = subtract(database, &removed);
        if (r == 0)
                *ret_n = (int64_t)(rows.n / sizeof(columns));
        return r;
}

STATEMENT indicators_tidy = SQL("DELETE FROM indicator WHERE n_results <= 0", 0);
STATEMENT terms_tidy = SQL(
        "DELETE FROM term WHERE id NOT IN (SELECT name FROM indicator UNION SELECT component FROM indicator)", 0);

STATEMENT packages_tidy = SQL("DELETE FROM package WHERE id NOT IN (SELECT package FROM stack_package)", 0);

/* Removes names without results, and packages without stacks. */
static int tidy(Database *database) {
        return database_run(database, &indicators_tidy, NULL, 0) ?: database_run(database, &terms_tidy, NULL, 0) ?:
               database_run(database, &packages_tidy, NULL, 0);
}

STATEMENT unfinished_undo = REMOVED(
        "SELECT r.row FROM unfinished AS u CROSS JOIN result AS r WHERE r.row > u.row AND r.uid = u.uid");
STATEMENT unfinished_clear = SQL("DELETE FROM unfinished", 0);

/* Removes the parts of submissions that are not complete. No other results of their users were stored meanwhile. */
static int mend(Database *database, bool is_late) {
        int64_t n = 0;
        int r;

        (void)is_late;
        r = run_removal(database, database_prepare(database, &unfinished_undo, NULL, 0), &n);
        if (r == 0 && n > 0)
                r = tidy(database);
        return r != 0 ? r : database_run(database, &unfinished_clear, NULL, 0);
}

/* --- salvage ------------------------------------------------------------------------------------- */

/* The document contains the terms, because the id of a lost term may now belong to another term. Damaged JSON has no
 * name. */
#define IF_JSON(text, sql) "CASE WHEN json_valid(" text ") THEN " sql " END"
#define NAME_OF_DOCUMENT(text) IF_JSON(text, "json_extract(" text ", '$.name')")
#define WRITTEN_COMPONENT(text)                                                                                        \
        "coalesce(json_extract(" text ", '$.component'), json_extract(" text ", '$.framework'), '')"
#define COMPONENT_OF_DOCUMENT(text) IF_JSON(text, "lower(" WRITTEN_COMPONENT(text) ")")

STATEMENT terms_salvage = SQL(
        "INSERT OR IGNORE INTO term (text, shown) VALUES (" NAME_OF_DOCUMENT("?19") ", NULL),"
        " (" COMPONENT_OF_DOCUMENT("?19") ", " IF_JSON("?19", WRITTEN_COMPONENT("?19")) ")", 0);

/* Counts the result as the writer does. The result is looked up in its document until it is indexed. */
STATEMENT result_salvaged[] = {
        SQL("INSERT INTO indicator (name, component, uid, n_results, latest_ms, shape, indexed_from)"
            " SELECT r.name, r.component, r.uid, 1, r.time_ms,"
            " (" MODEL_SHAPE("r.uid") "), r.row + 1"
                                      " FROM result AS r JOIN term AS n ON n.id = r.name JOIN term AS c ON c.id = "
                                      "r.component WHERE r.row = ?1"
                                      " ON CONFLICT (name, component, uid) DO UPDATE SET n_results = n_results + 1, "
                                      "latest_ms = max(latest_ms,"
                                      " excluded.latest_ms),"
                                      " indexed_from = max(indexed_from, excluded.indexed_from)",
            0),
        SQL("INSERT INTO holder (uid, n_bytes) SELECT uid, " SIZE_OF_RESULT " FROM result WHERE row = ?1"
            " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes",
            0),
        SQL("INSERT INTO holding (uid, block, n_rows) SELECT uid, row / " HOLDING_BLOCK_TEXT ", 1 FROM result WHERE "
            "row = ?1"
            " ON CONFLICT (uid, block) DO UPDATE SET n_rows = n_rows + 1",
            0),
        SQL("UPDATE stack SET n_results = n_results + 1 WHERE id = (SELECT stack FROM result WHERE row = ?1)", 0),
        SQL("UPDATE specification SET n_results = n_results + 1 WHERE id = (SELECT specification FROM result WHERE row "
            "= ?1)",
            0),
        {},
};

#define TERM_OF(text) "(SELECT id FROM term WHERE text = " text ")"
#define IF_STORED(table) "(SELECT id FROM " table " WHERE id = old." table ")"

/* --- tables -------------------------------------------------------------------------------------- */

/* Names and components repeat: other tables have their ids. shown: a component as it was written first; null: of a
 * name alone. */
static const StoreTable term_table = {
        .name = "term",
        .schema = "CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, shown TEXT);",
        .checks = { "SELECT max(id) FROM term" },
        .erasure = &table_erasure_follows,
};

/* A shape goes with the last row that refers to it: a user may replace a model any number of times. */
#define DROP_SHAPE                                                                                                     \
        " BEGIN DELETE FROM shape WHERE id = old.shape AND NOT EXISTS (SELECT 1 FROM model WHERE shape = old.shape)"   \
        " AND NOT EXISTS (SELECT 1 FROM indicator WHERE shape = old.shape)"                                            \
        " AND NOT EXISTS (SELECT 1 FROM series WHERE shape = old.shape); END;"

/* Each user's results of an indicator are counted and indexed separately, since each user's model may differ. The
 * writer often searches the indicators that are still to be indexed, which are few among many: hence their own
 * index. */
static const StoreTable indicator_table = {
        .name = "indicator",
        .schema =
                "CREATE TABLE indicator ("
                " name INTEGER NOT NULL, component INTEGER NOT NULL, uid INTEGER NOT NULL,"
                " n_results INTEGER NOT NULL, latest_ms INTEGER NOT NULL, shape INTEGER, indexed_from INTEGER,"
                " PRIMARY KEY (name, component, uid)) WITHOUT ROWID;"
                "CREATE INDEX indicator_unindexed ON indicator (indexed_from) WHERE shape IS NOT NULL AND"
                " indexed_from > 0;"
                "CREATE INDEX indicator_by_shape ON indicator (shape) WHERE shape IS NOT NULL;"
                "CREATE TRIGGER indicator_reshaped AFTER UPDATE OF shape ON indicator WHEN new.shape IS NOT"
                " old.shape" DROP_SHAPE
                "CREATE TRIGGER indicator_unshaped AFTER DELETE ON indicator" DROP_SHAPE
                "CREATE TRIGGER indicator_added AFTER INSERT ON indicator BEGIN"
                " INSERT INTO holder (uid, n_names) VALUES (new.uid, 1) ON CONFLICT (uid)"
                " DO UPDATE SET n_names = n_names + 1; END;"
                "CREATE TRIGGER indicator_removed AFTER DELETE ON indicator BEGIN"
                " UPDATE holder SET n_names = n_names - 1 WHERE uid = old.uid; END;"
                "CREATE TRIGGER indicator_added_unindexed AFTER INSERT ON indicator WHEN new.indexed_from > 0 BEGIN"
                " DELETE FROM indexing WHERE name = new.name; END;"
                "CREATE TRIGGER indicator_unindexed_again AFTER UPDATE OF indexed_from ON indicator WHEN"
                " new.indexed_from > 0 BEGIN"
                " DELETE FROM indexing WHERE name = new.name; END;",
        .checks = { "SELECT count(*) FROM indicator" },
        .erasure = &table_erasure_follows,
};

/* Progress of indexing the results of a name (indexing.h): one row or none. */
static const StoreTable indexing_table = {
        .name = "indexing",
        .schema =
                "CREATE TABLE indexing ("
                " only INTEGER PRIMARY KEY CHECK (only = 1), name INTEGER NOT NULL, time_ms INTEGER NOT NULL,"
                " row INTEGER NOT NULL);",
        .checks = { "SELECT count(*) FROM indexing" },
        .erasure = &table_erasure_none,
};

#define COUNT_SPECIFICATION(trigger, when, change)                                                                    \
        "CREATE TRIGGER " trigger " ON result WHEN " when " BEGIN"                                                     \
        " UPDATE specification SET n_results = n_results " change ".specification; END;"

/*
 * job is the id that the sender named. A result belongs to the job of this id if the sender could act for the job
 * when the result was stored (job_row), or if the sender is the job's user or began the job; results may come before
 * their job. claimed_ms is the sender's time where perfd does not believe it: time_ms is the arrival then.
 *
 * row is the rowid by name, so that indexes can hold it where pages of a list need it: newest first, then by row.
 * The last column of an index spares reading the table for rows that a filter drops. Long texts come last: SQLite
 * reads a row from its begin.
 *
 * No trigger follows an insertion: SQLite would copy each page that the insertion changes. Who inserts a row counts
 * it.
 */
static const StoreTable result_table = {
        .name = "result",
        .schema =
                "CREATE TABLE result ("
                " row INTEGER PRIMARY KEY, id BLOB NOT NULL, time_ms INTEGER NOT NULL,"
                " name INTEGER NOT NULL, component INTEGER NOT NULL, uid INTEGER NOT NULL, score REAL,"
                " exit_status INTEGER, batch BLOB, batch_index INTEGER, series INTEGER,"
                " job TEXT, job_row INTEGER, claimed_ms INTEGER, stack INTEGER, specification INTEGER, version TEXT,"
                " run TEXT,"
                " document TEXT NOT NULL);"
                "CREATE UNIQUE INDEX result_by_id ON result (id);"
                "CREATE INDEX result_by_name ON result (name, time_ms, row, component, uid);"
                "CREATE INDEX result_by_time ON result (time_ms, row, component);"
                "CREATE INDEX result_by_job ON result (job, time_ms) WHERE job IS NOT NULL;"
                "CREATE INDEX result_by_batch ON result (batch, batch_index) WHERE batch IS NOT NULL;"
                "CREATE TRIGGER result_removed AFTER DELETE ON result WHEN old.series IS NOT NULL BEGIN"
                " DELETE FROM point WHERE series = old.series AND time_ms = old.time_ms AND row = old.row; END;"
                "CREATE TRIGGER result_gets_stack AFTER UPDATE OF stack ON result WHEN old.stack IS NULL AND"
                " new.stack IS NOT NULL BEGIN"
                " UPDATE stack SET n_results = n_results + 1 WHERE id = new.stack; END;"
                "CREATE TRIGGER result_leaves_stack AFTER DELETE ON result WHEN old.stack IS NOT NULL BEGIN"
                " UPDATE stack SET n_results = n_results - 1 WHERE id = old.stack; END;"
                COUNT_SPECIFICATION("result_gets_specification AFTER UPDATE OF specification",
                                    "old.specification IS NULL AND new.specification IS NOT NULL", "+ 1 WHERE id = new")
                COUNT_SPECIFICATION("result_leaves_specification AFTER DELETE", "old.specification IS NOT NULL",
                                    "- 1 WHERE id = old"),
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM result ORDER BY row LIMIT 1)",
                "SELECT count(*) FROM (SELECT * FROM result ORDER BY row DESC LIMIT 1)",
                "SELECT min(id) IS NULL FROM result INDEXED BY result_by_id",
                "SELECT max(id) IS NULL FROM result INDEXED BY result_by_id",
                "SELECT max(time_ms) FROM result INDEXED BY result_by_time",
        },
        .retention = &(const TableRetention){
                .order = 5,
                .keep = offsetof(StoreConfig, keep_results_ns),
                .remove = &result_remove,
                .remove_of_user = &result_remove_of_user,
                .expire = &result_expire,
                .run = run_removal,
                .tidy = tidy,
        },
        .salvage = &(const TableSalvage){
                .values = (const SalvagedValue[]){
                        { "name", TERM_OF(NAME_OF_DOCUMENT("old.document")) },
                        { "component", TERM_OF(COMPONENT_OF_DOCUMENT("old.document")) },
                        { "series", "NULL" },
                        { "stack", IF_STORED("stack") },
                        { "specification", IF_STORED("specification") },
                        {},
                },
                .before = &terms_salvage,
                .after = result_salvaged,
        },
        .erasure = &(const TableErasure){ .next = &result_next_of_user, .select = &result_erase },
};

/* Submissions of which the first parts are stored: the results of this user after this row. */
static const StoreTable unfinished_table = {
        .name = "unfinished",
        .schema = "CREATE TABLE unfinished (uid INTEGER PRIMARY KEY, row INTEGER NOT NULL);",
        .checks = { "SELECT count(*) FROM unfinished" },
        .erasure = &table_erasure_follows,
};

/* Registered models, and models that are declared in files. owner: the user to whose results alone a model applies;
 * -1: all users. */
static const StoreTable model_table = {
        .name = "model",
        .schema =
                "CREATE TABLE model ("
                " row INTEGER PRIMARY KEY, name TEXT NOT NULL, component TEXT, is_declared INTEGER NOT NULL,"
                " owner INTEGER NOT NULL, uid INTEGER NOT NULL, by_admin INTEGER NOT NULL, time_ms INTEGER NOT NULL,"
                " shape INTEGER NOT NULL,"
                " results TEXT NOT NULL, document TEXT NOT NULL);"
                "CREATE UNIQUE INDEX model_by_name ON model (name, ifnull(component, ''), owner, is_declared);"
                "CREATE INDEX model_by_shape ON model (shape);"
                "CREATE TRIGGER model_reshaped AFTER UPDATE OF shape ON model WHEN new.shape <> old.shape" DROP_SHAPE
                "CREATE TRIGGER model_removed AFTER DELETE ON model" DROP_SHAPE,
        .checks = { "SELECT total(length(document)) FROM model" },
        .salvage = &(const TableSalvage){
                .is_first = true, .condition = "EXISTS (SELECT 1 FROM shape WHERE id = old.shape)"
        },
        .erasure = &(const TableErasure){ .last = model_erase },
};

static const StoreTable shape_table = {
        .name = "shape",
        .schema = "CREATE TABLE shape (id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE);",
        .checks = { "SELECT max(id) FROM shape" },
        .salvage = &(const TableSalvage){ .is_first = true },
        .erasure = &table_erasure_follows,
};

static const StoreTable series_table = {
        .name = "series",
        .schema =
                "CREATE TABLE series ("
                " id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, name INTEGER NOT NULL, component INTEGER NOT NULL,"
                " uid INTEGER NOT NULL,"
                " stack INTEGER NOT NULL, shape INTEGER NOT NULL, version TEXT, hardware TEXT, parameters TEXT NOT"
                " NULL);"
                "CREATE INDEX series_by_hash ON series (hash);"
                "CREATE INDEX series_by_pair ON series (name, component, uid, shape);"
                "CREATE INDEX series_by_shape ON series (shape);"
                "CREATE TRIGGER series_unshaped AFTER DELETE ON series" DROP_SHAPE
                "CREATE TRIGGER series_added AFTER INSERT ON series BEGIN"
                " INSERT INTO holder (uid, n_series) VALUES (new.uid, 1) ON CONFLICT (uid) DO UPDATE SET n_series ="
                " n_series + 1; END;"
                "CREATE TRIGGER series_removed AFTER DELETE ON series BEGIN"
                " UPDATE holder SET n_series = n_series - 1 WHERE uid = old.uid; END;",
        .checks = { "SELECT max(id) FROM series" },
        .erasure = &table_erasure_follows,
};

static const StoreTable property_table = {
        .name = "property",
        .schema =
                "CREATE TABLE property ("
                " name INTEGER NOT NULL, component INTEGER NOT NULL, uid INTEGER NOT NULL, key TEXT NOT NULL, value"
                " NOT NULL, " /* any type, as it is */
                " series INTEGER NOT NULL, PRIMARY KEY (name, component, uid, key, value, series)) WITHOUT"
                " ROWID;"
                "CREATE INDEX property_by_series ON property (series);",
        .checks = { "SELECT max(series) FROM property INDEXED BY property_by_series" },
        .erasure = &table_erasure_follows,
};

static const StoreTable point_table = {
        .name = "point",
        .schema =
                "CREATE TABLE point ("
                " series INTEGER NOT NULL, time_ms INTEGER NOT NULL, row INTEGER NOT NULL, score REAL, numbers BLOB,"
                " PRIMARY KEY (series, time_ms, row)) WITHOUT ROWID;"
                "CREATE TRIGGER point_removed AFTER DELETE ON point"
                " WHEN NOT EXISTS (SELECT 1 FROM point WHERE series = old.series) BEGIN"
                " DELETE FROM property WHERE series = old.series;"
                " DELETE FROM series WHERE id = old.series; END;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM point LIMIT 1)" },
        .erasure = &table_erasure_follows,
};

/* --- the writer's catalog ------------------------------------------------------------------------ */

static int new_state(void **ret, struct Shares *shares) {
        Catalog *catalog;
        int r;

        r = catalog_new(&catalog, shares);
        if (r == 0)
                *ret = catalog;
        return r;
}

static void free_state(void *state) {
        catalog_free(state);
}

static int follow(void *state, Database *database, RowSet *set) {
        Field job = job_rows_ended(set);

        return job.text ? job_results_make(database, state, job, &set->derived) : 0;
}

static void forget(void *state) {
        catalog_forget(state);
}

static int flush(void *state, Database *database, bool *ret_has_work) {
        *ret_has_work |= catalog_take_unindexed(state);
        return catalog_flush(state, database);
}

static int work(void *state, Database *database, bool *ret_has_more) {
        return indexing_step(database, state, ret_has_more);
}

const StoreSubject store_indicators = {
        .tables = STORE_TABLES(
                &attachments_stack_table,
                &attachments_package_table,
                &attachments_list_table,
                &attachments_specification_table,
                &term_table,
                &indicator_table,
                &indexing_shapes_table,
                &indexing_table,
                &result_table,
                &shape_table,
                &model_table,
                &series_table,
                &property_table,
                &point_table,
                &unfinished_table),
        .new_state = new_state,
        .free_state = free_state,
        .forget = forget,
        .flush = flush,
        .follow = follow,
        .mend = mend,
        .find_work = indexing_find,
        .work = work,
};
