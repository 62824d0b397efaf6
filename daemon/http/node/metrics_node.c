/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include <string.h>

#define TICK_DECIMALS 2U /* TICKS_PER_S is 100 */
_Static_assert(TICKS_PER_S == 100, "a tick is two decimals of a second");

#define MEMBER(member) offsetof(Snapshot, member)
#define GAUGE(member, scalar, name, unit, help) { MEMBER(member), scalar, 0, FAMILY_GAUGE, name, unit, help }
#define COUNTER(member, decimals, name, unit, help) \
        { MEMBER(member), SCALAR_U64, decimals, FAMILY_COUNTER, name, unit, help }

static const Scalar stat_scalars[] = {
        GAUGE(sample.n_online, SCALAR_U32, "perfd_node_cpus", "", "CPUs online"),
        COUNTER(sample.context_switches, 0, "perfd_node_context_switches", "", "Context switches since boot"),
};

static const Scalar memory_scalars[] = {
        GAUGE(sample.memory.total_bytes, SCALAR_U64, "perfd_node_memory_total_bytes", "bytes",
                "Memory there is (MemTotal)"),
        GAUGE(sample.memory.available_bytes, SCALAR_U64, "perfd_node_memory_available_bytes", "bytes",
                "Memory to be had without swapping (MemAvailable)"),
        GAUGE(sample.memory.free_bytes, SCALAR_U64, "perfd_node_memory_free_bytes", "bytes",
                "Memory nothing is in (MemFree)"),
        GAUGE(sample.memory.cached_bytes, SCALAR_U64, "perfd_node_memory_cached_bytes", "bytes",
                "Page cache (Cached)"),
        GAUGE(sample.memory.buffers_bytes, SCALAR_U64, "perfd_node_memory_buffers_bytes", "bytes",
                "Buffers of block devices (Buffers)"),
        GAUGE(sample.memory.swap_total_bytes, SCALAR_U64, "perfd_node_swap_total_bytes", "bytes",
                "Swap space there is"),
        GAUGE(sample.memory.swap_free_bytes, SCALAR_U64, "perfd_node_swap_free_bytes", "bytes",
                "Swap space not used"),
};

static const Scalar vmstat_scalars[] = {
        COUNTER(sample.pgmajfault, 0, "perfd_node_major_page_faults", "",
                "Page faults that waited for a disk, since boot"),
        COUNTER(sample.oom_kill, 0, "perfd_node_oom_kills", "", "Processes killed for lack of memory, since boot"),
        COUNTER(sample.pswpin_pages, 0, "perfd_node_swap_in_pages", "", "Pages read back from swap, since boot"),
        COUNTER(sample.pswpout_pages, 0, "perfd_node_swap_out_pages", "", "Pages written to swap, since boot"),
};

static const Scalar loadavg_scalars[] = {
        GAUGE(sample.load1, SCALAR_DOUBLE, "perfd_node_load1", "", "Load average over 1 minute"),
        GAUGE(sample.load5, SCALAR_DOUBLE, "perfd_node_load5", "", "Load average over 5 minutes"),
        GAUGE(sample.load15, SCALAR_DOUBLE, "perfd_node_load15", "", "Load average over 15 minutes"),
        GAUGE(sample.n_running, SCALAR_U32, "perfd_node_processes_running", "",
                "Threads that run or could, perfd's own left out"),
        GAUGE(sample.n_threads, SCALAR_U32, "perfd_node_threads", "", "Threads there are"),
};

static const Scalar psi_cpu_scalars[] = {
        COUNTER(sample.psi_cpu.some_us, 6, "perfd_node_pressure_cpu_waiting_seconds", "seconds",
                "Time in which some task waited for a CPU, since boot"),
};

static const Scalar psi_memory_scalars[] = {
        COUNTER(sample.psi_memory.some_us, 6, "perfd_node_pressure_memory_waiting_seconds", "seconds",
                "Time in which some task waited for memory, since boot"),
        COUNTER(sample.psi_memory.full_us, 6, "perfd_node_pressure_memory_stalled_seconds", "seconds",
                "Time in which all tasks waited for memory, since boot"),
};

static const Scalar psi_io_scalars[] = {
        COUNTER(sample.psi_io.some_us, 6, "perfd_node_pressure_io_waiting_seconds", "seconds",
                "Time in which some task waited for I/O, since boot"),
        COUNTER(sample.psi_io.full_us, 6, "perfd_node_pressure_io_stalled_seconds", "seconds",
                "Time in which all tasks waited for I/O, since boot"),
};

