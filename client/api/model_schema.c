/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_schema.h"

#include <search.h>
#include <string.h>

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_types(Json *json, unsigned types) {
        static const struct {
                PropertyType type;
                const char *word;
        } all[] = {
                { PROPERTY_STR, "str" },       { PROPERTY_INT, "int" },   { PROPERTY_FLOAT, "float" }, { PROPERTY_BOOL, "bool" },
                { PROPERTY_SEMVER, "semver" }, { PROPERTY_TIME, "time" }, { PROPERTY_MAP, "map" },     { PROPERTY_LIST, "list" },
        };

        json_put_array_begin(json, "types");
        for (size_t i = 0; i < N_ELEMENTS(all); i++)
                if (types & all[i].type)
                        json_string(json, all[i].word);
        json_array_end(json);
}

/* Writes the members of a declaration that are not in a list of names, which were written otherwise. NULL: nothing was declared. */
static void put_others(Json *json, const Value *declaration, const char *const *written) {
        for (size_t i = 0; declaration && declaration->type == VALUE_OBJECT && i < declaration->n_members; i++) {
                const Member *member = &declaration->members[i];
                const char *const *name = written;

                while (*name && strcmp(*name, member->key) != 0)
                        name++;
                if (!*name)
                        value_put_json(&member->value, member->key, json);
        }
}

static void put_property(Json *json, const Property *property, const Value *declaration) {
        static const char *const written[] = { "type", "unit", "direction", "index", "values", "optional", "help", NULL };

        json_object_begin(json);
        json_put_string(json, "name", property->name);
        put_types(json, property->types);
        if (property->is_result) {
                json_put_string(json, "unit", property->unit);
                json_put_string(json, "direction", property_direction_text(property->direction));
        } else {
                json_put_string(json, "index", property_index_text(property->index));
                value_put_json(property->allowed, "values", json);
        }
        json_put_bool(json, "optional", property->is_optional);
        json_put_string(json, "help", property->help);
        put_others(json, declaration, written);
        json_object_end(json);
}

static void put_properties(Json *json, const IndicatorModel *model, bool is_result) {
        const char *key = is_result ? "results" : "parameters";
        const Value *declarations = value_get(model->document, key);

        json_put_array_begin(json, key);
        for (size_t i = 0; i < model->n_properties; i++)
                if (model->properties[i].is_result == is_result)
                        put_property(json, &model->properties[i], value_get(declarations, model->properties[i].name));
        json_array_end(json);
}

