/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GPU file: the latest readings of all GPUs, which perfd-gpu writes and perfd reads
 *
 * The libraries of GPUs wait for their driver, for ever if a GPU falls off the bus. perfd-gpu, a process of its own,
 * calls them; perfd reads this file. Each reading is a new file that replaces the former one (rename(2)), so that one
 * pread(2) is always one reading, also if the writer dies in the middle. The file is in memory (tmpfs), never mapped.
 *
 * Values are those of GPU_VALUES (equipment.h). Times are integrals, which only grow; energy and memory errors are of
 * the driver, and begin anew when it is loaded. What happened in any period is the difference of two readings, as long
 * as both have the value and the same `uuid`. perfd-gpu continues the integrals of the file that it finds.
 *
 * perfd-gpu reads each second, 100 ms before a second of the wall clock is full, and as soon as it gets a datagram at
 * GPU_FILE_SOCKET, any: then also energy and the shares of processes, read otherwise each 10 s. The reading that
 * answers has a `boottime_ns` after that of the sending. Datagrams that come together have one reading.
 *
 * Both programs are of one version. The reader trusts nothing in the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/equipment.h"

#define GPU_FILE_PATH "run/perfd-gpu/readings" /* below the root directory */
#define GPU_FILE_SOCKET "run/perfd-gpu/request"

#define GPU_FILE_MAGIC UINT64_C(0x3155504744465250) /* "PRFDGPU1" */
#define GPU_FILE_GPUS_MAX 64U
#define GPU_FILE_PROCESSES_MAX 64U
#define GPU_FILE_TEXT_MAX 64
#define GPU_FILE_REASON_MAX 160
/* A reading that is older is no longer true: the driver hangs, or perfd-gpu does not run. */
#define GPU_FILE_AGE_MAX_NS UINT64_C(3000000000)

/* A process that has or had a context on a GPU; one that has ended remains until its place is needed. */
typedef struct GpuProcess {
        int32_t pid;   /* in the PID namespace of perfd-gpu, that of the host; never 0 */
        uint32_t have; /* GPU_PROCESS_MEMORY … */
        uint64_t last_boottime_ns;                /* of the last reading that listed it */
        uint64_t memory_bytes, memory_peak_bytes; /* at that reading; the highest of all readings */
        /* ∫ SM utilization of the process as the driver says: its part of the GPU's activity is this divided by the sum
         * over the processes of that GPU. Grows each 10 s and on request */
        uint64_t share_us;
} GpuProcess;

enum {
        GPU_PROCESS_RUNNING = 1, /* listed by the latest reading */
        GPU_PROCESS_MEMORY = 2,
        GPU_PROCESS_SHARE = 4,
};

typedef enum GpuState {
        GPU_STATE_OK,
        GPU_STATE_NO_LIBRARY,    /* libnvidia-ml.so.1 cannot be loaded */
        GPU_STATE_NO_DRIVER,     /* the driver is not loaded, or was unloaded */
        GPU_STATE_MISMATCH,      /* the driver and its library are of different versions: an upgrade without restart */
        GPU_STATE_NO_PERMISSION, /* the device files cannot be opened */
        GPU_STATE_LOST,          /* the GPU has fallen off the bus, or was removed */
        GPU_STATE_FAILED,        /* another error of the driver, or answers that cannot be true */
        N_GPU_STATES,
} GpuState;

/* A GPU, or an instance of one (MIG). */
typedef struct GpuReading {
        char uuid[GPU_FILE_TEXT_MAX]; /* "GPU-…" or "MIG-…": of one life, never reused */
        char model[GPU_FILE_TEXT_MAX];
        char bus[GPU_FILE_TEXT_MAX]; /* "00000000:00:06.0" */
        uint32_t state;              /* GpuState; other than OK: no value is read, counters remain as they were */
        int32_t parent;              /* place of the GPU of which this is an instance; -1: a GPU */
        int32_t index;               /* as nvidia-smi has it: of the GPU, or of the instance within its GPU */
        int32_t minor;               /* of /dev/nvidiaN; -1: unknown */
        int32_t has_instances;       /* MIG mode: 1, 0; -1: unknown */
        uint32_t clock_reasons;      /* of NVML, nvmlClocksEventReasons; 0 if unknown */
        uint64_t boottime_ns;        /* of the values except energy */
        uint64_t energy_boottime_ns; /* 0: never read */
        uint32_t have;               /* bit per value of GPU_VALUES */
        uint64_t values[N_GPU_VALUES];
        uint32_t n_processes;
        uint32_t n_left_out; /* processes beyond GPU_FILE_PROCESSES_MAX */
        GpuProcess processes[GPU_FILE_PROCESSES_MAX];
} GpuReading;

static inline bool gpu_file_has(const GpuReading *gpu, size_t value) {
        return gpu->have & (UINT32_C(1) << value);
}

/* Content of the file, which ends behind the last of n_gpus. */
typedef struct GpuReadings {
        uint64_t magic;
        uint32_t n_bytes_gpu; /* sizeof(GpuReading) */
        uint32_t n_values;    /* N_GPU_VALUES */
        uint64_t sequence;    /* one more for each reading */
        uint64_t boottime_ns; /* when the reading began */
        uint32_t state;       /* GpuState of the driver; other than OK: no GPU can be read */
        uint32_t n_gpus;
        char driver[GPU_FILE_TEXT_MAX];
        char reason[GPU_FILE_REASON_MAX]; /* for the user, "" if the state is OK */
        GpuReading gpus[GPU_FILE_GPUS_MAX];
} GpuReadings;

/* Replaces the file at `path`. 0 or a negative errno. */
int gpu_file_write(const char *path, const GpuReadings *readings);

/*
 * Reads and checks the file at `path` below a directory. Texts in *ret are valid and terminated, numbers in their
 * ranges; values may be anything. Does not check the age. Returns 0; GPU_FILE_NONE: there is no file; GPU_FILE_INVALID:
 * the file is not one of this version, or damaged; or a negative errno.
 */
enum {
        GPU_FILE_NONE = 1,
        GPU_FILE_INVALID,
};
int gpu_file_read(int dir_fd, const char *path, GpuReadings *ret);
