/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_diagnosis.h"

#include <math.h>
#include <string.h>

/* --- accounting ------------------------------------------------------------------------------- */

#define EXCESS_MAX 1.2 /* times the declared concurrency: measurement of short intervals */

static double per_second(double sum, const StageQueue *queue) {
        return queue->elapsed_s > 0 ? sum / queue->elapsed_s : NAN;
}

/* Adds up the measured times. */
static double add(double sum, double share) {
        return isnan(share) ? sum : sum + share;
}

static unsigned infer(const PipelineStage *stage, double workers, bool *ret_is_inferred) {
        *ret_is_inferred = stage->concurrency == 0 || workers > EXCESS_MAX * stage->concurrency;
        if (!*ret_is_inferred)
                return stage->concurrency;
        return workers < 1 ? 1 : (unsigned)lround(fmin(workers, 1e6));
}

bool pipeline_diagnosis_account(const PipelineStage *stage, const PipelineStage *input, StageAccounting *ret) {
        double successes = stage->tasks.n - stage->tasks.n_failures, elapsed_s, busy, get, put, n;

        elapsed_s = stage->tasks.elapsed_s > 0 ? stage->tasks.elapsed_s : stage->queue.elapsed_s;
        if (!stage->tasks.is_known || !(elapsed_s > 0))
                return false;
        busy = successes > 0 ? stage->tasks.success_time_s * (stage->tasks.n / successes) / elapsed_s : 0;
        put = per_second(stage->queue.put_s, &stage->queue);
        get = input ? per_second(input->queue.get_s, &input->queue) : 0;
        if (stage->concurrency > 0 && busy > 0) /* failed tasks take no more time than the workers have */
                busy = fmax(stage->tasks.success_time_s / elapsed_s,
                            fmin(busy, stage->concurrency - add(add(0, get), put)));

        *ret = (StageAccounting){ .workers = add(add(busy, get), put) };
        ret->concurrency = infer(stage, ret->workers, &ret->is_inferred);
        n = fmax(ret->concurrency, ret->workers); /* the shares are at most 100 % in total */
        ret->busy = busy / n;
        ret->starved = get / n;
        ret->blocked = put / n;
        return true;
}

/* --- diagnosis -------------------------------------------------------------------------------- */

const char *const pipeline_limit_names[N_PIPELINE_LIMITS] = {
        [PIPELINE_LIMIT_UNKNOWN] = "unknown", [PIPELINE_LIMIT_CONSUMER] = "consumer",
        [PIPELINE_LIMIT_SOURCE] = "source",   [PIPELINE_LIMIT_STAGE] = "stage",
        [PIPELINE_LIMIT_POOL] = "pool",       [PIPELINE_LIMIT_HANDOVER] = "handover",
        [PIPELINE_LIMIT_CPU] = "cpu",         [PIPELINE_LIMIT_LOCK] = "lock",
        [PIPELINE_LIMIT_HOST] = "host",       [PIPELINE_LIMIT_START] = "start",
};

const char *const pipeline_direction_names[N_PIPELINE_DIRECTIONS] = {
        [PIPELINE_DIRECTION_NONE] = "none",
        [PIPELINE_DIRECTION_MORE_CONCURRENCY] = "more concurrency",
        [PIPELINE_DIRECTION_LESS_CONCURRENCY] = "less concurrency",
        [PIPELINE_DIRECTION_FASTER_TASK] = "faster task",
        [PIPELINE_DIRECTION_FASTER_SOURCE] = "faster source",
        [PIPELINE_DIRECTION_MORE_THREADS] = "more threads",
        [PIPELINE_DIRECTION_LARGER_BUFFER] = "larger buffer",
        [PIPELINE_DIRECTION_KEEP_WORKERS] = "keep workers",
        [PIPELINE_DIRECTION_OUTPUT_ORDER] = "output order",
        [PIPELINE_DIRECTION_MORE_CPUS] = "more cpus",
        [PIPELINE_DIRECTION_OTHER_HOST] = "other host",
};

const char *const pipeline_confidence_names[N_PIPELINE_CONFIDENCES] = {
        [PIPELINE_CONFIDENCE_NONE] = "none",
        [PIPELINE_CONFIDENCE_LOW] = "low",
        [PIPELINE_CONFIDENCE_MEDIUM] = "medium",
        [PIPELINE_CONFIDENCE_HIGH] = "high",
};

