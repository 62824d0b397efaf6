/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/points.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/statistics.h"
#include "store/catalog/shape.h"
#include "store/read/read_connection.h"
#include "util/array.h"
#include "util/utf8.h"

/* For each name, component and user: the series with their points, then the results that are not indexed. */
typedef enum Stage {
        STAGE_PAIR,
        STAGE_SERIES,
        STAGE_POINTS,
        STAGE_DOCUMENTS,
} Stage;

/* Rows of the name, component and user whose results are read, of their shape, and of the first indexed result. */
typedef struct PointPair {
        int64_t name, component, uid, shape, indexed_from;
} PointPair;

struct Points {
        ReadConnection *connection; /* borrowed */
        PointFilter filter;
        Stage stage;

        PointPair pair;
        /* of the pair; texts belong to the rows at which the statements are */
        const char *component_text;
        JsonText keys;
        const DerivedModel *derived; /* borrowed; NULL: none */
        int places[POINT_NUMBERS_MAX]; /* index in a point of each number of the filter; PLACE_SCORE */
        Prepared *series, *rows;

        /* numbers of the series, or of a document */
        PointRow row;
        Buffer hardware, parameters; /* owned */
        char batch[2 * 16 + 1];
        StackFacts *stacks; /* owned */
        double numbers[POINT_NUMBERS_MAX];
        PointList lists[POINT_NUMBERS_MAX];
};

#define PLACE_SCORE (-1)
#define SCORE_KEY "overall_score"

/* --- conditions ---------------------------------------------------------------------------------- */

#define BATCH_KEY "batch"
#define LABELS_KEY "@labels"

#define SPECIFICATION     "specification."
#define SPECIFICATION_KEY POINT_RUN SPECIFICATION

static bool is_run_key(const char *key) {
        return strncmp(key, POINT_RUN, strlen(POINT_RUN)) == 0;
}

static bool is_label_key(const char *key) {
        return strncmp(key, POINT_LABEL, strlen(POINT_LABEL)) == 0;
}

const char *point_parameter_key(const char *key) {
        if (strncmp(key, CONDITION_PARAMETERS, strlen(CONDITION_PARAMETERS)) == 0)
                return key + strlen(CONDITION_PARAMETERS);
        return strcmp(key, "component") == 0 || strcmp(key, "version") == 0 || strcmp(key, "hardware") == 0 ||
                               is_run_key(key) || is_label_key(key) || stack_facts_has_key(key)
                       ? NULL
                       : key;
}

/* Facts that everybody may see: others, such as the environment, belong to the user of the run. */
static JsonText find_run_fact(JsonText run, const char *path) {
        static const char *const public[] = { "host.",       "runtime.", "rusage.",
                                              SPECIFICATION, "labels.",  "wall_seconds" };

        for (size_t i = 0; i < N_ELEMENTS(public); i++)
                if (strncmp(path, public[i], strlen(public[i])) == 0)
                        return json_text_find_path(run, path);
        return (JsonText){};
}

/* A specification is part of an imported run; those of `perfctl run --spec` are stored apart. */
static JsonText find_run(const PointRow *row, const char *path) {
        JsonText found = find_run_fact(row->run, path);

        if (!found.text && strncmp(path, SPECIFICATION, strlen(SPECIFICATION)) == 0)
                found = json_text_find_path(row->specification, path + strlen(SPECIFICATION));
        return found;
}

/* The labels of the document come first: they were given with the result. */
static JsonText find_label(const PointRow *row, const char *key) {
        JsonText label = json_text_find_path(row->labels, key);
        char path[KEY_MAX_BYTES + sizeof("labels.")];

        if (label.text || snprintf(path, sizeof(path), "labels.%s", key) >= (int)sizeof(path))
                return label;
        return find_run_fact(row->run, path);
}

