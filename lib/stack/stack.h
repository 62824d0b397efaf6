/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack: the software that a result was measured with
 *
 *     {"base_image": "…", "os": {"name": "rhel", "version": "8.2"}, "python": {"name": "cpython", "version": "3.6.8"},
 *      "package_manager": "pipenv", "build": {…}, "packages": [{"name": "tensorflow", "version": "2.1.0", "kind":
 *      "python",
 *      "source": "https://…/simple", "hash": "sha256:…", "build": "…"}, …]}
 *
 * All members may be absent. The canonical form of a stack has its members and packages in one order, so that two
 * documents of equal content have one text, whose SHA-256 is the digest of the stack. The order and repetition of
 * packages in a document do not matter.
 *
 * Names of Python packages are compared as PEP 503 says: Typing_Extensions is typing-extensions. A stack has one
 * version of a package of Python or conda; other package managers install several versions of a package side by
 * side.
 */

#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "json/json.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "util/sha256.h"
#include "value/value.h"

#define STACK_PACKAGES_MAX 50000U
#define STACK_TEXT_BYTES_MAX 1024U  /* of a name, a version or another text */
#define STACK_DIGEST_BYTES SHA256_BYTES

/* kind of a package that does not name one */
#define STACK_KIND_PYTHON "python"

/* Texts are borrowed from the document or live in the arena; NULL: unknown. */
typedef struct StackPackage {
        const char *name, *kind; /* not NULL */
        const char *version;
        const char *source; /* index or repository that the package came from */
        const char *hash;   /* "sha256:…"; of several (`hashes`): sha256s: and the SHA-256 of their sorted list */
        /* build of the version: conda's build string, the tag of a wheel, the build information of a framework */
        const char *build;
} StackPackage;

/* A system or an interpreter. */
typedef struct StackVersion {
        const char *name, *version; /* NULL: unknown */
} StackVersion;

typedef struct Stack {
        const char *base_image, *package_manager; /* NULL: unknown */
        StackVersion os, python;
        const Value *build;     /* object; NULL: none */
        StackPackage *packages; /* ordered by kind, name, version, source, hash and build, without repetitions */
        size_t n_packages;
} Stack;

enum {
        STACK_INVALID = 1,
};

/* Checks a document. *ret lives as long as the document and the arena. 0; STACK_INVALID with the first complaint; or
 * -ENOMEM: the arena is full. */
int stack_from_value(const Value *document, Arena *arena, Stack *ret, Complaint *ret_complaint);

/* Writes the canonical form, as JSON. 0 or -ENOMEM. */
int stack_put_canonical(const Stack *stack, Buffer *out);
/* Writes the canonical form without the packages: all other members of the stack. Returns 0 or -ENOMEM. */
int stack_put_facts(const Stack *stack, Buffer *out);
/* Computes the digest of a canonical form. */
void stack_digest(const Buffer *canonical, uint8_t ret[static STACK_DIGEST_BYTES]);

/* Writes the name as stacks compare it: of a Python package, in lower case and with one hyphen for each run of . -
 * and _. */
void stack_put_name(const char *name, const char *kind, Buffer *out);
/* Orders two packages: < 0, 0 or > 0. */
int stack_compare_packages(const StackPackage *a, const StackPackage *b);
