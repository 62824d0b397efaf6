/* SPDX-License-Identifier: Apache-2.0 */
#include "node/recent_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/clock.h"

/* A point of a second may end somewhat early. */
#define POINT_NS (950 * NS_PER_MS)
/* Longer than any observation. */
#define POINT_NS_MAX (UINT64_C(1) << 60)

void recent_log_deinit(RecentLog *log) {
        recent_deinit(&log->recent);
        recording_deinit(&log->point);
        free(log->cores);
        free(log->percent);
        *log = (RecentLog){};
}

static CoreTicks ticks_of(const Sample *sample, size_t cpu) {
        CoreTicks ticks = {};

        if (cpu >= sample->n_cpus || !sample->cpus[cpu].online || sample->cpus[cpu].is_doubtful)
                return ticks;
        ticks.is_known = true;
        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                uint32_t n = (uint32_t)sample->cpus[cpu].times.ticks[mode];

                ticks.total += n;
                ticks.busy += mode == CPU_IDLE || mode == CPU_IOWAIT ? 0 : n;
        }
        return ticks;
}

static uint8_t percent_of(const CoreTicks *before, const CoreTicks *after) {
        uint32_t total = after->total - before->total, busy = after->busy - before->busy;

        if (!before->is_known || !after->is_known || total == 0 || busy > total)
                return RECENT_UNKNOWN;
        return (uint8_t)((100 * (uint64_t)busy + total / 2) / total);
}

/* Begins a point at the sample. */
static int begin(RecentLog *log, const Sample *sample) {
        size_t n = sample_has(sample, SOURCE_STAT) ? sample->n_cpus : 0;

        if (ARRAY_RESERVE(log->cores, log->n_cores_allocated, n) < 0 ||
            ARRAY_RESERVE(log->percent, log->n_percent_allocated, n) < 0)
                return -ENOMEM;
        for (size_t cpu = 0; cpu < n; cpu++)
                log->cores[cpu] = ticks_of(sample, cpu);
        log->n_cores = n;
        recording_deinit(&log->point);
        recording_init(&log->point, sample->boottime_ns, sample->realtime_ns, POINT_NS_MAX, 2);
        return 0;
}

static int end(RecentLog *log, const Sample *sample) {
        RecentPoint point = { .end_realtime_ms = sample->realtime_ns / NS_PER_MS };

        for (Series series = 0; series < N_SERIES; series++)
                point.values[series] = log->point.last.series[series].mean;
        point.values[SERIES_CORE_MIN] = log->point.last.series[SERIES_CORE_MIN].min;
        point.values[SERIES_CORE_MAX] = log->point.last.series[SERIES_CORE_MAX].max;
        for (size_t cpu = 0; cpu < log->n_cores; cpu++) {
                CoreTicks ticks = sample_has(sample, SOURCE_STAT) ? ticks_of(sample, cpu) : (CoreTicks){};

                log->percent[cpu] = percent_of(&log->cores[cpu], &ticks);
        }
        return recent_add(&log->recent, &point, log->percent, log->n_cores);
}

int recent_log_add(RecentLog *log, const Observation *observation, const Sample *sample) {
        int r;

        if (log->point.interval_ns > 0) {
                r = recording_add(&log->point, observation);
                if (r < 0 || sample->boottime_ns - log->point.begin_boottime_ns < POINT_NS)
                        return r;
                r = log->point.n > 0 ? end(log, sample) : 0;
                if (r < 0)
                        return r;
        }
        return begin(log, sample);
}