void point_find(const PointRow *row, const char *key, JsonText *ret_json, const char **ret_text) {
        const char *parameter = point_parameter_key(key);

        *ret_json = (JsonText){};
        *ret_text = NULL;
        if (parameter) {
                *ret_json = json_text_find_path(row->parameters, parameter);
                if (!ret_json->text && row->with_labels && parameter == key)
                        *ret_json = find_label(row, key);
                if (!ret_json->text && strcmp(key, BATCH_KEY) == 0)
                        *ret_text = row->batch;
        } else if (is_run_key(key))
                *ret_json = find_run(row, key + strlen(POINT_RUN));
        else if (is_label_key(key))
                *ret_json = find_label(row, key + strlen(POINT_LABEL));
        else if (stack_facts_has_key(key))
                *ret_text = row->stacks ? stack_facts_get(row->stacks, row->stack, key) : NULL;
        else
                *ret_text = *key == 'c' ? row->component : *key == 'v' ? row->version : row->hardware;
}

/* Components are compared regardless of case; they are stored in lower case. */
static bool is_component_met(const Condition *condition, const char *component) {
        bool is_equal = strcasecmp(condition->value, component) == 0;

        return condition->relation == CONDITION_EQUAL ? is_equal
                                                      : condition->relation == CONDITION_NOT_EQUAL && !is_equal;
}

/* A stack is named by the first digits of its digest, four at least. */
static bool is_stack_met(const Condition *condition, const char *digest) {
        size_t n = strlen(condition->value), n_digest = digest ? strlen(digest) : 0;
        bool is_equal = n >= 4 && digest && strncasecmp(condition->value, digest, n < n_digest ? n : n_digest) == 0;

        return digest &&
               (condition->relation == CONDITION_EQUAL ? is_equal
                                                       : condition->relation == CONDITION_NOT_EQUAL && !is_equal);
}

static bool is_met(const Condition *condition, const PointRow *row) {
        const char *text;
        JsonText json;

        point_find(row, condition->key, &json, &text);
        if (strcmp(condition->key, "component") == 0)
                return is_component_met(condition, text);
        if (strcmp(condition->key, "stack") == 0)
                return is_stack_met(condition, text);
        return json.text || !text ? condition_is_met(condition, json) : condition_is_met_by_text(condition, text);
}

/* Several = of one key are alternatives. */
static bool has_alternative(const Condition *conditions, size_t n, size_t i) {
        for (size_t k = 0; k < n; k++)
                if (k != i && conditions[i].relation == CONDITION_EQUAL &&
                    conditions[k].relation == CONDITION_EQUAL && strcmp(conditions[k].key, conditions[i].key) == 0)
                        return true;
        return false;
}

static bool is_any_met(const PointRow *row, const Condition *conditions, size_t n, const char *key) {
        for (size_t i = 0; i < n; i++)
                if (conditions[i].relation == CONDITION_EQUAL && strcmp(conditions[i].key, key) == 0 &&
                    is_met(&conditions[i], row))
                        return true;
        return false;
}

bool point_meets(const PointRow *row, const Condition *conditions, size_t n_conditions) {
        for (size_t i = 0; i < n_conditions; i++)
                if (!is_met(&conditions[i], row) &&
                    !(has_alternative(conditions, n_conditions, i) &&
                      is_any_met(row, conditions, n_conditions, conditions[i].key)))
                        return false;
        return true;
}

/* True if the key is not in a series, so that results have to be read. keys: the shape of the results. */
static bool needs_run(const char *key, JsonText keys) {
        return is_run_key(key) || is_label_key(key) || (strcmp(key, BATCH_KEY) == 0 && !shape_has_parameter(keys, key));
}

/* Names of variables and values in a specification may be private: those of others are not found. */
static bool needs_specification(const Points *points) {
        const PointFilter *filter = &points->filter;
        bool is_named = false;

        for (size_t i = 0; i < filter->n_conditions; i++)
                is_named |= strncmp(filter->conditions[i].key, SPECIFICATION_KEY, strlen(SPECIFICATION_KEY)) == 0;
        for (size_t i = 0; i < filter->n_fields; i++)
                is_named |= strncmp(filter->fields[i], SPECIFICATION_KEY, strlen(SPECIFICATION_KEY)) == 0;
        return is_named && (filter->sees_all || filter->viewer == points->pair.uid);
}

