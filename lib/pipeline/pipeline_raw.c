/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_raw.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_sketch.h"
#include "util/scoped.h"

#define NS_PER_MS_F 1e6
#define SECONDS(ns) ((double)(ns) / 1e9)

/* Tasks in the open interval. */
typedef struct RawTasks {
        bool is_seen;
        uint64_t begin_ns;
        uint64_t n, n_failures;
        double time_s; /* of the tasks that succeeded, as the sketch */
        PipelineSketch times;
} RawTasks;

/* Calls in the open interval, and the state of the queue. */
typedef struct RawQueue {
        bool is_seen;
        uint64_t begin_ns;
        uint64_t n_puts, n_gets;
        double put_s, get_s;
        PipelineSketch puts, gets;

        bool is_judged;     /* the number of items is known */
        uint64_t judged_ns; /* since when */
        int64_t level;      /* items; negative while the put of an item that was taken is awaited */
        uint64_t short_ns;  /* when the level became negative */
        uint64_t settled_ns, ready_ns; /* ready_ns is right up to settled_ns */
        uint32_t buffer_size;
} RawQueue;

typedef struct RawStage {
        char *label;
        bool is_ended;
        uint64_t end_ns;
        RawTasks tasks;
        RawQueue queue;
} RawStage;

typedef struct RawHeld {
        uint64_t time_ns, sequence;
        RawStage *stage;
        double seconds;
        uint32_t n_items, buffer_size;
        PipelineRawKind kind;
} RawHeld;

struct PipelineRaw {
        uint64_t interval_ns;
        RawStage *stages[PIPELINE_RAW_STAGES_MAX]; /* by label */
        size_t n_stages;
        RawHeld *held; /* heap: the oldest first */
        size_t n_held;
        uint64_t sequence;

        uint64_t newest_ns;    /* of the events */
        uint64_t moved_ns;     /* added to times, since the clock was set back */
        unsigned n_late;       /* in succession */
        uint64_t watermark_ns; /* events up to this time may be counted */
        uint64_t now_ns;       /* events up to this time are counted */

        bool is_begun, is_finishing;
        uint64_t begin_ns;     /* of the open interval */
        bool is_closing;       /* the interval has ended at closed_ns, and is taken from the stages */
        uint64_t closed_ns, closed_ms;
        size_t at;             /* stage and part that is taken next */
        PipelineRawDoubts doubts;
};

int pipeline_raw_new(PipelineRaw **ret, uint64_t interval_ns) {
        PipelineRaw *raw = calloc(1, sizeof(*raw));

        assert(interval_ns >= PIPELINE_RAW_INTERVAL_MIN_NS && interval_ns <= PIPELINE_RAW_INTERVAL_MAX_NS);
        if (!raw)
                return -ENOMEM;
        raw->interval_ns = interval_ns;
        raw->held = calloc(PIPELINE_RAW_HELD_MAX, sizeof(*raw->held));
        if (!raw->held) {
                free(raw);
                return -ENOMEM;
        }
        *ret = raw;
        return 0;
}

static void stage_free(RawStage *stage) {
        free(stage->label);
        free(stage);
}

void pipeline_raw_free(PipelineRaw *raw) {
        if (!raw)
                return;
        for (size_t i = 0; i < raw->n_stages; i++)
                stage_free(raw->stages[i]);
        free(raw->held);
        free(raw);
}

uint64_t pipeline_raw_newest_ns(const PipelineRaw *raw) {
        return raw->newest_ns - raw->moved_ns;
}

PipelineRawDoubts pipeline_raw_doubts(const PipelineRaw *raw) {
        return raw->doubts;
}

static uint64_t later(uint64_t a, uint64_t b) {
        return a > b ? a : b;
}

/* --- events in order ------------------------------------------------------------------------------ */

static bool is_before(const RawHeld *a, const RawHeld *b) {
        if (a->time_ns != b->time_ns)
                return a->time_ns < b->time_ns;
        return a->kind != b->kind ? a->kind < b->kind : a->sequence < b->sequence;
}

