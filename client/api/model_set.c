/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/api/answer.h"
#include "client/cli/command.h"
#include "client/cli/document.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "text/yaml.h"
#include "util/array.h"

/* --- schemas -------------------------------------------------------------------------------------- */

/*
 * A schema, as model_schema_write_json() writes it, lists each model's parameters and results, since their order has a meaning in it:
 * {"name": "reps", "types": ["int"], …}. A declaration, as described in perfd-indicators(5), has an object of them:
 * {"reps": {"type": ["int"], …}}.
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

                if (strcmp(member->key, "name") == 0 || member->value.type == VALUE_NULL || (is_types && is_empty_list(&member->value)))
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
                                                 "expected an object with 'name', such as {\"name\": \"reps\", \"types\": [\"int\"]}");
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
 * Converts a model of a schema; a model that is a declaration already is returned unchanged. Members that are null are left out.
 * Values are borrowed from the schema and the arena. Returns 0, MODEL_INVALID with a complaint, or -ENOMEM.
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
                return r == MODEL_INVALID ? report_model(file, text, "", &complaint) : r == 0 ? EXIT_DONE : out_of_memory();
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
        arena = make_arena(set, 2 * document_arena_size(text.n)); /* of the tree, and of the declarations in it */
        if (!arena)
                return out_of_memory();

        r = document_parse(&text, input_name(file), arena, &document);
        if (r == DOCUMENT_WRONG)
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
                message_print("skipping a model of perfd that this version of perfctl does not support: %s: %s", complaint.path,
                              complaint.text);
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
