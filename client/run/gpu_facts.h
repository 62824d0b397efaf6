/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GPU facts: which accelerators a machine has
 *
 * Of cards in /sys/class/drm that sit on a PCI bus, and of what nvidia's driver says in /proc/driver/nvidia, which has its
 * cards there whether or not the other list does. No tool is started, and no library loaded.
 */

#include <stddef.h>
#include <stdint.h>

#define GPUS_MAX 16U

typedef struct GpuFacts {
        char model[128], vendor[16], driver[32]; /* "": not known */
        char driver_version[32]; /* of a driver that is not the kernel's own */
        char pci_id[16];       /* "10de:1db1" */
        char pci_address[16];  /* "0000:3b:00.0" */
        uint64_t memory_bytes; /* 0: not known */
} GpuFacts;

/* Returns how many there are in `ret`, in order of their addresses. */
size_t gpu_facts_read(int root_fd, GpuFacts ret[static GPUS_MAX]);
