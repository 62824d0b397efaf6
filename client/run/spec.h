/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Spec: what an Amun specification asks a node to run
 *
 * perfctl runs the script of the specification on this node, with its environment and files, batch_size times, and
 * with the limits of run.requests. perfctl builds no images: members about images are listed as ignored.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cgroup/limits.h"
#include "util/buffer.h"
#include "value/value.h"

#define SPEC_BATCH_MAX 10000
#define SPEC_PATH_MAX 1000U /* bytes, below the directory of the run */

typedef struct SpecPair {
        const char *name; /* of a variable, or a file's relative path */
        const char *text;
} SpecPair;

/* Strings are borrowed from the Value of the specification. */
typedef struct Spec {
        const char *identifier; /* NULL: none */
        const char *script; /* text */
        SpecPair *variables; /* owned */
        size_t n_variables;
        SpecPair *files; /* owned */
        size_t n_files;
        int64_t batch_size;
        RunLimits limits;
        Buffer ignored_keys; /* owned; keys of ignored members, with commas between */
} Spec;

typedef struct SpecError {
        char text[512];
} SpecError;

enum {
        SPEC_WRONG = 1, /* the error has the reason and a fix */
};

/*
 * script: used instead of the script that the specification names; borrowed; NULL: that of the specification. *ret
 * must own
 * nothing. 0, SPEC_WRONG or -ENOMEM.
 */
int spec_read(const Value *value, const char *script, Spec *ret, SpecError *ret_error);
void spec_deinit(Spec *spec);

/* Returns true if a path stays below its directory: relative, without "..", and the name of a file. */
bool spec_path_is_below(const char *path);
