/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack builder: collects packages into the document of a software stack, as described in lib/stack
 *
 * Texts are copied to the arena. After a failed allocation, later additions do nothing, and stack_builder_end()
 * reports it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator.h"
#include "util/arena.h"
#include "value/value.h"

#define STACK_BUILDER_HASHES_MAX 1024U /* of a package; further ones are left out */

/* A part of a text. */
typedef struct Slice {
        const char *text; /* NULL: none */
        size_t n;
} Slice;

/* A package under construction. */
typedef struct DraftPackage {
        Slice name, version, source, build;
        const char *kind;
        unsigned line; /* in its file; 0: unknown */
        Slice hashes[STACK_BUILDER_HASHES_MAX];
        size_t n_hashes;
} DraftPackage;

typedef struct StackBuilder {
        Arena *arena;    /* borrowed */
        Value *packages; /* owned */
        unsigned *lines; /* owned; of each package */
        size_t n, n_packages_allocated, n_lines_allocated;
        Slice base_image, package_manager, python;
        bool failed;
} StackBuilder;

Slice stack_builder_slice(const char *text); /* NULL: no slice */
/* Returns the value of the first line that begins with the key, such as "Name: "; no slice without one. */
Slice stack_builder_find_header(const char *text, const char *key);

void stack_builder_deinit(StackBuilder *stack);
/* Adds a package, unless its name is empty. */
void stack_builder_add(StackBuilder *stack, const DraftPackage *package);
/* Adds a package within the limit of a stack; a package with a text that is not UTF-8 is left out. */
void stack_builder_add_valid(StackBuilder *stack, const DraftPackage *package);
/* Makes the document. Returns 0 or -ENOMEM. */
int stack_builder_end(const StackBuilder *stack, const Value **ret);
