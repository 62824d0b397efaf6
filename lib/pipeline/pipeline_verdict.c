/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"

#define FAILURES_WORRYING 0.05
#define FIRST_BATCH_LONG_S 600
#define STARTS_MOST       0.6 /* of the wait of the loop */
#define AGREES_MIN        0.7
#define WAITS_MIN         0.05 /* of the time, as of a pipeline that the loop waits for */
#define FACTOR_MAX        4 /* times the throughput: what limits beyond it may be anything */
#define OF_CPUS_SURE      0.6 /* two CPUs may be threads of one core, which gives little more than one */
#define BUSY_MOST         0.5 /* a stage that is the limit with less has failed tasks, whose time is not measured */

static bool account(const PipelineVerdict *verdict, size_t i, StageAccounting *ret) {
        return i < verdict->n &&
               pipeline_diagnosis_account(&verdict->stages[i], i > 0 ? &verdict->stages[i - 1] : NULL, ret);
}

static const char *name_of(const PipelineVerdict *verdict, size_t i) {
        return i < verdict->n ? verdict->stages[i].name : "the source";
}

/* A slow worker explains a loop that waits although no stage is busy as a whole. */
static void join_slow_worker(const SlowWorker *slow, PipelineVerdict *verdict) {
        PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        size_t i = 0;

        while (i < verdict->n && (verdict->stages[i].pipeline != slow->pipeline ||
                                   verdict->stages[i].order != slow->order))
                i++;
        if (slow->n == 0 || i == verdict->n || diagnosis->limit == PIPELINE_LIMIT_CONSUMER ||
            diagnosis->limit == PIPELINE_LIMIT_HOST)
                return;
        verdict->slow = *slow;
        diagnosis->limit = PIPELINE_LIMIT_STAGE;
        diagnosis->stage = i;
        diagnosis->next_stage = verdict->n;
        diagnosis->direction = PIPELINE_DIRECTION_FASTER_TASK;
        diagnosis->confidence = PIPELINE_CONFIDENCE_MEDIUM;
}

/*
 * More workers do not help tasks that wait for each other. The mean of all tasks has to agree with the first: those
 * may have waited for what is done once, such as the import of a module.
 */
static void join_shared_wait(const PipelineSet *set, PipelineVerdict *verdict) {
        PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        const PipelineStage *stage = diagnosis->stage < verdict->n ? &verdict->stages[diagnosis->stage] : NULL;

        if (!stage || diagnosis->limit != PIPELINE_LIMIT_STAGE ||
            diagnosis->direction != PIPELINE_DIRECTION_MORE_CONCURRENCY ||
            diagnosis->confidence == PIPELINE_CONFIDENCE_HIGH)
                return;
        for (size_t i = 0; i < set->n_shared; i++) {
                const SharedWait *wait = &set->shared[i];

                if ((wait->pipeline != stage->pipeline && !verdict->is_described) || wait->order != stage->order ||
                    wait->enough >= stage->concurrency)
                        continue;
                if (wait->enough == 0 || !(pipeline_stage_mean_time(stage) >= AGREES_MIN * wait->together_s)) {
                        diagnosis->confidence = PIPELINE_CONFIDENCE_LOW;
                        continue;
                }
                verdict->shared = *wait;
                diagnosis->direction = PIPELINE_DIRECTION_LESS_CONCURRENCY;
                diagnosis->next_stage = verdict->n;
        }
}

/* Finds the loader of a pipeline. Its tasks run in processes or should, so that they share no lock. */
static void find_loader(const PipelineSet *set, PipelineVerdict *verdict) {
        size_t i = 0;

        while (i < set->n_loaders && set->loaders[i].pipeline != verdict->stages[0].pipeline)
                i++;
        if (i == set->n_loaders)
                return;
        verdict->loader = &set->loaders[i];
        verdict->process.is_loader = true;
        verdict->process.lock_waited = verdict->process.lock_held = 0;
        verdict->process.tasks_cpus = verdict->loader->cpus;
        verdict->process.waiting_for_cpu = verdict->loader->waiting_for_cpu;
}

/* The loop waits for workers that start. */
static void join_starts(PipelineVerdict *verdict) {
        PipelineDiagnosis *diagnosis = &verdict->diagnosis;

        if (!verdict->loader || diagnosis->limit == PIPELINE_LIMIT_CONSUMER ||
            !(verdict->loader->waited_s >= STARTS_MOST * verdict->stages[verdict->n - 1].queue.get_s))
                return;
        diagnosis->limit = PIPELINE_LIMIT_START;
        diagnosis->stage = diagnosis->next_stage = verdict->n;
        diagnosis->direction = PIPELINE_DIRECTION_KEEP_WORKERS;
        diagnosis->confidence = PIPELINE_CONFIDENCE_MEDIUM;
}

