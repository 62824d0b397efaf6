/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_subject.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "http/measure/metric_json.h"
#include "http/node/node_equipment.h"
#include "http/node/node_recent.h"
#include "http/measure/node_history.h"
#include "http/metrics.h"
#include "http/pagination.h"
#include "measure/sample.h"
#include "util/clock.h"
#include "util/scoped.h"

/* --- families of kernel metrics ---------------------------------------------------------------------- */

/*
 * The tables have one row for each number of a Sample, and for each number of its disks, interfaces and file
 * systems. /metrics and /api/v1/node iterate over the tables. A family whose source is not in the sample is left
 * out: absent is not zero.
 */

#define KERNEL_FAMILY_PREFIX "perfd_node_"

typedef struct KernelFamily {
        Source source;
        Scalar scalar; /* a member of the table's struct */
} KernelFamily;

/* Devices of one kind. Their families have the prefix, the name of the kind, and an underscore. */
typedef struct KernelDeviceKind {
        Source source;
        const char *name, *list; /* "disk", "disks" */
        const char *device_label, *class_label;
        const KernelFamily *families; /* for a SampleDisk, SampleNet or SampleFilesystem */
} KernelDeviceKind;

#define N_KERNEL_DEVICE_KINDS 3U

typedef struct KernelDevice {
        const void *values; /* the struct to which the families apply; NULL: no more devices */
        const char *name, *class_name;
        unsigned class;
} KernelDevice;

#define GAUGE(source, type, member, value, name, unit, help) \
        { SOURCE_##source, SCALAR_GAUGE(type, member, SCALAR_##value, KERNEL_FAMILY_PREFIX name, unit, help) }
#define COUNTER(source, type, member, decimals, name, unit, help)                                                      \
        {                                                                                                              \
                SOURCE_##source, {                                                                                     \
                        offsetof(type, member), SCALAR_U64, decimals, FAMILY_COUNTER, KERNEL_FAMILY_PREFIX name, unit, \
                                help                                                                                   \
                }                                                                                                      \
        }

#define MEMORY(member, name, help) GAUGE(MEMINFO, Sample, memory.member, U64, name, "bytes", help)
#define LOAD(member, value, name, help) GAUGE(LOADAVG, Sample, load.member, value, name, "", help)
#define FILESYSTEM(member, name, help) GAUGE(FILESYSTEMS, SampleFilesystem, member, U64, name, "bytes", help)

