/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/kernel_family.h"

#define PREFIX KERNEL_FAMILY_PREFIX
#define GAUGE(source, type, member, value, name, unit, help) \
        { SOURCE_##source, SCALAR_GAUGE(type, member, SCALAR_##value, PREFIX name, unit, help) }
#define COUNTER(source, type, member, decimals, name, unit, help) \
        { SOURCE_##source, { offsetof(type, member), SCALAR_U64, decimals, FAMILY_COUNTER, PREFIX name, unit, help } }

#define MEMORY(member, name, help) GAUGE(MEMINFO, Sample, memory.member, U64, name, "bytes", help)
#define LOAD(member, value, name, help) GAUGE(LOADAVG, Sample, load.member, value, name, "", help)
#define FILESYSTEM(member, name, help) GAUGE(FILESYSTEMS, SampleFilesystem, member, U64, name, "bytes", help)

const KernelFamily kernel_families[] = {
        GAUGE(STAT, Sample, n_online, U32, "cpus", "", "Online CPUs"),
        MEMORY(total_bytes, "memory_total_bytes", "Total memory (MemTotal)"),
        MEMORY(available_bytes, "memory_available_bytes", "Available memory (MemAvailable)"),
        MEMORY(free_bytes, "memory_free_bytes", "Free memory (MemFree)"),
        MEMORY(cached_bytes, "memory_cached_bytes", "Page cache (Cached)"),
        MEMORY(buffers_bytes, "memory_buffers_bytes", "Buffers of block devices (Buffers)"),
        MEMORY(swap_total_bytes, "swap_total_bytes", "Total swap space (SwapTotal)"),
        MEMORY(swap_free_bytes, "swap_free_bytes", "Free swap space (SwapFree)"),
        LOAD(average1, DOUBLE, "load1", "Load average over 1 minute"),
        LOAD(average5, DOUBLE, "load5", "Load average over 5 minutes"),
        LOAD(average15, DOUBLE, "load15", "Load average over 15 minutes"),
        LOAD(n_running, U32, "processes_running", "Runnable threads, excluding perfd's own"),
        LOAD(n_threads, U32, "threads", "Threads"),
#define X(id, source, decimals, key, key_unit, family, unit, help) \
        COUNTER(source, Sample, counter[KERNEL_##id], decimals, family, unit, help ", since boot"),
        KERNEL_COUNTERS(X)
#undef X
        {},
};

static const KernelFamily disk_families[] = {
#define X(member, decimals, family, unit, help, ...) COUNTER(DISKSTATS, SampleDisk, member, decimals, family, unit, help),
        DISK_COUNTERS(X)
#undef X
        {},
};

static const KernelFamily net_families[] = {
#define X(member, decimals, family, unit, help, ...) COUNTER(NETDEV, SampleNet, member, decimals, family, unit, help),
        NET_COUNTERS(X)
#undef X
        {},
};

static const KernelFamily filesystem_families[] = {
        FILESYSTEM(size_bytes, "filesystem_size_bytes", "Size of the file system"),
        FILESYSTEM(available_bytes, "filesystem_available_bytes", "Free space available to unprivileged users"),
        FILESYSTEM(free_bytes, "filesystem_free_bytes", "Free space"),
        {},
};

const KernelDeviceKind kernel_device_kinds[N_KERNEL_DEVICE_KINDS] = {
        { SOURCE_DISKSTATS, "disk", "disks", "device", "class", disk_families },
        { SOURCE_NETDEV, "network", "networks", "device", "class", net_families },
        { SOURCE_FILESYSTEMS, "filesystem", "filesystems", "mountpoint", "fstype", filesystem_families },
};

KernelDevice kernel_family_device(const Sample *sample, const KernelDeviceKind *kind, size_t i) {
        if (!sample_has(sample, kind->source))
                return (KernelDevice){};
        if (kind->source == SOURCE_DISKSTATS && i < sample->n_disks) {
                const SampleDisk *disk = &sample->disks[i];

                return (KernelDevice){ disk, disk->name, sample_disk_class_names[disk->class], disk->class };
        }
        if (kind->source == SOURCE_NETDEV && i < sample->n_nets) {
                const SampleNet *net = &sample->nets[i];

                return (KernelDevice){ net, net->name, sample_net_class_names[net->class], net->class };
        }
        if (kind->source == SOURCE_FILESYSTEMS && i < sample->n_filesystems) {
                const SampleFilesystem *filesystem = &sample->filesystems[i];

                return (KernelDevice){ .values = filesystem, .name = filesystem->mount_point, .class_name = filesystem->type };
        }
        return (KernelDevice){};
}
