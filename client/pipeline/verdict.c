/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/verdict.h"

#include <math.h>
#include <stdio.h>

#include "text/text.h"

#define FAILURES_WORRYING 0.05
#define FIRST_BATCH_LONG_S 600
#define BUSY_MOST         0.5 /* a stage that is the limit with less has failed tasks, whose time is not measured */

static bool account(const VerdictPipeline *pipeline, size_t i, StageAccounting *ret) {
        return i < pipeline->n &&
               pipeline_diagnosis_account(&pipeline->stages[i], i > 0 ? &pipeline->stages[i - 1] : NULL, ret);
}

static const char *name_of(const VerdictPipeline *pipeline, size_t i) {
        return i < pipeline->n ? pipeline->stages[i].name : "the source";
}

/* A slow worker explains a loop that waits although no stage is busy as a whole. */
static void join_slow_worker(const SlowWorker *slow, VerdictPipeline *pipeline) {
        PipelineDiagnosis *diagnosis = &pipeline->diagnosis;
        size_t i = 0;

        while (i < pipeline->n && (pipeline->stages[i].pipeline != slow->pipeline ||
                                   pipeline->stages[i].order != slow->order))
                i++;
        if (slow->n == 0 || i == pipeline->n || diagnosis->limit == PIPELINE_LIMIT_CONSUMER ||
            diagnosis->limit == PIPELINE_LIMIT_HOST)
                return;
        pipeline->slow = *slow;
        diagnosis->limit = PIPELINE_LIMIT_STAGE;
        diagnosis->stage = i;
        diagnosis->next_stage = pipeline->n;
        diagnosis->direction = PIPELINE_DIRECTION_FASTER_TASK;
        diagnosis->confidence = PIPELINE_CONFIDENCE_MEDIUM;
}

bool verdict_next(const StageSet *set, unsigned n_threads, size_t *at, VerdictPipeline *ret) {
        size_t begin = *at, end = begin;

        if (begin == set->n)
                return false;
        while (end < set->n && set->stages[end].pipeline == set->stages[begin].pipeline)
                end++;
        *ret = (VerdictPipeline){ .stages = &set->stages[begin],
                                  .n = end - begin,
                                  .process = set->process,
                                  .job = set->has_job ? set->job : pipeline_diagnosis_unknown_job() };
        if (ret->stages[0].pipeline != set->process_pipeline) {
                ret->process.knows_pools = false;
                ret->process.n_pools = 0;
        }
        if (n_threads > 0)
                ret->process = pipeline_diagnosis_unknown_process(n_threads);
        ret->diagnosis = pipeline_diagnosis_of(ret->stages, ret->n, &ret->process);
        pipeline_diagnosis_join_job(&ret->job, &ret->process, &ret->diagnosis, ret->stages, ret->n);
        join_slow_worker(&set->slow, ret);
        *at = end;
        return true;
}

/* --- sentences ------------------------------------------------------------------------------------ */

double verdict_waited_s(const VerdictPipeline *pipeline) {
        return pipeline->n > 0 ? pipeline->diagnosis.wait_share * pipeline->stages[pipeline->n - 1].queue.elapsed_s
                               : NAN;
}

static void write_wait(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;
        double waited_s = verdict_waited_s(pipeline);
        char waited[TEXT_MAX];

        text_seconds(waited_s, waited);
        buffer_puts(out, " (");
        if (pipeline->job.n_gpus > 0)
                buffer_printf(out, "%.3g GPU-minutes", waited_s / 60 * pipeline->job.n_gpus);
        else
                buffer_puts(out, waited);
        if (!isnan(diagnosis->mean_wait_s))
                buffer_printf(out, ", %.4g ms per item", 1e3 * diagnosis->mean_wait_s);
        buffer_putc(out, ')');
}