static bool filter_needs_run(const PointFilter *filter, JsonText keys) {
        if (filter->with_labels || filter->with_lists)
                return true;
        for (size_t i = 0; i < filter->n_conditions; i++)
                if (needs_run(filter->conditions[i].key, keys))
                        return true;
        for (size_t i = 0; i < filter->n_fields; i++)
                if (needs_run(filter->fields[i], keys))
                        return true;
        return false;
}

static bool meets_filter(const Points *points) {
        const PointFilter *filter = &points->filter;

        if (filter->version && (!points->row.version || strcmp(filter->version, points->row.version) != 0))
                return false;
        return point_meets(&points->row, filter->conditions, filter->n_conditions);
}

/* --- series -------------------------------------------------------------------------------------- */

/* Returns the condition to search an index for, preferably an equality; NULL: read all series. */
static const Condition *find_indexed(const Points *points) {
        const Condition *range = NULL;

        for (size_t i = 0; i < points->filter.n_conditions; i++) {
                const Condition *condition = &points->filter.conditions[i];
                const char *key = point_parameter_key(condition->key);

                if (!key || condition->relation == CONDITION_NOT_EQUAL || !shape_has_parameter(points->keys, key) ||
                    has_alternative(points->filter.conditions, points->filter.n_conditions, i))
                        continue;
                if (!condition_is_range(condition))
                        return condition;
                if (condition->is_number)
                        range = condition;
        }
        return range;
}

/* Binds two values that include more than the condition, which is checked again: BETWEEN includes both ends. */
static void put_range(const Condition *condition, Field ret[static 2]) {
        bool is_upper = condition->relation == CONDITION_LESS || condition->relation == CONDITION_LESS_EQUAL;

        ret[0] = field_double(is_upper ? -(double)INFINITY : nextafter(condition->number, -(double)INFINITY));
        ret[1] = field_double(is_upper ? nextafter(condition->number, (double)INFINITY) : (double)INFINITY);
}

static void put_equal(const Condition *condition, Field ret[static 2]) {
        ret[0] = field_string(condition->value);
        if (condition->exact.type == VALUE_INT)
                ret[1] = field_i64(condition->exact.integer);
        else
                ret[1] = field_if(condition->is_number, field_double(condition->number));
}

static const StoreColumn series_columns[] = {
        COLUMN(PointRow, series, "s.id"),
        COLUMN(PointRow, version, "s.version"),
        COLUMN(PointRow, hardware, "s.hardware"),
        COLUMN(PointRow, parameters, "s.parameters"),
        COLUMN(PointRow, stack, "s.stack"),
};

#define SERIES_BY_PROPERTY(condition)                                                                                  \
        SELECT(PointRow, series_columns,                                                                               \
               " FROM property AS p CROSS JOIN series AS s ON s.id = p.series"                                         \
               " WHERE p.name = ?1 AND p.component = ?2 AND p.uid = ?4 AND p.key = ?5 AND s.shape = ?3 AND "           \
               "p.value " condition)

STATEMENT series_all = SELECT(PointRow, series_columns,
        " FROM series AS s INDEXED BY series_by_pair WHERE s.name = ?1 AND s.component = ?2 AND s.shape = ?3 AND"
        " s.uid = ?4");
STATEMENT series_equal = SERIES_BY_PROPERTY("IN (?6, ?7)");
STATEMENT series_range = SERIES_BY_PROPERTY("BETWEEN ?6 AND ?7");

static int begin_series(Points *points) {
        const Condition *indexed = find_indexed(points);
        const Statement *which = !indexed ? &series_all : condition_is_range(indexed) ? &series_range : &series_equal;
        const PointPair *pair = &points->pair;
        Field fields[7] = { field_i64(pair->name), field_i64(pair->component), field_i64(pair->shape),
                            field_i64(pair->uid) };

        if (indexed)
                fields[4] = field_string(point_parameter_key(indexed->key));
        if (indexed && condition_is_range(indexed))
                put_range(indexed, &fields[5]);
        else if (indexed)
                put_equal(indexed, &fields[5]);
        points->stage = STAGE_SERIES;
        return read_connection_prepare(points->connection, which, fields, indexed ? 7 : 4, &points->series);
}

