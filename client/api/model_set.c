/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/api/answer.h"
#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "text/yaml.h"
#include "util/array.h"

/* --- schemas -------------------------------------------------------------------------------------- */

/*
 * A schema, as model_set_write_json() writes it, lists each model's parameters and results, since their order has a
 * meaning in it: {"name": "reps", "types": ["int"], …}. A declaration, as described in perfd-indicators(5), has an
 * object of them: {"reps": {"type": ["int"], …}}.
 */

/* Returns the list of models of a schema, or NULL if the document is not a schema. */
static const Value *find_models(const Value *document) {
        const Value *models = value_get(document, "models");

        return models && models->type == VALUE_LIST && !value_get(document, "name") ? models : NULL;
}

static bool is_empty_list(const Value *value) {
        return value->type == VALUE_LIST && value->n_items == 0;
}

/* Converts {"name": NAME, "types": …} to the member NAME: {"type": …}. Returns 0 or -ENOMEM. */
static int convert_property(const Value *from, const char *name, Arena *arena, Member *ret) {
        Member *members = arena_alloc(arena, from->n_members * sizeof(*members));
        size_t n = 0;

        if (!members)
                return -ENOMEM;
        for (size_t i = 0; i < from->n_members; i++) {
                const Member *member = &from->members[i];
                bool is_types = strcmp(member->key, "types") == 0;

                if (strcmp(member->key, "name") == 0 || member->value.type == VALUE_NULL ||
                    (is_types && is_empty_list(&member->value)))
                        continue;
                members[n++] = (Member){ .key = is_types ? "type" : member->key, .value = member->value };
        }

        *ret = (Member){ .key = name, .value = { .type = VALUE_OBJECT, .members = members, .n_members = n } };
        return 0;
}

/* key: "parameters" or "results". */
static int convert_list(const char *key, const Value *list, Arena *arena, Value *ret, Complaint *complaint) {
        Member *members = arena_alloc(arena, list->n_items * sizeof(*members));
        char path[64];
        int r;

        if (!members)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_items; i++) {
                const char *name = value_get_string(&list->items[i], "name");

                (void)snprintf(path, sizeof(path), "%s[%zu]", key, i);
                if (!name) {
                        (void)indicator_complain(complaint, path,
                                                 "expected an object with 'name', such as {\"name\": \"reps\", "
                                                 "\"types\": [\"int\"]}");
                        return MODEL_INVALID;
                }
                r = convert_property(&list->items[i], name, arena, &members[i]);
                if (r < 0)
                        return r;
        }

        *ret = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = list->n_items };
        return 0;
}

/*
 * Converts a model of a schema; a model that is a declaration already is returned unchanged. Members that are null
 * are left out. Values are borrowed from the schema and the arena. Returns 0, MODEL_INVALID with a complaint, or
 * -ENOMEM.
 */
static int read_declaration(const Value *model, Arena *arena, const Value **ret, Complaint *ret_complaint) {
        size_t n_members = model->type == VALUE_OBJECT ? model->n_members : 0, n = 0;
        Member *members = arena_alloc(arena, (n_members + 1) * sizeof(*members));
        Value *declaration = arena_alloc(arena, sizeof(*declaration));
        int r;

        if (!members || !declaration)
                return -ENOMEM;
        for (size_t i = 0; i < n_members; i++) {
                const Member *member = &model->members[i];
                bool is_list = strcmp(member->key, "parameters") == 0 || strcmp(member->key, "results") == 0;

                if (member->value.type == VALUE_NULL)
                        continue;
                members[n] = *member;
                if (is_list && member->value.type == VALUE_LIST) {
                        r = convert_list(member->key, &member->value, arena, &members[n].value, ret_complaint);
                        if (r != 0)
                                return r;
                }
                n++;
        }

        *declaration = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        *ret = n_members > 0 ? declaration : model;
        return 0;
}

/* --- the set -------------------------------------------------------------------------------------- */

void model_set_deinit(ModelSet *set) {
        for (size_t i = 0; i < set->n_arenas; i++) {
                arena_deinit(set->arenas[i]);
                free(set->arenas[i]);
        }
        free(set->arenas);
        free(set->models);
        *set = (ModelSet){};
}

static int out_of_memory(void) {
        message_print("out of memory");
        return EXIT_FAILED;
}

/* Allocates an arena, which the set owns, and whose place does not change. Returns NULL if out of memory. */
static Arena *make_arena(ModelSet *set, size_t n_bytes) {
        scoped(freep) Arena *arena = calloc(1, sizeof(*arena));

        if (!arena || ARRAY_EXTEND(set->arenas, set->n_arenas) < 0 || arena_init(arena, n_bytes) < 0)
                return NULL;
        set->arenas[set->n_arenas] = TAKE(arena);
        return set->arenas[set->n_arenas++];
}

/* Returns 0, MODEL_INVALID with a complaint, or -ENOMEM. */
static int add_model(ModelSet *set, const Value *declaration, Complaint *ret_complaint) {
        Arena *arena = make_arena(set, MODEL_ARENA_BYTES);
        int r;

        if (!arena || ARRAY_EXTEND(set->models, set->n) < 0)
                return -ENOMEM;
        r = indicator_model_from_value(declaration, arena, &set->models[set->n], ret_complaint);
        if (r == 0)
                set->n++;
        return r;
}

/* path: of the model in the file; "" for a file that is a model. */
static int report_model(const char *file, const Buffer *text, const char *path, const Complaint *complaint) {
        char whole[2 * COMPLAINT_PATH_MAX];
        unsigned line, column;

        (void)snprintf(whole, sizeof(whole), "%s%s%s", path, path[0] && complaint->path[0] ? "." : "", complaint->path);
        yaml_locate(text->text ?: "", text->n, whole, &line, &column);
        message_print("%s:%u:%u: %s%s%s", input_name(file), line, column, whole, whole[0] ? ": " : "", complaint->text);
        return EXIT_FAILED;
}