/* Lowers what is said of statistics that contradict each other. */
static void join_doubt(PipelineVerdict *verdict) {
        verdict->most = pipeline_doubt_find(verdict->stages, verdict->n, &verdict->process, &verdict->job,
                                            verdict->doubt);
        if (verdict->most == PIPELINE_CONFIDENCE_NONE)
                verdict->diagnosis = (PipelineDiagnosis){ .stage = verdict->n, .next_stage = verdict->n,
                                                          .pool_waiting = NAN, .wait_share = NAN, .mean_wait_s = NAN };
        else if (verdict->diagnosis.confidence > verdict->most)
                verdict->diagnosis.confidence = verdict->most;
}

/* Returns the end of the pipeline that begins at a stage. */
static size_t end_of(const PipelineSet *set, size_t begin) {
        size_t end = begin;

        while (end < set->n && set->stages[end].pipeline == set->stages[begin].pipeline)
                end++;
        return end;
}

/* True if what is known of the process is of this pipeline, or of one with the same stages, as in another epoch or
 * rank. */
static bool is_described(const PipelineSet *set, const PipelineVerdict *verdict) {
        size_t begin = 0, n;

        while (begin < set->n && set->stages[begin].pipeline != set->process_pipeline)
                begin++;
        n = end_of(set, begin) - begin;
        for (size_t i = 0; n == verdict->n && i < n; i++)
                if (set->stages[begin + i].order != verdict->stages[i].order ||
                    strcmp(set->stages[begin + i].name, verdict->stages[i].name) != 0)
                        return false;
        return n == verdict->n;
}

/* True if the training loop waits longer for another pipeline, or for the first batch of each, as in short epochs. */
static bool waits_elsewhere(const PipelineSet *set, const PipelineVerdict *verdict) {
        const StageQueue *own = &verdict->stages[verdict->n - 1].queue, *other;
        size_t n_pipelines = 0;

        for (size_t end = 0; end < set->n; n_pipelines++) {
                end = end_of(set, end);
                other = &set->stages[end - 1].queue;
                if (other->get_s / other->elapsed_s > fmax(WAITS_MIN, 2 * own->get_s / own->elapsed_s))
                        return true;
        }
        return n_pipelines > 1 && verdict->diagnosis.limit == PIPELINE_LIMIT_CONSUMER &&
               verdict->job.first_wait_s > WAITS_MIN * own->elapsed_s;
}

/* True if the pipeline divides: then the queue before a stage in the list is not always its input, and stages work
 * beside each other. Such a stage of SPDL has no tasks. */
static bool is_branched(const PipelineVerdict *verdict) {
        for (size_t i = 0; i < verdict->n; i++) {
                const char *name = verdict->stages[i].name;

                if (!verdict->stages[i].tasks.is_known &&
                    (strcmp(name, "merge") == 0 || strcmp(name, "path_variants_merge") == 0))
                        return true;
        }
        return false;
}

/* True if the evidence may be incomplete. */
static bool is_doubtful(const PipelineSet *set, const PipelineVerdict *verdict) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;

        return verdict->waits_elsewhere ||
               (diagnosis->limit != PIPELINE_LIMIT_CONSUMER && is_branched(verdict)) ||
               (diagnosis->direction == PIPELINE_DIRECTION_MORE_CONCURRENCY && set->process.knows_pools &&
                !verdict->is_described);
}

bool pipeline_verdict_next(const PipelineSet *set, unsigned n_threads, size_t *at, PipelineVerdict *ret) {
        size_t begin = *at, end = end_of(set, begin);

        if (begin == set->n)
                return false;
        *ret = (PipelineVerdict){ .stages = &set->stages[begin],
                                  .n = end - begin,
                                  .process = set->process,
                                  .job = set->job };
        ret->is_described = is_described(set, ret);
        if (!ret->is_described) {
                ret->process.knows_pools = false;
                ret->process.n_threads = 0;
                ret->process.n_pools = 0;
                ret->process.in_order = 0;
        }
        if (n_threads > 0)
                ret->process = pipeline_diagnosis_unknown_process(n_threads);
        find_loader(set, ret);
        ret->diagnosis = pipeline_diagnosis_of(ret->stages, ret->n, &ret->process);
        pipeline_diagnosis_join_job(&ret->job, &ret->process, &ret->diagnosis, ret->stages, ret->n);
        join_slow_worker(&set->slow, ret);
        join_shared_wait(set, ret);
        join_starts(ret);
        ret->waits_elsewhere = !ret->loader && waits_elsewhere(set, ret); /* loaders take turns */
        if (is_doubtful(set, ret) && ret->diagnosis.confidence > PIPELINE_CONFIDENCE_LOW)
                ret->diagnosis.confidence = PIPELINE_CONFIDENCE_LOW;
        join_doubt(ret);
        *at = end;
        return true;
}

