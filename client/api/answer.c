/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/answer.h"

#include <math.h>
#include <string.h>

bool answer_metric(const Value *from, const char *key, AnswerMetric *ret) {
        const Value *metrics = value_get(from, "metrics");

        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const Value *metric = &metrics->items[i];

                if (strcmp(answer_text(metric, "key"), key) != 0 || !value_get_double(metric, "value", &ret->value))
                        continue;
                ret->unit = answer_text(metric, "unit");
                ret->is_exact = strcmp(answer_text(metric, "quality"), "exact") == 0;
                return true;
        }

        return false;
}

void answer_metric_format(const AnswerMetric *metric, char ret[static TEXT_MAX]) {
        char number[TEXT_MAX];
        bool is_plain = strcmp(metric->unit, "1") == 0;

        if (strcmp(metric->unit, "MiB") == 0) {
                text_mib(metric->value, ret);
                return;
        }
        if (strcmp(metric->unit, "bytes") == 0) {
                text_mib(metric->value / 1048576, ret);
                return;
        }
        if (strcmp(metric->unit, "h") == 0) {
                text_seconds(metric->value * 3600, ret);
                return;
        }
        if (strcmp(metric->unit, "s") == 0) {
                text_seconds(metric->value, ret);
                return;
        }
        if (strcmp(metric->unit, "cpus") == 0) {
                text_cpus(metric->value, ret);
                return;
        }
        if (strcmp(metric->unit, "%") == 0) {
                snprintf(ret, TEXT_MAX, "%.1f %%", metric->value);
                return;
        }

        text_number(metric->value, number);
        snprintf(ret, TEXT_MAX, "%.40s%s%.16s", number, is_plain ? "" : " ", is_plain ? "" : metric->unit);
}

double answer_number(const Value *from, const char *key) {
        double v;

        return value_get_double(from, key, &v) ? v : NAN;
}

double answer_number_or_zero(const Value *from, const char *key) {
        double v;

        return value_get_double(from, key, &v) ? v : 0;
}

uint64_t answer_time(const Value *from, const char *key) {
        int64_t v;

        return value_get_int(from, key, &v) && v > 0 ? (uint64_t)v : 0;
}

const char *answer_text(const Value *from, const char *key) {
        const char *text = value_get_string(from, key);

        return text ? text : "";
}

bool answer_flag(const Value *from, const char *key) {
        const Value *value = value_get(from, key);

        return value && value->type == VALUE_BOOL && value->boolean;
}

size_t answer_length(const Value *list) {
        return list && list->type == VALUE_LIST ? list->n_items : 0;
}

size_t answer_n_members(const Value *object) {
        return object && object->type == VALUE_OBJECT ? object->n_members : 0;
}
