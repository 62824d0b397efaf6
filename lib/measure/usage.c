/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/usage.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/param.h>

#include "measure/meter.h"
#include "util/clock.h"

const MetricInfo usage_info[N_USAGES] = {
#define X(id, usage_key, usage_key_unit, usage_family, usage_unit, usage_type, usage_help, derivation) \
        [USAGE_##id] = {                                                                   \
                .key = usage_key,                                                          \
                .key_unit = usage_key_unit,                                                \
                .scale = 1,                                                                \
                .family = usage_family,                                                    \
                .unit = usage_unit,                                                        \
                .type = METRIC_TYPE_##usage_type,                                          \
                .label = "",                                                               \
                .help = usage_help,                                                        \
        },
        USAGES(X)
#undef X
};

int usage_find(const char *key) {
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                if (strcmp(usage_info[metric].key, key) == 0)
                        return (int)metric;
        return -1;
}

/* --- fields of a sample ------------------------------------------------------------------------- */

typedef enum UsageFieldKind {
        FIELD_COUNTER,
        FIELD_GAUGE,
} UsageFieldKind;

typedef struct UsageField {
        CgroupPart part;
        UsageFieldKind kind;
        size_t offset; /* offset of a uint64_t in CgroupSample */
} UsageField;

static const UsageField fields[] = {
#define X(member, part, kind) { CGROUP_##part, FIELD_##kind, offsetof(CgroupSample, member) },
        CGROUP_VALUES(X)
#undef X
};

static uint64_t *field_of(CgroupSample *sample, const UsageField *field) {
        return (uint64_t *)(void *)((char *)sample + field->offset);
}

static uint64_t field_value(const CgroupSample *sample, const UsageField *field) {
        return *(const uint64_t *)(const void *)((const char *)sample + field->offset);
}

/* --- advancing ---------------------------------------------------------------------------------- */

static void memory_parts(const CgroupSample *sample, uint64_t ret[static N_USAGE_MEMORIES]) {
        ret[USAGE_MEMORY_ANON] = sample->anon_bytes;
        ret[USAGE_MEMORY_FILE] = sample->file_bytes;
        ret[USAGE_MEMORY_KERNEL] = cgroup_sample_has(sample, CGROUP_MEMORY_KERNEL) ? sample->kernel_bytes : 0;
        ret[USAGE_MEMORY_SHMEM] = sample->shmem_bytes;
        ret[USAGE_MEMORY_ALL] = ret[USAGE_MEMORY_ANON] + ret[USAGE_MEMORY_KERNEL] + ret[USAGE_MEMORY_SHMEM];
}

/* The time at which the parts of memory were read. A checkpoint of a former perfd lacks it: then with the others. */
static uint64_t memory_ms(const CgroupSample *sample) {
        return (sample->memory_stat_ns > 0 ? sample->memory_stat_ns : sample->boottime_ns) / NS_PER_MS;
}

/* The memory between two readings is the mean of both. Most samples have that of the reading before. */
static void record_memory(Usage *usage, const CgroupSample *sample) {
        bool had = cgroup_sample_has(&usage->last, CGROUP_MEMORY_STAT);
        uint64_t before[N_USAGE_MEMORIES], now[N_USAGE_MEMORIES], ms;

        if (!cgroup_sample_has(sample, CGROUP_MEMORY_STAT))
                return;

        memory_parts(&usage->last, before);
        memory_parts(sample, now);
        ms = had ? memory_ms(sample) - memory_ms(&usage->last) : 0;
        usage->parts_ms += ms;
        for (UsageMemory part = 0; part < N_USAGE_MEMORIES; part++)
                usage->parts_max_bytes[part] = MAX(usage->parts_max_bytes[part], now[part]);
        for (UsageMemory part = 0; part < USAGE_MEMORY_ALL; part++)
                usage->parts_kib_ms[part] += (before[part] / 1024 + now[part] / 1024) * ms / 2;
}

