/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA: GPUs that perfd-gpu reads
 *
 * The file of readings is opened, read once and closed at each tick: perfd-gpu may have been restarted, and a file that
 * is replaced is never half written. Readings that are older than GPU_FILE_AGE_MAX_NS are a failure, as is a driver
 * without readings. A GPU that is divided into instances (MIG), and these, are in no total: the driver does not tell
 * their utilization.
 */

#include "sample/host/equipment_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/gpu_file.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/scoped.h"

#define DRIVER "proc/driver/nvidia"

/* Indexes of the texts of a GPU. */
enum { TEXT_UUID, TEXT_MODEL, TEXT_DRIVER, TEXT_PARENT, TEXT_STATE };

typedef struct Nvidia {
        int root_fd; /* borrowed */
        char fault[GPU_FILE_REASON_MAX];
        GpuReadings readings;
} Nvidia;

/* Writes "0", or "0/1" for the second instance of the first GPU. */
static void name_gpu(const GpuReadings *readings, const GpuReading *gpu, char ret[static GPU_FILE_TEXT_MAX]) {
        if (gpu->parent < 0)
                (void)snprintf(ret, GPU_FILE_TEXT_MAX, "%d", gpu->index);
        else
                (void)snprintf(ret, GPU_FILE_TEXT_MAX, "%d/%d", readings->gpus[gpu->parent].index, gpu->index);
}

static int add_gpu(const GpuReadings *readings, const GpuReading *gpu, Sample *sample) {
        static const char *const states[N_GPU_STATES] = {
                [GPU_STATE_OK] = "ok",
                [GPU_STATE_NO_LIBRARY] = "no library",
                [GPU_STATE_NO_DRIVER] = "no driver",
                [GPU_STATE_MISMATCH] = "driver mismatch",
                [GPU_STATE_NO_PERMISSION] = "no permission",
                [GPU_STATE_LOST] = "lost",
                [GPU_STATE_FAILED] = "failed",
        };
        char name[GPU_FILE_TEXT_MAX], parent[GPU_FILE_TEXT_MAX] = "";
        const char *const texts[] = { [TEXT_UUID] = gpu->uuid,
                                      [TEXT_MODEL] = gpu->model,
                                      [TEXT_DRIVER] = readings->driver,
                                      [TEXT_PARENT] = parent,
                                      [TEXT_STATE] = states[gpu->state] };
        SampleEquipment *item;
        int r;

        name_gpu(readings, gpu, name);
        if (gpu->parent >= 0)
                name_gpu(readings, &readings->gpus[gpu->parent], parent);
        r = equipment_add(&sample->equipment, EQUIPMENT_GPU, name, &item);
        if (r != 0)
                return r;
        item->is_counted = gpu->parent < 0 && gpu->has_instances != 1;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                (void)snprintf(item->texts[i], sizeof(item->texts[i]), "%s", texts[i]);
        item->have = gpu->have;
        memcpy(item->values, gpu->values, sizeof(gpu->values));
        return 0;
}

/* Returns 0, or an outcome with the reason in nvidia->fault. */
static int read_file(Nvidia *nvidia, uint64_t now_ns) {
        const GpuReadings *readings = &nvidia->readings;
        int r = gpu_file_read(nvidia->root_fd, GPU_FILE_PATH, &nvidia->readings);
        uint64_t age_ns = r == 0 && now_ns > readings->boottime_ns ? now_ns - readings->boottime_ns : 0;
        unsigned long long age_s = age_ns / NS_PER_S;

        if (r == GPU_FILE_NONE && faccessat(nvidia->root_fd, DRIVER, F_OK, 0) < 0)
                return EQUIPMENT_NONE;
        if (r == GPU_FILE_NONE)
                (void)snprintf(nvidia->fault, sizeof(nvidia->fault), "a driver is loaded, but perfd-gpu does not run");
        else if (r == GPU_FILE_INVALID || (r == 0 && readings->boottime_ns > now_ns + GPU_FILE_AGE_MAX_NS))
                (void)snprintf(nvidia->fault, sizeof(nvidia->fault), "not a file of this version: restart perfd-gpu");
        else if (r < 0)
                (void)snprintf(nvidia->fault, sizeof(nvidia->fault), "%s", error_text(-r));
        else if (readings->state != GPU_STATE_OK)
                (void)snprintf(nvidia->fault, sizeof(nvidia->fault), "%s", readings->reason);
        else if (age_ns > GPU_FILE_AGE_MAX_NS)
                (void)snprintf(nvidia->fault, sizeof(nvidia->fault),
                               "%llu s old: the driver hangs, or perfd-gpu does not run", age_s);
        else
                return readings->n_gpus > 0 ? 0 : EQUIPMENT_NONE;
        return EQUIPMENT_FAILED;
}

static int read_gpus(void *state, Sample *sample, const char **ret_fault) {
        Nvidia *nvidia = state;
        int r = read_file(nvidia, sample->boottime_ns);

        *ret_fault = nvidia->fault;
        for (uint32_t i = 0; r == 0 && i < nvidia->readings.n_gpus; i++) {
                r = add_gpu(&nvidia->readings, &nvidia->readings.gpus[i], sample);
                if (r == EQUIPMENT_FULL) {
                        *ret_fault = "too many GPUs";
                        return EQUIPMENT_FAILED;
                }
        }
        return r;
}

const EquipmentReader nvidia_reader = { EQUIPMENT_STATE(Nvidia), .free = free, .read = read_gpus };
