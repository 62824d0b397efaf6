/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/import/kpi_documents.h"
#include "json/json_text.h"
#include "util/clock.h"
#include "value/value_parse.h"

#define SCHEMA_VERSION "1.0"

void payload_deinit(Payload *payload) {
        arena_deinit(&payload->arena);
        free(payload->text);
        free(payload->kpis);
}

void payload_put_time(Json *json, const char *key, uint64_t time_ns) {
        char text[CLOCK_TEXT_MAX];

        clock_format_utc(time_ns, text);
        json_put_string(json, key, text);
}

int payload_put_settings(const TestRecord *record, bool are_labels, Json *json) {
        JsonWalk walk = json_text_walk(json_text(record->settings, strlen(record->settings)));
        JsonText key, value;

        while (json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(key, &name);
                if (buffer_error(&name) < 0)
                        return -ENOMEM;
                /* repetitions are runs of one history */
                if ((property_identifies_run(name.text) || *name.text == '@') != are_labels)
                        continue;
                json_key(json, name.text);
                json_text_write(value, json);
        }
        return 0;
}

/* --- results -------------------------------------------------------------------------------------- */

static int put_result(const ResultRule *rule, JsonText values, JsonText document, TestRecord *record, Json *json) {
        JsonText value = json_text_find(values, rule->from);
        char reason[EXPRESSION_TEXT_MAX];
        double number;
        int r;

        json_key(json, rule->name);
        if (value.text) {
                json_text_write(value, json);
                return 0;
        }
        r = expression_evaluate(&rule->expression, document, &number, reason);
        if (r == EXPRESSION_NULL) {
                json_null(json);
                if (record->exit_code == 0)
                        findings_warn(&record->findings, "%s: the result %s has no value: %s", record->path, rule->name,
                                      reason);
        } else if (r == 0)
                json_double(json, number);
        return r < 0 ? r : 0;
}

/* Without `results`, all values are results. */
static int put_results(const ResultsFile *file, TestRecord *record, const TestValues *values, Json *json) {
        scoped(buffer_deinit) Buffer document = {};
        int r = 0;

        json_key(json, "@result");
        if (file->n_results == 0) {
                json_raw(json, values->json);
                return 0;
        }
        buffer_printf(&document, "{\"@parameters\":%s,\"@result\":%s}", record->settings, values->json);
        if (buffer_error(&document) < 0)
                return -ENOMEM;
        json_object_begin(json);
        for (size_t i = 0; i < file->n_results && r == 0; i++)
                r = put_result(&file->results[i], json_text(values->json, strlen(values->json)),
                               json_text(document.text, document.n), record, json);
        json_object_end(json);
        return r;
}

static int write_document(const ResultsFile *file, TestRecord *record, const TestValues *values, Buffer *out) {
        Json json = { .out = out };
        int r;

        json_object_begin(&json);
        json_put_string(&json, "name", file->name ?: "results");
        json_put_string(&json, "component", file->model && file->model->component ? file->model->component
                                                                                  : KPI_COMPONENT);
        json_put_object_begin(&json, "@parameters");
        r = payload_put_settings(record, false, &json);
        json_object_end(&json);
        if (r == 0)
                r = put_results(file, record, values, &json);
        json_put_object_begin(&json, KPI_LABELS);
        if (r == 0)
                r = payload_put_settings(record, true, &json);
        if (!json_text_find(json_text(record->settings, strlen(record->settings)), "test_path").text)
                json_put_string(&json, "test_path", record->path);
        json_object_end(&json);
        payload_put_time(&json, "@timestamp", values->start_ns);
        json_object_end(&json);
        return r < 0 ? r : buffer_error(out);
}

/* --- KPIs ----------------------------------------------------------------------------------------- */

static int put_value(const Property *property, JsonText document, Json *json) {
        char reason[EXPRESSION_TEXT_MAX];
        ExpressionError unused;
        Expression *expression;
        double number;
        int r;

        json_key(json, "value");
        if (!property->from) {
                json_text_write(json_text_find(json_text_find(document, "@result"), property->name), json);
                return 0;
        }
        expression = malloc(sizeof(*expression));
        if (!expression)
                return -ENOMEM;
        r = expression_parse(property->from, expression, &unused);
        if (r == 0)
                r = expression_evaluate(expression, document, &number, reason);
        free(expression);
        if (r == 0)
                json_double(json, number);
        else
                json_null(json);
        return r < 0 ? r : 0;
}

