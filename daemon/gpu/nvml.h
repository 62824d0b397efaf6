/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * NVML: the door to NVIDIA's management library, libnvidia-ml.so.1
 *
 * The library comes with the driver, and must be of its version: it is loaded at run time, and again after the driver
 * was lost. Declared here is the part of its documented binary interface that perfd-gpu uses (NVML API Reference
 * Guide). A function that an older library lacks answers NVML_FUNCTION_NOT_FOUND. Any call can wait, for ever.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/gpu_file.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

typedef void *NvmlDevice, *NvmlSample, *NvmlEventSet;

/* nvmlReturn_t: results that mean more than "not this value". */
enum {
        NVML_SUCCESS = 0,
        NVML_UNINITIALIZED = 1,
        NVML_NO_PERMISSION = 4,
        NVML_NOT_FOUND = 6,
        NVML_INSUFFICIENT_SIZE = 7,
        NVML_DRIVER_NOT_LOADED = 9,
        NVML_FUNCTION_NOT_FOUND = 13,
        NVML_GPU_IS_LOST = 15,
        NVML_RESET_REQUIRED = 16,
        NVML_OPERATING_SYSTEM = 17,
        NVML_MISMATCH = 18,
};

enum {
        NVML_CLOCK_SM = 1,
        NVML_EVENT_XID = 8,
        /* of nvmlDeviceGetCurrentClocksThrottleReasons() */
        NVML_REASON_SW_POWER_CAP = 0x4,
        NVML_REASON_HW_SLOWDOWN = 0x8, /* together with one of the next, or alone on older GPUs */
        NVML_REASON_SW_THERMAL = 0x20,
        NVML_REASON_HW_THERMAL = 0x40,
        NVML_REASON_HW_POWER_BRAKE = 0x80,
};

typedef struct NvmlPci {
        char legacy[16];
        uint32_t domain, bus, device, ids, subsystem;
        char id[32];
} NvmlPci;

typedef struct NvmlMemory { /* nvmlMemory_v2_t: `used` is without what is reserved */
        uint32_t version;
        uint64_t total, reserved, free, used;
} NvmlMemory;
#define NVML_MEMORY_VERSION (sizeof(NvmlMemory) | 2U << 24)

typedef struct NvmlUtilization {
        uint32_t gpu, memory;
} NvmlUtilization;

/* nvmlProcessInfo_t of versions 2 and 3. Drivers 535.43 to 535.86 write 8 bytes more for each, see gpu_device.c. */
typedef struct NvmlProcess {
        uint32_t pid;
        uint64_t memory_bytes; /* UINT64_MAX: unknown */
        uint32_t gpu_instance, compute_instance;
} NvmlProcess;

typedef struct NvmlProcessUtilization {
        uint32_t pid;
        uint64_t time_us;
        uint32_t sm, memory, encoder, decoder;
} NvmlProcessUtilization;

typedef struct NvmlEvent {
        NvmlDevice device;
        uint64_t type, data;
        uint32_t gpu_instance, compute_instance;
} NvmlEvent;

typedef struct NvmlGpmSupport {
        uint32_t version, is_supported;
} NvmlGpmSupport;

typedef struct NvmlGpmMetric {
        uint32_t id;
        int32_t result;
        double value;
        const char *names[3];
} NvmlGpmMetric;

/* Newer libraries declare more metrics; they read `n`. 98 is the least number that any program has. */
typedef struct NvmlGpmMetrics {
        uint32_t version, n;
        NvmlSample from, to;
        NvmlGpmMetric metrics[98];
} NvmlGpmMetrics;