static void write_first_batch(const PipelineJob *job, Buffer *out) {
        if (isnan(job->first_batch_s))
                return;
        buffer_printf(out, " The first batch came %.3g s after the start of the job%s; the loop waited %.3g s for it.",
                      job->first_batch_s, job->first_batch_s > FIRST_BATCH_LONG_S ? ", which is long" : "",
                      job->first_wait_s);
}

void verdict_write_headline(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;

        if (isnan(diagnosis->wait_share)) {
                buffer_puts(out, "The wait of the training loop is not known: the last queue has no statistics.");
                return;
        }
        buffer_printf(out, "The training loop waited for data %s%.1f %% of the time",
                      diagnosis->is_wait_bound ? "at most " : "", 100 * diagnosis->wait_share);
        write_wait(pipeline, out);
        if (diagnosis->is_wait_bound)
                buffer_puts(out,
                            ": the last queue was empty for this time, but the loop's calls of get were not measured");
        buffer_putc(out, '.');
        write_first_batch(&pipeline->job, out);
}

/* Names the next limit once the limiting stage, whose workers are `busy`, is relieved. What is gained until then is
 * only said if more workers are sure to help. */
static void write_next(const VerdictPipeline *pipeline, double busy, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;
        double by_loop = diagnosis->wait_share < 1 && !diagnosis->is_wait_bound ? 1 / (1 - diagnosis->wait_share)
                                                                                : INFINITY;
        double factor = INFINITY;
        StageAccounting next;

        if (account(pipeline, diagnosis->next_stage, &next) && next.busy * by_loop > busy) {
                buffer_printf(out, "; %s, busy %.0f %%, limits next", name_of(pipeline, diagnosis->next_stage),
                              100 * next.busy);
                factor = busy / next.busy;
        } else if (isfinite(by_loop)) {
                buffer_puts(out, "; the training loop limits next");
                factor = by_loop;
        }
        if (isfinite(factor) && diagnosis->confidence == PIPELINE_CONFIDENCE_HIGH)
                buffer_printf(out, ", at %.3g times the throughput", factor);
}

static void write_stage(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;
        StageAccounting limit;

        if (!account(pipeline, diagnosis->stage, &limit))
                return;
        if (pipeline->slow.n > 0) {
                buffer_printf(out,
                              "Worker %zu of %s is the limit: its tasks take %.4g ms, the median of %zu workers is "
                              "%.4g ms, and items in order wait for it. Find what makes it slow, or give it less.",
                              pipeline->slow.index, name_of(pipeline, diagnosis->stage), 1e3 * pipeline->slow.mean_s,
                              pipeline->slow.n, 1e3 * pipeline->slow.median_s);
                return;
        }
        buffer_printf(out, "%s is the limit: its %u worker%s busy %.0f %% of the time",
                      name_of(pipeline, diagnosis->stage), limit.concurrency, limit.concurrency == 1 ? " is" : "s are",
                      100 * limit.busy);
        if (limit.busy < BUSY_MOST)
                buffer_puts(out, " with tasks that succeed, and it waits neither for items nor for room");
        buffer_puts(out, ". ");
        if (diagnosis->direction == PIPELINE_DIRECTION_FASTER_TASK)
                buffer_puts(out, "It cannot have more than one worker: make its task faster");
        else if (diagnosis->confidence == PIPELINE_CONFIDENCE_HIGH)
                buffer_printf(out, "Its tasks compute, and there are free CPUs: raise its concurrency above %u",
                              limit.concurrency);
        else
                buffer_printf(out, "Try a concurrency of %u, and fewer if it does not help", 2 * limit.concurrency);
        if (limit.busy >= BUSY_MOST)
                write_next(pipeline, limit.busy, out);
        buffer_putc(out, '.');
}

