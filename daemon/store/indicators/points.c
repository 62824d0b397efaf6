/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/points.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/indicators/shape.h"
#include "store/read_connection.h"

/* A name and component: first its series with their points, then what is not indexed of it. */
typedef enum Stage {
        STAGE_PAIR,
        STAGE_SERIES,
        STAGE_POINTS,
        STAGE_DOCUMENTS,
} Stage;

struct Points {
        ReadConnection *asking; /* borrowed */
        PointFilter filter;
        Stage stage;

        /* of the pair; texts are of statements that stand at their rows */
        int64_t name, component, shape, indexed_from;
        const char *component_text;
        JsonText keys;
        int places[POINT_NUMBERS_MAX]; /* of the numbers asked for, in a point; PLACE_SCORE */
        sqlite3_stmt *series, *rows;

        /* of the series, or of a document */
        int64_t series_id;
        PointRow row;
        Buffer hardware, parameters; /* owned */
        double numbers[POINT_NUMBERS_MAX];
};

#define PLACE_SCORE (-1)
#define SCORE_KEY "overall_score"

static sqlite3_int64 as_integer(uint64_t v) {
        return v > INT64_MAX ? INT64_MAX : (sqlite3_int64)v;
}

static const char *text_at(sqlite3_stmt *statement, int i) {
        return (const char *)sqlite3_column_text(statement, i);
}

static JsonText json_at(sqlite3_stmt *statement, int i) {
        const char *text = text_at(statement, i);

        return json_text(text, text ? (size_t)sqlite3_column_bytes(statement, i) : 0);
}

/* --- conditions ---------------------------------------------------------------------------------- */

const char *point_parameter_key(const char *key) {
        if (strncmp(key, CONDITION_PARAMETERS, strlen(CONDITION_PARAMETERS)) == 0)
                return key + strlen(CONDITION_PARAMETERS);
        return strcmp(key, "component") == 0 || strcmp(key, "version") == 0 || strcmp(key, "hardware") == 0 ? NULL : key;
}

const char *point_field(const PointRow *row, const char *key) {
        return *key == 'c' ? row->component : *key == 'v' ? row->version : row->hardware;
}

bool point_meets(const PointRow *row, const Condition *conditions, size_t n_conditions) {
        for (size_t i = 0; i < n_conditions; i++) {
                const Condition *condition = &conditions[i];
                const char *key = point_parameter_key(condition->key);

                if (key ? !condition_is_met(condition, json_text_find(row->parameters, key))
                        : !condition_is_met_by_text(condition, point_field(row, condition->key)))
                        return false;
        }
        return true;
}

static bool meets_filter(const Points *points) {
        const PointFilter *filter = &points->filter;

        if (filter->version && (!points->row.version || strcmp(filter->version, points->row.version) != 0))
                return false;
        return point_meets(&points->row, filter->conditions, filter->n_conditions);
}

/* --- series -------------------------------------------------------------------------------------- */

/* The condition that an index answers, equality before all; NULL: all series are to be looked at. */
static const Condition *find_indexed(const Points *points) {
        const Condition *range = NULL;

        for (size_t i = 0; i < points->filter.n_conditions; i++) {
                const Condition *condition = &points->filter.conditions[i];
                const char *key = point_parameter_key(condition->key);

                if (!key || condition->relation == CONDITION_NOT_EQUAL || !shape_has_parameter(points->keys, key))
                        continue;
                if (!condition_is_range(condition))
                        return condition;
                range = condition;
        }
        return range;
}

/* Wider than the condition, which is looked at again: BETWEEN has both ends in it. */
static void bind_range(sqlite3_stmt *statement, const Condition *condition) {
        bool is_upper = condition->relation == CONDITION_LESS || condition->relation == CONDITION_LESS_EQUAL;

        sqlite3_bind_double(statement, 5, is_upper ? -(double)INFINITY : nextafter(condition->number, -(double)INFINITY));
        sqlite3_bind_double(statement, 6, is_upper ? nextafter(condition->number, (double)INFINITY) : (double)INFINITY);
}

