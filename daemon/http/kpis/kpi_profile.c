/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/kpi_profile.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "json/json.h"
#include "json/json_text.h"
#include "store/indicators/result_reader.h"
#include "util/scoped.h"

/* --- comparison ---------------------------------------------------------------------------------------- */

#define OWN_GROWTH_MAX 1.5 /* of the usage of the run itself: a larger growth explains a stall */

#define X(id, name) name,
const char *const kpi_profile_number_names[N_RUN_NUMBERS] = { RUN_NUMBERS(X) };
#undef X

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

#define WAITED_MIN                                                                                                     \
        0.1 /* rise of the share of the time in which a run waited for a CPU, from which on others have slowed the run \
             */

RunProfile kpi_profile_unknown(void) {
        RunProfile profile;

        for (size_t i = 0; i < N_RUN_NUMBERS; i++)
                profile.numbers[i] = NAN;
        return profile;
}

/* Returns the median of the known values of a number; NAN: there is none. */
static double median_of(const RunProfile *runs, size_t n, RunNumber number) {
        double values[RUN_PROFILE_RUNS_MAX];
        size_t n_known = 0;

        for (size_t i = 0; i < n; i++)
                if (!isnan(runs[i].numbers[number]))
                        values[n_known++] = runs[i].numbers[number];
        return statistics_median_in_place(values, n_known);
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

RunComparison kpi_profile_compare(const RunProfile *runs, size_t n_before, size_t n) {
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

/* --- runs ----------------------------------------------------------------------------------------------- */

#define RUNS_MAX        8U  /* newest runs of the new level */
#define RUNS_BEFORE_MAX 20U

_Static_assert(RUNS_MAX + RUNS_BEFORE_MAX <= RUN_PROFILE_RUNS_MAX, "the runs of both sides are compared");

/* --- numbers of a run ----------------------------------------------------------------------------- */

static RunProfile profile_of(const RunRow *run) {
        const MetricSet *node = &run->metrics;
        const UsageSet *own = &run->usage;
        double duration_s = (double)run->duration_ms / 1e3, capacity_s = metric_value(node, METRIC_CPU_HOURS);
        RunProfile profile = kpi_profile_unknown();
        double *numbers = profile.numbers;

        if (!run->has_job)
                return profile;
        numbers[RUN_CPUS_USED] = usage_value(own, USAGE_CPU_MEAN);
        numbers[RUN_CPU_WAITED] = usage_value(own, USAGE_PSI_CPU_SOME) / duration_s;
        numbers[RUN_THROTTLED] = usage_value(own, USAGE_THROTTLED_RATIO);
        numbers[RUN_OTHERS_CPU] =
                (capacity_s - metric_value(node, METRIC_CPU_UNUSED_HOURS) - usage_value(own, USAGE_CPU_SECONDS)) /
                capacity_s;
        if (numbers[RUN_OTHERS_CPU] < 0)
                numbers[RUN_OTHERS_CPU] = 0; /* both are counted with an error */
        numbers[RUN_STEAL] = metric_value(node, METRIC_CPU_STEAL) / capacity_s;
        numbers[RUN_IO_STALLED] = metric_value(node, METRIC_PSI_IO_FULL) / duration_s;
        numbers[RUN_MEMORY_STALLED] = metric_value(node, METRIC_PSI_MEMORY_SOME) / duration_s;
        numbers[RUN_IO_BYTES] = (usage_value(own, USAGE_READ_BYTES) + usage_value(own, USAGE_WRITE_BYTES)) / duration_s;
        numbers[RUN_MEMORY_BYTES] = usage_value(own, USAGE_MEMORY_PEAK);
        return profile;
}

/* --- differences ---------------------------------------------------------------------------------- */

/* Facts of a run that are compared, as paths in the run record. */
static const char *const facts[] = {
        "host.hostname", "host.cpu.model", "host.cpu.cores", "host.cpu.threads", "host.memory_bytes", "host.numa_nodes",
        "os.id",         "os.version",     "kernel",         "libc",             "python",
};

/* The facts of a run, copied. */
typedef struct FactTexts {
        Buffer texts[N_ELEMENTS(facts) + 1]; /* owned; JSON; the last: the digest of the software stack */
} FactTexts;

static void fact_texts_deinit(FactTexts *run) {
        for (size_t i = 0; i < N_ELEMENTS(run->texts); i++)
                buffer_deinit(&run->texts[i]);
}

static int fact_texts_copy(const RunRow *row, FactTexts *ret) {
        JsonText run = row->run ? json_text(row->run, strlen(row->run)) : (JsonText){};
        int r = 0;

        for (size_t i = 0; i < N_ELEMENTS(ret->texts); i++) {
                Json json = { .out = &ret->texts[i] };
                JsonText value = i < N_ELEMENTS(facts) ? json_text_find_path(run, facts[i]) : (JsonText){};

                if (i == N_ELEMENTS(facts) && row->stack_digest)
                        json_string(&json, row->stack_digest);
                else if (value.text)
                        json_text_write(value, &json);
                r = buffer_error(&ret->texts[i]) < 0 ? -ENOMEM : r;
        }
        return r;
}

/* Writes the facts that both runs have, and in which they differ. Returns their number. */
static size_t put_differences(const FactTexts *run, const FactTexts *before, Json *json) {
        size_t n = 0;

        json_put_array_begin(json, "differs");
        for (size_t i = 0; i < N_ELEMENTS(run->texts); i++) {
                if (run->texts[i].n == 0 || before->texts[i].n == 0 ||
                    strcmp(run->texts[i].text, before->texts[i].text) == 0)
                        continue;
                n++;
                json_object_begin(json);
                json_put_string(json, "key", i < N_ELEMENTS(facts) ? facts[i] : "stack");
                json_key(json, "value");
                json_raw(json, run->texts[i].text);
                json_key(json, "before");
                json_raw(json, before->texts[i].text);
                json_object_end(json);
        }
        json_array_end(json);
        return n;
}

/* --- the profile ---------------------------------------------------------------------------------- */

/* Writes the numbers that are known on both sides. Returns how many. */
static size_t put_numbers(const RunComparison *comparison, Json *json) {
        size_t n = 0;

        json_put_array_begin(json, "numbers");
        for (RunNumber i = 0; i < N_RUN_NUMBERS; i++) {
                if (isnan(comparison->value[i]) || isnan(comparison->before[i]))
                        continue;
                n++;
                json_object_begin(json);
                json_put_string(json, "name", kpi_profile_number_names[i]);
                json_put_double(json, "value", comparison->value[i]);
                json_put_double(json, "before", comparison->before[i]);
                json_put_bool(json, "is_disturbance", comparison->is_disturbance[i]);
                json_object_end(json);
        }
        json_array_end(json);
        return n;
}

typedef struct Profiles {
        RunProfile items[RUN_PROFILE_RUNS_MAX];
        size_t n, n_before;
        FactTexts newest, before; /* of the newest run, and of the last before the new level */
} Profiles;

static void profiles_deinit(Profiles *profiles) {
        fact_texts_deinit(&profiles->newest);
        fact_texts_deinit(&profiles->before);
}

static int read_profiles(Reader *reader, const HistoryRun *runs, size_t since, size_t n, Profiles *ret) {
        size_t first = since > RUNS_BEFORE_MAX ? since - RUNS_BEFORE_MAX : 0,
               last = n > since + RUNS_MAX ? n - RUNS_MAX : since;
        int r = 0;

        for (size_t i = first; r == 0 && i < n; i = i + 1 == since ? last : i + 1) {
                RunRow row;

                r = result_reader_find_run(reader, runs[i].result, &row);
                if (r == READER_END) { /* removed since the runs were read */
                        r = 0;
                        continue;
                }
                if (r != 0)
                        return r;
                ret->items[ret->n++] = profile_of(&row);
                ret->n_before += i < since;
                if (i + 1 == since || i + 1 == n)
                        r = fact_texts_copy(&row, i + 1 == n ? &ret->newest : &ret->before);
        }
        return r;
}

int kpi_profile_write(Reader *reader, const HistoryRun *runs, size_t since, size_t n, Buffer *out,
                      bool *ret_is_disturbed) {
        scoped(profiles_deinit) Profiles profiles = {};
        RunComparison comparison;
        Json json = { .out = out };
        size_t n_known;
        int r;

        if (since == 0 || since >= n)
                return 0;
        r = read_profiles(reader, runs, since, n, &profiles);
        if (r != 0)
                return r;

        comparison = kpi_profile_compare(profiles.items, profiles.n_before, profiles.n);
        json_object_begin(&json);
        json_put_uint(&json, "runs", profiles.n - profiles.n_before);
        json_put_uint(&json, "runs_before", profiles.n_before);
        json_put_bool(&json, "is_disturbed", comparison.is_disturbed);
        n_known = put_numbers(&comparison, &json) + put_differences(&profiles.newest, &profiles.before, &json);
        json_object_end(&json);
        r = buffer_error(out);
        if (n_known == 0)
                buffer_deinit(out);
        *ret_is_disturbed = comparison.is_disturbed;
        return r;
}