static void record_parts(Usage *usage, const CgroupSample *sample) {
        record_memory(usage, sample);
        usage->seen |= sample->have;
        if (cgroup_sample_has(sample, CGROUP_MEMORY))
                usage->memory_max_bytes = MAX(usage->memory_max_bytes, sample->memory_bytes);
        if (cgroup_sample_has(sample, CGROUP_PIDS))
                usage->pids_max = MAX(usage->pids_max, sample->n_pids);
}

/*
 * Updates a field. If this sample lacks the part, the last value is preserved, as a later sample may have the part
 * again.
 */
static void advance_field(Usage *usage, const CgroupSample *now, const UsageField *field) {
        uint64_t *last = field_of(&usage->last, field), value = field_value(now, field);

        if (!cgroup_sample_has(now, field->part))
                return;

        /* keeps the difference unchanged; the arithmetic is modular, since `begin` may fall below zero */
        if (field->kind == FIELD_COUNTER && value < *last)
                *field_of(&usage->begin, field) -= *last - value;
        *last = value;
}

static void base_cpu(Usage *usage, const CgroupSample *now) {
        usage->cpu_base = (UsageCpuBase){
                .boottime_ns = now->boottime_ns,
                .have = now->have & (1U << CGROUP_CPU),
                .usage_us = cgroup_sample_has(now, CGROUP_CPU) ? now->usage_us : 0,
        };
}

static void update_cpu_max(Usage *usage, const CgroupSample *now) {
        const UsageCpuBase *base = &usage->cpu_base;
        uint64_t elapsed_ns = now->boottime_ns - base->boottime_ns;
        double cpus;

        if (!cgroup_sample_has(now, CGROUP_CPU))
                return;
        if (!(base->have & (1U << CGROUP_CPU)) || now->usage_us < base->usage_us) {
                base_cpu(usage, now);
                return;
        }
        if (elapsed_ns < METER_OBSERVATION_MIN_NS)
                return;

        cpus = (double)(now->usage_us - base->usage_us) * 1e3 / (double)elapsed_ns;
        if (!usage->has_cpu_max || cpus > usage->cpu_max)
                usage->cpu_max = cpus;
        usage->has_cpu_max = true;
        base_cpu(usage, now);
}

void usage_begin(Usage *usage, const CgroupSample *sample, bool is_fresh) {
        *usage = (Usage){ .begin = *sample, .last = *sample, .is_fresh = is_fresh };

        if (is_fresh) {
                usage->unseen_us = cgroup_sample_has(sample, CGROUP_CPU) ? sample->usage_us : 0;
                for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                        if (fields[i].kind == FIELD_COUNTER)
                                *field_of(&usage->begin, &fields[i]) = 0;
                usage->begin.have |= 1U << CGROUP_MEMORY_EVENTS;
        }

        base_cpu(usage, sample);
        record_parts(usage, sample);
}

static bool is_pressure(const UsageField *field) {
        return field->part >= CGROUP_PSI_CPU && field->part <= CGROUP_PSI_IRQ;
}

void usage_drop_pressure(Usage *usage) {
        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                if (is_pressure(&fields[i]))
                        *field_of(&usage->begin, &fields[i]) = field_value(&usage->last, &fields[i]);
}

void usage_begin_earlier(Usage *usage, uint64_t ns) {
        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                if (is_pressure(&fields[i]))
                        *field_of(&usage->begin, &fields[i]) = 0;
        usage->unseen_us = 0;
        usage->begin.boottime_ns -= ns < usage->begin.boottime_ns ? ns : usage->begin.boottime_ns - 1;
}

/*
 * The kernel divides the CPU time of a process and of a group into user and system time by clock ticks, each for
 * itself: what exceeds one part of the group is taken from the other. In cgroup v1, the parts do not add up to the
 * total.
 */