static void write_pool(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;

        if (diagnosis->stage < pipeline->n)
                buffer_printf(out, "The executor of %s with %u workers is the limit",
                              name_of(pipeline, diagnosis->stage), diagnosis->pool_threads);
        else
                buffer_printf(out, "The pool of %u threads is the limit", diagnosis->pool_threads);
        if (isnan(diagnosis->pool_waiting))
                buffer_printf(out, ": %.1f tasks run or wait for a thread", diagnosis->busy_workers);
        else
                buffer_printf(out, ": a task waited for a thread %.0f %% of the time", 100 * diagnosis->pool_waiting);
        buffer_printf(out, ", so more concurrency for a stage does not help. Try %u, and fewer if "
                           "it does not help.", 2 * diagnosis->pool_threads);
}

static void write_lock(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;

        if (isnan(pipeline->process.lock_waited))
                buffer_printf(out,
                              "A lock is likely the limit: %.1f tasks run at a time, most of them of %s, and together "
                              "use one CPU, as with the Python interpreter's lock.",
                              diagnosis->busy_workers, name_of(pipeline, diagnosis->stage));
        else
                buffer_printf(out,
                              "The Python interpreter's lock is the limit: a thread waited for it %.0f %% of the time, "
                              "and the process used %.2f CPUs.",
                              100 * pipeline->process.lock_waited, pipeline->process.cpus_used);
        if (diagnosis->direction == PIPELINE_DIRECTION_LESS_CONCURRENCY)
                buffer_printf(out, " Lower the concurrency of %s, or move its task to processes.",
                              name_of(pipeline, diagnosis->stage));
        else
                buffer_puts(out, " More threads do not help: move tasks to processes.");
}

static void write_cpu(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;

        if (diagnosis->direction == PIPELINE_DIRECTION_MORE_CPUS)
                buffer_printf(
                        out,
                        "The CPU limit of the job, %.3g CPUs, is the limit. Raise it, or make the task of %s cheaper.",
                        pipeline->job.cpus_given, name_of(pipeline, diagnosis->stage));
        else
                buffer_printf(out,
                              "The CPUs of the job are the limit: %.1f tasks run at a time, most of them of %s, and "
                              "use the CPUs. Lower its concurrency, make its task cheaper, or give the job more CPUs.",
                              diagnosis->busy_workers, name_of(pipeline, diagnosis->stage));
}

/* Writes which stage, the last with tasks, waits for room although the loop waits for items. */
static void write_handover(const VerdictPipeline *pipeline, Buffer *out) {
        StageAccounting last;
        size_t i = pipeline->n;

        while (i > 0 && !account(pipeline, i - 1, &last))
                i--;
        buffer_puts(out, "No stage is the limit: ");
        if (i > 0)
                buffer_printf(out, "%s waits for room %.0f %% of the time, and the training loop waits for items",
                              name_of(pipeline, i - 1), 100 * last.blocked);
        buffer_puts(out, ". Enlarge the buffer of the sink, and check what delays the handover, for example the "
                         "Python interpreter's lock.");
}

/* Writes the resources for which the job waited, besides the limit. */
static void write_job(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineJob *job = &pipeline->job;

        if (pipeline->diagnosis.limit == PIPELINE_LIMIT_CONSUMER)
                return;
        if (job->throttled >= PIPELINE_JOB_THROTTLED_MIN)
                buffer_printf(out, " The CPU limit of the job throttled its tasks in %.0f %% of the periods.",
                              100 * job->throttled);
        if (job->io_stalled >= PIPELINE_JOB_IO_MIN)
                buffer_printf(out, " All active tasks of the job waited for storage at once %.0f %% of the time.",
                              100 * job->io_stalled);
        if (job->memory_waited >= PIPELINE_JOB_MEMORY_MIN)
                buffer_printf(out, " Tasks of the job waited for memory %.0f %% of the time.",
                              100 * job->memory_waited);
        if (job->stolen >= PIPELINE_JOB_STOLEN_MIN)
                buffer_printf(out, " The hypervisor took %.0f %% of the CPU time of the node.", 100 * job->stolen);
}

