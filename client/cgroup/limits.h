/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits: resource limits of the command's control group
 *
 * The limits are written only to a group that was made for the command.
 */

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

typedef struct RunLimits {
        double cpus;           /* 0: no limit */
        uint64_t memory_bytes; /* 0: no limit; with a limit, no swap either, as for a container of Kubernetes */
} RunLimits;

/* The kernel accepts quotas of a millisecond or more. */
static inline bool limit_cpus_is_valid(double cpus) {
        return cpus >= 0.01 && cpus <= 1e6;
}

static inline bool limit_memory_is_valid(uint64_t bytes) {
        return bytes >= UINT64_C(1) << 20 && bytes <= INT64_MAX;
}

static inline bool limits_are_set(const RunLimits *limits) {
        return limits->cpus > 0 || limits->memory_bytes > 0;
}

#define LIMITS_EXPECTED "cpu=, memory= or both with a comma between, such as cpu=500m,memory=4Gi"

#define LIMITS_ERROR_MAX 256
/* Parses "cpu=500m,memory=4Gi"; from 10m and 1 MiB on. Returns false for other texts, with the expected form. */
bool limits_parse(const char *text, RunLimits *ret, char ret_error[static LIMITS_ERROR_MAX]);

/* Applies limits to the group that this process has just entered, and reports those that fail. reason: why there is
 * no group, or "". */
void limits_apply(const RunLimits *limits, Isolation kind, const char *reason);

/* Applies limits to the group of a directory. 0, or a negative errno with the files that could not be written. */
int limits_write(const RunLimits *limits, int group_fd, const char **ret_file);

/* Number of processes that the OOM killer has killed in the group of this process; 0 if unknown. */
uint64_t limits_count_kills(void);
/* Reads the number of OOM kills from the text of memory.events. */
uint64_t limits_parse_kills(const char *text);
