/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/schema_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const Value *schema_reader_models(const Value *document) {
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

int schema_reader_declaration(const Value *model, Arena *arena, const Value **ret, Complaint *ret_complaint) {
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
