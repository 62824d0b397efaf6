/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-in for libnvidia-ml.so.1, for tests on machines without GPU
 *
 * Answers what a real H200 answered (driver 580.159.04), in a few states of load, and plays the faults of GPUs and
 * drivers. It is told by a file, whose path is in STANDIN_NVML, of lines "key value", read again when it has changed:
 *
 *   gpus N            number of GPUs, at most 16; default 1
 *   state NAME        idle, matmul (8192³ products without pause), tiny (kernels of 64 elements without pause), duty
 *                     (half of the time products, half sleep), two (matmul and tiny in two processes)
 *   processes N       number of processes in place of those of the state; PIDs from `pid` on
 *   pid N             of the first process; default 509
 *   instances N       the first GPU is divided into N instances (MIG)
 *   gpm 0             a GPU of before Hopper
 *   init R            nvmlInit_v2() returns R
 *   lost I            GPU I has fallen off the bus: each call of it returns 15
 *   gone 1            the driver was unloaded: each call returns 1
 *   error NAME R      the calls that contain NAME return R
 *   hang NAME         the calls that contain NAME do not return
 *   garbage 1         answers that cannot be true
 *   appended 1        8 bytes more for each process, as drivers 535.43 to 535.86 have
 *   xid N             events that were reported since the start
 *   log 1             each call is written to the file STANDIN_NVML.log
 *
 * The counters go on with CLOCK_MONOTONIC.
 */

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define GPUS_MAX 16
#define INSTANCES_MAX 7
#define N_INTEGRALS 9

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, TIMEOUT = 10, LOST = 15 };

/* A load: what the calls answer, and the rates of the GPM metrics in `ids`. */
typedef struct Load {
        const char *name;
        unsigned utilization, power_mw, temperature, clock, reasons, n_processes;
        uint64_t used_bytes;
        double rates[N_INTEGRALS - 1];
        struct {
                uint64_t bytes;
                unsigned sm;
        } processes[2];
} Load;

/* SM, occupancy, tensor, DRAM in percent; PCIe sent and received, NVLink received and sent in MiB/s */
static const unsigned ids[N_INTEGRALS - 1] = { 2, 3, 5, 10, 20, 21, 60, 61 };
static const Load loads[] = {
        { "idle", 0, 79705, 45, 345, 1, 0, 0, { 0, 0, 0, 0.00038, 2.6, 2.1, 0, 0 }, {} },
        { "matmul", 99, 693939, 68, 1500, 4, 1, 1059913728, { 95.861, 14.167, 93.038, 16.154, 6.75, 14.77, 0, 0 }, { { 1050673152, 100 } } },
        { "tiny", 26, 128001, 48, 1980, 0, 1, 650969088, { 0.0244, 0.0013, 0.00015, 0.00039, 21.4, 164.7, 0, 0 }, { { 641728512, 24 } } },
        { "duty", 94, 440231, 64, 1965, 4, 1, 1059913728, { 39.882, 5.894, 38.693, 8.253, 2.6, 3.1, 0, 0 }, { { 1050673152, 47 } } },
        { "two", 100, 687695, 68, 1815, 4, 2, 1707540480, { 64.769, 9.568, 59.925, 13.429, 55.6, 248, 0, 0 }, { { 1050673152, 60 }, { 641728512, 40 } } },
};

/* A handle is the address of one of these. */
typedef struct Device {
        unsigned gpu, instance; /* instance: from 1 on; 0 for the GPU */
        double integrals[N_INTEGRALS]; /* ∫ rates, and energy in mJ */
} Device;

typedef struct Sample {
        double at_s;
        double integrals[N_INTEGRALS];
} Sample;

typedef struct Orders {
        unsigned gpus, instances, gpm, init, gone, garbage, appended, xid, log, pid, processes;
        int lost;
        const Load *load;
        char error[32], hang[32];
        int error_result;
        struct timespec changed;
} Orders;

static struct {
        Orders orders;
        Device devices[GPUS_MAX][1 + INSTANCES_MAX];
        double at_s;
        bool is_ready;
        unsigned n_xid;
} self;

