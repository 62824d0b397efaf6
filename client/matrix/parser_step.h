/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parser step: a program of the site that prints the values of a test
 *
 * The program gets the absolute path of the test's directory as its last argument, and prints one JSON object.
 */

#include <stdint.h>

#include "client/matrix/findings.h"
#include "util/arena.h"
#include "value/value.h"

#define PARSER_STEP_BYTES_MAX (16U * 1024U * 1024U)

/*
 * Runs the program. words: of its command line, a list of texts. *ret is an object in the arena, or NULL after a
 * finding. arena: empty; to be deinitialized in all cases. 0 or a negative errno.
 */
int parser_step_run(const Value *words, const char *directory, const char *name, uint64_t timeout_ns, Arena *arena,
                    const Value **ret, Findings *findings);
