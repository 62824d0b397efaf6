/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/usage.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "measure/meter.h"
#include "measure/words.h"
#include "util/clock.h"
#include "util/parse.h"

const MetricInfo usage_info[N_USAGES] = {
#define X(id, usage_key, usage_key_unit, usage_family, usage_unit, usage_type, usage_help) \
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

/* --- the fields of a sample --------------------------------------------------------------------- */

typedef enum FieldKind {
        FIELD_COUNTER,
        FIELD_GAUGE,
} FieldKind;

typedef struct Field {
        const char *name; /* as stored; once written, it keeps its meaning */
        CgroupPart part;
        FieldKind kind;
        size_t offset; /* of a uint64_t in CgroupSample */
} Field;

#define FIELD(field, part, kind) { #field, part, kind, offsetof(CgroupSample, field) }

/* All of them but n_cpus, which is a shorter number. */
static const Field fields[] = {
        FIELD(usage_us, CGROUP_CPU, FIELD_COUNTER),
        FIELD(user_us, CGROUP_CPU, FIELD_COUNTER),
        FIELD(system_us, CGROUP_CPU, FIELD_COUNTER),
        FIELD(n_periods, CGROUP_THROTTLING, FIELD_COUNTER),
        FIELD(n_throttled, CGROUP_THROTTLING, FIELD_COUNTER),
        FIELD(throttled_us, CGROUP_THROTTLING, FIELD_COUNTER),
        FIELD(quota_us, CGROUP_CPU_LIMIT, FIELD_GAUGE),
        FIELD(period_us, CGROUP_CPU_LIMIT, FIELD_GAUGE),
        FIELD(memory_bytes, CGROUP_MEMORY, FIELD_GAUGE),
        FIELD(memory_peak_bytes, CGROUP_MEMORY_PEAK, FIELD_GAUGE),
        FIELD(memory_limit_bytes, CGROUP_MEMORY_LIMIT, FIELD_GAUGE),
        FIELD(n_memory_high, CGROUP_MEMORY_EVENTS, FIELD_COUNTER),
        FIELD(n_memory_max, CGROUP_MEMORY_EVENTS, FIELD_COUNTER),
        FIELD(n_oom, CGROUP_MEMORY_EVENTS, FIELD_COUNTER),
        FIELD(n_oom_kill, CGROUP_MEMORY_EVENTS, FIELD_COUNTER),
        FIELD(read_bytes, CGROUP_IO, FIELD_COUNTER),
        FIELD(write_bytes, CGROUP_IO, FIELD_COUNTER),
        FIELD(reads, CGROUP_IO, FIELD_COUNTER),
        FIELD(writes, CGROUP_IO, FIELD_COUNTER),
        FIELD(n_pids, CGROUP_PIDS, FIELD_GAUGE),
        FIELD(psi_cpu_some_us, CGROUP_PSI_CPU, FIELD_COUNTER),
        FIELD(psi_memory_some_us, CGROUP_PSI_MEMORY, FIELD_COUNTER),
        FIELD(psi_memory_full_us, CGROUP_PSI_MEMORY, FIELD_COUNTER),
        FIELD(psi_io_some_us, CGROUP_PSI_IO, FIELD_COUNTER),
        FIELD(psi_io_full_us, CGROUP_PSI_IO, FIELD_COUNTER),
};

static uint64_t *field_of(CgroupSample *sample, const Field *field) {
        return (uint64_t *)(void *)((char *)sample + field->offset);
}

static uint64_t field_value(const CgroupSample *sample, const Field *field) {
        return *(const uint64_t *)(const void *)((const char *)sample + field->offset);
}

/* --- following ---------------------------------------------------------------------------------- */

static uint64_t max_of(uint64_t a, uint64_t b) {
        return a > b ? a : b;
}

static void see(Usage *usage, const CgroupSample *sample) {
        usage->seen |= sample->have;
        if (cgroup_sample_has(sample, CGROUP_MEMORY))
                usage->memory_max_bytes = max_of(usage->memory_max_bytes, sample->memory_bytes);
        if (cgroup_sample_has(sample, CGROUP_PIDS))
                usage->pids_max = max_of(usage->pids_max, sample->n_pids);
}

/* A part that cannot be read at one sample may come back at a later one: until then the last value stays. */
static void take_field(Usage *usage, const CgroupSample *now, const Field *field) {
        uint64_t *last = field_of(&usage->last, field), value = field_value(now, field);

        if (!cgroup_sample_has(now, field->part))
                return;

        /* The difference stays what it was; modular, since begin may get below zero by this. */
        if (field->kind == FIELD_COUNTER && value < *last)
                *field_of(&usage->begin, field) -= *last - value;
        *last = value;
}

static void base_cpu(Usage *usage, const CgroupSample *now) {
        usage->cpu_base = (CgroupSample){
                .boottime_ns = now->boottime_ns,
                .have = now->have & (1U << CGROUP_CPU),
                .usage_us = cgroup_sample_has(now, CGROUP_CPU) ? now->usage_us : 0,
        };
}

static void see_cpu(Usage *usage, const CgroupSample *now) {
        const CgroupSample *base = &usage->cpu_base;
        uint64_t elapsed_ns = now->boottime_ns - base->boottime_ns;
        double cpus;

        if (!cgroup_sample_has(now, CGROUP_CPU))
                return;
        if (!cgroup_sample_has(base, CGROUP_CPU) || now->usage_us < base->usage_us) {
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
        see(usage, sample);
}

static bool is_pressure(const Field *field) {
        return field->part >= CGROUP_PSI_CPU && field->part <= CGROUP_PSI_IO;
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

static void take(Usage *usage, const CgroupSample *sample) {
        see(usage, sample);
        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                take_field(usage, sample, &fields[i]);
        if (cgroup_sample_has(sample, CGROUP_CPUSET))
                usage->last.n_cpus = sample->n_cpus;

        usage->last.boottime_ns = sample->boottime_ns;
        usage->last.have = sample->have;
}

void usage_advance(Usage *usage, const CgroupSample *sample) {
        if (sample->boottime_ns < usage->last.boottime_ns)
                return;

        see_cpu(usage, sample);
        take(usage, sample);
}

/* --- another group ------------------------------------------------------------------------------ */

/* The kernel's peak is of the group's whole life, unless it rose since the begin. */
static bool is_peak_known(const Usage *usage) {
        if (!cgroup_sample_has(&usage->last, CGROUP_MEMORY_PEAK))
                return false;
        return usage->is_fresh || (cgroup_sample_has(&usage->begin, CGROUP_MEMORY_PEAK) &&
                                   usage->last.memory_peak_bytes > usage->begin.memory_peak_bytes);
}

/* What the group before had reached, which the next one's kernel peak knows nothing of. */
static void keep_peak(Usage *usage) {
        bool is_known = is_peak_known(usage);

        if (is_known)
                usage->memory_max_bytes = max_of(usage->memory_max_bytes, usage->last.memory_peak_bytes);
        else if (usage->is_fresh || !cgroup_sample_has(&usage->last, CGROUP_MEMORY_PEAK))
                usage->begin.have &= ~(1U << CGROUP_MEMORY_PEAK);
        usage->is_fresh = is_known;
}

/* Counters of a new group begin at 0; modular, as in take_field(). */
void usage_continue(Usage *usage, const CgroupSample *sample) {
        if (sample->boottime_ns < usage->last.boottime_ns)
                return;

        keep_peak(usage);
        for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
                if (fields[i].kind != FIELD_COUNTER)
                        continue;
                *field_of(&usage->begin, &fields[i]) -= field_value(&usage->last, &fields[i]);
                *field_of(&usage->last, &fields[i]) = 0;
        }

        base_cpu(usage, sample);
        take(usage, sample);
}

/* --- metrics ------------------------------------------------------------------------------------ */

/* Metrics that are the difference of a counter. */
static const struct {
        UsageMetric metric;
        CgroupPart part;
        double unit; /* of the counter, in the metric's base unit */
        size_t offset;
} sums[] = {
        { USAGE_CPU_SECONDS, CGROUP_CPU, 1e-6, offsetof(CgroupSample, usage_us) },
        { USAGE_CPU_USER, CGROUP_CPU, 1e-6, offsetof(CgroupSample, user_us) },
        { USAGE_CPU_SYSTEM, CGROUP_CPU, 1e-6, offsetof(CgroupSample, system_us) },
        { USAGE_THROTTLED, CGROUP_THROTTLING, 1e-6, offsetof(CgroupSample, throttled_us) },
        { USAGE_MEMORY_HIGH, CGROUP_MEMORY_EVENTS, 1, offsetof(CgroupSample, n_memory_high) },
        { USAGE_OOM_KILLS, CGROUP_MEMORY_EVENTS, 1, offsetof(CgroupSample, n_oom_kill) },
        { USAGE_READ_BYTES, CGROUP_IO, 1, offsetof(CgroupSample, read_bytes) },
        { USAGE_WRITE_BYTES, CGROUP_IO, 1, offsetof(CgroupSample, write_bytes) },
        { USAGE_READS, CGROUP_IO, 1, offsetof(CgroupSample, reads) },
        { USAGE_WRITES, CGROUP_IO, 1, offsetof(CgroupSample, writes) },
        { USAGE_PSI_CPU_SOME, CGROUP_PSI_CPU, 1e-6, offsetof(CgroupSample, psi_cpu_some_us) },
        { USAGE_PSI_MEMORY_SOME, CGROUP_PSI_MEMORY, 1e-6, offsetof(CgroupSample, psi_memory_some_us) },
        { USAGE_PSI_MEMORY_FULL, CGROUP_PSI_MEMORY, 1e-6, offsetof(CgroupSample, psi_memory_full_us) },
        { USAGE_PSI_IO_SOME, CGROUP_PSI_IO, 1e-6, offsetof(CgroupSample, psi_io_some_us) },
        { USAGE_PSI_IO_FULL, CGROUP_PSI_IO, 1e-6, offsetof(CgroupSample, psi_io_full_us) },
};

static uint64_t counted(const Usage *usage, size_t offset) {
        Field field = { .offset = offset };

        return field_value(&usage->last, &field) - field_value(&usage->begin, &field);
}

static bool has_both(const Usage *usage, CgroupPart part) {
        return cgroup_sample_has(&usage->begin, part) && cgroup_sample_has(&usage->last, part);
}

/* Why a part is not in a sample. */
static Quality why_absent(const Usage *usage, CgroupPart part) {
        return usage->seen & (1U << part) ? QUALITY_UNKNOWN_SOURCE : QUALITY_NOT_ENABLED;
}

static Quality exactness(const Usage *usage, CgroupPart part) {
        return has_both(usage, part) ? QUALITY_EXACT : why_absent(usage, part);
}

static void put(UsageSet *set, UsageMetric metric, double value, Quality quality) {
        set->value[metric] = quality_is_present(quality) ? value : 0;
        set->quality[metric] = (uint8_t)quality;
}

static void put_sums(const Usage *usage, UsageSet *ret) {
        for (size_t i = 0; i < N_ELEMENTS(sums); i++)
                put(ret, sums[i].metric, (double)counted(usage, sums[i].offset) * sums[i].unit,
                    exactness(usage, sums[i].part));
}

/* Quota and cpuset as they were last: CPUs of the job. 0 when the node's own are not known. */
static double cpus_given(const CgroupSample *last, uint32_t n_node_cpus) {
        double given = n_node_cpus;

        if (cgroup_sample_has(last, CGROUP_CPUSET) && last->n_cpus < given)
                given = last->n_cpus;
        if (cgroup_sample_has(last, CGROUP_CPU_LIMIT) && last->quota_us != CGROUP_NO_LIMIT && last->period_us > 0 &&
            (double)last->quota_us / (double)last->period_us < given)
                given = (double)last->quota_us / (double)last->period_us;
        return given;
}

/* `quality`: of what was used. What is per time needs some. */
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
        uint64_t used_us = counted(usage, offsetof(CgroupSample, usage_us));
        double used_s = (double)(used_us > usage->unseen_us ? used_us - usage->unseen_us : 0) / 1e6;
        Quality quality = exactness(usage, CGROUP_CPU);

        put_cpu_shares(used_s, elapsed_s, cpus_given(&usage->last, n_node_cpus), quality, ret);
        if (usage->has_cpu_max) {
                /* The time before the first reading and after the last is in the mean only. */
                double mean = quality_is_present(ret->quality[USAGE_CPU_MEAN]) ? ret->value[USAGE_CPU_MEAN] : 0;

                put(ret, USAGE_CPU_MAX, usage->cpu_max > mean ? usage->cpu_max : mean, QUALITY_SAMPLED);
        }
        else
                put(ret, USAGE_CPU_MAX, 0, quality_is_present(quality) ? QUALITY_TOO_SHORT : quality);
}

/*
 * Periods pass only where there is a quota, in the group that has it. Where a group above has it, this group's file says nothing of
 * the job's waiting: no period passed in a time that has several.
 */
static void put_throttling(const Usage *usage, UsageSet *ret) {
        const CgroupSample *last = &usage->last;
        uint64_t n_periods = counted(usage, offsetof(CgroupSample, n_periods));
        uint64_t n_throttled = counted(usage, offsetof(CgroupSample, n_throttled));
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

static void put_memory(const Usage *usage, uint64_t node_memory_bytes, UsageSet *ret) {
        const CgroupSample *last = &usage->last;
        uint64_t peak = usage->memory_max_bytes, limit = node_memory_bytes;
        Quality quality = usage->seen & (1U << CGROUP_MEMORY) ? QUALITY_SAMPLED : QUALITY_NOT_ENABLED;
        Quality limited = limit_quality(usage, node_memory_bytes);

        if (is_peak_known(usage)) {
                peak = max_of(peak, last->memory_peak_bytes);
                quality = QUALITY_EXACT;
        }
        if (limited == QUALITY_EXACT)
                limit = last->memory_limit_bytes;

        put(ret, USAGE_MEMORY_PEAK, (double)peak, quality);
        put(ret, USAGE_MEMORY_LIMIT, (double)limit, limited);
        put(ret, USAGE_MEMORY_RATIO, (double)peak / (limit > 0 ? (double)limit : 1),
            limit > 0 ? quality : QUALITY_UNKNOWN_SOURCE);
}

static void put_pids(const Usage *usage, UsageSet *ret) {
        put(ret, USAGE_PIDS_PEAK, (double)usage->pids_max,
            usage->seen & (1U << CGROUP_PIDS) ? QUALITY_SAMPLED : QUALITY_NOT_ENABLED);
}

void usage_metrics(const Usage *usage, uint32_t n_node_cpus, uint64_t node_memory_bytes, UsageSet *ret) {
        *ret = (UsageSet){};

        if (usage->begin.boottime_ns == 0 || usage->last.boottime_ns < usage->begin.boottime_ns) {
                memset(ret->quality, QUALITY_LOST, sizeof(ret->quality));
                return;
        }

        put_sums(usage, ret);
        put_cpu(usage, n_node_cpus, ret);
        put_throttling(usage, ret);
        put_memory(usage, node_memory_bytes, ret);
        put_pids(usage, ret);
}

void usage_cut(UsageSet *usage) {
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                if (usage->quality[metric] == QUALITY_EXACT && metric != USAGE_CPU_GIVEN && metric != USAGE_MEMORY_LIMIT)
                        usage->quality[metric] = QUALITY_SAMPLED;
}

void usage_none(UsageSet *ret) {
        *ret = (UsageSet){};
        memset(ret->quality, QUALITY_NO_GROUP, sizeof(ret->quality));
}

void usage_of_process_tree(double user_s, double system_s, double duration_s, uint32_t n_node_cpus, UsageSet *ret) {
        usage_none(ret);
        put(ret, USAGE_CPU_SECONDS, user_s + system_s, QUALITY_EXACT);
        put(ret, USAGE_CPU_USER, user_s, QUALITY_EXACT);
        put(ret, USAGE_CPU_SYSTEM, system_s, QUALITY_EXACT);
        put_cpu_shares(user_s + system_s, duration_s, n_node_cpus, QUALITY_EXACT, ret);
}

/* --- as text ------------------------------------------------------------------------------------ */

#define TEXT_MAGIC "perfd-usage"
#define TEXT_END "end"

static void put_parts(const char *name, uint32_t have, Buffer *out) {
        char separator = '=';

        if (have == 0)
                return;

        buffer_putc(out, ' ');
        buffer_puts(out, name);
        for (CgroupPart part = 0; part < N_CGROUP_PARTS; part++) {
                if (!(have & (1U << part)))
                        continue;
                buffer_putc(out, separator);
                buffer_puts(out, cgroup_part_name(part));
                separator = ',';
        }
}

static void put_sample(const char *kind, const CgroupSample *sample, Buffer *out) {
        buffer_putc(out, '\n');
        buffer_puts(out, kind);
        words_put_u64(out, "boottime_ns", sample->boottime_ns);
        put_parts("have", sample->have, out);
        words_put_u64(out, "n_cpus", sample->n_cpus);
        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                words_put_u64(out, fields[i].name, field_value(sample, &fields[i]));
}

int usage_format(const Usage *usage, char **ret) {
        scoped(buffer_deinit) Buffer text = {};
        char *taken;

        buffer_puts(&text, TEXT_MAGIC);
        put_sample("begin", &usage->begin, &text);
        put_sample("last", &usage->last, &text);
        put_sample("cpu_base", &usage->cpu_base, &text);
        buffer_puts(&text, "\nseen");
        words_put_u64(&text, "has_cpu_max", usage->has_cpu_max);
        words_put_double(&text, "cpu_max", usage->cpu_max);
        words_put_u64(&text, "memory_max_bytes", usage->memory_max_bytes);
        words_put_u64(&text, "pids_max", usage->pids_max);
        words_put_u64(&text, "is_fresh", usage->is_fresh);
        words_put_u64(&text, "unseen_us", usage->unseen_us);
        put_parts("parts", usage->seen, &text);
        buffer_puts(&text, "\n" TEXT_END "\n");

        taken = buffer_take(&text);
        if (!taken)
                return -ENOMEM;

        *ret = taken;
        return 0;
}

static uint32_t part_bit(const char *name, size_t n) {
        Word word = { .name = name, .n_name = n };

        for (CgroupPart part = 0; part < N_CGROUP_PARTS; part++)
                if (word_is(&word, cgroup_part_name(part)))
                        return 1U << part;
        return 0;
}

static uint32_t word_parts(const Word *word) {
        const char *p = word->value, *end = p + word->n_value;
        uint32_t have = 0;

        while (p < end) {
                const char *comma = memchr(p, ',', (size_t)(end - p));
                const char *stop = comma ? comma : end;

                have |= part_bit(p, (size_t)(stop - p));
                p = stop + 1;
        }
        return have;
}

static int parse_sample_word(const Word *word, CgroupSample *sample) {
        uint64_t number;

        if (word_is(word, "have")) {
                sample->have = word_parts(word);
                return 0;
        }
        if (word_is(word, "boottime_ns"))
                return word_u64(word, &sample->boottime_ns);
        if (word_is(word, "n_cpus")) {
                if (word_u64(word, &number) != 0 || number > UINT32_MAX)
                        return PARSE_MALFORMED;
                sample->n_cpus = (uint32_t)number;
                return 0;
        }

        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                if (word_is(word, fields[i].name))
                        return word_u64(word, field_of(sample, &fields[i]));
        return 0;
}

static int parse_sample(const char *text, CgroupSample *sample) {
        Word word;

        while (words_next(&text, &word))
                if (parse_sample_word(&word, sample) != 0)
                        return PARSE_MALFORMED;
        return 0;
}

static int parse_bool_word(const Word *word, bool *ret) {
        uint64_t number;

        if (word_u64(word, &number) != 0)
                return PARSE_MALFORMED;
        *ret = number != 0;
        return 0;
}

static int parse_seen(const char *text, Usage *usage) {
        Word word;

        while (words_next(&text, &word)) {
                int r = 0;

                if (word_is(&word, "has_cpu_max"))
                        r = parse_bool_word(&word, &usage->has_cpu_max);
                else if (word_is(&word, "cpu_max"))
                        r = word_double(&word, &usage->cpu_max);
                else if (word_is(&word, "memory_max_bytes"))
                        r = word_u64(&word, &usage->memory_max_bytes);
                else if (word_is(&word, "pids_max"))
                        r = word_u64(&word, &usage->pids_max);
                else if (word_is(&word, "is_fresh"))
                        r = parse_bool_word(&word, &usage->is_fresh);
                else if (word_is(&word, "unseen_us"))
                        r = word_u64(&word, &usage->unseen_us);
                else if (word_is(&word, "parts"))
                        usage->seen = word_parts(&word);
                if (r != 0)
                        return PARSE_MALFORMED;
        }
        return 0;
}

int usage_parse(const char *text, Usage *ret) {
        Usage usage = {};
        Word kind;
        int r = 0;

        if (!words_next(&text, &kind) || !word_is(&kind, TEXT_MAGIC))
                return PARSE_MALFORMED;

        while (r == 0 && words_next_line(&text, &kind)) {
                if (word_is(&kind, TEXT_END)) {
                        usage.seen |= usage.last.have;
                        *ret = usage;
                        return 0;
                }

                if (word_is(&kind, "begin"))
                        r = parse_sample(text, &usage.begin);
                else if (word_is(&kind, "last"))
                        r = parse_sample(text, &usage.last);
                else if (word_is(&kind, "cpu_base"))
                        r = parse_sample(text, &usage.cpu_base);
                else if (word_is(&kind, "seen"))
                        r = parse_seen(text, &usage);
        }

        return PARSE_MALFORMED; /* something is no number, or the text was cut short */
}
