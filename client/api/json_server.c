/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/json_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error_text.h"
#include "value/value_parse.h"

static int be_away(JsonServer *server, const char *what, const char *why) {
        server->is_away = true;
        (void)snprintf(server->reason, sizeof(server->reason), "%.150s: %.200s", what, why);
        return JSON_SERVER_AWAY;
}

int json_server_open(JsonServer *ret, const char *url, const char *variable, uint64_t timeout_ns) {
        const char *login = getenv(variable);
        int r;

        *ret = (JsonServer){ .url = url };
        r = http_client_new(&ret->client, NULL, timeout_ns);
        if (r < 0)
                return be_away(ret, "libcurl.so.4", r == -ENOPKG ? dlerror() ?: "" : error_text(-r));
        r = login && *login ? http_client_set_login(ret->client, login) : 0;
        return r < 0 ? be_away(ret, login, error_text(-r)) : 0;
}

void json_server_deinit(JsonServer *server) {
        http_client_freep(&server->client);
        buffer_deinit(&server->body);
        arena_deinit(&server->arena);
}

/* Prometheus has a text, OpenSearch an object with its reason. */
static const char *error_of(const Value *answer) {
        const Value *error = value_get(answer, "error");

        return value_get_string(answer, "error") ?: value_get_string(error, "reason") ?: "without a reason";
}

int json_server_ask(JsonServer *server, const char *path, const HttpContent *content) {
        scoped(buffer_deinit) Buffer url = {};
        size_t n = strlen(server->url);
        ValueError error;
        unsigned status;
        int r;

        if (server->is_away)
                return JSON_SERVER_AWAY;
        buffer_clear(&server->body);
        arena_deinit(&server->arena);
        server->answer = NULL;
        buffer_printf(&url, "%.*s%s", (int)(n - (server->url[n - 1] == '/')), server->url, path);
        r = buffer_error(&url);
        if (r == 0)
                r = http_client_send(server->client, url.text, content, &status, &server->body);
        if (r == HTTP_CLIENT_UNREACHABLE)
                return be_away(server, server->url, http_client_error(server->client));
        if (r < 0)
                return r;
        r = value_parse_only(server->body.text, server->body.n, &server->arena, &server->answer, &error);
        if (r < 0)
                return r;
        server->answer = r == 0 ? server->answer : NULL;
        if (server->answer && status >= 200 && status < 300)
                return 0;
        (void)snprintf(server->reason, sizeof(server->reason), "%.150s: HTTP status %u: %.200s", server->url, status,
                       server->answer ? error_of(server->answer) : "the answer is no JSON");
        return JSON_SERVER_REFUSED;
}
