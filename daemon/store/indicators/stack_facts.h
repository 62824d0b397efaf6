/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack facts: facts of a software stack, by the keys of queries
 *
 *     stack                the first 16 digits of the digest
 *     base_image, os, python, package_manager
 *     package.NAME         the version of the package
 *     package.NAME.build   version, source, hash and build: two wheels of one version differ
 *
 * NAME is quoted if it ends with .build: package."x.build". Values of stacks that were looked up are kept, because
 * many results have few stacks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/indicators/stack_reader.h"
#include "store/read/reader.h"
#include "util/scoped.h"

typedef struct StackFacts StackFacts;

/* Reads within the query that the reader runs. 0 or -ENOMEM. */
int stack_facts_new(StackFacts **ret, Reader *reader);
StackFacts *stack_facts_free(StackFacts *facts);
DEFINE_SCOPED(StackFacts, stack_facts_free);

/* True if the key names a fact of a stack. */
bool stack_facts_has_key(const char *key);
/* Writes the name of the package of a key package.NAME or package.NAME.build. False for other keys. */
bool stack_facts_read_package(const char *key, Buffer *out);
/* Returns the value of a key that stack_facts_has_key(), borrowed until the next call; NULL: unknown, or
 * there was an error, which has ended the query of the reader. */
const char *stack_facts_get(StackFacts *facts, int64_t stack, const char *key);
/* Writes the value of package.NAME.build for a package: "2.1.0 https://…/simple sha256:0123456789ab cp38", with the
 * first digits of a hash, so that a query can name it. */
void stack_facts_put_build(const PackageRow *package, Buffer *out);
/* Returns the first error of a look-up: 0 or an outcome of reader.h. */
int stack_facts_error(const StackFacts *facts);