/* X(member, name, older name, arguments) */
#define NVML_FUNCTIONS(X) \
        X(init, "nvmlInit_v2", NULL, (void)) \
        X(shutdown, "nvmlShutdown", NULL, (void)) \
        X(driver, "nvmlSystemGetDriverVersion", NULL, (char *, uint32_t)) \
        X(count, "nvmlDeviceGetCount_v2", NULL, (uint32_t *)) \
        X(handle, "nvmlDeviceGetHandleByIndex_v2", NULL, (uint32_t, NvmlDevice *)) \
        X(name, "nvmlDeviceGetName", NULL, (NvmlDevice, char *, uint32_t)) \
        X(uuid, "nvmlDeviceGetUUID", NULL, (NvmlDevice, char *, uint32_t)) \
        X(minor, "nvmlDeviceGetMinorNumber", NULL, (NvmlDevice, uint32_t *)) \
        X(pci, "nvmlDeviceGetPciInfo_v3", NULL, (NvmlDevice, NvmlPci *)) \
        X(memory, "nvmlDeviceGetMemoryInfo_v2", NULL, (NvmlDevice, NvmlMemory *)) \
        X(utilization, "nvmlDeviceGetUtilizationRates", NULL, (NvmlDevice, NvmlUtilization *)) \
        X(power, "nvmlDeviceGetPowerUsage", NULL, (NvmlDevice, uint32_t *)) \
        X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL, (NvmlDevice, uint32_t *)) \
        X(energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, (NvmlDevice, uint64_t *)) \
        X(temperature, "nvmlDeviceGetTemperature", NULL, (NvmlDevice, int, uint32_t *)) \
        X(clock, "nvmlDeviceGetClockInfo", NULL, (NvmlDevice, int, uint32_t *)) \
        X(max_clock, "nvmlDeviceGetMaxClockInfo", NULL, (NvmlDevice, int, uint32_t *)) \
        X(reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", (NvmlDevice, uint64_t *)) \
        X(ecc, "nvmlDeviceGetTotalEccErrors", NULL, (NvmlDevice, int, int, uint64_t *)) \
        X(remapped, "nvmlDeviceGetRemappedRows", NULL, (NvmlDevice, uint32_t *, uint32_t *, uint32_t *, uint32_t *)) \
        X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", (NvmlDevice, uint32_t *, void *)) \
        X(mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2", (NvmlDevice, uint32_t *, void *)) \
        X(process_utilization, "nvmlDeviceGetProcessUtilization", NULL, (NvmlDevice, NvmlProcessUtilization *, uint32_t *, uint64_t)) \
        X(mig_mode, "nvmlDeviceGetMigMode", NULL, (NvmlDevice, uint32_t *, uint32_t *)) \
        X(mig_count, "nvmlDeviceGetMaxMigDeviceCount", NULL, (NvmlDevice, uint32_t *)) \
        X(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex", NULL, (NvmlDevice, uint32_t, NvmlDevice *)) \
        X(mig_instance, "nvmlDeviceGetGpuInstanceId", NULL, (NvmlDevice, uint32_t *)) \
        X(gpm_support, "nvmlGpmQueryDeviceSupport", NULL, (NvmlDevice, NvmlGpmSupport *)) \
        X(gpm_alloc, "nvmlGpmSampleAlloc", NULL, (NvmlSample *)) \
        X(gpm_free, "nvmlGpmSampleFree", NULL, (NvmlSample)) \
        X(gpm_sample, "nvmlGpmSampleGet", NULL, (NvmlDevice, NvmlSample)) \
        X(gpm_mig_sample, "nvmlGpmMigSampleGet", NULL, (NvmlDevice, uint32_t, NvmlSample)) \
        X(gpm_metrics, "nvmlGpmMetricsGet", NULL, (NvmlGpmMetrics *)) \
        X(event_set, "nvmlEventSetCreate", NULL, (NvmlEventSet *)) \
        X(register_events, "nvmlDeviceRegisterEvents", NULL, (NvmlDevice, uint64_t, NvmlEventSet)) \
        X(event_wait, "nvmlEventSetWait_v2", NULL, (NvmlEventSet, NvmlEvent *, uint32_t)) \
        X(event_set_free, "nvmlEventSetFree", NULL, (NvmlEventSet))

typedef struct Nvml {
        void *library;
        bool is_ready; /* init() succeeded */
#define X(member, name, older, arguments) int32_t (*member) arguments;
        NVML_FUNCTIONS(X)
#undef X
} Nvml;

#define NVML_CALL(nvml, member, ...) ((nvml)->member ? (nvml)->member(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

/*
 * Loads the library and connects it to the driver. Returns the state, with the reason in ret_reason ("" if it is
 * GPU_STATE_OK); then the library is closed again.
 */
GpuState nvml_open(Nvml *ret, const char *path, char ret_reason[static GPU_FILE_REASON_MAX]);
/* Disconnects and unloads, so that the driver can be unloaded, and a library of another version loaded. */
void nvml_close(Nvml *nvml);

/* Returns the state that a result means: OK for success, and for an answer that only lacks this one value. */
GpuState nvml_state(int32_t result);
/* Writes the reason of a state other than OK. */
void nvml_explain(GpuState state, int32_t result, char ret_reason[static GPU_FILE_REASON_MAX]);
