/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sources: files of the kernel, or groups of them, that are read or missing as a whole */

/*
 * X(id, name, path): the name in labels, messages and stored texts, and the path below the root directory. One bit each
 * in Sample.have.
 */
#define SOURCES(X)                                                                                   \
        X(STAT,        "stat",        "proc/stat")                                                   \
        X(MEMINFO,     "meminfo",     "proc/meminfo")                                                \
        X(VMSTAT,      "vmstat",      "proc/vmstat")                                                 \
        X(DISKSTATS,   "diskstats",   "proc/diskstats")       /* classified by sys/block */          \
        X(NETDEV,      "netdev",      "proc/net/dev")         /* classified by sys/class/net */      \
        X(FILESYSTEMS, "filesystems", "proc/self/mountinfo")  /* and statvfs(3) */                   \
        X(LOADAVG,     "loadavg",     "proc/loadavg")                                                \
        X(PSI_CPU,     "psi_cpu",     "proc/pressure/cpu")                                           \
        X(PSI_MEMORY,  "psi_memory",  "proc/pressure/memory")                                        \
        X(PSI_IO,      "psi_io",      "proc/pressure/io")                                            \
        X(GPU,         "gpu",         "run/perfd-gpu/readings") /* and sys/class/drm */              \
        X(FABRIC,      "fabric",      "sys/class/infiniband")                                        \
        X(NETFS,       "netfs",       "proc/self/mountstats") /* and files of Lustre and CephFS */   \
        X(ENERGY,      "energy",      "sys/class/powercap")

typedef enum Source {
#define X(id, ...) SOURCE_##id,
        SOURCES(X)
#undef X
        N_SOURCES,
} Source;

/* From here on, sources of equipment.h: a node may have none. */
#define SOURCE_FIRST_EQUIPMENT SOURCE_GPU

extern const char *const sample_source_names[N_SOURCES], *const sample_source_paths[N_SOURCES];
