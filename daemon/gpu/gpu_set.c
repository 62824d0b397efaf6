/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/gpu_set.h"

#include <string.h>

#include "util/clock.h"
#include "util/scoped.h"
#include "util/utf8.h"

#define WAIT_MAX_NS (60 * NS_PER_S)
#define TENTH_S 10U
#define MINUTE_S 60U
/* Events of one reading; more wait for the next. */
#define EVENTS_MAX 64U

void gpu_set_init(GpuSet *set, const char *library) {
        GpuReadings *readings = &set->readings;

        set->library = library;
        readings->magic = GPU_FILE_MAGIC;
        readings->n_bytes_gpu = sizeof(GpuReading);
        readings->n_values = N_GPU_VALUES;
}

static void close_library(GpuSet *set) {
        for (uint32_t i = 0; i < GPU_FILE_GPUS_MAX; i++)
                gpu_device_deinit(&set->devices[i], &set->nvml);
        if (set->events)
                (void)NVML_CALL(&set->nvml, event_set_free, set->events);
        set->events = NULL;
        nvml_close(&set->nvml);
}

void gpu_set_deinit(GpuSet *set) {
        close_library(set);
}

/* --- the list of GPUs ----------------------------------------------------------------------------- */

typedef struct GpuList {
        GpuDevice devices[GPU_FILE_GPUS_MAX];
        GpuReading gpus[GPU_FILE_GPUS_MAX];
        uint32_t n;
} GpuList;

/* A text of the driver: complete and printable, otherwise "". */
static void check_text(char text[static GPU_FILE_TEXT_MAX], int32_t result) {
        text[GPU_FILE_TEXT_MAX - 1] = '\0';
        if (result != NVML_SUCCESS || !utf8_is_line(text))
                text[0] = '\0';
}

/* handle: NULL if the driver does not give it. The list has room. */
static GpuReading *add_gpu(const Nvml *nvml, GpuList *list, NvmlDevice handle, uint32_t index) {
        GpuReading *gpu = &list->gpus[list->n];
        NvmlPci pci = {};
        uint32_t minor;
        int32_t result;

        list->devices[list->n++].handle = handle;
        *gpu = (GpuReading){ .parent = -1, .index = (int32_t)index, .minor = -1, .has_instances = -1 };
        result = handle ? NVML_CALL(nvml, uuid, handle, gpu->uuid, GPU_FILE_TEXT_MAX) : NVML_GPU_IS_LOST;
        check_text(gpu->uuid, result);
        gpu->state = gpu->uuid[0] ? GPU_STATE_OK : nvml_state(result) ?: GPU_STATE_FAILED;
        if (!handle)
                return gpu;
        check_text(gpu->model, NVML_CALL(nvml, name, handle, gpu->model, GPU_FILE_TEXT_MAX));
        if (NVML_CALL(nvml, pci, handle, &pci) == NVML_SUCCESS)
                memcpy(gpu->bus, pci.id, sizeof(pci.id));
        check_text(gpu->bus, NVML_SUCCESS);
        if (NVML_CALL(nvml, minor, handle, &minor) == NVML_SUCCESS)
                gpu->minor = (int32_t)minor;
        return gpu;
}

static void add_instances(const Nvml *nvml, GpuList *list, uint32_t place) {
        NvmlDevice gpu = list->devices[place].handle, handle;
        uint32_t current = 0, pending = 0, n = 0;

        if (NVML_CALL(nvml, mig_mode, gpu, &current, &pending) == NVML_SUCCESS)
                list->gpus[place].has_instances = current == 1;
        if (current == 1)
                (void)NVML_CALL(nvml, mig_count, gpu, &n);
        for (uint32_t i = 0; i < n && list->n < GPU_FILE_GPUS_MAX; i++) {
                GpuDevice *device = &list->devices[list->n];

                if (NVML_CALL(nvml, mig_handle, gpu, i, &handle) != NVML_SUCCESS)
                        continue;
                add_gpu(nvml, list, handle, i)->parent = (int32_t)place;
                device->parent = gpu;
                (void)NVML_CALL(nvml, mig_instance, handle, &device->instance);
        }
}

