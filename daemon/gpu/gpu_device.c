/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/gpu_device.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "util/clock.h"
#include "util/scoped.h"

#define GPM_VERSION 1
#define GPM_DISTANCE_MIN_NS (100 * NS_PER_MS) /* the driver refreshes samples at this interval */
#define GPM_DISTANCE_MAX_NS (15 * NS_PER_S)
/* A longer distance of two readings is a gap, in which nothing is known. */
#define SECOND_MAX_NS (5 * NS_PER_S / 2)

/* Answers beyond these are garbage. */
#define POWER_MAX_MW 10000000U
#define HEAT_MAX 150U /* °C */
#define CLOCK_MAX_MHZ 20000U
#define SHARE_MAX 105. /* GPM can exceed 100 % a little */
#define TRAFFIC_MAX_MIB 1e8

/* --- processes ------------------------------------------------------------------------------------- */

/*
 * A process remains in the reading after its end, with what it has used, until its place is needed: one that lives for
 * less than the interval of the reader is seen as well.
 */

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

/* Ends the processes that have not been listed at this time. */
static void gpu_processes_end(GpuReading *gpu, uint64_t now_ns) {
        for (uint32_t i = 0; i < gpu->n_processes; i++)
                if (gpu->processes[i].last_boottime_ns != now_ns)
                        gpu->processes[i].have &= ~(uint32_t)GPU_PROCESS_RUNNING;
}

