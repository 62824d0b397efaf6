/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/summary.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/results/command_result.h"
#include "json/json.h"
#include "text/text.h"
#include "util/array.h"

#define SHORT_S 0.005      /* a process starts and ends in a time of this order */
#define SLOW_FIRST_RATIO 1.1
#define SLOW_FIRST_N_MIN 3U
#define MAD_OF_SIGMA 1.4826 /* standard deviation of a normal distribution, in median absolute deviations */
#define OUTLIER_SIGMAS 10.0
#define OUTLIER_RATIO 0.02  /* a smaller deviation does not matter, however constant the others are */

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
        *series = (SummarySeries){ .name = strdup(indicator->name),
                                   .component = strdup(indicator->component),
                                   .key = strdup(key) };
        *ret = series;
        return series->name && series->component && series->key ? 0 : -ENOMEM;
}

/* *ret is NULL when there are too many. */
static int find_series(Summary *summary, const Indicator *indicator, const char *key, SummarySeries **ret) {
        *ret = NULL;
        for (size_t i = 0; i < summary->n; i++)
                if (is_of(&summary->series[i], indicator->name, indicator->component) &&
                    strcmp(summary->series[i].key, key) == 0) {
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
                                write_series(&summary->series[k],
                                             units ? value_get_string(units, summary->series[k].key) : NULL, out);
        }
        if (summary->n_left_out > 0)
                buffer_printf(out, "%zu more numbers are not shown\n", summary->n_left_out);
}

/* --- commands -------------------------------------------------------------------------------------- */

static bool is_command(const SummarySeries *series, const char *key) {
        return strcmp(series->component, COMMAND_RESULT_COMPONENT) == 0 && strcmp(series->key, key) == 0;
}

static SummarySeries *find(Summary *summary, const char *name, const char *key) {
        for (size_t i = 0; i < summary->n; i++) {
                SummarySeries *series = &summary->series[i];

                if (is_command(series, key) && (!name || strcmp(series->name, name) == 0))
                        return series;
        }
        return NULL;
}

/* All times of a line have the unit of the first. */
static void put_time(Buffer *out, double s, double unit_of) {
        if (unit_of < 1)
                buffer_printf(out, "%.1f ms", 1e3 * s);
        else
                buffer_printf(out, "%.3f s", s);
}

static void put_times(Buffer *out, const char *name, const Statistics *elapsed) {
        double mean = elapsed->mean;

        buffer_printf(out, "%s: mean ", name);
        put_time(out, mean, mean);
        if (isfinite(elapsed->sd)) {
                buffer_puts(out, " ± ");
                put_time(out, elapsed->sd, mean);
        }
        buffer_puts(out, ", median ");
        put_time(out, elapsed->median, mean);
        buffer_puts(out, ", range ");
        put_time(out, elapsed->min, mean);
        buffer_puts(out, " to ");
        put_time(out, elapsed->max, mean);
        buffer_printf(out, ", %zu run%s\n", elapsed->n, elapsed->n == 1 ? "" : "s");
}

/* Puts the mean CPU times and the largest resident set, where the runs have them. */
static void put_resources(Buffer *out, Summary *summary, const char *name) {
        SummarySeries *user = find(summary, name, "user_time"), *system = find(summary, name, "system_time");
        SummarySeries *rss = find(summary, name, "max_rss");
        Statistics of_user, of_system, of_rss;
        char memory[TEXT_MAX];

        if (!user || !system || !rss)
                return;

        statistics_of(user->values, user->n, &of_user);
        statistics_of(system->values, system->n, &of_system);
        statistics_of(rss->values, rss->n, &of_rss);
        text_mib(of_rss.max / (1024.0 * 1024.0), memory);
        buffer_puts(out, "  CPU time: user ");
        put_time(out, of_user.mean, of_user.mean);
        buffer_puts(out, ", system ");
        put_time(out, of_system.mean, of_system.mean);
        buffer_printf(out, "; memory: %s\n", memory);
}

static double median_deviation(const SummarySeries *elapsed, double median) {
        double *deviations = calloc(elapsed->n, sizeof(*deviations)), found = NAN;

        for (size_t i = 0; deviations && i < elapsed->n; i++)
                deviations[i] = fabs(elapsed->values[i] - median);
        if (deviations)
                found = statistics_median_in_place(deviations, elapsed->n);
        free(deviations);
        return found;
}

