/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/indicator_reader.h"

#include "document/indicator_model.h"
#include "store/read/read_connection.h"

/* --- indicators ---------------------------------------------------------------------------------- */

static const StoreColumn indicator_columns[] = {
        COLUMN_REQUIRED(IndicatorRow, name, "n.text"),
        COLUMN_REQUIRED(IndicatorRow, component, "ifnull(c.shown, c.text)"),
        COLUMN(IndicatorRow, n_results, "sum(i.n_results)"),
        COLUMN(IndicatorRow, latest_ms, "max(i.latest_ms)"),
};

#define INDICATORS                                                                                                     \
        " FROM indicator AS i CROSS JOIN term AS n ON n.id = i.name CROSS JOIN term AS c ON c.id = i.component WHERE " \
        "i.n_results > 0 AND visible(i.uid)"
#define IN_ORDER " GROUP BY i.name, i.component ORDER BY n.text, c.text"

STATEMENT indicators = SELECT(IndicatorRow, indicator_columns, INDICATORS IN_ORDER);
STATEMENT indicators_of_names = SELECT(IndicatorRow, indicator_columns,
                                       INDICATORS
                                       " AND i.name IN (SELECT id FROM term WHERE text IN (?1, ?2))" IN_ORDER);
/* True if the newest result has one of the name of the indicator first, as `perfctl kpi submit` stores it. */
#define IS_SUBMITTED_KPI                                                                                               \
        " instr((SELECT r.document FROM result AS r INDEXED BY result_by_name WHERE r.name = i.name AND r.component"   \
        " = i.component AND r.uid = i.uid ORDER BY r.time_ms DESC, r.row DESC LIMIT 1),"                               \
        " '\"@result\":{\"' || n.text || '\":') > 0"

STATEMENT indicators_of_kpis = SELECT(
        IndicatorRow, indicator_columns,
        INDICATORS " AND (c.text = '" KPI_COMPONENT "' OR" IS_SUBMITTED_KPI
                   " OR EXISTS (SELECT 1 FROM model AS m WHERE m.name IN (n.text, '" MODEL_ANY_NAME "')"
                   " AND (m.component IS NULL OR m.component = c.text)))" IN_ORDER);

int indicator_reader_list(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &indicators, NULL, 0);
}

int indicator_reader_list_named(Reader *reader, const char *name, const char *or_name) {
        return read_connection_begin(reader_connection(reader), &indicators_of_names,
                                     FIELDS(field_string(name), field_string(or_name)));
}

int indicator_reader_list_kpis(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &indicators_of_kpis, NULL, 0);
}

/* --- models -------------------------------------------------------------------------------------- */

STATEMENT models = SELECT(ModelRow,
        COLUMNS(COLUMN(ModelRow, component, "component"),
                COLUMN(ModelRow, results, "results"),
                COLUMN(ModelRow, declaration, "document")),
        " FROM model AS m WHERE (name = ?1 OR (name = '" MODEL_ANY_NAME "'"
        " AND EXISTS (SELECT 1 FROM indicator WHERE name = (SELECT id FROM term WHERE text = ?1)"
        " AND component = (SELECT id FROM term WHERE text = m.component))"
        " AND NOT EXISTS (SELECT 1 FROM model AS o WHERE o.name = ?1 AND (o.component IS NULL OR o.component ="
        " m.component))))"
        " AND (owner = -1 OR visible(owner)) AND (owner IN (-1, ?2) OR NOT EXISTS"
        " (SELECT 1 FROM indicator WHERE name = (SELECT id FROM term WHERE text = ?1) AND uid <> m.owner AND"
        " n_results > 0"
        " AND (m.component IS NULL OR component = (SELECT id FROM term WHERE text = m.component))))"
        " ORDER BY component IS NULL, component, by_admin AND NOT is_declared DESC, is_declared DESC, owner = ?2 DESC");

int indicator_reader_list_models(Reader *reader, const char *name, int64_t uid) {
        return read_connection_begin(reader_connection(reader), &models, FIELDS(field_string(name), field_i64(uid)));
}

STATEMENT registered = SELECT(RegisteredModelRow,
        COLUMNS(COLUMN_REQUIRED(RegisteredModelRow, document, "document"),
                COLUMN(RegisteredModelRow, uid, "uid"),
                COLUMN(RegisteredModelRow, by_admin, "by_admin")),
        " FROM model WHERE NOT is_declared ORDER BY row");

int indicator_reader_list_registered(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &registered, NULL, 0);
}

/* --- accepted levels ------------------------------------------------------------------------------ */

STATEMENT accepted = SELECT(AcceptedRow,
        COLUMNS(COLUMN(AcceptedRow, declaration, "document"),
                COLUMN(AcceptedRow, key, "component"),
                COLUMN(AcceptedRow, uid, "uid"),
                COLUMN(AcceptedRow, time_ms, "time_ms"),
                COLUMN(AcceptedRow, by_admin, "by_admin")),
        " FROM model WHERE name = '" ACCEPTED_LEVEL_NAME "' AND owner IN (-1, ?1) ORDER BY time_ms, component");

int indicator_reader_list_accepted(Reader *reader, int64_t uid) {
        return read_connection_begin(reader_connection(reader), &accepted, FIELDS(field_i64(uid)));
}

/* --- parameters ---------------------------------------------------------------------------------- */

static const StoreColumn parameter_columns[] = { { .sql = "parameters", .type = COLUMN_JSON } };
STATEMENT parameters_of_name = SELECT(JsonText, parameter_columns,
                                      " FROM series INDEXED BY series_by_pair WHERE name = (SELECT id FROM term WHERE"
                                      " text = ?) AND visible(uid)");
STATEMENT parameters_of_all = SELECT(JsonText, parameter_columns, " FROM series WHERE visible(uid)");

int indicator_reader_list_parameters(Reader *reader, const char *name) {
        Field field = field_string(name);

        return read_connection_begin(reader_connection(reader), name ? &parameters_of_name : &parameters_of_all, &field,
                                     name ? 1 : 0);
}
