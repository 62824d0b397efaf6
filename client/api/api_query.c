/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"

#include <errno.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/wire/wire.h"
#include "document/value_parse.h"
#include "util/clock.h"

#define REQUEST_TIMEOUT_NS (10 * NS_PER_S)

int api_query_init(ApiQuery *query, const GlobalOptions *global) {
        int r;

        *query = (ApiQuery){};
        query->socket = http_client_path(global->http_socket, wire_path(global->socket));
        r = query->socket ? http_client_new(&query->client, query->socket, REQUEST_TIMEOUT_NS) : -ENOMEM;
        if (r == 0)
                return EXIT_DONE;

        if (r != -ENOPKG)
                return command_fail(r);
        message_print("this command needs libcurl.so.4, which is not installed (Debian: apt-get install libcurl4)");
        return EXIT_FAILED;
}

void api_query_deinit(ApiQuery *query) {
        http_client_freep(&query->client);
        free(query->socket);
        buffer_deinit(&query->body);
        arena_deinit(&query->arena);
}

static int parse_answer(ApiQuery *query) {
        ValueReader reader;
        ValueError error;
        int r;

        arena_deinit(&query->arena);
        r = arena_init(&query->arena, value_parse_arena_size(query->body.n));
        if (r < 0)
                return r;

        value_parse_begin(&reader, query->body.text ? query->body.text : "", query->body.n);
        return value_parse_next(&reader, &query->arena, &query->answer, &error);
}

static int refuse(const ApiQuery *query, unsigned status) {
        const char *message = answer_text(value_get(query->answer, "error"), "message");

        message_print("%s", message[0] ? message : "unexpected answer from perfd");
        return status == 503 ? EXIT_UNREACHABLE : EXIT_FAILED;
}

static void print_unreachable(const ApiQuery *query) {
        if (access(query->socket, F_OK) < 0)
                message_print("perfd is not running (no socket %s)", query->socket);
        else
                message_print("cannot connect to perfd at %s: %s", query->socket, http_client_error(query->client));
}

int api_query_try(ApiQuery *query, const char *path) {
        unsigned status = 0;
        int r;

        buffer_clear(&query->body);
        query->answer = NULL;
        r = http_client_get(query->client, path, &status, &query->body);
        if (r == HTTP_CLIENT_UNREACHABLE)
                return EXIT_UNREACHABLE;
        if (r == 0)
                r = parse_answer(query);
        if (r < 0)
                return command_fail(r);
        if (r > 0)
                query->answer = NULL;

        return r == 0 && status >= 200 && status < 300 ? EXIT_DONE : refuse(query, status);
}

int api_query_ask(ApiQuery *query, const char *path) {
        int r;

        r = api_query_try(query, path);
        if (r == EXIT_UNREACHABLE && !query->answer)
                print_unreachable(query);
        return r;
}

int api_query_open(ApiQuery *query, const GlobalOptions *global, const char *path) {
        int r;

        r = api_query_init(query, global);
        return r == EXIT_DONE ? api_query_ask(query, path) : r;
}

int api_query_check_job_id(const char *id) {
        if (indicator_name_is_valid(id, JOB_ID_MAX - 1))
                return EXIT_DONE;

        message_print("invalid job id '%.80s': expected 1 to 128 characters of [A-Za-z0-9_.:-]", id);
        return EXIT_USAGE;
}

int api_query_open_job(ApiQuery *query, const GlobalOptions *global, const char *id, const char *below) {
        char path[JOB_ID_MAX + 32];

        if (api_query_check_job_id(id) != EXIT_DONE)
                return EXIT_USAGE;

        snprintf(path, sizeof(path), "/api/v1/jobs/%s%s", id, below);
        return api_query_open(query, global, path);
}

const Value *api_query_node(ApiQuery *query, const Value *job) {
        const Value *on = value_get(job, "on");

        if (on && on->type == VALUE_OBJECT)
                return on;

        return api_query_try(query, "/api/v1/node") == EXIT_DONE ? query->answer : NULL;
}

int api_query_ask_text(ApiQuery *query, const char *path) {
        unsigned status = 0;
        int r;

        buffer_clear(&query->body);
        query->answer = NULL;
        r = http_client_get(query->client, path, &status, &query->body);
        if (r == 0 && status >= 200 && status < 300)
                return EXIT_DONE;
        if (r == HTTP_CLIENT_UNREACHABLE) {
                print_unreachable(query);
                return EXIT_UNREACHABLE;
        }
        if (r < 0)
                return command_fail(r);

        (void)parse_answer(query);
        return refuse(query, status);
}

int api_query_print_json(const ApiQuery *query) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen = { .out = &out };

        screen_json(&screen, query->body.text, query->body.n);
        if (out.n == 0 || out.text[out.n - 1] != '\n')
                buffer_putc(&out, '\n');
        return output_print(&out);
}
