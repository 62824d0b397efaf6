/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/meter.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/record.h"
#include "measure/account.h"
#include "util/array.h"
#include "util/clock.h"

#define GAP_INTERVALS 3
#define CLOCK_STEP_NS NS_PER_S

/* Counters of the rates of an Observation. */
static const struct {
        Total total;
        Source source;
        size_t member; /* offset */
        double per_unit;
} rates[] = {
#define X(name, series, id, source) { TOTAL_##id, SOURCE_##source, offsetof(Observation, name##_rate), 1 },
        IO_RATES(X)
#undef X
#define X(name, series, id, source) { TOTAL_##id, SOURCE_##source, offsetof(Observation, name##_rate), 1e6 },
        PRESSURE_RATES(X)
#undef X
#define X(name, series, id, source, per_unit, ...) \
        { TOTAL_##id, SOURCE_##source, offsetof(Observation, name##_rate), per_unit },
        EQUIPMENT_RATES(X)
#undef X
};

/* Counters at the sample where the current observation began. */
typedef struct Base {
        uint64_t boottime_ns;
        uint64_t read_ns[N_SOURCES]; /* time of the values of each source */
        uint32_t have, unknown;      /* as in Totals */
        SampleCpu *cpus; /* owned */
        size_t n_cpus, n_allocated;
        uint64_t rate_totals[N_ELEMENTS(rates)];
} Base;

struct Meter {
        uint64_t interval_ns;
        bool is_started; /* a sample of this boot has been taken, by this meter or by the meter it was restored from */
        bool is_resumed; /* restored from a meter of this boot, and no sample taken since */
        Account account;
        MeterEvents events;
        Base base;
        CpuLevels levels; /* since the base */
        bool is_doubtful; /* the times of a CPU are unknown in a reading since the base */
        RecordImage image; /* of checkpoints */
};

/* --- checkpoint --------------------------------------------------------------------------------- */

typedef struct Checkpoint {
        char boot_id[64];
        uint64_t base_ns;
        MeterEvents events;
        Account account; /* owned after parsing */
} Checkpoint;

static const Record checkpoint_record = RECORD(Checkpoint,
        RECORD_TEXT_OF(Checkpoint, boot_id),
        RECORD_VALUE(Checkpoint, base_ns),
        RECORD_VALUE_AS("n_counter_resets", Checkpoint, events.n_counter_resets),
        RECORD_VALUE_AS("n_cpu_changes", Checkpoint, events.n_cpu_changes),
        RECORD_VALUE_AS("n_gaps", Checkpoint, events.n_gaps),
        RECORD_VALUE_AS("n_clock_steps", Checkpoint, events.n_clock_steps),
        RECORD_STRUCT(Checkpoint, account, &account_record));

static void checkpoint_deinit(Checkpoint *checkpoint) {
        account_deinit(&checkpoint->account);
}

/* --- life --------------------------------------------------------------------------------------- */

int meter_new(Meter **ret, uint64_t interval_ns) {
        Meter *meter = calloc(1, sizeof(*meter));

        if (!meter)
                return -ENOMEM;

        meter->interval_ns = interval_ns;
        record_image_init(&meter->image, &checkpoint_record);
        *ret = meter;
        return 0;
}

Meter *meter_free(Meter *meter) {
        if (!meter)
                return NULL;

        account_deinit(&meter->account);
        free(meter->base.cpus);
        cpu_levels_deinit(&meter->levels);
        free(meter);
        return NULL;
}

void meter_set_interval(Meter *meter, uint64_t interval_ns) {
        meter->interval_ns = interval_ns;
}

const Totals *meter_totals(const Meter *meter) {
        return &meter->account.totals;
}

const MeterEvents *meter_events(const Meter *meter) {
        return &meter->events;
}

/* --- observations --------------------------------------------------------------------------- */

/* Computes the busy share of one CPU between two readings. Returns false if no time was accounted: ticks of an idle
 * CPU may stop. */
static bool cpu_share(const CpuTimes *before, const CpuTimes *after, double *ret) {
        uint64_t total = 0, idle = 0;

        for (size_t mode = 0; mode < N_CPU_MODES; mode++) {
                uint64_t n = after->ticks[mode] - before->ticks[mode];

                total += n;
                idle += mode == CPU_IDLE || mode == CPU_IOWAIT ? n : 0;
        }

        if (total == 0)
                return false;

        *ret = (double)(total - idle) / (double)total;
        return true;
}

/* A CPU whose times are unknown does not leave the mean to the others: utilization is unknown. */
static bool has_doubtful_cpu(const Sample *sample) {
        for (size_t i = 0; i < sample->n_cpus; i++)
                if (sample->cpus[i].online && sample->cpus[i].is_doubtful)
                        return true;
        return false;
}

/* Rounds to 0.1 %, with halves to even, as Python's round() does. */
static double round_share(double share) {
        return (double)lrint(share * 1000) / 1000;
}

static void observe_cpus(const Base *base, const Sample *sample, Observation *ret) {
        size_t n_both = base->n_cpus < sample->n_cpus ? base->n_cpus : sample->n_cpus, n = 0;
        double sum = 0, rounded_sum = 0, min = 1, max = 0;

        for (size_t i = 0; i < n_both; i++) {
                const SampleCpu *before = &base->cpus[i], *after = &sample->cpus[i];
                double share;

                if (!before->online || !after->online || !cpu_share(&before->times, &after->times, &share))
                        continue;

                n++;
                sum += share;
                rounded_sum += round_share(share);
                min = share < min ? share : min;
                max = share > max ? share : max;
        }

        if (n == 0)
                return;

        ret->has_cpu = true;
        ret->cpu_mean = sum / (double)n;
        ret->cpu_rounded_mean = rounded_sum / (double)n;
        ret->cpu_min = min;
        ret->cpu_max = max;
}

static double add_up_gpus(const Sample *sample, GpuSum sum) {
        double total = NAN;

        for (size_t i = 0; i < sample->equipment.n; i++) {
                const SampleEquipment *item = &sample->equipment.items[i];
                double part = item->kind == EQUIPMENT_GPU && item->is_counted ? equipment_gpu_part(item, sum) : NAN;

                if (!isnan(part))
                        total = (isnan(total) ? 0 : total) + part;
        }
        return total;
}

static void observe_gauges(const Sample *sample, Observation *ret) {
        const SampleFilesystem *root = sample_has(sample, SOURCE_FILESYSTEMS) ? sample_root_filesystem(sample) : NULL;

        if (sample_has(sample, SOURCE_MEMINFO) && sample->memory.total_bytes > 0) {
                ret->has_memory = true;
                ret->memory = sample_memory_ratio(sample);
        }

        if (root) {
                ret->has_root_filesystem = true;
                ret->root_filesystem = sample_filesystem_used_ratio(root);
        }
        for (GpuSum sum = 0; sum < N_GPU_SUMS; sum++)
                ret->gpus[sum] = add_up_gpus(sample, sum);
}

/* Rates of a source are those between its readings. */
static void observe_rates(const Base *base, const Sample *sample, const Totals *totals, Observation *ret) {
        for (size_t i = 0; i < N_ELEMENTS(rates); i++) {
                double *rate = (double *)(void *)((char *)ret + rates[i].member);
                uint64_t begin_ns = base->read_ns[rates[i].source], end_ns = sample_read_ns(sample, rates[i].source);
                double seconds = (double)(end_ns - begin_ns) / (double)NS_PER_S;

                bool is_known = base->have & totals->have & (1U << rates[i].source) && end_ns > begin_ns &&
                                !((base->unknown | totals->unknown) & totals_bit(rates[i].total));

                *rate = is_known
                                ? (double)(totals->value[rates[i].total] - base->rate_totals[i]) /
                                          rates[i].per_unit / seconds
                                : NAN;
        }
}

/* Defines functions that add up a counter over devices, in MiB. NaN: its source was not read. */
#define ADD_UP(id, source, metric, devices, is_included, member, field)                                         \
        static double add_up_##id(const Sample *sample) {                                                      \
                uint64_t bytes = 0;                                                                            \
                                                                                                               \
                for (size_t i = 0; i < sample->n_##devices; i++) {                                             \
                        const __typeof__(sample->devices[0]) *device = &sample->devices[i];                    \
                                                                                                               \
                        bytes += is_included ? device->member : 0;                                             \
                }                                                                                              \
                return sample_has(sample, SOURCE_##source) ? (double)bytes / 1048576.0 : NAN;                  \
        }
PERFPY_COUNTERS(ADD_UP)
#undef ADD_UP

static void observe_boot_counters(const Sample *sample, Observation *ret) {
#define X(id, ...) ret->boot_mib[PERFPY_##id] = add_up_##id(sample);
        PERFPY_COUNTERS(X)
#undef X
}

/* Adds the time at or above each threshold, by the mean, by all and by any of the CPUs, and sets the peaks. */
static void count_thresholds(Totals *totals, const CpuLevelSums *levels, Observation *observation) {
        const double across[N_CPU_ACROSS] = { observation->cpu_mean, observation->cpu_min, observation->cpu_max };
        uint64_t elapsed_ns = observation->end_ns - observation->begin_ns;
        CpuLevelSums whole = {};

        assert(observation->end_ns > observation->begin_ns);
        if (levels->n_windows < 2) {
                cpu_level_sums_add(&whole, across, elapsed_ns);
                levels = &whole;
        }

        totals->value[TOTAL_OBSERVED_NS] += elapsed_ns;
        totals->value[TOTAL_CPU_READINGS] += levels->n_windows > 1 ? levels->n_windows : 1;
        for (size_t i = 0; i < N_CPU_THRESHOLDS; i++) {
                totals->value[TOTAL_MEAN_AT100_NS + i] += levels->over_ns[CPU_ACROSS_MEAN][i];
                totals->value[TOTAL_ALL_AT100_NS + i] += levels->over_ns[CPU_ACROSS_ALL][i];
                totals->value[TOTAL_ANY_AT100_NS + i] += levels->over_ns[CPU_ACROSS_ANY][i];
        }
        memcpy(observation->cpu_peak, levels->peak, sizeof(observation->cpu_peak));
}

static void observe(Meter *meter, const Sample *sample, Observation *ret) {
        *ret = (Observation){
                .begin_ns = meter->base.boottime_ns,
                .end_ns = sample->boottime_ns,
        };

        if (meter->base.have & sample->have & (1U << SOURCE_STAT) && !meter->is_doubtful)
                observe_cpus(&meter->base, sample, ret);
        observe_gauges(sample, ret);
        observe_rates(&meter->base, sample, &meter->account.totals, ret);
        observe_boot_counters(sample, ret);
        if (sample_has(sample, SOURCE_STAT))
                cpu_levels_add(&meter->levels, sample);
        if (ret->has_cpu)
                count_thresholds(&meter->account.totals, cpu_levels_finish(&meter->levels), ret);
}

/* --- advancing ------------------------------------------------------------------------------ */

static bool is_online(const SampleCpu *cpus, size_t n, size_t cpu) {
        return cpu < n && cpus[cpu].online;
}

static uint64_t count_cpu_changes(const Base *base, const Sample *sample) {
        size_t n_either = base->n_cpus > sample->n_cpus ? base->n_cpus : sample->n_cpus;
        uint64_t n_changes = 0;

        for (size_t i = 0; i < n_either; i++)
                n_changes += is_online(base->cpus, base->n_cpus, i) != is_online(sample->cpus, sample->n_cpus, i);
        return n_changes;
}

/* Starts the next observation at this sample. */
static void base_restart(Meter *meter, const Sample *sample) {
        Base *base = &meter->base;

        if (base->have & sample->have & (1U << SOURCE_STAT))
                meter->events.n_cpu_changes += count_cpu_changes(base, sample);

        base->boottime_ns = sample->boottime_ns;
        for (Source source = 0; source < N_SOURCES; source++)
                base->read_ns[source] = sample_read_ns(sample, source);
        base->have = sample->have;
        base->unknown = meter->account.totals.unknown;
        base->n_cpus = sample_has(sample, SOURCE_STAT) ? sample->n_cpus : 0;
        assert(base->n_cpus <= base->n_allocated);
        if (base->n_cpus > 0)
                memcpy(base->cpus, sample->cpus, base->n_cpus * sizeof(*base->cpus));
        for (size_t i = 0; i < N_ELEMENTS(rates); i++)
                base->rate_totals[i] = meter->account.totals.value[rates[i].total];
        cpu_levels_drop(&meter->levels);
        meter->is_doubtful = false;
}

/* Returns true if the offset of REALTIME to BOOTTIME changed, which means that the clock was set. */
static bool clock_stepped(const Totals *before, const Sample *sample) {
        int64_t boottime_ns = (int64_t)(sample->boottime_ns - before->boottime_ns);
        int64_t realtime_ns = (int64_t)(sample->realtime_ns - before->realtime_ns);

        return realtime_ns - boottime_ns > (int64_t)CLOCK_STEP_NS || boottime_ns - realtime_ns > (int64_t)CLOCK_STEP_NS;
}

static bool is_gap(const Meter *meter, const Sample *sample) {
        return meter->is_resumed ||
               sample->boottime_ns - meter->account.totals.boottime_ns > GAP_INTERVALS * meter->interval_ns;
}

/* Allocates all memory in advance, so that a sample is taken completely or not at all. */
static int meter_reserve(Meter *meter, const Sample *sample) {
        int r;

        r = account_reserve(&meter->account, sample);
        return r < 0 ? r : ARRAY_RESERVE(meter->base.cpus, meter->base.n_allocated, sample->n_cpus);
}

static int advance_started(Meter *meter, const Sample *sample, bool gap, Observation *ret_observation) {
        uint64_t elapsed_ns = sample->boottime_ns - meter->base.boottime_ns;

        if (gap) {
                meter->account.totals.value[TOTAL_UNOBSERVED_NS] += elapsed_ns;
                meter->events.n_gaps++;
                base_restart(meter, sample);
                return 0;
        }

        if (elapsed_ns < METER_OBSERVATION_MIN_NS)
                return 0;

        assert(sample->boottime_ns > meter->base.boottime_ns);
        observe(meter, sample, ret_observation);
        base_restart(meter, sample);
        return METER_OBSERVED;
}

/* The first reading begins the series at the base, whose CPUs are known. */
int meter_add_cpus(Meter *meter, Sample *sample) {
        const Base *base = &meter->base;
        const Sample at_base = { .boottime_ns = base->boottime_ns, .cpus = base->cpus, .n_cpus = base->n_cpus };
        int r;

        if (!(base->have & sample->have & (1U << SOURCE_STAT)) || sample->boottime_ns <= base->boottime_ns)
                return 0;

        r = cpu_levels_reserve(&meter->levels, base->n_cpus);
        if (r == 0)
                r = account_reserve(&meter->account, sample);
        if (r < 0)
                return r;
        account_advance_cpus(&meter->account, sample);
        meter->is_doubtful |= has_doubtful_cpu(sample);
        if (meter->levels.last_ns == 0)
                cpu_levels_begin(&meter->levels, &at_base);
        cpu_levels_add(&meter->levels, sample);
        return 0;
}

int meter_advance(Meter *meter, Sample *sample, Observation *ret_observation) {
        Totals *totals = &meter->account.totals;
        bool gap;
        int r;

        if (meter->is_started && sample->boottime_ns <= totals->boottime_ns)
                return 0;

        r = meter_reserve(meter, sample);
        if (r < 0)
                return r;

        if (!meter->is_started) {
                /* an observation cannot begin at a reading of another boot */
                totals->boottime_ns = 0;
                totals->have = 0;
                account_advance(&meter->account, sample);
                base_restart(meter, sample);
                meter->is_started = true;
                return 0;
        }

        gap = is_gap(meter, sample);
        meter->is_resumed = false;
        meter->events.n_clock_steps += clock_stepped(totals, sample);
        account_advance(&meter->account, sample);
        meter->events.n_counter_resets = meter->account.n_counter_resets;
        meter->is_doubtful |= sample_has(sample, SOURCE_STAT) && has_doubtful_cpu(sample);
        return advance_started(meter, sample, gap, ret_observation);
}

/* --- save and restore ------------------------------------------------------------------------- */

#define TIME_MAX_NS (UINT64_C(1) << 62) /* the year 2116 */

/* The checkpoint borrows the devices of the meter. */
static void make_checkpoint(const Meter *meter, const char *boot_id, Checkpoint *ret) {
        *ret = (Checkpoint){
                .base_ns = meter->base.boottime_ns,
                .events = meter->events,
                .account = meter->account,
        };
        assert(strlen(boot_id) < sizeof(ret->boot_id));
        memcpy(ret->boot_id, boot_id, strlen(boot_id) + 1);
}

int meter_save(const Meter *meter, const char *boot_id, char **ret) {
        Checkpoint checkpoint;

        make_checkpoint(meter, boot_id, &checkpoint);
        return record_format(&checkpoint_record, &checkpoint, ret);
}

void meter_put_image(const Meter *meter, const char *boot_id, Buffer *out) {
        Checkpoint checkpoint;

        make_checkpoint(meter, boot_id, &checkpoint);
        record_image_put(&meter->image, &checkpoint, out);
}

static bool has_names_of_equipment(const Account *account) {
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS; kind++)
                for (size_t i = 0; i < account->equipment[kind].n; i++)
                        if (!account->equipment[kind].items[i].name[0])
                                return false;
        return true;
}