static void bind_equal(sqlite3_stmt *statement, const Condition *condition) {
        sqlite3_bind_text(statement, 5, condition->value, -1, SQLITE_STATIC);
        if (condition->is_integer)
                sqlite3_bind_int64(statement, 6, condition->integer);
        else if (condition->is_number)
                sqlite3_bind_double(statement, 6, condition->number);
}

static int begin_series(Points *points) {
        const Condition *indexed = find_indexed(points);
        unsigned question = !indexed ? QUESTION_SERIES : condition_is_range(indexed) ? QUESTION_SERIES_RANGE : QUESTION_SERIES_EQUAL;
        int r;

        r = read_connection_prepare(points->asking, question, &points->series);
        if (r != 0)
                return r;

        sqlite3_bind_int64(points->series, 1, points->name);
        sqlite3_bind_int64(points->series, 2, points->component);
        sqlite3_bind_int64(points->series, 3, points->shape);
        if (indexed)
                sqlite3_bind_text(points->series, 4, point_parameter_key(indexed->key), -1, SQLITE_STATIC);
        if (indexed && condition_is_range(indexed))
                bind_range(points->series, indexed);
        else if (indexed)
                bind_equal(points->series, indexed);
        points->stage = STAGE_SERIES;
        return 0;
}

/* since, and the key that rows come before, which is that of `until` where that is earlier. */
static void bind_times(Points *points, int i) {
        const PointFilter *filter = &points->filter;
        const PageKey *before = &filter->before;
        bool has_before = before->time_ms != 0 || before->row != 0;
        sqlite3_int64 time_ms = has_before ? as_integer(before->time_ms) : INT64_MAX, row = has_before ? before->row : INT64_MAX;

        if (filter->until_ms != 0 && as_integer(filter->until_ms) <= time_ms) {
                time_ms = as_integer(filter->until_ms);
                row = INT64_MIN;
        }

        sqlite3_bind_int64(points->rows, i, as_integer(filter->since_ms));
        sqlite3_bind_int64(points->rows, i + 1, time_ms);
        sqlite3_bind_int64(points->rows, i + 2, row);
}

static int begin_points(Points *points) {
        int r;

        r = read_connection_prepare(points->asking, QUESTION_POINTS, &points->rows);
        if (r != 0)
                return r;

        sqlite3_bind_int64(points->rows, 1, points->row.series);
        bind_times(points, 2);
        sqlite3_bind_int64(points->rows, 5, points->indexed_from);
        points->stage = STAGE_POINTS;
        return 0;
}

/* What is not indexed of a pair that is indexed otherwise lies before indexed_from: nothing, when that is the first row. */
static int begin_documents(Points *points) {
        bool is_indexed = points->shape != 0;
        int r;

        points->stage = STAGE_PAIR;
        if (is_indexed && points->indexed_from <= 1)
                return 0;

        r = read_connection_prepare(points->asking, QUESTION_UNINDEXED, &points->rows);
        if (r != 0)
                return r;

        sqlite3_bind_int64(points->rows, 1, points->name);
        sqlite3_bind_int64(points->rows, 2, points->component);
        bind_times(points, 3);
        sqlite3_bind_int64(points->rows, 6, is_indexed ? points->indexed_from : INT64_MAX);
        points->stage = STAGE_DOCUMENTS;
        return 0;
}

/* --- stages: each returns 0 when there is a row to give, READER_END to go on with the next stage, or an outcome ------ */

/* False when one of them is in no point: then all is looked up in documents. */
static bool find_places(Points *points) {
        for (size_t i = 0; i < points->filter.n_numbers; i++) {
                const char *key = points->filter.numbers[i];

                points->places[i] = strcmp(key, SCORE_KEY) == 0 ? PLACE_SCORE : shape_find_result(points->keys, key);
                if (points->places[i] < 0 && strcmp(key, SCORE_KEY) != 0)
                        return false;
        }
        return true;
}