/* A source that could not be read has no families: absent is not zero. */
static const struct {
        Source source;
        const Scalar *scalars;
        size_t n;
} scalars_by_source[] = {
        { SOURCE_STAT, stat_scalars, N_ELEMENTS(stat_scalars) },
        { SOURCE_MEMINFO, memory_scalars, N_ELEMENTS(memory_scalars) },
        { SOURCE_VMSTAT, vmstat_scalars, N_ELEMENTS(vmstat_scalars) },
        { SOURCE_LOADAVG, loadavg_scalars, N_ELEMENTS(loadavg_scalars) },
        { SOURCE_PSI_CPU, psi_cpu_scalars, N_ELEMENTS(psi_cpu_scalars) },
        { SOURCE_PSI_MEMORY, psi_memory_scalars, N_ELEMENTS(psi_memory_scalars) },
        { SOURCE_PSI_IO, psi_io_scalars, N_ELEMENTS(psi_io_scalars) },
};

static const Scalar meter_scalars[] = {
        COUNTER(totals.value[TOTAL_OBSERVED_NS], 9, "perfd_node_observed_seconds", "seconds",
                "Time covered by observations of utilization"),
        COUNTER(totals.value[TOTAL_UNOBSERVED_NS], 9, "perfd_node_unobserved_seconds", "seconds",
                "Time without observations: perfd was down, the machine asleep"),
};

static void put_info(Exposition *exposition, const Snapshot *snapshot) {
        exposition_family(exposition, "perfd_node", FAMILY_INFO, "", "What this node is");
        exposition_sample(exposition);
        exposition_label(exposition, "kernel", snapshot->kernel);
        exposition_label(exposition, "machine", snapshot->machine);
        exposition_label(exposition, "boot_id", snapshot->boot_id);
        exposition_u64(exposition, 1);

        exposition_family(exposition, "perfd_last_sample_timestamp_seconds", FAMILY_GAUGE, "seconds",
                          "When the kernel said what is shown here, Unix time");
        exposition_sample(exposition);
        exposition_decimal(exposition, snapshot->realtime_ns, 9);
}

static void put_cpu_seconds(Exposition *exposition, const Sample *sample) {
        if (!sample_has(sample, SOURCE_STAT))
                return;

        exposition_family(exposition, "perfd_node_cpu_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of all CPUs since boot, by what it was spent on; guests are not in user and nice");
        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                exposition_sample(exposition);
                exposition_label(exposition, "mode", cpu_mode_name(mode));
                exposition_decimal(exposition, sample->cpu.ticks[mode], TICK_DECIMALS);
        }
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
                          "Busy share of the latest observation: mean over CPUs, the idlest and the busiest CPU");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "cpus", lines[i].cpus);
                exposition_double(exposition, lines[i].ratio);
        }
}

static void put_over_threshold(Exposition *exposition, const Totals *totals) {
        static const struct {
                Total total;
                const char *labels;
        } lines[] = {
                { TOTAL_MEAN_AT100_NS, "cpus=\"mean\",threshold=\"1\"" },  { TOTAL_MEAN_OVER80_NS, "cpus=\"mean\",threshold=\"0.8\"" },
                { TOTAL_MEAN_OVER40_NS, "cpus=\"mean\",threshold=\"0.4\"" }, { TOTAL_MEAN_OVER20_NS, "cpus=\"mean\",threshold=\"0.2\"" },
                { TOTAL_ALL_AT100_NS, "cpus=\"all\",threshold=\"1\"" },    { TOTAL_ALL_OVER80_NS, "cpus=\"all\",threshold=\"0.8\"" },
                { TOTAL_ALL_OVER40_NS, "cpus=\"all\",threshold=\"0.4\"" },   { TOTAL_ALL_OVER20_NS, "cpus=\"all\",threshold=\"0.2\"" },
                { TOTAL_ANY_AT100_NS, "cpus=\"any\",threshold=\"1\"" },    { TOTAL_ANY_OVER80_NS, "cpus=\"any\",threshold=\"0.8\"" },
                { TOTAL_ANY_OVER40_NS, "cpus=\"any\",threshold=\"0.4\"" },   { TOTAL_ANY_OVER20_NS, "cpus=\"any\",threshold=\"0.2\"" },
        };

        exposition_family(exposition, "perfd_node_cpu_over_threshold_seconds", FAMILY_COUNTER, "seconds",
                          "Observed time in which utilization was at or over the threshold: the mean over CPUs, all CPUs, any CPU");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_labels(exposition, lines[i].labels);
                exposition_decimal(exposition, totals->value[lines[i].total], 9);
        }
}

