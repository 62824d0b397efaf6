/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * OpenMetrics families of kernel metrics of the node
 *
 * The tables have one row for each number of a Sample, and for each number of its disks, interfaces and file systems. /metrics
 * and /api/v1/node iterate over the tables. A family whose source is not in the sample is left out: absent is not zero.
 */

#include "http/metrics.h"
#include "measure/sample.h"

#define KERNEL_FAMILY_PREFIX "perfd_node_"

typedef struct KernelFamily {
        Source source;
        Scalar scalar; /* a member of the table's struct */
} KernelFamily;

/* Each table ends with a row without a name. */
extern const KernelFamily kernel_families[]; /* for a Sample */

/* Devices of one kind. Their families have the prefix, the name of the kind, and an underscore. */
typedef struct KernelDeviceKind {
        Source source;
        const char *name, *list; /* "disk", "disks" */
        const char *device_label, *class_label;
        const KernelFamily *families; /* for a SampleDisk, SampleNet or SampleFilesystem */
} KernelDeviceKind;

#define N_KERNEL_DEVICE_KINDS 3U
extern const KernelDeviceKind kernel_device_kinds[N_KERNEL_DEVICE_KINDS];

typedef struct KernelDevice {
        const void *values; /* the struct to which the families apply; NULL: no more devices */
        const char *name, *class_name;
        unsigned class;
} KernelDevice;

/* Returns the i-th device of the kind, borrowed from the sample. */
KernelDevice kernel_family_device(const Sample *sample, const KernelDeviceKind *kind, size_t i);