/* --- points and documents ------------------------------------------------------------------------ */

static void put_times(const Points *points, Field ret[static 3]) {
        reader_put_page_fields(points->filter.since_ms, points->filter.until_ms, &points->filter.before, ret);
}

enum { POINT_TIME, POINT_ROW, POINT_SCORE, POINT_NUMBERS, POINT_BATCH, N_POINT_COLUMNS };

#define POINTS " FROM point WHERE series = ?"
#define NEWEST_FIRST " ORDER BY time_ms DESC, row DESC"
#define POINTS_OF_SERIES POINTS " AND time_ms >= ? AND (time_ms, row) < (?, ?) AND row >= ?" NEWEST_FIRST

/* Comparing each row with bounds that all rows meet takes a third of the time. */
STATEMENT points_without_bounds = SQL("SELECT time_ms, row, score, numbers, NULL" POINTS NEWEST_FIRST, N_POINT_COLUMNS);
STATEMENT points_of_series = SQL("SELECT time_ms, row, score, numbers, NULL" POINTS_OF_SERIES, N_POINT_COLUMNS);
STATEMENT points_and_batches = SQL(
        "SELECT time_ms, row, score, numbers, (SELECT lower(hex(r.batch)) FROM result AS r WHERE r.row ="
        " point.row)" POINTS_OF_SERIES,
        N_POINT_COLUMNS);

static bool has_bounds(const Points *points) {
        const PointFilter *filter = &points->filter;

        return filter->since_ms != 0 || filter->until_ms != 0 || filter->before.time_ms != 0 ||
               filter->before.row != 0 || points->pair.indexed_from > 1;
}

static int begin_points(Points *points) {
        Field fields[5] = { field_i64(points->row.series) };
        const Statement *which = points->filter.with_batches ? &points_and_batches :
                                 has_bounds(points)          ? &points_of_series :
                                                               &points_without_bounds;

        put_times(points, &fields[1]);
        fields[4] = field_i64(points->pair.indexed_from);
        points->stage = STAGE_POINTS;
        return read_connection_prepare(points->connection, which, fields,
                                       which == &points_without_bounds ? 1 : N_ELEMENTS(fields), &points->rows);
}

enum {
        DOCUMENT_TIME,
        DOCUMENT_ROW,
        DOCUMENT_SCORE,
        DOCUMENT_VERSION,
        DOCUMENT_EXIT_STATUS,
        DOCUMENT_STACK,
        DOCUMENT_BATCH,
        DOCUMENT_RUN,
        DOCUMENT_TEXT,
        DOCUMENT_SPECIFICATION,
        N_DOCUMENT_COLUMNS,
};

#define DOCUMENTS(specification)                                                                                       \
        SQL("SELECT time_ms, row, score, version, exit_status, ifnull(stack, 0), lower(hex(batch)), run, document, "  \
            specification                                                                                              \
            " FROM result INDEXED BY result_by_name"                                                                   \
            " WHERE name = ? AND component = ? AND uid = ? AND time_ms >= ? AND (time_ms, row) < (?, ?) AND row < ?"   \
            " ORDER BY time_ms DESC, row DESC",                                                                        \
            N_DOCUMENT_COLUMNS)

STATEMENT documents = DOCUMENTS("NULL");
STATEMENT documents_and_specifications = DOCUMENTS(
        "(SELECT s.document FROM specification AS s WHERE s.id = result.specification)");

/* The results of an indexed pair without points are the rows before indexed_from; there are none if that is the
 * first row. */
