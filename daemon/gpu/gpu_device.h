/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GPU device: reads a GPU, or an instance of one, into its reading
 *
 * Calls cost from 2 µs to 20 ms of CPU time on a real driver (H200, driver 580), which sets the schedule:
 *
 *   each second          memory, utilization, power, temperature, clock, reasons: 2 to 8 µs; processes: 30 to 40 µs
 *   each second in use   GPM: 0.2 ms for a sample, 1 ms and more for the difference of two
 *   each 10 s, on request  energy: 2.4 to 3.9 ms; utilization of processes: 1.4 to 2 ms
 *   each minute          highest clock: 1 ms; memory errors, remapped rows
 *   never                PCIe throughput: 21 ms; GPM has the bytes
 *
 * A GPU without processes whose utilization is 0 is idle: its activity is 0 without GPM. One with processes but
 * utilization 0, which the driver takes from a fraction of the second, is measured each 10 s, as is one whose
 * utilization is unknown.
 */

#include <stdint.h>

#include "gpu/nvml.h"

enum {
        GPU_DUE_TENTH = 1,
        GPU_DUE_MINUTE = 2,
};

typedef struct GpuDevice {
        NvmlDevice handle; /* NULL: the driver has not given it */
        NvmlDevice parent; /* of an instance; otherwise NULL */
        uint32_t instance; /* of the parent */
        uint64_t read_ns, shares_ns; /* CLOCK_BOOTTIME; 0: never */
        NvmlSample samples[2];       /* of GPM: the latest, and a place for the next; NULL: the GPU has no GPM */
        uint64_t sample_ns;          /* of samples[0]; 0: none */
        uint64_t observed_ns;        /* the end of sm_observed_us */
        bool is_gpm_failing;
} GpuDevice;

void gpu_device_init(GpuDevice *device, const Nvml *nvml);
void gpu_device_deinit(GpuDevice *device, const Nvml *nvml);

/*
 * due: bits of GPU_DUE_…; what has never been read is due. Returns NVML_SUCCESS, or the result that ends the reading of
 * this GPU, see nvml_state().
 */
int32_t gpu_device_read(GpuDevice *device, const Nvml *nvml, unsigned due, GpuReading *gpu);
/* Removes what is not true any more: all but counters. */
void gpu_device_drop_values(GpuReading *gpu);
