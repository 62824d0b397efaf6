/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/kpi_documents.h"

#include <errno.h>
#include <string.h>

#include "client/facts/object_builder.h"
#include "document/indicator_model.h"
#include "document/version.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/nearest.h"
#include "util/scoped.h"
#include "value/value_parse.h"

/* Members that describe the KPI, and members that identify the run; other members are settings of the test. */
static const char *const own_keys[] = {
        "unit",        "help",   "@timestamp",  "value",   "lower_better", "status", "ignored_for_regression",
        "format",      "full_format", "divisor", "divisor_unit", "kpi_settings_version",
};

#define IS_AMONG(key, keys) nearest_is_among(key, keys, N_ELEMENTS(keys))

int kpi_documents_read(const Value *payload, Arena *arena, Kpi **ret, size_t *ret_n, const char **ret_error) {
        const Value *object = value_get(payload, "kpis") ?: payload;
        Kpi *kpis;

        *ret_error = "is not an object that maps names to KPIs";
        if (object->type != VALUE_OBJECT)
                return KPI_MALFORMED;
        *ret_error = "has more than 20000 KPIs";
        if (object->n_members > KPIS_MAX)
                return KPI_MALFORMED;
        kpis = arena_alloc(arena, (object->n_members + 1) * sizeof(*kpis));
        if (!kpis)
                return -ENOMEM;

        for (size_t i = 0; i < object->n_members; i++) {
                const Value *kpi = &object->members[i].value;

                kpis[i] = (Kpi){ .name = object->members[i].key, .object = kpi };
                *ret_error = "has a KPI that is not an object, or has no value";
                if (kpi->type != VALUE_OBJECT || !value_get(kpi, "value"))
                        return KPI_MALFORMED;
        }

        *ret = kpis;
        *ret_n = object->n_members;
        return 0;
}

int kpi_documents_index(Kpi *kpis, size_t n) {
        size_t n_slots = 2;
        scoped(freep) size_t *slots = NULL;

        while (n_slots < 2 * n)
                n_slots *= 2;
        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                size_t at = hash_text(HASH_BEGIN, kpis[i].name) & (n_slots - 1);

                while (slots[at] > 0 && strcmp(kpis[slots[at] - 1].name, kpis[i].name) != 0)
                        at = (at + 1) & (n_slots - 1);
                kpis[i].before = slots[at];
                slots[at] = i + 1;
        }
        return 0;
}

/* --- documents ------------------------------------------------------------------------------------ */

/* Returns true if two KPIs are of one test: all members that do not describe the KPI are the same. */
static bool is_same_test(const Value *a, const Value *b) {
        if (!value_equals(value_get(a, "@timestamp"), value_get(b, "@timestamp")))
                return false;
        for (size_t i = 0; i < a->n_members; i++)
                if (!IS_AMONG(a->members[i].key, own_keys) &&
                    !value_equals(&a->members[i].value, value_get(b, a->members[i].key)))
                        return false;
        for (size_t i = 0; i < b->n_members; i++)
                if (!IS_AMONG(b->members[i].key, own_keys) && !value_get(a, b->members[i].key))
                        return false;
        return true;
}

/* The KPIs from `first` on that belong together. A name occurs once. */
static size_t count_same(const Kpi *kpis, size_t first, size_t n) {
        size_t i = first + 1;

        while (i < n && kpis[i].before <= first && is_same_test(kpis[first].object, kpis[i].object))
                i++;
        return i - first;
}

static void put_settings(const Value *kpi, ObjectBuilder *parameters, ObjectBuilder *labels) {
        for (size_t i = 0; i < kpi->n_members; i++) {
                const Member *member = &kpi->members[i];

                if (member->value.type == VALUE_NULL || IS_AMONG(member->key, own_keys))
                        continue;
                object_builder_put(property_identifies_run(member->key) ? labels : parameters, member->key,
                                   &member->value);
        }
}

