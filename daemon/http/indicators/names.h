/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names: keys of results, in the order in which they were added, each once */

#include <stdbool.h>
#include <stddef.h>

#define NAMES_MAX 256U

typedef struct Names {
        char *items[NAMES_MAX]; /* owned */
        size_t n;
} Names;

void names_deinit(Names *names);
bool names_has(const Names *names, const char *name);
/* Adds a copy, unless the name is empty or known, or the list is full. 0 or -ENOMEM. */
int names_add(Names *names, const char *name);