void usage_exclude(Usage *usage, const ClientCpu *cpu) {
        CgroupSample *begin = &usage->begin;
        const CgroupSample *last = &usage->last;
        uint64_t n_user_us = last->user_us - begin->user_us, n_system_us = last->system_us - begin->system_us;
        uint64_t wanted_us = cpu->user_us + cpu->system_us, user_us, system_us;

        user_us = MIN(cpu->user_us, n_user_us);
        system_us = MIN(wanted_us - user_us, n_system_us);
        user_us = MIN(wanted_us - system_us, n_user_us);
        begin->user_us += user_us;
        begin->system_us += system_us;
        begin->usage_us += MIN(wanted_us, last->usage_us - begin->usage_us);
        usage->unseen_us -= MIN(wanted_us, usage->unseen_us);
}

static void update_fields(Usage *usage, const CgroupSample *sample) {
        record_parts(usage, sample);
        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                advance_field(usage, sample, &fields[i]);
        if (cgroup_sample_has(sample, CGROUP_CPUSET))
                usage->last.n_cpus = sample->n_cpus;

        usage->last.boottime_ns = sample->boottime_ns;
        usage->last.have = sample->have;
}

void usage_advance(Usage *usage, const CgroupSample *sample) {
        if (sample->boottime_ns < usage->last.boottime_ns)
                return;

        update_cpu_max(usage, sample);
        update_fields(usage, sample);
}

/* --- another group ------------------------------------------------------------------------------ */

/*
 * Returns true if the kernel's peak belongs to the job: the peak covers the whole life of the group, unless it rose
 * since the start.
 */
static bool is_peak_known(const Usage *usage) {
        if (!cgroup_sample_has(&usage->last, CGROUP_MEMORY_PEAK))
                return false;
        return usage->is_fresh || (cgroup_sample_has(&usage->begin, CGROUP_MEMORY_PEAK) &&
                                   usage->last.memory_peak_bytes > usage->begin.memory_peak_bytes);
}

/* Saves the peak of the previous group, which the kernel's peak of the next group does not include. */
static void store_peak(Usage *usage) {
        bool is_known = is_peak_known(usage);

        if (is_known)
                usage->memory_max_bytes = MAX(usage->memory_max_bytes, usage->last.memory_peak_bytes);
        else if (usage->is_fresh || !cgroup_sample_has(&usage->last, CGROUP_MEMORY_PEAK))
                usage->begin.have &= ~(1U << CGROUP_MEMORY_PEAK);
        usage->is_fresh = is_known;
}

/* Counters of a new group start at 0; the arithmetic is modular, as in advance_field(). */
void usage_continue(Usage *usage, const CgroupSample *sample) {
        if (sample->boottime_ns < usage->last.boottime_ns)
                return;

        store_peak(usage);
        for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
                if (fields[i].kind != FIELD_COUNTER)
                        continue;
                *field_of(&usage->begin, &fields[i]) -= field_value(&usage->last, &fields[i]);
                *field_of(&usage->last, &fields[i]) = 0;
        }

        base_cpu(usage, sample);
        update_fields(usage, sample);
}

/* --- energy -------------------------------------------------------------------------------------- */

static uint64_t count_of(const Usage *usage, size_t offset) {
        UsageField field = { .offset = offset };

        return field_value(&usage->last, &field) - field_value(&usage->begin, &field);
}

uint64_t usage_unshared_cpu_us(const Usage *usage) {
        uint64_t cpu_us = count_of(usage, offsetof(CgroupSample, usage_us));

        return cpu_us > usage->energy.cpu_us ? cpu_us - usage->energy.cpu_us : 0;
}

void usage_begin_energy(Usage *usage, bool is_read) {
        if (usage->energy.is_metered)
                return;
        usage->energy.is_metered = true;
        usage->energy.is_absent = !is_read;
}

void usage_add_energy(Usage *usage, uint64_t uj) {
        usage->energy.last_uj += uj;
        usage->energy.cpu_us += usage_unshared_cpu_us(usage);
}

void usage_follow_energy(Usage *phase, const Usage *job) {
        uint64_t begin_uj = phase->energy.begin_uj;

        phase->energy = job->energy;
        phase->energy.begin_uj = begin_uj;
}

/* --- metrics ------------------------------------------------------------------------------------ */