static void hold(PipelineRaw *raw, const RawHeld *event) {
        size_t at = raw->n_held++;

        for (; at > 0 && is_before(event, &raw->held[(at - 1) / 2]); at = (at - 1) / 2)
                raw->held[at] = raw->held[(at - 1) / 2];
        raw->held[at] = *event;
}

static RawHeld take_oldest(PipelineRaw *raw) {
        RawHeld oldest = raw->held[0], last = raw->held[--raw->n_held];
        size_t at = 0;

        for (;;) {
                size_t child = 2 * at + 1;

                if (child + 1 < raw->n_held && is_before(&raw->held[child + 1], &raw->held[child]))
                        child++;
                if (child >= raw->n_held || !is_before(&raw->held[child], &last))
                        break;
                raw->held[at] = raw->held[child];
                at = child;
        }
        raw->held[at] = last;
        return oldest;
}

/* Returns the stage, which is added if it is new. */
static int find_stage(PipelineRaw *raw, const char *label, RawStage **ret) {
        size_t begin = 0, end = raw->n_stages;
        RawStage *stage;

        while (begin < end) {
                size_t middle = (begin + end) / 2;
                int order = strcmp(label, raw->stages[middle]->label);

                if (order == 0) {
                        *ret = raw->stages[middle];
                        return 0;
                }
                if (order < 0)
                        end = middle;
                else
                        begin = middle + 1;
        }
        if (raw->n_stages == PIPELINE_RAW_STAGES_MAX)
                return PIPELINE_RAW_TOO_MANY_STAGES;

        stage = calloc(1, sizeof(*stage));
        if (!stage)
                return -ENOMEM;
        stage->label = strdup(label);
        if (!stage->label) {
                free(stage);
                return -ENOMEM;
        }
        memmove(&raw->stages[begin + 1], &raw->stages[begin], (raw->n_stages - begin) * sizeof(*raw->stages));
        raw->stages[begin] = *ret = stage;
        raw->n_stages++;
        return 0;
}

static bool is_late(const PipelineRaw *raw, uint64_t time_ns) {
        return raw->newest_ns > PIPELINE_RAW_TOLERANCE_NS && time_ns < raw->newest_ns - PIPELINE_RAW_TOLERANCE_NS;
}

int pipeline_raw_add(PipelineRaw *raw, const PipelineRawEvent *event) {
        RawHeld held = {
                .time_ns = event->time_ns + raw->moved_ns, .sequence = raw->sequence++, .kind = event->kind, .seconds = event->seconds,
                .n_items = event->n_items, .buffer_size = event->buffer_size,
        };
        int r;

        assert(!raw->is_finishing && raw->n_held < PIPELINE_RAW_HELD_MAX && event->kind < N_PIPELINE_RAW_KINDS);
        assert(event->seconds >= 0 && event->seconds <= PIPELINE_RAW_SECONDS_MAX);
        if (is_late(raw, held.time_ns)) {
                if (++raw->n_late < PIPELINE_RAW_LATE_MAX)
                        return PIPELINE_RAW_LATE;
                raw->moved_ns += raw->newest_ns - held.time_ns;
                held.time_ns = raw->newest_ns;
                raw->doubts.n_steps_back++;
        }
        raw->n_late = 0;
        r = find_stage(raw, event->stage, &held.stage);
        if (r != 0)
                return r;

        raw->newest_ns = later(raw->newest_ns, held.time_ns);
        hold(raw, &held);
        if (raw->newest_ns > PIPELINE_RAW_TOLERANCE_NS)
                raw->watermark_ns = later(raw->watermark_ns, raw->newest_ns - PIPELINE_RAW_TOLERANCE_NS);
        if (raw->n_held == PIPELINE_RAW_HELD_MAX)
                raw->watermark_ns = later(raw->watermark_ns, raw->held[0].time_ns);
        return 0;
}