#define WAIT_SHARE_MIN 0.05   /* of the time: a consumer that waits less is not limited by data */
#define WAIT_S_MIN     50e-6  /* per item: the rule of tf.data for input-bound programs */
#define EMPTY_MIN      0.5    /* of the time: a queue that is empty so long ... */
#define GET_SHARE_MAX  0.1    /* ... and whose gets took less than this part of it was not waited for by get */
#define SHARE_MOST     0.5    /* of the workers' time: the workers are mostly in this state */
#define SHARE_CLEAR    0.75
#define SHARE_SURE     0.9
#define POOL_SHARE     0.9    /* of the threads */
#define QUICK_MAX    0.5    /* of the consumer's wait for an item */
#define BURSTS_SHARE   0.5    /* of the consumer's wait: the first stage waits for the source as long */
#define BLOCKED_MIN                                                                                                    \
        0.1 /* of the time: the last stage waits for room, while the consumer waits for items at other times */

static PipelineConfidence rate(double share) {
        return share >= SHARE_SURE    ? PIPELINE_CONFIDENCE_HIGH
               : share >= SHARE_CLEAR ? PIPELINE_CONFIDENCE_MEDIUM
                                      : PIPELINE_CONFIDENCE_LOW;
}

/* Aggregation and disaggregation keep the order of items, so one worker runs them. */
static bool has_one_worker(const PipelineStage *stage) {
        return strncmp(stage->name, "aggregate", strlen("aggregate")) == 0 ||
               strncmp(stage->name, "disaggregate", strlen("disaggregate")) == 0;
}

typedef struct StageShares {
        size_t busiest, second, first, last; /* indexes of stages with tasks; n: none */
        double busiest_share, second_share;
        size_t saturated;          /* n: none */
        double saturated_share;
        double first_starved, last_blocked;
        double concurrency;  /* of all stages */
        double busy_workers;
} StageShares;

/*
 * A library may take the items for all workers of a stage in one place, as SPDL 0.8 does: then at most one call of
 * get waits at a time, whatever the concurrency, and it waits only while a worker is free.
 */
static double waiting(const StageAccounting *accounting) {
        return isnan(accounting->starved) ? 0 : fmin(1, accounting->starved * accounting->concurrency);
}

/* Finds a stage with neither a free worker nor a wait for room, whatever its task time: the time of failed tasks is
 * not measured. */
static void take_saturation(StageShares *shares, size_t at, const StageAccounting *accounting) {
        double share = 1 - waiting(accounting) - (isnan(accounting->blocked) ? 0 : accounting->blocked);

        if (share <= shares->saturated_share)
                return;
        shares->saturated = at;
        shares->saturated_share = share;
}

static void take_stage(StageShares *shares, size_t at, size_t n, const StageAccounting *accounting) {
        if (shares->first == n) {
                shares->first = at;
                shares->first_starved = waiting(accounting);
        }
        shares->last = at;
        shares->last_blocked = accounting->blocked;
        take_saturation(shares, at, accounting);
        shares->concurrency += accounting->concurrency;
        shares->busy_workers += accounting->busy * accounting->concurrency;

        if (shares->busiest == n || accounting->busy > shares->busiest_share) {
                shares->second = shares->busiest;
                shares->second_share = shares->busiest_share;
                shares->busiest = at;
                shares->busiest_share = accounting->busy;
        } else if (shares->second == n || accounting->busy > shares->second_share) {
                shares->second = at;
                shares->second_share = accounting->busy;
        }
}

static StageShares collect(const PipelineStage *stages, size_t n) {
        StageShares shares = { .busiest = n, .second = n, .first = n, .last = n, .saturated = n };
        StageAccounting accounting;

        for (size_t i = 0; i < n; i++)
                if (pipeline_diagnosis_account(&stages[i], i > 0 ? &stages[i - 1] : NULL, &accounting))
                        take_stage(&shares, i, n, &accounting);
        return shares;
}

/* If the queue of the source has items most of the time, the first stage does not wait for the source: the event
 * loop may be late. */
