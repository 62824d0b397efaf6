/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "http/metrics.h"
#include "http/node/kernel_family.h"
#include "http/node/node_subject.h"
#include "util/scoped.h"

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

static void put_cpu_seconds(Exposition *exposition, const Sample *sample) {
        if (!sample_has(sample, SOURCE_STAT))
                return;

        exposition_family(exposition, "perfd_node_cpu_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of all CPUs since boot, by mode; user and nice exclude guests");
        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                exposition_sample(exposition);
                exposition_label(exposition, "mode", sample_cpu_mode_names[mode]);
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
                          "Busy share in the latest observation: mean over CPUs, least and most busy CPU");
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
                          "Observed time with utilization at or over the threshold: mean over CPUs, all CPUs, any CPU");
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
                          "Whether the kernel provides pressure stall information (not with psi=0)");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "resource", lines[i].resource);
                exposition_u64(exposition, sample_has(sample, lines[i].source));
        }
}

/* `base`: the struct that the family's table is for. */
static void put_kernel_value(Exposition *exposition, const void *base, const KernelFamily *family) {
        const void *at = (const char *)base + family->offset;

        switch (family->type) {
        case KERNEL_VALUE_U64:
                exposition_decimal(exposition, *(const uint64_t *)at, family->n_decimals);
                break;
        case KERNEL_VALUE_U32:
                exposition_u64(exposition, *(const uint32_t *)at);
                break;
        case KERNEL_VALUE_DOUBLE:
                exposition_double(exposition, *(const double *)at);
                break;
        }
}

static void begin_kernel_family(Exposition *exposition, const KernelFamily *family) {
        exposition_family(exposition, family->name, family->is_counter ? FAMILY_COUNTER : FAMILY_GAUGE, family->unit, family->help);
}

static void put_kernel_families(Exposition *exposition, const Sample *sample) {
        for (const KernelFamily *family = kernel_families; family->name; family++) {
                if (!sample_has(sample, family->source))
                        continue;
                begin_kernel_family(exposition, family);
                exposition_sample(exposition);
                put_kernel_value(exposition, sample, family);
        }
}

static size_t put_disk_family(Exposition *exposition, const Sample *sample, const KernelFamily *family) {
        size_t n_by_class[N_DISK_CLASSES] = {}, n_omitted = 0;

        begin_kernel_family(exposition, family);
        for (size_t i = 0; i < sample->n_disks; i++) {
                const SampleDisk *disk = &sample->disks[i];

                if (n_by_class[disk->class]++ >= DEVICES_MAX) {
                        n_omitted++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "device", disk->name);
                exposition_label(exposition, "class", sample_disk_class_names[disk->class]);
                put_kernel_value(exposition, disk, family);
        }

        return n_omitted;
}

static size_t put_disks(Exposition *exposition, const Sample *sample) {
        size_t n_omitted = 0;

        if (!sample_has(sample, SOURCE_DISKSTATS))
                return 0;

        for (const KernelFamily *family = kernel_disk_families; family->name; family++)
                n_omitted = put_disk_family(exposition, sample, family);
        return n_omitted;
}

static size_t put_net_family(Exposition *exposition, const Sample *sample, const KernelFamily *family) {
        size_t n_by_class[N_NET_CLASSES] = {}, n_omitted = 0;

        begin_kernel_family(exposition, family);
        for (size_t i = 0; i < sample->n_nets; i++) {
                const SampleNet *net = &sample->nets[i];

                if (n_by_class[net->class]++ >= DEVICES_MAX) {
                        n_omitted++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "device", net->name);
                exposition_label(exposition, "class", sample_net_class_names[net->class]);
                put_kernel_value(exposition, net, family);
        }

        return n_omitted;
}

static size_t put_nets(Exposition *exposition, const Sample *sample) {
        size_t n_omitted = 0;

        if (!sample_has(sample, SOURCE_NETDEV))
                return 0;

        for (const KernelFamily *family = kernel_net_families; family->name; family++)
                n_omitted = put_net_family(exposition, sample, family);
        return n_omitted;
}

/* True if another file system was mounted on the same directory later. */
static bool is_hidden(const Sample *sample, size_t i) {
        for (size_t k = i + 1; k < sample->n_filesystems; k++)
                if (strcmp(sample->filesystems[k].mount_point, sample->filesystems[i].mount_point) == 0)
                        return true;
        return false;
}

static size_t put_filesystem_family(Exposition *exposition, const Sample *sample, const KernelFamily *family) {
        size_t n = 0, n_omitted = 0;

        begin_kernel_family(exposition, family);
        for (size_t i = 0; i < sample->n_filesystems; i++) {
                const SampleFilesystem *filesystem = &sample->filesystems[i];

                if (is_hidden(sample, i))
                        continue;
                if (n++ >= DEVICES_MAX) {
                        n_omitted++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "mountpoint", filesystem->mount_point);
                exposition_label(exposition, "fstype", filesystem->type);
                put_kernel_value(exposition, filesystem, family);
        }

        return n_omitted;
}