void pipeline_raw_advance(PipelineRaw *raw, uint64_t time_ns) {
        raw->watermark_ns = later(raw->watermark_ns, time_ns + raw->moved_ns);
}

void pipeline_raw_finish(PipelineRaw *raw, uint64_t time_ns) {
        raw->watermark_ns = later(raw->watermark_ns, later(raw->newest_ns, time_ns > 0 ? time_ns + raw->moved_ns : 0));
        raw->is_finishing = true;
}

/* --- counting ------------------------------------------------------------------------------------- */

/* Treats an item that was never put as an item that was in the queue when the interval began. */
static void settle_unmatched(PipelineRaw *raw, RawStage *stage) {
        RawQueue *queue = &stage->queue;
        uint64_t from_ns = later(queue->begin_ns, queue->judged_ns);

        raw->doubts.n_unmatched += (uint64_t)-queue->level;
        raw->doubts.unmatched = stage->label;
        if (queue->is_judged && queue->short_ns > from_ns)
                queue->ready_ns = queue->short_ns - from_ns;
        queue->level = 0;
}

/* Counts the time up to time_ns. */
static void settle_queue(PipelineRaw *raw, RawStage *stage, uint64_t time_ns) {
        RawQueue *queue = &stage->queue;

        if (queue->level > 0 && time_ns > queue->settled_ns)
                queue->ready_ns += time_ns - queue->settled_ns;
        queue->settled_ns = later(queue->settled_ns, time_ns);
        if (queue->is_judged && queue->level < 0 && time_ns > queue->short_ns + PIPELINE_RAW_TOLERANCE_NS)
                settle_unmatched(raw, stage);
}

/* Judges the readiness from the first put on, or from the start of the interval if no item was taken much earlier. */
static void begin_to_judge(PipelineRaw *raw, RawStage *stage, uint64_t time_ns) {
        RawQueue *queue = &stage->queue;

        queue->is_judged = true;
        queue->judged_ns = queue->begin_ns;
        if (queue->level < 0 && time_ns > queue->short_ns + PIPELINE_RAW_TOLERANCE_NS) {
                queue->judged_ns = time_ns;
                settle_unmatched(raw, stage);
        }
}

static void count_put(PipelineRaw *raw, RawStage *stage, const RawHeld *event) {
        RawQueue *queue = &stage->queue;

        if (!queue->is_judged)
                begin_to_judge(raw, stage, event->time_ns);
        queue->level++;
        queue->n_puts++;
        queue->put_s += event->seconds;
        pipeline_sketch_add(&queue->puts, event->seconds);
}

static void count_get(RawQueue *queue, const RawHeld *event) {
        if (queue->level == 0)
                queue->short_ns = event->time_ns;
        queue->level--;
        queue->n_gets++;
        queue->get_s += event->seconds;
        pipeline_sketch_add(&queue->gets, event->seconds);
}

static void count_task(RawTasks *tasks, const RawHeld *event) {
        tasks->n++;
        if (event->kind == PIPELINE_RAW_FAILED_TASK) {
                tasks->n_failures++;
                return;
        }
        tasks->time_s += event->seconds;
        pipeline_sketch_add(&tasks->times, event->seconds);
}

static void set_level(RawQueue *queue, const RawHeld *event) {
        queue->level = event->n_items;
        if (!queue->is_judged)
                queue->judged_ns = event->time_ns;
        queue->is_judged = true;
}

/* Returns the start of a stage whose first event this is: that of the call, but not before the open interval. */
static uint64_t find_begin(const PipelineRaw *raw, const RawHeld *event) {
        uint64_t duration_ns = (uint64_t)(event->seconds * 1e9);

        return later(raw->begin_ns, event->time_ns > duration_ns ? event->time_ns - duration_ns : 0);
}