void model_schema_write_json(const IndicatorModel *models, size_t n, Buffer *out) {
        static const char *const written[] = { "name", "component", "help", "parameters", "results", NULL };
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_array_begin(&json, "models");
        for (size_t i = 0; i < n; i++) {
                json_object_begin(&json);
                json_put_string(&json, "name", models[i].name);
                json_put_string(&json, "component", models[i].component);
                json_put_string(&json, "help", models[i].help);
                put_properties(&json, &models[i], false);
                put_properties(&json, &models[i], true);
                put_others(&json, models[i].document, written);
                json_object_end(&json);
        }
        json_array_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

/* --- comments ------------------------------------------------------------------------------------- */

/*
 * Writes a text on one line, with newlines replaced: a help text may have several lines, but contains no other
 * control characters.
 */
static void put_comment_text(Buffer *out, const char *text) {
        for (; *text; text++)
                buffer_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

/* Writes "# rate: GFLOP/s, higher is better; …", or nothing if the property has no description. */
static void put_comment(Buffer *out, const char *mark, const Property *property) {
        const char *separator = ": ";
        const char *direction = property->direction == DIRECTION_NONE ? NULL : property_direction_text(property->direction);

        if (!property->unit && !direction && !property->from && !property->help)
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
        if (property->from) {
                buffer_puts(out, separator);
                put_comment_text(out, "= ");
                put_comment_text(out, property->from);
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

/* Writes a plain name if the name allows it, else an IRI with the reserved characters percent-encoded. */
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
        case PROPERTY_SEMVER:
                return "string";
        default: /* several types, or any type: a text column can store all of them */
                return types ? "string" : "default";
        }
}

/* The merged type of a name over all models: an RDF predicate has one type. */
typedef struct Predicate {
        unsigned types;
        bool is_any, is_indexed;
        bool is_exact; /* at least one model asks for an exact index */
} Predicate;

static Predicate read_predicate(const IndicatorModel *models, size_t n, const char *name) {
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
        Predicate predicate = read_predicate(models, n, property->name);
        const char *type = rdf_type(predicate.types);

        if (predicate.is_indexed && strcmp(type, "default") == 0)
                type = "string"; /* Dgraph cannot index a predicate without a type */
        put_predicate(out, property->name);
        buffer_printf(out, ": %s", type);
        if (predicate.is_indexed)
                buffer_printf(out, " @index(%s)", strcmp(type, "string") == 0 ? "exact" : type);
        buffer_puts(out, " .\n");
}

/* Writes the type name, which includes the component: the same name with two components makes two types. */
static void put_type_name(Buffer *out, const IndicatorModel *model) {
        scoped(buffer_deinit) Buffer name = {};

        buffer_puts(&name, model->name);
        if (model->component)
                buffer_printf(&name, "@%s", model->component);
        put_predicate(out, buffer_error(&name) == 0 ? name.text : model->name);
}

/* Predicates are shared by all models, but a unit belongs to one model and is written there. */
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
        buffer_putc(out, quote);
        for (; *text; text++) {
                if (*text == quote)
                        buffer_putc(out, quote);
                buffer_putc(out, *text);
        }
        buffer_putc(out, quote);
}

/*
 * Set of table or column names. SQLite treats "PiMatmul" and "pimatmul" as equal, quoted or not: the first name is
 * used unchanged, and later ones get a number.
 */
typedef struct NameSet {
        void *tree; /* owned, root of tsearch(3) */
        bool has_failed;
} NameSet;

static void name_set_deinit(NameSet *set) {
        tdestroy(set->tree, free);
}

static int compare_names(const void *a, const void *b) {
        return strcasecmp(a, b);
}

/* The returned name is borrowed until the set is released. */
__attribute__((format(printf, 2, 3))) static const char *name_set_add(NameSet *set, const char *format, ...) {
        scoped(freep) char *wanted = NULL;
        char **found = NULL;
        va_list args;

        va_start(args, format);
        set->has_failed |= vasprintf(&wanted, format, args) < 0;
        va_end(args);
        for (size_t i = 1; !set->has_failed; i++) {
                scoped(freep) char *text = NULL;

                if ((i == 1 ? asprintf(&text, "%s", wanted) : asprintf(&text, "%s~%zu", wanted, i)) >= 0)
                        found = tsearch(text, &set->tree, compare_names);
                if (found && *found == text)
                        return TAKE(text);
                set->has_failed = !found;
        }
        return "";
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

/* Columns of every result table. */
static const struct {
        const char *name, *type;
} base[] = {
        { "@id", "TEXT PRIMARY KEY" }, { "@time_ms", "BIGINT NOT NULL" },          { "@component", "TEXT NOT NULL" },
        { "@version", "TEXT" },        { "@overall_score", "DOUBLE PRECISION" }, { "@exit_status", "INTEGER" },
};

static void put_literal(Buffer *out, const Value *value) {
        if (value->type == VALUE_STRING) {
                put_quoted(out, '\'', value->string);
                return;
        }
        value_write_json(value, &(Json){ .out = out });
}

/* In a column of type TEXT for values of several types, the allowed values are written as text. */
static void put_check(Buffer *out, const Property *property, const char *column) {
        bool is_text = strcmp(sql_type(property->types), "TEXT") == 0;

        if (!property->allowed)
                return;
        buffer_puts(out, " CHECK (");
        put_quoted(out, '"', column);
        buffer_puts(out, " IN (");
        for (size_t k = 0; k < property->allowed->n_items; k++) {
                const Value *value = &property->allowed->items[k];
                const char *quote = is_text && value->type != VALUE_STRING ? "'" : "";

                buffer_printf(out, "%s%s", k > 0 ? ", " : "", quote);
                put_literal(out, value);
                buffer_puts(out, quote);
        }
        buffer_puts(out, "))");
}

static void put_column(Buffer *out, const Property *property, const char *column) {
        buffer_puts(out, ",\n        ");
        put_quoted(out, '"', column);
        buffer_printf(out, " %s", sql_type(property->types));
        put_check(out, property, column);
}

static void put_index(Buffer *out, const char *index, const char *table, const char *column) {
        buffer_puts(out, "CREATE INDEX ");
        put_quoted(out, '"', index);
        buffer_puts(out, " ON ");
        put_quoted(out, '"', table);
        buffer_puts(out, " (");
        put_quoted(out, '"', column);
        buffer_puts(out, ");\n");
}

static void put_table(Buffer *out, const IndicatorModel *model, const char *table, NameSet *names) {
        scoped(freep) const char **columns = calloc(model->n_properties + 1, sizeof(*columns));
        scoped(name_set_deinit) NameSet own = { .has_failed = !columns };

        put_head(out, "--", model);
        for (size_t k = 0; k < model->n_properties; k++)
                put_comment(out, "--", &model->properties[k]);
        buffer_puts(out, "CREATE TABLE ");
        put_quoted(out, '"', table);
        for (size_t i = 0; i < N_ELEMENTS(base); i++)
                buffer_printf(out, "%s        \"%s\" %s", i > 0 ? ",\n" : " (\n", name_set_add(&own, "%s", base[i].name), base[i].type);
        for (size_t k = 0; k < model->n_properties && !own.has_failed; k++) {
                columns[k] = name_set_add(&own, "%s", model->properties[k].name);
                put_column(out, &model->properties[k], columns[k]);
        }
        buffer_puts(out, "\n);\n");
        for (size_t k = 0; k < model->n_properties && !own.has_failed; k++)
                if (model->properties[k].index != INDEX_NONE)
                        put_index(out, name_set_add(names, "%s by %s", table, model->properties[k].name), table, columns[k]);
        names->has_failed |= own.has_failed;
}

/* Names that begin with "sqlite_" are reserved by SQLite. */
void model_schema_write_sql(const IndicatorModel *models, size_t n, Buffer *out) {
        scoped(freep) const char **tables = calloc(n + 1, sizeof(*tables));
        scoped(name_set_deinit) NameSet names = { .has_failed = !tables };

        for (size_t i = 0; i < n && !names.has_failed; i++)
                tables[i] = name_set_add(&names, "%s%s%s%s", strncasecmp(models[i].name, "sqlite_", strlen("sqlite_")) == 0 ? "_" : "",
                                         models[i].name, models[i].component ? "@" : "", models[i].component ?: "");
        for (size_t i = 0; i < n && !names.has_failed; i++) {
                buffer_puts(out, i > 0 ? "\n" : "");
                put_table(out, &models[i], tables[i], &names);
        }
        out->failed |= names.has_failed;
}
