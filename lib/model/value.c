#include "model/value.h"

#include <math.h>
#include <string.h>

const Value *value_get(const Value *value, const char *key) {
        if (!value || value->type != VALUE_OBJECT)
                return NULL;

        for (size_t i = 0; i < value->n_members; i++)
                if (strcmp(value->members[i].key, key) == 0)
                        return &value->members[i].value;

        return NULL;
}

const char *value_get_string(const Value *value, const char *key) {
        const Value *member = value_get(value, key);

        return member && member->type == VALUE_STRING ? member->string : NULL;
}

bool value_get_double(const Value *value, const char *key, double *ret) {
        const Value *member = value_get(value, key);

        if (!member || (member->type != VALUE_DOUBLE && member->type != VALUE_INT))
                return false;

        *ret = member->type == VALUE_DOUBLE ? member->number : (double)member->integer;
        return true;
}

/* 30.0 is an integer as well: many languages write whole floats so. */
bool value_get_int(const Value *value, const char *key, int64_t *ret) {
        const Value *member = value_get(value, key);

        if (!member)
                return false;

        if (member->type == VALUE_INT) {
                *ret = member->integer;
                return true;
        }

        if (member->type != VALUE_DOUBLE || member->number != trunc(member->number) ||
            member->number < -0x1p63 || member->number >= 0x1p63)
                return false;

        *ret = (int64_t)member->number;
        return true;
}

const char *value_type_text(const Value *value) {
        switch (value->type) {
        case VALUE_NULL:
                return "null";
        case VALUE_BOOL:
                return "a boolean";
        case VALUE_INT:
                return "an integer";
        case VALUE_DOUBLE:
                return "a number";
        case VALUE_STRING:
                return "a string";
        case VALUE_LIST:
                return "a list";
        case VALUE_OBJECT:
                return "an object";
        }

        return "nothing";
}

static void write_list(const Value *value, Json *json) {
        json_array_begin(json);
        for (size_t i = 0; i < value->n_items; i++)
                value_write_json(&value->items[i], json);
        json_array_end(json);
}

static void write_object(const Value *value, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < value->n_members; i++) {
                json_key(json, value->members[i].key);
                value_write_json(&value->members[i].value, json);
        }
        json_object_end(json);
}

/* Recursion is as deep as the tree, and whoever builds trees keeps them within VALUE_DEPTH_MAX. */
void value_write_json(const Value *value, Json *json) {
        switch (value->type) {
        case VALUE_NULL:
                json_null(json);
                return;
        case VALUE_BOOL:
                json_bool(json, value->boolean);
                return;
        case VALUE_INT:
                json_int(json, value->integer);
                return;
        case VALUE_DOUBLE:
                json_double(json, value->number);
                return;
        case VALUE_STRING:
                json_string(json, value->string);
                return;
        case VALUE_LIST:
                write_list(value, json);
                return;
        case VALUE_OBJECT:
                write_object(value, json);
                return;
        }
}
