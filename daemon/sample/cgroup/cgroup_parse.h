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

/*
 * X(file, hierarchy, part, is_often, name, other_name, form): the part that requires the file, its name, an alternative
 * if the file does not exist, and what cgroup_parse.c reads from it. Limits have no name here: cgroup.c reads them of
 * all groups above, too. Files with is_often set are needed to find a peak, or for the final values if the group is
 * gone at the next sample. Pressure is expensive: the kernel sums it over all CPUs at each read. So is memory.stat,
 * which takes as long as all files with is_often set.
 */
#define CGROUP_FILES(X)                                                                                                \
        X(CPU_STAT, V2, CPU, true, "cpu.stat", NULL, KEYS(cpu_stat))                                                   \
        X(CPU_STAT_LOCAL, V2, THROTTLING_LOCAL, false, "cpu.stat.local", NULL, KEYS(cpu_stat_local))                   \
        X(CPU_MAX, V2, CPU_LIMIT, false, NULL, NULL, OTHER(CPU_MAX))                                                   \
        X(CPUSET, V2, CPUSET, false, NULL, NULL, OTHER(CPUS))                                                          \
        X(MEMORY_CURRENT, V2, MEMORY, true, "memory.current", NULL, VALUE(NUMBER, memory_bytes))                       \
        X(MEMORY_PEAK, V2, MEMORY_PEAK, true, "memory.peak", NULL, VALUE(NUMBER, memory_peak_bytes))                   \
        X(MEMORY_STAT, V2, MEMORY_STAT, false, "memory.stat", NULL, KEYS(memory_stat))                                 \
        X(MEMORY_MAX, V2, MEMORY_LIMIT, false, NULL, NULL, VALUE(LIMIT, memory_limit_bytes))                           \
        X(MEMORY_EVENTS, V2, MEMORY_EVENTS, false, "memory.events", NULL, KEYS(memory_events))                         \
        X(IO_STAT, V2, IO, true, "io.stat", NULL, OTHER(NONE))                                                         \
        X(PIDS, V2, PIDS, true, "pids.current", NULL, VALUE(NUMBER, n_pids))                                           \
        X(CPU_PRESSURE, V2, PSI_CPU, false, "cpu.pressure", NULL, PRESSURE(psi_cpu_some_us, 0))                        \
        X(MEMORY_PRESSURE, V2, PSI_MEMORY, false, "memory.pressure", NULL, PRESSURE(psi_memory_some_us, offsetof(CgroupSample, psi_memory_full_us))) \
        X(IO_PRESSURE, V2, PSI_IO, false, "io.pressure", NULL, PRESSURE(psi_io_some_us, offsetof(CgroupSample, psi_io_full_us))) \
        X(IRQ_PRESSURE, V2, PSI_IRQ, false, "irq.pressure", NULL, VALUE(PRESSURE_FULL, psi_irq_full_us))               \
        /* v1 files from here on */                                                                                    \
        X(V1_CPU_USAGE, CPUACCT, CPU, true, "cpuacct.usage", NULL, VALUE(NANOSECONDS, usage_us))                       \
        X(V1_CPU_MODES, CPUACCT, CPU, true, "cpuacct.stat", NULL, KEYS(v1_cpu_modes))                                  \
        X(V1_THROTTLING, CPU, THROTTLING, false, "cpu.stat", NULL, KEYS(v1_throttling))                                \
        X(V1_QUOTA, CPU, CPU_LIMIT, false, NULL, NULL, VALUE(QUOTA, quota_us))                                         \
        X(V1_PERIOD, CPU, CPU_LIMIT, false, NULL, NULL, VALUE(NUMBER, period_us))                                      \
        X(V1_CPUSET, CPUSET, CPUSET, false, NULL, NULL, OTHER(CPUS))                                                   \
        X(V1_MEMORY, MEMORY, MEMORY, true, "memory.usage_in_bytes", NULL, VALUE(NUMBER, memory_bytes))                 \
        X(V1_MEMORY_PEAK, MEMORY, MEMORY_PEAK, true, "memory.max_usage_in_bytes", NULL, VALUE(NUMBER, memory_peak_bytes)) \
        X(V1_MEMORY_STAT, MEMORY, MEMORY_STAT, false, "memory.stat", NULL, KEYS(v1_memory_stat))                       \
        X(V1_MEMORY_LIMIT, MEMORY, MEMORY_LIMIT, false, NULL, NULL, VALUE(LIMIT, memory_limit_bytes))                  \
        X(V1_OOM, MEMORY, MEMORY_EVENTS, false, "memory.oom_control", NULL, KEYS(v1_oom))                              \
        X(V1_FAILURES, MEMORY, MEMORY_EVENTS, false, "memory.failcnt", NULL, VALUE(NUMBER, n_memory_max))              \
        /* The alternatives exclude the groups below; older kernels have no other files. */                            \
        X(V1_IO_BYTES, BLKIO, IO, true, "blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes", OTHER(NONE)) \
        X(V1_IO_COUNTS, BLKIO, IO, true, "blkio.throttle.io_serviced_recursive", "blkio.throttle.io_serviced", OTHER(NONE)) \
        X(V1_PIDS, PIDS, PIDS, true, "pids.current", NULL, VALUE(NUMBER, n_pids))

typedef enum CgroupFile {
#define X(file, ...) CGROUP_FILE_##file,
        CGROUP_FILES(X)
#undef X
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