/* --- earlier runs --------------------------------------------------------------------------------- */

/* A step beyond the largest value that was tried is advice only if the stage is the limit. */
static bool is_advice(const PipelineVerdict *verdict) {
        const PipelineComparison *comparison = &verdict->comparison;
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;

        if (verdict->most < PIPELINE_CONFIDENCE_HIGH || comparison->best == 0 ||
            diagnosis->limit == PIPELINE_LIMIT_CONSUMER || diagnosis->limit == PIPELINE_LIMIT_HOST ||
            diagnosis->limit == PIPELINE_LIMIT_SOURCE)
                return false;
        if (diagnosis->stage != comparison->stage &&
            (diagnosis->stage < verdict->n || diagnosis->limit == PIPELINE_LIMIT_POOL))
                return false;
        return comparison->best <= comparison->now || pipeline_comparison_was_tried(comparison, comparison->best) ||
               diagnosis->direction == PIPELINE_DIRECTION_MORE_CONCURRENCY ||
               diagnosis->direction == PIPELINE_DIRECTION_LARGER_BUFFER;
}

static PipelineDirection direction_of(const PipelineVerdict *verdict) {
        const PipelineComparison *comparison = &verdict->comparison;

        if (comparison->best > comparison->now)
                return comparison->is_buffer ? PIPELINE_DIRECTION_LARGER_BUFFER : PIPELINE_DIRECTION_MORE_CONCURRENCY;
        if (comparison->is_buffer)
                return PIPELINE_DIRECTION_NONE;
        if (comparison->best < comparison->now)
                return PIPELINE_DIRECTION_LESS_CONCURRENCY;
        return verdict->diagnosis.limit == PIPELINE_LIMIT_STAGE ? PIPELINE_DIRECTION_FASTER_TASK
                                                                : PIPELINE_DIRECTION_NONE;
}

void pipeline_verdict_compare(PipelineVerdict *verdict, const ComparedRun *earlier, size_t n_earlier) {
        const ComparedRun run = { .stages = verdict->stages, .n = verdict->n,
                                  .n_threads = verdict->process.n_threads };
        PipelineComparison *comparison = &verdict->comparison;

        *comparison = pipeline_comparison_make(&run, earlier, n_earlier);
        verdict->has_advice_of_runs = is_advice(verdict);
        if (!verdict->has_advice_of_runs)
                return;
        verdict->diagnosis.direction = direction_of(verdict);
        verdict->diagnosis.stage = comparison->stage;
        verdict->diagnosis.confidence =
                pipeline_comparison_was_tried(comparison, comparison->best) &&
                                pipeline_comparison_is_clear(comparison->rate_before, comparison->rate_now)
                        ? PIPELINE_CONFIDENCE_HIGH : PIPELINE_CONFIDENCE_MEDIUM;
}

/* --- sentences ------------------------------------------------------------------------------------ */

static double waited_s(const PipelineVerdict *verdict) {
        return verdict->n > 0 ? verdict->diagnosis.wait_share * verdict->stages[verdict->n - 1].queue.elapsed_s
                               : NAN;
}

static void write_wait(const PipelineVerdict *verdict, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        double seconds = waited_s(verdict);
        char waited[TEXT_MAX], mean[TEXT_MAX], minutes[TEXT_MAX];

        text_seconds(seconds, waited);
        text_seconds_brief(diagnosis->mean_wait_s, mean);
        text_number(seconds / 60 * verdict->job.n_gpus, minutes);
        buffer_puts(out, " (");
        if (verdict->job.n_gpus > 0)
                buffer_printf(out, "%s GPU-minutes", minutes);
        else
                buffer_puts(out, waited);
        if (!isnan(diagnosis->mean_wait_s))
                buffer_printf(out, ", %s per item", mean);
        buffer_putc(out, ')');
}

static void write_first_batch(const PipelineJob *job, Buffer *out) {
        char start[TEXT_MAX], wait[TEXT_MAX];

        if (isnan(job->first_wait_s))
                return;
        text_seconds_brief(job->first_wait_s, wait);
        if (isnan(job->first_batch_s)) {
                buffer_printf(out, " It waited %s for the first batch, which is not counted.", wait);
                return;
        }
        text_seconds_brief(job->first_batch_s, start);
        buffer_printf(out, " The first batch came %s after the start of the job%s; the loop waited %s for it.", start,
                      job->first_batch_s > FIRST_BATCH_LONG_S ? ", which is long" : "", wait);
}

