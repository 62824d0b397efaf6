/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selection/aggregate.h"

#include <string.h>

#include "util/parse.h"

#define FIELD(member, has_unit) { #member, offsetof(Statistics, member), has_unit, .is_of_order = true }
#define FIELD_OF_SUMS(member, has_unit) { #member, offsetof(Statistics, member), has_unit, .is_of_order = false }

const AggregateField aggregate_fields[N_AGGREGATE_FIELDS] = {
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
                return AGGREGATE_MALFORMED;

        memcpy(number, text + 1, n - 1);
        number[n - 1] = '\0';
        if (parse_double(number, &v) != 0 || v > 100)
                return AGGREGATE_MALFORMED;

        *ret = v;
        return 0;
}

static int parse_field(const char *text, size_t n, Aggregate *aggregate) {
        for (const AggregateField *field = aggregate_fields; field < aggregate_fields + N_AGGREGATE_FIELDS; field++)
                if (strlen(field->name) == n && memcmp(field->name, text, n) == 0) {
                        aggregate->field = field;
                        return 0;
                }

        return parse_percentile(text, n, &aggregate->percentile);
}

int aggregate_parse(const char *text, size_t n, Aggregate *ret) {
        const char *colon = memchr(text, ':', n);
        size_t n_key = colon ? n - (size_t)(colon - text) - 1 : 0;

        if (!colon || colon + 1 == text + n || n >= sizeof(ret->text) || n_key > KEY_MAX_BYTES ||
            memchr(text, '\0', n))
                return AGGREGATE_MALFORMED;

        *ret = (Aggregate){};
        memcpy(ret->text, text, n);
        ret->key = ret->text + (colon - text) + 1;
        if (n_key > 2 && ret->key[0] == '"' && ret->key[n_key - 1] == '"') {
                ret->text[n - 1] = '\0';
                memmove((char *)ret->key, ret->key + 1, n_key - 1);
        }
        return parse_field(text, (size_t)(colon - text), ret);
}

double aggregate_value(const Aggregate *aggregate, const Statistics *statistics, const double *sorted, size_t n) {
        if (!aggregate->field)
                return statistics_quantile_of_sorted(sorted, n, aggregate->percentile / 100);
        if (aggregate_is_count(aggregate))
                return (double)statistics->n;
        return *(const double *)((const char *)statistics + aggregate->field->offset);
}

bool aggregate_is_count(const Aggregate *aggregate) {
        return aggregate->field == aggregate_fields;
}

bool aggregate_is_of_order(const Aggregate *aggregate) {
        return !aggregate->field || aggregate->field->is_of_order;
}

bool aggregate_has_unit(const Aggregate *aggregate) {
        return !aggregate->field || aggregate->field->has_unit;
}
