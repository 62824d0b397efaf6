/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/utf8.h"

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_types(Json *json, unsigned types) {
        static const struct {
                PropertyType type;
                const char *word;
        } all[] = { { PROPERTY_STR, "str" }, { PROPERTY_INT, "int" }, { PROPERTY_FLOAT, "float" }, { PROPERTY_BOOL, "bool" } };

        json_key(json, "types");
        json_array_begin(json);
        for (size_t i = 0; i < N_ELEMENTS(all); i++)
                if (types & all[i].type)
                        json_string(json, all[i].word);
        json_array_end(json);
}

static void put_property(Json *json, const Property *property) {
        json_object_begin(json);
        json_put_string(json, "name", property->name);
        put_types(json, property->types);
        if (property->is_result) {
                json_put_string(json, "unit", property->unit);
                json_put_string(json, "direction", direction_text(property->direction));
        } else {
                json_put_string(json, "index", property_index_text(property->index));
                json_key(json, "values");
                if (property->allowed)
                        value_write_json(property->allowed, json);
                else
                        json_null(json);
        }
        json_put_bool(json, "optional", property->is_optional);
        json_put_string(json, "help", property->help);
        json_object_end(json);
}

static void put_properties(Json *json, const IndicatorModel *model, bool is_result) {
        json_key(json, is_result ? "results" : "parameters");
        json_array_begin(json);
        for (size_t i = 0; i < model->n_properties; i++)
                if (model->properties[i].is_result == is_result)
                        put_property(json, &model->properties[i]);
        json_array_end(json);
}

