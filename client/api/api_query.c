/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/wire/json.h"
#include "client/wire/wire.h"
#include "document/indicator.h"
#include "util/clock.h"

#define QUESTION_TIMEOUT_NS (10 * NS_PER_S)

int api_query_init(ApiQuery *question, const Options *options) {
        int r;

        *question = (ApiQuery){};
        question->socket = http_client_path(options->http_socket, wire_path(options->socket));
        r = question->socket ? http_client_new(&question->asker, question->socket, QUESTION_TIMEOUT_NS) : -ENOMEM;
        if (r == 0)
                return EXIT_DONE;

        if (r == -ENOPKG)
                say("Questions need libcurl.so.4, which is not installed here (Debian: apt-get install libcurl4)");
        else
                say("%s", strerrordesc_np(-r));
        return EXIT_FAILED;
}

void api_query_deinit(ApiQuery *question) {
        http_client_freep(&question->asker);
        free(question->socket);
        buffer_deinit(&question->body);
        arena_deinit(&question->arena);
}

static int parse_answer(ApiQuery *question) {
        JsonReader reader;
        JsonError error;
        int r;

        arena_deinit(&question->arena);
        r = arena_init(&question->arena, json_arena_size(question->body.n));
        if (r < 0)
                return r;

        json_reader_init(&reader, question->body.text ? question->body.text : "", question->body.n);
        return json_read(&reader, &question->arena, &question->answer, &error);
}

static int refuse(const ApiQuery *question, unsigned status) {
        const char *message = text_get(value_get(question->answer, "error"), "message");

        say("%s", message[0] ? message : "perfd gave no answer that is understood here");
        return status == 503 ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int api_query_try(ApiQuery *question, const char *path) {
        unsigned status = 0;
        int r;

        buffer_clear(&question->body);
        question->answer = NULL;
        r = http_client_get(question->asker, path, &status, &question->body);
        if (r == ASK_UNREACHABLE)
                return EXIT_UNREACHABLE;
        if (r == 0)
                r = parse_answer(question);
        if (r < 0) {
                say("%s", strerrordesc_np(-r));
                return EXIT_FAILED;
        }
        if (r > 0)
                question->answer = NULL;

        return r == 0 && status >= 200 && status < 300 ? EXIT_DONE : refuse(question, status);
}

int api_query_ask(ApiQuery *question, const char *path) {
        int r;

        r = api_query_try(question, path);
        if (r == EXIT_UNREACHABLE && !question->answer)
                say("perfd cannot be reached at %s: %s", question->socket, http_client_error(question->asker));
        return r;
}

int api_query_open(ApiQuery *question, const Options *options, const char *path) {
        int r;

        r = api_query_init(question, options);
        return r == EXIT_DONE ? api_query_ask(question, path) : r;
}

int api_query_open_job(ApiQuery *question, const Options *options, const char *id, const char *below) {
        char path[JOB_ID_MAX + 32];

        if (!name_is_valid(id, JOB_ID_MAX - 1)) {
                say("'%.80s' is no job's id: expected 1 to 128 characters of [A-Za-z0-9_.:-]", id);
                return EXIT_USAGE;
        }

        snprintf(path, sizeof(path), "/api/v1/jobs/%s%s", id, below);
        return api_query_open(question, options, path);
}

int api_query_ask_text(ApiQuery *question, const char *path) {
        unsigned status = 0;
        int r;

        buffer_clear(&question->body);
        question->answer = NULL;
        r = http_client_get(question->asker, path, &status, &question->body);
        if (r == 0 && status >= 200 && status < 300)
                return EXIT_DONE;
        if (r == ASK_UNREACHABLE) {
                say("perfd cannot be reached at %s: %s", question->socket, http_client_error(question->asker));
                return EXIT_UNREACHABLE;
        }
        if (r < 0) {
                say("%s", strerrordesc_np(-r));
                return EXIT_FAILED;
        }

        (void)parse_answer(question);
        return refuse(question, status);
}

int api_query_print_json(const ApiQuery *question) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen = { .out = &out };

        screen_json(&screen, question->body.text, question->body.n);
        if (out.n == 0 || out.text[out.n - 1] != '\n')
                buffer_putc(&out, '\n');
        return print_out(&out);
}

bool metric_value_get(const Value *from, const char *key, MetricValue *ret) {
        const Value *metrics = value_get(from, "metrics");

        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const Value *metric = &metrics->items[i];

                if (strcmp(text_get(metric, "key"), key) != 0 || !value_get_double(metric, "value", &ret->value))
                        continue;
                ret->unit = text_get(metric, "unit");
                ret->is_exact = strcmp(text_get(metric, "quality"), "exact") == 0;
                return true;
        }

        return false;
}

void text_cpus(double cpus, char ret[static TEXT_MAX]) {
        if (cpus >= 100 || cpus == floor(cpus))
                snprintf(ret, TEXT_MAX, "%.0f", cpus);
        else
                snprintf(ret, TEXT_MAX, "%.*f", cpus < 10 ? 2 : 1, cpus);
}

void metric_value_format(const MetricValue *value, char ret[static TEXT_MAX]) {
        char number[TEXT_MAX];
        bool is_plain = strcmp(value->unit, "1") == 0;

        if (strcmp(value->unit, "MiB") == 0) {
                text_mib(value->value, ret);
                return;
        }
        if (strcmp(value->unit, "bytes") == 0) {
                text_mib(value->value / 1048576, ret);
                return;
        }
        if (strcmp(value->unit, "h") == 0) {
                text_seconds(value->value * 3600, ret);
                return;
        }
        if (strcmp(value->unit, "s") == 0) {
                text_seconds(value->value, ret);
                return;
        }
        if (strcmp(value->unit, "cpus") == 0) {
                text_cpus(value->value, ret);
                return;
        }
        if (strcmp(value->unit, "%") == 0) {
                snprintf(ret, TEXT_MAX, "%.1f %%", value->value);
                return;
        }

        text_number(value->value, number);
        snprintf(ret, TEXT_MAX, "%.40s%s%.16s", number, is_plain ? "" : " ", is_plain ? "" : value->unit);
}

double number_find(const Value *from, const char *key) {
        double v;

        return value_get_double(from, key, &v) ? v : NAN;
}

double number_get(const Value *from, const char *key) {
        double v;

        return value_get_double(from, key, &v) ? v : 0;
}

uint64_t time_get(const Value *from, const char *key) {
        int64_t v;

        return value_get_int(from, key, &v) && v > 0 ? (uint64_t)v : 0;
}

const char *text_get(const Value *from, const char *key) {
        const char *text = value_get_string(from, key);

        return text ? text : "";
}
