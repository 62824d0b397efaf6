/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_subject.h"
#include "http/measure/metric_json.h"
#include "http/measure/node_history.h"
#include "http/pagination.h"
#include "store/node/sample_reader.h"
#include "util/clock.h"

static void put_optional(Json *json, const char *key, bool is_there, double value) {
        if (is_there)
                json_put_double(json, key, value);
        else
                json_put_string(json, key, NULL);
}

static void put_seconds(Json *json, const char *key, uint64_t us) {
        json_put_double(json, key, (double)us / 1e6);
}

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

        put_optional(json, "memory_used_ratio", is_there && observation->has_memory, observation->memory);
        put_optional(json, "root_filesystem_used_ratio", is_there && observation->has_root_filesystem, observation->root_filesystem);
        put_optional(json, "disk_read_bytes_per_second", is_there, observation->disk_read_rate);
        put_optional(json, "disk_written_bytes_per_second", is_there, observation->disk_write_rate);
        put_optional(json, "network_sent_bytes_per_second", is_there, observation->net_sent_rate);
        put_optional(json, "network_received_bytes_per_second", is_there, observation->net_received_rate);
}

static void write_load(Json *json, const Sample *sample) {
        json_key(json, "load");
        if (!sample_has(sample, SOURCE_LOADAVG)) {
                json_null(json);
                return;
        }

        json_object_begin(json);
        json_put_double(json, "load1", sample->load.average1);
        json_put_double(json, "load5", sample->load.average5);
        json_put_double(json, "load15", sample->load.average15);
        json_put_uint(json, "processes_running", sample->load.n_running);
        json_put_uint(json, "threads", sample->load.n_threads);
        json_object_end(json);
}

static void write_memory(Json *json, const Sample *sample) {
        json_key(json, "memory");
        if (!sample_has(sample, SOURCE_MEMINFO)) {
                json_null(json);
                return;
        }

        json_object_begin(json);
        json_put_uint(json, "total_bytes", sample->memory.total_bytes);
        json_put_uint(json, "available_bytes", sample->memory.available_bytes);
        json_put_uint(json, "free_bytes", sample->memory.free_bytes);
        json_put_uint(json, "cached_bytes", sample->memory.cached_bytes);
        json_put_uint(json, "buffers_bytes", sample->memory.buffers_bytes);
        json_put_uint(json, "swap_total_bytes", sample->memory.swap_total_bytes);
        json_put_uint(json, "swap_free_bytes", sample->memory.swap_free_bytes);
        json_object_end(json);
}

static void write_pressure(Json *json, const Sample *sample) {
        const struct {
                Source source;
                const char *resource;
                KernelCounter some, full;
        } lines[] = {
                { SOURCE_PSI_CPU, "cpu", KERNEL_PSI_CPU_SOME, N_KERNEL_COUNTERS },
                { SOURCE_PSI_MEMORY, "memory", KERNEL_PSI_MEMORY_SOME, KERNEL_PSI_MEMORY_FULL },
                { SOURCE_PSI_IO, "io", KERNEL_PSI_IO_SOME, KERNEL_PSI_IO_FULL },
        };

        json_key(json, "pressure");
        json_object_begin(json);
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                if (!sample_has(sample, lines[i].source))
                        continue;

                json_key(json, lines[i].resource);
                json_object_begin(json);
                put_seconds(json, "waiting_seconds", sample->counter[lines[i].some]);
                if (lines[i].full != N_KERNEL_COUNTERS)
                        put_seconds(json, "stalled_seconds", sample->counter[lines[i].full]);
                json_object_end(json);
        }
        json_object_end(json);
}

