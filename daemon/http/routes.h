/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Routes: which path is answered by what
 *
 * The table says for every path what it is called, which query parameters it knows and which function
 * answers. All that can be refused for every path alike is refused here.
 */

#include <stddef.h>

#include "http/exchange.h"

typedef struct Route {
        const char *path;       /* "/api/v1/jobs/{id}": at most one {…}, one segment long */
        const char *parameters; /* names, separated by blanks; where, and a name that ends in [], may be given again and again */
        bool needs_snapshot;    /* 503 before the first */
        void (*answer)(Exchange *exchange);
} Route;

/* Borrowed, constant. */
const Route *routes_table(size_t *ret_n);

/* Answers the question: with what was asked for, or with the reason why not. */
void routes_answer(Exchange *exchange);
