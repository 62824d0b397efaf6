/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/cpu_levels.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/scoped.h"

/* A segment is at least as long as the shortest observation. */
#define SEGMENT_MIN_NS (95 * UINT64_C(1000000))
/* Parts of a window: resolution of the time of a change. */
#define N_PARTS 4U
/* Tolerance for rounding in the mean of shares. */
#define HAIR 1e-9

const double cpu_thresholds[N_CPU_THRESHOLDS] = { 0.9995, 0.8, 0.4, 0.2 };

/* Windows first … end - 1 of one CPU. */
typedef struct Segment {
        size_t first, end;
        uint32_t busy, total; /* ticks */
        uint64_t length_ns;
} Segment;

/* Shares of all CPUs in each part of each window. */
typedef struct Profile {
        double sum[CPU_LEVELS_WINDOWS_MAX * N_PARTS], min[CPU_LEVELS_WINDOWS_MAX * N_PARTS],
                max[CPU_LEVELS_WINDOWS_MAX * N_PARTS];
        size_t n_cpus;
} Profile;

void cpu_levels_deinit(CpuLevels *levels) {
        free(levels->last);
        free(levels->is_usable);
        free(levels->windows);
        *levels = (CpuLevels){};
}

int cpu_levels_reserve(CpuLevels *levels, size_t n_cpus) {
        CpuLevels grown = { .n_allocated = n_cpus };

        if (n_cpus <= levels->n_allocated)
                return 0;

        grown.last = calloc(n_cpus, sizeof(*grown.last));
        grown.is_usable = calloc(n_cpus, sizeof(*grown.is_usable));
        grown.windows = calloc(n_cpus * CPU_LEVELS_WINDOWS_MAX, sizeof(*grown.windows));
        if (!grown.last || !grown.is_usable || !grown.windows) {
                cpu_levels_deinit(&grown);
                return -ENOMEM;
        }

        cpu_levels_deinit(levels);
        *levels = grown;
        return 0;
}

/* --- segments of one CPU ------------------------------------------------------------------------ */

static double share_of(uint32_t busy, uint32_t total) {
        return total > 0 ? (double)busy / (double)total : 0;
}

/* Returns the square of the difference of two proportions in standard errors; 0 if one has no ticks, or both are
 * equal. */
static double distance_of(const Segment *a, const Segment *b) {
        double difference = share_of(a->busy, a->total) - share_of(b->busy, b->total);
        double pooled = share_of(a->busy + b->busy, a->total + b->total), variance;

        if (a->total == 0 || b->total == 0 || difference == 0)
                return 0;
        variance = pooled * (1 - pooled) * (1 / (double)a->total + 1 / (double)b->total);
        return difference * difference / variance;
}

static void merge(Segment *segments, size_t *n, size_t i) {
        segments[i].end = segments[i + 1].end;
        segments[i].busy += segments[i + 1].busy;
        segments[i].total += segments[i + 1].total;
        segments[i].length_ns += segments[i + 1].length_ns;
        for (size_t k = i + 1; k + 1 < *n; k++)
                segments[k] = segments[k + 1];
        (*n)--;
}

/*
 * Finds the pair of adjacent segments with the smallest distance. is_short: only pairs with a segment that is too
 * short. Returns the index of the first, or n if there is no pair.
 */
static size_t find_pair(const Segment *segments, size_t n, bool is_short, double *ret_distance) {
        size_t found = n;

        for (size_t i = 0; i + 1 < n; i++) {
                double distance = distance_of(&segments[i], &segments[i + 1]);

                if (is_short && segments[i].length_ns >= SEGMENT_MIN_NS && segments[i + 1].length_ns >= SEGMENT_MIN_NS)
                        continue;
                if (found == n || distance < *ret_distance) {
                        found = i;
                        *ret_distance = distance;
                }
        }
        return found;
}

/*
 * Divides the windows of a CPU into segments. Returns their number. Of many CPUs, one differs by chance more often:
 * the square of a distance that is as rare for n CPUs as for one grows with 2 ln(n).
 */
