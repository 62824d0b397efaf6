/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/summary_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "json/json.h"
#include "text/text.h"

typedef struct ExportRow {
        const SummarySeries *series;
        Statistics statistics;
} ExportRow;

bool summary_export_find_format(const char *path, ExportFormat *ret) {
        static const char *const endings[] = { [EXPORT_CSV] = ".csv", [EXPORT_JSON] = ".json", [EXPORT_MARKDOWN] = ".md" };
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
        const double numbers[] = { statistics->mean, statistics->sd, statistics->median, statistics->min, statistics->max };

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
        buffer_puts(out, "| Indicator | Result | n | Mean | Std. dev. | Median | Min | Max |\n|:---|:---|---:|---:|---:|---:|---:|---:|\n");
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
        const double numbers[] = { statistics->mean, statistics->sd, statistics->median, statistics->min, statistics->max };

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

int summary_export_write(const Summary *summary, const ExportBatch *batch, ExportFormat format, Buffer *out) {
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
