/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Child: a command in the foreground
 *
 * The command inherits standard input, the terminal, and the signal mask and dispositions with which this process
 * was started. Signals sent to this process alone are passed on; signals that the terminal sends to its foreground
 * are not, since the command gets them too. Without a capture, the command writes to our standard output itself;
 * with a capture, it writes to a pipe, whose content is passed on at once and unchanged. The same holds for standard
 * error.
 *
 * The kernel counts a process whose parent ignores SIGCHLD in no rusage.
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
 * Blocks SIGCHLD and those of n signals that are not ignored: an ignored signal (nohup) stays ignored, since a
 * blocked one would be queued. Sets SIGCHLD to its default, since nobody can be waited for while SIGCHLD is ignored.
 * *ret_set: the blocked signals. 0 or a negative errno.
 */
int child_signals_take(const int *signals, size_t n, sigset_t *ret_set, ChildSignals *ret);
/* Restores the state in a new process. */
void child_signals_restore(const ChildSignals *signals);

typedef struct ChildPlan {
        Capture *capture;      /* of standard output; NULL: none */
        OutputTail *error;           /* of standard error; NULL: none */
        Announcement *announcement; /* continues while the command runs; NULL: none */
        ChildSignals *signals; /* shared by several runs, one after the other; NULL: there is only one run */
        bool adopts;       /* processes whose parents have ended become our children (PR_SET_CHILD_SUBREAPER) */
        bool adds_up;      /* the rusage includes all processes that the command started; requires `adopts` */
        bool waits;        /* for all processes that the command started; requires `adopts` */
} ChildPlan;

typedef struct ChildEnd {
        int status; /* as a shell shows it: 0…255, 126, 127, 128 + signal */
        int signal; /* 0: none */
        bool is_told; /* this process and the command were sent SIGHUP, SIGINT, SIGQUIT or SIGTERM */
        int output_error; /* errno of passing on the output; 0 also when the reader only went away */
        int exec_error; /* errno of an exec that failed; then there is no rusage */
        bool is_rusage_partial; /* the rusage lacks processes, or has CPU time in clock ticks */
        JobRusage rusage; /* largest maxrss, and sums, with the CPU time until now of processes that still run */
        pid_t pump_pid; /* our process that passes on the output of remaining processes; 0: none */
} ChildEnd;

/*
 * Returns when the command has ended and its output has been passed on; with `waits`, when all processes that it
 * started have ended, unless a signal ends the wait. The signals stay blocked. 0, or a negative errno if nothing was
 * run.
 */
int child_run(char *const *command, const ChildPlan *plan, ChildEnd *ret);

/* Adds the usage of a further process or run: the larger of the sizes, and the sums of the rest. */
void child_add_rusage(JobRusage *to, const JobRusage *more);

/* Returns the number of adopted processes that the command started and that still run. */
size_t child_count_left(const ChildEnd *end);

/* Prints why a command could not be executed: "NAME: command not found", "FILE: Permission denied". */
void child_print_exec_error(const char *file, int error);

/*
 * Descendants: processes below a process, and their CPU time
 *
 * Counts the processes that a command leaves behind, and their CPU time until now, which wait4(2) does not report
 * before they end.
 */

typedef struct Descendants {
        size_t n_living;
        /* CPU time of living and unreaped processes, including their reaped children. Ticks of _SC_CLK_TCK. */
        uint64_t user_ticks, system_ticks;
} Descendants;

/* Reads the processes below `root`, without `except` and its descendants (0: none). proc_fd: /proc. 0 or a negative
 * errno. */
int child_read_descendants(int proc_fd, pid_t root, pid_t except, Descendants *ret);
