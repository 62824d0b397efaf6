/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run stack: the software stack that the results of a run are stored with */

#include "request/request.h"
#include "util/arena.h"

typedef struct RunStack {
        Arena arena; /* memory of the document */
        SubmissionStack stack;
        bool is_known;
} RunStack;

/*
 * Reads the stack: a list of sources, or a lock file. words: as given by --stack; NULL: as in $PERFD_STACK, whose
 * errors do not prevent the run. program: of the command. Returns EXIT_DONE, or EXIT_USAGE after a message. Release
 * with run_stack_deinit() in all cases.
 */
int run_stack_read(const char *words, const char *program, RunStack *ret);
void run_stack_deinit(RunStack *stack);

/* Memory that run_stack_add_builds() takes in the arena at most. */
size_t run_stack_builds_size(const Value *stack);
/*
 * Returns a copy of the stack whose packages have as build how they were built, as the first document prints it that
 * has build information (build_info.h); or the stack itself if no document has any. 0 or -ENOMEM.
 */
int run_stack_add_builds(const Value *stack, const Value *const *documents, size_t n, Arena *arena, const Value **ret);
