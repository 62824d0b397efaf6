/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared reports: the reports of ended jobs in a directory of all nodes
 *
 * The epilog of Slurm writes, as the user of the job, UID/ID@NODE.json below $PERFD_REPORTS, and a script of the
 * controller state/ID.json, the final state of the job. All users can create names in the directory: what is not a
 * file of the user in a directory of the same user, named after this user, is not read, and links are not followed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/buffer.h"
#include "value/value.h"

/* Returns $PERFD_REPORTS; NULL if it is not set. */
const char *shared_reports_directory(void);

/* Names of files, sorted: the newest job first, its nodes by name. */
typedef struct SharedReports {
        int directory_fd, user_fd; /* -1: none */
        uid_t uid;
        char **names; /* owned */
        size_t n;
} SharedReports;

#define SHARED_REPORTS_NONE ((SharedReports){ .directory_fd = -1, .user_fd = -1 })

/*
 * Finds the reports of a user. job: NULL for those of all jobs; otherwise the id in perfd, or the name that Slurm
 * gives: 4711, 5000_7, 5000+1, for the newest run of this job. Call shared_reports_deinit() in all cases. Returns 0
 * with n = 0 if there is none, or a negative errno.
 */
int shared_reports_find(SharedReports *reports, const char *directory, uid_t uid, const char *job);
/* As above, for the first user with reports of the job whose files this user may read: this user, then all others. */
int shared_reports_find_any(SharedReports *reports, const char *directory, const char *job);
void shared_reports_deinit(SharedReports *reports);

/*
 * Reads a report as printed by perfctl report --json, with the final state of the job, where it is known, as its
 * member "slurm". False if it cannot be read.
 */
bool shared_reports_read(const SharedReports *reports, size_t i, Buffer *ret);
/* Returns the number of names from i on that belong to the same job. */
size_t shared_reports_count_nodes(const SharedReports *reports, size_t i);