static void write_disks(Json *json, const Sample *sample) {
        json_key(json, "disks");
        json_array_begin(json);
        for (size_t i = 0; sample_has(sample, SOURCE_DISKSTATS) && i < sample->n_disks; i++) {
                const SampleDisk *disk = &sample->disks[i];

                json_object_begin(json);
                json_put_string(json, "device", disk->name);
                json_put_string(json, "class", sample_disk_class_names[disk->class]);
                json_put_uint(json, "read_bytes", disk->read_bytes);
                json_put_uint(json, "written_bytes", disk->write_bytes);
                json_put_uint(json, "reads", disk->reads);
                json_put_uint(json, "writes", disk->writes);
                put_seconds(json, "io_seconds", disk->io_ms * 1000);
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_networks(Json *json, const Sample *sample) {
        json_key(json, "networks");
        json_array_begin(json);
        for (size_t i = 0; sample_has(sample, SOURCE_NETDEV) && i < sample->n_nets; i++) {
                const SampleNet *net = &sample->nets[i];

                json_object_begin(json);
                json_put_string(json, "device", net->name);
                json_put_string(json, "class", sample_net_class_names[net->class]);
                json_put_uint(json, "received_bytes", net->received_bytes);
                json_put_uint(json, "sent_bytes", net->sent_bytes);
                json_put_uint(json, "received_packets", net->received_packets);
                json_put_uint(json, "sent_packets", net->sent_packets);
                json_put_uint(json, "receive_errors", net->received_errors);
                json_put_uint(json, "send_errors", net->sent_errors);
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_filesystems(Json *json, const Sample *sample) {
        json_key(json, "filesystems");
        json_array_begin(json);
        for (size_t i = 0; sample_has(sample, SOURCE_FILESYSTEMS) && i < sample->n_filesystems; i++) {
                const SampleFilesystem *filesystem = &sample->filesystems[i];

                json_object_begin(json);
                json_put_string(json, "mountpoint", filesystem->mount_point);
                json_put_string(json, "fstype", filesystem->type);
                json_put_uint(json, "size_bytes", filesystem->size_bytes);
                json_put_uint(json, "available_bytes", filesystem->available_bytes);
                json_put_uint(json, "free_bytes", filesystem->free_bytes);
                json_put_double(json, "used_ratio", sample_filesystem_used_ratio(filesystem));
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_latest(Json *json, const NodeSnapshot *node) {
        json_key(json, "latest");
        json_object_begin(json);
        write_utilization(json, &node->observation);
        write_load(json, &node->sample);
        write_memory(json, &node->sample);
        write_pressure(json, &node->sample);
        write_disks(json, &node->sample);
        write_networks(json, &node->sample);
        write_filesystems(json, &node->sample);
        json_object_end(json);
}

static void write_sources(Json *json, const NodeSnapshot *node) {
        json_key(json, "sources");
        json_array_begin(json);
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
        json_key(json, "events");
        json_object_begin(json);
        json_put_uint(json, "counter_resets", events->n_counter_resets);
        json_put_uint(json, "cpu_changes", events->n_cpu_changes);
        json_put_uint(json, "gaps", events->n_gaps);
        json_put_uint(json, "clock_steps", events->n_clock_steps);
        json_object_end(json);
}

static void write_store(Json *json, const StoreStats *store) {
        json_key(json, "store");
        json_object_begin(json);
        json_put_string(json, "directory", store->directory);
        json_put_bool(json, "writable", store->is_writable);
        json_put_string(json, "error", *store->error ? store->error : NULL);
        json_put_bool(json, "volatile", store->is_volatile);
        json_put_uint(json, "size_bytes", store->size_bytes);
        json_put_uint(json, "size_limit_bytes", store->size_max_bytes);
        json_put_uint(json, "queue_rows", store->queue_rows);
        json_put_uint(json, "sync_failures", store->n_sync_failures);
        json_put_string(json, "sync_error", *store->sync_error ? store->sync_error : NULL);
        json_put_uint(json, "damaged_files", store->damage.n_files);
        json_put_bool(json, "salvaging", store->damage.is_salvaging);
        json_put_uint(json, "rows_salvaged", store->damage.n_rows_salvaged);
        json_put_string(json, "damage", *store->damage.found ? store->damage.found : NULL);
        json_put_string(json, "salvage", *store->damage.salvaged ? store->damage.salvaged : NULL);
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
        json_put_uint(json, "time_ms", node->realtime_ns / NS_PER_MS);
        json_put_uint(json, "cpus", node->sample.n_online);
        json_put_uint(json, "jobs_running", snapshot->jobs.n_running);
}

void node_subject_state(Exchange *exchange) {
        const Snapshot *snapshot = exchange->snapshot;
        const NodeSnapshot *node = &snapshot->node;
        MetricSet metrics;
        MetricStamp stamp = { .time_ms = node->realtime_ns / NS_PER_MS };
        Json json;

        node_snapshot_metrics(node, &metrics);
        json_init(&json, exchange->body);
        json_object_begin(&json);
        write_identity(&json, snapshot);
        write_latest(&json, node);
        json_put_uint(&json, "begin_ms", node->window_begin_realtime_ns / NS_PER_MS);
        metric_json_write_all(&json, &metrics, NULL, stamp);
        write_sources(&json, node);
        write_events(&json, &node->events);
        write_store(&json, &snapshot->store);
        json_object_end(&json);
}

void node_subject_samples(Exchange *exchange) {
        scoped(node_history_deinit) NodeHistory history = {};
        uint64_t since_ms, until_ms, limit, next_ms = 0;
        NodeSampleRow row;
        Json json;
        int r, added = 0;

        if (pagination_parse_times(exchange, &since_ms, &until_ms) > 0 ||
            exchange_parameter_u64(exchange, "limit", 1, PAGINATION_ROWS_MAX, PAGINATION_ROWS_DEFAULT, &limit) > 0)
                return;

        node_history_init(&history, limit, false);
        r = sample_reader_list(exchange->reader, since_ms, until_ms);
        while (r == 0 && (r = sample_reader_next(exchange->reader, &row)) == 0) {
                added = node_history_add(&history, &row);
                if (added == NODE_HISTORY_FULL)
                        next_ms = row.begin_ms;
                if (added < 0 || added == NODE_HISTORY_FULL)
                        break;
        }
        if (added < 0 || (r != 0 && r != READER_END)) {
                (void)exchange_store_error(exchange, added < 0 ? added : r);
                return;
        }

        json_init(&json, exchange->body);
        json_object_begin(&json);
        json_key(&json, "timeline");
        json_raw(&json, ""); /* the value is what comes next */
        timeline_json(&history.timeline, exchange->body);
        if (next_ms)
                json_put_uint(&json, "next", next_ms);
        else
                json_put_string(&json, "next", NULL);
        json_object_end(&json);
}