/* Takes the id of the test, with or without dashes. */
static void take_id(const char *text, uint8_t ret[static RESULT_ID_BYTES]) {
        static const char digits[] = "0123456789abcdef";
        uint8_t id[RESULT_ID_BYTES] = {};
        size_t n = 0;

        for (; text && *text; text++) {
                const char *digit = strchr(digits, *text | 0x20);

                if (*text == '-')
                        continue;
                if (!digit || n == 2 * sizeof(id))
                        return;
                id[n / 2] = (uint8_t)(id[n / 2] << 4 | (digit - digits));
                n++;
        }
        if (n == 2 * sizeof(id))
                memcpy(ret, id, sizeof(id));
}

int kpi_documents_make(const Kpi *kpis, size_t at, size_t n, const char *name, Arena *arena, Submission *ret,
                       size_t *ret_n_used, Complaint *ret_complaint) {
        const Value *first = kpis[at].object;
        size_t n_same = count_same(kpis, at, n);
        const char *time = value_get_string(first, "@timestamp");
        ObjectBuilder document, parameters, labels, result;
        Value *value = arena_alloc(arena, sizeof(*value)), object;
        uint64_t time_ns = 0;

        object_builder_init(&document, arena, 6);
        object_builder_init(&parameters, arena, first->n_members);
        object_builder_init(&labels, arena, first->n_members);
        object_builder_init(&result, arena, n_same);
        put_settings(first, &parameters, &labels);
        for (size_t i = at; i < at + n_same; i++)
                object_builder_put(&result, kpis[i].name, value_get(kpis[i].object, "value"));

        object_builder_put_text(&document, "name", name);
        object_builder_put_text(&document, "component", KPI_COMPONENT);
        if (object_builder_end(&parameters, &object) < 0)
                return -ENOMEM;
        object_builder_put(&document, "@parameters", &object);
        object_builder_put_object(&document, "@result", &result);
        object_builder_put_object(&document, KPI_LABELS, &labels);
        object_builder_put_text(&document, "@timestamp", time);
        if (!value || object_builder_end(&document, value) < 0)
                return -ENOMEM;

        *ret = (Submission){};
        if (time && clock_parse_utc(time, &time_ns) == 0)
                ret->time_ms = time_ns / NS_PER_MS;
        take_id(value_get_string(first, "test_uuid"), ret->id);
        *ret_n_used = n_same;
        return indicator_from_value(value, DOCUMENT_LIMITS_NONE, &ret->indicator, ret_complaint);
}

/* Returns a number, true or false if the text is written as perfd writes them: 2.10 may be a version. */
static Value value_of(const char *text, Arena *arena) {
        const Value of_text = { .type = VALUE_STRING, .string = text }, *value;
        scoped(buffer_deinit) Buffer again = {};
        ValueReader reader;
        ValueError error;

        value_parse_begin(&reader, text, strlen(text));
        if (value_parse_next(&reader, arena, &value, &error) != 0 || value->type == VALUE_STRING ||
            !value_is_scalar(value))
                return of_text;
        value_write_json(value, &(Json){ .out = &again });
        return again.text && strcmp(again.text, text) == 0 ? *value : of_text;
}

static void put_pair(ObjectBuilder *object, const char *pair, bool has_type, Arena *arena) {
        const char *equals = strchr(pair, '=');
        const char *key = arena_strndup(arena, pair, (size_t)(equals - pair));
        const Value value = has_type ? value_of(equals + 1, arena)
                                     : (Value){ .type = VALUE_STRING, .string = equals + 1 };

        if (key)
                object_builder_put(object, key, &value);
        else
                object->failed = true;
}

int kpi_documents_make_one(const KpiValue *kpi, Arena *arena, const Value **ret) {
        Value *document = arena_alloc(arena, sizeof(*document)), parameters = {};
        ObjectBuilder object, result, labels, all;

        object_builder_init(&object, arena, 6);
        object_builder_init(&result, arena, 1);
        object_builder_init(&labels, arena, kpi->n_labels);
        object_builder_put(&result, kpi->name, kpi->value);
        for (size_t i = 0; i < kpi->n_labels; i++)
                put_pair(&labels, kpi->labels[i], false, arena);
        object_builder_init(&all, arena, kpi->n_parameters);
        for (size_t i = 0; i < kpi->n_parameters; i++)
                put_pair(&all, kpi->parameters[i], true, arena);
        if (object_builder_end(&all, &parameters) < 0)
                return -ENOMEM;

        object_builder_put_text(&object, "name", kpi->name);
        object_builder_put_text(&object, "component", kpi->component ?: KPI_COMPONENT);
        object_builder_put_text(&object, "version", kpi->version);
        object_builder_put(&object, "@parameters", &parameters);
        object_builder_put_object(&object, "@result", &result);
        object_builder_put_object(&object, KPI_LABELS, &labels);
        if (!document || object_builder_end(&object, document) < 0)
                return -ENOMEM;

        *ret = document;
        return 0;
}

