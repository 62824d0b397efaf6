/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP client: requests over perfd's Unix socket, and to other servers; the only user of libcurl
 *
 * libcurl is loaded with dlopen() at the first request. Linking it would load some forty libraries into every
 * `perfctl submit` and `perfctl run`, which send no HTTP requests.
 */

#include <stdint.h>

#include "util/buffer.h"
#include "util/scoped.h"

typedef struct HttpClient HttpClient;

/*
 * Returns the path of the socket: `given`, else $PERFD_HTTP_SOCKET, else http.sock in the directory of `socket`.
 * Caller frees; NULL if out of memory.
 */
char *http_client_path(const char *given, const char *socket);

/* socket: path, copied; NULL: requests have URLs in place of paths. Returns 0, -ENOMEM, or -ENOPKG if libcurl cannot
 * be loaded: dlerror() has the reason. */
int http_client_new(HttpClient **ret, const char *socket, uint64_t timeout_ns);
HttpClient *http_client_free(HttpClient *client);
DEFINE_SCOPED(HttpClient, http_client_free);

/* Sets the timeout of each later request. */
void http_client_set_timeout(HttpClient *client, uint64_t timeout_ns);
/* Ends each later request that takes longer than a moment once the descriptor is readable: HTTP_CLIENT_UNREACHABLE. */
void http_client_set_wake(HttpClient *client, int fd);

/* Sets the content of a file, USER:PASSWORD, as the credentials of each later request. 0 or a negative errno. */
int http_client_set_login(HttpClient *client, const char *file);

enum {
        HTTP_CLIENT_UNREACHABLE = 1, /* http_client_error() has the reason */
};

/*
 * Sends a GET request for a path with its query. On 0, *ret_status is the HTTP status and the body is appended to
 * `body`. The connection stays open for the next request.
 */
int http_client_get(HttpClient *client, const char *path, unsigned *ret_status, Buffer *body);
/* Content of a request; borrowed. */
typedef struct HttpContent {
        const char *method; /* "POST" or "PUT" */
        const char *type;   /* such as "application/json" */
        const Buffer *body;
} HttpContent;

/* As http_client_get(), with content. */
int http_client_send(HttpClient *client, const char *path, const HttpContent *content, unsigned *ret_status,
                     Buffer *body);
const char *http_client_error(const HttpClient *client);
