/* SPDX-License-Identifier: Apache-2.0 */
#include "kpi/run_profile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "util/scoped.h"

#define OWN_GROWTH_MAX 1.5 /* of the usage of the run itself: a larger growth explains a stall */

const char *const run_number_names[N_RUN_NUMBERS] = {
        [RUN_CPUS_USED] = "cpus_used",
        [RUN_CPU_WAITED] = "cpu_waited_share",
        [RUN_THROTTLED] = "throttled_share",
        [RUN_OTHERS_CPU] = "others_cpu_share",
        [RUN_STEAL] = "steal_share",
        [RUN_IO_STALLED] = "io_stalled_share",
        [RUN_MEMORY_STALLED] = "memory_stalled_share",
        [RUN_IO_BYTES] = "io_bytes_per_second",
        [RUN_MEMORY_BYTES] = "memory_bytes",
};

/* Ways in which a machine disturbs runs. */
typedef struct Disturbance {
        RunNumber number;
        double rise;   /* least rise above the median before, which must also have doubled */
        RunNumber own; /* number of the run itself that would explain the rise; N_RUN_NUMBERS: none */
        bool is_felt;  /* counts only if the run waited for a CPU */
} Disturbance;

static const Disturbance disturbances[] = {
        { RUN_STEAL, 0.05, N_RUN_NUMBERS, false },
        { RUN_OTHERS_CPU, 0.25, N_RUN_NUMBERS, true },
        { RUN_IO_STALLED, 0.1, RUN_IO_BYTES, false },
        { RUN_MEMORY_STALLED, 0.05, RUN_MEMORY_BYTES, false },
};

#define WAITED_MIN 0.1 /* rise of the share of the time in which a run waited for a CPU, from which on others have slowed the run */

RunProfile run_profile_unknown(void) {
        RunProfile profile;

        for (size_t i = 0; i < N_RUN_NUMBERS; i++)
                profile.numbers[i] = NAN;
        return profile;
}

static int compare_doubles(const void *a, const void *b) {
        const double *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Returns the median of the known values of a number; NAN: there is none. */
static double median_of(const RunProfile *runs, size_t n, RunNumber number) {
        double values[RUN_PROFILE_RUNS_MAX];
        size_t n_known = 0;

        for (size_t i = 0; i < n; i++)
                if (!isnan(runs[i].numbers[number]))
                        values[n_known++] = runs[i].numbers[number];
        if (n_known == 0)
                return NAN;
        qsort(values, n_known, sizeof(values[0]), compare_doubles);
        return n_known % 2 ? values[n_known / 2] : (values[n_known / 2 - 1] + values[n_known / 2]) / 2;
}

/* False if one of the numbers is not known. */
static bool has_disturbed(const Disturbance *disturbance, const double *value, const double *before) {
        RunNumber number = disturbance->number, own = disturbance->own;

        if (!(value[number] - before[number] >= disturbance->rise && value[number] >= 2 * before[number]))
                return false;
        if (own != N_RUN_NUMBERS && !(value[own] <= OWN_GROWTH_MAX * before[own]))
                return false;
        return !disturbance->is_felt || value[RUN_CPU_WAITED] - before[RUN_CPU_WAITED] >= WAITED_MIN;
}

/* Records the disturbances of one run. */
static bool is_run_disturbed(const RunProfile *run, const RunComparison *comparison, bool *ret_by) {
        bool is_any = false;

        for (size_t i = 0; i < N_ELEMENTS(disturbances); i++)
                if (has_disturbed(&disturbances[i], run->numbers, comparison->before)) {
                        ret_by[disturbances[i].number] = true;
                        is_any = true;
                }
        return is_any;
}

RunComparison run_profile_compare(const RunProfile *runs, size_t n_before, size_t n) {
        RunComparison ret = { .is_disturbed = n > n_before };
        bool by[N_RUN_NUMBERS] = {};

        assert(n_before <= n && n <= RUN_PROFILE_RUNS_MAX);

        for (RunNumber i = 0; i < N_RUN_NUMBERS; i++) {
                ret.before[i] = median_of(runs, n_before, i);
                ret.value[i] = median_of(&runs[n_before], n - n_before, i);
        }
        for (size_t i = n_before; i < n; i++)
                ret.is_disturbed &= is_run_disturbed(&runs[i], &ret, by);
        for (RunNumber i = 0; i < N_RUN_NUMBERS; i++)
                ret.is_disturbance[i] = ret.is_disturbed && by[i];
        return ret;
}