static double now_s(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Adds what the load did since the last call. */
static void advance(void) {
        double at_s = now_s(), period_s = self.at_s > 0 ? at_s - self.at_s : 0;

        for (unsigned i = 0; i < GPUS_MAX; i++)
                for (unsigned j = 0; j <= INSTANCES_MAX; j++) {
                        for (unsigned k = 0; k < N_INTEGRALS - 1; k++)
                                self.devices[i][j].integrals[k] += self.orders.load->rates[k] * period_s;
                        self.devices[i][j].integrals[N_INTEGRALS - 1] += self.orders.load->power_mw * period_s;
                }
        self.at_s = at_s;
}

static void obey(const char *path) {
        Orders o = { .gpus = 1, .gpm = 1, .lost = -1, .load = &loads[0], .pid = 509, .processes = UINT32_MAX };
        FILE *f = fopen(path, "re");
        char line[128], word[32];
        unsigned n;

        while (f && fgets(line, sizeof(line), f)) {
                const struct {
                        const char *key;
                        unsigned *to;
                } numbers[] = {
                        { "gpus", &o.gpus },         { "instances", &o.instances }, { "gpm", &o.gpm },
                        { "init", &o.init },         { "gone", &o.gone },           { "garbage", &o.garbage },
                        { "appended", &o.appended }, { "xid", &o.xid },             { "log", &o.log },
                        { "pid", &o.pid },           { "processes", &o.processes },
                };

                for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                        if (sscanf(line, "%31s %u", word, &n) == 2 && strcmp(word, numbers[i].key) == 0)
                                *numbers[i].to = n;
                if (sscanf(line, "lost %u", &n) == 1)
                        o.lost = (int)n;
                (void)sscanf(line, "hang %31s", o.hang);
                (void)sscanf(line, "error %31s %d", o.error, &o.error_result);
                if (sscanf(line, "state %31s", word) == 1)
                        for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
                                if (strcmp(loads[i].name, word) == 0)
                                        o.load = &loads[i];
        }
        if (f)
                fclose(f);
        if (o.processes == UINT32_MAX)
                o.processes = o.load->n_processes;
        self.orders = o;
}

static void note(const char *name) {
        char path[512];
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s.log", getenv("STANDIN_NVML"));
        f = fopen(path, "ae");
        if (f) {
                fprintf(f, "%s\n", name);
                fclose(f);
        }
}

/* Returns what ends the call, or OK. device: NULL for a call of the library. */
static int enter(const char *name, const Device *device) {
        const char *path = getenv("STANDIN_NVML") ?: "/dev/null";
        struct stat st = {};
        Orders *o = &self.orders;

        if (!o->load)
                o->load = &loads[0];
        advance();
        (void)stat(path, &st);
        if (memcmp(&st.st_mtim, &o->changed, sizeof(st.st_mtim)) != 0 || o->gpus == 0) {
                obey(path);
                o->changed = st.st_mtim;
        }
        if (o->log)
                note(name);
        while (o->hang[0] && strstr(name, o->hang))
                pause();
        if (o->error[0] && strstr(name, o->error))
                return o->error_result;
        if (o->gone)
                return UNINITIALIZED;
        if (device && (int)device->gpu == o->lost)
                return LOST;
        return device && device->instance > o->instances ? INVALID : OK;
}

#define ENTER(device)                                              \
        do {                                                       \
                int entered_ = enter(__func__, device);            \
                if (entered_ != OK)                                \
                        return entered_;                           \
        } while (0)
/* Calls that an instance does not answer, and the GPU neither while it is divided, if `divided`. */
#define OF_WHOLE_GPU(device, divided)                                                                  \
        do {                                                                                           \
                if ((device)->instance > 0 || ((divided) && (device)->gpu == 0 && self.orders.instances)) \
                        return NOT_SUPPORTED;                                                          \
        } while (0)

#define GARBLE(good, bad) (self.orders.garbage ? (bad) : (good))

/* --- the library ---------------------------------------------------------------------------------- */

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void) {
        int r = enter(__func__, NULL);

        for (unsigned i = 0; i < GPUS_MAX; i++)
                for (unsigned j = 0; j <= INSTANCES_MAX; j++)
                        self.devices[i][j].gpu = i, self.devices[i][j].instance = j;
        self.is_ready = r == OK && self.orders.init == 0;
        return r != OK ? r : (int)self.orders.init;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void) {
        (void)enter(__func__, NULL);
        self.is_ready = false;
        return OK;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned n);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned n) {
        ENTER(NULL);
        (void)snprintf(text, n, "%s", GARBLE("580.159.04", "\xff\xfe"));
        return OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *ret);
