/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/object_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "value/value_parse.h"

/* --- given parameters ------------------------------------------------------------------------------ */

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

int object_builder_add_given(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint) {
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

/* --- object builder ---------------------------------------------------------------------------------- */

void object_builder_init(ObjectBuilder *object, Arena *arena, size_t n_max) {
        *object = (ObjectBuilder){ .arena = arena,
                                   .members = arena_alloc(arena, n_max * sizeof(Member)),
                                   .n_max = n_max };
        object->failed = !object->members;
}

void object_builder_put(ObjectBuilder *object, const char *key, const Value *value) {
        if (!value)
                return;
        if (object->failed || object->n == object->n_max) {
                object->failed = true;
                return;
        }

        object->members[object->n++] = (Member){ .key = key, .value = *value };
}

void object_builder_put_text(ObjectBuilder *object, const char *key, const char *text) {
        if (text)
                object_builder_put_text_n(object, key, text, strlen(text));
}

void object_builder_put_text_n(ObjectBuilder *object, const char *key, const char *text, size_t n) {
        Value value = { .type = VALUE_STRING };

        if (n == 0)
                return;

        value.string = arena_strndup(object->arena, text, n);
        if (value.string)
                object_builder_put(object, key, &value);
        else
                object->failed = true;
}

void object_builder_put_int(ObjectBuilder *object, const char *key, int64_t v) {
        object_builder_put(object, key, &(Value){ .type = VALUE_INT, .integer = v });
}

void object_builder_put_double(ObjectBuilder *object, const char *key, double v) {
        object_builder_put(object, key, &(Value){ .type = VALUE_DOUBLE, .number = v });
}

void object_builder_put_bool(ObjectBuilder *object, const char *key, bool v) {
        object_builder_put(object, key, &(Value){ .type = VALUE_BOOL, .boolean = v });
}

void object_builder_put_time(ObjectBuilder *object, const char *key, uint64_t realtime_ns) {
        char text[CLOCK_TEXT_MAX];

        if (realtime_ns == 0)
                return;
        clock_format_utc(realtime_ns, text);
        object_builder_put_text(object, key, text);
}

void object_builder_put_object(ObjectBuilder *object, const char *key, const ObjectBuilder *inner) {
        Value value;

        if (inner->failed)
                object->failed = true;
        else if (inner->n > 0 && object_builder_end(inner, &value) == 0)
                object_builder_put(object, key, &value);
}

void object_builder_put_words(ObjectBuilder *object, const char *key, const char *words) {
        Value list = { .type = VALUE_LIST };
        size_t n_max = 1;
        Value *items;

        for (const char *p = words; *p; p++)
                n_max += *p == ' ';
        list.items = items = arena_alloc(object->arena, n_max * sizeof(*items));
        for (words += strspn(words, " "); items && *words; words += strspn(words, " ")) {
                Value *item = &items[list.n_items++];

                *item = (Value){ .type = VALUE_STRING,
                                 .string = arena_strndup(object->arena, words, strcspn(words, " ")) };
                object->failed |= !item->string;
                words += strcspn(words, " ");
        }

        object->failed |= !items;
        if (list.n_items > 0)
                object_builder_put(object, key, &list);
}

int object_builder_end(const ObjectBuilder *object, Value *ret) {
        if (object->failed)
                return -ENOMEM;

        assert(object->members && object->n <= object->n_max);

        *ret = (Value){ .type = VALUE_OBJECT, .members = object->members, .n_members = object->n };
        return 0;
}

int object_builder_complete(const Value *from, const char *key, const char *text, Arena *arena, const Value **ret) {
        const Value *there = value_get(from, key);
        Value *value;
        ObjectBuilder object;

        *ret = from;
        if (from->type != VALUE_OBJECT || (there && there->type != VALUE_NULL))
                return 0;

        value = arena_alloc(arena, sizeof(*value));
        object_builder_init(&object, arena, from->n_members + 1);
        for (size_t i = 0; i < from->n_members; i++)
                if (strcmp(from->members[i].key, key) != 0)
                        object_builder_put(&object, from->members[i].key, &from->members[i].value);
        object_builder_put_text(&object, key, text);
        if (!value || object_builder_end(&object, value) < 0)
                return -ENOMEM;

        *ret = value;
        return 0;
}
