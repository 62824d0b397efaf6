/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selection/choice.h"

#include <string.h>

#include "util/parse.h"

#define FIELD(member, has_unit) { #member, offsetof(Statistics, member), has_unit, .is_of_order = true }
#define FIELD_OF_SUMS(member, has_unit) { #member, offsetof(Statistics, member), has_unit, .is_of_order = false }

const ChoiceField choice_fields[N_CHOICE_FIELDS] = {
        FIELD(n, false),
        FIELD_OF_SUMS(mean, true),
        FIELD(median, true),
        FIELD_OF_SUMS(sd, true),
        FIELD_OF_SUMS(standard_error, true),
        FIELD(min, true),
        FIELD(max, true),
        FIELD(q1, true),
        FIELD(q3, true),
        FIELD(iqr, true),
        FIELD_OF_SUMS(cov, false),
        FIELD(covm, false),
        FIELD_OF_SUMS(skew, false),
};

static int parse_percentile(const char *text, size_t n, double *ret) {
        char number[16];
        double v;

        if (n < 2 || n >= sizeof(number) || text[0] != 'p' || strspn(text + 1, "0123456789.") < n - 1)
                return CHOICE_MALFORMED;

        memcpy(number, text + 1, n - 1);
        number[n - 1] = '\0';
        if (parse_double(number, &v) != 0 || v > 100)
                return CHOICE_MALFORMED;

        *ret = v;
        return 0;
}

static int parse_field(const char *text, size_t n, Choice *choice) {
        for (const ChoiceField *field = choice_fields; field < choice_fields + N_CHOICE_FIELDS; field++)
                if (strlen(field->name) == n && memcmp(field->name, text, n) == 0) {
                        choice->field = field;
                        return 0;
                }

        return parse_percentile(text, n, &choice->percentile);
}

int choice_parse(const char *text, size_t n, Choice *ret) {
        const char *colon = memchr(text, ':', n);
        size_t n_key = colon ? n - (size_t)(colon - text) - 1 : 0;

        if (!colon || colon + 1 == text + n || n >= sizeof(ret->text) || n_key > KEY_MAX_BYTES ||
            memchr(text, '\0', n))
                return CHOICE_MALFORMED;

        *ret = (Choice){};
        memcpy(ret->text, text, n);
        ret->key = ret->text + (colon - text) + 1;
        if (n_key > 2 && ret->key[0] == '"' && ret->key[n_key - 1] == '"') {
                ret->text[n - 1] = '\0';
                memmove((char *)ret->key, ret->key + 1, n_key - 1);
        }
        return parse_field(text, (size_t)(colon - text), ret);
}

double choice_value(const Choice *choice, const Statistics *statistics, const double *sorted, size_t n) {
        if (!choice->field)
                return statistics_quantile_of_sorted(sorted, n, choice->percentile / 100);
        if (choice_is_count(choice))
                return (double)statistics->n;
        return *(const double *)((const char *)statistics + choice->field->offset);
}

bool choice_is_count(const Choice *choice) {
        return choice->field == choice_fields;
}

bool choice_is_of_order(const Choice *choice) {
        return !choice->field || choice->field->is_of_order;
}

bool choice_has_unit(const Choice *choice) {
        return !choice->field || choice->field->has_unit;
}