static void count(PipelineRaw *raw, const RawHeld *event) {
        RawStage *stage = event->stage;
        RawQueue *queue = &stage->queue;

        stage->is_ended = event->kind == PIPELINE_RAW_END;
        if (stage->is_ended) {
                stage->end_ns = event->time_ns;
                return;
        }
        if (event->kind == PIPELINE_RAW_TASK || event->kind == PIPELINE_RAW_FAILED_TASK) {
                if (!stage->tasks.is_seen)
                        stage->tasks.begin_ns = find_begin(raw, event);
                stage->tasks.is_seen = true;
                count_task(&stage->tasks, event);
                return;
        }

        if (!queue->is_seen)
                queue->begin_ns = queue->settled_ns = find_begin(raw, event);
        queue->is_seen = true;
        queue->buffer_size = event->buffer_size ?: queue->buffer_size;
        settle_queue(raw, stage, event->time_ns);
        if (event->kind == PIPELINE_RAW_PUT)
                count_put(raw, stage, event);
        else if (event->kind == PIPELINE_RAW_GET)
                count_get(queue, event);
        else
                set_level(queue, event);
}

/* --- intervals ------------------------------------------------------------------------------------ */

static double mean(double sum, uint64_t n) {
        return n > 0 ? sum / (double)n : 0;
}

