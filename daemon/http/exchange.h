/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exchange: one question and its answer
 *
 * Free of the HTTP library's types: http.c says what was asked and what it may be answered
 * from, a route writes the answer into the body. Whatever goes wrong becomes one JSON error:
 * {"error":{"status":404,"message":"…"}}.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/http_stats.h"
#include "snapshot/snapshot.h"
#include "store/reader.h"
#include "util/buffer.h"

#define REQUEST_BYTES_MAX 2048U /* path and query, decoded */
#define SEGMENTS_MAX 8U
#define PARAMETERS_MAX 32U

typedef enum ContentType {
        CONTENT_JSON,
        CONTENT_TEXT,
        CONTENT_HTML,
        CONTENT_CSV,
        CONTENT_METRICS_TEXT, /* Prometheus' text format 0.0.4 */
        CONTENT_OPENMETRICS,
} ContentType;

typedef struct Parameter {
        const char *name, *value;
} Parameter;

typedef struct Exchange {
        /* the question */
        bool is_read;   /* GET or HEAD */
        bool wants_openmetrics;
        char text[REQUEST_BYTES_MAX];
        size_t n_text;
        const char *segments[SEGMENTS_MAX]; /* of the path, decoded; point into text */
        size_t n_segments;
        Parameter parameters[PARAMETERS_MAX]; /* of the query, decoded */
        size_t n_parameters;
        const char *argument; /* what stood in the place of the route's {…} */

        /* what it may be answered from; all borrowed */
        const Snapshot *snapshot; /* NULL before the first was published */
        Reader *reader;
        uint64_t query_timeout_ns;
        bool is_ready;
        HttpStats http;

        /* the answer */
        unsigned status;
        ContentType type;
        Buffer *body;
} Exchange;

/* The node's part of the snapshot, or NULL. */
static inline const NodeSnapshot *exchange_node(const Exchange *exchange) {
        return exchange->snapshot ? &exchange->snapshot->node : NULL;
}

/* Every function below that can refuse returns 0, or EXCHANGE_ANSWERED: the error is in the body already. */
enum {
        EXCHANGE_ANSWERED = 1,
};

/* A 200 with no body yet, to a question not yet asked. */
void exchange_init(Exchange *exchange, Buffer *body);

/* Path and query parameters as they stood on the wire, still percent-encoded. */
int exchange_set_path(Exchange *exchange, const char *path);
int exchange_add_parameter(Exchange *exchange, const char *name, const char *value);

/* Replaces whatever was written so far. Always EXCHANGE_ANSWERED. */
int exchange_error(Exchange *exchange, unsigned status, const char *format, ...)
                __attribute__((format(printf, 3, 4)));
/* The error for an outcome of the reader other than 0 and READER_END. */
int exchange_store_error(Exchange *exchange, int outcome);

/* The value, or NULL when it was not given. */
const char *exchange_parameter(const Exchange *exchange, const char *name);
/* *ret is `fallback` when it was not given. */
int exchange_parameter_u64(Exchange *exchange, const char *name, uint64_t min, uint64_t max,
                           uint64_t fallback, uint64_t *ret);
int exchange_parameter_bool(Exchange *exchange, const char *name, bool *ret);
