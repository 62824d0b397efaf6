/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/sample.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const source_names[N_SOURCES] = {
        [SOURCE_STAT] = "stat",
        [SOURCE_MEMINFO] = "meminfo",
        [SOURCE_VMSTAT] = "vmstat",
        [SOURCE_DISKSTATS] = "diskstats",
        [SOURCE_NETDEV] = "netdev",
        [SOURCE_FILESYSTEMS] = "filesystems",
        [SOURCE_LOADAVG] = "loadavg",
        [SOURCE_PSI_CPU] = "psi_cpu",
        [SOURCE_PSI_MEMORY] = "psi_memory",
        [SOURCE_PSI_IO] = "psi_io",
};

static const char *const source_paths[N_SOURCES] = {
        [SOURCE_STAT] = "proc/stat",
        [SOURCE_MEMINFO] = "proc/meminfo",
        [SOURCE_VMSTAT] = "proc/vmstat",
        [SOURCE_DISKSTATS] = "proc/diskstats",
        [SOURCE_NETDEV] = "proc/net/dev",
        [SOURCE_FILESYSTEMS] = "proc/self/mountinfo",
        [SOURCE_LOADAVG] = "proc/loadavg",
        [SOURCE_PSI_CPU] = "proc/pressure/cpu",
        [SOURCE_PSI_MEMORY] = "proc/pressure/memory",
        [SOURCE_PSI_IO] = "proc/pressure/io",
};

static const char *const cpu_modes[N_CPU_MODES] = {
        [CPU_USER] = "user",     [CPU_NICE] = "nice",         [CPU_SYSTEM] = "system", [CPU_IDLE] = "idle",
        [CPU_IOWAIT] = "iowait", [CPU_IRQ] = "irq",           [CPU_SOFTIRQ] = "softirq", [CPU_STEAL] = "steal",
        [CPU_GUEST] = "guest",   [CPU_GUEST_NICE] = "guest_nice",
};

const char *const disk_class_names[N_DISK_CLASSES] = {
        [DISK_PHYSICAL] = "physical",
        [DISK_VIRTUAL] = "virtual",
};

const char *const net_class_names[N_NET_CLASSES] = {
        [NET_LOOPBACK] = "loopback",
        [NET_PHYSICAL] = "physical",
        [NET_VIRTUAL] = "virtual",
};

const char *sample_source_name(Source source) {
        assert(source < N_SOURCES);
        return source_names[source];
}

const char *sample_source_path(Source source) {
        assert(source < N_SOURCES);
        return source_paths[source];
}

const char *sample_cpu_mode_name(CpuMode mode) {
        assert(mode < N_CPU_MODES);
        return cpu_modes[mode];
}

const char *sample_disk_class_name(DiskClass c) {
        assert(c < N_DISK_CLASSES);
        return disk_class_names[c];
}

const char *sample_net_class_name(NetClass c) {
        assert(c < N_NET_CLASSES);
        return net_class_names[c];
}

void sample_deinit(Sample *sample) {
        free(sample->cpus);
        free(sample->disks);
        free(sample->nets);
        free(sample->filesystems);
        *sample = (Sample){};
}

/* Grows *items to n of item_size bytes, in steps, so that one more device is not one more allocation. */
static int reserve(void **items, size_t *n_allocated, size_t n, size_t item_size) {
        size_t n_new = *n_allocated ? *n_allocated : 8;
        void *bigger;

        if (n <= *n_allocated)
                return 0;
        while (n_new < n)
                n_new *= 2;

        bigger = reallocarray(*items, n_new, item_size);
        if (!bigger)
                return -ENOMEM;

        memset((char *)bigger + *n_allocated * item_size, 0, (n_new - *n_allocated) * item_size);
        *items = bigger;
        *n_allocated = n_new;
        return 0;
}

int sample_reserve_cpus(Sample *sample, size_t n) {
        return reserve((void **)&sample->cpus, &sample->allocated.n_cpus, n, sizeof(SampleCpu));
}

int sample_reserve_disks(Sample *sample, size_t n) {
        return reserve((void **)&sample->disks, &sample->allocated.n_disks, n, sizeof(SampleDisk));
}

int sample_reserve_nets(Sample *sample, size_t n) {
        return reserve((void **)&sample->nets, &sample->allocated.n_nets, n, sizeof(SampleNet));
}

int sample_reserve_filesystems(Sample *sample, size_t n) {
        return reserve((void **)&sample->filesystems, &sample->allocated.n_filesystems, n, sizeof(SampleFilesystem));
}

uint64_t sample_cpu_times_total(const CpuTimes *times) {
        uint64_t total = 0;

        for (size_t i = 0; i < N_CPU_MODES; i++)
                total += times->ticks[i];
        return total;
}

uint64_t sample_cpu_times_busy(const CpuTimes *times) {
        return sample_cpu_times_total(times) - times->ticks[CPU_IDLE] - times->ticks[CPU_IOWAIT];
}

double sample_memory_ratio(const Sample *sample) {
        const SampleMemory *m = &sample->memory;

        return m->available_bytes >= m->total_bytes
                       ? 0
                       : (double)(m->total_bytes - m->available_bytes) / (double)m->total_bytes;
}

const SampleFilesystem *sample_root_filesystem(const Sample *sample) {
        for (size_t i = 0; i < sample->n_filesystems; i++)
                if (strcmp(sample->filesystems[i].mount_point, "/") == 0)
                        return &sample->filesystems[i];
        return NULL;
}

double sample_filesystem_used_ratio(const SampleFilesystem *filesystem) {
        uint64_t used = filesystem->size_bytes - filesystem->free_bytes;
        uint64_t for_users = used + filesystem->available_bytes;

        return for_users > 0 ? (double)used / (double)for_users : 0;
}

int sample_copy(const Sample *from, Sample *to) {
        Sample kept = *to;

        if (sample_reserve_cpus(&kept, from->n_cpus) < 0 || sample_reserve_disks(&kept, from->n_disks) < 0 ||
            sample_reserve_nets(&kept, from->n_nets) < 0 ||
            sample_reserve_filesystems(&kept, from->n_filesystems) < 0) {
                *to = kept; /* what did grow is owned by `to` */
                return -ENOMEM;
        }

        *to = *from;
        to->cpus = kept.cpus;
        to->disks = kept.disks;
        to->nets = kept.nets;
        to->filesystems = kept.filesystems;
        to->allocated = kept.allocated;

        if (from->n_cpus > 0)
                memcpy(to->cpus, from->cpus, from->n_cpus * sizeof(*to->cpus));
        if (from->n_disks > 0)
                memcpy(to->disks, from->disks, from->n_disks * sizeof(*to->disks));
        if (from->n_nets > 0)
                memcpy(to->nets, from->nets, from->n_nets * sizeof(*to->nets));
        if (from->n_filesystems > 0)
                memcpy(to->filesystems, from->filesystems, from->n_filesystems * sizeof(*to->filesystems));
        return 0;
}
