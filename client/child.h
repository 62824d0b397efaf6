#pragma once

/*
 * Child: a command in the foreground
 *
 * It gets our standard input, error and terminal, and our own signal mask and dispositions as
 * we found them. Signals sent to us alone are passed on; those that the terminal sends to all of
 * its foreground are not, since the command has them already. Without a capture it has our
 * standard output as well; with one, a pipe, of which everything is written on at once and as it is.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "client/capture.h"

typedef struct ChildEnd {
        int status; /* as a shell shows it: 0…255, 126, 127, 128 + signal */
        int signal; /* 0: none */
        int output_error; /* errno of writing on what it printed; 0 also when its reader just went away */
        int exec_error; /* errno of an exec that failed; then there is no rusage */
        struct rusage rusage;
} ChildEnd;

/*
 * Returns when it has ended and what it wrote has been written on; the signals stay blocked then. 0 or a negative
 * errno: then nothing was run.
 */
int child_run(char *const *command, Capture *capture, ChildEnd *ret);