static int read_models(ModelSet *set, const char *file, const Buffer *text, const Value *document, Arena *arena) {
        const Value *models = find_models(document);
        Complaint complaint = {};
        char path[32] = "";
        int r = 0;

        if (!models) {
                r = add_model(set, document, &complaint);
                return r == MODEL_INVALID ? report_model(file, text, "", &complaint)
                       : r == 0           ? EXIT_DONE
                                          : out_of_memory();
        }
        if (models->n_items == 0) {
                message_print("%s: 'models' is empty: add a model", input_name(file));
                return EXIT_FAILED;
        }

        for (size_t i = 0; i < models->n_items && r == 0; i++) {
                const Value *declaration;

                (void)snprintf(path, sizeof(path), "models[%zu]", i);
                r = read_declaration(&models->items[i], arena, &declaration, &complaint);
                if (r == 0)
                        r = add_model(set, declaration, &complaint);
        }
        return r == MODEL_INVALID ? report_model(file, text, path, &complaint) : r == 0 ? EXIT_DONE : out_of_memory();
}

static int add_file(ModelSet *set, const char *file) {
        scoped(buffer_deinit) Buffer text = {};
        const Value *document;
        Arena *arena;
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;
        arena = make_arena(set, 2 * input_arena_size(text.n)); /* of the tree, and of the declarations in it */
        if (!arena)
                return out_of_memory();

        r = input_parse(&text, input_name(file), arena, &document);
        if (r == INPUT_WRONG)
                return EXIT_FAILED;
        return r == 0 ? read_models(set, file, &text, document, arena) : out_of_memory();
}

int model_set_add_files(ModelSet *set, char *const *files, int n) {
        int r = EXIT_DONE;

        for (int i = 0; i < n; i++) {
                int one = add_file(set, files[i]);

                r = one != EXIT_DONE ? one : r;
        }

        return r;
}

static int add_declaration(ModelSet *set, const Value *declaration) {
        Complaint complaint;
        int r;

        r = add_model(set, declaration, &complaint);
        if (r == MODEL_INVALID)
                message_print("skipping a model of perfd that this version of perfctl does not support: %s: %s",
                              complaint.path, complaint.text);
        return r < 0 ? out_of_memory() : EXIT_DONE;
}

int model_set_add_answer(ModelSet *set, const ApiQuery *query) {
        const Value *models = value_get(query->answer, "models");
        int r = EXIT_DONE;

        for (size_t i = 0; models && models->type == VALUE_LIST && i < models->n_items && r == EXIT_DONE; i++) {
                const Value *declaration = value_get(&models->items[i], "declaration");

                if (declaration && answer_model_applies(&models->items[i]))
                        r = add_declaration(set, declaration);
        }

        return r;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_types(Json *json, unsigned types) {
        static const struct {
                PropertyType type;
                const char *word;
        } all[] = {
                { PROPERTY_STR, "str" },   { PROPERTY_INT, "int" },       { PROPERTY_FLOAT, "float" },
                { PROPERTY_BOOL, "bool" }, { PROPERTY_SEMVER, "semver" }, { PROPERTY_TIME, "time" },
                { PROPERTY_MAP, "map" },   { PROPERTY_LIST, "list" },
        };

        json_put_array_begin(json, "types");
        for (size_t i = 0; i < N_ELEMENTS(all); i++)
                if (types & all[i].type)
                        json_string(json, all[i].word);
        json_array_end(json);
}

/* Writes the members of a declaration that are not in a list of names, which were written otherwise. NULL: nothing
 * was declared. */
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
        static const char *const written[] = {
                "type", "unit", "direction", "index", "values", "optional", "help", NULL
        };

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

void model_set_write_json(const ModelSet *set, Buffer *out) {
        static const char *const written[] = { "name", "component", "help", "parameters", "results", NULL };
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_array_begin(&json, "models");
        for (size_t i = 0; i < set->n; i++) {
                json_object_begin(&json);
                json_put_string(&json, "name", set->models[i].name);
                json_put_string(&json, "component", set->models[i].component);
                json_put_string(&json, "help", set->models[i].help);
                put_properties(&json, &set->models[i], false);
                put_properties(&json, &set->models[i], true);
                put_others(&json, set->models[i].document, written);
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
        const char *direction = property->direction == DIRECTION_NONE ? NULL
                                                                      : property_direction_text(property->direction);

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
                const Property *property = indicator_model_find(&models[i], name, false)
                                                   ?: indicator_model_find(&models[i], name, true);

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
                if (indicator_model_find(&models[k], property->name, false) ||
                    indicator_model_find(&models[k], property->name, true))
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
void model_set_write_rdf(const ModelSet *set, Buffer *out) {
        for (size_t i = 0; i < set->n; i++)
                for (size_t k = 0; k < set->models[i].n_properties; k++)
                        if (is_first(set->models, i, &set->models[i].properties[k]))
                                put_predicate_line(out, set->models, set->n, &set->models[i].properties[k]);

        for (size_t i = 0; i < set->n; i++) {
                buffer_putc(out, '\n');
                put_head(out, &set->models[i]);
                buffer_puts(out, "type ");
                put_type_name(out, &set->models[i]);
                buffer_puts(out, " {\n");
                for (size_t k = 0; k < set->models[i].n_properties; k++) {
                        put_comment(out, &set->models[i].properties[k]);
                        buffer_puts(out, "        ");
                        put_predicate(out, set->models[i].properties[k].name);
                        buffer_putc(out, '\n');
                }
                buffer_puts(out, "}\n");
        }
}
