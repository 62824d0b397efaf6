/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/indicator_reader.h"

#include "document/indicator_model.h"
#include "store/read/read_connection.h"

/* --- indicators ---------------------------------------------------------------------------------- */

static const StoreColumn indicator_columns[] = {
        COLUMN_REQUIRED(IndicatorRow, name),
        COLUMN_REQUIRED(IndicatorRow, component),
        COLUMN(IndicatorRow, n_results),
        COLUMN(IndicatorRow, latest_ms),
};

#define INDICATORS                                                                                                    \
        "SELECT n.text, ifnull(c.shown, c.text), sum(i.n_results), max(i.latest_ms) FROM indicator AS i"                               \
        " CROSS JOIN term AS n ON n.id = i.name CROSS JOIN term AS c ON c.id = i.component WHERE i.n_results > 0"
#define IN_ORDER " GROUP BY i.name, i.component ORDER BY n.text, c.text"

STATEMENT indicators = { INDICATORS IN_ORDER, N_ELEMENTS(indicator_columns) };
STATEMENT indicators_of_names = {
        INDICATORS " AND i.name IN (SELECT id FROM term WHERE text IN (?1, ?2))" IN_ORDER, N_ELEMENTS(indicator_columns),
};
STATEMENT indicators_with_models = {
        INDICATORS " AND EXISTS (SELECT 1 FROM model AS m WHERE m.name IN (n.text, '" MODEL_ANY_NAME "')"
        " AND (m.component IS NULL OR m.component = c.text))" IN_ORDER,
        N_ELEMENTS(indicator_columns),
};

int indicator_reader_list(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &indicators, NULL, 0);
}

int indicator_reader_list_named(Reader *reader, const char *name, const char *or_name) {
        return read_connection_begin(reader_connection(reader), &indicators_of_names, FIELDS(field_string(name), field_string(or_name)));
}

int indicator_reader_list_with_models(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &indicators_with_models, NULL, 0);
}

int indicator_reader_next(Reader *reader, IndicatorRow *ret) {
        return read_connection_next(reader_connection(reader), indicator_columns, N_ELEMENTS(indicator_columns), ret, sizeof(*ret));
}

/* --- models -------------------------------------------------------------------------------------- */

static const StoreColumn model_columns[] = {
        COLUMN(ModelRow, component),
        COLUMN(ModelRow, results),
        COLUMN(ModelRow, declaration),
};

STATEMENT models = {
        "SELECT component, results, document FROM model AS m WHERE (name = ?1 OR (name = '" MODEL_ANY_NAME "'"
        " AND EXISTS (SELECT 1 FROM indicator WHERE name = (SELECT id FROM term WHERE text = ?1)"
        " AND component = (SELECT id FROM term WHERE text = m.component))"
        " AND NOT EXISTS (SELECT 1 FROM model AS o WHERE o.name = ?1 AND (o.component IS NULL OR o.component = m.component))))"
        " AND (owner IN (-1, ?2) OR NOT EXISTS"
        " (SELECT 1 FROM indicator WHERE name = (SELECT id FROM term WHERE text = ?1) AND uid <> m.owner AND n_results > 0"
        " AND (m.component IS NULL OR component = (SELECT id FROM term WHERE text = m.component))))"
        " ORDER BY component IS NULL, component, by_admin AND NOT is_declared DESC, is_declared DESC, owner = ?2 DESC",
        N_ELEMENTS(model_columns),
};

int indicator_reader_list_models(Reader *reader, const char *name, int64_t uid) {
        return read_connection_begin(reader_connection(reader), &models, FIELDS(field_string(name), field_i64(uid)));
}

int indicator_reader_next_model(Reader *reader, ModelRow *ret) {
        return read_connection_next(reader_connection(reader), model_columns, N_ELEMENTS(model_columns), ret, sizeof(*ret));
}

static const StoreColumn registered_columns[] = {
        COLUMN_REQUIRED(RegisteredModelRow, document), COLUMN(RegisteredModelRow, uid), COLUMN(RegisteredModelRow, by_admin),
};

STATEMENT registered = {
        "SELECT document, uid, by_admin FROM model WHERE NOT is_declared ORDER BY row", N_ELEMENTS(registered_columns),
};

int indicator_reader_list_registered(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &registered, NULL, 0);
}

int indicator_reader_next_registered(Reader *reader, RegisteredModelRow *ret) {
        return read_connection_next(reader_connection(reader), registered_columns, N_ELEMENTS(registered_columns), ret, sizeof(*ret));
}

/* --- accepted levels ------------------------------------------------------------------------------ */

static const StoreColumn accepted_columns[] = {
        COLUMN(AcceptedRow, declaration), COLUMN(AcceptedRow, key), COLUMN(AcceptedRow, uid), COLUMN(AcceptedRow, time_ms),
        COLUMN(AcceptedRow, by_admin),
};

STATEMENT accepted = {
        "SELECT document, component, uid, time_ms, by_admin FROM model WHERE name = '" ACCEPTED_LEVEL_NAME "' AND owner IN (-1, ?1)"
        " ORDER BY time_ms, component",
        N_ELEMENTS(accepted_columns),
};

int indicator_reader_list_accepted(Reader *reader, int64_t uid) {
        return read_connection_begin(reader_connection(reader), &accepted, FIELDS(field_i64(uid)));
}

int indicator_reader_next_accepted(Reader *reader, AcceptedRow *ret) {
        return read_connection_next(reader_connection(reader), accepted_columns, N_ELEMENTS(accepted_columns), ret, sizeof(*ret));
}

/* --- parameters ---------------------------------------------------------------------------------- */

STATEMENT parameters_of_name = {
        "SELECT parameters FROM series INDEXED BY series_by_pair WHERE name = (SELECT id FROM term WHERE text = ?)", 1,
};
STATEMENT parameters_of_all = { "SELECT parameters FROM series", 1 };

int indicator_reader_list_parameters(Reader *reader, const char *name) {
        Field field = field_string(name);

        return read_connection_begin(reader_connection(reader), name ? &parameters_of_name : &parameters_of_all, &field, name ? 1 : 0);
}

int indicator_reader_next_parameters(Reader *reader, JsonText *ret) {
        static const StoreColumn column = { .type = COLUMN_JSON };

        return read_connection_next(reader_connection(reader), &column, 1, ret, sizeof(*ret));
}
