/* SPDX-License-Identifier: Apache-2.0 */
#include "client/top/top_state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/cli/command.h"
#include "util/clock.h"

#define TIMEOUT_NS (2 * NS_PER_S)
#define JOBS_MAX "500"
#define STEP_MS 10000U /* of the history */

#define X(id, word, ...) word,
const char *const top_column_words[] = { TOP_COLUMNS(X) NULL };
#undef X

static const char *const latest_keys[N_TOP_NUMBERS] = {
#define X(id, key, ...) [TOP_##id] = key,
        TOP_NUMBERS(X)
#undef X
};

static const char *const series_names[N_TOP_NUMBERS] = {
#define X(id, key, series) [TOP_##id] = series,
        TOP_NUMBERS(X)
#undef X
};

static const char *const pressure_keys[N_TOP_PRESSURES] = { "cpu", "memory", "io" };

int top_state_init(TopState *state, const GlobalOptions *global) {
        int r = EXIT_DONE;

        *state = (TopState){ .answered_ms = clock_realtime_ns() / NS_PER_MS };
        for (size_t i = 0; i < N_TOP_NUMBERS; i++)
                state->node.number[i] = NAN;
        for (size_t i = 0; i < N_TOP_QUERIES && r == EXIT_DONE; i++) {
                r = api_query_init(&state->query[i], global);
                if (r == EXIT_DONE)
                        http_client_set_timeout(state->query[i].client, TIMEOUT_NS);
        }
        return r == EXIT_DONE ? api_query_ask(&state->query[TOP_QUERY_NODE], "/api/v1/node") : r;
}

void top_state_deinit(TopState *state) {
        for (size_t i = 0; i < N_TOP_QUERIES; i++)
                api_query_deinit(&state->query[i]);
        free(state->jobs.items);
        buffer_deinit(&state->problem);
}

__attribute__((format(printf, 3, 4))) static const Value *ask(TopState *state, TopQuery query, const char *format,
                                                              ...) {
        scoped(buffer_deinit) Buffer path = {};
        va_list args;

        va_start(args, format);
        buffer_vprintf(&path, format, args);
        va_end(args);
        return api_query_read(&state->query[query], path.text ?: "/", &state->problem);
}

/* --- jobs ----------------------------------------------------------------------------------------- */