void verdict_write_sentence(const VerdictPipeline *pipeline, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;

        switch (diagnosis->limit) {
        case PIPELINE_LIMIT_CONSUMER:
                buffer_puts(out, "The pipeline keeps up with the training loop, which is the limit.");
                break;
        case PIPELINE_LIMIT_SOURCE:
                buffer_puts(out,
                            "The source is the limit: the first stage waits for its items. Make the source faster.");
                break;
        case PIPELINE_LIMIT_STAGE:
                write_stage(pipeline, out);
                break;
        case PIPELINE_LIMIT_POOL:
                write_pool(pipeline, out);
                break;
        case PIPELINE_LIMIT_CPU:
                write_cpu(pipeline, out);
                break;
        case PIPELINE_LIMIT_HOST:
                buffer_printf(out,
                              "The host is the limit: processes outside the job use %.1f of its %.0f CPUs, and tasks "
                              "of the job waited for a CPU %.0f %% of the time. Run the job on another host, or "
                              "limit the other processes.",
                              pipeline->job.cpus_of_others, pipeline->job.cpus_of_node, 100 * pipeline->job.cpu_waited);
                break;
        case PIPELINE_LIMIT_LOCK:
                write_lock(pipeline, out);
                break;
        case PIPELINE_LIMIT_HANDOVER:
                write_handover(pipeline, out);
                break;
        case PIPELINE_LIMIT_UNKNOWN:
        case N_PIPELINE_LIMITS:
                buffer_puts(out, "The limit is not known: no stage is busy, waits for items or waits for room most "
                                 "of the time.");
        }
        write_job(pipeline, out);
}

static void put_evidence(const VerdictPipeline *pipeline, Json *json) {
        scoped(buffer_deinit) Buffer text = {};

        json_put_array_begin(json, "evidence");
        verdict_write_headline(pipeline, &text);
        json_string_n(json, text.text ?: "", text.n);
        buffer_clear(&text);
        verdict_write_sentence(pipeline, &text);
        json_string_n(json, text.text ?: "", text.n);
        for (size_t i = 0; i < pipeline->n; i++) {
                double ratio = pipeline_stage_failure_ratio(&pipeline->stages[i]);

                if (ratio < FAILURES_WORRYING)
                        continue;
                buffer_clear(&text);
                buffer_printf(&text, "%.1f %% of the tasks of %s failed.", 100 * ratio, pipeline->stages[i].name);
                json_string_n(json, text.text ?: "", text.n);
        }
        json_array_end(json);
        if (buffer_error(&text) < 0)
                json->out->failed = true;
}

/* --- table ---------------------------------------------------------------------------------------- */

/* The time of workers may add up to slightly more than their interval. */
static void put_share(Grid *grid, int n_decimals, double v) {
        char text[32] = "-";

        if (isfinite(v))
                (void)snprintf(text, sizeof(text), "%.*f %%", n_decimals, 100 * fmin(v, 1));
        grid_right(grid, text);
}

static void put_number(Grid *grid, double v, const char *unit) {
        char text[32] = "-";

        if (isfinite(v))
                (void)snprintf(text, sizeof(text), "%.4g%s", v, unit);
        grid_right(grid, text);
}

static void put_workers(Grid *grid, const StageAccounting *accounting) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%s%u", accounting->is_inferred ? "~" : "", accounting->concurrency);
        grid_right(grid, text);
}

static const char *const readiness_names[] = {
        [PIPELINE_READINESS_NO_DATA] = "not measured",
        [PIPELINE_READINESS_STALLED] = "stalled",
        [PIPELINE_READINESS_KNOWN] = "known",
};

static void fill_readiness(const PipelineStage *stage, Grid *grid) {
        double readiness;
        PipelineReadiness state = pipeline_stage_readiness(stage, &readiness);

        if (state == PIPELINE_READINESS_KNOWN)
                put_share(grid, 0, readiness);
        else
                grid_right(grid, readiness_names[state]);
}

