/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_stage.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "util/scoped.h"

#define ORDER_MAX 1000000U

/* Reads digits before a colon. Parts of a nested pipeline, "1_2", have the position of their first number. Returns
 * the number of bytes with the colon, or 0. */
static size_t parse_position(const char *text, size_t n, unsigned *ret) {
        unsigned v = 0;
        size_t i = 0;

        while (i < n && isdigit((unsigned char)text[i]) && v < ORDER_MAX)
                v = v * 10 + (unsigned)(text[i++] - '0');
        if (i == 0 || v >= ORDER_MAX)
                return 0;
        while (i < n && (isdigit((unsigned char)text[i]) || text[i] == '_'))
                i++;
        if (i == n || text[i] != ':')
                return 0;
        *ret = v;
        return i + 1;
}

/* Reads "[4]" at the end. Returns the number of bytes that remain without it. */
static size_t parse_concurrency(const char *text, size_t n, unsigned *ret) {
        size_t begin;
        unsigned v = 0;

        if (n < 4 || text[n - 1] != ']')
                return n;
        for (begin = n - 1; begin > 0 && isdigit((unsigned char)text[begin - 1]);)
                begin--;
        if (begin < 2 || begin == n - 1 || text[begin - 1] != '[' || n - begin > 7)
                return n;
        for (size_t i = begin; i < n - 1; i++)
                v = v * 10 + (unsigned)(text[i] - '0');
        *ret = v;
        return begin - 1;
}

bool pipeline_stage_parse(PipelineStage *stage, const char *label, size_t n) {
        PipelineStage parsed = {};
        unsigned second = 0;
        size_t used, more;

        used = parse_position(label, n, &parsed.order);
        if (used == 0)
                return false;
        more = parse_position(label + used, n - used, &second);
        if (more > 0) {
                parsed.pipeline = parsed.order;
                parsed.order = second;
        }
        label += used + more;
        n = parse_concurrency(label, n - used - more, &parsed.concurrency);
        if (n == 0 || n > PIPELINE_STAGE_NAME_MAX || memchr(label, '\0', n))
                return false;
        memcpy(parsed.name, label, n);
        *stage = parsed;
        return true;
}

int pipeline_stage_compare(const void *a, const void *b) {
        const PipelineStage *x = a, *y = b;

        return COMPARE(x->pipeline, y->pipeline) ?: COMPARE(x->order, y->order) ?: strcmp(x->name, y->name);
}

double pipeline_stage_mean_time(const PipelineStage *stage) {
        double n = stage->tasks.n - stage->tasks.n_failures;

        return n > 0 ? stage->tasks.success_time_s / n : NAN;
}

double pipeline_stage_rate(const PipelineStage *stage) {
        return stage->queue.elapsed_s > 0 ? stage->queue.n_gets / stage->queue.elapsed_s : NAN;
}

double pipeline_stage_failure_ratio(const PipelineStage *stage) {
        return stage->tasks.n > 0 ? stage->tasks.n_failures / stage->tasks.n : 0;
}

PipelineReadiness pipeline_stage_readiness(const PipelineStage *stage, double *ret) {
        const StageQueue *queue = &stage->queue;

        if (queue->n_gets > 0 && !(queue->n_last > 0))
                return PIPELINE_READINESS_STALLED;
        if (!(queue->judged_s > 0))
                return PIPELINE_READINESS_NO_DATA;
        *ret = fmin(1, queue->ready_s / queue->judged_s);
        return PIPELINE_READINESS_KNOWN;
}