static double sum_known(double a, double b) {
        return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* The longest of the three waits: they overlap. */
static double find_waited(const Value *metrics) {
        return fmax(fmax(answer_number(metrics, "job_psi_cpu_some_seconds"),
                         answer_number(metrics, "job_psi_memory_some_seconds")),
                    answer_number(metrics, "job_psi_io_some_seconds"));
}

TopJob top_state_read_job(const Value *of) {
        const Value *metrics = value_get(of, "metrics");
        TopJob job = { .of = of, .duration_s = answer_number(metrics, "duration_seconds") };

        job.counter[TOP_COLUMN_CPUS] = answer_number(metrics, "job_cpu_seconds");
        job.counter[TOP_COLUMN_GPUS] = answer_number(metrics, "job_gpu_used_seconds");
        job.counter[TOP_COLUMN_IO] = sum_known(answer_number(metrics, "job_io_read_bytes"),
                                               answer_number(metrics, "job_io_written_bytes"));
        job.counter[TOP_COLUMN_WAITED] = find_waited(metrics);
        for (size_t i = 0; i < N_TOP_COLUMNS; i++) {
                job.value[i] = job.counter[i] / job.duration_s;
                job.since_s[i] = job.duration_s;
        }
        job.value[TOP_COLUMN_MEMORY] = answer_number(metrics, "job_memory_peak_bytes");
        return job;
}

/* perfd reads these counters of a job less often than each sample: for so long, a rate holds. */
static const double hold_s[N_TOP_COLUMNS] = { [TOP_COLUMN_IO] = 15, [TOP_COLUMN_WAITED] = 15 };

static double rise_of(double now, double before) {
        return now < before ? 0 : now - before;
}

/* Replaces the mean of a counter by the rate between its changes. */
static void compare_counter(TopJob *job, const TopJob *before, TopColumn i) {
        double elapsed_s = job->duration_s - before->since_s[i];
        bool is_same = job->counter[i] == before->counter[i];

        job->since_s[i] = before->since_s[i];
        job->is_change[i] = before->is_change[i];
        job->value[i] = before->value[i];
        if (job->duration_s <= before->duration_s || (is_same && elapsed_s < hold_s[i]))
                return;
        if (is_same || job->is_change[i] || hold_s[i] == 0)
                job->value[i] = rise_of(job->counter[i], before->counter[i]) / elapsed_s;
        job->since_s[i] = job->duration_s;
        job->is_change[i] = true;
}

void top_state_compare_job(TopJob *job, const TopJob *before) {
        for (TopColumn i = 0; i < N_TOP_COLUMNS; i++)
                if (i != TOP_COLUMN_MEMORY)
                        compare_counter(job, before, i);
}

static TopJob *find_job(const TopJobs *jobs, const char *id) {
        for (size_t i = 0; i < jobs->n; i++)
                if (strcmp(answer_text(jobs->items[i].of, "id"), id) == 0)
                        return &jobs->items[i];
        return NULL;
}

/* Adds the jobs of an answer that ran at a time, 0 for now, and that are not there yet. */
static int add_jobs(TopJobs *jobs, const Value *list, uint64_t at_ms) {
        TopJob *items = reallocarray(jobs->items, jobs->n + answer_length(list) + 1, sizeof(*items));

        if (!items)
                return -ENOMEM;
        jobs->items = items;
        for (size_t i = 0; i < answer_length(list); i++) {
                const Value *of = &list->items[i];
                bool is_running = strcmp(answer_text(of, "state"), "running") == 0;

                if ((!is_running && answer_time(of, "end_ms") <= at_ms) || find_job(jobs, answer_text(of, "id")))
                        continue;
                jobs->items[jobs->n] = top_state_read_job(of);
                jobs->has_gpus |= !isnan(jobs->items[jobs->n++].value[TOP_COLUMN_GPUS]);
        }
        return 0;
}

static int compare_values(const void *a, const void *b, void *column) {
        const TopJob *one = a, *other = b;
        double x = one->value[*(TopColumn *)column], y = other->value[*(TopColumn *)column];
        uint64_t s = answer_time(one->of, "begin_ms"), t = answer_time(other->of, "begin_ms");

        if (isnan(x) != isnan(y))
                return isnan(x) ? 1 : -1;
        return x > y ? -1 : x < y ? 1 : s > t ? -1 : s < t;
}

void top_state_sort(TopState *state, TopColumn column) {
        state->sort = column;
        if (state->jobs.n > 1)
                qsort_r(state->jobs.items, state->jobs.n, sizeof(*state->jobs.items), compare_values, &state->sort);
}

void top_state_sort_by_word(TopState *state, const char *word) {
        for (TopColumn i = 0; i < N_TOP_COLUMNS; i++)
                if (strcmp(top_column_words[i], word) == 0)
                        top_state_sort(state, i);
}

static bool refresh_jobs(TopState *state) {
        unsigned next = !state->jobs_query;
        TopJobs former = state->jobs, jobs = {};
        const Value *running, *begun = NULL;

        running = ask(state, TOP_QUERY_RUNNING + next, "/api/v1/jobs?state=running&limit=" JOBS_MAX "&until_ms=%ju",
                      state->at_ms > 0 ? (uintmax_t)state->at_ms + 1 : (uintmax_t)INT64_MAX);
        if (running && state->at_ms > 0)
                begun = ask(state, TOP_QUERY_BEGUN + next, "/api/v1/jobs?limit=" JOBS_MAX "&until_ms=%ju",
                            (uintmax_t)state->at_ms + 1);
        if (!running || (state->at_ms > 0 && !begun))
                return false;

        if (add_jobs(&jobs, value_get(running, "jobs"), state->at_ms) < 0 ||
            add_jobs(&jobs, value_get(begun, "jobs"), state->at_ms) < 0) {
                free(jobs.items);
                return false;
        }
        for (size_t i = 0; i < former.n && state->at_ms == 0; i++) {
                TopJob *job = find_job(&jobs, answer_text(former.items[i].of, "id"));

                if (job)
                        top_state_compare_job(job, &former.items[i]);
        }
        free(former.items);
        state->jobs = jobs;
        state->jobs_query = next;
        state->n_hidden = answer_time(value_get(running, "others"), "running");
        top_state_sort(state, state->sort);
        return true;
}

/* --- the node ------------------------------------------------------------------------------------- */

static void read_pressure(TopNode *node, const Value *latest, uint64_t time_ms) {
        const Value *pressure = value_get(latest, "pressure");
        double seconds = node->waited_ms > 0 && time_ms > node->waited_ms
                                 ? (double)(time_ms - node->waited_ms) / 1000
                                 : NAN;

        for (size_t i = 0; i < N_TOP_PRESSURES; i++) {
                double waited_s = answer_number(value_get(pressure, pressure_keys[i]), "waiting_seconds");

                node->number[TOP_PRESSURE_CPU + i] = rise_of(waited_s, node->waited_s[i]) / seconds;
                node->waited_s[i] = waited_s;
        }
        node->waited_ms = time_ms;
}

const char *const top_state_gpu_keys[N_TOP_GPU_NUMBERS] = {
#define X(id, key) [TOP_GPU_##id] = key,
        TOP_GPU_NUMBERS(X)
#undef X
};

void top_state_read_gpus(TopNode *node, const Value *latest) {
        const Value *gpus = value_get(latest, "gpus");

        node->n_gpus = node->n_gpus_counted = 0;
        while (node->n_gpus < answer_length(gpus) && node->n_gpus < TOP_GPUS_MAX) {
                const Value *of = &gpus->items[node->n_gpus];
                TopGpu *gpu = &node->gpus[node->n_gpus++];

                (void)snprintf(gpu->name, sizeof(gpu->name), "%s", answer_text(of, "gpu"));
                (void)snprintf(gpu->state, sizeof(gpu->state), "%s", answer_text(of, "state"));
                for (TopGpuNumber i = 0; i < N_TOP_GPU_NUMBERS; i++)
                        gpu->number[i] = answer_number(of, top_state_gpu_keys[i]);
                node->n_gpus_counted += answer_flag(of, "counted");
        }
}

static void read_latest(TopNode *node, const Value *answer) {
        const Value *latest = value_get(answer, "latest"), *cpu = value_get(latest, "cpu_utilization");
        uint64_t time_ms = answer_time(answer, "time_ms");

        if (time_ms == node->time_ms)
                return;
        for (TopNumber i = 0; i < TOP_PRESSURE_CPU; i++)
                node->number[i] = answer_number(latest, latest_keys[i]);
        node->number[TOP_CPU] = answer_number(cpu, "mean");
        node->number[TOP_CORE_MIN] = answer_number(cpu, "min");
        node->number[TOP_CORE_MAX] = answer_number(cpu, "max");
        read_pressure(node, latest, time_ms);
        node->time_ms = time_ms;
}

static bool refresh_node(TopState *state) {
        const Value *answer = ask(state, TOP_QUERY_NODE, "/api/v1/node");
        TopNode *node = &state->node;

        if (!answer)
                return false;
        (void)snprintf(node->hostname, sizeof(node->hostname), "%s", answer_text(answer, "hostname"));
        node->n_cpus = answer_time(answer, "cpus");
        node->interval_ms = answer_time(answer, "interval_ms");
        node->memory_bytes = answer_number(value_get(value_get(answer, "latest"), "memory"), "total_bytes");
        top_state_read_gpus(node, value_get(answer, "latest"));
        if (state->at_ms == 0)
                read_latest(node, answer);
        else
                node->n_gpus = 0;
        return true;
}

/* --- history -------------------------------------------------------------------------------------- */

/* A series of the node has one list, or mean, min and max. */
static const Value *find_list(const Value *series) {
        return value_get(series, "mean") ?: value_get(series, "max") ?: value_get(series, "min");
}

static void read_trend(TopNode *node, const Value *timeline, uint64_t end_ms) {
        uint64_t begin_ms = answer_time(timeline, "begin_ms"), step_ms = answer_time(timeline, "interval_ms");

        for (TopNumber k = 0; k < N_TOP_NUMBERS; k++) {
                const Value *list = find_list(value_get(value_get(timeline, "series"), series_names[k]));

                for (size_t i = 0; i < TOP_TREND_MAX; i++) {
                        uint64_t t_ms = end_ms - (TOP_TREND_MAX - 1 - i) * STEP_MS;
                        uint64_t at = step_ms > 0 && t_ms >= begin_ms ? (t_ms - begin_ms) / step_ms : UINT64_MAX;

                        node->trend[k][i] = at < answer_length(list) && value_is_number(&list->items[at])
                                                    ? value_number(&list->items[at])
                                                    : NAN;
                }
        }
}

/* Ten minutes up to the time that is shown, whose last point is what the node did then. */
static bool refresh_history(TopState *state) {
        TopNode *node = &state->node;
        uint64_t end_ms = state->at_ms ?: node->time_ms;
        const Value *answer;

        if (state->trend_ms / STEP_MS == end_ms / STEP_MS && state->at_ms == 0)
                return true;
        answer = ask(state, TOP_QUERY_HISTORY, "/api/v1/node/samples?since_ms=%ju&until_ms=%ju&step_ms=%u&limit=1000",
                     (uintmax_t)(end_ms - end_ms % STEP_MS - TOP_TREND_MAX * STEP_MS), (uintmax_t)end_ms + 1, STEP_MS);
        if (!answer)
                return false;
        state->trend_ms = end_ms;
        read_trend(node, value_get(answer, "timeline"), end_ms);
        if (state->at_ms == 0)
                return true;
        for (TopNumber k = 0; k < N_TOP_NUMBERS; k++)
                node->number[k] = node->trend[k][TOP_TREND_MAX - 1];
        node->time_ms = state->at_ms;
        return true;
}

/* The cores are known of the last ten minutes: the first sample that is not before the time. */
static bool refresh_cores(TopState *state) {
        TopNode *node = &state->node;
        const Value *answer, *times, *cores;

        answer = ask(state, TOP_QUERY_CORES, "/api/v1/node/recent?since_ms=%ju", (uintmax_t)node->time_ms - 1);
        if (!answer)
                return false;
        node->n_cores = 0;
        times = value_get(answer, "times_ms");
        cores = value_get(answer, "cores");
        if (answer_length(times) == 0 ||
            value_number(&times->items[0]) > (double)(node->time_ms + 2 * node->interval_ms))
                return true;
        while (node->n_cores < answer_length(cores) && node->n_cores < TOP_CORES_MAX) {
                const Value *core = &cores->items[node->n_cores];
                bool is_known = answer_length(core) > 0 && value_is_number(&core->items[0]);

                node->core[node->n_cores++] = is_known ? value_number(&core->items[0]) / 100 : NAN;
        }
        return true;
}

bool top_state_refresh(TopState *state) {
        buffer_clear(&state->problem);
        if (!refresh_node(state) || !refresh_jobs(state) || !refresh_history(state) || !refresh_cores(state))
                return false;
        state->answered_ms = clock_realtime_ns() / NS_PER_MS;
        return true;
}