static bool is_source_slow(const PipelineStage *stages, size_t n, const StageShares *shares) {
        double readiness;

        if (shares->first == n || !(shares->first_starved >= SHARE_MOST))
                return false;
        return shares->first == 0 ||
               pipeline_stage_readiness(&stages[shares->first - 1], &readiness) != PIPELINE_READINESS_KNOWN ||
               readiness < SHARE_MOST;
}

static PipelineConfidence at_most(PipelineConfidence confidence, PipelineConfidence limit) {
        return confidence < limit ? confidence : limit;
}

static size_t find_stage(const PipelineStage *stages, size_t n, const char *name) {
        size_t i = 0;

        while (i < n && strcmp(stages[i].name, name) != 0)
                i++;
        return i;
}

/* Finds a pool of threads that is full. Without knowledge of what runs there, tasks of all stages are taken to. */
static bool find_pool(PipelineDiagnosis *diagnosis, const PipelineStage *stages, size_t n, const StageShares *shares,
                      const PipelineProcess *process) {
        double share = process->n_threads > 0 && shares->concurrency > process->n_threads
                               ? shares->busy_workers / process->n_threads
                               : 0;
        const PipelinePool *fullest = NULL;

        for (size_t i = 0; i < process->n_pools; i++) {
                const PipelinePool *pool = &process->pools[i];

                if (pool->waiting >= SHARE_MOST && (!fullest || pool->waiting > fullest->waiting))
                        fullest = pool;
        }
        if (!fullest && (process->knows_pools || share < POOL_SHARE))
                return false;

        diagnosis->limit = PIPELINE_LIMIT_POOL;
        diagnosis->direction = PIPELINE_DIRECTION_MORE_THREADS;
        diagnosis->confidence = rate(fullest ? fullest->waiting : share);
        diagnosis->pool_threads = fullest ? fullest->n_threads : process->n_threads;
        diagnosis->pool_waiting = fullest ? fullest->waiting : NAN;
        if (fullest && fullest->stage[0])
                diagnosis->stage = find_stage(stages, n, fullest->stage);
        return true;
}

/* Workers that are free although items wait, and whose output has no room problem: a slow item holds back the later
 * ones, which are ready. */
static bool is_held_back(const PipelineStage *stages, size_t n, const StageShares *shares,
                         const PipelineProcess *process) {
        size_t i = shares->saturated;

        return i < n && shares->saturated_share >= SHARE_MOST && stages[i].order < 64 &&
               (process->in_order >> stages[i].order & 1);
}

/* The loop itself runs the tasks, while it waits. */
static bool loop_runs(const PipelineStage *stage, const PipelineProcess *process) {
        return process->is_loader && stage->concurrency == 0;
}

/* Items that come in bursts: while the first stage waits for them, the consumer waits, too. */
static bool is_source_bursty(const PipelineDiagnosis *diagnosis, const StageShares *shares) {
        return shares->first_starved >= BURSTS_SHARE * diagnosis->wait_share;
}