EXPORT int nvmlDeviceGetCount_v2(unsigned *ret) {
        ENTER(NULL);
        *ret = self.orders.gpus;
        return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, Device **ret);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, Device **ret) {
        if (i >= GPUS_MAX)
                return INVALID;
        ENTER(&self.devices[i][0]);
        *ret = &self.devices[i][0];
        return OK;
}

EXPORT int nvmlDeviceGetName(Device *d, char *text, unsigned n);
EXPORT int nvmlDeviceGetName(Device *d, char *text, unsigned n) {
        ENTER(d);
        (void)snprintf(text, n, "%s%s", GARBLE("NVIDIA H200", "\n"), d->instance > 0 ? " MIG 1g.18gb" : "");
        return OK;
}

EXPORT int nvmlDeviceGetUUID(Device *d, char *text, unsigned n);
EXPORT int nvmlDeviceGetUUID(Device *d, char *text, unsigned n) {
        ENTER(d);
        if (d->instance > 0)
                (void)snprintf(text, n, "MIG-00000000-0000-0000-%04u-%012u", d->instance, d->gpu + 1);
        else
                (void)snprintf(text, n, "GPU-00000000-0000-0000-0000-%012u", d->gpu + 1);
        return OK;
}

EXPORT int nvmlDeviceGetMinorNumber(Device *d, unsigned *ret);
EXPORT int nvmlDeviceGetMinorNumber(Device *d, unsigned *ret) {
        ENTER(d);
        *ret = d->gpu;
        return OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(Device *d, void *ret);
EXPORT int nvmlDeviceGetPciInfo_v3(Device *d, void *ret) {
        ENTER(d);
        memset(ret, 0xff, 36);
        (void)snprintf((char *)ret + 36, 32, "00000000:%02X:00.0", d->gpu + 6);
        return OK;
}

/* --- values --------------------------------------------------------------------------------------- */

EXPORT int nvmlDeviceGetMemoryInfo_v2(Device *d, uint64_t ret[5]);
EXPORT int nvmlDeviceGetMemoryInfo_v2(Device *d, uint64_t ret[5]) {
        ENTER(d);
        if ((uint32_t)ret[0] != 33554472)
                return 25;
        ret[1] = 150754820096 / (d->instance > 0 ? INSTANCES_MAX : 1);
        ret[2] = 644939776;
        ret[4] = GARBLE(self.orders.load->used_bytes, UINT64_MAX);
        ret[3] = ret[1] - ret[4];
        return OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(Device *d, unsigned ret[2]);
EXPORT int nvmlDeviceGetUtilizationRates(Device *d, unsigned ret[2]) {
        ENTER(d);
        OF_WHOLE_GPU(d, true);
        ret[0] = GARBLE(self.orders.load->utilization, 4000000000);
        ret[1] = 22;
        return OK;
}

#define NUMBER(name, type, good, bad)            \
        EXPORT int name(Device *d, type *ret);   \
        EXPORT int name(Device *d, type *ret) {  \
                ENTER(d);                        \
                OF_WHOLE_GPU(d, false);          \
                *ret = (type)GARBLE(good, bad);  \
                return OK;                       \
        }
#define NUMBER_OF_KIND(name, good, bad)                           \
        EXPORT int name(Device *d, int kind, unsigned *ret);      \
        EXPORT int name(Device *d, int kind, unsigned *ret) {     \
                ENTER(d);                                         \
                OF_WHOLE_GPU(d, false);                           \
                *ret = GARBLE(good, bad) + 0 * (unsigned)kind;    \
                return OK;                                        \
        }
NUMBER(nvmlDeviceGetPowerUsage, unsigned, self.orders.load->power_mw, 4000000000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, 700000, 4000000000)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, uint64_t, 3181386 + (uint64_t)d->integrals[N_INTEGRALS - 1], UINT64_MAX)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t, self.orders.load->reasons, UINT64_MAX)
NUMBER_OF_KIND(nvmlDeviceGetTemperature, self.orders.load->temperature, 4000000000)
NUMBER_OF_KIND(nvmlDeviceGetClockInfo, self.orders.load->clock, 4000000000)
NUMBER_OF_KIND(nvmlDeviceGetMaxClockInfo, 1980, 4000000000)

