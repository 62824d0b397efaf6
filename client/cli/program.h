/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Program: runs other programs */

#include <stdbool.h>
#include <stdint.h>

#include "util/buffer.h"

typedef struct ProgramRun {
        char *const *words;       /* end with NULL */
        char *const *environment; /* NULL: that of this process */
        bool has_error_fd;        /* its standard error is error_fd, and otherwise that of this process */
        int error_fd;
        bool has_group;           /* all that it starts is in a group, which signals of the terminal do not reach */
        uint64_t timeout_ns;      /* for all; 0: without end */
} ProgramRun;

/*
 * Runs a program without input, where signals can end it, and waits for its end. out: its output, up to n_max; NULL:
 * goes to standard error. 0, -ETIME, -EFBIG, or another negative errno, as when it cannot be started; it runs no
 * longer then.
 */
int program_run(const ProgramRun *run, Buffer *out, int *ret_status);

/*
 * Runs a program of perfctl in place of this one: it is beside perfctl in a build, and in ../libexec/perfd once
 * installed. package: the one that has it, for the message. Returns only on failure: EXIT_FAILED after a message.
 */
int program_become(const char *program, const char *package, char *const *argv);
