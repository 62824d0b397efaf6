/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/sample.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define X(id, name, path) name,
const char *const sample_source_names[N_SOURCES] = { SOURCES(X) };
#undef X
#define X(id, name, path) path,
const char *const sample_source_paths[N_SOURCES] = { SOURCES(X) };
#undef X

const char *const sample_cpu_mode_names[N_CPU_MODES] = {
        [CPU_USER] = "user",     [CPU_NICE] = "nice",         [CPU_SYSTEM] = "system", [CPU_IDLE] = "idle",
        [CPU_IOWAIT] = "iowait", [CPU_IRQ] = "irq",           [CPU_SOFTIRQ] = "softirq", [CPU_STEAL] = "steal",
        [CPU_GUEST] = "guest",   [CPU_GUEST_NICE] = "guest_nice",
};

const char *const sample_disk_class_names[N_DISK_CLASSES] = {
        [DISK_PHYSICAL] = "physical",
        [DISK_VIRTUAL] = "virtual",
};

const char *const sample_net_class_names[N_NET_CLASSES] = {
        [NET_LOOPBACK] = "loopback",
        [NET_PHYSICAL] = "physical",
        [NET_VIRTUAL] = "virtual",
};

void sample_deinit(Sample *sample) {
        free(sample->cpus);
        free(sample->disks);
        free(sample->nets);
        free(sample->filesystems);
        free(sample->equipment.items);
        *sample = (Sample){};
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

/* Accepts an empty array whose pointer is NULL. */
static void *copy_array(void *to, const void *from, size_t n_bytes) {
        return n_bytes > 0 ? memcpy(to, from, n_bytes) : to;
}

int sample_copy(const Sample *from, Sample *to) {
        Sample kept;
        int r;

        r = ARRAY_RESERVE(to->cpus, to->allocated.n_cpus, from->n_cpus);
        if (r == 0)
                r = ARRAY_RESERVE(to->disks, to->allocated.n_disks, from->n_disks);
        if (r == 0)
                r = ARRAY_RESERVE(to->nets, to->allocated.n_nets, from->n_nets);
        if (r == 0)
                r = ARRAY_RESERVE(to->filesystems, to->allocated.n_filesystems, from->n_filesystems);
        if (r == 0)
                r = ARRAY_RESERVE(to->equipment.items, to->equipment.n_allocated, from->equipment.n);
        if (r < 0)
                return r;

        kept = *to;
        *to = *from;
        to->cpus = copy_array(kept.cpus, from->cpus, from->n_cpus * sizeof(*to->cpus));
        to->disks = copy_array(kept.disks, from->disks, from->n_disks * sizeof(*to->disks));
        to->nets = copy_array(kept.nets, from->nets, from->n_nets * sizeof(*to->nets));
        to->filesystems = copy_array(kept.filesystems, from->filesystems,
                                     from->n_filesystems * sizeof(*to->filesystems));
        to->equipment.items = copy_array(kept.equipment.items, from->equipment.items,
                                         from->equipment.n * sizeof(*to->equipment.items));
        to->equipment.n_allocated = kept.equipment.n_allocated;
        to->allocated = kept.allocated;
        return 0;
}
