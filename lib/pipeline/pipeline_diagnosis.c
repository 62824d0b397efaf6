/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_diagnosis.h"

#include <math.h>
#include <string.h>

const char *const pipeline_limit_names[N_PIPELINE_LIMITS] = {
        [PIPELINE_LIMIT_UNKNOWN] = "unknown", [PIPELINE_LIMIT_CONSUMER] = "consumer", [PIPELINE_LIMIT_SOURCE] = "source",
        [PIPELINE_LIMIT_STAGE] = "stage",     [PIPELINE_LIMIT_POOL] = "pool",         [PIPELINE_LIMIT_HANDOVER] = "handover",
        [PIPELINE_LIMIT_CPU] = "cpu",         [PIPELINE_LIMIT_LOCK] = "lock",         [PIPELINE_LIMIT_HOST] = "host",
};

const char *const pipeline_direction_names[N_PIPELINE_DIRECTIONS] = {
        [PIPELINE_DIRECTION_NONE] = "none",
        [PIPELINE_DIRECTION_MORE_CONCURRENCY] = "more concurrency",
        [PIPELINE_DIRECTION_LESS_CONCURRENCY] = "less concurrency",
        [PIPELINE_DIRECTION_FASTER_TASK] = "faster task",
        [PIPELINE_DIRECTION_FASTER_SOURCE] = "faster source",
        [PIPELINE_DIRECTION_MORE_THREADS] = "more threads",
        [PIPELINE_DIRECTION_LARGER_BUFFER] = "larger buffer",
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
#define BLOCKED_MIN    0.1    /* of the time: the last stage waits for room, while the consumer waits for items at other times */

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
 * A library may take the items for all workers of a stage in one place, as SPDL 0.8 does: then at most one call of get waits at a time,
 * whatever the concurrency, and it waits only while a worker is free.
 */
static double waiting(const StageAccounting *accounting) {
        return isnan(accounting->starved) ? 0 : fmin(1, accounting->starved * accounting->concurrency);
}

/* Finds a stage with neither a free worker nor a wait for room, whatever its task time: the time of failed tasks is not measured. */
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
                if (pipeline_accounting_of(&stages[i], i > 0 ? &stages[i - 1] : NULL, &accounting))
                        take_stage(&shares, i, n, &accounting);
        return shares;
}

/* If the queue of the source has items most of the time, the first stage does not wait for the source: the event loop may be late. */
static bool is_source_slow(const PipelineStage *stages, size_t n, const StageShares *shares) {
        double readiness;

        if (shares->first == n || !(shares->first_starved >= SHARE_MOST))
                return false;
        return shares->first == 0 || pipeline_stage_readiness(&stages[shares->first - 1], &readiness) != PIPELINE_READINESS_KNOWN ||
               readiness < SHARE_MOST;
}

/* Sets the limit of a pipeline for which the consumer waits. */
static void find_limit(PipelineDiagnosis *diagnosis, const PipelineStage *stages, size_t n, const StageShares *shares, unsigned n_threads) {
        if (n_threads > 0 && shares->concurrency > n_threads && shares->busy_workers >= POOL_SHARE * n_threads) {
                diagnosis->limit = PIPELINE_LIMIT_POOL;
                diagnosis->direction = PIPELINE_DIRECTION_MORE_THREADS;
                diagnosis->confidence = rate(shares->busy_workers / n_threads);
        } else if (shares->busiest_share < SHARE_SURE && shares->last_blocked >= BLOCKED_MIN && !diagnosis->is_wait_bound) {
                /* Each side waits for the other in turn: more workers of any stage would wait for room, too. */
                diagnosis->limit = PIPELINE_LIMIT_HANDOVER;
                diagnosis->stage = n - 1;
                diagnosis->direction = PIPELINE_DIRECTION_LARGER_BUFFER;
                diagnosis->confidence = shares->last_blocked >= SHARE_SURE ? PIPELINE_CONFIDENCE_MEDIUM : PIPELINE_CONFIDENCE_LOW;
        } else if (shares->busiest_share >= SHARE_MOST) {
                diagnosis->limit = PIPELINE_LIMIT_STAGE;
                diagnosis->stage = shares->busiest;
                diagnosis->next_stage = shares->second;
                diagnosis->confidence = rate(shares->busiest_share);
                diagnosis->direction = has_one_worker(&stages[shares->busiest]) ? PIPELINE_DIRECTION_FASTER_TASK
                                                                                : PIPELINE_DIRECTION_MORE_CONCURRENCY;
        } else if (is_source_slow(stages, n, shares)) {
                diagnosis->limit = PIPELINE_LIMIT_SOURCE;
                diagnosis->stage = shares->first > 0 ? shares->first - 1 : n;
                diagnosis->direction = PIPELINE_DIRECTION_FASTER_SOURCE;
                diagnosis->confidence = rate(shares->first_starved);
        } else if (shares->saturated < n && shares->saturated_share >= SHARE_MOST &&
                   pipeline_stage_failure_ratio(&stages[shares->saturated]) > 0) {
                diagnosis->limit = PIPELINE_LIMIT_STAGE;
                diagnosis->stage = shares->saturated;
                diagnosis->direction = PIPELINE_DIRECTION_MORE_CONCURRENCY;
                diagnosis->confidence = shares->saturated_share >= SHARE_SURE ? PIPELINE_CONFIDENCE_MEDIUM : PIPELINE_CONFIDENCE_LOW;
        }
}

/*
 * Sets how long the consumer waited. SPDL 0.8 takes items from its own queue classes without blocking, so their get time is nearly 0 while
 * the consumer waits. The time in which the queue was empty is what the consumer waited at most.
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

PipelineDiagnosis pipeline_diagnosis_of(const PipelineStage *stages, size_t n, unsigned n_threads) {
        PipelineDiagnosis ret = { .stage = n, .next_stage = n, .wait_share = NAN, .mean_wait_s = NAN };
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
                find_limit(&ret, stages, n, &shares, n_threads);
        if (ret.is_wait_bound && ret.confidence > PIPELINE_CONFIDENCE_LOW)
                ret.confidence--;
        return ret;
}
