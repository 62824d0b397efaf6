#include "http/answers.h"

#include <string.h>

#include "http/page.h"
#include "http/selection.h"
#include "model/indicator.h"

void answer_indicators(Exchange *exchange) {
        bool is_cut = false;
        IndicatorRow row;
        Json json;
        int r;

        json_init(&json, exchange->body);
        json_object_begin(&json);
        json_key(&json, "indicators");
        json_array_begin(&json);

        r = reader_indicators(exchange->reader);
        while (r == 0 && (r = reader_next_indicator(exchange->reader, &row)) == 0) {
                is_cut = exchange->body->n >= PAGE_BYTES_MAX;
                if (is_cut)
                        break;

                json_object_begin(&json);
                json_put_string(&json, "name", row.name);
                json_put_string(&json, "component", row.component);
                json_put_uint(&json, "results", row.n_results);
                json_put_uint(&json, "latest_ms", row.latest_ms);
                json_object_end(&json);
        }
        if (r != 0 && r != READER_END) {
                (void)exchange_store_error(exchange, r);
                return;
        }

        json_array_end(&json);
        json_put_bool(&json, "truncated", is_cut);
        json_object_end(&json);
}

void answer_models(Exchange *exchange) {
        if (!exchange->snapshot->models) {
                (void)exchange_error(exchange, 503, "perfd is out of memory at the moment");
                return;
        }

        buffer_puts(exchange->body, exchange->snapshot->models);
}

static void put_id(Json *json, const char *key, const uint8_t id[static 16]) {
        char text[2 * 16 + 1];

        for (size_t i = 0; i < 16; i++)
                (void)snprintf(text + 2 * i, 3, "%02x", id[i]);
        json_put_string(json, key, text);
}

/* Only where it was run by who sent it. */
static void write_run(Json *json, const ResultRow *row) {
        if (row->has_exit_status)
                json_put_int(json, "exit_status", row->exit_status);
        if (row->has_batch) {
                put_id(json, "batch", row->batch);
                json_put_uint(json, "batch_index", row->batch_index);
        }
        if (row->run) {
                json_key(json, "run");
                json_raw(json, row->run);
        }
}

static void write_result(Json *json, const ResultRow *row) {
        json_object_begin(json);
        put_id(json, "id", row->id);
        json_put_uint(json, "time_ms", row->time_ms);
        json_put_string(json, "name", row->name);
        json_put_string(json, "component", row->component);
        json_put_string(json, "version", row->version);
        json_put_string(json, "job", row->job);
        json_put_uint(json, "uid", row->uid);
        if (row->has_score)
                json_put_double(json, "score", row->score);
        else
                json_put_string(json, "score", NULL);
        json_key(json, "document");
        json_raw(json, row->document);
        write_run(json, row);
        json_object_end(json);
}

/* Conditions on parameters, component and version; hardware is not looked for here. */
static bool meets(const ResultRow *row, const Condition *conditions, size_t n_conditions) {
        PointRow point = { .component = row->component, .version = row->version };

        if (n_conditions > 0)
                point.parameters = json_text_find(json_text(row->document, strlen(row->document)), "@parameters");
        return point_meets(&point, conditions, n_conditions);
}

/* 0 or EXCHANGE_ANSWERED. */
static int write_results(Exchange *exchange, const ResultFilter *filter, Page *page, Json *json) {
        Condition conditions[CONDITIONS_MAX];
        size_t n_conditions = 0;
        ResultRow row;
        int r;

        if (conditions_parse(exchange, conditions, &n_conditions) > 0)
                return EXCHANGE_ANSWERED;

        r = reader_results(exchange->reader, filter);
        while (r == 0 && (r = reader_next_result(exchange->reader, &row)) == 0) {
                if (!meets(&row, conditions, n_conditions))
                        continue;
                if (!page_admit(page, exchange->body, (PageKey){ row.time_ms, row.row }))
                        break;
                write_result(json, &row);
        }

        return r == 0 || r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* name NULL: of any. */
static void answer_results_of(Exchange *exchange, const char *name) {
        ResultFilter filter = {
                .name = name,
                .component = exchange_parameter(exchange, "component"),
                .job = exchange_parameter(exchange, "job"),
        };
        Page page;
        Json json;

        if (name && !name_is_valid(name, NAME_MAX_BYTES)) {
                (void)exchange_error(exchange, 400, "An indicator's name is 1 to %u of A-Z a-z 0-9 _ . : -", NAME_MAX_BYTES);
                return;
        }

        if (page_parse(exchange, &page) > 0)
                return;
        filter.since_ms = page.since_ms;
        filter.until_ms = page.until_ms;
        filter.before = page.before;

        page_begin(&json, exchange->body, "results");
        if (write_results(exchange, &filter, &page, &json) == 0)
                page_end(&page, &json);
}

void answer_results(Exchange *exchange) {
        answer_results_of(exchange, exchange_parameter(exchange, "name"));
}

void answer_indicator_results(Exchange *exchange) {
        answer_results_of(exchange, exchange->argument);
}