static void write_headline(const PipelineVerdict *verdict, Buffer *out) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;

        if (isnan(diagnosis->wait_share)) {
                buffer_printf(out, "The wait of the training loop is not known%s.",
                              verdict->most == PIPELINE_CONFIDENCE_NONE ? ""
                              : verdict->stages[verdict->n - 1].queue.is_known
                                      ? ": the intervals of the last queue have no length"
                                      : ": the last queue has no statistics");
                return;
        }
        buffer_printf(out, "The training loop waited for data %s%.1f %% of the time",
                      diagnosis->is_wait_bound ? "at most " : "", 100 * diagnosis->wait_share);
        write_wait(verdict, out);
        if (diagnosis->is_wait_bound)
                buffer_puts(out,
                            ": the last queue was empty for this time, but the loop's calls of get were not measured");
        buffer_putc(out, '.');
        write_first_batch(&verdict->job, out);
}

/* The sentence about the limit, and what to do about it; empty if nothing is known to help. */
typedef struct Sentences {
        Buffer limit, advice;
} Sentences;

static void sentences_deinit(Sentences *sentences) {
        buffer_deinit(&sentences->limit);
        buffer_deinit(&sentences->advice);
}

/* The next limit once the limiting stage has more workers, and at how many times the throughput. */
typedef struct Relief {
        double factor; /* infinite: not known */
        bool is_of_cpus, is_sure;
        size_t stage; /* n: the training loop */
} Relief;

/* busy: of the workers of the limiting stage. CPUs are sure to limit only tasks that compute. */
static Relief relieve(const PipelineVerdict *verdict, double busy) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        const PipelineJob *job = &verdict->job;
        Relief ret = { .factor = INFINITY, .stage = verdict->n };
        double by_cpus = fmin(job->cpus_given, job->cpus_of_node - job->cpus_of_others) / job->cpus_used;
        StageAccounting next;

        if (diagnosis->wait_share < 1 && !diagnosis->is_wait_bound)
                ret.factor = 1 / (1 - diagnosis->wait_share);
        if (account(verdict, diagnosis->next_stage, &next) && next.busy * ret.factor > busy) {
                ret.factor = busy / next.busy;
                ret.stage = diagnosis->next_stage;
        }
        if (diagnosis->confidence != PIPELINE_CONFIDENCE_HIGH)
                return ret;
        ret.is_sure = ret.factor <= fmin(FACTOR_MAX, OF_CPUS_SURE * by_cpus);
        ret.is_of_cpus = by_cpus < ret.factor;
        ret.factor = fmin(ret.factor, by_cpus);
        return ret;
}

/* Names the next limit. What is gained until then is only said if more workers are sure to help, and not far away. */
static void write_next(const PipelineVerdict *verdict, const Relief *relief, Buffer *out) {
        StageAccounting next;

        if (!isfinite(relief->factor))
                return;
        if (relief->is_of_cpus)
                buffer_puts(out, "; the CPUs of the job limit next");
        else if (account(verdict, relief->stage, &next))
                buffer_printf(out, "; %s, busy %.0f %%, limits next", name_of(verdict, relief->stage), 100 * next.busy);
        else
                buffer_puts(out, "; the training loop limits next");
        if (relief->is_sure)
                buffer_printf(out, ", at %.2g times the throughput", relief->factor);
}

static void write_slow_worker(const PipelineVerdict *verdict, Sentences *out) {
        const SlowWorker *slow = &verdict->slow;
        char mean[TEXT_MAX], median[TEXT_MAX];

        text_seconds_brief(slow->mean_s, mean);
        text_seconds_brief(slow->median_s, median);
        buffer_printf(&out->limit,
                      "Worker %zu of %s is the limit: its tasks take %s, the median of %zu workers is %s, "
                      "and items in order wait for it.",
                      slow->index, name_of(verdict, verdict->diagnosis.stage), mean, slow->n, median);
        buffer_puts(&out->advice, "Find what makes it slow, or give it less.");
}

static void write_starts(const PipelineVerdict *verdict, Sentences *out) {
        char seconds[TEXT_MAX];

        text_seconds(verdict->loader->waited_s, seconds);
        buffer_printf(&out->limit, "The start of the workers in each epoch is the limit: the loop waited %s for it.",
                      seconds);
        buffer_puts(&out->advice, "Keep the workers between the epochs (persistent_workers=True).");
}

