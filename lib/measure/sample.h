/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sample: counters and gauges of the node at one time
 *
 * Raw kernel values: no rates, percentages or differences. A Sample owns its arrays; they grow when hardware appears
 * and are reused at each tick, so that sampling allocates nothing in the steady state. A source that could not be
 * read is missing from `have`; the rest of the sample is valid.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/device_counter.h"
#include "measure/equipment.h"
#include "measure/kernel_counter.h"
#include "measure/source.h"

typedef enum CpuMode {
        CPU_USER, /* without guest time, which the kernel includes in user */
        CPU_NICE, /* without guest_nice */
        CPU_SYSTEM,
        CPU_IDLE,
        CPU_IOWAIT,
        CPU_IRQ,
        CPU_SOFTIRQ,
        CPU_STEAL,
        CPU_GUEST,
        CPU_GUEST_NICE,
        N_CPU_MODES,
} CpuMode;

extern const char *const sample_cpu_mode_names[N_CPU_MODES]; /* Names of the modes: "user", …. */

/* Clock ticks (1/100 s, USER_HZ) since boot. */
typedef struct CpuTimes {
        uint64_t ticks[N_CPU_MODES];
} CpuTimes;

#define TICKS_PER_S 100U

typedef struct SampleCpu {
        bool online; /* listed in proc/stat */
        /* the times since the last reading are unknown: they fell, or grew faster than time (account.h) */
        bool is_doubtful;
        CpuTimes times;
} SampleCpu;

typedef enum DiskClass {
        DISK_PHYSICAL, /* whole disk backed by hardware */
        DISK_VIRTUAL,  /* dm, md, loop, zram, ram, nbd without device: backed by other disks or by memory */
        N_DISK_CLASSES,
} DiskClass;

typedef enum NetClass {
        NET_LOOPBACK,
        NET_PHYSICAL,
        NET_VIRTUAL, /* bridge, veth, bond, vlan, tun …: traffic that a physical interface counts as well, or that
                      * never leaves the node */
        N_NET_CLASSES,
} NetClass;

extern const char *const sample_disk_class_names[N_DISK_CLASSES]; /* "physical", "virtual" */
extern const char *const sample_net_class_names[N_NET_CLASSES];   /* "loopback", "physical", "virtual" */

#define DEVICE_NAME_MAX 32

typedef struct SampleDisk {
        char name[DEVICE_NAME_MAX];
        DiskClass class;
        uint64_t id;     /* device number; 0: unknown */
        bool began_idle; /* omitted from former samples, because all counters were 0 */
#define X(member, ...) uint64_t member;
        DISK_COUNTERS(X)
#undef X
} SampleDisk;

typedef struct SampleNet {
        char name[DEVICE_NAME_MAX];
        NetClass class;
        uint64_t id;          /* ifindex; 0: unknown */
        uint64_t bytes_per_s; /* of the link; 0: unknown */
#define X(member, ...) uint64_t member;
        NET_COUNTERS(X)
#undef X
} SampleNet;

#define MOUNT_POINT_MAX 256

typedef struct SampleFilesystem {
        char mount_point[MOUNT_POINT_MAX]; /* truncated if longer */
        char type[DEVICE_NAME_MAX];
        uint64_t size_bytes;
        uint64_t free_bytes;      /* available to root */
        uint64_t available_bytes; /* available to users */
} SampleFilesystem;

typedef struct SampleMemory {
        uint64_t total_bytes, available_bytes, free_bytes, cached_bytes, buffers_bytes;
        uint64_t swap_total_bytes, swap_free_bytes;
} SampleMemory;

/* Content of proc/loadavg. */
typedef struct SampleLoad {
        double average1, average5, average15; /* over 1, 5 and 15 minutes */
        uint32_t n_running; /* runnable threads, excluding the reading thread */
        uint32_t n_threads;
} SampleLoad;

/* Allocated lengths of the arrays of a Sample. */
typedef struct SampleAllocated {
        size_t n_cpus, n_disks, n_nets, n_filesystems;
} SampleAllocated;

typedef struct Sample {
        uint64_t boottime_ns; /* CLOCK_BOOTTIME, for order and distance */
        uint64_t realtime_ns; /* CLOCK_REALTIME, for timestamps only */
        uint32_t have;        /* bit per Source */

        CpuTimes cpu;     /* the kernel's sum over all possible CPUs, not affected by hot-plug */
        SampleCpu *cpus;  /* owned; indexed by CPU number */
        size_t n_cpus;    /* highest CPU number + 1 */
        uint32_t n_online;

        uint64_t counter[N_KERNEL_COUNTERS]; /* since boot, indexed by KernelCounter */
        SampleMemory memory;
        SampleLoad load;

        SampleDisk *disks; /* owned */
        size_t n_disks;
        SampleNet *nets; /* owned */
        size_t n_nets;
        /* owned; except for "/", may be older than the rest, see filesystems_boottime_ns */
        SampleFilesystem *filesystems;
        size_t n_filesystems;
        size_t n_filesystems_left_out; /* beyond the limit on their number */
        uint64_t filesystems_boottime_ns;
        EquipmentList equipment;
        SampleAllocated allocated;
} Sample;

static inline bool sample_has(const Sample *sample, Source source) {
        return sample->have & (1U << source);
}

/* True for a source of equipment of which the node has none. */
static inline bool sample_lacks(const Sample *sample, Source source) {
        return sample->equipment.none & (1U << source);
}

/* Time of the values of a source: a driver may answer late. */
static inline uint64_t sample_read_ns(const Sample *sample, Source source) {
        uint64_t read_ns = sample->equipment.read_ns[source];

        return read_ns > 0 ? read_ns : sample->boottime_ns;
}

static inline void sample_set(Sample *sample, Source source) {
        sample->have |= 1U << source;
}

/* Releases the arrays. The struct itself may be embedded; a zeroed one is valid and empty. */
void sample_deinit(Sample *sample);

/* Returns the used share of memory, (total − available) / total, 0…1. Requires SOURCE_MEMINFO and total > 0. */
double sample_memory_ratio(const Sample *sample);
/* Returns the file system mounted at `/`, or NULL. Borrowed from the sample. */
const SampleFilesystem *sample_root_filesystem(const Sample *sample);
/* Returns used / (used + available to users), 0…1, as df(1) does. */
double sample_filesystem_used_ratio(const SampleFilesystem *filesystem);

/* Copies all values and arrays; the arrays of `to` grow if necessary. Returns 0 or -ENOMEM. */
int sample_copy(const Sample *from, Sample *to);