static int begin_documents(Points *points) {
        Field fields[7] = { field_i64(points->pair.name), field_i64(points->pair.component),
                            field_i64(points->pair.uid) };
        bool is_indexed = points->pair.shape != 0;

        points->stage = STAGE_PAIR;
        if (is_indexed && points->pair.indexed_from <= 1)
                return 0;

        put_times(points, &fields[3]);
        fields[6] = field_i64(is_indexed ? points->pair.indexed_from : INT64_MAX);
        points->stage = STAGE_DOCUMENTS;
        return read_connection_prepare(points->connection,
                                       needs_specification(points) ? &documents_and_specifications : &documents, fields,
                                       N_ELEMENTS(fields), &points->rows);
}

/* --- pairs --------------------------------------------------------------------------------------- */

static const StoreColumn pair_columns[] = {
        COLUMN(Points, pair.name, "i.name"),
        COLUMN(Points, pair.component, "i.component"),
        COLUMN(Points, pair.uid, "i.uid"),
        COLUMN_REQUIRED(Points, component_text, "ifnull(c.shown, c.text)"),
        COLUMN(Points, pair.shape, "i.shape"),
        COLUMN(Points, pair.indexed_from, "i.indexed_from"),
        COLUMN(Points, keys, "s.keys"),
};

#define PAIRS(tail)                                                                                                    \
        SELECT(Points, pair_columns,                                                                                   \
               " FROM indicator AS i CROSS JOIN term AS c ON c.id = i.component LEFT JOIN shape AS s ON s.id = "       \
               "i.shape" tail)

STATEMENT pairs_of_name = PAIRS(" WHERE i.name = (SELECT id FROM term WHERE text = ?) AND visible(i.uid)"
                              " ORDER BY i.component, i.uid");
STATEMENT pairs_of_all = PAIRS(" WHERE visible(i.uid) ORDER BY i.name, i.component, i.uid");

/* --- stages: 0 to continue, also with another stage; or an outcome ------------------------------- */

static const Expression *find_derived(const Points *points, const char *key) {
        return points->derived ? derived_model_find(points->derived, key) : NULL;
}

/* False if a number is in no point: then all results are looked up in documents. */
static bool find_places(Points *points) {
        for (size_t i = 0; i < points->filter.n_numbers; i++) {
                const char *key = points->filter.numbers[i];

                points->places[i] = strcmp(key, SCORE_KEY) == 0 ? PLACE_SCORE : shape_find_result(points->keys, key);
                if ((points->places[i] < 0 && strcmp(key, SCORE_KEY) != 0) || find_derived(points, key))
                        return false;
        }
        return true;
}

static int next_pair(Points *points) {
        const Prepared *pair;
        int r;

        r = read_connection_step(points->connection, &pair);
        if (r != 0)
                return r;

        if (!statement_read(pair, points))
                return read_connection_fail(points->connection, SQLITE_NOMEM);
        if (points->filter.component && strcasecmp(points->filter.component, points->component_text) != 0)
                return 0;
        points->derived = points->filter.derived ? derived_models_find(points->filter.derived, points->component_text)
                                                 : NULL;
        if (points->pair.shape == 0 || !points->keys.text || !find_places(points) ||
            filter_needs_run(&points->filter, points->keys)) {
                points->pair.shape = 0;
                return begin_documents(points);
        }
        return begin_series(points);
}

static int next_series(Points *points) {
        int r;

        r = read_connection_step_inside(points->connection, points->series);
        if (r == READER_END)
                return begin_documents(points);
        if (r != 0)
                return r;

        points->row = (PointRow){ .component = points->component_text,
                                  .numbers = points->numbers,
                                  .stacks = points->stacks };
        (void)statement_read(points->series, &points->row);
        return meets_filter(points) ? begin_points(points) : 0;
}

/* Takes the numbers of a point; a failed run has none. */
static void take_numbers(Points *points) {
        const char *bytes = sqlite3_column_blob(points->rows->handle, POINT_NUMBERS);
        size_t n_bytes = column_bytes(points->rows, POINT_NUMBERS);

        points->row.has_failed = !bytes && column_is_null(points->rows, POINT_NUMBERS);
        for (size_t i = 0; i < points->filter.n_numbers; i++) {
                size_t at = (size_t)points->places[i] * sizeof(double);

                points->numbers[i] = (double)NAN;
                if (points->places[i] == PLACE_SCORE && !points->row.has_failed &&
                    !column_is_null(points->rows, POINT_SCORE))
                        points->numbers[i] = column_double(points->rows, POINT_SCORE);
                else if (points->places[i] != PLACE_SCORE && at + sizeof(double) <= n_bytes)
                        memcpy(&points->numbers[i], bytes + at, sizeof(double));
        }
}