static void write_held_back(const PipelineVerdict *verdict, double busy, Sentences *out) {
        const char *name = name_of(verdict, verdict->diagnosis.stage);

        buffer_printf(&out->limit,
                      "%s is the limit: its workers are busy only %.0f %% of the time although items wait. It gives "
                      "its items in the order of its input, and a slow item holds back those that are ready.",
                      name, 100 * busy);
        buffer_puts(&out->advice, "If the order does not matter, give them in the order of completion "
                                  "(output_order=\"completion\"); otherwise, make the slowest items faster.");
}

static void write_shared_wait(const PipelineVerdict *verdict, Sentences *out) {
        const SharedWait *wait = &verdict->shared;
        char alone[TEXT_MAX], together[TEXT_MAX];

        text_seconds_brief(wait->alone_s, alone);
        text_seconds_brief(wait->together_s, together);
        buffer_printf(&out->limit, " They wait for each other: a task takes %s alone, and %s beside the others.", alone,
                      together);
        buffer_printf(&out->advice,
                      "More do not help. Try a concurrency of %u, and find what the tasks wait for: a lock, "
                      "connections, or a limit of the storage.",
                      wait->enough);
}

static void write_stage(const PipelineVerdict *verdict, Sentences *out) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        StageAccounting limit;
        Relief relief;

        if (!account(verdict, diagnosis->stage, &limit))
                return;
        if (verdict->slow.n > 0) {
                write_slow_worker(verdict, out);
                return;
        }
        if (diagnosis->direction == PIPELINE_DIRECTION_OUTPUT_ORDER) {
                write_held_back(verdict, limit.busy, out);
                return;
        }
        if (verdict->process.is_loader && verdict->stages[diagnosis->stage].concurrency == 0)
                buffer_puts(&out->limit, "The training loop loads its batches itself, while it could train.");
        else
                buffer_printf(&out->limit, "%s is the limit: its %u worker%s busy %.0f %% of the time%s.",
                              name_of(verdict, diagnosis->stage), limit.concurrency,
                              limit.concurrency == 1 ? " is" : "s are", 100 * limit.busy,
                              limit.busy < BUSY_MOST
                                      ? " with tasks that succeed, and it waits neither for items nor for room" : "");
        if (verdict->shared.enough > 0) {
                write_shared_wait(verdict, out);
                return;
        }
        relief = relieve(verdict, limit.busy);
        if (diagnosis->direction == PIPELINE_DIRECTION_FASTER_TASK)
                buffer_puts(&out->advice, "It cannot have more than one worker: make its task faster");
        else if (diagnosis->confidence == PIPELINE_CONFIDENCE_HIGH)
                buffer_printf(&out->advice,
                              "Its tasks compute, and there are free CPUs: raise its %s from %u to %.0f",
                              verdict->process.is_loader ? "num_workers" : "concurrency", limit.concurrency,
                              ceil(limit.concurrency * fmin(relief.factor, FACTOR_MAX)));
        else
                buffer_printf(&out->advice, "Try %s%u, and fewer if it does not help",
                              verdict->process.is_loader ? "num_workers=" : "a concurrency of ",
                              2 * limit.concurrency);
        if (limit.busy >= BUSY_MOST)
                write_next(verdict, &relief, &out->advice);
        buffer_putc(&out->advice, '.');
}

static void write_pool(const PipelineVerdict *verdict, Sentences *out) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        bool is_own = diagnosis->stage < verdict->n;

        if (is_own)
                buffer_printf(&out->limit, "The executor of %s with %u workers is the limit",
                              name_of(verdict, diagnosis->stage), diagnosis->pool_threads);
        else
                buffer_printf(&out->limit, "The pool of %u threads is the limit", diagnosis->pool_threads);
        if (isnan(diagnosis->pool_waiting))
                buffer_printf(&out->limit, ": %.1f tasks run or wait for a thread", diagnosis->busy_workers);
        else
                buffer_printf(&out->limit, ": a task waited for a thread %.0f %% of the time",
                              100 * diagnosis->pool_waiting);
        buffer_puts(&out->limit, ", so more concurrency for a stage does not help.");
        buffer_printf(&out->advice, "Try %u %s, and fewer if it does not help.", 2 * diagnosis->pool_threads,
                      is_own ? "workers" : "threads");
}

static void write_lock(const PipelineVerdict *verdict, Sentences *out) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        const PipelineProcess *process = &verdict->process;

        if (isnan(process->lock_waited))
                buffer_printf(&out->limit,
                              "A lock is likely the limit: %.1f tasks run at a time, most of them of %s, and together "
                              "use one CPU, as with the Python interpreter's lock.",
                              diagnosis->busy_workers, name_of(verdict, diagnosis->stage));
        else
                buffer_printf(&out->limit,
                              "The Python interpreter's lock is the limit: a thread %s it %.0f %% of the time, and the "
                              "process used %.2f CPUs.",
                              process->lock_held > process->lock_waited ? "had" : "waited for",
                              100 * fmax(process->lock_held, process->lock_waited), process->cpus_used);
        if (diagnosis->direction == PIPELINE_DIRECTION_LESS_CONCURRENCY)
                buffer_printf(&out->advice, "Lower the concurrency of %s, or move its task to processes.",
                              name_of(verdict, diagnosis->stage));
        else
                buffer_puts(&out->advice, "More threads do not help: move tasks to processes.");
}