/* Counter whose difference is the metric. Metrics with per_unit 0 are computed by functions below. */
static const struct {
        CgroupPart part;
        double per_unit; /* of the counter, in a base unit of the metric */
        size_t offset;
} derivations[N_USAGES] = {
#define OWN
#define GPUS
#define COUNTED(part_id, n_per_unit, member) \
        .part = CGROUP_##part_id, .per_unit = n_per_unit, .offset = offsetof(CgroupSample, member)
#define X(id, key, key_unit, family, unit, type, help, derivation) [USAGE_##id] = { derivation },
        USAGES(X)
#undef X
};

static bool has_both(const Usage *usage, CgroupPart part) {
        return cgroup_sample_has(&usage->begin, part) && cgroup_sample_has(&usage->last, part);
}

/* Returns the reason why a part is missing from a sample. */
static Quality why_absent(const Usage *usage, CgroupPart part) {
        return usage->seen & (1U << part) ? QUALITY_UNKNOWN_SOURCE : QUALITY_NOT_ENABLED;
}

static Quality quality_of(const Usage *usage, CgroupPart part) {
        return has_both(usage, part) ? QUALITY_EXACT : why_absent(usage, part);
}

static void put(UsageSet *set, UsageMetric metric, double value, Quality quality) {
        assert(metric < N_USAGES && quality < N_QUALITIES);
        set->value[metric] = quality_is_present(quality) ? value : 0;
        set->quality[metric] = (uint8_t)quality;
}

static void put_counted(const Usage *usage, UsageSet *ret) {
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                if (derivations[metric].per_unit > 0)
                        put(ret, metric,
                            (double)count_of(usage, derivations[metric].offset) / derivations[metric].per_unit,
                            quality_of(usage, derivations[metric].part));
}

/* Returns the number of CPUs allowed by the last quota and cpuset. 0 if the number of the node's CPUs is unknown. */
static double cpus_given(const CgroupSample *last, uint32_t n_node_cpus) {
        double given = n_node_cpus;

        if (cgroup_sample_has(last, CGROUP_CPUSET) && last->n_cpus < given)
                given = last->n_cpus;
        if (cgroup_sample_has(last, CGROUP_CPU_LIMIT) && last->quota_us != CGROUP_NO_LIMIT && last->period_us > 0 &&
            (double)last->quota_us / (double)last->period_us < given)
                given = (double)last->quota_us / (double)last->period_us;
        return given;
}

/* `quality`: of used_s. Metrics per time need an elapsed time above 0. */
static void put_cpu_shares(double used_s, double elapsed_s, double given, Quality quality, UsageSet *ret) {
        double given_s = given * elapsed_s;
        Quality mean = quality_is_present(quality) && elapsed_s <= 0 ? QUALITY_TOO_SHORT : quality;
        Quality share = given > 0 ? mean : QUALITY_UNKNOWN_SOURCE;

        put(ret, USAGE_CPU_GIVEN, given, given > 0 ? QUALITY_EXACT : QUALITY_UNKNOWN_SOURCE);
        put(ret, USAGE_CPU_MEAN, used_s / (elapsed_s > 0 ? elapsed_s : 1), mean);
        put(ret, USAGE_CPU_RATIO, used_s / (given_s > 0 ? given_s : 1), share);
        put(ret, USAGE_CPU_UNUSED, given_s > used_s ? given_s - used_s : 0, share);
}

static void put_cpu(const Usage *usage, uint32_t n_node_cpus, UsageSet *ret) {
        double elapsed_s = (double)(usage->last.boottime_ns - usage->begin.boottime_ns) / (double)NS_PER_S;
        uint64_t used_us = count_of(usage, offsetof(CgroupSample, usage_us));
        double used_s = (double)(used_us > usage->unseen_us ? used_us - usage->unseen_us : 0) / 1e6;
        Quality quality = quality_of(usage, CGROUP_CPU);

        put_cpu_shares(used_s, elapsed_s, cpus_given(&usage->last, n_node_cpus), quality, ret);
        if (usage->has_cpu_max) {
                /* only the mean includes the time before the first reading and after the last */
                double mean = quality_is_present(ret->quality[USAGE_CPU_MEAN]) ? ret->value[USAGE_CPU_MEAN] : 0;

                put(ret, USAGE_CPU_MAX, usage->cpu_max > mean ? usage->cpu_max : mean, QUALITY_SAMPLED);
        }
        else
                put(ret, USAGE_CPU_MAX, 0, quality_is_present(quality) ? QUALITY_TOO_SHORT : quality);
}