static bool is_listed(const GpuReading *gpus, uint32_t n, const char *uuid) {
        for (uint32_t i = 0; i < n; i++)
                if (strcmp(gpus[i].uuid, uuid) == 0)
                        return true;
        return false;
}

/* Continues a GPU of the former list. One that does not answer is the one of its index that the new list lacks. */
static void continue_gpu(GpuSet *set, GpuList *list, uint32_t place) {
        GpuReading *gpu = &list->gpus[place], former;
        GpuDevice *device = &list->devices[place];

        for (uint32_t i = 0; i < set->readings.n_gpus; i++) {
                former = set->readings.gpus[i];
                if (gpu->state == GPU_STATE_LOST ? former.parent >= 0 || former.index != gpu->index ||
                                                           is_listed(list->gpus, list->n, former.uuid)
                                                 : strcmp(former.uuid, gpu->uuid) != 0)
                        continue;
                former.parent = gpu->parent;
                former.index = gpu->index;
                former.has_instances = gpu->has_instances;
                former.state = gpu->state;
                *gpu = former;
                if (device->handle && device->handle == set->devices[i].handle) {
                        *device = set->devices[i];
                        set->devices[i] = (GpuDevice){};
                        return;
                }
                break;
        }
        gpu_device_drop_values(gpu);
        if (device->handle)
                gpu_device_init(device, &set->nvml);
}

/* Lists the GPUs anew, and keeps what is known of them. Returns the result of the library. */
static int32_t list_gpus(GpuSet *set) {
        scoped(freep) GpuList *list = calloc(1, sizeof(*list));
        const Nvml *nvml = &set->nvml;
        uint32_t n = 0;
        int32_t result;

        if (!list)
                return NVML_SUCCESS; /* tried again in a minute */
        result = NVML_CALL(nvml, count, &n);
        if (result != NVML_SUCCESS)
                return result;
        for (uint32_t i = 0, place; i < n && list->n < GPU_FILE_GPUS_MAX; i++) {
                NvmlDevice handle;

                place = list->n;
                if (NVML_CALL(nvml, handle, i, &handle) != NVML_SUCCESS)
                        handle = NULL;
                (void)add_gpu(nvml, list, handle, i);
                if (handle)
                        add_instances(nvml, list, place);
        }
        for (uint32_t i = 0; i < list->n; i++)
                continue_gpu(set, list, i);
        for (uint32_t i = 0; i < GPU_FILE_GPUS_MAX; i++)
                gpu_device_deinit(&set->devices[i], nvml);
        memcpy(set->devices, list->devices, sizeof(set->devices));
        memcpy(set->readings.gpus, list->gpus, list->n * sizeof(list->gpus[0]));
        set->readings.n_gpus = list->n;
        return NVML_SUCCESS;
}

/* --- errors that the driver reports (XID) --------------------------------------------------------- */

static void register_events(GpuSet *set) {
        const Nvml *nvml = &set->nvml;

        if (NVML_CALL(nvml, event_set, &set->events) != NVML_SUCCESS)
                set->events = NULL;
        for (uint32_t i = 0; i < set->readings.n_gpus; i++) {
                NvmlDevice handle = set->devices[i].parent ? NULL : set->devices[i].handle;
                uint32_t bit = UINT32_C(1) << GPU_xid_errors, *have = &set->readings.gpus[i].have;
                bool is_counted = set->events && handle &&
                                  NVML_CALL(nvml, register_events, handle, NVML_EVENT_XID, set->events) == NVML_SUCCESS;

                *have = is_counted ? *have | bit : *have & ~bit;
        }
}

static void read_events(GpuSet *set) {
        NvmlEvent event;

        for (unsigned n = 0; set->events && n < EVENTS_MAX; n++) {
                if (NVML_CALL(&set->nvml, event_wait, set->events, &event, 0) != NVML_SUCCESS)
                        return;
                for (uint32_t i = 0; event.type & NVML_EVENT_XID && i < set->readings.n_gpus; i++)
                        if (set->devices[i].handle == event.device)
                                set->readings.gpus[i].values[GPU_xid_errors]++;
        }
}

/* --- reading -------------------------------------------------------------------------------------- */