static void write_cpu(const PipelineVerdict *verdict, Sentences *out) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;
        const char *stage = name_of(verdict, diagnosis->stage);

        if (diagnosis->direction == PIPELINE_DIRECTION_MORE_CPUS) {
                buffer_printf(&out->limit, "The CPUs that the job may use, %.3g, are the limit.",
                              verdict->job.cpus_given);
                buffer_printf(&out->advice, "Give it more, or make the task of %s cheaper.", stage);
        } else {
                buffer_printf(&out->limit,
                              "The CPUs of the job are the limit: %.1f tasks run at a time, most of them of %s, and "
                              "use the CPUs.",
                              diagnosis->busy_workers, stage);
                buffer_printf(&out->advice, "Lower %s%s, make its task cheaper, or give the job more CPUs.",
                              verdict->process.is_loader ? "num_workers of " : "the concurrency of ", stage);
        }
}

static void write_host(const PipelineJob *job, Sentences *out) {
        buffer_printf(&out->limit,
                      "The host is the limit: processes outside the job use %.1f of its %.0f CPUs, and tasks of the "
                      "job waited for a CPU %.0f %% of the time.",
                      job->cpus_of_others, job->cpus_of_node, 100 * job->cpu_waited);
        buffer_puts(&out->advice, "Run the job on another host, or limit the other processes.");
}

/* Writes which stage, the last with tasks, waits for room although the loop waits for items. */
static void write_handover(const PipelineVerdict *verdict, Sentences *out) {
        StageAccounting last;
        size_t i = verdict->n;

        while (i > 0 && !account(verdict, i - 1, &last))
                i--;
        buffer_puts(&out->limit, "No stage is the limit: ");
        if (i > 0 && verdict->loader) {
                buffer_printf(&out->limit, "the loop waits for batches, and the workers are busy only %.0f %% of the "
                                           "time.",
                              100 * last.busy);
                buffer_puts(&out->advice, verdict->diagnosis.direction == PIPELINE_DIRECTION_LESS_CONCURRENCY
                                                  ? "It takes longer to get a batch from a worker process than to "
                                                    "load it: try num_workers=0."
                                                  : "A slow batch holds back those after it: raise prefetch_factor.");
                return;
        }
        if (i > 0)
                buffer_printf(&out->limit, "%s waits for room %.0f %% of the time, and the training loop waits for "
                                           "items",
                              name_of(verdict, i - 1), 100 * last.blocked);
        buffer_putc(&out->limit, '.');
        buffer_puts(&out->advice, "Enlarge the buffer of the sink, and check what delays the handover, for example "
                                  "the Python interpreter's lock.");
}

