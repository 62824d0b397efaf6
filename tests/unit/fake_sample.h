/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fake machine whose counters are set by tests
 *
 * The machine is at 100 s after boot, with all sources readable, all counters 0, 40 % of the memory used, and / half
 * full.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sample.h"
#include "util/array.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define ALL_SOURCES ((1U << N_SOURCES) - 1)

static inline void fake_init(Sample *sample, size_t n_cpus) {
        *sample = (Sample){
                .boottime_ns = 100 * SECOND,
                .realtime_ns = 1700000000 * SECOND,
                .have = ALL_SOURCES,
                .n_cpus = n_cpus,
                .n_online = (uint32_t)n_cpus,
                .n_filesystems = 1,
                .memory = { .total_bytes = 10 * GIB, .available_bytes = 6 * GIB },
        };

        if (ARRAY_RESERVE(sample->cpus, sample->allocated.n_cpus, n_cpus) < 0 ||
            ARRAY_RESERVE(sample->filesystems, sample->allocated.n_filesystems, 1) < 0)
                abort();
        for (size_t i = 0; i < n_cpus; i++)
                sample->cpus[i] = (SampleCpu){ .online = true };
        sample->filesystems[0] = (SampleFilesystem){
                .mount_point = "/",
                .type = "ext4",
                .size_bytes = 100 * GIB,
                .free_bytes = 50 * GIB,
                .available_bytes = 50 * GIB,
        };
}

static inline void fake_pass(Sample *sample, uint64_t ns) {
        sample->boottime_ns += ns;
        sample->realtime_ns += ns;
}

static inline void fake_cpu(Sample *sample, size_t cpu, CpuMode mode, uint64_t ticks) {
        sample->cpus[cpu].times.ticks[mode] += ticks;
        sample->cpu.ticks[mode] += ticks;
}

/* Adds busy and idle ticks to every CPU. */
static inline void fake_work(Sample *sample, uint64_t busy, uint64_t idle) {
        for (size_t i = 0; i < sample->n_cpus; i++) {
                if (!sample->cpus[i].online)
                        continue;
                fake_cpu(sample, i, CPU_USER, busy);
                fake_cpu(sample, i, CPU_IDLE, idle);
        }
}

/* Advances by one second at the given utilization in percent. */
static inline void fake_second(Sample *sample, uint64_t percent) {
        fake_work(sample, percent, 100 - percent);
        fake_pass(sample, SECOND);
}

/* Returns the device with that name, which is added if it does not exist. Borrowed until the next device is added. */
static inline SampleDisk *fake_disk(Sample *sample, const char *name, DiskClass class) {
        SampleDisk *disk;

        for (size_t i = 0; i < sample->n_disks; i++)
                if (strcmp(sample->disks[i].name, name) == 0)
                        return &sample->disks[i];

        if (ARRAY_RESERVE(sample->disks, sample->allocated.n_disks, sample->n_disks + 1) < 0)
                abort();
        disk = &sample->disks[sample->n_disks++];
        *disk = (SampleDisk){ .class = class };
        (void)snprintf(disk->name, sizeof(disk->name), "%s", name);
        return disk;
}

static inline SampleNet *fake_net(Sample *sample, const char *name, NetClass class) {
        SampleNet *net;

        for (size_t i = 0; i < sample->n_nets; i++)
                if (strcmp(sample->nets[i].name, name) == 0)
                        return &sample->nets[i];

        if (ARRAY_RESERVE(sample->nets, sample->allocated.n_nets, sample->n_nets + 1) < 0)
                abort();
        net = &sample->nets[sample->n_nets++];
        *net = (SampleNet){ .class = class };
        (void)snprintf(net->name, sizeof(net->name), "%s", name);
        return net;
}

/* Adds a GPU that counted nothing so far. Borrowed until the next one is added. */
static inline SampleEquipment *fake_gpu(Sample *sample, const char *name) {
        SampleEquipment *gpu;

        if (equipment_add(&sample->equipment, EQUIPMENT_GPU, name, &gpu) != 0)
                abort();
        equipment_set(gpu, GPU_present_us, 0);
        equipment_set(gpu, GPU_utilized_us, 0);
        equipment_set(gpu, GPU_sm_observed_us, 0);
        equipment_set(gpu, GPU_sm_active_us, 0);
        equipment_set(gpu, GPU_energy_mj, 0);
        return gpu;
}

static inline void fake_unplug_disk(Sample *sample, const char *name) {
        size_t at = (size_t)(fake_disk(sample, name, DISK_PHYSICAL) - sample->disks);

        sample->n_disks--;
        memmove(&sample->disks[at], &sample->disks[at + 1], (sample->n_disks - at) * sizeof(*sample->disks));
}

static inline void fake_unplug_net(Sample *sample, const char *name) {
        size_t at = (size_t)(fake_net(sample, name, NET_PHYSICAL) - sample->nets);

        sample->n_nets--;
        memmove(&sample->nets[at], &sample->nets[at + 1], (sample->n_nets - at) * sizeof(*sample->nets));
}
