/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/declaration.h"

#include <math.h>
#include <string.h>

#define VALUES_BYTES_MAX 400U /* of the values listed in a message */

/* A declaration is a type, a list of types, or an object with either. */
static JsonText types_of(JsonText declaration) {
        return json_text_kind(declaration) == JSON_KIND_OBJECT ? json_text_find(declaration, "type") : declaration;
}

static bool is_of_type(const Condition *condition, JsonText type) {
        if (json_text_is_string(type, "str", 3))
                return !condition_is_range(condition);
        if (json_text_is_string(type, "int", 3))
                return condition->is_number && (condition_is_range(condition) || condition->number == trunc(condition->number));
        if (json_text_is_string(type, "float", 5))
                return condition->is_number;
        if (json_text_is_string(type, "semver", 6))
                return condition->is_semver;
        if (json_text_is_string(type, "time", 4))
                return condition->is_time;
        if (json_text_is_string(type, "map", 3))
                return !condition_is_range(condition);
        return !condition_is_range(condition) && (strcmp(condition->value, "true") == 0 || strcmp(condition->value, "false") == 0);
}

static bool is_of_types(const Condition *condition, JsonText types) {
        JsonWalk walk = json_text_walk(types);
        JsonText unused, type;

        if (json_text_kind(types) == JSON_KIND_STRING)
                return is_of_type(condition, types);
        if (json_text_kind(types) != JSON_KIND_LIST)
                return true;
        while (json_text_walk_next(&walk, &unused, &type))
                if (is_of_type(condition, type))
                        return true;
        return false;
}

bool declaration_allows(JsonText declaration, const Condition *condition) {
        JsonText values = json_text_kind(declaration) == JSON_KIND_OBJECT ? json_text_find(declaration, "values") : (JsonText){};
        JsonWalk walk = json_text_walk(values);
        Condition equal = *condition;
        JsonText unused, value;

        if (json_text_kind(values) != JSON_KIND_LIST || condition_is_range(condition))
                return is_of_types(condition, types_of(declaration));

        equal.relation = CONDITION_EQUAL;
        while (json_text_walk_next(&walk, &unused, &value))
                if (condition_is_met(&equal, value))
                        return true;
        return false;
}

static void put_values(Buffer *out, JsonText list, const char *separator) {
        JsonWalk walk = json_text_walk(list);
        JsonText unused, value;
        size_t begin = out->n;

        while (json_text_walk_next(&walk, &unused, &value)) {
                if (out->n - begin > VALUES_BYTES_MAX) {
                        buffer_puts(out, ", …");
                        return;
                }
                if (out->n > begin)
                        buffer_puts(out, separator);
                json_text_decode(value, out);
        }
}

void declaration_put_expected(JsonText declaration, Buffer *out) {
        JsonText types = types_of(declaration), values = {};

        if (json_text_kind(declaration) == JSON_KIND_OBJECT)
                values = json_text_find(declaration, "values");
        buffer_puts(out, "");
        if (json_text_kind(types) == JSON_KIND_LIST)
                put_values(out, types, " or ");
        else
                json_text_decode(types, out);
        if (json_text_kind(values) != JSON_KIND_LIST)
                return;

        buffer_puts(out, out->n > 0 ? ", one of " : "one of ");
        put_values(out, values, ", ");
}
