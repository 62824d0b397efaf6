/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_subject.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "http/measure/metric_json.h"
#include "http/measure/node_history.h"
#include "http/node/kernel_family.h"
#include "http/pagination.h"
#include "store/node/store_node.h"
#include "util/clock.h"

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
        for (size_t i = 0; (device = kernel_family_device(sample, kind, i)).values; i++) {
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
        json_object_end(json);
}

static void write_sources(Json *json, const NodeSnapshot *node) {
        json_put_array_begin(json, "sources");
        for (Source source = 0; source < N_SOURCES; source++) {
                bool is_up = sample_has(&node->sample, source);

                json_object_begin(json);
                json_put_string(json, "name", sample_source_names[source]);
                json_put_string(json, "path", sample_source_paths[source]);
                json_put_bool(json, "up", is_up);
                json_put_uint(json, "failures", node->sampler.n_failures[source]);
                json_put_string(json, "error", is_up ? NULL : node->sampler.error[source]);
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

static void put_text_or_null(Json *json, const char *key, const char *text) {
        json_put_string(json, key, *text ? text : NULL);
}

static void write_store(Json *json, const StoreStats *store) {
        json_put_object_begin(json, "store");
        json_put_string(json, "directory", store->directory);
        json_put_bool(json, "writable", store->is_writable);
        put_text_or_null(json, "error", store->error);
        json_put_bool(json, "volatile", store->is_volatile);
        json_put_uint(json, "size_bytes", store->size_bytes);
        json_put_uint(json, "size_limit_bytes", store->size_max_bytes);
        json_put_uint(json, "queue_rows", store->queue_rows);
        json_put_uint(json, "sync_failures", store->n_sync_failures);
        put_text_or_null(json, "sync_error", store->sync_error);
        json_put_int(json, "clock_ahead_seconds", store->expiry.clock_ahead_s);
        json_put_uint(json, "damaged_files", store->damage.n_files);
        json_put_bool(json, "salvaging", store->damage.is_salvaging);
        json_put_uint(json, "rows_salvaged", store->damage.n_rows_salvaged);
        put_text_or_null(json, "damage", store->damage.found);
        put_text_or_null(json, "salvage", store->damage.salvaged);
        json_object_end(json);
}

static void write_http(Json *json, const HttpPortStats *port) {
        json_put_object_begin(json, "http");
        json_put_string(json, "listen", port->listen);
        put_text_or_null(json, "address", port->address);
        put_text_or_null(json, "error", port->error);
        json_object_end(json);
}

static void write_configuration(Json *json, const SelfStats *self) {
        json_put_object_begin(json, "configuration");
        json_put_uint(json, "read_ms", self->config_reload_realtime_ns / NS_PER_MS);
        put_text_or_null(json, "error", self->config_error);
        put_text_or_null(json, "restart", self->config_restart);
        put_text_or_null(json, "ignored", self->config_ignored);
        put_text_or_null(json, "edited", self->config_edited);
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
        metric_json_write_all(&json, &metrics, NULL, stamp);
        write_sources(&json, node);
        write_events(&json, &node->events);
        write_store(&json, &snapshot->store);
        write_http(&json, &snapshot->http_port);
        write_configuration(&json, &snapshot->self);
        json_object_end(&json);
}

static void answer_samples(const Target *target, const Sources *sources, Response *response) {
        scoped(node_history_deinit) NodeHistory history = {};
        uint64_t since_ms, until_ms, limit, next_ms = 0;
        NodeSampleRow row;
        Json json = { .out = response->body };
        int r, added = 0;

        if (pagination_parse_times(target, response, &since_ms, &until_ms) > 0 ||
            exchange_parameter_u64(target, response, "limit", 1, PAGINATION_ROWS_MAX, PAGINATION_ROWS_DEFAULT, &limit) > 0)
                return;

        history.n_points_max = limit;
        r = store_node_list(sources->reader, since_ms, until_ms);
        while (r == 0 && (r = store_node_next(sources->reader, &row)) == 0) {
                added = node_history_add(&history, &row);
                if (added == NODE_HISTORY_FULL)
                        next_ms = row.begin_ms;
                if (added < 0 || added == NODE_HISTORY_FULL)
                        break;
        }
        if (added < 0 || (r != 0 && r != READER_END)) {
                (void)exchange_store_error(response, added < 0 ? added : r);
                return;
        }

        json_object_begin(&json);
        json_key(&json, "timeline");
        json_raw(&json, ""); /* followed by its value */
        timeline_json(&history.timeline, response->body);
        json_put_int_or_null(&json, "next", next_ms > 0, (int64_t)next_ms);
        json_object_end(&json);
}

static const Route routes[] = {
        { "/api/v1/node",         "",                        true,  false, answer_state },
        { "/api/v1/node/samples", "since_ms until_ms limit", false, true,  answer_samples },
        {},
};

static const Collector collectors[] = {
        { "node",   false, node_subject_metrics, NULL },
        { "percpu", true,  node_subject_metrics_percpu, NULL },
        { "self",   false, node_subject_metrics_sampling, NULL },
        {},
};

const Subject node_subject = { routes, collectors };