/*
 * The kernel counts throttled periods only in the group with the quota. If a parent group has the quota, the counters
 * of this group do not show the job's throttling: they count no period in a time of several periods.
 */
static void put_throttling(const Usage *usage, UsageSet *ret) {
        const CgroupSample *last = &usage->last;
        uint64_t n_periods = count_of(usage, offsetof(CgroupSample, n_periods));
        uint64_t n_throttled = count_of(usage, offsetof(CgroupSample, n_throttled));
        bool is_limited = cgroup_sample_has(last, CGROUP_CPU_LIMIT) && last->quota_us != CGROUP_NO_LIMIT;
        bool is_elsewhere = is_limited && last->n_periods == 0 &&
                            (last->boottime_ns - usage->begin.boottime_ns) / NS_PER_US >= 2 * last->period_us;

        if (!has_both(usage, CGROUP_THROTTLING))
                put(ret, USAGE_THROTTLED_RATIO, 0, why_absent(usage, CGROUP_THROTTLING));
        else if (n_periods > 0)
                put(ret, USAGE_THROTTLED_RATIO, (double)n_throttled / (double)n_periods, QUALITY_EXACT);
        else if (is_elsewhere)
                put(ret, USAGE_THROTTLED_RATIO, 0, QUALITY_UNKNOWN_SOURCE);
        else
                put(ret, USAGE_THROTTLED_RATIO, 0, is_limited ? QUALITY_TOO_SHORT : QUALITY_EXACT);
        if (is_elsewhere)
                put(ret, USAGE_THROTTLED, 0, ret->quality[USAGE_THROTTLED_RATIO]);
}

static Quality limit_quality(const Usage *usage, uint64_t node_memory_bytes) {
        if (!cgroup_sample_has(&usage->last, CGROUP_MEMORY_LIMIT))
                return why_absent(usage, CGROUP_MEMORY_LIMIT);
        if (node_memory_bytes == 0)
                return QUALITY_UNKNOWN_SOURCE;
        return usage->last.memory_limit_bytes < node_memory_bytes ? QUALITY_EXACT : QUALITY_NO_LIMIT;
}

/* `limit`: what the job may use. */
static void put_memory_parts(const Usage *usage, uint64_t limit, UsageSet *ret) {
        const Quality stat = usage->seen & (1U << CGROUP_MEMORY_STAT) ? QUALITY_SAMPLED : QUALITY_NOT_ENABLED;
        const uint64_t *peaks = usage->parts_max_bytes;

        for (UsageMemory part = 0; part < USAGE_MEMORY_ALL; part++) {
                CgroupPart from = part == USAGE_MEMORY_KERNEL ? CGROUP_MEMORY_KERNEL : CGROUP_MEMORY_STAT;
                Quality quality = usage->seen & (1U << from) ? QUALITY_SAMPLED : QUALITY_NOT_ENABLED;
                Quality mean = quality_is_present(quality) && usage->parts_ms == 0 ? QUALITY_TOO_SHORT : quality;
                double kib = (double)usage->parts_kib_ms[part] / (usage->parts_ms > 0 ? (double)usage->parts_ms : 1);

                put(ret, (UsageMetric)(USAGE_MEMORY_ANON_PEAK + 2 * part), (double)peaks[part], quality);
                put(ret, (UsageMetric)(USAGE_MEMORY_ANON_MEAN + 2 * part), kib * 1024, mean);
        }
        put(ret, USAGE_MEMORY_UNRECLAIMABLE, (double)peaks[USAGE_MEMORY_ALL], stat);
        put(ret, USAGE_MEMORY_UNRECLAIMABLE_RATIO, (double)peaks[USAGE_MEMORY_ALL] / (limit > 0 ? (double)limit : 1),
            limit > 0 ? stat : QUALITY_UNKNOWN_SOURCE);
}

