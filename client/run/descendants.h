/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Descendants: processes below a process, and their CPU time
 *
 * Counts the processes that a command leaves behind, and their CPU time until now, which wait4(2) does not report
 * before they end.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Descendants {
        size_t n_living;
        /* CPU time of living and unreaped processes, including their reaped children. Ticks of _SC_CLK_TCK. */
        uint64_t user_ticks, system_ticks;
} Descendants;

/* Reads the processes below `root`, without `except` and its descendants (0: none). proc_fd: /proc. 0 or a negative
 * errno. */
int descendants_read(int proc_fd, pid_t root, pid_t except, Descendants *ret);
