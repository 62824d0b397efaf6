/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Descendants: processes below a process, and their CPU time
 *
 * For the case that a command leaves processes behind: how many, and the CPU time they had until now, which wait4(2)
 * does not tell before they end.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Descendants {
        size_t n_living;
        /* CPU time of these and of unreaped processes, including their reaped children. Ticks of _SC_CLK_TCK. */
        uint64_t user_ticks, system_ticks;
} Descendants;

/* Below `root`, without `except` and what is below that (0: nobody). proc_fd: /proc, or a captured one. 0 or a negative errno. */
int descendants_read(int proc_fd, pid_t root, pid_t except, Descendants *ret);