void model_schema_write_json(const IndicatorModel *models, size_t n, Buffer *out) {
        Json json;

        json_init(&json, out);
        json_object_begin(&json);
        json_key(&json, "models");
        json_array_begin(&json);
        for (size_t i = 0; i < n; i++) {
                json_object_begin(&json);
                json_put_string(&json, "name", models[i].name);
                json_put_string(&json, "component", models[i].component);
                json_put_string(&json, "help", models[i].help);
                put_properties(&json, &models[i], false);
                put_properties(&json, &models[i], true);
                json_object_end(&json);
        }
        json_array_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

/* --- comments ------------------------------------------------------------------------------------- */

/* Writes a text on one line: a help text may have several lines, and no other control characters. */
static void put_comment_text(Buffer *out, const char *text) {
        for (; *text; text++)
                buffer_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

/* "# rate: GFLOP/s, higher is better; …", or nothing. */
static void put_comment(Buffer *out, const char *mark, const Property *property) {
        const char *separator = ": ", *direction = direction_text(property->direction);

        if (!property->unit && !direction && !property->help)
                return;
        buffer_printf(out, "%s ", mark);
        put_comment_text(out, property->name);
        if (property->unit) {
                buffer_puts(out, separator);
                put_comment_text(out, property->unit);
                separator = ", ";
        }
        if (direction) {
                buffer_printf(out, "%s%s is better", separator, direction);
                separator = "; ";
        }
        if (property->help) {
                buffer_puts(out, separator);
                put_comment_text(out, property->help);
        }
        buffer_putc(out, '\n');
}

static void put_head(Buffer *out, const char *mark, const IndicatorModel *model) {
        buffer_printf(out, "%s %s", mark, model->name);
        if (model->component) {
                buffer_puts(out, " of ");
                put_comment_text(out, model->component);
        }
        if (model->help) {
                buffer_puts(out, ": ");
                put_comment_text(out, model->help);
        }
        buffer_putc(out, '\n');
}

/* --- RDF ------------------------------------------------------------------------------------------ */

/* Plain where it is a word, else an IRI, in which what may not stand there is %XX. */
static void put_predicate(Buffer *out, const char *name) {
        static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        bool is_word = strspn(name, word) == strlen(name) && !(*name >= '0' && *name <= '9');

        if (is_word) {
                buffer_puts(out, name);
                return;
        }

        buffer_putc(out, '<');
        for (; *name; name++) {
                unsigned char c = (unsigned char)*name;

                if (c <= ' ' || c >= 0x7f || strchr("<>\"{}|^`\\%", c))
                        buffer_printf(out, "%%%02X", c);
                else
                        buffer_putc(out, (char)c);
        }
        buffer_putc(out, '>');
}

static const char *rdf_type(unsigned types) {
        switch (types) {
        case PROPERTY_INT:
                return "int";
        case PROPERTY_FLOAT:
        case PROPERTY_INT | PROPERTY_FLOAT:
                return "float";
        case PROPERTY_BOOL:
                return "bool";
        case PROPERTY_STR:
                return "string";
        default: /* several, or any: as text they can all be kept */
                return types ? "string" : "default";
        }
}

/* Types that all models together give a name: an RDF predicate has one type. */
typedef struct Predicate {
        unsigned types;
        bool is_any, is_indexed;
        bool is_exact; /* one of the indexes is */
} Predicate;

static Predicate result_groups_read(const IndicatorModel *models, size_t n, const char *name) {
        Predicate predicate = {};

        for (size_t i = 0; i < n; i++) {
                const Property *property = indicator_model_find(&models[i], name, false) ?: indicator_model_find(&models[i], name, true);

                if (!property)
                        continue;
                predicate.types |= property->types;
                predicate.is_any = predicate.is_any || property->types == 0;
                predicate.is_indexed = predicate.is_indexed || property->index != INDEX_NONE;
                predicate.is_exact = predicate.is_exact || property->index == INDEX_EXACT;
        }

        if (predicate.is_any)
                predicate.types = 0;
        return predicate;
}

static bool is_first(const IndicatorModel *models, size_t i, const Property *property) {
        for (size_t k = 0; k < i; k++)
                if (indicator_model_find(&models[k], property->name, false) || indicator_model_find(&models[k], property->name, true))
                        return false;
        return true;
}

static void put_predicate_line(Buffer *out, const IndicatorModel *models, size_t n, const Property *property) {
        Predicate predicate = result_groups_read(models, n, property->name);
        const char *type = rdf_type(predicate.types);

        if (predicate.is_indexed && strcmp(type, "default") == 0)
                type = "string"; /* what has no type cannot be indexed */
        put_predicate(out, property->name);
        buffer_printf(out, ": %s", type);
        if (predicate.is_indexed)
                buffer_printf(out, " @index(%s)", strcmp(type, "string") == 0 ? "exact" : type);
        buffer_puts(out, " .\n");
}

/* The same name with two components is two types. */
static void put_type_name(Buffer *out, const IndicatorModel *model) {
        scoped(buffer_deinit) Buffer name = {};

        buffer_puts(&name, model->name);
        if (model->component)
                buffer_printf(&name, "@%s", model->component);
        put_predicate(out, buffer_error(&name) == 0 ? name.text : model->name);
}

/* A predicate is all models', but its unit is that of one. */
void model_schema_write_rdf(const IndicatorModel *models, size_t n, Buffer *out) {
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < models[i].n_properties; k++)
                        if (is_first(models, i, &models[i].properties[k]))
                                put_predicate_line(out, models, n, &models[i].properties[k]);

        for (size_t i = 0; i < n; i++) {
                buffer_putc(out, '\n');
                put_head(out, "#", &models[i]);
                buffer_puts(out, "type ");
                put_type_name(out, &models[i]);
                buffer_puts(out, " {\n");
                for (size_t k = 0; k < models[i].n_properties; k++) {
                        put_comment(out, "        #", &models[i].properties[k]);
                        buffer_puts(out, "        ");
                        put_predicate(out, models[i].properties[k].name);
                        buffer_putc(out, '\n');
                }
                buffer_puts(out, "}\n");
        }
}

/* --- SQL ------------------------------------------------------------------------------------------ */

static void put_quoted(Buffer *out, char quote, const char *text) {
        for (; *text; text++) {
                if (*text == quote)
                        buffer_putc(out, quote);
                buffer_putc(out, *text);
        }
}

/*
 * Tables and indexes share their names in a schema, and SQLite takes "PiMatmul" and "pimatmul" for one: what was given is kept, and
 * who comes later gets a number.
 */
typedef struct GivenName {
        char *text; /* owned */
        uint32_t hash;
} GivenName;

typedef struct Given {
        GivenName *items; /* owned */
        size_t n;
        bool has_failed;
} Given;

static void given_deinit(Given *given) {
        for (size_t i = 0; i < given->n; i++)
                free(given->items[i].text);
        free(given->items);
}

/* FNV-1a, of small letters. */
static uint32_t hash_name(const char *name) {
        uint32_t h = 2166136261U;

        for (; *name; name++)
                h = (h ^ (unsigned char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name)) * 16777619U;
        return h;
}

static bool given_has(const Given *given, const char *name) {
        uint32_t hash = hash_name(name);

        for (size_t i = 0; i < given->n; i++)
                if (given->items[i].hash == hash && strcasecmp(given->items[i].text, name) == 0)
                        return true;
        return false;
}

/* Borrowed until given is gone. What begins with sqlite_ is SQLite's own. */
static const char *give(Given *given, const Buffer *wanted) {
        scoped(buffer_deinit) Buffer name = {};
        GivenName *items;
        uint32_t hash;

        for (size_t i = 1; i == 1 || (name.text && given_has(given, name.text)); i++) {
                buffer_clear(&name);
                buffer_printf(&name, "%s%s", strncasecmp(wanted->text ?: "", "sqlite_", 7) == 0 ? "_" : "", wanted->text ?: "");
                if (i > 1)
                        buffer_printf(&name, "~%zu", i);
        }
        items = buffer_error(&name) == 0 ? reallocarray(given->items, given->n + 1, sizeof(*items)) : NULL;
        if (!items) {
                given->has_failed = true;
                return "";
        }

        hash = hash_name(name.text);
        given->items = items;
        items[given->n] = (GivenName){ .text = buffer_take(&name), .hash = hash };
        return items[given->n++].text;
}

static const char *name_table(Given *given, const IndicatorModel *model) {
        scoped(buffer_deinit) Buffer name = {};

        buffer_puts(&name, model->name);
        if (model->component)
                buffer_printf(&name, "@%s", model->component);
        return give(given, &name);
}

static const char *name_index(Given *given, const char *table, const char *property) {
        scoped(buffer_deinit) Buffer name = {};

        buffer_printf(&name, "%s by %s", table, property);
        return give(given, &name);
}

static void put_name(Buffer *out, const char *name) {
        buffer_putc(out, '"');
        put_quoted(out, '"', name);
        buffer_putc(out, '"');
}

static const char *sql_type(unsigned types) {
        switch (types) {
        case PROPERTY_INT:
                return "BIGINT";
        case PROPERTY_FLOAT:
        case PROPERTY_INT | PROPERTY_FLOAT:
                return "DOUBLE PRECISION";
        case PROPERTY_BOOL:
                return "BOOLEAN";
        default:
                return "TEXT";
        }
}

/* Columns of every result. Their names begin like members of a document, so that no property has them. */
static const char base[] =
        "        \"@id\" TEXT PRIMARY KEY,\n"
        "        \"@time_ms\" BIGINT NOT NULL,\n"
        "        \"@component\" TEXT NOT NULL,\n"
        "        \"@version\" TEXT,\n"
        "        \"@overall_score\" DOUBLE PRECISION,\n"
        "        \"@exit_status\" INTEGER";

static bool is_base(const char *name) {
        static const char *const names[] = { "@id", "@time_ms", "@component", "@version", "@overall_score", "@exit_status" };

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (strcasecmp(names[i], name) == 0)
                        return true;
        return false;
}

static bool is_taken(const IndicatorModel *model, const char *name) {
        for (size_t i = 0; i < model->n_properties; i++)
                if (strcasecmp(model->properties[i].name, name) == 0)
                        return true;
        return false;
}

/* SQLite takes "Rate" and "rate" for one name, quoted or not: so many came earlier. */
static size_t count_same(const IndicatorModel *model, size_t i) {
        size_t n = is_base(model->properties[i].name);

        for (size_t k = 0; k < i; k++)
                n += strcasecmp(model->properties[k].name, model->properties[i].name) == 0;
        return n;
}

#define COLUMN_NAME_MAX 300U /* of a property, with a number */

static void put_column(Buffer *out, const IndicatorModel *model, size_t i) {
        const char *name = model->properties[i].name;
        size_t n = count_same(model, i);
        char numbered[COLUMN_NAME_MAX];

        (void)snprintf(numbered, sizeof(numbered), "%s", name);
        /* The step is such that no two of the same name can come to the same number. */
        for (; n > 0 && is_taken(model, numbered); n += model->n_properties + 1)
                (void)snprintf(numbered, sizeof(numbered), "%s~%zu", name, n + 1);

        buffer_putc(out, '"');
        put_quoted(out, '"', numbered);
        buffer_putc(out, '"');
}

static void put_literal(Buffer *out, const Value *value) {
        switch (value->type) {
        case VALUE_STRING:
                buffer_putc(out, '\'');
                put_quoted(out, '\'', value->string);
                buffer_putc(out, '\'');
                return;
        case VALUE_INT:
                buffer_printf(out, "%jd", (intmax_t)value->integer);
                return;
        case VALUE_DOUBLE:
                buffer_put_double(out, value->number);
                return;
        case VALUE_BOOL:
                buffer_puts(out, value->boolean ? "TRUE" : "FALSE");
                return;
        case VALUE_NULL:
        case VALUE_LIST:
        case VALUE_OBJECT:
                break;
        }

        buffer_puts(out, "NULL");
}

/* A column that takes text because its values are of several types has them as text. */
static void put_check(Buffer *out, const IndicatorModel *model, size_t i) {
        const Property *property = &model->properties[i];
        bool is_text = strcmp(sql_type(property->types), "TEXT") == 0;

        if (!property->allowed)
                return;
        buffer_puts(out, " CHECK (");
        put_column(out, model, i);
        buffer_puts(out, " IN (");
        for (size_t k = 0; k < property->allowed->n_items; k++) {
                const Value *value = &property->allowed->items[k];
                bool is_quoted = is_text && value->type != VALUE_STRING;

                buffer_puts(out, k > 0 ? ", " : "");
                buffer_puts(out, is_quoted ? "'" : "");
                put_literal(out, value);
                buffer_puts(out, is_quoted ? "'" : "");
        }
        buffer_puts(out, "))");
}

static void put_columns(Buffer *out, const IndicatorModel *model) {
        for (size_t i = 0; i < model->n_properties; i++) {
                buffer_puts(out, ",\n        ");
                put_column(out, model, i);
                buffer_printf(out, " %s", sql_type(model->properties[i].types));
                put_check(out, model, i);
        }
}

static void put_table(Buffer *out, const IndicatorModel *model, const char *table, Given *given) {
        put_head(out, "--", model);
        for (size_t k = 0; k < model->n_properties; k++)
                put_comment(out, "--", &model->properties[k]);
        buffer_puts(out, "CREATE TABLE ");
        put_name(out, table);
        buffer_printf(out, " (\n%s", base);
        put_columns(out, model);
        buffer_puts(out, "\n);\n");
        for (size_t k = 0; k < model->n_properties; k++) {
                if (model->properties[k].index == INDEX_NONE)
                        continue;
                buffer_puts(out, "CREATE INDEX ");
                put_name(out, name_index(given, table, model->properties[k].name));
                buffer_puts(out, " ON ");
                put_name(out, table);
                buffer_puts(out, " (");
                put_column(out, model, k);
                buffer_puts(out, ");\n");
        }
}

void model_schema_write_sql(const IndicatorModel *models, size_t n, Buffer *out) {
        scoped(given_deinit) Given given = {};

        for (size_t i = 0; i < n; i++)
                (void)name_table(&given, &models[i]);
        for (size_t i = 0; i < n && !given.has_failed; i++) {
                buffer_puts(out, i > 0 ? "\n" : "");
                put_table(out, &models[i], given.items[i].text, &given);
        }
        out->failed |= given.has_failed;
}
