/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP client: requests over perfd's Unix socket; the only user of libcurl
 *
 * libcurl is loaded for the first request. If linked, it would load some forty libraries
 * into every `perfctl submit` and `perfctl run`, which send no HTTP request.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "util/scoped.h"

typedef struct HttpClient HttpClient;

/* Path of the socket: `given`, else $PERFD_HTTP_SOCKET, else http.sock beside `socket`. Caller frees; NULL: out of memory. */
char *http_client_path(const char *given, const char *socket);

/* socket: path, copied. 0, -ENOMEM, or -ENOPKG: there is no libcurl here. */
int http_client_new(HttpClient **ret, const char *socket, uint64_t timeout_ns);
HttpClient *http_client_free(HttpClient *client);
DEFINE_SCOPED(HttpClient, http_client_free);

/* Sets the timeout of each following request. */
void http_client_allow(HttpClient *client, uint64_t timeout_ns);

enum {
        HTTP_CLIENT_UNREACHABLE = 1, /* http_client_error() says why */
};

/* GET of a path with its query. 0: *ret_status is HTTP's, the body is appended to `body`. Keeps the connection for the next. */
int http_client_get(HttpClient *client, const char *path, unsigned *ret_status, Buffer *body);
const char *http_client_error(const HttpClient *client);