static int next_point(Points *points, bool *ret_is_there) {
        int r;

        r = read_connection_step_inside(points->connection, points->rows);
        if (r == READER_END)
                points->stage = STAGE_SERIES;
        if (r != 0)
                return r == READER_END ? 0 : r;

        points->row.time_ms = column_u64(points->rows, POINT_TIME);
        points->row.row = column_i64(points->rows, POINT_ROW);
        if (points->filter.with_batches) {
                utf8_copy(points->batch, sizeof(points->batch), column_text(points->rows, POINT_BATCH) ?: "");
                points->row.batch = points->batch[0] ? points->batch : NULL;
        }
        take_numbers(points);
        *ret_is_there = true;
        return 0;
}

static int add_to_list(PointList *list, JsonText value) {
        double number;

        if (!json_text_double(value, &number) || !isfinite(number))
                return 0;
        if (ARRAY_RESERVE(list->items, list->n_max, list->n + 1) < 0)
                return -ENOMEM;
        list->items[list->n++] = number;
        return 0;
}

/* Adds the numbers of the lists that a path with [] names: a[].b are the members b of all items of a. */
static int add_all(PointList *list, JsonText from, const char *path) {
        const char *all = strstr(path, "[]");
        scoped(freep) char *before = strndup(path, all ? (size_t)(all - path) : strlen(path));
        JsonText found, unused, item;
        JsonWalk walk;
        int r = 0;

        if (!before)
                return -ENOMEM;
        found = *before ? json_text_find_path(from, before) : from;
        if (!all && json_text_kind(found) != JSON_KIND_LIST)
                return add_to_list(list, found);

        walk = json_text_walk(found);
        while (r == 0 && found.text && json_text_walk_next(&walk, &unused, &item))
                r = all ? add_all(list, item, all + 2 + (all[2] == '.')) : add_to_list(list, item);
        return r;
}

/* Takes a number of @result, or the median of a list of them. */
static int take_result(JsonText result, const char *key, PointList *list, double *ret) {
        JsonText value = json_text_find_path(result, key);
        int r;

        if (json_text_double(value, ret) || (value.text && json_text_kind(value) != JSON_KIND_LIST))
                return 0;
        r = add_all(list, result, key);
        if (r == 0 && list->n > 0) {
                statistics_sort(list->items, list->n);
                *ret = statistics_quantile_of_sorted(list->items, list->n, 0.5);
        }
        return r;
}

static int take_number_of_document(Points *points, JsonText document, size_t i) {
        const char *key = points->filter.numbers[i];
        const Expression *expression = find_derived(points, key);
        double *ret = &points->numbers[i];
        char unused[EXPRESSION_TEXT_MAX];

        if (expression)
                return expression_evaluate(expression, document, ret, unused) < 0 ? -ENOMEM : 0;
        if (strcmp(key, SCORE_KEY) != 0)
                return take_result(json_text_find(document, "@result"), key, &points->lists[i], ret);
        if (!column_is_null(points->rows, DOCUMENT_SCORE))
                *ret = column_double(points->rows, DOCUMENT_SCORE);
        return 0;
}

/* A failed run has no numbers. */
static int take_numbers_of_document(Points *points, JsonText document) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < points->filter.n_numbers; i++) {
                points->numbers[i] = (double)NAN;
                points->lists[i].n = 0;
                if (!points->row.has_failed)
                        r = take_number_of_document(points, document, i);
        }
        return r;
}

