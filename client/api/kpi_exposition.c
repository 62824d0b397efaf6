/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/kpi_exposition.h"

#include <inttypes.h>
#include <string.h>

#include "text/openmetrics.h"
#include "util/clock.h"
#include "util/scoped.h"

/* --- samples -------------------------------------------------------------------------------------- */

static void put_label(Buffer *out, const char *key, const Value *value) {
        scoped(buffer_deinit) Buffer text = {};

        if (value->type == VALUE_STRING)
                buffer_puts(&text, value->string);
        else
                value_write_json(value, &(Json){ .out = &text });
        buffer_puts(out, out->n > 0 ? "," : "");
        openmetrics_put_name(out, key);
        buffer_puts(out, "=\"");
        openmetrics_put_escaped(out, text.text ?: "");
        buffer_putc(out, '"');
}

static bool is_of_run(const char *key) {
        static const char *const keys[] = { "test_uuid", "run_id", "test_path", "urls", "kpi_settings_version" };

        for (size_t i = 0; i < N_ELEMENTS(keys); i++)
                if (strcmp(keys[i], key) == 0)
                        return true;
        return false;
}

/* skip: labels of this object are written already. */
static void put_labels(Buffer *out, const Value *object, const Value *skip) {
        for (size_t i = 0; i < answer_n_members(object); i++) {
                const Member *member = &object->members[i];

                if (value_is_scalar(&member->value) && !is_of_run(member->key) && !value_get(skip, member->key))
                        put_label(out, member->key, &member->value);
        }
}

static void put_all_labels(Buffer *out, const Value *row) {
        const Value *document = value_get(row, "document"), *parameters = value_get(document, "@parameters");
        const Value *version = value_get(document, "version"), *component = value_get(row, "component");

        if (component && component->type == VALUE_STRING && strcmp(component->string, "kpi") != 0)
                put_label(out, "component", component);
        if (version && version->type == VALUE_STRING && !value_get(parameters, "version"))
                put_label(out, "version", version);
        put_labels(out, parameters, NULL);
        put_labels(out, value_get(document, "@labels"), parameters);
}

/* Writes seconds, with six decimals unless the time is a whole second. */
static void put_time(Buffer *out, const Value *row) {
        const char *text = value_get_string(value_get(row, "document"), "@timestamp");
        uint64_t ns = 0;

        if (!text || clock_parse_utc(text, &ns) != 0)
                ns = answer_time(row, "time_ms") * NS_PER_MS;
        buffer_printf(out, " %" PRIu64, ns / NS_PER_S);
        if (ns % NS_PER_S != 0)
                buffer_printf(out, ".%06" PRIu64, ns % NS_PER_S / NS_PER_US);
        buffer_putc(out, '\n');
}

static void put_sample(Buffer *out, const char *family, const char *labels, const char *index, const Value *value, const Value *row) {
        buffer_puts(out, family);
        if (*labels || *index)
                buffer_printf(out, "{%s%s%s}", labels, *labels && *index ? "," : "", index);
        buffer_putc(out, ' ');
        value_write_json(value, &(Json){ .out = out });
        put_time(out, row);
}

static void put_samples(Buffer *out, const char *family, const char *labels, const Value *value, const Value *row) {
        if (value_is_number(value))
                put_sample(out, family, labels, "", value, row);
        for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items; i++) {
                scoped(buffer_deinit) Buffer index = {};

                buffer_printf(&index, "index=\"%zu\"", i);
                if (value_is_number(&value->items[i]) && index.text)
                        put_sample(out, family, labels, index.text, &value->items[i], row);
        }
}

/* Writes the newest sample of each set of labels. */
static void put_rows(Buffer *out, const char *family, const KpiIndicator *indicator, const char *key) {
        scoped(buffer_deinit) Buffer seen = {}, line = {};

        for (size_t i = 0; i < answer_length(indicator->results); i++) {
                const Value *row = &indicator->results->items[i];
                const Value *value = kpi_set_value(row, key);
                scoped(buffer_deinit) Buffer labels = {};

                if (!value)
                        continue;
                put_all_labels(&labels, row);
                buffer_clear(&line);
                buffer_printf(&line, "\n%s\n", labels.text ?: "");
                if (!line.text || (seen.text && strstr(seen.text, line.text)))
                        continue;
                buffer_puts(&seen, line.text);
                put_samples(out, family, labels.text ?: "", value, row);
        }
}

/* --- families ------------------------------------------------------------------------------------- */

static bool ends_with_unit(const char *family, const char *unit) {
        size_t n = strlen(family), n_unit = strlen(unit);

        return n > n_unit + 1 && family[n - n_unit - 1] == '_' && strcmp(family + n - n_unit, unit) == 0;
}

static void put_head(Buffer *out, const char *family, const Value *declared) {
        const char *help = value_get_string(declared, "help"), *unit = value_get_string(declared, "unit");

        buffer_printf(out, "# TYPE %s gauge\n", family);
        if (unit && ends_with_unit(family, unit))
                buffer_printf(out, "# UNIT %s %s\n", family, unit);
        if (!help && !unit)
                return;
        buffer_printf(out, "# HELP %s ", family);
        openmetrics_put_escaped(out, help ?: "");
        if (unit) {
                buffer_printf(out, "%s(in ", help ? " " : "");
                openmetrics_put_escaped(out, unit);
                buffer_putc(out, ')');
        }
        buffer_putc(out, '\n');
}

/* Returns the family of a result: the name that the model gives its only result, else the name of the result. */
static const char *family_of(const KpiIndicator *indicator, const char *key) {
        return value_get_string(indicator->model, "kpi_name") ?: key;
}

static bool is_clash(const KpiSet *set, const KpiIndicator *indicator, const char *family) {
        for (size_t i = 0; i < set->n; i++)
                for (size_t k = 0; k < answer_n_members(set->indicators[i].declared); k++)
                        if (&set->indicators[i] != indicator &&
                            strcmp(family_of(&set->indicators[i], set->indicators[i].declared->members[k].key), family) == 0)
                                return true;
        return false;
}

static void put_family(Buffer *out, const KpiSet *set, const KpiIndicator *indicator, const Member *declared) {
        scoped(buffer_deinit) Buffer family = {}, rows = {};

        if (is_clash(set, indicator, family_of(indicator, declared->key)))
                openmetrics_put_prefix(&family, indicator->name);
        openmetrics_put_name(&family, family_of(indicator, declared->key));
        if (!family.text)
                return;
        put_rows(&rows, family.text, indicator, declared->key);
        if (rows.n == 0)
                return;
        put_head(out, family.text, &declared->value);
        buffer_put(out, rows.text, rows.n);
}

void kpi_exposition_write(const KpiSet *set, Buffer *out) {
        for (size_t i = 0; i < set->n; i++)
                for (size_t k = 0; k < answer_n_members(set->indicators[i].declared); k++)
                        put_family(out, set, &set->indicators[i], &set->indicators[i].declared->members[k]);
        buffer_puts(out, "# EOF\n");
}