static void put_psi_available(Exposition *exposition, const Sample *sample) {
        static const struct {
                Source source;
                const char *resource;
        } lines[] = { { SOURCE_PSI_CPU, "cpu" }, { SOURCE_PSI_MEMORY, "memory" }, { SOURCE_PSI_IO, "io" } };

        exposition_family(exposition, "perfd_node_psi_available", FAMILY_GAUGE, "",
                          "Whether the kernel tells pressure stall times (a kernel booted with psi=0 does not)");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "resource", lines[i].resource);
                exposition_u64(exposition, sample_has(sample, lines[i].source));
        }
}

/* A counter that each device has. */
typedef struct DeviceFamily {
        size_t offset; /* of the uint64_t in the device */
        unsigned n_decimals;
        const char *name, *unit, *help;
} DeviceFamily;

static void put_device_value(Exposition *exposition, const void *device, const DeviceFamily *family) {
        uint64_t v;

        memcpy(&v, (const char *)device + family->offset, sizeof(v));
        exposition_decimal(exposition, v, family->n_decimals);
}

static size_t put_disk_family(Exposition *exposition, const Sample *sample, const DeviceFamily *family) {
        size_t n_by_class[N_DISK_CLASSES] = {}, n_left_out = 0;

        exposition_family(exposition, family->name, FAMILY_COUNTER, family->unit, family->help);
        for (size_t i = 0; i < sample->n_disks; i++) {
                const SampleDisk *disk = &sample->disks[i];

                if (n_by_class[disk->class]++ >= DEVICES_MAX) {
                        n_left_out++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "device", disk->name);
                exposition_label(exposition, "class", disk_class_name(disk->class));
                put_device_value(exposition, disk, family);
        }

        return n_left_out;
}

static size_t put_disks(Exposition *exposition, const Sample *sample) {
        static const DeviceFamily families[] = {
                { offsetof(SampleDisk, read_bytes), 0, "perfd_node_disk_read_bytes", "bytes", "Read from the device" },
                { offsetof(SampleDisk, write_bytes), 0, "perfd_node_disk_written_bytes", "bytes", "Written to the device" },
                { offsetof(SampleDisk, reads), 0, "perfd_node_disk_reads", "", "Reads completed" },
                { offsetof(SampleDisk, writes), 0, "perfd_node_disk_writes", "", "Writes completed" },
                { offsetof(SampleDisk, io_ms), 3, "perfd_node_disk_io_seconds", "seconds", "Time with I/O in flight" },
        };
        size_t n_left_out = 0;

        if (!sample_has(sample, SOURCE_DISKSTATS))
                return 0;

        for (size_t i = 0; i < N_ELEMENTS(families); i++)
                n_left_out = put_disk_family(exposition, sample, &families[i]);
        return n_left_out;
}

static size_t put_net_family(Exposition *exposition, const Sample *sample, const DeviceFamily *family) {
        size_t n_by_class[N_NET_CLASSES] = {}, n_left_out = 0;

        exposition_family(exposition, family->name, FAMILY_COUNTER, family->unit, family->help);
        for (size_t i = 0; i < sample->n_nets; i++) {
                const SampleNet *net = &sample->nets[i];

                if (n_by_class[net->class]++ >= DEVICES_MAX) {
                        n_left_out++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "device", net->name);
                exposition_label(exposition, "class", net_class_name(net->class));
                put_device_value(exposition, net, family);
        }

        return n_left_out;
}

static size_t put_nets(Exposition *exposition, const Sample *sample) {
        static const DeviceFamily families[] = {
                { offsetof(SampleNet, received_bytes), 0, "perfd_node_network_received_bytes", "bytes", "Received by the interface" },
                { offsetof(SampleNet, sent_bytes), 0, "perfd_node_network_sent_bytes", "bytes", "Sent by the interface" },
                { offsetof(SampleNet, received_packets), 0, "perfd_node_network_received_packets", "", "Packets received" },
                { offsetof(SampleNet, sent_packets), 0, "perfd_node_network_sent_packets", "", "Packets sent" },
                { offsetof(SampleNet, received_errors), 0, "perfd_node_network_receive_errors", "", "Packets received and found bad" },
                { offsetof(SampleNet, sent_errors), 0, "perfd_node_network_send_errors", "", "Packets that could not be sent" },
        };
        size_t n_left_out = 0;

        if (!sample_has(sample, SOURCE_NETDEV))
                return 0;

        for (size_t i = 0; i < N_ELEMENTS(families); i++)
                n_left_out = put_net_family(exposition, sample, &families[i]);
        return n_left_out;
}

