/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/indicator_reader.h"

#include "store/read_connection.h"

/* --- indicators ---------------------------------------------------------------------------------- */

static const StoreColumn indicator_columns[] = {
        COLUMN_REQUIRED(IndicatorRow, name),
        COLUMN_REQUIRED(IndicatorRow, component),
        COLUMN(IndicatorRow, n_results),
        COLUMN(IndicatorRow, latest_ms),
};

STATEMENT indicators = {
        "SELECT n.text, c.text, i.n_results, i.latest_ms FROM indicator AS i"
        " CROSS JOIN term AS n ON n.id = i.name CROSS JOIN term AS c ON c.id = i.component"
        " WHERE i.n_results > 0 ORDER BY n.text, c.text",
        N_ELEMENTS(indicator_columns),
};

int indicator_reader_list(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &indicators, NULL, 0);
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
        "SELECT component, results, document FROM model WHERE name = ?"
        " ORDER BY component IS NULL, component, by_admin AND NOT is_declared DESC, is_declared DESC",
        N_ELEMENTS(model_columns),
};

int indicator_reader_list_models(Reader *reader, const char *name) {
        return read_connection_begin(reader_connection(reader), &models, FIELDS(field_string(name)));
}

int indicator_reader_next_model(Reader *reader, ModelRow *ret) {
        return read_connection_next(reader_connection(reader), model_columns, N_ELEMENTS(model_columns), ret, sizeof(*ret));
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