/* Sets the limit of a pipeline for which the consumer waits. */
static void find_limit(PipelineDiagnosis *diagnosis, const PipelineStage *stages, size_t n, const StageShares *shares,
                       const PipelineProcess *process) {
        bool takes_turns = shares->busiest_share < SHARE_SURE && shares->last_blocked >= BLOCKED_MIN &&
                           !diagnosis->is_wait_bound;
        bool is_in_loop = loop_runs(&stages[shares->busiest], process);

        if (find_pool(diagnosis, stages, n, shares, process))
                return;
        if (takes_turns && is_source_bursty(diagnosis, shares)) {
                diagnosis->limit = PIPELINE_LIMIT_SOURCE;
                diagnosis->stage = shares->first > 0 ? shares->first - 1 : n;
                diagnosis->direction = PIPELINE_DIRECTION_FASTER_SOURCE;
                diagnosis->confidence = PIPELINE_CONFIDENCE_MEDIUM;
        } else if (takes_turns) {
                /* Each side waits for the other in turn: more workers of any stage would wait for room, too. */
                diagnosis->limit = PIPELINE_LIMIT_HANDOVER;
                diagnosis->stage = n - 1;
                diagnosis->direction = PIPELINE_DIRECTION_LARGER_BUFFER;
                diagnosis->confidence = shares->last_blocked >= SHARE_SURE ? PIPELINE_CONFIDENCE_MEDIUM
                                                                           : PIPELINE_CONFIDENCE_LOW;
        } else if (shares->busiest_share >= SHARE_MOST || is_in_loop) {
                diagnosis->limit = PIPELINE_LIMIT_STAGE;
                diagnosis->stage = shares->busiest;
                diagnosis->next_stage = shares->second;
                diagnosis->confidence = rate(fmax(shares->busiest_share, SHARE_CLEAR * is_in_loop));
                diagnosis->direction = has_one_worker(&stages[shares->busiest]) ? PIPELINE_DIRECTION_FASTER_TASK
                                                                                : PIPELINE_DIRECTION_MORE_CONCURRENCY;
        } else if (is_source_slow(stages, n, shares)) {
                diagnosis->limit = PIPELINE_LIMIT_SOURCE;
                diagnosis->stage = shares->first > 0 ? shares->first - 1 : n;
                diagnosis->direction = PIPELINE_DIRECTION_FASTER_SOURCE;
                diagnosis->confidence = rate(shares->first_starved);
        } else if (is_held_back(stages, n, shares, process)) {
                diagnosis->limit = PIPELINE_LIMIT_STAGE;
                diagnosis->stage = shares->saturated;
                diagnosis->direction = PIPELINE_DIRECTION_OUTPUT_ORDER;
                diagnosis->confidence = at_most(rate(shares->saturated_share), PIPELINE_CONFIDENCE_MEDIUM);
        } else if (shares->saturated < n && shares->saturated_share >= SHARE_MOST &&
                   pipeline_stage_failure_ratio(&stages[shares->saturated]) > 0) {
                diagnosis->limit = PIPELINE_LIMIT_STAGE;
                diagnosis->stage = shares->saturated;
                diagnosis->direction = PIPELINE_DIRECTION_MORE_CONCURRENCY;
                diagnosis->confidence = shares->saturated_share >= SHARE_SURE ? PIPELINE_CONFIDENCE_MEDIUM
                                                                              : PIPELINE_CONFIDENCE_LOW;
        } else if (process->is_loader) {
                /* Its workers are idle although the loop waits: for their processes, or for a batch before theirs. */
                bool is_quick = pipeline_stage_mean_time(&stages[shares->busiest]) <
                                QUICK_MAX * diagnosis->mean_wait_s;

                diagnosis->limit = PIPELINE_LIMIT_HANDOVER;
                diagnosis->stage = is_quick ? shares->busiest : n - 1;
                diagnosis->direction = is_quick ? PIPELINE_DIRECTION_LESS_CONCURRENCY
                                                : PIPELINE_DIRECTION_LARGER_BUFFER;
                diagnosis->confidence = is_quick ? PIPELINE_CONFIDENCE_MEDIUM : PIPELINE_CONFIDENCE_LOW;
        }
}

/*
 * Sets how long the consumer waited. SPDL 0.8 takes items from its own queue classes without blocking, so their get
 * time is nearly 0 while the consumer waits. The time in which the queue was empty is what the consumer waited at
 * most.
 */
static void find_wait(PipelineDiagnosis *diagnosis, const PipelineStage *sink) {
        const StageQueue *queue = &sink->queue;
        double readiness;

        diagnosis->wait_share = fmin(1, queue->get_s / queue->elapsed_s);
        if (queue->n_gets > 0)
                diagnosis->mean_wait_s = queue->get_s / queue->n_gets;
        if (pipeline_stage_readiness(sink, &readiness) != PIPELINE_READINESS_KNOWN || 1 - readiness < EMPTY_MIN ||
            diagnosis->wait_share > GET_SHARE_MAX * (1 - readiness))
                return;
        diagnosis->wait_share = 1 - readiness;
        diagnosis->is_wait_bound = true;
        diagnosis->mean_wait_s = NAN;
}

PipelineProcess pipeline_diagnosis_unknown_process(unsigned n_threads) {
        return (PipelineProcess){ .n_threads = n_threads, .cpus_used = NAN, .tasks_cpus = NAN, .waiting_for_cpu = NAN,
                                  .lock_waited = NAN, .lock_held = NAN };
}

