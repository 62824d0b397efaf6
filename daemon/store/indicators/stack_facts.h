/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack facts: what a software stack says, by the keys of queries
 *
 *     stack                the first 16 digits of the digest
 *     base_image, os, python, package_manager
 *     package.NAME         the version of the package
 *     package.NAME.build   version, source, hash and build: two wheels of one version differ
 *
 * NAME is quoted where it ends with .build: package."x.build". Values of stacks that were looked up are kept, because many results
 * have few stacks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/reader.h"
#include "util/scoped.h"

typedef struct StackFacts StackFacts;

/* Reads within the query that the reader runs. 0 or -ENOMEM. */
int stack_facts_new(StackFacts **ret, Reader *reader);
StackFacts *stack_facts_free(StackFacts *facts);
DEFINE_SCOPED(StackFacts, stack_facts_free);

/* True if the key names a fact of a stack. */
bool stack_facts_has_key(const char *key);
/* Returns the value of a key that stack_facts_has_key(), borrowed until the next call; NULL: unknown, or an error. */
const char *stack_facts_get(StackFacts *facts, int64_t stack, const char *key);
/* Returns the first error of a look-up: 0 or an outcome of reader.h. */
int stack_facts_error(const StackFacts *facts);
