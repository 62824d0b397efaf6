/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Group ledger: what each process group of a job has used, from one reading to the next
 *
 * The usage of a group never decreases: what a process had used stays with its group when the process ends or changes its group. The
 * kernel adds the usage of a child to its parent when the parent waits for it; the part that is in the ledger already is not counted again.
 * What a process used after its last reading, and a child that lived between two readings, count for the group of the parent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/processes/cgroup_members.h"
#include "client/processes/process_usage.h"

#define LEDGER_ENDED_MAX 1000U /* groups without a process; beyond it, the oldest are added up */

#define LEDGER_GROUP_SUM (-1) /* the groups that ended first, together */

typedef struct LedgerGroup {
        pid_t id; /* or LEDGER_GROUP_SUM; 0: a group of another pid namespace */
        char name[PROCESS_NAME_MAX]; /* of the leader, or of the first process if the leader was never read */
        bool has_leader;             /* is running */
        bool is_ended;               /* has no process */
        ProcessRank rank;            /* of the first process that has one */
        bool has_ranks;              /* processes have different ranks */
        uint64_t n_processes;

        int64_t carried[N_USAGE_COUNTERS]; /* added to the usage of the processes that are there */
        uint64_t total[N_USAGE_COUNTERS], last[N_USAGE_COUNTERS]; /* of this reading and the one before */
        uint64_t rss_bytes, pss_bytes, private_bytes;
        int io_error, pages_error;   /* errno of a process; then the sums are not known */
        int lost_error;              /* io_error of a process that has ended */
} LedgerGroup;

typedef struct LedgerProcess {
        ProcessUsage usage;
        LedgerGroup *group;
        bool is_heir;    /* may have taken over the usage of children */
        bool is_dropped; /* ended while the reading was taken */
        uint64_t owed[N_USAGE_COUNTERS]; /* of ended processes, which the growth of `taken` may include */
        uint64_t paid[N_USAGE_COUNTERS]; /* part of the growth that is of such processes */
} LedgerProcess;

typedef struct LedgerReading {
        LedgerProcess *items; /* owned; by pid */
        size_t n, n_allocated;
} LedgerReading;

typedef struct GroupLedger {
        int proc_fd; /* borrowed */
        bool reads_pages;
        LedgerReading now, before;
        LedgerGroup **groups; /* owned, each; in the order in which they were found */
        size_t n_groups, n_groups_allocated;
        uint64_t n_readings;
        uint64_t n_hidden; /* processes of the newest reading that /proc does not show */
} GroupLedger;

void group_ledger_deinit(GroupLedger *ledger);

/* Reads the processes. Returns 0 or a negative errno. */
int group_ledger_update(GroupLedger *ledger, const CgroupMembers *members);
