/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* --- totals at the begin of a job -------------------------------------------------------------------- */

SharedTotals *snapshot_totals_new(const Totals *totals) {
        SharedTotals *shared = malloc(sizeof(*shared));

        if (shared)
                *shared = (SharedTotals){ .n_references = 1, .totals = *totals };
        return shared;
}

void snapshot_totals_share(SharedTotals *from, SharedTotals **to) {
        if (from == *to)
                return;

        if (from)
                from->n_references++;
        snapshot_totals_unref(*to);
        *to = from;
}

SharedTotals *snapshot_totals_unref(SharedTotals *totals) {
        if (!totals)
                return NULL;

        assert(totals->n_references > 0);
        if (--totals->n_references == 0)
                free(totals);
        return NULL;
}

/* --- the node ---------------------------------------------------------------------------------------- */

void snapshot_node_deinit(NodeSnapshot *node) {
        sample_deinit(&node->sample);
        recent_deinit(&node->recent);
        *node = (NodeSnapshot){};
}

uint32_t snapshot_node_n_cpus(const NodeSnapshot *node) {
        return node && sample_has(&node->sample, SOURCE_STAT) ? node->sample.n_online : 0;
}

uint64_t snapshot_node_memory_bytes(const NodeSnapshot *node) {
        return node && sample_has(&node->sample, SOURCE_MEMINFO) ? node->sample.memory.total_bytes : 0;
}

/* Returns the number of CPUs, at least 1 if unknown. */
static uint32_t n_cpus_at_least_one(const NodeSnapshot *node) {
        return node->sample.n_online > 0 ? node->sample.n_online : 1;
}

void snapshot_node_window(const NodeSnapshot *node, const Totals *begin, const WindowPeaks *peaks, MetricSet *ret) {
        window_metrics(begin, peaks, &node->totals, n_cpus_at_least_one(node), ret);
}

static void fill_usage(const NodeSnapshot *node, const Usage *usage, UsageSet *ret) {
        if (usage)
                usage_metrics(usage, n_cpus_at_least_one(node), snapshot_node_memory_bytes(node), ret);
        else
                usage_none(ret);
}

/* --- jobs -------------------------------------------------------------------------------------------- */

/*
 * Memory that the arrays may keep between two publications, enough for about 600 jobs: allocating costs more than
 * filling them. With more jobs, a copy that nobody reads would be a noticeable part of the memory.
 */
#define EXPORT_BYTES (512U * 1024U)

static void free_arrays(JobsSnapshot *jobs) {
        assert(jobs->used.n_records <= jobs->allocated.n_records);
        for (size_t i = 0; i < jobs->allocated.n_records; i++) {
                job_description_deinit(&jobs->records[i].info);
                buffer_deinit(&jobs->records[i].timeline);
                snapshot_totals_unref(jobs->records[i].begin);
        }
#define X(array, type) free(TAKE(jobs->array));
        JOBS_ARRAYS(X)
#undef X
        jobs->allocated = jobs->used = (JobsSize){};
        jobs->n_running = 0;
}

void snapshot_jobs_trim(JobsSnapshot *jobs) {
        size_t n_bytes = 0;

#define X(array, type) n_bytes += jobs->allocated.n_##array * sizeof(type);
        JOBS_ARRAYS(X)
#undef X
        if (n_bytes > EXPORT_BYTES)
                free_arrays(jobs);
}

void snapshot_jobs_deinit(JobsSnapshot *jobs) {
        free_arrays(jobs);
        sample_log_deinit(&jobs->samples);
        free(jobs->users.entries);
        free(jobs->labels.entries);
        *jobs = (JobsSnapshot){};
}

int snapshot_jobs_copy_totals(UsageTotals *to, const UsageTotals *from) {
        int r;

        r = ARRAY_RESERVE(to->entries, to->n_allocated, from->n);
        if (r < 0)
                return r;

        for (size_t i = 0; i < from->n; i++)
                to->entries[i] = from->entries[i];
        to->n = from->n;
        to->others = from->others;
        return 0;
}

