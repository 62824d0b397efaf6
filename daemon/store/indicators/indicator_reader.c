/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/indicator_reader.h"

#include "store/read_connection.h"

/* --- indicators ---------------------------------------------------------------------------------- */

enum { INDICATOR_NAME, INDICATOR_COMPONENT, INDICATOR_RESULTS, INDICATOR_LATEST, N_INDICATOR_COLUMNS };

STATEMENT indicators = {
        "SELECT n.text, c.text, i.n_results, i.latest_ms FROM indicator AS i"
        " CROSS JOIN term AS n ON n.id = i.name CROSS JOIN term AS c ON c.id = i.component"
        " WHERE i.n_results > 0 ORDER BY n.text, c.text",
        N_INDICATOR_COLUMNS,
};

int indicator_reader_list(Reader *reader) {
        Prepared *list;

        return read_connection_begin(reader_connection(reader), &indicators, &list);
}

int indicator_reader_next(Reader *reader, IndicatorRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        const Prepared *row;
        int r;

        r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        *ret = (IndicatorRow){
                .name = column_text(row, INDICATOR_NAME),
                .component = column_text(row, INDICATOR_COMPONENT),
                .n_results = column_u64(row, INDICATOR_RESULTS),
                .latest_ms = column_u64(row, INDICATOR_LATEST),
        };
        return ret->name && ret->component ? 0 : read_connection_fail(connection, SQLITE_NOMEM);
}

/* --- models -------------------------------------------------------------------------------------- */

enum { MODEL_COMPONENT, MODEL_RESULTS, MODEL_DOCUMENT, N_MODEL_COLUMNS };

STATEMENT models = {
        "SELECT component, results, document FROM model WHERE name = ?"
        " ORDER BY component IS NULL, component, by_admin AND NOT is_declared DESC, is_declared DESC",
        N_MODEL_COLUMNS,
};

int indicator_reader_list_models(Reader *reader, const char *name) {
        Prepared *list;
        int r;

        r = read_connection_begin(reader_connection(reader), &models, &list);
        if (r == 0)
                statement_bind_string(list, name);
        return r;
}

int indicator_reader_next_model(Reader *reader, ModelRow *ret) {
        const Prepared *row;
        int r;

        r = read_connection_step(reader_connection(reader), &row);
        if (r != 0)
                return r;

        *ret = (ModelRow){
                .component = column_text(row, MODEL_COMPONENT),
                .results = column_json(row, MODEL_RESULTS),
                .declaration = column_json(row, MODEL_DOCUMENT),
        };
        return 0;
}

/* --- parameters ---------------------------------------------------------------------------------- */

STATEMENT parameters_of_name = {
        "SELECT parameters FROM series INDEXED BY series_by_pair WHERE name = (SELECT id FROM term WHERE text = ?)", 1,
};
STATEMENT parameters_of_all = { "SELECT parameters FROM series", 1 };

int indicator_reader_list_parameters(Reader *reader, const char *name) {
        Prepared *list;
        int r;

        r = read_connection_begin(reader_connection(reader), name ? &parameters_of_name : &parameters_of_all, &list);
        if (r == 0 && name)
                statement_bind_string(list, name);
        return r;
}

int indicator_reader_next_parameters(Reader *reader, JsonText *ret) {
        const Prepared *row;
        int r;

        r = read_connection_step(reader_connection(reader), &row);
        if (r == 0)
                *ret = column_json(row, 0);
        return r;
}