static size_t put_filesystems(Exposition *exposition, const Sample *sample) {
        size_t n_omitted = 0;

        if (!sample_has(sample, SOURCE_FILESYSTEMS))
                return 0;

        for (const KernelFamily *family = kernel_filesystem_families; family->name; family++)
                n_omitted = put_filesystem_family(exposition, sample, family);
        return n_omitted;
}

static void put_devices(Exposition *exposition, const Sample *sample) {
        const struct {
                const char *kind;
                size_t n_omitted;
        } lines[] = {
                { "disk", put_disks(exposition, sample) },
                { "network", put_nets(exposition, sample) },
                { "filesystem", put_filesystems(exposition, sample) },
        };

        exposition_family(exposition, "perfd_node_devices_not_exposed", FAMILY_GAUGE, "",
                          "Devices omitted because of the limit on their number; the JSON API has them");
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "kind", lines[i].kind);
                exposition_u64(exposition, lines[i].n_omitted);
        }
}

int node_subject_metrics(Exposition *exposition, const Exchange *exchange) {
        const NodeSnapshot *node = &exchange->snapshot->node;
        const Sample *sample = &node->sample;

        if (node->boottime_ns == 0)
                return 0;

        put_info(exposition, node);
        put_cpu_seconds(exposition, sample);
        put_utilization(exposition, &node->observation);
        put_over_threshold(exposition, &node->totals);
        metrics_scalars(exposition, node, observed_scalars, N_ELEMENTS(observed_scalars));
        put_kernel_families(exposition, sample);
        put_psi_available(exposition, sample);
        put_devices(exposition, sample);
        return 0;
}

static void put_cpu(Exposition *exposition, size_t cpu, const CpuTimes *times) {
        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                exposition_sample(exposition);
                exposition_label_i64(exposition, "cpu", (int64_t)cpu);
                exposition_label(exposition, "mode", sample_cpu_mode_names[mode]);
                exposition_decimal(exposition, times->ticks[mode], TICK_DECIMALS);
        }
}

int node_subject_metrics_percpu(Exposition *exposition, const Exchange *exchange) {
        const Sample *sample = &exchange->snapshot->node.sample;

        if (!sample_has(sample, SOURCE_STAT))
                return 0;

        exposition_family(exposition, "perfd_node_cpu_core_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of one CPU since boot, by mode; user and nice exclude guests");
        for (size_t cpu = 0; cpu < sample->n_cpus; cpu++)
                if (sample->cpus[cpu].online)
                        put_cpu(exposition, cpu, &sample->cpus[cpu].times);
        return 0;
}

/* --- statistics of perfd itself ------------------------------------------------------------------ */

static const Scalar sampling_scalars[] = {
        SCALAR_SECONDS(NodeSnapshot, interval_ns, FAMILY_GAUGE, "perfd_sample_interval_seconds", "Configured sampling interval"),
        SCALAR_SECONDS(NodeSnapshot, sample_cpu_ns, FAMILY_COUNTER, "perfd_sample_cpu_seconds", "CPU time spent on sampling"),
        SCALAR_COUNTER(NodeSnapshot, events.n_counter_resets, "perfd_meter_resets", "Kernel counters that decreased and were reset"),
        SCALAR_COUNTER(NodeSnapshot, events.n_cpu_changes, "perfd_meter_cpu_changes", "CPUs that were added or removed"),
        SCALAR_COUNTER(NodeSnapshot, events.n_gaps, "perfd_meter_gaps", "Periods without samples: perfd stopped or the machine suspended"),
        SCALAR_COUNTER(NodeSnapshot, events.n_clock_steps, "perfd_meter_clock_steps", "Changes of the wall clock by more than one second"),
};

static void put_sources(Exposition *exposition, const NodeSnapshot *node) {
        exposition_family(exposition, "perfd_source_up", FAMILY_GAUGE, "",
                          "Whether the kernel's file could be read in the latest sample");
        for (Source source = 0; source < N_SOURCES; source++) {
                exposition_sample(exposition);
                exposition_label(exposition, "source", sample_source_names[source]);
                exposition_u64(exposition, sample_has(&node->sample, source));
        }

        exposition_family(exposition, "perfd_source_failures", FAMILY_COUNTER, "", "Failed attempts to read the kernel's file");
        for (Source source = 0; source < N_SOURCES; source++) {
                exposition_sample(exposition);
                exposition_label(exposition, "source", sample_source_names[source]);
                exposition_u64(exposition, node->sampler.n_failures[source]);
        }
}

int node_subject_metrics_sampling(Exposition *exposition, const Exchange *exchange) {
        const NodeSnapshot *node = &exchange->snapshot->node;

        metrics_scalars(exposition, node, sampling_scalars, N_ELEMENTS(sampling_scalars));
        put_sources(exposition, node);
        return 0;
}
