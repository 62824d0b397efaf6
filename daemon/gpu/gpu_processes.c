/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/gpu_processes.h"

#include <string.h>

#include "util/clock.h"

#define LISTED_MAX 256U
/* Bytes of an entry of the driver: NvmlProcess, and what drivers 535.43 to 535.86 append. */
#define ENTRY_BYTES sizeof(NvmlProcess)
#define ENTRY_BYTES_535 (sizeof(NvmlProcess) + 8)
#define UNTOUCHED 0xa5

typedef struct Listed {
        NvmlProcess items[LISTED_MAX];
        uint32_t n;
        uint32_t n_beyond; /* of a list that is longer than LISTED_MAX, of which the driver tells the length only */
} Listed;

void gpu_processes_end(GpuReading *gpu, uint64_t now_ns) {
        for (uint32_t i = 0; i < gpu->n_processes; i++)
                if (gpu->processes[i].last_boottime_ns != now_ns)
                        gpu->processes[i].have &= ~(uint32_t)GPU_PROCESS_RUNNING;
}

bool gpu_processes_run(const GpuReading *gpu) {
        for (uint32_t i = 0; i < gpu->n_processes; i++)
                if (gpu->processes[i].have & GPU_PROCESS_RUNNING)
                        return true;
        return false;
}

/* Takes a free place, or that of the process that ended first. NULL: all run, or the number is none of a process. */
static GpuProcess *find_or_add(GpuReading *gpu, uint32_t pid) {
        GpuProcess *place = NULL;

        if (pid == 0 || pid > INT32_MAX)
                return NULL;
        for (GpuProcess *p = gpu->processes; p < gpu->processes + gpu->n_processes; p++) {
                if (p->pid == (int32_t)pid)
                        return p;
                if (!(p->have & GPU_PROCESS_RUNNING) && (!place || p->last_boottime_ns < place->last_boottime_ns))
                        place = p;
        }
        if (gpu->n_processes < GPU_FILE_PROCESSES_MAX)
                place = &gpu->processes[gpu->n_processes++];
        if (place)
                *place = (GpuProcess){ .pid = (int32_t)pid };
        return place;
}

/* A process that runs again, or another that has its number, has a peak of its own; shares only grow. */
static void update(GpuProcess *process, const NvmlProcess *listed, uint64_t now_ns) {
        if (!(process->have & GPU_PROCESS_RUNNING))
                process->memory_peak_bytes = 0;
        process->last_boottime_ns = now_ns;
        process->have |= GPU_PROCESS_RUNNING;
        if (listed->memory_bytes == UINT64_MAX)
                return;
        process->have |= GPU_PROCESS_MEMORY;
        process->memory_bytes = listed->memory_bytes;
        if (process->memory_peak_bytes < listed->memory_bytes)
                process->memory_peak_bytes = listed->memory_bytes;
}

/* Appends the answer of one of the two functions. */
static int32_t list(int32_t (*function)(NvmlDevice, uint32_t *, void *), NvmlDevice device, Listed *listed) {
        unsigned char bytes[LISTED_MAX * ENTRY_BYTES_535];
        uint32_t n = LISTED_MAX;
        size_t n_bytes = ENTRY_BYTES;
        int32_t result;

        if (!function)
                return NVML_FUNCTION_NOT_FOUND;
        memset(bytes, UNTOUCHED, sizeof(bytes));
        result = function(device, &n, bytes);
        if (result == NVML_INSUFFICIENT_SIZE)
                listed->n_beyond += n;
        if (result != NVML_SUCCESS || n > LISTED_MAX)
                return result;

        for (size_t i = n * ENTRY_BYTES; i < n * ENTRY_BYTES_535; i++)
                if (bytes[i] != UNTOUCHED)
                        n_bytes = ENTRY_BYTES_535;
        for (uint32_t i = 0; i < n && listed->n < LISTED_MAX; i++)
                memcpy(&listed->items[listed->n++], bytes + i * n_bytes, sizeof(NvmlProcess));
        return result;
}

int32_t gpu_processes_read(const Nvml *nvml, NvmlDevice device, uint64_t now_ns, GpuReading *gpu) {
        Listed listed = {};
        int32_t result;

        result = list(nvml->processes, device, &listed);
        /* programs that share the GPU through NVIDIA's MPS are in a list of their own */
        if (result == NVML_SUCCESS)
                (void)list(nvml->mps_processes, device, &listed);

        gpu->n_left_out = listed.n_beyond;
        for (uint32_t i = 0; i < listed.n; i++) {
                GpuProcess *process = find_or_add(gpu, listed.items[i].pid);

                if (process)
                        update(process, &listed.items[i], now_ns);
                else
                        gpu->n_left_out++;
        }
        gpu_processes_end(gpu, now_ns);
        return result;
}

int32_t gpu_processes_read_shares(const Nvml *nvml, NvmlDevice device, uint64_t now_ns, uint64_t period_us,
                                  GpuReading *gpu) {
        NvmlProcessUtilization items[LISTED_MAX];
        uint64_t since_us = clock_realtime_ns() / NS_PER_US - period_us;
        uint32_t n = LISTED_MAX;
        int32_t result;

        result = NVML_CALL(nvml, process_utilization, device, items, &n, since_us);
        if (result == NVML_NOT_FOUND) /* none used the GPU */
                n = 0;
        else if (result != NVML_SUCCESS || n > LISTED_MAX)
                return result;

        for (uint32_t i = 0; i < n; i++) {
                GpuProcess *process = items[i].sm <= 100 ? find_or_add(gpu, items[i].pid) : NULL;

                if (!process)
                        continue;
                process->share_us += items[i].sm * period_us / 100;
                if (process->last_boottime_ns == 0) /* it has begun and ended meanwhile */
                        process->last_boottime_ns = now_ns;
        }
        for (uint32_t i = 0; i < gpu->n_processes; i++)
                gpu->processes[i].have |= GPU_PROCESS_SHARE;
        return NVML_SUCCESS;
}