static bool has_names(const DeviceTable *table) {
        for (size_t i = 0; i < table->n; i++)
                if (!table->devices[i].name[0])
                        return false;
        return true;
}

/* Returns true if all times can be compared without overflow and all devices are valid. */
static bool is_sane(const Checkpoint *checkpoint) {
        const Totals *totals = &checkpoint->account.totals;

        return checkpoint->base_ns <= totals->boottime_ns && totals->boottime_ns <= TIME_MAX_NS &&
               totals->realtime_ns <= TIME_MAX_NS && has_names(&checkpoint->account.disks) &&
               has_names(&checkpoint->account.nets) && has_names_of_equipment(&checkpoint->account);
}

/* Takes the devices of the checkpoint. */
static int resume(Meter *meter, Checkpoint *checkpoint, const char *boot_id) {
        bool same_boot = boot_id[0] && strcmp(checkpoint->boot_id, boot_id) == 0;

        if (!is_sane(checkpoint))
                return METER_MALFORMED;

        if (!same_boot) {
                /* the counters belong to the previous boot */
                Totals totals = checkpoint->account.totals;

                account_deinit(&checkpoint->account);
                checkpoint->account.totals = totals;
        }

        account_deinit(&meter->account);
        meter->account = checkpoint->account;
        account_resume(&meter->account);
        meter->account.n_counter_resets = checkpoint->events.n_counter_resets;
        checkpoint->account = (Account){};

        meter->events = checkpoint->events;
        meter->is_started = same_boot && meter->account.totals.boottime_ns > 0;
        meter->is_resumed = meter->is_started;
        meter->base.boottime_ns = checkpoint->base_ns;
        meter->base.have = 0;
        meter->base.n_cpus = 0;
        return same_boot ? 0 : METER_OTHER_BOOT;
}

int meter_restore(Meter *meter, const char *text, const char *boot_id) {
        scoped(checkpoint_deinit) Checkpoint checkpoint = {};
        int r;

        r = record_parse(&checkpoint_record, text, &checkpoint);
        if (r != 0)
                return r < 0 ? r : METER_MALFORMED;
        return resume(meter, &checkpoint, boot_id);
}

int meter_restore_image(Meter *meter, const char *bytes, size_t n, const char *boot_id) {
        scoped(checkpoint_deinit) Checkpoint checkpoint = {};
        int r;

        r = record_image_parse(&meter->image, bytes, n, &checkpoint);
        if (r != 0)
                return r < 0 ? r : r == RECORD_IMAGE_OTHER ? METER_OTHER_PROGRAM : METER_MALFORMED;
        return resume(meter, &checkpoint, boot_id);
}