/* Sets the state of all GPUs, and closes the library. */
static void fail(GpuSet *set, GpuState state) {
        GpuReadings *readings = &set->readings;

        readings->state = state;
        for (uint32_t i = 0; i < readings->n_gpus; i++) {
                readings->gpus[i].state = state;
                gpu_device_drop_values(&readings->gpus[i]);
        }
        close_library(set);
}

static void open_library(GpuSet *set, uint64_t now_ns) {
        GpuReadings *readings = &set->readings;
        GpuState state;
        int32_t result;

        set->wait_ns = set->wait_ns == 0 ? NS_PER_S : 2 * set->wait_ns < WAIT_MAX_NS ? 2 * set->wait_ns : WAIT_MAX_NS;
        set->retry_ns = now_ns + set->wait_ns;
        state = nvml_open(&set->nvml, set->library, readings->reason);
        if (state == GPU_STATE_OK) {
                check_text(readings->driver, NVML_CALL(&set->nvml, driver, readings->driver, GPU_FILE_TEXT_MAX));
                result = list_gpus(set);
                state = nvml_state(result);
                if (result != NVML_SUCCESS && state == GPU_STATE_OK)
                        state = GPU_STATE_FAILED;
                nvml_explain(state, result, readings->reason);
        }
        if (state != GPU_STATE_OK) {
                fail(set, state);
                return;
        }
        register_events(set);
        readings->state = GPU_STATE_OK;
        set->is_changed = false;
}

/* Reads a GPU. Returns false if the driver as a whole is gone. */
static bool read_gpu(GpuSet *set, uint32_t i, unsigned due) {
        GpuReadings *readings = &set->readings;
        GpuReading *gpu = &readings->gpus[i];
        GpuDevice *device = &set->devices[i];
        GpuState state;
        int32_t result;

        if (gpu->state != GPU_STATE_OK)
                return true;
        result = gpu_device_read(device, &set->nvml, due, gpu);
        state = nvml_state(result);
        if (state == GPU_STATE_OK) {
                set->is_changed |= device->parent && !gpu_file_has(gpu, GPU_memory_total_bytes);
                return true;
        }
        gpu->state = state;
        gpu_device_drop_values(gpu);
        if (state == GPU_STATE_LOST)
                return true;
        nvml_explain(state, result, readings->reason);
        fail(set, state);
        return false;
}

/* A library that has lost a GPU is opened anew at growing intervals; the other GPUs are read meanwhile. */
static void look_for_lost(GpuSet *set, uint64_t now_ns) {
        bool is_lost = false;

        for (uint32_t i = 0; i < set->readings.n_gpus; i++)
                is_lost |= set->readings.gpus[i].state != GPU_STATE_OK;
        nvml_explain(is_lost ? GPU_STATE_LOST : GPU_STATE_OK, 0, set->readings.reason);
        if (!is_lost)
                set->retry_ns = set->wait_ns = 0;
        else if (set->retry_ns == 0)
                set->retry_ns = now_ns + NS_PER_S;
}

void gpu_set_read(GpuSet *set, uint64_t second, bool is_requested) {
        GpuReadings *readings = &set->readings;
        uint64_t now_ns = clock_boottime_ns();

        readings->sequence++;
        readings->boottime_ns = now_ns;
        if (now_ns >= set->retry_ns && (!set->nvml.library || set->retry_ns > 0)) {
                close_library(set);
                open_library(set, now_ns);
        } else if (set->nvml.library && (set->is_changed || second % MINUTE_S == 0)) {
                set->is_changed = false;
                (void)list_gpus(set);
        }
        for (uint32_t i = 0; set->nvml.library && i < readings->n_gpus; i++) {
                unsigned due = (is_requested || (second + i) % TENTH_S == 0 ? GPU_DUE_TENTH : 0) |
                               ((second + i) % MINUTE_S == TENTH_S / 2 ? GPU_DUE_MINUTE : 0);

                if (!read_gpu(set, i, due))
                        return;
        }
        if (!set->nvml.library)
                return;
        if (is_requested || second % TENTH_S == 0)
                read_events(set);
        look_for_lost(set, now_ns);
}