/* Of several file systems mounted on one place, the last is what one finds there. */
static bool is_hidden(const Sample *sample, size_t i) {
        for (size_t k = i + 1; k < sample->n_filesystems; k++)
                if (strcmp(sample->filesystems[k].mount_point, sample->filesystems[i].mount_point) == 0)
                        return true;
        return false;
}

static size_t put_filesystem_family(Exposition *exposition, const Sample *sample, const DeviceFamily *family) {
        size_t n = 0, n_left_out = 0;

        exposition_family(exposition, family->name, FAMILY_GAUGE, family->unit, family->help);
        for (size_t i = 0; i < sample->n_filesystems; i++) {
                const SampleFilesystem *filesystem = &sample->filesystems[i];

                if (is_hidden(sample, i))
                        continue;
                if (n++ >= DEVICES_MAX) {
                        n_left_out++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "mountpoint", filesystem->mount_point);
                exposition_label(exposition, "fstype", filesystem->type);
                put_device_value(exposition, filesystem, family);
        }

        return n_left_out;
}

static size_t put_filesystems(Exposition *exposition, const Sample *sample) {
        static const DeviceFamily families[] = {
                { offsetof(SampleFilesystem, size_bytes), 0, "perfd_node_filesystem_size_bytes", "bytes", "Size of the file system" },
                { offsetof(SampleFilesystem, available_bytes), 0, "perfd_node_filesystem_available_bytes", "bytes",
                  "Space left for users" },
                { offsetof(SampleFilesystem, free_bytes), 0, "perfd_node_filesystem_free_bytes", "bytes", "Space left for root" },
        };
        size_t n_left_out = 0;

        if (!sample_has(sample, SOURCE_FILESYSTEMS))
                return 0;

        for (size_t i = 0; i < N_ELEMENTS(families); i++)
                n_left_out = put_filesystem_family(exposition, sample, &families[i]);
        return n_left_out;
}

static void put_devices(Exposition *exposition, const Sample *sample) {
        const struct {
                const char *kind;
                size_t n_left_out;
        } lines[] = {
                { "disk", put_disks(exposition, sample) },
                { "network", put_nets(exposition, sample) },
                { "filesystem", put_filesystems(exposition, sample) },
        };

        exposition_family(exposition, "perfd_node_devices_not_exposed", FAMILY_GAUGE, "",
                          "Devices left out here for the limit on their number; the JSON API has them");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "kind", lines[i].kind);
                exposition_u64(exposition, lines[i].n_left_out);
        }
}

void metrics_node(Exposition *exposition, const Snapshot *snapshot) {
        const Sample *sample = &snapshot->sample;

        if (snapshot->boottime_ns == 0)
                return;

        put_info(exposition, snapshot);
        put_cpu_seconds(exposition, sample);
        put_utilization(exposition, &snapshot->observation);
        put_over_threshold(exposition, &snapshot->totals);
        metrics_scalars(exposition, snapshot, meter_scalars, N_ELEMENTS(meter_scalars));
        for (size_t i = 0; i < N_ELEMENTS(scalars_by_source); i++)
                if (sample_has(sample, scalars_by_source[i].source))
                        metrics_scalars(exposition, snapshot, scalars_by_source[i].scalars, scalars_by_source[i].n);
        put_psi_available(exposition, sample);
        put_devices(exposition, sample);
}

void metrics_node_percpu(Exposition *exposition, const Snapshot *snapshot) {
        const Sample *sample = &snapshot->sample;

        if (!sample_has(sample, SOURCE_STAT))
                return;

        exposition_family(exposition, "perfd_node_cpu_core_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of one CPU since boot, by what it was spent on; guests are not in user and nice");
        for (size_t cpu = 0; cpu < sample->n_cpus; cpu++) {
                if (!sample->cpus[cpu].online)
                        continue;
                for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                        exposition_sample(exposition);
                        exposition_label_i64(exposition, "cpu", (int64_t)cpu);
                        exposition_label(exposition, "mode", cpu_mode_name(mode));
                        exposition_decimal(exposition, sample->cpus[cpu].times.ticks[mode], TICK_DECIMALS);
                }
        }
}
