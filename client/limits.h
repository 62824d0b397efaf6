#pragma once

/*
 * Limits: what a command's own control group may use
 *
 * Written to the group that was made for it, and to none that others are in as well.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/enclosure.h"

typedef struct Limits {
        double cpus;           /* 0: no limit */
        uint64_t memory_bytes; /* 0: no limit */
} Limits;

#define LIMITS_EXPECTED "cpu=, memory= or both with a comma between, such as cpu=500m,memory=4Gi"

/* "cpu=500m,memory=4Gi"; from 10m and 1 MiB on. False: it is something else. */
bool limits_parse(const char *text, Limits *ret);

/* For the group that this process has just entered. What cannot be set is spoken of. */
void limits_apply(const Limits *limits, Enclosure kind);

/* The same of a group's directory: 0, or a negative errno with the first file that could not be written. */
int limits_write(const Limits *limits, int group_fd, const char **ret_file);
