/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Routes: calls the function that answers a path
 *
 * Paths, query parameters and functions are in the tables of the subjects. Errors that all paths have in common are
 * handled here.
 */

#include <stddef.h>

#include "http/subject.h"

/* The i-th route of all subjects, or NULL. Borrowed, constant. */
const Route *routes_at(size_t i);

/* Answers the request, or explains why not. 0, or ROUTES_NEEDS_STORE: nothing is written, since the answer needs a
 * reader and there is none. */
enum {
        ROUTES_NEEDS_STORE = 1,
};
int routes_answer(Exchange *exchange);
