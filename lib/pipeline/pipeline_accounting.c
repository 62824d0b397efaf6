/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_accounting.h"

#include <math.h>

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

bool pipeline_accounting_of(const PipelineStage *stage, const PipelineStage *input, StageAccounting *ret) {
        double successes = stage->tasks.n - stage->tasks.n_failures, elapsed_s, busy, get, put, n;

        elapsed_s = stage->tasks.elapsed_s > 0 ? stage->tasks.elapsed_s : stage->queue.elapsed_s;
        if (!stage->tasks.is_known || !(elapsed_s > 0))
                return false;
        busy = successes > 0 ? stage->tasks.success_time_s * (stage->tasks.n / successes) / elapsed_s : 0;
        put = per_second(stage->queue.put_s, &stage->queue);
        get = input ? per_second(input->queue.get_s, &input->queue) : 0;

        *ret = (StageAccounting){ .workers = add(add(busy, get), put) };
        ret->concurrency = infer(stage, ret->workers, &ret->is_inferred);
        n = ret->concurrency;
        ret->busy = busy / n;
        ret->starved = get / n;
        ret->blocked = put / n;
        return true;
}