/* Each table ends with a row without a name. */
static const KernelFamily kernel_families[] = {
        GAUGE(STAT, Sample, n_online, U32, "cpus", "", "Online CPUs"),
        MEMORY(total_bytes, "memory_total_bytes", "Total memory (MemTotal)"),
        MEMORY(available_bytes, "memory_available_bytes", "Available memory (MemAvailable)"),
        MEMORY(free_bytes, "memory_free_bytes", "Free memory (MemFree)"),
        MEMORY(cached_bytes, "memory_cached_bytes", "Page cache (Cached)"),
        MEMORY(buffers_bytes, "memory_buffers_bytes", "Buffers of block devices (Buffers)"),
        MEMORY(swap_total_bytes, "swap_total_bytes", "Total swap space (SwapTotal)"),
        MEMORY(swap_free_bytes, "swap_free_bytes", "Free swap space (SwapFree)"),
        LOAD(average1, DOUBLE, "load1", "Load average over 1 minute"),
        LOAD(average5, DOUBLE, "load5", "Load average over 5 minutes"),
        LOAD(average15, DOUBLE, "load15", "Load average over 15 minutes"),
        LOAD(n_running, U32, "processes_running", "Runnable threads, excluding perfd's own"),
        LOAD(n_threads, U32, "threads", "Threads"),
#define X(id, source, decimals, key, key_unit, family, unit, help) \
        COUNTER(source, Sample, counter[KERNEL_##id], decimals, family, unit, help ", since boot"),
        KERNEL_COUNTERS(X)
#undef X
        {},
};

static const KernelFamily disk_families[] = {
#define X(member, decimals, family, unit, help, ...)                                                                   \
        COUNTER(DISKSTATS, SampleDisk, member, decimals, family, unit, help),
        DISK_COUNTERS(X)
#undef X
                {},
};

static const KernelFamily net_families[] = {
#define X(member, decimals, family, unit, help, ...) COUNTER(NETDEV, SampleNet, member, decimals, family, unit, help),
        NET_COUNTERS(X)
#undef X
        {},
};

static const KernelFamily filesystem_families[] = {
        FILESYSTEM(size_bytes, "filesystem_size_bytes", "Size of the file system"),
        FILESYSTEM(available_bytes, "filesystem_available_bytes", "Free space available to unprivileged users"),
        FILESYSTEM(free_bytes, "filesystem_free_bytes", "Free space"),
        {},
};

static const KernelDeviceKind kernel_device_kinds[N_KERNEL_DEVICE_KINDS] = {
        { SOURCE_DISKSTATS, "disk", "disks", "device", "class", disk_families },
        { SOURCE_NETDEV, "network", "networks", "device", "class", net_families },
        { SOURCE_FILESYSTEMS, "filesystem", "filesystems", "mountpoint", "fstype", filesystem_families },
};

/* Returns the i-th device of the kind, borrowed from the sample. */
static KernelDevice find_device(const Sample *sample, const KernelDeviceKind *kind, size_t i) {
        if (!sample_has(sample, kind->source))
                return (KernelDevice){};
        if (kind->source == SOURCE_DISKSTATS && i < sample->n_disks) {
                const SampleDisk *disk = &sample->disks[i];

                return (KernelDevice){ disk, disk->name, sample_disk_class_names[disk->class], disk->class };
        }
        if (kind->source == SOURCE_NETDEV && i < sample->n_nets) {
                const SampleNet *net = &sample->nets[i];

                return (KernelDevice){ net, net->name, sample_net_class_names[net->class], net->class };
        }
        if (kind->source == SOURCE_FILESYSTEMS && i < sample->n_filesystems) {
                const SampleFilesystem *filesystem = &sample->filesystems[i];

                return (KernelDevice){ .values = filesystem,
                                       .name = filesystem->mount_point,
                                       .class_name = filesystem->type };
        }
        return (KernelDevice){};
}

/* --- the state and its history --------------------------------------------------------------------- */

static void write_utilization(Json *json, const Observation *observation) {
        bool is_there = observation->end_ns > 0;

        json_key(json, "cpu_utilization");
        if (is_there && observation->has_cpu) {
                json_object_begin(json);
                json_put_double(json, "mean", observation->cpu_mean);
                json_put_double(json, "min", observation->cpu_min);
                json_put_double(json, "max", observation->cpu_max);
                json_object_end(json);
        } else
                json_null(json);

        json_put_double_or_null(json, "memory_used_ratio", is_there && observation->has_memory, observation->memory);
        json_put_double_or_null(json, "root_filesystem_used_ratio", is_there && observation->has_root_filesystem,
                                observation->root_filesystem);
#define X(name, ...) json_put_double_or_null(json, #name "_bytes_per_second", is_there, observation->name##_rate);
        IO_RATES(X)
#undef X
#define X(name, series, id, source, per_unit, key) \
        if (is_there && !isnan(observation->name##_rate)) \
                json_put_double(json, key, observation->name##_rate);
        EQUIPMENT_RATES(X)
#undef X
        for (GpuSum sum = 0; is_there && sum < N_GPU_SUMS; sum++)
                if (!isnan(observation->gpus[sum]))
                        json_put_double(json, equipment_gpu_sums[sum].key, observation->gpus[sum]);
}

/* The key of a family is the family's name without the prefixes. */
static void write_family(Json *json, const Scalar *family, const char *prefix, const void *part) {
        const char *key = family->name + strlen(KERNEL_FAMILY_PREFIX);
        const void *member = (const char *)part + family->offset;

        if (strncmp(key, prefix, strlen(prefix)) == 0)
                key += strlen(prefix);
        if (family->scalar == SCALAR_DOUBLE)
                json_put_double(json, key, *(const double *)member);
        else if (family->scalar == SCALAR_U32)
                json_put_uint(json, key, *(const uint32_t *)member);
        else if (family->n_decimals > 0)
                json_put_double(json, key, (double)*(const uint64_t *)member / pow(10, family->n_decimals));
        else
                json_put_uint(json, key, *(const uint64_t *)member);
}

static void write_source(Json *json, const char *key, const Sample *sample, Source source, const char *prefix) {
        json_put_object_begin(json, key);
        for (const KernelFamily *family = kernel_families; family->scalar.name; family++)
                if (family->source == source)
                        write_family(json, &family->scalar, prefix, sample);
        json_object_end(json);
}

static void write_source_or_null(Json *json, const char *key, const Sample *sample, Source source, const char *prefix) {
        if (sample_has(sample, source))
                write_source(json, key, sample, source, prefix);
        else
                json_put_string(json, key, NULL);
}

static void write_pressure(Json *json, const Sample *sample) {
        json_put_object_begin(json, "pressure");
        if (sample_has(sample, SOURCE_PSI_CPU))
                write_source(json, "cpu", sample, SOURCE_PSI_CPU, "pressure_cpu_");
        if (sample_has(sample, SOURCE_PSI_MEMORY))
                write_source(json, "memory", sample, SOURCE_PSI_MEMORY, "pressure_memory_");
        if (sample_has(sample, SOURCE_PSI_IO))
                write_source(json, "io", sample, SOURCE_PSI_IO, "pressure_io_");
        json_object_end(json);
}

static void write_devices(Json *json, const Sample *sample, const KernelDeviceKind *kind) {
        KernelDevice device;
        char prefix[32];

        (void)snprintf(prefix, sizeof(prefix), "%s_", kind->name);
        json_put_array_begin(json, kind->list);
        for (size_t i = 0; (device = find_device(sample, kind, i)).values; i++) {
                json_object_begin(json);
                json_put_string(json, kind->device_label, device.name);
                json_put_string(json, kind->class_label, device.class_name);
                for (const KernelFamily *family = kind->families; family->scalar.name; family++)
                        write_family(json, &family->scalar, prefix, device.values);
                if (kind->source == SOURCE_FILESYSTEMS)
                        json_put_double(json, "used_ratio", sample_filesystem_used_ratio(device.values));
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_latest(Json *json, const NodeSnapshot *node) {
        json_put_object_begin(json, "latest");
        write_utilization(json, &node->observation);
        write_source_or_null(json, "load", &node->sample, SOURCE_LOADAVG, "");
        write_source_or_null(json, "memory", &node->sample, SOURCE_MEMINFO, "memory_");
        write_pressure(json, &node->sample);
        for (size_t i = 0; i < N_KERNEL_DEVICE_KINDS; i++)
                write_devices(json, &node->sample, &kernel_device_kinds[i]);
        node_equipment_write(json, &node->sample);
        json_object_end(json);
}

static void write_sources(Json *json, const NodeSnapshot *node) {
        json_put_array_begin(json, "sources");
        for (Source source = 0; source < N_SOURCES; source++) {
                bool is_up = sample_has(&node->sample, source);

                if (sample_lacks(&node->sample, source))
                        continue;
                json_object_begin(json);
                json_put_string(json, "name", sample_source_names[source]);
                json_put_string(json, "path", sample_source_paths[source]);
                json_put_bool(json, "up", is_up);
                json_put_uint(json, "failures", node->sampler.n_failures[source]);
                json_put_text_or_null(json, "error", node->sampler.error[source]);
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_events(Json *json, const MeterEvents *events) {
        json_put_object_begin(json, "events");
        json_put_uint(json, "counter_resets", events->n_counter_resets);
        json_put_uint(json, "cpu_changes", events->n_cpu_changes);
        json_put_uint(json, "gaps", events->n_gaps);
        json_put_uint(json, "clock_steps", events->n_clock_steps);
        json_object_end(json);
}

static void write_store(Json *json, const StoreStats *store) {
        json_put_object_begin(json, "store");
        json_put_string(json, "directory", store->directory);
        json_put_bool(json, "writable", store->is_writable);
        json_put_text_or_null(json, "error", store->error);
        json_put_bool(json, "volatile", store->is_volatile);
        json_put_uint(json, "size_bytes", store->size_bytes);
        json_put_uint(json, "size_limit_bytes", store->size_max_bytes);
        json_put_uint(json, "queue_rows", store->queue_rows);
        json_put_uint(json, "sync_failures", store->n_sync_failures);
        json_put_text_or_null(json, "sync_error", store->sync_error);
        json_put_int(json, "clock_ahead_seconds", store->expiry.clock_ahead_s);
        json_put_uint(json, "damaged_files", store->damage.n_files);
        json_put_bool(json, "salvaging", store->damage.is_salvaging);
        json_put_uint(json, "rows_salvaged", store->damage.n_rows_salvaged);
        json_put_text_or_null(json, "damage", store->damage.found);
        json_put_text_or_null(json, "salvage", store->damage.salvaged);
        json_object_end(json);
}

static void write_http(Json *json, const HttpPortStats *port) {
        json_put_object_begin(json, "http");
        json_put_string(json, "listen", port->listen);
        json_put_text_or_null(json, "address", port->address);
        json_put_text_or_null(json, "error", port->error);
        json_object_end(json);
}

static void write_configuration(Json *json, const SelfStats *self) {
        json_put_object_begin(json, "configuration");
        json_put_uint(json, "read_ms", self->config_reload_realtime_ns / NS_PER_MS);
        json_put_text_or_null(json, "error", self->config_error);
        json_put_text_or_null(json, "restart", self->config_restart);
        json_put_text_or_null(json, "ignored", self->config_ignored);
        json_put_text_or_null(json, "edited", self->config_edited);
        json_put_text_or_null(json, "unknown_names", self->config_unknown);
        json_object_end(json);
}

static void write_self(Json *json, const SelfStats *self) {
        json_put_object_begin(json, "self");
        json_put_double(json, "cpu_seconds", (double)self->process_cpu_ns / NS_PER_S);
        json_put_uint(json, "resident_bytes", self->resident_bytes);
        json_put_uint(json, "open_fds", self->n_open_fds);
        json_put_uint(json, "samples", self->n_ticks);
        json_put_uint(json, "samples_missed", self->n_missed_ticks);
        json_put_double(json, "lateness_max_seconds", (double)self->lateness_max_ns / NS_PER_S);
        json_object_end(json);
}

static void write_identity(Json *json, const Snapshot *snapshot) {
        const NodeSnapshot *node = &snapshot->node;

        json_put_string(json, "hostname", node->identity.hostname);
        json_put_string(json, "version", PERFD_VERSION);
        json_put_string(json, "kernel", node->identity.kernel);
        json_put_string(json, "machine", node->identity.machine);
        json_put_string(json, "boot_id", node->boot_id);
        json_put_uint(json, "started_ms", snapshot->self.started_realtime_ns / NS_PER_MS);
        json_put_uint(json, "interval_ms", node->interval_ns / NS_PER_MS);
        json_put_uint(json, "cpu_interval_ms", node->cpu_interval_ns / NS_PER_MS);
        json_put_uint(json, "time_ms", node->realtime_ns / NS_PER_MS);
        json_put_uint(json, "cpus", node->sample.n_online);
        json_put_uint(json, "jobs_running", snapshot->jobs.n_running);
}

static void answer_state(const Target *target, const Sources *sources, Response *response) {
        const Snapshot *snapshot = sources->snapshot;
        const NodeSnapshot *node = &snapshot->node;
        MetricSet metrics;
        MetricStamp stamp = { .time_ms = node->realtime_ns / NS_PER_MS };
        Json json = { .out = response->body };

        (void)target;
        snapshot_node_window(node, &node->window.begin, &node->window.peaks, &metrics);
        json_object_begin(&json);
        write_identity(&json, snapshot);
        write_latest(&json, node);
        json_put_uint(&json, "begin_ms", node->window_begin_realtime_ns / NS_PER_MS);
        metric_json_write_all(&json, &metrics, NULL, NULL, stamp);
        write_sources(&json, node);
        write_events(&json, &node->events);
        write_store(&json, &snapshot->store);
        write_http(&json, &snapshot->http_port);
        write_configuration(&json, &snapshot->self);
        write_self(&json, &snapshot->self);
        json_object_end(&json);
}

#define STEP_MS_MAX (366 * UINT64_C(86400000))

static void answer_samples(const Target *target, const Sources *sources, Response *response) {
        scoped(node_history_deinit) NodeHistory history = {};
        uint64_t limit, step_ms;
        Json json = { .out = response->body };
        int r;

        if (pagination_parse_times(target, response, &history.since_ms, &history.until_ms) > 0 ||
            exchange_parameter_u64(target, response, "limit", 1, PAGINATION_ROWS_MAX, PAGINATION_ROWS_DEFAULT, &limit) >
                    0 ||
            exchange_parameter_u64(target, response, "step_ms", 1, STEP_MS_MAX, 0, &step_ms) > 0)
                return;

        history.n_points_max = limit;
        history.is_merging = step_ms > 0;
        history.step_ns = step_ms * NS_PER_MS;
        history.timeline.kind = TIMELINE_OF_NODE;
        r = node_history_read(&history, sources->reader);
        if (r != 0) {
                (void)exchange_store_error(response, r);
                return;
        }

        json_object_begin(&json);
        json_key(&json, "timeline");
        json_raw(&json, ""); /* followed by its value */
        timeline_json(&history.timeline, response->body);
        json_put_int_or_null(&json, "next", history.next_ms > 0, (int64_t)history.next_ms);
        json_object_end(&json);
}

/* --- metrics ----------------------------------------------------------------------------------------- */

#define TICK_DECIMALS 2U /* TICKS_PER_S is 100 */
_Static_assert(TICKS_PER_S == 100, "a tick is two decimals of a second");

static const Scalar observed_scalars[] = {
        SCALAR_SECONDS(NodeSnapshot, totals.value[TOTAL_OBSERVED_NS], FAMILY_COUNTER, "perfd_node_observed_seconds",
                       "Time covered by observations of utilization"),
        SCALAR_SECONDS(NodeSnapshot, totals.value[TOTAL_UNOBSERVED_NS], FAMILY_COUNTER, "perfd_node_unobserved_seconds",
                       "Time without observations: perfd stopped or the machine suspended"),
};

static void put_info(Exposition *exposition, const NodeSnapshot *node) {
        exposition_family(exposition, "perfd_node", FAMILY_INFO, "", "Kernel, architecture and boot of this node");
        exposition_sample(exposition);
        exposition_label(exposition, "kernel", node->identity.kernel);
        exposition_label(exposition, "machine", node->identity.machine);
        exposition_label(exposition, "boot_id", node->boot_id);
        exposition_u64(exposition, 1);

        exposition_family(exposition, "perfd_last_sample_timestamp_seconds", FAMILY_GAUGE, "seconds",
                          "Unix time of the latest sample");
        exposition_sample(exposition);
        exposition_decimal(exposition, node->realtime_ns, 9);
}

/* The family's samples, one for each mode. cpu: -1 for all CPUs. */
static void put_cpu_modes(Exposition *exposition, int64_t cpu, const CpuTimes *times) {
        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                exposition_sample(exposition);
                if (cpu >= 0)
                        exposition_label_i64(exposition, "cpu", cpu);
                exposition_label(exposition, "mode", sample_cpu_mode_names[mode]);
                exposition_decimal(exposition, times->ticks[mode], TICK_DECIMALS);
        }
}

static void put_cpu_seconds(Exposition *exposition, const Sample *sample) {
        if (!sample_has(sample, SOURCE_STAT))
                return;

        exposition_family(exposition, "perfd_node_cpu_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of all CPUs since boot, by mode; user and nice exclude guests");
        put_cpu_modes(exposition, -1, &sample->cpu);
}

static void put_utilization(Exposition *exposition, const Observation *observation) {
        const struct {
                const char *cpus;
                double ratio;
        } lines[] = {
                { "mean", observation->cpu_mean },
                { "min", observation->cpu_min },
                { "max", observation->cpu_max },
        };

        if (observation->end_ns == 0 || !observation->has_cpu)
                return;

        exposition_family(exposition, "perfd_node_cpu_utilization_ratio", FAMILY_GAUGE, "ratio",
                          "Busy share in the latest observation: mean over CPUs, least and most busy CPU");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "cpus", lines[i].cpus);
                exposition_double(exposition, lines[i].ratio);
        }
}

static void put_over_threshold(Exposition *exposition, const Totals *totals) {
        static const char *const cpus[] = { "mean", "all", "any" }, *const thresholds[] = { "1", "0.8", "0.4", "0.2" };
        Total total = TOTAL_MEAN_AT100_NS;

        _Static_assert(TOTAL_MEAN_AT100_NS + N_ELEMENTS(cpus) * N_ELEMENTS(thresholds) == N_TOTALS,
                       "the totals have this order");
        exposition_family(exposition, "perfd_node_cpu_over_threshold_seconds", FAMILY_COUNTER, "seconds",
                          "Observed time with utilization at or over the threshold: mean over CPUs, all CPUs, any CPU");
        for (size_t i = 0; i < N_ELEMENTS(cpus); i++)
                for (size_t k = 0; k < N_ELEMENTS(thresholds); k++) {
                        exposition_sample(exposition);
                        exposition_label(exposition, "cpus", cpus[i]);
                        exposition_label(exposition, "threshold", thresholds[k]);
                        exposition_decimal(exposition, totals->value[total++], 9);
                }
}

static void put_psi_available(Exposition *exposition, const Sample *sample) {
        static const struct {
                Source source;
                const char *resource;
        } lines[] = { { SOURCE_PSI_CPU, "cpu" }, { SOURCE_PSI_MEMORY, "memory" }, { SOURCE_PSI_IO, "io" } };

        exposition_family(exposition, "perfd_node_psi_available", FAMILY_GAUGE, "",
                          "Whether the kernel provides pressure stall information (not with psi=0)");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++)
                exposition_sample_u64(exposition, "resource", lines[i].resource, sample_has(sample, lines[i].source));
}

static void put_kernel_families(Exposition *exposition, const Sample *sample) {
        for (const KernelFamily *family = kernel_families; family->scalar.name; family++)
                if (sample_has(sample, family->source))
                        metrics_scalars(exposition, sample, &family->scalar, 1);
}

/* True if another file system was mounted on the same directory later. */
static bool is_hidden(const Sample *sample, const KernelDeviceKind *kind, size_t i) {
        if (kind->source != SOURCE_FILESYSTEMS)
                return false;

        for (size_t k = i + 1; k < sample->n_filesystems; k++)
                if (strcmp(sample->filesystems[k].mount_point, sample->filesystems[i].mount_point) == 0)
                        return true;
        return false;
}

#define CLASSES_MAX 8U
_Static_assert(N_DISK_CLASSES <= CLASSES_MAX && N_NET_CLASSES <= CLASSES_MAX, "each class is counted");

/* Returns the number of devices that are omitted. */
static size_t put_device_family(Exposition *exposition, const Sample *sample, const KernelDeviceKind *kind,
                                const KernelFamily *family) {
        size_t n_by_class[CLASSES_MAX] = {}, n_omitted = 0;
        KernelDevice device;

        metrics_scalar_family(exposition, &family->scalar);
        for (size_t i = 0; (device = find_device(sample, kind, i)).values; i++) {
                if (is_hidden(sample, kind, i))
                        continue;
                if (n_by_class[device.class]++ >= DEVICES_MAX) {
                        n_omitted++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, kind->device_label, device.name);
                exposition_label(exposition, kind->class_label, device.class_name);
                metrics_scalar_value(exposition, &family->scalar, device.values);
        }

        return n_omitted;
}

static void put_devices(Exposition *exposition, const Sample *sample) {
        size_t n_omitted[N_KERNEL_DEVICE_KINDS] = {};

        for (size_t i = 0; i < N_KERNEL_DEVICE_KINDS; i++)
                for (const KernelFamily *family = kernel_device_kinds[i].families; family->scalar.name; family++)
                        n_omitted[i] = put_device_family(exposition, sample, &kernel_device_kinds[i], family);

        exposition_family(exposition, "perfd_node_devices_not_exposed", FAMILY_GAUGE, "",
                          "Devices omitted because of the limit on their number; the JSON API has them");
        for (size_t i = 0; i < N_KERNEL_DEVICE_KINDS; i++) {
                size_t n_unread = kernel_device_kinds[i].source == SOURCE_FILESYSTEMS ? sample->n_filesystems_left_out
                                                                                      : 0;

                exposition_sample_u64(exposition, "kind", kernel_device_kinds[i].name, n_omitted[i] + n_unread);
        }
}

void node_subject_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const NodeSnapshot *node = &snapshot->node;
        const Sample *sample = &node->sample;

        if (node->boottime_ns == 0)
                return;

        put_info(exposition, node);
        put_cpu_seconds(exposition, sample);
        put_utilization(exposition, &node->observation);
        put_over_threshold(exposition, &node->totals);
        metrics_scalars(exposition, node, observed_scalars, N_ELEMENTS(observed_scalars));
        put_kernel_families(exposition, sample);
        put_psi_available(exposition, sample);
        put_devices(exposition, sample);
        node_equipment_metrics(exposition, sample);
}

void node_subject_metrics_percpu(Exposition *exposition, const Snapshot *snapshot) {
        const Sample *sample = &snapshot->node.sample;

        if (!sample_has(sample, SOURCE_STAT))
                return;

        exposition_family(exposition, "perfd_node_cpu_core_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of one CPU since boot, by mode; user and nice exclude guests");
        for (size_t cpu = 0; cpu < sample->n_cpus; cpu++)
                if (sample->cpus[cpu].online)
                        put_cpu_modes(exposition, (int64_t)cpu, &sample->cpus[cpu].times);
}

/* --- statistics of perfd itself ------------------------------------------------------------------ */

static const Scalar sampling_scalars[] = {
        SCALAR_SECONDS(NodeSnapshot, interval_ns, FAMILY_GAUGE, "perfd_sample_interval_seconds",
                       "Configured sampling interval"),
        SCALAR_SECONDS(NodeSnapshot, cpu_interval_ns, FAMILY_GAUGE, "perfd_cpu_interval_seconds",
                       "Interval of CPU readings"),
        SCALAR_SECONDS(NodeSnapshot, sample_cpu_ns, FAMILY_COUNTER, "perfd_sample_cpu_seconds",
                       "CPU time spent on sampling"),
        SCALAR_COUNTER(NodeSnapshot, events.n_counter_resets, "perfd_meter_resets",
                       "Kernel counters that decreased and were reset"),
        SCALAR_COUNTER(NodeSnapshot, events.n_cpu_changes, "perfd_meter_cpu_changes",
                       "CPUs that were added or removed"),
        SCALAR_COUNTER(NodeSnapshot, events.n_gaps, "perfd_meter_gaps",
                       "Periods without samples: perfd stopped or the machine suspended"),
        SCALAR_COUNTER(NodeSnapshot, events.n_clock_steps, "perfd_meter_clock_steps",
                       "Changes of the wall clock by more than one second"),
};

static void put_sources(Exposition *exposition, const NodeSnapshot *node) {
        exposition_family(exposition, "perfd_source_up", FAMILY_GAUGE, "",
                          "Whether the kernel's file could be read in the latest sample");
        for (Source source = 0; source < N_SOURCES; source++)
                if (!sample_lacks(&node->sample, source))
                        exposition_sample_u64(exposition, "source", sample_source_names[source],
                                              sample_has(&node->sample, source));

        exposition_family(exposition, "perfd_source_failures", FAMILY_COUNTER, "",
                          "Failed attempts to read the kernel's file");
        for (Source source = 0; source < N_SOURCES; source++)
                if (!sample_lacks(&node->sample, source))
                        exposition_sample_u64(exposition, "source", sample_source_names[source],
                                              node->sampler.n_failures[source]);
}

void node_subject_metrics_sampling(Exposition *exposition, const Snapshot *snapshot) {
        const NodeSnapshot *node = &snapshot->node;

        metrics_scalars(exposition, node, sampling_scalars, N_ELEMENTS(sampling_scalars));
        put_sources(exposition, node);
}

/* --- tables ------------------------------------------------------------------------------------------ */

const Subject node_subject = {
        .routes = ROUTES(
                { "/api/v1/events",       "",                        true,  false, node_recent_stream },
                { "/api/v1/node",         "",                        true,  false, answer_state },
                { "/api/v1/node/recent",  "since_ms",                true,  false, node_recent_answer },
                { "/api/v1/node/samples", "since_ms until_ms limit step_ms", false, true,  answer_samples }),
        .collectors = COLLECTORS(
                { "node",   false, node_subject_metrics, NULL },
                { "percpu", true,  node_subject_metrics_percpu, NULL },
                { "self",   false, node_subject_metrics_sampling, NULL }),
};
