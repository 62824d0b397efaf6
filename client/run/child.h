/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Child: a command in the foreground
 *
 * It gets our standard input, error and terminal, and our own signal mask and dispositions as
 * we found them. Signals sent to us alone are passed on; those that the terminal sends to all of
 * its foreground are not, since the command has them already. Without a capture it has our
 * standard output as well; with one, a pipe, of which everything is written on at once and as it is. Standard error likewise.
 *
 * A process that ends while nobody waits for it, since its parent ignores SIGCHLD, is in nobody's rusage.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/run/announcement.h"
#include "client/run/capture.h"
#include "client/run/output_tail.h"
#include "job/job.h"

/* Signal state that the command inherits unchanged. */
typedef struct ChildSignals {
        sigset_t mask;
        struct sigaction child;
        bool is_taken;
} ChildSignals;

/*
 * Blocks SIGCHLD and those of n signals that are not ignored: an ignored signal (nohup) stays ignored, since a blocked one would be
 * queued. Sets SIGCHLD to its default, since nobody can be waited for while SIGCHLD is ignored. *ret_set: the blocked signals.
 * 0 or a negative errno.
 */
int child_signals_take(const int *signals, size_t n, sigset_t *ret_set, ChildSignals *ret);
/* Restores the state in a new process. */
void child_signals_restore(const ChildSignals *signals);

typedef struct ChildPlan {
        Capture *capture;      /* of standard output; NULL: none */
        OutputTail *error;           /* of standard error; NULL: none */
        Announcement *announcement; /* that goes on meanwhile; NULL: none */
        ChildSignals *signals; /* that several runs, one after the other, have in common; NULL: it is the only one */
        bool adopts;       /* processes whose parents have ended become ours, as PR_SET_CHILD_SUBREAPER makes them */
        bool adds_up;      /* the end's rusage is of all that it started, not of the command alone; with `adopts` */
        bool waits;        /* for all that it started; with `adopts` */
} ChildPlan;

typedef struct ChildEnd {
        int status; /* as a shell shows it: 0…255, 126, 127, 128 + signal */
        int signal; /* 0: none */
        bool is_told; /* we were told to end, by SIGHUP, SIGINT, SIGQUIT or SIGTERM; so was the command */
        int output_error; /* errno of writing on what it printed; 0 also when its reader just went away */
        int exec_error; /* errno of an exec that failed; then there is no rusage */
        JobRusage rusage; /* added up: largest maxrss, sums, and the CPU time that what goes on has had until now */
        pid_t pump_pid; /* a process of ours that writes on what is left behind prints; 0: none */
} ChildEnd;

/*
 * Returns when it has ended and what it wrote has been written on, and with `waits` all that it started, too, unless a
 * signal tells us to end; the signals stay blocked then. 0 or a negative errno: then nothing was run.
 */
int child_run(char *const *command, const ChildPlan *plan, ChildEnd *ret);

/* Processes that the command started and that go on, as far as they were adopted. */
size_t child_count_left(const ChildEnd *end);

/* Prints why a command could not be executed: "NAME: command not found", "FILE: Permission denied". */
void child_print_exec_error(const char *file, int error);
