/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Process usage: the counters of one process, from /proc
 *
 * stat of any process can be read; io, smaps_rollup and environ only by its user, if the process has not changed its credentials.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NAME_MAX 64U

/* Counters that a parent takes over from a child for which it waits. */
typedef enum UsageCounter {
        USAGE_CPU,     /* ticks of _SC_CLK_TCK */
        USAGE_READ,    /* bytes from disks */
        USAGE_WRITTEN, /* bytes to disks */
        N_USAGE_COUNTERS,
} UsageCounter;

typedef struct ProcessUsage {
        pid_t pid, parent, group;
        uint64_t start_ticks; /* since boot; with the pid, identifies the process */
        bool is_zombie;       /* has ended, and its parent has not waited for it */
        char name[PROCESS_NAME_MAX];

        uint64_t used[N_USAGE_COUNTERS]; /* by the process and the children for which it waited */
        /* Grows by the usage of each child for which the process waits. The kernel adds their I/O to that of the process. */
        uint64_t taken[N_USAGE_COUNTERS];
        uint64_t rss_bytes, pss_bytes, private_bytes;
        int io_error;    /* errno; 0: the I/O is known */
        int pages_error; /* of pss_bytes and private_bytes; ENODATA: not requested */
} ProcessUsage;

typedef enum UsageParts {
        USAGE_STAT,  /* no I/O: for a look whether the process is there */
        USAGE_IO,
        USAGE_PAGES, /* with I/O, PSS and private bytes: the kernel walks through all pages */
} UsageParts;

enum {
        PROCESS_USAGE_GONE = 1, /* there is no process of this pid */
};

/* proc_fd: /proc. Returns 0, PROCESS_USAGE_GONE, or a negative errno. */
int process_usage_read(int proc_fd, pid_t pid, UsageParts parts, ProcessUsage *ret);

/* Variables with ranks; the first that is set counts. -1: none of them, or the environment cannot be read. */
typedef struct ProcessRank {
        int64_t rank, local_rank;
} ProcessRank;

/* Reads the environment that the program of the process was started with. */
ProcessRank process_usage_read_rank(int proc_fd, pid_t pid);
