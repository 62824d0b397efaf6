/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include <string.h>

#include "measure/kernel_family.h"

#define TICK_DECIMALS 2U /* TICKS_PER_S is 100 */
_Static_assert(TICKS_PER_S == 100, "a tick is two decimals of a second");

#define MEMBER(member) offsetof(NodeSnapshot, member)
#define COUNTER(member, decimals, name, unit, help) \
        { MEMBER(member), SCALAR_U64, decimals, FAMILY_COUNTER, name, unit, help }

static const Scalar meter_scalars[] = {
        COUNTER(totals.value[TOTAL_OBSERVED_NS], 9, "perfd_node_observed_seconds", "seconds",
                "Time covered by observations of utilization"),
        COUNTER(totals.value[TOTAL_UNOBSERVED_NS], 9, "perfd_node_unobserved_seconds", "seconds",
                "Time without observations: perfd stopped or the machine suspended"),
};

static void put_info(Exposition *exposition, const NodeSnapshot *node) {
        exposition_family(exposition, "perfd_node", FAMILY_INFO, "", "What this node is");
        exposition_sample(exposition);
        exposition_label(exposition, "kernel", node->identity.kernel);
        exposition_label(exposition, "machine", node->identity.machine);
        exposition_label(exposition, "boot_id", node->boot_id);
        exposition_u64(exposition, 1);

        exposition_family(exposition, "perfd_last_sample_timestamp_seconds", FAMILY_GAUGE, "seconds",
                          "When the kernel said what is shown here, Unix time");
        exposition_sample(exposition);
        exposition_decimal(exposition, node->realtime_ns, 9);
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
        size_t n_by_class[N_DISK_CLASSES] = {}, n_left_out = 0;

        begin_kernel_family(exposition, family);
        for (size_t i = 0; i < sample->n_disks; i++) {
                const SampleDisk *disk = &sample->disks[i];

                if (n_by_class[disk->class]++ >= DEVICES_MAX) {
                        n_left_out++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "device", disk->name);
                exposition_label(exposition, "class", disk_class_name(disk->class));
                put_kernel_value(exposition, disk, family);
        }

        return n_left_out;
}

static size_t put_disks(Exposition *exposition, const Sample *sample) {
        size_t n_left_out = 0;

        if (!sample_has(sample, SOURCE_DISKSTATS))
                return 0;

        for (const KernelFamily *family = kernel_disk_families; family->name; family++)
                n_left_out = put_disk_family(exposition, sample, family);
        return n_left_out;
}

static size_t put_net_family(Exposition *exposition, const Sample *sample, const KernelFamily *family) {
        size_t n_by_class[N_NET_CLASSES] = {}, n_left_out = 0;

        begin_kernel_family(exposition, family);
        for (size_t i = 0; i < sample->n_nets; i++) {
                const SampleNet *net = &sample->nets[i];

                if (n_by_class[net->class]++ >= DEVICES_MAX) {
                        n_left_out++;
                        continue;
                }
                exposition_sample(exposition);
                exposition_label(exposition, "device", net->name);
                exposition_label(exposition, "class", net_class_name(net->class));
                put_kernel_value(exposition, net, family);
        }

        return n_left_out;
}

static size_t put_nets(Exposition *exposition, const Sample *sample) {
        size_t n_left_out = 0;

        if (!sample_has(sample, SOURCE_NETDEV))
                return 0;

        for (const KernelFamily *family = kernel_net_families; family->name; family++)
                n_left_out = put_net_family(exposition, sample, family);
        return n_left_out;
}

/* Of several file systems mounted on one place, the last is what one finds there. */
static bool is_hidden(const Sample *sample, size_t i) {
        for (size_t k = i + 1; k < sample->n_filesystems; k++)
                if (strcmp(sample->filesystems[k].mount_point, sample->filesystems[i].mount_point) == 0)
                        return true;
        return false;
}

static size_t put_filesystem_family(Exposition *exposition, const Sample *sample, const KernelFamily *family) {
        size_t n = 0, n_left_out = 0;

        begin_kernel_family(exposition, family);
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
                put_kernel_value(exposition, filesystem, family);
        }

        return n_left_out;
}

static size_t put_filesystems(Exposition *exposition, const Sample *sample) {
        size_t n_left_out = 0;

        if (!sample_has(sample, SOURCE_FILESYSTEMS))
                return 0;

        for (const KernelFamily *family = kernel_filesystem_families; family->name; family++)
                n_left_out = put_filesystem_family(exposition, sample, family);
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

void metrics_node(Exposition *exposition, const NodeSnapshot *node) {
        const Sample *sample = &node->sample;

        if (node->boottime_ns == 0)
                return;

        put_info(exposition, node);
        put_cpu_seconds(exposition, sample);
        put_utilization(exposition, &node->observation);
        put_over_threshold(exposition, &node->totals);
        metrics_scalars(exposition, node, meter_scalars, N_ELEMENTS(meter_scalars));
        put_kernel_families(exposition, sample);
        put_psi_available(exposition, sample);
        put_devices(exposition, sample);
}

void metrics_node_percpu(Exposition *exposition, const NodeSnapshot *node) {
        const Sample *sample = &node->sample;

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