void verdict_fill_grid(const VerdictPipeline *pipeline, Grid *grid) {
        for (size_t i = 0; i < pipeline->n; i++) {
                const PipelineStage *stage = &pipeline->stages[i];
                StageAccounting accounting;
                bool has_workers = account(pipeline, i, &accounting);

                grid_text(grid, stage->name);
                if (has_workers)
                        put_workers(grid, &accounting);
                else
                        grid_right(grid, "-");
                put_share(grid, 1, has_workers ? accounting.busy : NAN);
                put_share(grid, 1, has_workers ? accounting.starved : NAN);
                put_share(grid, 1, has_workers ? accounting.blocked : NAN);
                put_number(grid, 1e3 * pipeline_stage_mean_time(stage), " ms");
                put_number(grid, stage->queue.is_known ? pipeline_stage_rate(stage) : NAN, "");
                fill_readiness(stage, grid);
                put_share(grid, 1, stage->tasks.n > 0 ? pipeline_stage_failure_ratio(stage) : NAN);
        }
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_double(Json *json, const char *key, double v) {
        json_put_double_or_null(json, key, isfinite(v), v);
}

static void put_stage(const VerdictPipeline *pipeline, size_t i, Json *json) {
        const PipelineStage *stage = &pipeline->stages[i];
        StageAccounting accounting;
        double readiness;
        PipelineReadiness state = pipeline_stage_readiness(stage, &readiness);

        json_object_begin(json);
        json_put_uint(json, "order", stage->order);
        json_put_string(json, "name", stage->name);
        json_put_int_or_null(json, "declared_concurrency", stage->concurrency > 0, stage->concurrency);
        if (account(pipeline, i, &accounting)) {
                json_put_uint(json, "concurrency", accounting.concurrency);
                json_put_bool(json, "is_inferred", accounting.is_inferred);
                put_double(json, "workers", accounting.workers);
                put_double(json, "busy", accounting.busy);
                put_double(json, "starved", accounting.starved);
                put_double(json, "blocked", accounting.blocked);
        }
        put_double(json, "mean_time_seconds", pipeline_stage_mean_time(stage));
        put_double(json, "items_per_second", stage->queue.is_known ? pipeline_stage_rate(stage) : NAN);
        put_double(json, "readiness", state == PIPELINE_READINESS_KNOWN ? readiness : NAN);
        json_put_string(json, "readiness_state", readiness_names[state]);
        put_double(json, "failure_ratio", stage->tasks.n > 0 ? pipeline_stage_failure_ratio(stage) : NAN);
        json_object_end(json);
}

void verdict_put_members(const VerdictPipeline *pipeline, Json *json) {
        const PipelineDiagnosis *diagnosis = &pipeline->diagnosis;

        json_put_string(json, "limit", pipeline_limit_names[diagnosis->limit]);
        json_put_string(json, "stage", diagnosis->stage < pipeline->n ? pipeline->stages[diagnosis->stage].name : NULL);
        json_put_string(json, "direction", pipeline_direction_names[diagnosis->direction]);
        json_put_string(json, "confidence", pipeline_confidence_names[diagnosis->confidence]);
        json_put_string(json, "next_stage",
                        diagnosis->next_stage < pipeline->n ? pipeline->stages[diagnosis->next_stage].name : NULL);
        put_double(json, "wait_share", diagnosis->wait_share);
        json_put_bool(json, "is_wait_bound", diagnosis->is_wait_bound);
        put_double(json, "mean_wait_seconds", diagnosis->mean_wait_s);
        put_double(json, "waited_seconds", verdict_waited_s(pipeline));
        put_double(json, "first_batch_seconds", pipeline->job.first_batch_s);
        put_double(json, "first_wait_seconds", pipeline->job.first_wait_s);
        put_double(json, "busy_workers", diagnosis->busy_workers);
        put_evidence(pipeline, json);
        json_put_array_begin(json, "stages");
        for (size_t i = 0; i < pipeline->n; i++)
                put_stage(pipeline, i, json);
        json_array_end(json);
}
