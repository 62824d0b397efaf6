/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: conditions and statistics of queries, and the JSON to which they are applied
 *
 * Input: a line with a condition, a line with a statistic, and text that may be JSON. The target asserts that a
 * condition and
 * its negation are never both met, that sorting an object twice has the same result, and that results are inside the
 * text.
 */

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/condition.h"
#include "http/selection/aggregate.h"
#include "util/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_choice(const char *text) {
        double values[] = { 1, 2, 4 };
        Statistics statistics;
        Aggregate aggregate;

        if (aggregate_parse(text, strlen(text), &aggregate) != 0)
                return;
        assert(strcmp(aggregate.text, text) == 0 && *aggregate.key && strlen(aggregate.key) <= KEY_MAX_BYTES);
        statistics_of(values, 3, &statistics);
        assert(isfinite(aggregate_value(&aggregate, &statistics, values, 3)));
}

/* KEY=VALUE as KEY!=VALUE, and the other way round. */
static void check_condition(const Condition *condition, JsonText value) {
        Condition opposite = *condition;
        bool is_met = condition_is_met(condition, value);

        if (condition->relation != CONDITION_EQUAL && condition->relation != CONDITION_NOT_EQUAL)
                return;
        opposite.relation = condition->relation == CONDITION_EQUAL ? CONDITION_NOT_EQUAL : CONDITION_EQUAL;
        assert(is_met + condition_is_met(&opposite, value) == (value.text ? 1 : 0));
}

static void check_walk(JsonText text) {
        JsonWalk walk = json_text_walk(text);
        JsonText key = {}, value;

        while (json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer said = {};

                assert(value.n > 0 && value.text >= text.text && value.text + value.n <= text.text + text.n);
                json_text_decode(value, &said);
                if (json_text_kind(value) == JSON_KIND_STRING)
                        assert(json_text_is_string(value, said.text ? said.text : "", said.n));
        }
}

static void check_sorted(JsonText text) {
        scoped(buffer_deinit) Buffer once = {}, twice = {};

        assert(json_text_put_sorted(text, &once) == 0);
        assert(json_text_put_sorted(json_text(once.text, once.n), &twice) == 0);
        assert(once.n == twice.n && memcmp(once.text, twice.text, once.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(freep) char *text = strndup((const char *)data, size);
        char *rest = text, *where = strsep(&rest, "\n"), *stat = rest ? strsep(&rest, "\n") : NULL;
        JsonText object = rest ? json_text(rest, strlen(rest)) : (JsonText){};
        Condition condition;

        if (stat)
                check_choice(stat);
        check_walk(object);
        check_sorted(object);
        if (condition_parse(where, &condition) == 0) {
                assert(condition.key[0] && strlen(condition.key) <= CONDITION_KEY_MAX);
                check_condition(&condition, json_text_find(object, condition.key));
        }
        return 0;
}