static int next_pair(Points *points) {
        sqlite3_stmt *pairs;
        int r;

        r = read_connection_step(points->asking);
        if (r != 0)
                return r;

        pairs = points->asking->current;
        points->name = sqlite3_column_int64(pairs, 0);
        points->component = sqlite3_column_int64(pairs, 1);
        points->component_text = text_at(pairs, 2);
        points->shape = sqlite3_column_int64(pairs, 3);
        points->indexed_from = sqlite3_column_int64(pairs, 4);
        points->keys = json_at(pairs, 5);
        if (!points->component_text)
                return read_connection_give_up(points->asking, SQLITE_NOMEM);
        if (points->filter.component && strcmp(points->filter.component, points->component_text) != 0)
                return 0;
        if (points->shape == 0 || !points->keys.text || !find_places(points)) {
                points->shape = 0;
                return begin_documents(points);
        }
        return begin_series(points);
}

static int next_series(Points *points) {
        int r;

        r = read_connection_step_inside(points->asking, points->series);
        if (r == READER_END)
                return begin_documents(points);
        if (r != 0)
                return r;

        points->row = (PointRow){
                .series = sqlite3_column_int64(points->series, 0),
                .component = points->component_text,
                .version = text_at(points->series, 1),
                .hardware = text_at(points->series, 2),
                .parameters = json_at(points->series, 3),
                .numbers = points->numbers,
        };
        return meets_filter(points) ? begin_points(points) : 0;
}

static void take_numbers(Points *points, const char *bytes, size_t n_bytes) {
        for (size_t i = 0; i < points->filter.n_numbers; i++) {
                size_t at = (size_t)points->places[i] * sizeof(double);

                points->numbers[i] = (double)NAN;
                if (points->places[i] == PLACE_SCORE && bytes && sqlite3_column_type(points->rows, 2) != SQLITE_NULL)
                        points->numbers[i] = sqlite3_column_double(points->rows, 2);
                else if (points->places[i] != PLACE_SCORE && at + sizeof(double) <= n_bytes)
                        memcpy(&points->numbers[i], bytes + at, sizeof(double));
        }
}

static int next_point(Points *points, bool *ret_is_there) {
        int r;

        r = read_connection_step_inside(points->asking, points->rows);
        if (r == READER_END)
                points->stage = STAGE_SERIES;
        if (r != 0)
                return r == READER_END ? 0 : r;

        points->row.time_ms = (uint64_t)sqlite3_column_int64(points->rows, 0);
        points->row.row = sqlite3_column_int64(points->rows, 1);
        points->row.has_failed = sqlite3_column_type(points->rows, 3) == SQLITE_NULL;
        take_numbers(points, points->row.has_failed ? NULL : (sqlite3_column_blob(points->rows, 3) ?: ""),
                     (size_t)sqlite3_column_bytes(points->rows, 3));
        *ret_is_there = true;
        return 0;
}

static void take_numbers_of_document(Points *points, JsonText document) {
        JsonText result = json_text_find(document, "@result");

        for (size_t i = 0; i < points->filter.n_numbers; i++) {
                const char *key = points->filter.numbers[i];

                points->numbers[i] = (double)NAN;
                if (points->row.has_failed)
                        continue;
                if (strcmp(key, SCORE_KEY) != 0)
                        (void)json_text_double(json_text_find(result, key), &points->numbers[i]);
                else if (sqlite3_column_type(points->rows, 2) != SQLITE_NULL)
                        points->numbers[i] = sqlite3_column_double(points->rows, 2);
        }
}

static int read_document(Points *points) {
        JsonText document = json_at(points->rows, 6), run = json_at(points->rows, 5);
        bool has_hardware;

        buffer_clear(&points->hardware);
        buffer_clear(&points->parameters);
        has_hardware = run_put_hardware(run, &points->hardware);
        if (document_put_parameters(document, &points->parameters) < 0 || buffer_error(&points->hardware) < 0)
                return -ENOMEM;

        points->row = (PointRow){
                .component = points->component_text,
                .version = text_at(points->rows, 3),
                .hardware = has_hardware ? points->hardware.text : NULL,
                .parameters = json_text(points->parameters.text, points->parameters.n),
                .time_ms = (uint64_t)sqlite3_column_int64(points->rows, 0),
                .row = sqlite3_column_int64(points->rows, 1),
                .has_failed = sqlite3_column_int64(points->rows, 4) != 0,
                .numbers = points->numbers,
        };
        take_numbers_of_document(points, document);
        return 0;
}

