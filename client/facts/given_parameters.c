/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/given_parameters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/facts/object_builder.h"
#include "value/value_parse.h"

static int read_given(Arena *arena, const Value **ret, Complaint *complaint) {
        const char *text = getenv(GIVEN_PARAMETERS_VARIABLE);
        ValueReader reader;
        ValueError error;
        int r;

        *ret = NULL;
        if (!text || !*text)
                return 0;
        value_parse_begin(&reader, text, strlen(text));
        r = value_parse_next(&reader, arena, ret, &error);
        if (r == VALUE_NO_ROOM)
                return -ENOMEM;
        if (r == 0 && (*ret)->type == VALUE_OBJECT)
                return 0;
        return indicator_complain(complaint, "$" GIVEN_PARAMETERS_VARIABLE,
                                  "must be a JSON object, such as {\"threads\": 4}, not '%.80s'", text);
}

int given_parameters_add(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint) {
        const Value *own = value_get(document, "@parameters"), *result = value_get(document, "@result"), *given;
        ObjectBuilder object, parameters;
        size_t n_own;
        Value *value;
        int r;

        *ret = document;
        r = read_given(arena, &given, ret_complaint);
        if (r != 0 || !given || document->type != VALUE_OBJECT || (own && own->type != VALUE_OBJECT))
                return r;

        n_own = own ? own->n_members : 0;
        object_builder_init(&parameters, arena, n_own + given->n_members);
        for (size_t i = 0; i < n_own; i++)
                object_builder_put(&parameters, own->members[i].key, &own->members[i].value);
        for (size_t i = 0; i < given->n_members; i++)
                if (!value_get(own, given->members[i].key) && !value_get(result, given->members[i].key) &&
                    !value_get(document, given->members[i].key)) /* a setting may be the version */
                        object_builder_put(&parameters, given->members[i].key, &given->members[i].value);
        if (parameters.n == n_own)
                return 0;

        value = arena_alloc(arena, sizeof(*value));
        object_builder_init(&object, arena, document->n_members + 1);
        for (size_t i = 0; i < document->n_members; i++)
                if (&document->members[i].value == own)
                        object_builder_put_object(&object, "@parameters", &parameters);
                else
                        object_builder_put(&object, document->members[i].key, &document->members[i].value);
        if (!own)
                object_builder_put_object(&object, "@parameters", &parameters);
        if (!value || object_builder_end(&object, value) < 0)
                return -ENOMEM;
        *ret = value;
        return 0;
}
