/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stack reader: software stacks and their packages. */

#include "json/json_text.h"
#include "store/read/reader.h"

#define STACK_DIGEST_DIGITS 64U

typedef struct StackRow {
        int64_t id;
        const char *digest; /* STACK_DIGEST_DIGITS hexadecimal digits */
        uint64_t n_results, n_packages;
        JsonText facts; /* members of the stack other than its packages */
} StackRow;

/* Begins a query of stacks, the newest first; prefix: the first digits of the digest, in lower case, "" for all. 0
 * or an outcome of reader.h, as for all functions here. */
int stack_reader_list(Reader *reader, const char *prefix);
READER_NEXT(stack_reader_next, StackRow)

/* Unknown texts are empty. */
typedef struct PackageRow {
        const char *name, *kind, *version, *source, *hash, *build;
} PackageRow;

/* Begins a query of the packages of a stack, by name. */
int stack_reader_list_packages(Reader *reader, int64_t stack);
READER_NEXT(stack_reader_next_package, PackageRow)

/* Begins a query of the names of packages, each once; name: only this name, as it is or as stacks compare it; NULL:
 * all. */
int stack_reader_list_names(Reader *reader, const char *name);
/* *ret is borrowed until the next call. */
int stack_reader_next_name(Reader *reader, const char **ret);