/* --- the model ------------------------------------------------------------------------------------ */

const char *kpi_documents_direction(const Value *kpi) {
        const Value *lower = value_get(kpi, "lower_better");

        return !lower || lower->type != VALUE_BOOL ? NULL : lower->boolean ? "lower" : "higher";
}

static void put_result(ObjectBuilder *results, const Kpi *kpi, Arena *arena) {
        const Value *value = value_get(kpi->object, "value"),
                    *ignored = value_get(kpi->object, "ignored_for_regression");
        ObjectBuilder result;

        object_builder_init(&result, arena, 6);
        object_builder_put_text(&result, "type",
                                value->type == VALUE_LIST ? "list"
                                : value_is_number(value)  ? "float"
                                                          : NULL);
        object_builder_put_text(&result, "unit", value_get_string(kpi->object, "unit"));
        object_builder_put_text(&result, "direction", kpi_documents_direction(kpi->object));
        object_builder_put_text(&result, "help", value_get_string(kpi->object, "help"));
        if (ignored && ignored->type == VALUE_BOOL)
                object_builder_put_bool(&result, "ignored_for_regression", ignored->boolean);
        object_builder_put_bool(&result, "optional", true);
        object_builder_put_object(results, kpi->name, &result);
}

/* Adds the settings that no KPI before has. */
static void put_parameters(ObjectBuilder *parameters, const Value *kpi, Arena *arena) {
        for (size_t i = 0; i < kpi->n_members; i++) {
                const Member *member = &kpi->members[i];
                const char *type = member->value.type == VALUE_STRING && version_is_semantic(member->value.string)
                                           ? "semver"
                                           : NULL;
                const Value known = { .type = VALUE_OBJECT,
                                      .members = parameters->members,
                                      .n_members = parameters->n };
                ObjectBuilder parameter;

                if (IS_AMONG(member->key, own_keys) || property_identifies_run(member->key) ||
                    value_get(&known, member->key))
                        continue;
                object_builder_init(&parameter, arena, 2);
                object_builder_put_text(&parameter, "type", type);
                object_builder_put_bool(&parameter, "optional", true);
                object_builder_put_object(parameters, member->key, &parameter);
        }
}

int kpi_documents_model(const Kpi *kpis, size_t n, const char *name, Arena *arena, const Value **ret) {
        ObjectBuilder model, parameters, results;
        Value *value = arena_alloc(arena, sizeof(*value));

        object_builder_init(&model, arena, 5);
        object_builder_init(&parameters, arena, MODEL_PROPERTIES_MAX);
        object_builder_init(&results, arena, MODEL_PROPERTIES_MAX);
        for (size_t i = 0; i < n && !results.failed && !parameters.failed; i++) {
                put_parameters(&parameters, kpis[i].object, arena);
                if (kpis[i].before == 0)
                        put_result(&results, &kpis[i], arena);
        }
        if (results.failed || parameters.failed || results.n + parameters.n > MODEL_PROPERTIES_MAX)
                return KPI_TOO_MANY;

        object_builder_put_text(&model, "name", name);
        object_builder_put_text(&model, "component", KPI_COMPONENT);
        object_builder_put_text(&model, "settings_version", value_get_string(kpis[0].object, "kpi_settings_version"));
        object_builder_put_object(&model, "parameters", &parameters);
        object_builder_put_object(&model, "results", &results);
        if (!value || object_builder_end(&model, value) < 0)
                return -ENOMEM;

        *ret = value;
        return 0;
}
