/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sources: files of the kernel, or groups of them, that are read or missing as a whole */

/* One bit each in Sample.have; also the `source` label of the self-metrics. */
typedef enum Source {
        SOURCE_STAT,         /* proc/stat */
        SOURCE_MEMINFO,      /* proc/meminfo */
        SOURCE_VMSTAT,       /* proc/vmstat */
        SOURCE_DISKSTATS,    /* proc/diskstats, classified by sys/block */
        SOURCE_NETDEV,       /* proc/net/dev, classified by sys/class/net */
        SOURCE_FILESYSTEMS,  /* proc/self/mountinfo and statvfs(3) */
        SOURCE_LOADAVG,      /* proc/loadavg */
        SOURCE_PSI_CPU,      /* proc/pressure/cpu */
        SOURCE_PSI_MEMORY,   /* proc/pressure/memory */
        SOURCE_PSI_IO,       /* proc/pressure/io */
        SOURCE_GPU,          /* readings of perfd-gpu, and sys/class/drm */
        SOURCE_FABRIC,       /* sys/class/infiniband */
        SOURCE_NETFS,        /* proc/self/mountstats, and files of Lustre and CephFS */
        SOURCE_ENERGY,       /* sys/class/powercap */
        N_SOURCES,
} Source;

/* From here on, sources of equipment.h: a node may have none. */
#define SOURCE_FIRST_EQUIPMENT SOURCE_GPU

/* Names of the sources in labels, messages and stored texts: "stat", "meminfo", …. */
extern const char *const sample_source_names[N_SOURCES];
/* Paths below the root directory: "proc/stat", …. */
extern const char *const sample_source_paths[N_SOURCES];
