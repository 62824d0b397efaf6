/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * OpenMetrics families of what the kernel says about the node
 *
 * One row for each number of a Sample, and of each of its disks, interfaces and file systems. An exposition walks these tables
 * and names no number itself. A family whose source is not in the sample is left out: absent is not zero.
 */

#include <stdbool.h>
#include <stddef.h>

#include "measure/sample.h"

typedef enum KernelValue {
        KERNEL_VALUE_U64,
        KERNEL_VALUE_U32,
        KERNEL_VALUE_DOUBLE,
} KernelValue;

typedef struct KernelFamily {
        Source source;
        size_t offset; /* of the value, in the struct that the table is for */
        KernelValue type;
        unsigned n_decimals; /* of a KERNEL_VALUE_U64 that counts fractions: 6 for microseconds */
        bool is_counter;     /* else a gauge */
        const char *name, *unit, *help;
} KernelFamily;

/* Each table ends with a row without a name. */
extern const KernelFamily kernel_families[];            /* of a Sample */
extern const KernelFamily kernel_disk_families[];       /* of a SampleDisk */
extern const KernelFamily kernel_net_families[];        /* of a SampleNet */
extern const KernelFamily kernel_filesystem_families[]; /* of a SampleFilesystem */
