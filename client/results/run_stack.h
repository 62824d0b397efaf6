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
 * Reads the stack: a list of sources, or a lock file. words: as given by --stack; NULL: as in $PERFD_STACK, whose errors do not
 * prevent the run. program: of the command. Returns EXIT_DONE, or EXIT_USAGE after a message. Release with run_stack_deinit() in all cases.
 */
int run_stack_read(const char *words, const char *program, RunStack *ret);
void run_stack_deinit(RunStack *stack);