static void put_memory(const Usage *usage, uint64_t node_memory_bytes, UsageSet *ret) {
        const CgroupSample *last = &usage->last;
        uint64_t peak = usage->memory_max_bytes, limit = node_memory_bytes;
        Quality quality = usage->seen & (1U << CGROUP_MEMORY) ? QUALITY_SAMPLED : QUALITY_NOT_ENABLED;
        Quality limited = limit_quality(usage, node_memory_bytes);

        if (is_peak_known(usage)) {
                peak = MAX(peak, last->memory_peak_bytes);
                quality = QUALITY_EXACT;
        }
        if (limited == QUALITY_EXACT)
                limit = last->memory_limit_bytes;

        put(ret, USAGE_MEMORY_PEAK, (double)peak, quality);
        put(ret, USAGE_MEMORY_LIMIT, (double)limit, limited);
        put(ret, USAGE_MEMORY_RATIO, (double)peak / (limit > 0 ? (double)limit : 1),
            limit > 0 ? quality : QUALITY_UNKNOWN_SOURCE);
        put_memory_parts(usage, limit, ret);
}

static void put_pids(const Usage *usage, UsageSet *ret) {
        put(ret, USAGE_PIDS_PEAK, (double)usage->pids_max,
            usage->seen & (1U << CGROUP_PIDS) ? QUALITY_SAMPLED : QUALITY_NOT_ENABLED);
}

static void put_energy(const Usage *usage, UsageSet *ret) {
        const UsageEnergy *energy = &usage->energy;
        Quality quality = energy->is_absent ? QUALITY_UNKNOWN_SOURCE : QUALITY_SAMPLED;

        put(ret, USAGE_ENERGY, (double)(energy->last_uj - energy->begin_uj) / 1e6,
            energy->is_metered ? quality : QUALITY_NO_EQUIPMENT);
}

void usage_metrics(const Usage *usage, uint32_t n_node_cpus, uint64_t node_memory_bytes, UsageSet *ret) {
        if (usage->begin.boottime_ns == 0 || usage->last.boottime_ns < usage->begin.boottime_ns) {
                usage_absent(ret, QUALITY_LOST);
                return;
        }
        usage_absent(ret, QUALITY_UNKNOWN_SOURCE);

        put_counted(usage, ret);
        put_cpu(usage, n_node_cpus, ret);
        put_throttling(usage, ret);
        put_memory(usage, node_memory_bytes, ret);
        put_pids(usage, ret);
        put_energy(usage, ret);
}

void usage_cut(UsageSet *usage) {
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                if (usage->quality[metric] == QUALITY_EXACT && metric != USAGE_CPU_GIVEN &&
                    metric != USAGE_MEMORY_LIMIT)
                        usage->quality[metric] = QUALITY_SAMPLED;
}

void usage_absent(UsageSet *ret, Quality reason) {
        *ret = (UsageSet){};
        memset(ret->quality, (int)reason, sizeof(ret->quality));
        for (UsageMetric metric = USAGE_ENERGY; metric <= USAGE_GPU_ENERGY; metric++)
                ret->quality[metric] = QUALITY_NO_EQUIPMENT;
}

void usage_none(UsageSet *ret) {
        usage_absent(ret, QUALITY_NO_GROUP);
}

void usage_of_process_tree(const ProcessTree *tree, double duration_s, uint32_t n_node_cpus, UsageSet *ret) {
        double used_s = tree->user_s + tree->system_s;
        Quality quality = tree->is_partial ? QUALITY_SAMPLED : QUALITY_EXACT;

        usage_none(ret);
        put(ret, USAGE_CPU_SECONDS, used_s, quality);
        put(ret, USAGE_CPU_USER, tree->user_s, quality);
        put(ret, USAGE_CPU_SYSTEM, tree->system_s, quality);
        put_cpu_shares(used_s, duration_s, n_node_cpus, quality, ret);
}

