/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Resource: what clients can make perfd hold or do
 *
 * RESOURCES(X) lists X(ID, name, unit, reserve_percent, floor): the name in messages, settings and metrics; the
 * unit; the part of the limit that only administrators can use; and the amount that a user can always use while the
 * resource has room. Jobs need no reserve, because administrators' jobs are not refused for those of users
 * (lifecycle.c).
 */

#define RESOURCES(X)                                                                       \
        X(CONNECTIONS, "connections", "connections", 4, 2)                                 \
        X(HTTP_CONNECTIONS, "http_connections", "connections", 4, 2)                       \
        X(INPUT, "input_size", "bytes of incomplete requests", 4, 65536)                        \
        X(REQUESTS, "requests", "bytes of unanswered requests", 4, 65536)                               \
        X(JOBS, "jobs", "running jobs", 0, 2)                                              \
        X(ANSWERS, "answers_size", "bytes of answers that were not read", 30, 1048576)     \
        X(QUERIES, "queries", "running or waiting queries", 4, 1)                          \
        X(STREAMS, "streams", "open streams of events", 4, 2)                              \
        X(MODELS, "models_size", "bytes of registered models", 4, 8192)                    \
        X(NAMES, "names", "names of indicators", 4, 1)                                     \
        X(SERIES, "series", "series of results", 4, 1)                                     \
        X(STORE, "max_size", "bytes of the database", 0, 0)

typedef enum Resource {
#define RESOURCE_ID(id, name, unit, reserve_percent, floor) RESOURCE_##id,
        RESOURCES(RESOURCE_ID)
#undef RESOURCE_ID
        N_RESOURCES,
} Resource;
