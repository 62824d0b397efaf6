/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Routes: calls the function that answers a path
 *
 * Paths, query parameters and functions are in the tables of the subjects. What can be refused alike for every path is
 * refused here.
 */

#include <stddef.h>

#include "http/subject.h"

/* The i-th route of all subjects, or NULL. Borrowed, constant. */
const Route *routes_at(size_t i);

/* Answers the request, or says why not. */
void routes_answer(Exchange *exchange);