static size_t count_outliers(const SummarySeries *elapsed, double median) {
        double mad = median_deviation(elapsed, median);
        size_t n = 0;

        for (size_t i = 0; isfinite(mad) && i < elapsed->n; i++) {
                double deviation = fabs(elapsed->values[i] - median);

                n += deviation > OUTLIER_SIGMAS * MAD_OF_SIGMA * mad && deviation > OUTLIER_RATIO * median;
        }
        return n;
}

static void put_remarks(Buffer *out, const SummarySeries *elapsed, const Statistics *statistics, double first) {
        size_t n_outliers = count_outliers(elapsed, statistics->median);

        if (elapsed->n >= SLOW_FIRST_N_MIN && first == statistics->max && first > SLOW_FIRST_RATIO * statistics->median)
                buffer_printf(out,
                              "  the first run took %.0f %% longer than the median: use --warmup 1 to fill the caches "
                              "first\n",
                              100 * (first / statistics->median - 1));
        else if (n_outliers > 0)
                buffer_printf(out, "  %zu of %zu runs %s: other processes may have disturbed the node\n", n_outliers,
                              elapsed->n, n_outliers == 1 ? "is an outlier" : "are outliers");
        if (statistics->mean < SHORT_S)
                buffer_printf(out,
                              "  the runs take less than %.0f ms: the start of a process is a large part of this\n",
                              1e3 * SHORT_S);
}

void summary_write_commands(Summary *summary, Buffer *out) {
        for (size_t i = 0; i < summary->n; i++) {
                SummarySeries *elapsed = &summary->series[i];
                Statistics statistics;
                double first;

                if (!is_command(elapsed, "elapsed"))
                        continue;
                assert(elapsed->n > 0);
                first = elapsed->values[0];
                statistics_of(elapsed->values, elapsed->n, &statistics);
                put_times(out, elapsed->name, &statistics);
                put_resources(out, summary, elapsed->name);
                put_remarks(out, elapsed, &statistics, first);
        }
}

void summary_write_progress(const Summary *summary, uint64_t n_left, Buffer *out) {
        const SummarySeries *elapsed = find((Summary *)summary, NULL, "elapsed");
        char left[TEXT_MAX];
        double median, *values;

        if (!elapsed || elapsed->n == 0)
                return;
        values = reallocarray(NULL, elapsed->n, sizeof(*values));
        if (!values)
                return;

        memcpy(values, elapsed->values, elapsed->n * sizeof(*values));
        median = statistics_median_in_place(values, elapsed->n);
        free(values);
        text_seconds(median * (double)n_left, left);
        buffer_printf(out, "run %zu of %zu: median ", elapsed->n, elapsed->n + (size_t)n_left);
        put_time(out, median, median);
        if (n_left > 0)
                buffer_printf(out, ", %s left", left);
}

/* --- files ----------------------------------------------------------------------------------------- */

typedef struct ExportRow {
        const SummarySeries *series;
        Statistics statistics;
} ExportRow;

bool summary_find_format(const char *path, ExportFormat *ret) {
        static const char *const endings[] = {
                [EXPORT_CSV] = ".csv", [EXPORT_JSON] = ".json", [EXPORT_MARKDOWN] = ".md"
        };
        const char *ending = strrchr(path, '.');

        for (*ret = 0; ending && *ret < N_EXPORT_FORMATS; (*ret)++)
                if (strcmp(ending, endings[*ret]) == 0)
                        return true;
        return false;
}

/* Quotes a field where RFC 4180 requires this. */
static void put_csv_text(Buffer *out, const char *text) {
        if (!strpbrk(text, ",\"\r\n")) {
                buffer_puts(out, text);
                return;
        }

        buffer_putc(out, '"');
        for (; *text; text++) {
                buffer_puts(out, *text == '"' ? "\"" : "");
                buffer_putc(out, *text);
        }
        buffer_putc(out, '"');
}

/* A statistic that needs more runs is empty. */
static void put_csv_number(Buffer *out, double v) {
        buffer_putc(out, ',');
        if (v == v)
                buffer_put_double(out, v);
}

static void begin_csv(Buffer *out) {
        buffer_puts(out, "indicator,component,result,n,mean,stddev,median,min,max\n");
}