/* Number of elements by which an array grows. */
#define GROWTH_STEP 16U

/* Grows `*array` to at least n elements of n_bytes. New elements are zero. */
static int grow(void **array, size_t *n_allocated, size_t n, size_t n_bytes) {
        size_t n_new = (n + GROWTH_STEP - 1) / GROWTH_STEP * GROWTH_STEP;
        void *grown;

        if (n <= *n_allocated)
                return 0;

        grown = reallocarray(*array, n_new, n_bytes);
        if (!grown)
                return -ENOMEM;

        memset((char *)grown + *n_allocated * n_bytes, 0, (n_new - *n_allocated) * n_bytes);
        *array = grown;
        *n_allocated = n_new;
        return 0;
}

int snapshot_jobs_begin(JobsSnapshot *jobs, const JobsSize *size) {
        int r = 0;

        jobs->used = (JobsSize){};
        jobs->n_running = 0;
#define X(array, type)                                                                                                 \
        if (r == 0)                                                                                                    \
                r = grow((void **)&jobs->array, &jobs->allocated.n_##array, size->n_##array, sizeof(type));
        JOBS_ARRAYS(X)
#undef X
        return r;
}

JobRecord *snapshot_jobs_add(JobsSnapshot *jobs, const JobDescription *info, SharedTotals *begin) {
        JobRecord *record;

        assert(jobs->used.n_records < jobs->allocated.n_records);
        record = &jobs->records[jobs->used.n_records++];
        /* the place may have references from the previous publication, usually to the same job */
        job_description_share(info, &record->info);
        snapshot_totals_share(begin, &record->begin);
        buffer_deinit(&record->timeline);
        *record = (JobRecord){ .info = record->info, .begin = record->begin };
        return record;
}

/* Copies n elements behind the used ones of an array, which has room for them. Returns the copies. */
static void *put(void *array, size_t *n_used, size_t n_allocated, const void *from, size_t n, size_t n_bytes) {
        char *copies = (char *)array + *n_used * n_bytes;

        assert(*n_used + n <= n_allocated);
        if (n > 0)
                memcpy(copies, from, n * n_bytes);
        *n_used += n;
        return copies;
}

#define PUT(jobs, array, from, n) \
        put((jobs)->array, &(jobs)->used.n_##array, (jobs)->allocated.n_##array, from, n, sizeof(*(jobs)->array))

const WindowPeaks *snapshot_jobs_copy_peaks(JobsSnapshot *jobs, const WindowPeaks *peaks) {
        return PUT(jobs, peaks, peaks, 1);
}

const Usage *snapshot_jobs_copy_usage(JobsSnapshot *jobs, const Usage *usage) {
        return PUT(jobs, usages, usage, 1);
}

const Phase *snapshot_jobs_copy_phase(JobsSnapshot *jobs, const Phase *phase) {
        return PUT(jobs, phases, phase, 1);
}

const JobResult *snapshot_jobs_copy_result(JobsSnapshot *jobs, const JobResult *result) {
        return PUT(jobs, results, result, 1);
}

JobSteps snapshot_jobs_copy_steps(JobsSnapshot *jobs, const JobSteps *steps) {
        return (JobSteps){ PUT(jobs, steps, steps->items, steps->n), steps->n, steps->others };
}

JobGpus snapshot_jobs_copy_gpus(JobsSnapshot *jobs, const JobGpus *gpus) {
        return (JobGpus){ PUT(jobs, gpus, gpus->items, gpus->n), gpus->n };
}

SampleSpan snapshot_jobs_copy_span(JobsSnapshot *jobs, const SampleSpan *span) {
        SampleSpan copy = *span;

        if (span->head)
                copy.head = PUT(jobs, heads, span->head, 1);
        return copy;
}

const JobRecord *snapshot_jobs_find(const JobsSnapshot *jobs, const char *id) {
        for (size_t i = 0; i < jobs->used.n_records; i++)
                if (strcmp(jobs->records[i].info.id, id) == 0)
                        return &jobs->records[i];
        return NULL;
}

size_t snapshot_jobs_n_exposed(const JobsSnapshot *jobs) {
        return jobs->used.n_records < jobs->n_exposed_max ? jobs->used.n_records : jobs->n_exposed_max;
}

void snapshot_jobs_record_metrics(const JobRecord *record, const NodeSnapshot *node, MetricSet *ret_metrics,
                                  UsageSet *ret_usage) {
        assert(!record->peaks != !record->result);
        if (record->result) {
                *ret_metrics = record->result->metrics;
                *ret_usage = record->result->usage;
                return;
        }

        snapshot_node_window(node, &record->begin->totals, record->peaks, ret_metrics);
        fill_usage(node, record->usage, ret_usage);
        if (record->usage && record->is_usage_cut)
                usage_cut(ret_usage);
        job_gpus_put_usage(&record->gpus, ret_usage);
}

void snapshot_jobs_record_view(const JobRecord *record, const NodeSnapshot *node, JobView *ret) {
        assert((record->state == JOB_RUNNING) == (record->end_realtime_ms == 0));
        *ret = (JobView){
                .info = record->info,
                .state = record->state,
                .n_phases = record->n_phases,
                .begin_realtime_ms = record->begin_realtime_ms,
                .end_realtime_ms = record->end_realtime_ms,
        };
        ret->info.block = NULL; /* the record's reference keeps the texts valid */
        if (record->state != JOB_RUNNING)
                ret->end = record->result->end;
        snapshot_jobs_record_metrics(record, node, &ret->metrics, &ret->usage);
}

bool snapshot_jobs_record_phase(const JobRecord *record, const NodeSnapshot *node, PhaseView *ret) {
        const Phase *phase = record->phase;

        if (!phase)
                return false;

        *ret = (PhaseView){ .index = phase->index, .begin_realtime_ms = phase->begin_realtime_ms };
        memcpy(ret->name, phase->name, sizeof(ret->name));
        snapshot_node_window(node, &phase->window.begin, &phase->window.peaks, &ret->metrics);
        fill_usage(node, phase->has_usage ? &phase->usage : NULL, &ret->usage);
        if (phase->has_usage && record->is_usage_cut)
                usage_cut(&ret->usage);
        return true;
}

/* --- indicators -------------------------------------------------------------------------------------- */

void snapshot_indicators_deinit_kpis(KpisSnapshot *kpis) {
        free(kpis->samples);
        free(kpis->texts);
        *kpis = (KpisSnapshot){};
}

void snapshot_indicators_deinit(IndicatorsSnapshot *indicators) {
        assert(indicators->n <= indicators->n_allocated);
        free(indicators->counts);
        free(indicators->names);
        snapshot_indicators_deinit_kpis(&indicators->kpis);
        shared_texts_unref(indicators->models);
        *indicators = (IndicatorsSnapshot){};
}

int snapshot_indicators_reserve(IndicatorsSnapshot *indicators, size_t n) {
        return ARRAY_RESERVE(indicators->counts, indicators->n_allocated, n);
}

void snapshot_indicators_set_models(IndicatorsSnapshot *indicators, SharedTexts *models) {
        if (indicators->models == models)
                return;

        shared_texts_unref(indicators->models);
        indicators->models = shared_texts_ref(models);
}

/* --- data pipelines ---------------------------------------------------------------------------------- */

void snapshot_pipelines_deinit(PipelinesSnapshot *pipelines) {
        assert(pipelines->n <= pipelines->n_allocated);
        free(pipelines->totals);
        *pipelines = (PipelinesSnapshot){};
}

/* --- the whole --------------------------------------------------------------------------------------- */

void snapshot_deinit(Snapshot *snapshot) {
        snapshot_node_deinit(&snapshot->node);
        snapshot_jobs_deinit(&snapshot->jobs);
        snapshot_indicators_deinit(&snapshot->indicators);
        snapshot_pipelines_deinit(&snapshot->pipelines);
        *snapshot = (Snapshot){};
}