EXPORT int nvmlDeviceGetTotalEccErrors(Device *d, int kind, int counter, uint64_t *ret);
EXPORT int nvmlDeviceGetTotalEccErrors(Device *d, int kind, int counter, uint64_t *ret) {
        ENTER(d);
        OF_WHOLE_GPU(d, false);
        if (counter != 0)
                return INVALID;
        *ret = kind == 0 ? 3 : 1;
        return OK;
}

EXPORT int nvmlDeviceGetRemappedRows(Device *d, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                     unsigned *failed);
EXPORT int nvmlDeviceGetRemappedRows(Device *d, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                     unsigned *failed) {
        ENTER(d);
        OF_WHOLE_GPU(d, true);
        *corrected = 1;
        *uncorrected = 1;
        *pending = *failed = 0;
        return OK;
}

/* --- processes ------------------------------------------------------------------------------------ */

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *n, unsigned char *ret);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *n, unsigned char *ret) {
        const Orders *o = &self.orders;
        unsigned n_max = *n;

        ENTER(d);
        *n = o->processes;
        if (*n > n_max)
                return SMALL;
        for (unsigned i = 0; i < *n; i++) {
                struct {
                        uint32_t pid;
                        uint64_t bytes;
                        uint32_t instances[2];
                        uint64_t protected_bytes;
                } entry = { GARBLE(o->pid + i, UINT32_MAX), o->load->processes[i % 2].bytes, { -1U, -1U }, 0 };
                size_t n_bytes = sizeof(entry) - (o->appended ? 0 : 8);

                memcpy(ret + i * n_bytes, &entry, n_bytes);
        }
        return OK;
}

EXPORT int nvmlDeviceGetProcessUtilization(Device *d, void *ret, unsigned *n, uint64_t since_us);
EXPORT int nvmlDeviceGetProcessUtilization(Device *d, void *ret, unsigned *n, uint64_t since_us) {
        const Orders *o = &self.orders;
        struct {
                uint32_t pid;
                uint64_t time_us;
                uint32_t sm, rest[3];
        } *entries = ret;

        ENTER(d);
        OF_WHOLE_GPU(d, true);
        if (*n < 72 || *n < o->processes) { /* as the driver does, even for one process */
                *n = o->processes > 72 ? o->processes : 72;
                return SMALL;
        }
        *n = o->processes;
        for (unsigned i = 0; i < *n; i++) {
                entries[i].pid = GARBLE(o->pid + i, 0);
                entries[i].time_us = since_us + 1;
                entries[i].sm = GARBLE(o->load->processes[i % 2].sm, 4000000000);
        }
        return o->processes > 0 ? OK : NOT_FOUND;
}

/* --- instances ------------------------------------------------------------------------------------ */

EXPORT int nvmlDeviceGetMigMode(Device *d, unsigned *current, unsigned *pending);
EXPORT int nvmlDeviceGetMigMode(Device *d, unsigned *current, unsigned *pending) {
        ENTER(d);
        *current = *pending = d->gpu == 0 && self.orders.instances > 0;
        return OK;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(Device *d, unsigned *ret);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(Device *d, unsigned *ret) {
        ENTER(d);
        *ret = INSTANCES_MAX;
        return OK;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned i, Device **ret);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned i, Device **ret) {
        ENTER(d);
        if (i >= self.orders.instances)
                return NOT_FOUND;
        *ret = &self.devices[d->gpu][1 + i];
        return OK;
}

EXPORT int nvmlDeviceGetGpuInstanceId(Device *d, unsigned *ret);
EXPORT int nvmlDeviceGetGpuInstanceId(Device *d, unsigned *ret) {
        ENTER(d);
        *ret = d->instance;
        return OK;
}

