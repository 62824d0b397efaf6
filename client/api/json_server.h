/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON server: another program with a JSON API over HTTP, such as Prometheus and OpenSearch
 *
 * Answers are read whole. A server that cannot be reached is not asked again.
 */

#include <stdbool.h>

#include "client/api/http_client.h"
#include "util/arena.h"
#include "value/value.h"

#define JSON_SERVER_REASON_MAX 400

typedef struct JsonServer {
        HttpClient *client; /* owned; NULL: not opened */
        const char *url;    /* borrowed */
        Buffer body;
        Arena arena;
        const Value *answer; /* valid until the next request */
        bool is_away;
        char reason[JSON_SERVER_REASON_MAX]; /* of the last failure */
} JsonServer;

enum {
        JSON_SERVER_REFUSED = 1, /* HTTP status, or no JSON; `reason` has the text, and `answer` the JSON, or NULL */
        JSON_SERVER_AWAY,        /* cannot be reached */
};

/*
 * url: of the server; borrowed. variable: of the environment, which names a file with USER:PASSWORD. Returns 0, or
 * JSON_SERVER_AWAY. Call json_server_deinit() in all cases.
 */
int json_server_open(JsonServer *ret, const char *url, const char *variable, uint64_t timeout_ns);
void json_server_deinit(JsonServer *server);

/* Sends a request for a path, which begins with a slash. content: NULL: GET. 0, an outcome, or -ENOMEM. */
int json_server_ask(JsonServer *server, const char *path, const HttpContent *content);