static size_t divide(const CpuLevels *levels, const CpuWindow *windows, Segment *segments) {
        double distance = 0,
               significant = CPU_LEVELS_SIGNIFICANCE * CPU_LEVELS_SIGNIFICANCE + 2 * log((double)levels->n_cpus);
        size_t n = levels->n_windows, i;

        for (size_t w = 0; w < n; w++)
                segments[w] = (Segment){ w, w + 1, windows[w].busy, windows[w].total, levels->window_ns[w] };
        while ((i = find_pair(segments, n, false, &distance)) < n && distance < significant)
                merge(segments, &n, i);
        while ((i = find_pair(segments, n, true, &distance)) < n)
                merge(segments, &n, i);
        return n;
}

/* --- all CPUs ----------------------------------------------------------------------------------- */

static void set_level(Profile *profile, size_t part, double level) {
        profile->sum[part] += level;
        profile->min[part] = level < profile->min[part] ? level : profile->min[part];
        profile->max[part] = level > profile->max[part] ? level : profile->max[part];
}

/* A segment without its first or its last window, in which the level changed; a segment of one window is not
 * changed. */
static Segment without(const Segment *segment, const CpuWindow *windows, size_t w) {
        Segment rest = *segment;

        if (rest.end - rest.first < 2)
                return rest;
        rest.busy -= windows[w].busy;
        rest.total -= windows[w].total;
        rest.first += w == rest.first;
        rest.end -= w + 1 == rest.end;
        return rest;
}

/*
 * Returns the parts of window w that have the level of the segment before, if the load changed during the window
 * from `before` to `after`; 0 to N_PARTS.
 */
static unsigned divide_window(const CpuWindow *window, double before, double after) {
        double part = (share_of(window->busy, window->total) - after) / (before - after);

        return (unsigned)lrint(fmin(fmax(part, 0), 1) * N_PARTS);
}

/*
 * Finds the window at a boundary in which the load changed: the last of the segment before, or the first of the
 * segment after, whichever differs more from its segment. Removes the window from its segment, and returns it with
 * its parts before the change.
 */
static size_t find_change(Segment *before, Segment *after, const CpuWindow *windows, unsigned *ret_parts) {
        const CpuWindow *last = &windows[before->end - 1], *first = &windows[after->first];
        Segment left = without(before, windows, before->end - 1), right = without(after, windows, after->first);
        double left_share = share_of(left.busy, left.total), right_share = share_of(right.busy, right.total);
        size_t w;

        if (fabs(share_of(last->busy, last->total) - left_share) >=
            fabs(share_of(first->busy, first->total) - right_share)) {
                w = before->end - 1;
                *before = left;
        } else {
                w = after->first;
                *after = right;
        }
        *ret_parts = divide_window(&windows[w], share_of(before->busy, before->total),
                                   share_of(after->busy, after->total));
        return w;
}

static void add_cpu(const CpuLevels *levels, size_t cpu, Profile *profile) {
        const CpuWindow *windows = &levels->windows[cpu * CPU_LEVELS_WINDOWS_MAX];
        Segment segments[CPU_LEVELS_WINDOWS_MAX];
        size_t n = divide(levels, windows, segments), part = 0;
        size_t ends[CPU_LEVELS_WINDOWS_MAX];

        for (size_t i = 0; i + 1 < n; i++) {
                unsigned n_parts;
                size_t w = find_change(&segments[i], &segments[i + 1], windows, &n_parts);

                ends[i] = w * N_PARTS + n_parts;
        }
        ends[n - 1] = levels->n_windows * N_PARTS;

        for (size_t i = 0; i < n; i++)
                for (; part < ends[i]; part++)
                        set_level(profile, part, share_of(segments[i].busy, segments[i].total));
        profile->n_cpus++;
}

void cpu_level_sums_add(CpuLevelSums *sums, const double across[static N_CPU_ACROSS], uint64_t length_ns) {
        for (CpuAcross kind = 0; kind < N_CPU_ACROSS; kind++) {
                sums->peak[kind] = across[kind] > sums->peak[kind] ? across[kind] : sums->peak[kind];
                for (size_t i = 0; i < N_CPU_THRESHOLDS; i++)
                        if (across[kind] + HAIR >= cpu_thresholds[i])
                                sums->over_ns[kind][i] += length_ns;
        }
}

