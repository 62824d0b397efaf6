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

        _Static_assert(TOTAL_MEAN_AT100_NS + N_ELEMENTS(cpus) * N_ELEMENTS(thresholds) == N_TOTALS, "the totals have this order");
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
static size_t put_device_family(Exposition *exposition, const Sample *sample, const KernelDeviceKind *kind, const KernelFamily *family) {
        size_t n_by_class[CLASSES_MAX] = {}, n_omitted = 0;
        KernelDevice device;

        metrics_scalar_family(exposition, &family->scalar);
        for (size_t i = 0; (device = kernel_family_device(sample, kind, i)).values; i++) {
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
        for (size_t i = 0; i < N_KERNEL_DEVICE_KINDS; i++)
                exposition_sample_u64(exposition, "kind", kernel_device_kinds[i].name, n_omitted[i]);
}

int node_subject_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const NodeSnapshot *node = &snapshot->node;
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

int node_subject_metrics_percpu(Exposition *exposition, const Snapshot *snapshot) {
        const Sample *sample = &snapshot->node.sample;

        if (!sample_has(sample, SOURCE_STAT))
                return 0;

        exposition_family(exposition, "perfd_node_cpu_core_seconds", FAMILY_COUNTER, "seconds",
                          "CPU time of one CPU since boot, by mode; user and nice exclude guests");
        for (size_t cpu = 0; cpu < sample->n_cpus; cpu++)
                if (sample->cpus[cpu].online)
                        put_cpu_modes(exposition, (int64_t)cpu, &sample->cpus[cpu].times);
        return 0;
}

/* --- statistics of perfd itself ------------------------------------------------------------------ */

static const Scalar sampling_scalars[] = {
        SCALAR_SECONDS(NodeSnapshot, interval_ns, FAMILY_GAUGE, "perfd_sample_interval_seconds", "Configured sampling interval"),
        SCALAR_SECONDS(NodeSnapshot, cpu_interval_ns, FAMILY_GAUGE, "perfd_cpu_interval_seconds", "Interval of CPU readings"),
        SCALAR_SECONDS(NodeSnapshot, sample_cpu_ns, FAMILY_COUNTER, "perfd_sample_cpu_seconds", "CPU time spent on sampling"),
        SCALAR_COUNTER(NodeSnapshot, events.n_counter_resets, "perfd_meter_resets", "Kernel counters that decreased and were reset"),
        SCALAR_COUNTER(NodeSnapshot, events.n_cpu_changes, "perfd_meter_cpu_changes", "CPUs that were added or removed"),
        SCALAR_COUNTER(NodeSnapshot, events.n_gaps, "perfd_meter_gaps", "Periods without samples: perfd stopped or the machine suspended"),
        SCALAR_COUNTER(NodeSnapshot, events.n_clock_steps, "perfd_meter_clock_steps", "Changes of the wall clock by more than one second"),
};

static void put_sources(Exposition *exposition, const NodeSnapshot *node) {
        exposition_family(exposition, "perfd_source_up", FAMILY_GAUGE, "",
                          "Whether the kernel's file could be read in the latest sample");
        for (Source source = 0; source < N_SOURCES; source++)
                exposition_sample_u64(exposition, "source", sample_source_names[source], sample_has(&node->sample, source));

        exposition_family(exposition, "perfd_source_failures", FAMILY_COUNTER, "", "Failed attempts to read the kernel's file");
        for (Source source = 0; source < N_SOURCES; source++)
                exposition_sample_u64(exposition, "source", sample_source_names[source], node->sampler.n_failures[source]);
}

int node_subject_metrics_sampling(Exposition *exposition, const Snapshot *snapshot) {
        const NodeSnapshot *node = &snapshot->node;

        metrics_scalars(exposition, node, sampling_scalars, N_ELEMENTS(sampling_scalars));
        put_sources(exposition, node);
        return 0;
}
