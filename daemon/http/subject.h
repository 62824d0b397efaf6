/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Subject: the routes and collectors of one part of what perfd knows
 *
 * Each folder of http/ exports one Subject. subjects/subjects.c lists them all; nothing else here names one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "http/exchange.h"
#include "http/exposition.h"

/* Which function answers a path. */
typedef struct Route {
        const char *path;       /* "/api/v1/jobs/{id}": at most one {…}, one segment long */
        const char *parameters; /* names, separated by spaces; where and names that end in [] may be repeated */
        bool needs_snapshot;    /* 503 before the first snapshot */
        bool needs_store;       /* the answer reads the store, which may take long; the others are answered at once */
        void (*answer)(Exchange *exchange);
} Route;

/* Metrics for a value of collect[]; several collectors may share a name. */
typedef struct Collector {
        const char *name;
        bool is_on_request; /* not without collect[] */
        int (*collect)(Exposition *exposition, const Exchange *exchange); /* there is a snapshot; 0 or -ENOMEM */
} Collector;

/* The last row of each table is empty. */
typedef struct Subject {
        const Route *routes;
        const Collector *collectors; /* NULL: none */
} Subject;

/* All of them, in the order of /metrics; NULL is the end. */
extern const Subject *const subjects[];