PipelineDiagnosis pipeline_diagnosis_of(const PipelineStage *stages, size_t n, const PipelineProcess *process) {
        PipelineDiagnosis ret = { .stage = n, .next_stage = n, .pool_waiting = NAN, .wait_share = NAN,
                                  .mean_wait_s = NAN };
        StageShares shares = collect(stages, n);
        const StageQueue *sink = n > 0 ? &stages[n - 1].queue : NULL;

        ret.busy_workers = shares.busy_workers;
        if (!sink || !(sink->elapsed_s > 0))
                return ret;
        find_wait(&ret, &stages[n - 1]);

        if (sink->n_gets > 0 && (ret.wait_share < WAIT_SHARE_MIN || ret.mean_wait_s <= WAIT_S_MIN)) {
                ret.limit = PIPELINE_LIMIT_CONSUMER;
                ret.confidence = rate(1 - ret.wait_share);
        } else if (shares.busiest < n)
                find_limit(&ret, stages, n, &shares, process);
        if (ret.is_wait_bound && ret.confidence > PIPELINE_CONFIDENCE_LOW)
                ret.confidence--;
        if (ret.direction == PIPELINE_DIRECTION_MORE_CONCURRENCY || ret.direction == PIPELINE_DIRECTION_MORE_THREADS)
                ret.confidence = at_most(ret.confidence, PIPELINE_CONFIDENCE_MEDIUM);
        return ret;
}

/* --- usage of the job ------------------------------------------------------------------------- */

#define CPUS_SHARE    0.8  /* of the CPUs of the job, or of the one CPU that a lock leaves */
#define CPUS_ALL      0.95
#define WAITED_SHARE                                                                                                   \
        0.6 /* of the CPUs of the job is enough if its tasks wait for a CPU half of the time: the job also starts and  \
               ends */
#define WAITED_HALF   0.5
#define ONE_CPU_MAX   1.25
#define LOCK_MOST     0.5 /* of the time: a thread waits for the interpreter's lock */
#define LOCK_SOME     0.2
#define LOCK_LITTLE   0.1
#define LOCK_HELD     0.4 /* of the time, by threads that may give it up before others have waited for long */
#define LOCK_FULL     0.75
#define COMPUTING     0.8 /* CPUs, for each busy worker */
#define TASKS_PER_CPU 1.25 /* fewer tasks do not compete for the CPUs */
#define OTHERS_MIN    0.25 /* of the CPUs of the node: a lower share is usual system activity */
#define NODE_FULL     0.9  /* of the CPUs of the node: waiting tasks take the rest at once */
#define WAITED_MIN    0.1  /* of the time */
#define OTHER_TASKS 2 /* of the job, beside the workers */
#define ON_CPU_MIN 0.5 /* of the time of the busy workers: tasks that sleep or wait for I/O gain little from a CPU */
#define ON_CPU_LIKELY 0.33 /* the same, if the pressure of all tasks of the job tells it */

PipelineJob pipeline_diagnosis_unknown_job(void) {
        return (PipelineJob){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0 };
}

/* Returns the stage with more than one worker that has the most running tasks; n: none. *ret_running: these. */
static size_t find_most_running(const PipelineStage *stages, size_t n, double *ret_running) {
        StageAccounting accounting;
        size_t ret = n;
        double most = 1;

        *ret_running = 0;
        for (size_t i = 0; i < n; i++) {
                if (!pipeline_diagnosis_account(&stages[i], i > 0 ? &stages[i - 1] : NULL, &accounting) ||
                    accounting.concurrency < 2 || accounting.busy * accounting.concurrency <= most)
                        continue;
                most = *ret_running = accounting.busy * accounting.concurrency;
                ret = i;
        }
        return ret;
}

/*
 * Returns how many of n workers wait for a CPU at a time. The kernel measures the share of the time in which at
 * least one task of the job does, for each CPU, and takes the mean: with k tasks on a CPU that wait independently,
 * each for a share w, that is 1 - (1 - w)^k. The tasks are the workers, the training loop, and a thread that hands out
 * the items.
 */
static double count_waiting(const PipelineJob *job, double n) {
        double n_cpus = fmin(n, fmax(1, job->cpus_given));

        return n * (1 - pow(1 - fmin(job->cpu_waited, 0.999), n_cpus / (n + OTHER_TASKS)));
}

