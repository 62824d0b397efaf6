/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_schema.h"

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
static void put_comment(Buffer *out, const Property *property) {
        const char *separator = ": ";
        const char *direction = property->direction == DIRECTION_NONE ? NULL : property_direction_text(property->direction);

        if (!property->unit && !direction && !property->from && !property->help)
                return;
        buffer_puts(out, "        # ");
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

static void put_head(Buffer *out, const IndicatorModel *model) {
        buffer_printf(out, "# %s", model->name);
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
                put_head(out, &models[i]);
                buffer_puts(out, "type ");
                put_type_name(out, &models[i]);
                buffer_puts(out, " {\n");
                for (size_t k = 0; k < models[i].n_properties; k++) {
                        put_comment(out, &models[i].properties[k]);
                        buffer_puts(out, "        ");
                        put_predicate(out, models[i].properties[k].name);
                        buffer_putc(out, '\n');
                }
                buffer_puts(out, "}\n");
        }
}
