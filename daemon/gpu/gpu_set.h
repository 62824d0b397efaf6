/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GPU set: all GPUs of the node and their instances (MIG), and the connection to the driver
 *
 * Each minute the GPUs are listed anew, so that instances come and go. After an error of the driver or of a GPU, the
 * library is closed and opened again, at intervals that grow from a second to a minute: it then holds nothing that the
 * driver needs to be unloaded, or a GPU to be reset. Counters are kept by the UUID of the GPU.
 */

#include "gpu/gpu_device.h"
#include "gpu/nvml.h"
#include "measure/gpu_file.h"

typedef struct GpuSet {
        const char *library; /* path, or a name to be searched */
        Nvml nvml;
        NvmlEventSet events;
        uint64_t retry_ns, wait_ns; /* CLOCK_BOOTTIME of the next attempt to open the library, and the interval */
        bool is_changed;            /* list the GPUs anew */
        GpuDevice devices[GPU_FILE_GPUS_MAX]; /* of the readings at the same place */
        GpuReadings readings;
} GpuSet;

/* `readings` are empty, or those of an earlier process, whose counters continue. gpu_set_read() opens the library. */
void gpu_set_init(GpuSet *set, const char *library);
void gpu_set_deinit(GpuSet *set);
/* Reads what is due. second: of the wall clock; is_requested: read also energy and shares. */
void gpu_set_read(GpuSet *set, uint64_t second, bool is_requested);