/* Returns the share of the time of n workers in which they wait for a CPU. */
static double share_waiting(const PipelineJob *job, const PipelineProcess *process, double n) {
        return isnan(process->waiting_for_cpu) ? count_waiting(job, n) / n
                                               : fmin(1, process->waiting_for_cpu / (n + OTHER_TASKS));
}

/* Returns the share of the time of n workers in which they have or want a CPU; the rest they sleep. */
static double share_on_cpu(const PipelineJob *job, const PipelineProcess *process, double n) {
        return (process->is_loader ? process->tasks_cpus : job->cpus_used) / n + share_waiting(job, process, n);
}

/* Other work on a node with spare CPUs takes nothing from the job, and little from tasks that hardly compute. */
static bool is_host_busy(const PipelineJob *job, const PipelineProcess *process,
                         const PipelineDiagnosis *diagnosis) {
        /* The source has a thread of its own. */
        double n = fmax(1, diagnosis->busy_workers) + (diagnosis->limit == PIPELINE_LIMIT_SOURCE);
        /* Tasks that hardly compute use a thread more, even on a full node. */
        bool is_for_threads = diagnosis->pool_waiting >= SHARE_MOST &&
                              job->cpus_used < ON_CPU_MIN * diagnosis->pool_threads;
        double waited = isnan(process->waiting_for_cpu) ? job->cpu_waited : share_waiting(job, process, n);

        return !is_for_threads && job->cpus_of_others >= OTHERS_MIN * job->cpus_of_node && waited >= WAITED_MIN &&
               job->cpus_used + job->cpus_of_others >= NODE_FULL * job->cpus_of_node &&
               share_on_cpu(job, process, n) >= (isnan(process->waiting_for_cpu) ? ON_CPU_LIKELY : ON_CPU_MIN);
}

static void set_limit(PipelineDiagnosis *diagnosis, PipelineLimit limit, size_t stage, PipelineDirection direction,
                      PipelineConfidence confidence, size_t n) {
        diagnosis->limit = limit;
        diagnosis->stage = stage;
        diagnosis->next_stage = n;
        diagnosis->direction = direction;
        diagnosis->confidence = confidence;
}

/* True if the measured threads wait for the lock that one of them holds while it computes. */
static bool is_lock_held(const PipelineProcess *process) {
        return process->lock_waited >= LOCK_MOST && process->cpus_used >= CPUS_SHARE;
}

/* True if the lock is rarely free, and the process uses one CPU while the loop waits: its threads take turns, but none
 * waits for as long as can be measured. */
static bool is_lock_full(const PipelineProcess *process, double wait_share) {
        return process->lock_held >= LOCK_FULL && process->cpus_used <= ONE_CPU_MAX &&
               process->cpus_used - (1 - wait_share) >= CPUS_SHARE * wait_share;
}

/* True if the tasks mostly compute. */
static bool is_computing(const PipelineProcess *process, const PipelineDiagnosis *diagnosis) {
        return process->tasks_cpus >= COMPUTING * fmax(1, diagnosis->busy_workers) &&
               process->lock_waited < LOCK_LITTLE;
}

/* Rates advice to add workers, threads or room by what is known of the tasks. */
static PipelineConfidence rate_more(const PipelineJob *job, const PipelineProcess *process,
                                    const PipelineDiagnosis *diagnosis, const PipelineStage *stages, size_t n) {
        bool is_sure = is_computing(process, diagnosis) && job->cpus_given - job->cpus_used >= COMPUTING;
        StageAccounting accounting;

        if (process->lock_waited >= LOCK_SOME || process->lock_held >= LOCK_HELD)
                return PIPELINE_CONFIDENCE_LOW;
        if (diagnosis->direction != PIPELINE_DIRECTION_MORE_CONCURRENCY || !is_sure || diagnosis->stage >= n ||
            loop_runs(&stages[diagnosis->stage], process) ||
            !pipeline_diagnosis_account(&stages[diagnosis->stage],
                                        diagnosis->stage > 0 ? &stages[diagnosis->stage - 1] : NULL, &accounting))
                return diagnosis->confidence;
        return rate(accounting.busy);
}

