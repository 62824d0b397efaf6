/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parsers for the files of control groups
 *
 * Each file of v2 and of v1 has a number here. The files of both versions contain the same values in different units;
 * CgroupSample uses those of v2.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/cgroup_sample.h"

typedef enum CgroupFile {
        CGROUP_FILE_CPU_STAT,
        CGROUP_FILE_CPU_STAT_LOCAL,
        CGROUP_FILE_CPU_MAX,
        CGROUP_FILE_CPUSET,
        CGROUP_FILE_MEMORY_CURRENT,
        CGROUP_FILE_MEMORY_PEAK,
        CGROUP_FILE_MEMORY_STAT,
        CGROUP_FILE_MEMORY_MAX,
        CGROUP_FILE_MEMORY_EVENTS,
        CGROUP_FILE_IO_STAT,
        CGROUP_FILE_PIDS,
        CGROUP_FILE_CPU_PRESSURE,
        CGROUP_FILE_MEMORY_PRESSURE,
        CGROUP_FILE_IO_PRESSURE,
        CGROUP_FILE_IRQ_PRESSURE,
        /* v1 files from here on */
        CGROUP_FILE_V1_CPU_USAGE,
        CGROUP_FILE_V1_CPU_MODES,
        CGROUP_FILE_V1_THROTTLING,
        CGROUP_FILE_V1_QUOTA,
        CGROUP_FILE_V1_PERIOD,
        CGROUP_FILE_V1_CPUSET,
        CGROUP_FILE_V1_MEMORY,
        CGROUP_FILE_V1_MEMORY_PEAK,
        CGROUP_FILE_V1_MEMORY_STAT,
        CGROUP_FILE_V1_MEMORY_LIMIT,
        CGROUP_FILE_V1_OOM,
        CGROUP_FILE_V1_FAILURES,
        CGROUP_FILE_V1_IO_BYTES,
        CGROUP_FILE_V1_IO_COUNTS,
        CGROUP_FILE_V1_PIDS,
        N_CGROUP_FILES,
} CgroupFile;

/*
 * Parses a file into its fields and sets the bits of its parts in ret->have; TEXT_MALFORMED leaves *ret unchanged.
 * Not for files of disks. If a v1 part has two files, each sets the bit: the caller checks that both were read.
 */
int cgroup_parse_file(CgroupFile file, const char *text, CgroupSample *ret);

/* A device of io.stat, or a line of blkio's files, which have one number per line. */
typedef struct CgroupIo {
        uint64_t major, minor;
        uint64_t read_bytes, write_bytes, reads, writes;
} CgroupIo;

/* Outcomes of the walks below. */
enum {
        CGROUP_TEXT_END = 1,
        CGROUP_TEXT_MALFORMED, /* of a device: *p is after the line; else invalid */
};

/* Parses the next device and advances *p. Returns 0 or an outcome. */
int cgroup_parse_next_io(CgroupFile file, const char **p, CgroupIo *ret);

/* A line of proc/PID/cgroup: "4:cpu,cpuacct:/path". The texts are not NUL-terminated. */
typedef struct CgroupLine {
        const char *controllers, *path; /* controllers: empty in v2 */
        size_t n_controllers, n_path;
} CgroupLine;

/* Returns 0 or an outcome. */
int cgroup_parse_next_line(const char **p, CgroupLine *ret);

/*
 * Returns true if the text of cgroup.events says that the group has processes, or does not contain this information.
 */
bool cgroup_parse_populated(const char *text);