static uint64_t since(uint64_t end_ns, uint64_t begin_ns) {
        return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static bool take_tasks(RawStage *stage, uint64_t end_ns, PipelineInterval *ret) {
        RawTasks *tasks = &stage->tasks;

        if (!tasks->is_seen || (tasks->n == 0 && end_ns <= tasks->begin_ns))
                return false;
        ret->sums = (PipelineSums){
                .elapsed_s = SECONDS(since(end_ns, tasks->begin_ns)), .n = (double)tasks->n, .n_failures = (double)tasks->n_failures,
                .time_s = tasks->time_s,
        };
        ret->percentiles = (PipelinePercentiles){
                .p90_s = pipeline_sketch_percentile(&tasks->times, 0.9), .p99_s = pipeline_sketch_percentile(&tasks->times, 0.99),
        };
        *tasks = (RawTasks){ .is_seen = true, .begin_ns = end_ns };
        return true;
}

/* The times of put are sums over as many calls as there were gets, by the mean of the puts: SPDL's definition. */
static bool take_queue(PipelineRaw *raw, RawStage *stage, uint64_t end_ns, PipelineInterval *ret) {
        RawQueue *queue = &stage->queue;

        if (!queue->is_seen || (queue->n_puts + queue->n_gets == 0 && end_ns <= queue->begin_ns))
                return false;
        settle_queue(raw, stage, end_ns);
        ret->buffer_size = queue->buffer_size;
        ret->sums = (PipelineSums){
                .elapsed_s = SECONDS(since(end_ns, queue->begin_ns)), .n = (double)queue->n_gets, .get_s = queue->get_s,
                .time_s = mean(queue->put_s, queue->n_puts) * (double)queue->n_gets,
        };
        if (queue->is_judged) {
                ret->sums.judged_s = SECONDS(since(end_ns, later(queue->begin_ns, queue->judged_ns)));
                ret->sums.ready_s = SECONDS(queue->ready_ns);
        }
        ret->percentiles = (PipelinePercentiles){
                .p90_s = pipeline_sketch_percentile(&queue->puts, 0.9), .p99_s = pipeline_sketch_percentile(&queue->puts, 0.99),
                .get_p90_s = pipeline_sketch_percentile(&queue->gets, 0.9), .get_p99_s = pipeline_sketch_percentile(&queue->gets, 0.99),
        };

        queue->begin_ns = queue->settled_ns = end_ns;
        queue->n_puts = queue->n_gets = queue->ready_ns = 0;
        queue->put_s = queue->get_s = 0;
        queue->puts = queue->gets = (PipelineSketch){};
        return true;
}

static void close_interval(PipelineRaw *raw, uint64_t end_ns) {
        raw->is_closing = true;
        raw->closed_ns = end_ns;
        raw->closed_ms = later((uint64_t)((double)end_ns / NS_PER_MS_F + 0.5), raw->closed_ms + 1); /* each interval has its own */
        raw->at = 0;
}

/* Takes the next part of the interval that has ended. */
static bool take_part(PipelineRaw *raw, PipelineInterval *ret) {
        while (raw->at < raw->n_stages * N_PIPELINE_PARTS) {
                RawStage *stage = raw->stages[raw->at / N_PIPELINE_PARTS];
                PipelinePart part = raw->at % N_PIPELINE_PARTS;
                bool is_ended = stage->is_ended && stage->end_ns <= raw->closed_ns, is_taken;
                uint64_t end_ns = is_ended ? stage->end_ns : raw->closed_ns;

                *ret = (PipelineInterval){ .stage = stage->label, .part = part, .end_ms = raw->closed_ms };
                is_taken = part == PIPELINE_TASKS ? take_tasks(stage, end_ns, ret) : take_queue(raw, stage, end_ns, ret);
                if (is_ended)
                        *(part == PIPELINE_TASKS ? &stage->tasks.is_seen : &stage->queue.is_seen) = false;
                raw->at++;
                if (is_taken)
                        return true;
        }
        raw->is_closing = false;
        raw->begin_ns = raw->closed_ns;
        return false;
}

/* Lets the open interval begin at the time of the event after a jump of the clock. The jump is not measured. */
static void jump(PipelineRaw *raw, uint64_t time_ns) {
        raw->doubts.n_jumps++;
        raw->begin_ns = time_ns;
        for (size_t i = 0; i < raw->n_stages; i++) {
                RawStage *stage = raw->stages[i];

                stage->tasks.begin_ns = stage->queue.begin_ns = stage->queue.settled_ns = time_ns;
        }
}

static void begin(PipelineRaw *raw, const RawHeld *first) {
        uint64_t duration_ns = (uint64_t)(first->seconds * 1e9);

        if (duration_ns > raw->interval_ns)
                duration_ns = raw->interval_ns;
        raw->is_begun = true;
        raw->now_ns = raw->begin_ns = first->time_ns > duration_ns ? first->time_ns - duration_ns : 0;
}

/* Lets time pass to `time_ns`. Returns true if an interval ends before. */
static bool pass_time(PipelineRaw *raw, uint64_t time_ns) {
        uint64_t end_ns = raw->begin_ns + raw->interval_ns;

        if (time_ns > end_ns && raw->now_ns == raw->begin_ns && time_ns - end_ns > PIPELINE_RAW_GAP_MAX * raw->interval_ns) {
                jump(raw, time_ns);
                end_ns = time_ns + raw->interval_ns;
        }
        if (time_ns > end_ns) {
                close_interval(raw, end_ns);
                raw->now_ns = end_ns;
                return true;
        }
        raw->now_ns = later(raw->now_ns, time_ns);
        return false;
}

bool pipeline_raw_next(PipelineRaw *raw, PipelineInterval *ret) {
        for (;;) {
                bool has_event = raw->n_held > 0 && raw->held[0].time_ns <= raw->watermark_ns;
                RawHeld event;

                if (raw->is_closing) {
                        if (take_part(raw, ret))
                                return true;
                        continue;
                }
                if (!raw->is_begun) {
                        if (!has_event)
                                return false;
                        begin(raw, &raw->held[0]);
                }
                if (pass_time(raw, has_event ? raw->held[0].time_ns : raw->watermark_ns))
                        continue;
                if (has_event) {
                        event = take_oldest(raw);
                        event.time_ns = raw->now_ns;
                        count(raw, &event);
                } else if (raw->is_finishing && raw->begin_ns <= raw->watermark_ns && raw->closed_ns != raw->watermark_ns) {
                        close_interval(raw, raw->watermark_ns);
                } else
                        return false;
        }
}