/* Writes the resources for which the job waited, besides the limit. */
static void write_job(const PipelineVerdict *verdict, Buffer *out) {
        const PipelineJob *job = &verdict->job;

        if (verdict->diagnosis.limit == PIPELINE_LIMIT_CONSUMER)
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

/* Writes what the last change did. */
static void write_comparison(const PipelineVerdict *verdict, Buffer *out) {
        const PipelineComparison *comparison = &verdict->comparison;
        double ratio = comparison->rate_now / comparison->rate_before;
        char now[TEXT_MAX], before[TEXT_MAX], percent[TEXT_MAX];

        if (comparison->n_changes == 0)
                return;
        text_number(comparison->rate_now, now);
        text_number(comparison->rate_before, before);
        text_number(100 * fabs(ratio - 1), percent);
        buffer_printf(out, " With a %s of %u %s %s instead of %u", comparison->is_buffer ? "buffer" : "concurrency",
                      comparison->now, comparison->is_buffer ? "after" : "for", name_of(verdict, comparison->stage),
                      comparison->before);
        if (comparison->n_changes > 1)
                buffer_printf(out, ", and %zu other change%s,", comparison->n_changes - 1,
                              comparison->n_changes == 2 ? "" : "s");
        if (!pipeline_comparison_is_clear(comparison->rate_before, comparison->rate_now))
                buffer_puts(out, " it is about as fast as");
        else
                buffer_printf(out, " it is %s %% %s than", percent, ratio < 1 ? "slower" : "faster");
        buffer_printf(out, " in job %s: %s items per second instead of %s.", comparison->job, now, before);
}

/* Writes the value to use or to try next, in place of advice that does not know the earlier runs. */
static void write_best(const PipelineVerdict *verdict, Buffer *out) {
        const PipelineComparison *comparison = &verdict->comparison;
        const char *what = comparison->is_buffer ? "buffer" : "concurrency";
        const char *name = name_of(verdict, comparison->stage);

        buffer_clear(out);
        if (comparison->best == comparison->now)
                buffer_printf(out,
                              "Keep the %s of %s: no other that was tried is faster. Make its task faster, or find "
                              "what it waits for.",
                              what, name);
        else
                buffer_printf(out, "%s a %s of %u for %s%s.",
                              pipeline_comparison_was_tried(comparison, comparison->best) ? "Go back to" : "Try", what,
                              comparison->best, name, comparison->best > comparison->now &&
                              !pipeline_comparison_was_tried(comparison, comparison->best)
                                      ? ", and go back if it does not help" : "");
}

static void write_limit(const PipelineVerdict *verdict, Sentences *out) {
        switch (verdict->diagnosis.limit) {
        case PIPELINE_LIMIT_CONSUMER:
                buffer_puts(&out->limit, verdict->waits_elsewhere
                                                 ? "The pipeline keeps up with the training loop, which waits for "
                                                   "another pipeline, or for the first batch of each."
                                                 : "The pipeline keeps up with the training loop, which is the limit.");
                break;
        case PIPELINE_LIMIT_SOURCE:
                buffer_puts(&out->limit, "The source is the limit: the first stage waits for its items.");
                buffer_puts(&out->advice, "Make the source faster.");
                break;
        case PIPELINE_LIMIT_STAGE:
                write_stage(verdict, out);
                break;
        case PIPELINE_LIMIT_START:
                write_starts(verdict, out);
                break;
        case PIPELINE_LIMIT_POOL:
                write_pool(verdict, out);
                break;
        case PIPELINE_LIMIT_CPU:
                write_cpu(verdict, out);
                break;
        case PIPELINE_LIMIT_HOST:
                write_host(&verdict->job, out);
                break;
        case PIPELINE_LIMIT_LOCK:
                write_lock(verdict, out);
                break;
        case PIPELINE_LIMIT_HANDOVER:
                write_handover(verdict, out);
                break;
        case PIPELINE_LIMIT_UNKNOWN:
        case N_PIPELINE_LIMITS:
                buffer_puts(&out->limit, "The limit is not known: no stage is busy, waits for items or waits for room "
                                         "most of the time.");
        }
}

static void write_sentences(const PipelineVerdict *verdict, Sentences *out) {
        if (verdict->most > PIPELINE_CONFIDENCE_NONE)
                write_limit(verdict, out);
        if (verdict->most < PIPELINE_CONFIDENCE_HIGH)
                buffer_printf(&out->limit, "%s statistics contradict each other: %s.",
                              out->limit.n == 0 ? "The limit is not known, as the" : " The", verdict->doubt);
        write_job(verdict, &out->limit);
        write_comparison(verdict, &out->limit);
        if (verdict->has_advice_of_runs)
                write_best(verdict, &out->advice);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static const char *const readiness_names[] = {
        [PIPELINE_READINESS_NO_DATA] = "not measured",
        [PIPELINE_READINESS_STALLED] = "stalled",
        [PIPELINE_READINESS_KNOWN] = "known",
};

/* Returns the items of a stage's input that are in one of its items. */
static double batch_of(const PipelineStage *stage, const PipelineStage *input) {
        double in = pipeline_stage_rate(input), out = pipeline_stage_rate(stage);
        unsigned n;

        if (sscanf(stage->name, "aggregate(%u", &n) == 1 && n > 0)
                return n;
        if (strncmp(stage->name, "aggregate", strlen("aggregate")) == 0 ||
            strncmp(stage->name, "disaggregate", strlen("disaggregate")) == 0)
                return in > 0 && out > 0 ? in / out : NAN;
        return 1;
}

/* Returns the items of the first stage that are in an item of another, so that the throughput of both compares. */
static double first_items(const PipelineVerdict *verdict, size_t i) {
        double items = 1;

        for (size_t k = 1; k <= i; k++)
                items *= batch_of(&verdict->stages[k], &verdict->stages[k - 1]);
        return items;
}

static void put_double(Json *json, const char *key, double v) {
        json_put_double_or_null(json, key, isfinite(v), v);
}

static void put_stage(const PipelineVerdict *verdict, size_t i, Json *json) {
        const PipelineStage *stage = &verdict->stages[i];
        StageAccounting accounting;
        double readiness;
        PipelineReadiness state = pipeline_stage_readiness(stage, &readiness);

        json_object_begin(json);
        json_put_uint(json, "order", stage->order);
        json_put_string(json, "name", stage->name);
        json_put_int_or_null(json, "declared_concurrency", stage->concurrency > 0, stage->concurrency);
        if (account(verdict, i, &accounting)) {
                json_put_uint(json, "concurrency", accounting.concurrency);
                json_put_bool(json, "is_inferred", accounting.is_inferred);
                put_double(json, "workers", accounting.workers);
                put_double(json, "busy", accounting.busy);
                put_double(json, "starved", accounting.starved);
                put_double(json, "blocked", accounting.blocked);
        }
        put_double(json, "mean_time_seconds", pipeline_stage_mean_time(stage));
        put_double(json, "items_per_second", stage->queue.is_known ? pipeline_stage_rate(stage) : NAN);
        put_double(json, "normalized_items_per_second",
                   stage->queue.is_known ? pipeline_stage_rate(stage) * first_items(verdict, i) : NAN);
        put_double(json, "readiness", state == PIPELINE_READINESS_KNOWN ? readiness : NAN);
        json_put_string(json, "readiness_state", readiness_names[state]);
        put_double(json, "failure_ratio", stage->tasks.n > 0 ? pipeline_stage_failure_ratio(stage) : NAN);
        json_object_end(json);
}

static void put_sentence(Json *json, const char *key, const Buffer *text) {
        json_put_string(json, key, text->n > 0 ? text->text : NULL);
}

/* Writes the sentences, apart from each other and as a list, with a sentence for each stage whose tasks fail. */
static void put_sentences(const PipelineVerdict *verdict, Json *json) {
        scoped(sentences_deinit) Sentences sentences = {};
        scoped(buffer_deinit) Buffer headline = {}, text = {};

        write_headline(verdict, &headline);
        write_sentences(verdict, &sentences);
        put_sentence(json, "headline", &headline);
        put_sentence(json, "sentence", &sentences.limit);
        put_sentence(json, "advice", &sentences.advice);
        buffer_printf(&text, "%s%s%s", sentences.limit.text ?: "", sentences.advice.n > 0 ? " " : "",
                      sentences.advice.text ?: "");
        json_put_array_begin(json, "evidence");
        json_string_n(json, headline.text ?: "", headline.n);
        json_string_n(json, text.text ?: "", text.n);
        for (size_t i = 0; i < verdict->n; i++) {
                double ratio = pipeline_stage_failure_ratio(&verdict->stages[i]);

                if (ratio < FAILURES_WORRYING)
                        continue;
                buffer_clear(&text);
                buffer_printf(&text, "%.1f %% of the tasks of %s failed.", 100 * ratio, verdict->stages[i].name);
                json_string_n(json, text.text ?: "", text.n);
        }
        json_array_end(json);
        if (buffer_error(&headline) < 0 || buffer_error(&sentences.limit) < 0 || buffer_error(&sentences.advice) < 0 ||
            buffer_error(&text) < 0)
                json->out->failed = true;
}

static const char *stage_or_null(const PipelineVerdict *verdict, size_t i) {
        return i < verdict->n ? verdict->stages[i].name : NULL;
}

void pipeline_verdict_put(const PipelineVerdict *verdict, Json *json) {
        const PipelineDiagnosis *diagnosis = &verdict->diagnosis;

        json_put_uint(json, "pipeline", verdict->stages[0].pipeline);
        json_put_string(json, "limit", pipeline_limit_names[diagnosis->limit]);
        json_put_string(json, "stage", stage_or_null(verdict, diagnosis->stage));
        json_put_string(json, "direction", pipeline_direction_names[diagnosis->direction]);
        json_put_string(json, "confidence", pipeline_confidence_names[diagnosis->confidence]);
        json_put_string(json, "next_stage", stage_or_null(verdict, diagnosis->next_stage));
        put_double(json, "wait_share", diagnosis->wait_share);
        json_put_bool(json, "is_wait_bound", diagnosis->is_wait_bound);
        put_double(json, "mean_wait_seconds", diagnosis->mean_wait_s);
        put_double(json, "waited_seconds", waited_s(verdict));
        put_double(json, "first_batch_seconds", verdict->job.first_batch_s);
        put_double(json, "first_wait_seconds", verdict->job.first_wait_s);
        put_double(json, "busy_workers", diagnosis->busy_workers);
        put_sentences(verdict, json);
        json_key(json, "comparison");
        pipeline_comparison_put(&verdict->comparison, verdict->stages, json);
        json_put_array_begin(json, "stages");
        for (size_t i = 0; i < verdict->n; i++)
                put_stage(verdict, i, json);
        json_array_end(json);
}