static int read_document(Points *points) {
        JsonText document = column_json(points->rows, DOCUMENT_TEXT), run = column_json(points->rows, DOCUMENT_RUN);
        const char *batch = column_text(points->rows, DOCUMENT_BATCH);
        bool has_hardware;

        utf8_copy(points->batch, sizeof(points->batch), batch ?: "");
        buffer_clear(&points->hardware);
        buffer_clear(&points->parameters);
        has_hardware = shape_put_hardware(run, &points->hardware);
        if (shape_put_parameters(document, &points->parameters) < 0 || buffer_error(&points->hardware) < 0)
                return -ENOMEM;

        points->row = (PointRow){
                .component = points->component_text,
                .version = column_text(points->rows, DOCUMENT_VERSION),
                .hardware = has_hardware ? points->hardware.text : NULL,
                .parameters = json_text(points->parameters.text, points->parameters.n),
                .time_ms = column_u64(points->rows, DOCUMENT_TIME),
                .row = column_i64(points->rows, DOCUMENT_ROW),
                .has_failed = column_i64(points->rows, DOCUMENT_EXIT_STATUS) != 0,
                .numbers = points->numbers,
                .lists = points->lists,
                .stack = column_i64(points->rows, DOCUMENT_STACK),
                .stacks = points->stacks,
                .run = run,
                .specification = column_json(points->rows, DOCUMENT_SPECIFICATION),
                .labels = json_text_find(document, LABELS_KEY),
                .with_labels = points->filter.with_labels,
                .batch = points->batch[0] ? points->batch : NULL,
        };
        return take_numbers_of_document(points, document);
}

static int next_document(Points *points, bool *ret_is_there) {
        int r;

        r = read_connection_step_inside(points->connection, points->rows);
        if (r == READER_END)
                points->stage = STAGE_PAIR;
        if (r != 0)
                return r == READER_END ? 0 : r;

        r = read_document(points);
        if (r < 0)
                return r;

        *ret_is_there = meets_filter(points);
        return 0;
}

int points_next(Points *points, PointRow *ret) {
        bool is_there = false;
        int r;

        /* an error of a look-up, also one of the caller, ends the query in which the look-ups are made */
        while ((r = stack_facts_error(points->stacks)) == 0 && !is_there) {
                switch (points->stage) {
                case STAGE_PAIR:
                        r = next_pair(points);
                        break;
                case STAGE_SERIES:
                        r = next_series(points);
                        break;
                case STAGE_POINTS:
                        r = next_point(points, &is_there);
                        break;
                case STAGE_DOCUMENTS:
                        r = next_document(points, &is_there);
                        break;
                }
                if (r != 0)
                        return r;
        }
        if (r != 0)
                return r;

        *ret = points->row;
        return 0;
}

void points_skip(Points *points) {
        if (points->stage != STAGE_POINTS && points->stage != STAGE_DOCUMENTS)
                return;

        sqlite3_reset(points->rows->handle);
        points->stage = points->stage == STAGE_POINTS ? STAGE_SERIES : STAGE_PAIR;
}

int points_new(Points **ret, Reader *reader, const PointFilter *filter) {
        scoped(points_freep) Points *points = calloc(1, sizeof(*points));
        Field name = field_string(filter->name);
        int r;

        if (!points)
                return -ENOMEM;

        points->connection = reader_connection(reader);
        points->filter = *filter;
        assert(filter->n_numbers <= POINT_NUMBERS_MAX);
        r = stack_facts_new(&points->stacks, reader);
        if (r < 0)
                return r;
        r = read_connection_begin(points->connection, name.text ? &pairs_of_name : &pairs_of_all, &name,
                                  name.text ? 1 : 0);
        if (r != 0)
                return r;

        *ret = TAKE(points);
        return 0;
}

Points *points_free(Points *points) {
        if (!points)
                return NULL;

        read_connection_end(points->connection);
        for (size_t i = 0; i < POINT_NUMBERS_MAX; i++)
                free(points->lists[i].items);
        buffer_deinit(&points->hardware);
        buffer_deinit(&points->parameters);
        stack_facts_free(points->stacks);
        free(points);
        return NULL;
}