void usage_exclude_client(UsageSet *usage, const ClientCpu *client) {
        double *user_s = &usage->value[USAGE_CPU_USER], *system_s = &usage->value[USAGE_CPU_SYSTEM];
        double user_us = (double)client->user_us, system_us = (double)client->system_us;

        if (usage->quality[USAGE_CPU_SECONDS] != QUALITY_EXACT || usage->quality[USAGE_CPU_USER] != QUALITY_EXACT)
                return;

        *user_s = fmax(*user_s - user_us / 1e6, 0);
        *system_s = fmax(*system_s - system_us / 1e6, 0);
        usage->value[USAGE_CPU_SECONDS] = fmax(usage->value[USAGE_CPU_SECONDS] - (user_us + system_us) / 1e6, 0);
}

void usage_raise_cpu(UsageSet *usage, const ProcessTree *tree) {
        double user_s = tree->user_s, system_s = tree->system_s;

        if (usage->quality[USAGE_CPU_SECONDS] != QUALITY_SAMPLED ||
            user_s + system_s <= usage->value[USAGE_CPU_SECONDS])
                return;

        put(usage, USAGE_CPU_SECONDS, user_s + system_s, QUALITY_SAMPLED);
        put(usage, USAGE_CPU_USER, user_s, QUALITY_SAMPLED);
        put(usage, USAGE_CPU_SYSTEM, system_s, QUALITY_SAMPLED);
}

void usage_set_duration(UsageSet *usage, double duration_s) {
        Quality quality = usage->quality[USAGE_CPU_SECONDS];

        if (quality_is_present(quality))
                put_cpu_shares(usage->value[USAGE_CPU_SECONDS], duration_s, usage->value[USAGE_CPU_GIVEN], quality,
                               usage);
}

void usage_doubt_duration(UsageSet *usage) {
        static const UsageMetric metrics[] = { USAGE_CPU_MEAN, USAGE_CPU_RATIO, USAGE_CPU_UNUSED };

        for (size_t i = 0; i < N_ELEMENTS(metrics); i++)
                if (usage->quality[metrics[i]] == QUALITY_EXACT)
                        usage->quality[metrics[i]] = QUALITY_SAMPLED;
}

/* --- record ----------------------------------------------------------------------------------- */

static const Record cpu_base_record = RECORD(UsageCpuBase,
        RECORD_VALUE(UsageCpuBase, boottime_ns),
        RECORD_BITS_OF(UsageCpuBase, have, N_CGROUP_PARTS, cgroup_part_names),
        RECORD_VALUE(UsageCpuBase, usage_us));

static const Record energy_record = RECORD(UsageEnergy,
        RECORD_VALUE(UsageEnergy, is_metered), RECORD_VALUE(UsageEnergy, is_absent),
        RECORD_VALUE(UsageEnergy, begin_uj),   RECORD_VALUE(UsageEnergy, last_uj),
        RECORD_VALUE(UsageEnergy, cpu_us));

static const char *const memory_names[N_USAGE_MEMORIES] = { "anon", "file", "kernel", "shmem", "unreclaimable" };

const Record usage_record = RECORD(Usage,
        RECORD_STRUCT(Usage, begin, &cgroup_sample_record),
        RECORD_STRUCT(Usage, last, &cgroup_sample_record),
        RECORD_STRUCT(Usage, cpu_base, &cpu_base_record),
        RECORD_VALUE(Usage, has_cpu_max),
        RECORD_VALUE(Usage, cpu_max),
        RECORD_VALUE(Usage, memory_max_bytes),
        RECORD_COUNTS_OF(Usage, parts_max_bytes, memory_names),
        RECORD_COUNTS_OF(Usage, parts_kib_ms, memory_names),
        RECORD_VALUE(Usage, parts_ms),
        RECORD_VALUE(Usage, pids_max),
        RECORD_VALUE(Usage, is_fresh),
        RECORD_VALUE(Usage, unseen_us),
        RECORD_BITS_OF(Usage, seen, N_CGROUP_PARTS, cgroup_part_names),
        RECORD_STRUCT(Usage, energy, &energy_record));
