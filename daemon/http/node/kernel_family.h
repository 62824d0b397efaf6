/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * OpenMetrics families of what the kernel says about the node
 *
 * One row for each number of a Sample, and of each of its disks, interfaces and file systems. /metrics and /api/v1/node walk these
 * tables and name no number themselves. A family whose source is not in the sample is left out: absent is not zero.
 */

#include "http/metrics.h"
#include "measure/sample.h"

#define KERNEL_FAMILY_PREFIX "perfd_node_"

typedef struct KernelFamily {
        Source source;
        Scalar scalar; /* of the struct that the table is for */
} KernelFamily;

/* Each table ends with a row without a name. */
extern const KernelFamily kernel_families[]; /* of a Sample */

/* Devices of one kind. Their families have the prefix, the name of the kind, and an underscore. */
typedef struct KernelDeviceKind {
        Source source;
        const char *name, *list; /* "disk", "disks" */
        const char *device_label, *class_label;
        const KernelFamily *families; /* of a SampleDisk, SampleNet or SampleFilesystem */
} KernelDeviceKind;

#define N_KERNEL_DEVICE_KINDS 3U
extern const KernelDeviceKind kernel_device_kinds[N_KERNEL_DEVICE_KINDS];

typedef struct KernelDevice {
        const void *values; /* the struct that the families are for; NULL: there are no more devices */
        const char *name, *class_name;
        unsigned class;
} KernelDevice;

/* The i-th device of the kind. Borrowed from the sample. */
KernelDevice kernel_family_device(const Sample *sample, const KernelDeviceKind *kind, size_t i);