/* As MatrixBenchmarking has it: each KPI repeats all settings. */
static int write_kpis(const ResultsFile *file, const TestRecord *record, const TestValues *values, JsonText document,
                      Buffer *out) {
        Json json = { .out = out };
        char uuid[TEST_UUID_TEXT_MAX];
        int r = 0;

        test_tree_format_uuid(record->id, uuid);
        json_object_begin(&json);
        for (size_t i = 0; i < file->model->n_properties && r == 0; i++) {
                const Property *property = &file->model->properties[i];

                if (!property->is_result || (property->direction == DIRECTION_UNKNOWN && !property->from))
                        continue;
                json_put_object_begin(&json, property->name);
                json_put_string(&json, "unit", property->unit ?: "");
                json_put_string(&json, "help", property->help ?: property->name);
                payload_put_time(&json, "@timestamp", values->start_ns);
                r = put_value(property, document, &json);
                json_put_string(&json, "test_uuid", uuid);
                json_key(&json, "lower_better");
                if (property->direction == DIRECTION_HIGHER || property->direction == DIRECTION_LOWER)
                        json_bool(&json, property->direction == DIRECTION_LOWER);
                else
                        json_null(&json);
                if (r == 0)
                        r = payload_put_settings(record, false, &json);
                if (r == 0)
                        r = payload_put_settings(record, true, &json);
                json_object_end(&json);
        }
        json_object_end(&json);
        return r < 0 ? r : buffer_error(out);
}

/* --- the payload ---------------------------------------------------------------------------------- */

/* Reads the document as perfd does, and compares it with the model. */
static int validate(const ResultsFile *file, TestRecord *record, Payload *payload) {
        const char *component = file->model && file->model->component ? file->model->component : KPI_COMPONENT;
        const IndicatorGiven given = { .name = file->name ?: "results", .component = component };
        const Value *document;
        Complaint complaint;
        ValueError error;
        size_t unused;
        int r;

        r = value_parse_only(payload->text, strlen(payload->text), &payload->arena, &document, &error);
        if (r < 0)
                return r;
        if (r != 0) {
                (void)indicator_complain(&complaint, "", "%s", error.text);
                r = INDICATOR_INVALID;
        } else if (record->exit_code != 0)
                r = indicator_from_failed_run(document, &given, DOCUMENT_LIMITS_NONE, &payload->item.indicator,
                                              &complaint);
        else
                r = indicator_from_value(document, DOCUMENT_LIMITS_NONE, &payload->item.indicator, &complaint);
        if (r == 0 && record->exit_code == 0 && file->model)
                r = indicator_model_judge(file->model, &payload->item.indicator, MODEL_STRICT, &unused, &complaint);
        payload->is_valid = r == 0;
        if (r > 0)
                findings_error(&record->findings, "%s: is not valid: %s: %s", record->path, complaint.path,
                               complaint.text);
        return r < 0 ? r : 0;
}

/* As in a shell: Python reports a signal as a negative number. */
static int32_t to_exit_status(int exit_code) {
        int status = exit_code < 0 && exit_code >= -127 ? 128 - exit_code : exit_code;

        return status >= 0 && status <= 255 ? status : 255;
}

int payload_make(const ResultsFile *file, TestRecord *record, const TestValues *values, Payload *ret) {
        scoped(buffer_deinit) Buffer document = {}, kpis = {};
        int r;

        *ret = (Payload){};
        r = write_document(file, record, values, &document);
        if (r == 0 && file->model)
                r = write_kpis(file, record, values, json_text(document.text, document.n), &kpis);
        if (r < 0)
                return r;
        ret->text = buffer_take(&document);
        ret->kpis = file->model ? buffer_take(&kpis) : NULL;
        if (!ret->text || (file->model && !ret->kpis))
                return -ENOMEM;
        ret->item = (Submission){ .job = "", .time_ms = values->start_ns / NS_PER_MS,
                                  .has_exit_status = record->exit_code != 0,
                                  .exit_status = to_exit_status(record->exit_code) };
        memcpy(ret->item.id, record->id, sizeof(ret->item.id));
        return validate(file, record, ret);
}

void payload_write_json(const Payload *payload, const ResultsFile *file, const TestRecord *record,
                        const TestValues *values, const char *verdicts, Json *json) {
        char uuid[TEST_UUID_TEXT_MAX];

        test_tree_format_uuid(record->id, uuid);
        json_object_begin(json);
        json_put_object_begin(json, "metadata");
        json_put_string(json, "status", payload->is_valid ? "Valid" : "Invalid");
        payload_put_time(json, "start", values->start_ns);
        payload_put_time(json, "end", values->end_ns);
        json_key(json, "settings");
        json_raw(json, record->settings);
        json_put_string(json, "test_uuid", uuid);
        json_put_string(json, "urls", NULL);
        json_put_int(json, "exit_code", record->exit_code);
        json_put_string(json, "lts_schema_version", SCHEMA_VERSION);
        json_put_array_begin(json, "presets");
        for (size_t i = 0; i < file->n_presets; i++)
                json_string(json, file->presets[i]);
        json_array_end(json);
        json_put_string(json, "config", file->text.text ?: "");
        json_object_end(json);
        json_key(json, "results");
        json_text_write(json_text_find(json_text(payload->text, strlen(payload->text)), "@result"), json);
        json_key(json, "kpis");
        json_raw(json, payload->kpis ?: "{}");
        json_key(json, "regression_results");
        json_raw(json, verdicts ?: "null");
        json_object_end(json);
}
