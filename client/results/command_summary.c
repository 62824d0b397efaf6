/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/command_summary.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/results/command_result.h"
#include "text/text.h"

#define SHORT_S 0.005      /* a process starts and ends in a time of this order */
#define SLOW_FIRST_RATIO 1.1
#define SLOW_FIRST_N_MIN 3U
#define MAD_OF_SIGMA 1.4826 /* standard deviation of a normal distribution, in median absolute deviations */
#define OUTLIER_SIGMAS 10.0
#define OUTLIER_RATIO 0.02  /* a smaller deviation does not matter, however constant the others are */

static bool is_command(const SummarySeries *series, const char *key) {
        return strcmp(series->component, COMMAND_RESULT_COMPONENT) == 0 && strcmp(series->key, key) == 0;
}

static SummarySeries *find(Summary *summary, const char *name, const char *key) {
        for (size_t i = 0; i < summary->n; i++) {
                SummarySeries *series = &summary->series[i];

                if (is_command(series, key) && (!name || strcmp(series->name, name) == 0))
                        return series;
        }
        return NULL;
}

/* All times of a line have the unit of the first. */
static void put_time(Buffer *out, double s, double unit_of) {
        if (unit_of < 1)
                buffer_printf(out, "%.1f ms", 1e3 * s);
        else
                buffer_printf(out, "%.3f s", s);
}

static void put_times(Buffer *out, const char *name, const Statistics *elapsed) {
        double mean = elapsed->mean;

        buffer_printf(out, "%s: mean ", name);
        put_time(out, mean, mean);
        if (isfinite(elapsed->sd)) {
                buffer_puts(out, " ± ");
                put_time(out, elapsed->sd, mean);
        }
        buffer_puts(out, ", median ");
        put_time(out, elapsed->median, mean);
        buffer_puts(out, ", range ");
        put_time(out, elapsed->min, mean);
        buffer_puts(out, " to ");
        put_time(out, elapsed->max, mean);
        buffer_printf(out, ", %zu run%s\n", elapsed->n, elapsed->n == 1 ? "" : "s");
}

/* Puts the mean CPU times and the largest resident set, where the runs have them. */
static void put_resources(Buffer *out, Summary *summary, const char *name) {
        SummarySeries *user = find(summary, name, "user_time"), *system = find(summary, name, "system_time");
        SummarySeries *rss = find(summary, name, "max_rss");
        Statistics of_user, of_system, of_rss;
        char memory[TEXT_MAX];

        if (!user || !system || !rss)
                return;

        statistics_of(user->values, user->n, &of_user);
        statistics_of(system->values, system->n, &of_system);
        statistics_of(rss->values, rss->n, &of_rss);
        text_mib(of_rss.max / (1024.0 * 1024.0), memory);
        buffer_puts(out, "  CPU time: user ");
        put_time(out, of_user.mean, of_user.mean);
        buffer_puts(out, ", system ");
        put_time(out, of_system.mean, of_system.mean);
        buffer_printf(out, "; memory: %s\n", memory);
}

static double median_deviation(const SummarySeries *elapsed, double median) {
        double *deviations = calloc(elapsed->n, sizeof(*deviations)), found = NAN;

        for (size_t i = 0; deviations && i < elapsed->n; i++)
                deviations[i] = fabs(elapsed->values[i] - median);
        if (deviations)
                found = statistics_median_in_place(deviations, elapsed->n);
        free(deviations);
        return found;
}

static size_t count_outliers(const SummarySeries *elapsed, double median) {
        double mad = median_deviation(elapsed, median);
        size_t n = 0;

        for (size_t i = 0; isfinite(mad) && i < elapsed->n; i++) {
                double deviation = fabs(elapsed->values[i] - median);

                n += deviation > OUTLIER_SIGMAS * MAD_OF_SIGMA * mad && deviation > OUTLIER_RATIO * median;
        }
        return n;
}

static void put_remarks(Buffer *out, const SummarySeries *elapsed, const Statistics *statistics, double first) {
        size_t n_outliers = count_outliers(elapsed, statistics->median);

        if (elapsed->n >= SLOW_FIRST_N_MIN && first == statistics->max && first > SLOW_FIRST_RATIO * statistics->median)
                buffer_printf(out, "  the first run took %.0f %% longer than the median: use --warmup 1 to fill the caches first\n",
                              100 * (first / statistics->median - 1));
        else if (n_outliers > 0)
                buffer_printf(out, "  %zu of %zu runs %s: other processes may have disturbed the node\n", n_outliers, elapsed->n,
                              n_outliers == 1 ? "is an outlier" : "are outliers");
        if (statistics->mean < SHORT_S)
                buffer_printf(out, "  the runs take less than %.0f ms: the start of a process is a large part of this\n", 1e3 * SHORT_S);
}

void command_summary_write(Summary *summary, Buffer *out) {
        for (size_t i = 0; i < summary->n; i++) {
                SummarySeries *elapsed = &summary->series[i];
                Statistics statistics;
                double first;

                if (!is_command(elapsed, "elapsed"))
                        continue;
                assert(elapsed->n > 0);
                first = elapsed->values[0];
                statistics_of(elapsed->values, elapsed->n, &statistics);
                put_times(out, elapsed->name, &statistics);
                put_resources(out, summary, elapsed->name);
                put_remarks(out, elapsed, &statistics, first);
        }
}

void command_summary_write_progress(const Summary *summary, uint64_t n_left, Buffer *out) {
        const SummarySeries *elapsed = find((Summary *)summary, NULL, "elapsed");
        char left[TEXT_MAX];
        double median, *values;

        if (!elapsed || elapsed->n == 0)
                return;
        values = reallocarray(NULL, elapsed->n, sizeof(*values));
        if (!values)
                return;

        memcpy(values, elapsed->values, elapsed->n * sizeof(*values));
        median = statistics_median_in_place(values, elapsed->n);
        free(values);
        text_seconds(median * (double)n_left, left);
        buffer_printf(out, "run %zu of %zu: median ", elapsed->n, elapsed->n + (size_t)n_left);
        put_time(out, median, median);
        if (n_left > 0)
                buffer_printf(out, ", %s left", left);
}