static void put_csv(const ExportRow *row, Buffer *out) {
        const Statistics *statistics = &row->statistics;
        const double numbers[] = { statistics->mean, statistics->sd, statistics->median, statistics->min,
                                   statistics->max };

        put_csv_text(out, row->series->name);
        buffer_putc(out, ',');
        put_csv_text(out, row->series->component);
        buffer_putc(out, ',');
        put_csv_text(out, row->series->key);
        buffer_printf(out, ",%zu", statistics->n);
        for (size_t i = 0; i < N_ELEMENTS(numbers); i++)
                put_csv_number(out, numbers[i]);
        buffer_putc(out, '\n');
}

static void begin_markdown(Buffer *out) {
        buffer_puts(out, "| Indicator | Result | n | Mean | Std. dev. | Median | Min | Max "
                         "|\n|:---|:---|---:|---:|---:|---:|---:|---:|\n");
}

static void put_markdown_text(Buffer *out, const char *text) {
        buffer_puts(out, "| ");
        for (; *text; text++) {
                buffer_puts(out, *text == '|' || *text == '\\' ? "\\" : "");
                buffer_putc(out, *text);
        }
        buffer_putc(out, ' ');
}

static void put_markdown_number(Buffer *out, double v) {
        char text[TEXT_MAX] = "-";

        if (v == v)
                text_number(v, text);
        buffer_printf(out, "| %s ", text);
}

static void put_markdown(const ExportRow *row, Buffer *out) {
        const Statistics *statistics = &row->statistics;
        const double numbers[] = { statistics->mean, statistics->sd, statistics->median, statistics->min,
                                   statistics->max };

        put_markdown_text(out, row->series->name);
        put_markdown_text(out, row->series->key);
        buffer_printf(out, "| %zu ", statistics->n);
        for (size_t i = 0; i < N_ELEMENTS(numbers); i++)
                put_markdown_number(out, numbers[i]);
        buffer_puts(out, "|\n");
}

static void put_json(const ExportRow *row, Json *json) {
        const Statistics *statistics = &row->statistics;

        json_object_begin(json);
        json_put_string(json, "indicator", row->series->name);
        json_put_string(json, "component", row->series->component);
        json_put_string(json, "result", row->series->key);
        json_put_uint(json, "n", statistics->n);
        json_put_double(json, "mean", statistics->mean);
        json_put_double(json, "stddev", statistics->sd);
        json_put_double(json, "median", statistics->median);
        json_put_double(json, "min", statistics->min);
        json_put_double(json, "max", statistics->max);
        json_put_array_begin(json, "values");
        for (size_t i = 0; i < row->series->n; i++)
                json_double(json, row->series->values[i]);
        json_array_end(json);
        json_object_end(json);
}

/* Computes the statistics of a copy, since the order of the values is exported. */
static int make_row(const SummarySeries *series, ExportRow *ret) {
        double *values = reallocarray(NULL, series->n + 1, sizeof(*values));

        if (!values)
                return -ENOMEM;

        memcpy(values, series->values, series->n * sizeof(*values));
        ret->series = series;
        statistics_of(values, series->n, &ret->statistics);
        free(values);
        return 0;
}

static void begin_json(const ExportBatch *batch, Json *json) {
        json_object_begin(json);
        json_put_string(json, "batch", batch->id);
        json_put_uint(json, "runs", batch->n_runs);
        json_put_uint(json, "failed", batch->n_failed);
        json_put_array_begin(json, "results");
}

int summary_write_file(const Summary *summary, const ExportBatch *batch, ExportFormat format, Buffer *out) {
        int r = 0;
        Json json = { .out = out };
        ExportRow row;

        if (format == EXPORT_JSON)
                begin_json(batch, &json);
        else if (format == EXPORT_CSV)
                begin_csv(out);
        else
                begin_markdown(out);

        for (size_t i = 0; i < summary->n && r == 0; i++) {
                r = make_row(&summary->series[i], &row);
                if (r < 0)
                        break;
                if (format == EXPORT_JSON)
                        put_json(&row, &json);
                else if (format == EXPORT_CSV)
                        put_csv(&row, out);
                else
                        put_markdown(&row, out);
        }

        if (format == EXPORT_JSON) {
                json_array_end(&json);
                json_object_end(&json);
                buffer_putc(out, '\n');
        }
        return r == 0 ? buffer_error(out) : r;
}
