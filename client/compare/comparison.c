/* SPDX-License-Identifier: Apache-2.0 */
#include "client/compare/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/statistics.h"
#include "client/cli/message.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/scoped.h"

/* --- node noise ------------------------------------------------------------------------------------ */

#define FILE_MAX 1048576U
#define CPUS_MAX 4096U
#define SHARE_MIN 0.1 /* a smaller share is no disturbance */
#define TIMES_USUAL 2.0
#define PAIRS_BEFORE_MIN 3U /* fewer do not tell what is usual */

const char *const noise_names[N_NOISES] = {
        [NOISE_CPU] = "waiting for CPUs", [NOISE_IO] = "waiting for I/O", [NOISE_MEMORY] = "waiting for memory",
        [NOISE_STEAL] = "CPU time taken by the hypervisor", [NOISE_THROTTLING] = "throttling by the CPU quota",
        [NOISE_FREQUENCY] = "a lower CPU frequency",
};

/* Reads the number after a text of a file; 0 if there is none. */
static double read_number(int root_fd, const char *path, const char *before) {
        scoped(freep) char *text = file_read_text(root_fd, path, FILE_MAX);
        const char *found = text ? strstr(text, before) : NULL;

        return found ? strtod(found + strlen(before), NULL) : 0;
}

/* Reads the eighth number of "cpu  1 2 3 4 5 6 7 8 9 10", in ticks, of all CPUs together. */
static double read_steal(int root_fd) {
        scoped(freep) char *text = file_read_text(root_fd, "proc/stat", FILE_MAX);
        double ticks = 0;

        if (!text || sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %lf", &ticks) != 1)
                return 0;
        return ticks / (double)sysconf(_SC_CLK_TCK) / (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns the frequency of the fastest CPU, which is one that worked until now. */
static double read_frequency(int root_fd) {
        double highest = 0, khz = 1;

        for (unsigned cpu = 0; cpu < CPUS_MAX && khz > 0; cpu++) {
                char path[96];

                (void)snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
                khz = read_number(root_fd, path, "");
                highest = fmax(highest, khz);
        }
        return highest;
}

NodeNoise comparison_read_noise(int root_fd) {
        return (NodeNoise){ .values = {
                [NOISE_CPU] = read_number(root_fd, "proc/pressure/cpu", "total=") / 1e6,
                [NOISE_IO] = read_number(root_fd, "proc/pressure/io", "total=") / 1e6,
                [NOISE_MEMORY] = read_number(root_fd, "proc/pressure/memory", "total=") / 1e6,
                [NOISE_STEAL] = read_steal(root_fd),
                [NOISE_FREQUENCY] = read_frequency(root_fd),
        } };
}

void comparison_add_noise_run(NodeNoise *shares, const NodeNoise *begin, const NodeNoise *end, double wall_s,
                              double throttled_s, NoiseHistory *history) {
        double khz = end->values[NOISE_FREQUENCY];

        history->top_khz = fmax(history->top_khz, khz);
        for (Noise i = 0; i < N_NOISES; i++) {
                double lost_s = i == NOISE_THROTTLING ? throttled_s : end->values[i] - begin->values[i];
                double share = i == NOISE_FREQUENCY ? (khz > 0 ? 1 - khz / history->top_khz : 0) : lost_s / wall_s;

                /* The kernel adds up pressure at times that are not those of a short run. */
                shares->values[i] = fmax(shares->values[i], fmin(share, 1));
        }
}

bool comparison_add_noise_pair(NoiseHistory *history, const NodeNoise shares[static 2]) {
        bool is_disturbed = false;

        for (Noise i = 0; i < N_NOISES; i++) {
                double a = shares[COMPARISON_A].values[i], b = shares[COMPARISON_B].values[i], share = fmax(a, b);
                bool is_cause = !is_disturbed && history->n >= PAIRS_BEFORE_MIN && share >= SHARE_MIN &&
                                share >= TIMES_USUAL * history->sums[i] / (double)history->n;

                history->n_disturbed[i] += is_cause;
                history->n_disturbed_by_b += is_cause && b > a;
                history->sums[i] += share;
                is_disturbed |= is_cause;
        }
        history->n++;
        return is_disturbed;
}

double comparison_usual_noise(const NoiseHistory *history, Noise *ret) {
        *ret = NOISE_CPU;
        for (Noise i = 0; i < N_NOISES; i++)
                if (history->sums[i] > history->sums[*ret])
                        *ret = i;
        return history->n > 0 && history->sums[*ret] >= SHARE_MIN * (double)history->n
                       ? history->sums[*ret] / (double)history->n : 0;
}

/* --- comparison -------------------------------------------------------------------------------------- */

#define DRIFT_PAIRS_MIN 10U
#define DRIFT_SDS 3.29 /* chance reaches so many standard deviations with a probability of 0.001 */

const ComparisonResourceInfo comparison_resources[N_COMPARISON_RESOURCES] = {
        [COMPARISON_WALL_TIME] = { "wall time", "s", NULL },
        [COMPARISON_CPU_TIME] = { "CPU time", "s", "job_cpu_seconds" },
        [COMPARISON_MEMORY] = { "peak memory", "bytes", NULL },
        [COMPARISON_JOB_MEMORY] = { "peak memory of the job", "bytes", "job_memory_peak_bytes" },
        [COMPARISON_READ] = { "bytes read", "bytes", "job_io_read_bytes" },
        [COMPARISON_WRITTEN] = { "bytes written", "bytes", "job_io_written_bytes" },
};

void comparison_put(PairedRuns *runs, size_t pair, ComparisonSide side, const char *name, const char *unit,
                    double value) {
        ComparisonSeries *series = runs->series;

        while (series < &runs->series[runs->n_series] && strncmp(series->name, name, COMPARISON_NAME_MAX - 1) != 0)
                series++;
        if (!isfinite(value) || series == &runs->series[COMPARISON_SERIES_MAX])
                return;
        if (series == &runs->series[runs->n_series]) {
                runs->n_series++;
                (void)snprintf(series->name, sizeof(series->name), "%s", name);
                series->unit = unit;
                for (size_t i = 0; i < PAIRED_PAIRS_MAX * N_COMPARISON_SIDES; i++)
                        series->values[i / N_COMPARISON_SIDES][i % N_COMPARISON_SIDES] = NAN;
        }
        series->values[pair][side] = value;
}

void comparison_put_resources(PairedRuns *runs, size_t pair, ComparisonSide side,
                              const double values[static N_COMPARISON_RESOURCES]) {
        for (ComparisonResource i = 0; i < N_COMPARISON_RESOURCES; i++)
                comparison_put(runs, pair, side, comparison_resources[i].name, comparison_resources[i].unit, values[i]);
}

const ComparisonSeries *comparison_find(const PairedRuns *runs, const char *name) {
        scoped(buffer_deinit) Buffer names = {};

        for (size_t i = 0; i < runs->n_series; i++) {
                const char *whole = runs->series[i].name, *last = strrchr(whole, ' ');

                if (strcasecmp(whole, name) == 0 || (last && strcasecmp(last + 1, name) == 0))
                        return &runs->series[i];
                buffer_printf(&names, "%s%s", i > 0 ? ", " : "", whole);
        }
        message_print("--objective '%.80s': the runs have no such number, only: %s; perfctl run says why an indicator "
                      "that they print is not read", name, names.text ?: "none");
        return NULL;
}

ComparisonRow comparison_judge(const PairedRuns *runs, const ComparisonSeries *series, ComparisonSide side,
                               double within) {
        double a[PAIRED_PAIRS_MAX], b[PAIRED_PAIRS_MAX];
        ComparisonRow row = { .series = series, .is_ratio = true };

        for (size_t i = 0; i < runs->n_pairs; i++) {
                a[row.n] = series->values[i][COMPARISON_A];
                b[row.n] = series->values[i][side];
                if (!isfinite(a[row.n]) || !isfinite(b[row.n]))
                        continue;
                row.is_ratio &= a[row.n] > 0 && b[row.n] > 0;
                row.n++;
        }
        for (size_t i = 0; i < row.n; i++)
                row.differences[i] = row.is_ratio ? log(b[i]) - log(a[i]) : b[i] - a[i];
        row.interval = paired_comparison_interval(row.differences, row.n);
        row.a = statistics_median_in_place(a, row.n);
        row.b = statistics_median_in_place(b, row.n);
        row.margin = fmax(row.is_ratio ? log1p(within) : within * fabs(row.a), COMPARISON_EQUAL);
        row.verdict = paired_comparison_judge(&row.interval, -row.margin, row.margin);
        return row;
}

double comparison_drift(const PairedRuns *runs, const ComparisonSeries *series, ComparisonSide side, double within) {
        double values[PAIRED_PAIRS_MAX], change, sum = 0;
        size_t n = 0, n_first;

        for (size_t i = 0; i < runs->n_pairs; i++)
                if (isfinite(series->values[i][side]))
                        values[n++] = series->values[i][side];
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < i; k++)
                        sum += (values[i] > values[k]) - (values[i] < values[k]);
        if (n < DRIFT_PAIRS_MIN || !(fabs(sum) > DRIFT_SDS * sqrt((double)(n * (n - 1) * (2 * n + 5)) / 18)))
                return 0;

        n_first = n / 2;
        statistics_sort(values, n_first);
        statistics_sort(values + n_first, n - n_first);
        change = statistics_quantile_of_sorted(values + n_first, n - n_first, 0.5) /
                         statistics_quantile_of_sorted(values, n_first, 0.5) - 1;
        return fabs(change) > within ? change : 0;
}
