/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GPU processes: the processes of a GPU in its reading
 *
 * A process remains in the reading after its end, with what it has used, until its place is needed: one that lives for
 * less than the interval of the reader is seen as well.
 */

#include <stdbool.h>
#include <stdint.h>

#include "gpu/nvml.h"

/* Updates the processes and their memory. Returns the result of the library; the list is known if it is a success. */
int32_t gpu_processes_read(const Nvml *nvml, NvmlDevice device, uint64_t now_ns, GpuReading *gpu);
/* Adds what the processes used of the GPU in the last period_us. Returns the result of the library. */
int32_t gpu_processes_read_shares(const Nvml *nvml, NvmlDevice device, uint64_t now_ns, uint64_t period_us,
                                  GpuReading *gpu);
/* Ends the processes that have not been listed at this time. */
void gpu_processes_end(GpuReading *gpu, uint64_t now_ns);
/* True if a process runs. */
bool gpu_processes_run(const GpuReading *gpu);