void pipeline_diagnosis_join_job(const PipelineJob *job, const PipelineProcess *process, PipelineDiagnosis *diagnosis,
                                 const PipelineStage *stages, size_t n) {
        double used = isnan(diagnosis->wait_share) ? 0 : job->cpus_used - (1 - diagnosis->wait_share);
        double running;
        size_t most = find_most_running(stages, n, &running);
        bool is_used = used >= CPUS_SHARE * job->cpus_given ||
                       (used >= WAITED_SHARE * job->cpus_given && job->cpu_waited >= WAITED_HALF);
        bool is_full = is_used && diagnosis->busy_workers > TASKS_PER_CPU * job->cpus_given;
        bool is_locked = isnan(process->lock_waited) && used >= CPUS_SHARE && used <= ONE_CPU_MAX &&
                         job->cpus_given > ONE_CPU_MAX && diagnosis->busy_workers >= 2;

        if (diagnosis->limit == PIPELINE_LIMIT_CONSUMER) {
                /* The loop may be slow because the tasks hold the lock. */
                if (process->lock_waited >= LOCK_SOME)
                        diagnosis->confidence = at_most(diagnosis->confidence, PIPELINE_CONFIDENCE_MEDIUM);
                return;
        }
        if (is_lock_held(process))
                /* Tasks of another stage may have it. */
                set_limit(diagnosis, PIPELINE_LIMIT_LOCK, most, most < n ? PIPELINE_DIRECTION_LESS_CONCURRENCY
                                                                        : PIPELINE_DIRECTION_NONE,
                          most == n || diagnosis->busy_workers < running + 1 ? PIPELINE_CONFIDENCE_MEDIUM
                                                                             : PIPELINE_CONFIDENCE_LOW, n);
        else if (is_host_busy(job, process, diagnosis))
                /* A further worker takes CPU time from the other processes, too. */
                set_limit(diagnosis, PIPELINE_LIMIT_HOST, n, PIPELINE_DIRECTION_OTHER_HOST, PIPELINE_CONFIDENCE_LOW, n);
        else if (most < n && is_full)
                set_limit(diagnosis, PIPELINE_LIMIT_CPU, most, PIPELINE_DIRECTION_LESS_CONCURRENCY,
                          share_on_cpu(job, process, diagnosis->busy_workers) >= ON_CPU_MIN
                                  ? PIPELINE_CONFIDENCE_MEDIUM : PIPELINE_CONFIDENCE_LOW, n);
        else if (job->throttled >= PIPELINE_JOB_THROTTLED_MIN && diagnosis->busy_workers > 0)
                set_limit(diagnosis, PIPELINE_LIMIT_CPU, most < n ? most : diagnosis->stage,
                          PIPELINE_DIRECTION_MORE_CPUS, PIPELINE_CONFIDENCE_MEDIUM, n);
        else if (is_lock_full(process, diagnosis->wait_share))
                set_limit(diagnosis, PIPELINE_LIMIT_LOCK, n, PIPELINE_DIRECTION_NONE, PIPELINE_CONFIDENCE_LOW, n);
        else if (most < n && is_locked)
                set_limit(diagnosis, PIPELINE_LIMIT_LOCK, most, PIPELINE_DIRECTION_LESS_CONCURRENCY,
                          PIPELINE_CONFIDENCE_LOW, n);
        else if (diagnosis->direction == PIPELINE_DIRECTION_MORE_CONCURRENCY && is_computing(process, diagnosis) &&
                 job->cpus_used >= CPUS_ALL * job->cpus_given)
                set_limit(diagnosis, PIPELINE_LIMIT_CPU, diagnosis->stage, PIPELINE_DIRECTION_MORE_CPUS,
                          PIPELINE_CONFIDENCE_MEDIUM, n);
        else if (diagnosis->direction == PIPELINE_DIRECTION_MORE_CONCURRENCY ||
                 diagnosis->direction == PIPELINE_DIRECTION_MORE_THREADS ||
                 diagnosis->direction == PIPELINE_DIRECTION_LARGER_BUFFER)
                diagnosis->confidence = rate_more(job, process, diagnosis, stages, n);
        else if (diagnosis->limit == PIPELINE_LIMIT_SOURCE &&
                 (process->cpus_used >= CPUS_SHARE || process->lock_held >= LOCK_HELD))
                /* The handover of items from thread to thread may use this CPU, not the source. */
                diagnosis->confidence = at_most(diagnosis->confidence, PIPELINE_CONFIDENCE_LOW);
}