static int next_document(Points *points, bool *ret_is_there) {
        int r;

        r = read_connection_step_inside(points->asking, points->rows);
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
        int r = 0;

        while (r == 0 && !is_there)
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

        *ret = points->row;
        return 0;
}

void points_skip(Points *points) {
        if (points->stage != STAGE_POINTS && points->stage != STAGE_DOCUMENTS)
                return;

        sqlite3_reset(points->rows);
        points->stage = points->stage == STAGE_POINTS ? STAGE_SERIES : STAGE_PAIR;
}

int points_new(Points **ret, Reader *reader, const PointFilter *filter) {
        scoped(points_freep) Points *points = calloc(1, sizeof(*points));
        int r;

        if (!points)
                return -ENOMEM;

        points->asking = reader_connection(reader);
        points->filter = *filter;
        r = read_connection_begin(points->asking, filter->name ? QUESTION_PAIRS : QUESTION_ALL_PAIRS);
        if (r != 0)
                return r;

        if (filter->name)
                sqlite3_bind_text(points->asking->current, 1, filter->name, -1, SQLITE_TRANSIENT);
        *ret = TAKE(points);
        return 0;
}

Points *points_free(Points *points) {
        if (!points)
                return NULL;

        read_connection_end(points->asking);
        buffer_deinit(&points->hardware);
        buffer_deinit(&points->parameters);
        free(points);
        return NULL;
}

/* --- batches and models -------------------------------------------------------------------------- */

int reader_batch(Reader *reader, const uint8_t id[static 16]) {
        ReadConnection *asking = reader_connection(reader);
        int r;

        r = read_connection_begin(asking, QUESTION_BATCH);
        if (r == 0)
                sqlite3_bind_blob(asking->current, 1, id, 16, SQLITE_TRANSIENT);
        return r;
}

int reader_next_batch(Reader *reader, BatchRow *ret) {
        ReadConnection *asking = reader_connection(reader);
        sqlite3_stmt *row;
        int r;

        r = read_connection_step(asking);
        if (r != 0)
                return r;

        row = asking->current;
        *ret = (BatchRow){
                .name = text_at(row, 6), .component = text_at(row, 7), .version = text_at(row, 2),
                .time_ms = (uint64_t)sqlite3_column_int64(row, 0),
                .batch_index = (uint64_t)sqlite3_column_int64(row, 8),
                .has_exit_status = sqlite3_column_type(row, 3) != SQLITE_NULL,
                .exit_status = sqlite3_column_int64(row, 3),
                .has_score = sqlite3_column_type(row, 1) != SQLITE_NULL,
                .score = sqlite3_column_double(row, 1),
                .document = json_at(row, 5), .run = json_at(row, 4),
        };
        return ret->name && ret->component ? 0 : read_connection_give_up(asking, SQLITE_NOMEM);
}

int reader_models(Reader *reader, const char *name) {
        ReadConnection *asking = reader_connection(reader);
        int r;

        r = read_connection_begin(asking, QUESTION_MODEL);
        if (r == 0)
                sqlite3_bind_text(asking->current, 1, name, -1, SQLITE_TRANSIENT);
        return r;
}

int reader_next_model(Reader *reader, ModelRow *ret) {
        ReadConnection *asking = reader_connection(reader);
        int r;

        r = read_connection_step(asking);
        if (r != 0)
                return r;

        *ret = (ModelRow){ .component = text_at(asking->current, 0), .results = json_at(asking->current, 1),
                           .declaration = json_at(asking->current, 2) };
        return 0;
}

int reader_parameters(Reader *reader, const char *name) {
        ReadConnection *asking = reader_connection(reader);
        int r;

        r = read_connection_begin(asking, name ? QUESTION_PARAMETERS : QUESTION_ALL_PARAMETERS);
        if (r == 0 && name)
                sqlite3_bind_text(asking->current, 1, name, -1, SQLITE_TRANSIENT);
        return r;
}

int reader_next_parameters(Reader *reader, JsonText *ret) {
        ReadConnection *asking = reader_connection(reader);
        int r;

        r = read_connection_step(asking);
        if (r == 0)
                *ret = json_at(asking->current, 0);
        return r;
}
