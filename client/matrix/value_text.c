/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/value_text.h"

#include <math.h>
#include <string.h>

#include "document/property.h"
#include "json/json_text.h"
#include "util/clock.h"
#include "util/parse.h"

/* Reads a text as a number, an integer if it is one. */
static bool read_number(const char *text, Value *ret) {
        if (json_text_int((JsonText){ text, strlen(text) }, &ret->integer))
                ret->type = VALUE_INT;
        else if (parse_double(text, &ret->number) == 0)
                ret->type = VALUE_DOUBLE;
        else
                return false;
        return true;
}

bool value_text_put(const Value *value, unsigned type, Json *json) {
        Value converted = *value;
        uint64_t unused;
        bool flag;

        if (value->type == VALUE_STRING && (type & (PROPERTY_INT | PROPERTY_FLOAT)) &&
            !read_number(value->string, &converted))
                return false;
        if (value->type == VALUE_STRING && type == PROPERTY_BOOL && parse_bool(value->string, &flag) == 0)
                converted = (Value){ .type = VALUE_BOOL, .boolean = flag };
        if (type == PROPERTY_INT && converted.type == VALUE_DOUBLE && floor(converted.number) == converted.number &&
            fabs(converted.number) < 0x1p53)
                converted = (Value){ .type = VALUE_INT, .integer = (int64_t)converted.number };
        if (type == PROPERTY_TIME && (value->type != VALUE_STRING || clock_parse_utc(value->string, &unused) != 0))
                return false;
        if (type != 0 && type != PROPERTY_TIME && !property_is_of_types(&converted, type))
                return false;
        value_write_json(&converted, json);
        return true;
}

bool value_text_put_plain(const char *text, unsigned type, Json *json) {
        Value value = { .type = VALUE_STRING, .string = text };

        if (type == 0 && read_number(text, &value))
                type = 0;
        else
                value = (Value){ .type = VALUE_STRING, .string = text };
        return value_text_put(&value, type, json);
}
