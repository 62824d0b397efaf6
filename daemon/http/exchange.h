/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exchange: one request, the sources of the answer, and the response
 *
 * Independent of the HTTP library: http.c sets the request and the sources of the answer, a route writes the body.
 * Every error has the same JSON form: {"error":{"status":404,"message":"…"}}.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/asset.h"
#include "http/privacy.h"
#include "http/scrape.h"
#include "shares/shares.h"
#include "snapshot/snapshot.h"
#include "store/read/reader.h"
#include "util/buffer.h"

#define REQUEST_BYTES_MAX 2048U /* path and query, decoded */
#define SEGMENTS_MAX 8U
#define PARAMETERS_MAX 32U
#define EXCHANGE_NEXT_MAX 352U
#define ANSWER_BYTES_MAX (8U * 1024U * 1024U) /* before compression */

typedef enum ContentType {
        CONTENT_JSON,
        CONTENT_TEXT,
        CONTENT_HTML,
        CONTENT_CSV,
        CONTENT_METRICS_TEXT, /* Prometheus' text format 0.0.4 */
        CONTENT_OPENMETRICS,
        CONTENT_EVENTS,
} ContentType;

/* Appends the events since *position, initially 0, as text/event-stream; nothing: there is none. */
typedef void WriteEvent(const Snapshot *snapshot, uint64_t *position, Buffer *out);

typedef struct Parameter {
        const char *name, *value;
} Parameter;

/* Path, query and client of a request. */
typedef struct Target {
        bool is_read;   /* GET or HEAD */
        bool wants_html; /* the client is a browser */
        char text[REQUEST_BYTES_MAX];
        size_t n_text;
        const char *segments[SEGMENTS_MAX]; /* of the path, decoded; point into text */
        size_t n_segments;
        Parameter parameters[PARAMETERS_MAX]; /* of the query, decoded */
        size_t n_parameters;
        const char *argument; /* path segment that matched the {…} of the route */
        Viewer viewer;        /* the client: may see the private values of some users */
} Target;

/* Statistics of the HTTP server since start. */
typedef struct HttpStats {
        uint64_t n_requests_by_class[6]; /* [2]: 2xx … [5]: 5xx */
        uint64_t n_bytes_sent;
        uint64_t n_connections; /* open */
        uint64_t n_exhausted; /* failures to accept a connection for lack of descriptors or memory */
        uint64_t cpu_ns; /* CPU time spent on answering */
} HttpStats;

/* Data for the answer; all borrowed. */
typedef struct Sources {
        const Snapshot *snapshot; /* NULL before the first is published */
        Reader *reader; /* NULL: for routes that do not need the store */
        Shares *shares;
        bool is_ready;
        HttpStats http;
} Sources;

typedef struct Response {
        unsigned status;
        ContentType type;
        /* formats that the client accepts, and the beginning of an answer of /metrics; the body follows */
        Scrape scrape;
        Buffer *body;
        const Asset *file; /* the answer instead of the body, or NULL */
        WriteEvent *events; /* the answer is a stream of these; or NULL */
        char next[EXCHANGE_NEXT_MAX]; /* name of the following page, for a header; "": none */
        uint64_t query_timeout_ns;    /* time limit of queries of the store */
} Response;

/* Only http.c and routes.c have the whole: a function takes the parts that it uses. */
typedef struct Exchange {
        Target target;
        Sources sources;
        Response response;
} Exchange;

/* The node's part of the snapshot, or NULL. */
static inline const NodeSnapshot *exchange_node(const Sources *sources) {
        return sources->snapshot ? &sources->snapshot->node : NULL;
}

/* The uid of the client; -1: unknown. */
static inline int64_t exchange_uid(const Target *target) {
        return target->viewer.has_uid ? (int64_t)target->viewer.uid : -1;
}

/* Functions below return 0, or EXCHANGE_ANSWERED after they have written an error into the body. */
enum {
        EXCHANGE_ANSWERED = 1,
};

/* Status 200, an empty body of at most ANSWER_BYTES_MAX, and an empty request. */
void exchange_init(Exchange *exchange, Buffer *body);

/* Path and query parameters as received, percent-encoded. */
int exchange_set_path(Target *target, Response *response, const char *path);
int exchange_add_parameter(Target *target, Response *response, const char *name, const char *value);

/* Replaces the answer by an error. Always EXCHANGE_ANSWERED. */
int exchange_error(Response *response, unsigned status, const char *format, ...)
                __attribute__((format(printf, 3, 4)));
/* Replaces an answer that is not complete, because it is too large or memory is short, by an error. 0 or
 * EXCHANGE_ANSWERED. */
int exchange_check_body(Response *response);
/* The error for an outcome of the reader other than 0 and READER_END. */
int exchange_store_error(Response *response, int outcome);

/* Returns the value, or NULL if not given. */
const char *exchange_parameter(const Target *target, const char *name);
/* Sets *ret to `fallback` if the parameter is not given. */
int exchange_parameter_u64(const Target *target, Response *response, const char *name, uint64_t min, uint64_t max,
                           uint64_t fallback, uint64_t *ret);
int exchange_parameter_bool(const Target *target, Response *response, const char *name, bool *ret);
/* *ret: index of the value in the list, which ends with NULL; 0 if the parameter is not given. */
int exchange_parameter_word(const Target *target, Response *response, const char *name, const char *const *words,
                            int *ret);
/* Whether the parameter `format` asks for CSV instead of JSON. */
int exchange_parameter_is_csv(const Target *target, Response *response, bool *ret);