/* --- GPM ------------------------------------------------------------------------------------------ */

EXPORT int nvmlGpmQueryDeviceSupport(Device *d, unsigned ret[2]);
EXPORT int nvmlGpmQueryDeviceSupport(Device *d, unsigned ret[2]) {
        ENTER(d);
        if (ret[0] != 1)
                return 25;
        ret[1] = self.orders.gpm;
        return OK;
}

EXPORT int nvmlGpmSampleAlloc(Sample **ret);
EXPORT int nvmlGpmSampleAlloc(Sample **ret) {
        ENTER(NULL);
        *ret = calloc(1, sizeof(**ret));
        return *ret ? OK : 20;
}

EXPORT int nvmlGpmSampleFree(Sample *sample);
EXPORT int nvmlGpmSampleFree(Sample *sample) {
        free(sample);
        return OK;
}

static int take_sample(const Device *d, Sample *sample) {
        sample->at_s = self.at_s;
        memcpy(sample->integrals, d->integrals, sizeof(sample->integrals));
        return self.orders.gpm ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlGpmSampleGet(Device *d, Sample *sample);
EXPORT int nvmlGpmSampleGet(Device *d, Sample *sample) {
        ENTER(d);
        return take_sample(d, sample);
}

EXPORT int nvmlGpmMigSampleGet(Device *d, unsigned instance, Sample *sample);
EXPORT int nvmlGpmMigSampleGet(Device *d, unsigned instance, Sample *sample) {
        ENTER(d);
        if (instance < 1 || instance > self.orders.instances)
                return INVALID;
        return take_sample(&self.devices[d->gpu][instance], sample);
}

typedef struct Metric {
        unsigned id;
        int result;
        double value;
        const char *names[3];
} Metric;

typedef struct Metrics {
        unsigned version, n;
        Sample *from, *to;
        Metric items[];
} Metrics;

EXPORT int nvmlGpmMetricsGet(Metrics *m);
EXPORT int nvmlGpmMetricsGet(Metrics *m) {
        ENTER(NULL);
        if (m->version != 1 || m->to->at_s - m->from->at_s < 0.1)
                return INVALID;
        for (unsigned i = 0; i < m->n; i++) {
                m->items[i].result = NOT_SUPPORTED;
                for (unsigned k = 0; k < N_INTEGRALS - 1; k++)
                        if (m->items[i].id == ids[k]) {
                                double period_s = m->to->at_s - m->from->at_s;
                                double v = (m->to->integrals[k] - m->from->integrals[k]) / period_s;

                                m->items[i].result = OK;
                                m->items[i].value = GARBLE(v, (double)NAN);
                        }
        }
        return OK;
}

/* --- events --------------------------------------------------------------------------------------- */

EXPORT int nvmlEventSetCreate(void **ret);
EXPORT int nvmlEventSetCreate(void **ret) {
        ENTER(NULL);
        *ret = &self.n_xid;
        return OK;
}

EXPORT int nvmlEventSetFree(void *set);
EXPORT int nvmlEventSetFree(void *set) {
        return set == &self.n_xid ? OK : INVALID;
}

EXPORT int nvmlDeviceRegisterEvents(Device *d, uint64_t types, void *set);
EXPORT int nvmlDeviceRegisterEvents(Device *d, uint64_t types, void *set) {
        ENTER(d);
        return types == 8 && set == &self.n_xid ? OK : INVALID;
}

/* All events are of the first GPU. */
EXPORT int nvmlEventSetWait_v2(void *set, void *ret, unsigned timeout_ms);
EXPORT int nvmlEventSetWait_v2(void *set, void *ret, unsigned timeout_ms) {
        struct {
                Device *device;
                uint64_t type, data;
                unsigned instances[2];
        } event = { &self.devices[0][0], 8, 79, { UINT32_MAX, UINT32_MAX } };

        ENTER(NULL);
        if (set != &self.n_xid || timeout_ms != 0)
                return INVALID;
        if (self.n_xid >= self.orders.xid)
                return TIMEOUT;
        self.n_xid++;
        memcpy(ret, &event, sizeof(event));
        return OK;
}
