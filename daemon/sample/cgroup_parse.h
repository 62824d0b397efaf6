/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The texts of control groups
 *
 * Every file of a group has its number here, v2's and v1's alike; both say the same things in
 * different units, and a CgroupSample has v2's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/cgroup_sample.h"

typedef enum CgroupFile {
        CGROUP_FILE_CPU_STAT,
        CGROUP_FILE_CPU_MAX,
        CGROUP_FILE_CPUSET,
        CGROUP_FILE_MEMORY_CURRENT,
        CGROUP_FILE_MEMORY_PEAK,
        CGROUP_FILE_MEMORY_MAX,
        CGROUP_FILE_MEMORY_EVENTS,
        CGROUP_FILE_IO_STAT,
        CGROUP_FILE_PIDS,
        CGROUP_FILE_CPU_PRESSURE,
        CGROUP_FILE_MEMORY_PRESSURE,
        CGROUP_FILE_IO_PRESSURE,
        /* v1 */
        CGROUP_FILE_V1_CPU_USAGE,
        CGROUP_FILE_V1_CPU_MODES,
        CGROUP_FILE_V1_THROTTLING,
        CGROUP_FILE_V1_QUOTA,
        CGROUP_FILE_V1_PERIOD,
        CGROUP_FILE_V1_CPUSET,
        CGROUP_FILE_V1_MEMORY,
        CGROUP_FILE_V1_MEMORY_PEAK,
        CGROUP_FILE_V1_MEMORY_LIMIT,
        CGROUP_FILE_V1_OOM,
        CGROUP_FILE_V1_FAILURES,
        CGROUP_FILE_V1_IO_BYTES,
        CGROUP_FILE_V1_IO_COUNTS,
        CGROUP_FILE_V1_PIDS,
        N_CGROUP_FILES,
} CgroupFile;

/* Fills the file's fields and says so in ret->have; TEXT_MALFORMED leaves *ret alone. Not for the files of disks.
 * Where v1 has two files for a part, each of them sets its bit: the caller knows whether both were read. */
int cgroup_parse_file(CgroupFile file, const char *text, CgroupSample *ret);

/* One device's line of io.stat, or of blkio's files: these have one number a line. */
typedef struct CgroupIo {
        uint64_t major, minor;
        uint64_t read_bytes, write_bytes, reads, writes;
} CgroupIo;

enum {
        CGROUP_TEXT_END = 100, /* nothing further in the text */
};

/* The next device, past which *p moves. 0, CGROUP_TEXT_END or TEXT_MALFORMED: then *p is not to be used any more. */
int cgroup_parse_next_io(CgroupFile file, const char **p, CgroupIo *ret);

/* A line of proc/PID/cgroup: "4:cpu,cpuacct:/path". Neither is NUL-terminated. */
typedef struct CgroupLine {
        const char *controllers, *path; /* v2: no controllers */
        size_t n_controllers, n_path;
} CgroupLine;

/* 0, CGROUP_TEXT_END or TEXT_MALFORMED. */
int cgroup_parse_next_line(const char **p, CgroupLine *ret);

/* Whether the text of cgroup.events says that the group has processes, or does not say. */
bool cgroup_parse_populated(const char *text);