/* Adds the series to the sums. */
static void process(CpuLevels *levels) {
        Profile profile = {};

        for (size_t part = 0; part < levels->n_windows * N_PARTS; part++)
                profile.min[part] = 1;
        for (size_t cpu = 0; cpu < levels->n_cpus; cpu++)
                if (levels->is_usable[cpu])
                        add_cpu(levels, cpu, &profile);

        for (size_t part = 0; part < levels->n_windows * N_PARTS && profile.n_cpus > 0; part++) {
                uint64_t window_ns = levels->window_ns[part / N_PARTS], k = part % N_PARTS;

                const double across[N_CPU_ACROSS] = { profile.sum[part] / (double)profile.n_cpus, profile.min[part],
                                                      profile.max[part] };

                cpu_level_sums_add(&levels->sums, across, window_ns * (k + 1) / N_PARTS - window_ns * k / N_PARTS);
        }
        if (profile.n_cpus > 0)
                levels->sums.n_windows += levels->n_windows;
        levels->n_windows = 0;
}

/* --- readings ----------------------------------------------------------------------------------- */

static void keep_reading(CpuLevels *levels, const Sample *sample) {
        for (size_t cpu = 0; cpu < levels->n_cpus; cpu++)
                if (cpu < sample->n_cpus)
                        levels->last[cpu] = sample->cpus[cpu].times;
        levels->last_ns = sample->boottime_ns;
}

void cpu_levels_begin(CpuLevels *levels, const Sample *sample) {
        assert(sample->n_cpus <= levels->n_allocated);

        levels->sums = (CpuLevelSums){};
        levels->n_windows = 0;
        levels->n_cpus = sample->n_cpus;
        for (size_t cpu = 0; cpu < levels->n_cpus; cpu++)
                levels->is_usable[cpu] = sample->cpus[cpu].online;
        keep_reading(levels, sample);
}

/* Idle time may decrease slightly, which counts as 0. */
static CpuWindow window_of(const CpuTimes *before, const CpuTimes *after) {
        uint64_t busy = 0, total = 0;

        for (size_t mode = 0; mode < N_CPU_MODES; mode++) {
                uint64_t n = after->ticks[mode] > before->ticks[mode] ? after->ticks[mode] - before->ticks[mode] : 0;

                total += n;
                busy += mode == CPU_IDLE || mode == CPU_IOWAIT ? 0 : n;
        }
        if (total > UINT16_MAX) /* the machine was suspended, or a CPU was plugged in */
                return (CpuWindow){};
        return (CpuWindow){ (uint16_t)busy, (uint16_t)total };
}

void cpu_levels_add(CpuLevels *levels, const Sample *sample) {
        if (levels->last_ns == 0 || sample->boottime_ns <= levels->last_ns)
                return;
        if (levels->n_windows == CPU_LEVELS_WINDOWS_MAX)
                process(levels);

        for (size_t cpu = 0; cpu < levels->n_cpus; cpu++) {
                bool is_online = cpu < sample->n_cpus && sample->cpus[cpu].online;

                levels->is_usable[cpu] = levels->is_usable[cpu] && is_online;
                if (levels->is_usable[cpu])
                        levels->windows[cpu * CPU_LEVELS_WINDOWS_MAX + levels->n_windows] =
                                window_of(&levels->last[cpu], &sample->cpus[cpu].times);
        }
        levels->window_ns[levels->n_windows++] = sample->boottime_ns - levels->last_ns;
        keep_reading(levels, sample);
}

const CpuLevelSums *cpu_levels_finish(CpuLevels *levels) {
        if (levels->n_windows > 0)
                process(levels);
        levels->last_ns = 0;
        return &levels->sums;
}

void cpu_levels_drop(CpuLevels *levels) {
        levels->last_ns = 0;
        levels->n_windows = 0;
        levels->sums = (CpuLevelSums){};
}
