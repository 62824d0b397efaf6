/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Subject: routes and collectors of one part of perfd's data
 *
 * Each folder of http/ exports one Subject. subjects/subjects.c lists all of them; no other shared file names a
 * subject.
 */

#include <stdbool.h>

#include "http/exchange.h"
#include "http/format/exposition.h"

/* Path and the function that answers it. */
typedef struct Route {
        const char *path;       /* "/api/v1/jobs/{id}": at most one {…}, one segment long */
        const char *parameters; /* names, separated by spaces; `where` and names that end in [] may be repeated */
        bool needs_snapshot;    /* 503 before the first snapshot */
        bool needs_store;       /* the answer reads the store, which may take long; other answers are made at once */
        void (*answer)(const Target *target, const Sources *sources, Response *response);
} Route;

/* Writes metrics for a value of collect[]; several collectors may share a name. Has one of the functions. */
typedef struct Collector {
        const char *name;
        bool is_on_request; /* only if named in collect[] */
        void (*collect)(Exposition *exposition, const Snapshot *snapshot); /* scrapes share the text (http/scrape.h) */
        /* for what is not in the snapshot; called for each scrape */
        void (*collect_now)(Exposition *exposition, const Sources *sources);
} Collector;

#define ROUTES(...) (const Route[]){ __VA_ARGS__, {} }
#define COLLECTORS(...) (const Collector[]){ __VA_ARGS__, {} }

/* The last row of each table is empty. */
typedef struct Subject {
        const Route *routes;
        const Collector *collectors; /* NULL: none */
} Subject;

/* All subjects, in the order of /metrics; ends with NULL. */
extern const Subject *const subjects[];