/* True if a process runs. */
static bool gpu_processes_run(const GpuReading *gpu) {
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

/* Updates the processes and their memory. Returns the result of the library; the list is known if it is a success. */
static int32_t gpu_processes_read(const Nvml *nvml, NvmlDevice device, uint64_t now_ns, GpuReading *gpu) {
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

/* Adds what the processes used of the GPU in the last period_us. Returns the result of the library. */
static int32_t gpu_processes_read_shares(const Nvml *nvml, NvmlDevice device, uint64_t now_ns, uint64_t period_us,
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

/* --- values --------------------------------------------------------------------------------------- */

static void put(GpuReading *gpu, unsigned value, bool is_known, uint64_t v) {
        uint32_t bit = UINT32_C(1) << value;

        gpu->have = is_known ? gpu->have | bit : gpu->have & ~bit;
        if (is_known)
                gpu->values[value] = v;
}

static void add(GpuReading *gpu, unsigned value, double amount) {
        put(gpu, value, true, (gpu_file_has(gpu, value) ? gpu->values[value] : 0) + (uint64_t)llround(amount));
}

void gpu_device_drop_values(GpuReading *gpu) {
        for (unsigned i = 0; i < N_GPU_VALUES; i++)
                if (equipment_kinds[EQUIPMENT_GPU].values[i].type == EQUIPMENT_GAUGE)
                        put(gpu, i, false, 0);
        gpu->clock_reasons = 0;
        gpu_processes_end(gpu, UINT64_MAX);
}

/* Notes a result that ends the reading. Returns true for success. */
static bool is_done(int32_t *error, int32_t result) {
        if (*error == NVML_SUCCESS && nvml_state(result) != GPU_STATE_OK)
                *error = result;
        return result == NVML_SUCCESS;
}

/* --- GPM ------------------------------------------------------------------------------------------ */

/* Metrics of GPM: first percentages, then traffic in MiB/s. */
static const struct {
        uint32_t id, value;
} gpm_rows[] = {
        { 2, GPU_sm_active_us },        { 3, GPU_sm_occupancy_us },       { 5, GPU_tensor_active_us },
        { 10, GPU_dram_active_us },     { 20, GPU_pcie_sent_bytes },      { 21, GPU_pcie_received_bytes },
        { 61, GPU_nvlink_sent_bytes },  { 60, GPU_nvlink_received_bytes },
};
#define N_SHARES 4U

static const struct {
        double percent;
        uint32_t value;
} thresholds[] = { { 20, GPU_sm_over20_us }, { 40, GPU_sm_over40_us }, { 80, GPU_sm_over80_us } };

void gpu_device_init(GpuDevice *device, const Nvml *nvml) {
        NvmlGpmSupport support = { .version = GPM_VERSION };

        if (NVML_CALL(nvml, gpm_support, device->parent ? device->parent : device->handle, &support) != NVML_SUCCESS ||
            !support.is_supported)
                return;
        for (size_t i = 0; i < N_ELEMENTS(device->samples); i++)
                if (NVML_CALL(nvml, gpm_alloc, &device->samples[i]) != NVML_SUCCESS)
                        device->samples[i] = NULL;
}

void gpu_device_deinit(GpuDevice *device, const Nvml *nvml) {
        for (size_t i = 0; i < N_ELEMENTS(device->samples); i++)
                if (device->samples[i])
                        (void)NVML_CALL(nvml, gpm_free, device->samples[i]);
        *device = (GpuDevice){};
}

/* Adds the shares of a period that ends now, and declares the time from its begin or the last call as observed. */
static void add_activity(GpuDevice *device, uint64_t from_ns, uint64_t now_ns, const double percents[static N_SHARES],
                         GpuReading *gpu) {
        double period_us = (double)(now_ns - from_ns) / NS_PER_US;
        uint64_t since_ns = device->observed_ns > from_ns ? device->observed_ns : from_ns;

        for (size_t i = 0; i < N_SHARES; i++)
                add(gpu, gpm_rows[i].value, period_us * percents[i] / 100);
        for (size_t i = 0; i < N_ELEMENTS(thresholds); i++)
                add(gpu, thresholds[i].value, percents[0] >= thresholds[i].percent ? period_us : 0);
        add(gpu, GPU_sm_observed_us, (double)(now_ns - since_ns) / NS_PER_US);
        put(gpu, GPU_sm_active, true, (uint64_t)llround(percents[0] * 100));
        device->observed_ns = now_ns;
}

static bool is_plausible(const NvmlGpmMetric *metric, double max) {
        return metric->result == NVML_SUCCESS && metric->value >= 0 && metric->value <= max;
}

/* Adds the difference of the two samples. Returns the result of the library. */
static int32_t add_gpm(GpuDevice *device, const Nvml *nvml, uint64_t now_ns, GpuReading *gpu) {
        NvmlGpmMetrics metrics = {
                .version = GPM_VERSION,
                .n = N_ELEMENTS(gpm_rows),
                .from = device->samples[0],
                .to = device->samples[1],
        };
        double percents[N_SHARES], period_s = (double)(now_ns - device->sample_ns) / NS_PER_S;
        int32_t result;

        for (size_t i = 0; i < N_ELEMENTS(gpm_rows); i++)
                metrics.metrics[i].id = gpm_rows[i].id;
        result = NVML_CALL(nvml, gpm_metrics, &metrics);
        device->is_gpm_failing = result != NVML_SUCCESS;
        for (size_t i = 0; i < N_SHARES; i++) {
                device->is_gpm_failing |= !is_plausible(&metrics.metrics[i], SHARE_MAX);
                percents[i] = fmin(metrics.metrics[i].value, 100);
        }
        if (device->is_gpm_failing)
                return result;

        add_activity(device, device->sample_ns, now_ns, percents, gpu);
        for (size_t i = N_SHARES; i < N_ELEMENTS(gpm_rows); i++)
                if (is_plausible(&metrics.metrics[i], TRAFFIC_MAX_MIB))
                        add(gpu, gpm_rows[i].value, metrics.metrics[i].value * 1048576 * period_s);
        return result;
}

static void read_gpm(GpuDevice *device, const Nvml *nvml, int32_t *error, GpuReading *gpu) {
        uint64_t now_ns = clock_boottime_ns(), distance_ns = now_ns - device->sample_ns;
        NvmlSample *samples = device->samples, older = samples[0];
        int32_t result;

        if (distance_ns < GPM_DISTANCE_MIN_NS)
                return;
        put(gpu, GPU_sm_active, false, 0); /* until the samples say what it is now */
        result = device->parent ? NVML_CALL(nvml, gpm_mig_sample, device->parent, device->instance, samples[1])
                                : NVML_CALL(nvml, gpm_sample, device->handle, samples[1]);
        if (!is_done(error, result)) {
                device->is_gpm_failing = true;
                device->sample_ns = 0;
                return;
        }
        if (device->sample_ns > 0 && distance_ns <= GPM_DISTANCE_MAX_NS)
                (void)is_done(error, add_gpm(device, nvml, now_ns, gpu));
        samples[0] = samples[1];
        samples[1] = older;
        device->sample_ns = now_ns;
}

/* --- the other calls ------------------------------------------------------------------------------ */

static void read_reasons(const Nvml *nvml, NvmlDevice handle, uint64_t period_us, int32_t *error, GpuReading *gpu) {
        const uint64_t power = NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_POWER_BRAKE;
        const uint64_t heat = NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL;
        uint64_t reasons = 0;

        if (!is_done(error, NVML_CALL(nvml, reasons, handle, &reasons)))
                reasons = period_us = 0;
        else {
                /* older GPUs do not say why the hardware slows down: mostly because of heat */
                if (!(reasons & (power | heat)) && reasons & NVML_REASON_HW_SLOWDOWN)
                        reasons |= NVML_REASON_HW_THERMAL;
                add(gpu, GPU_power_throttled_us, reasons & power ? (double)period_us : 0);
                add(gpu, GPU_heat_throttled_us, reasons & heat ? (double)period_us : 0);
        }
        gpu->clock_reasons = (uint32_t)reasons;
}

static void read_each_second(const Nvml *nvml, NvmlDevice handle, uint64_t period_us, int32_t *error, GpuReading *gpu) {
        NvmlMemory memory = { .version = NVML_MEMORY_VERSION };
        NvmlUtilization utilization = {};
        uint32_t power = 0, temperature = 0, clock = 0;
        bool is_known;

        is_known = is_done(error, NVML_CALL(nvml, memory, handle, &memory)) && memory.used <= memory.total;
        put(gpu, GPU_memory_total_bytes, is_known, memory.total);
        put(gpu, GPU_memory_used_bytes, is_known, memory.used);

        is_known = is_done(error, NVML_CALL(nvml, utilization, handle, &utilization)) && utilization.gpu <= 100;
        put(gpu, GPU_utilization, is_known, utilization.gpu * 100);
        if (is_known)
                add(gpu, GPU_utilized_us, (double)period_us * utilization.gpu / 100);

        is_known = is_done(error, NVML_CALL(nvml, power, handle, &power)) && power <= POWER_MAX_MW;
        put(gpu, GPU_power_mw, is_known, power);
        is_known = is_done(error, NVML_CALL(nvml, temperature, handle, 0, &temperature)) && temperature <= HEAT_MAX;
        put(gpu, GPU_temperature_mc, is_known, temperature * UINT64_C(1000));
        is_known = is_done(error, NVML_CALL(nvml, clock, handle, NVML_CLOCK_SM, &clock)) && clock <= CLOCK_MAX_MHZ;
        put(gpu, GPU_sm_clock_hz, is_known, clock * UINT64_C(1000000));
        read_reasons(nvml, handle, period_us, error, gpu);
}

static void read_energy(const Nvml *nvml, NvmlDevice handle, int32_t *error, GpuReading *gpu) {
        uint64_t now_ns = clock_boottime_ns(), energy = 0;
        bool is_known = is_done(error, NVML_CALL(nvml, energy, handle, &energy));

        put(gpu, GPU_energy_mj, is_known, energy);
        gpu->energy_boottime_ns = is_known ? now_ns : 0;
}

static void read_each_minute(const Nvml *nvml, NvmlDevice handle, int32_t *error, GpuReading *gpu) {
        uint32_t clock = 0, limit = 0, corrected = 0, uncorrected = 0, pending, failed;
        bool is_known;

        is_known = is_done(error, NVML_CALL(nvml, max_clock, handle, NVML_CLOCK_SM, &clock)) && clock <= CLOCK_MAX_MHZ;
        put(gpu, GPU_sm_clock_max_hz, is_known, clock * UINT64_C(1000000));
        is_known = is_done(error, NVML_CALL(nvml, power_limit, handle, &limit)) && limit <= POWER_MAX_MW;
        put(gpu, GPU_power_limit_mw, is_known, limit);
        for (int i = 0; i < 2; i++) {
                uint64_t n = 0;

                is_known = is_done(error, NVML_CALL(nvml, ecc, handle, i, 0, &n));
                put(gpu, i == 0 ? GPU_ecc_corrected : GPU_ecc_uncorrected, is_known, n);
        }
        is_known = is_done(error, NVML_CALL(nvml, remapped, handle, &corrected, &uncorrected, &pending, &failed));
        put(gpu, GPU_remapped_rows, is_known, (uint64_t)corrected + uncorrected);
}

/* --- the whole ------------------------------------------------------------------------------------ */

/*
 * Reads activity as often as it can change. from_ns: the last reading; is_free: no process is there. A GPU that has
 * become idle is read once more, for what its last process did.
 */
static void read_activity(GpuDevice *device, const Nvml *nvml, unsigned due, uint64_t from_ns, bool is_free,
                          int32_t *error, GpuReading *gpu) {
        static const double idle[N_SHARES] = {};
        bool is_known = gpu_file_has(gpu, GPU_utilization), is_used = is_known && gpu->values[GPU_utilization] > 0;
        bool is_idle = is_known && !is_used && is_free;
        uint64_t sample_ns = device->sample_ns;

        if (is_idle && sample_ns == 0) {
                if (!device->is_gpm_failing)
                        add_activity(device, from_ns, device->read_ns, idle, gpu);
        } else if (is_idle || is_used || due & GPU_DUE_TENTH || sample_ns == 0)
                read_gpm(device, nvml, error, gpu);
        if (is_idle && device->sample_ns != sample_ns)
                device->sample_ns = 0; /* the next is taken as soon as there is a process */
}

int32_t gpu_device_read(GpuDevice *device, const Nvml *nvml, unsigned due, GpuReading *gpu) {
        uint64_t now_ns = clock_boottime_ns(), from_ns = device->read_ns, period_us;
        int32_t error = NVML_SUCCESS, result;
        bool is_free;

        if (from_ns == 0)
                due = GPU_DUE_TENTH | GPU_DUE_MINUTE;
        if (from_ns == 0 || now_ns - from_ns > SECOND_MAX_NS)
                from_ns = now_ns;
        period_us = (now_ns - from_ns) / NS_PER_US;
        device->read_ns = gpu->boottime_ns = now_ns;

        read_each_second(nvml, device->handle, period_us, &error, gpu);
        if (error != NVML_SUCCESS) /* the others would wait for the same answer */
                return error;
        add(gpu, GPU_present_us, (double)period_us);
        result = gpu_processes_read(nvml, device->handle, now_ns, gpu);
        (void)is_done(&error, result);
        is_free = result == NVML_SUCCESS && !gpu_processes_run(gpu);
        if (device->samples[0] && device->samples[1])
                read_activity(device, nvml, due, from_ns, is_free, &error, gpu);
        if (due & GPU_DUE_TENTH) {
                read_energy(nvml, device->handle, &error, gpu);
                if (device->shares_ns > 0 && gpu->n_processes > 0)
                        (void)is_done(&error, gpu_processes_read_shares(nvml, device->handle, now_ns,
                                                                        (now_ns - device->shares_ns) / NS_PER_US, gpu));
                device->shares_ns = now_ns;
        }
        if (due & GPU_DUE_MINUTE)
                read_each_minute(nvml, device->handle, &error, gpu);
        return error;
}
