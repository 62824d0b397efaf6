/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/summary.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/results/command_result.h"
#include "text/text.h"
#include "util/array.h"

void summary_deinit(Summary *summary) {
        for (size_t i = 0; i < summary->n; i++) {
                free(summary->series[i].name);
                free(summary->series[i].component);
                free(summary->series[i].key);
                free(summary->series[i].values);
        }
}

static bool is_of(const SummarySeries *series, const char *name, const char *component) {
        return strcmp(series->name, name) == 0 && strcmp(series->component, component) == 0;
}

static int add_series(Summary *summary, const Indicator *indicator, const char *key, SummarySeries **ret) {
        SummarySeries *series = &summary->series[summary->n++];

        assert(summary->n <= SUMMARY_SERIES_MAX);
        *series = (SummarySeries){ .name = strdup(indicator->name), .component = strdup(indicator->component), .key = strdup(key) };
        *ret = series;
        return series->name && series->component && series->key ? 0 : -ENOMEM;
}

/* *ret is NULL when there are too many. */
static int find_series(Summary *summary, const Indicator *indicator, const char *key, SummarySeries **ret) {
        *ret = NULL;
        for (size_t i = 0; i < summary->n; i++)
                if (is_of(&summary->series[i], indicator->name, indicator->component) && strcmp(summary->series[i].key, key) == 0) {
                        *ret = &summary->series[i];
                        return 0;
                }

        return summary->n < SUMMARY_SERIES_MAX ? add_series(summary, indicator, key, ret) : 0;
}

static int add_value(SummarySeries *series, double value) {
        if (ARRAY_RESERVE(series->values, series->n_allocated, series->n + 1) < 0)
                return -ENOMEM;

        series->values[series->n++] = value;
        return 0;
}

int summary_add(Summary *summary, const Indicator *indicator) {
        for (size_t i = 0; i < indicator->result->n_members; i++) {
                const char *key = indicator->result->members[i].key;
                SummarySeries *series;
                double value;
                int r;

                if (!value_get_double(indicator->result, key, &value))
                        continue;
                r = find_series(summary, indicator, key, &series);
                if (r == 0 && series)
                        r = add_value(series, value);
                if (r < 0)
                        return r;
                summary->n_left_out += !series;
        }
        return 0;
}

static void write_series(SummarySeries *series, const char *unit, Buffer *out) {
        Statistics statistics;
        char median[TEXT_MAX];

        statistics_of(series->values, series->n, &statistics);
        text_figure(statistics.median, median);
        buffer_printf(out, "  %-24s median %s%s%s", series->key, median, unit ? " " : "", unit ?: "");
        if (isfinite(statistics.cov))
                buffer_printf(out, " ± %.*f %%", statistics.cov < 0.1, 100 * statistics.cov);
        buffer_printf(out, ", %zu run%s\n", series->n, series->n == 1 ? "" : "s");
}

/* Groups the results of one indicator, in order of arrival. */
static bool is_first(const Summary *summary, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (is_of(&summary->series[k], summary->series[i].name, summary->series[i].component))
                        return false;
        return true;
}

void summary_write(Summary *summary, const Value *units, Buffer *out) {
        for (size_t i = 0; i < summary->n; i++) {
                const SummarySeries *first = &summary->series[i];

                if (!is_first(summary, i) || strcmp(first->component, COMMAND_RESULT_COMPONENT) == 0)
                        continue;
                buffer_printf(out, "%s of %s\n", first->name, first->component);
                for (size_t k = i; k < summary->n; k++)
                        if (is_of(&summary->series[k], first->name, first->component))
                                write_series(&summary->series[k], units ? value_get_string(units, summary->series[k].key) : NULL, out);
        }
        if (summary->n_left_out > 0)
                buffer_printf(out, "%zu more numbers are not shown\n", summary->n_left_out);
}
