/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorder of libperfd
 *
 * A lock protects the events and the intervals that have ended. The call that sends moves the intervals out first, so that no other call
 * waits for perfd.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "client/wire/libperfd.h"
#include "pipeline/pipeline_pending.h"
#include "pipeline/pipeline_raw.h"
#include "util/clock.h"
#include "util/lock.h"

#define INTERVAL_S_DEFAULT 5.0
#define PRODUCER "libperfd " PERFD_VERSION
/* While perfd cannot be reached, at most one part in ten of the time is spent on sending. */
#define PAUSE_PARTS 9U

struct PerfdPipeline {
        PerfdClient *client;
        char *job;               /* owned; NULL: that of this process */
        uint64_t epoch_ns;       /* Unix time of zero of the monotonic clock, when the recorder was made */
        pthread_mutex_t lock;    /* of the following members */
        PipelineRaw *raw;
        PipelinePending ended;   /* intervals that no call sends yet */
        uint64_t sending_ns;     /* when the next attempt may be made */
        bool is_sending;
        PipelinePending outgoing; /* of the call that sends; oldest intervals */
};

static void pipeline_free(PerfdPipeline *pipeline) {
        pipeline_raw_free(pipeline->raw);
        pipeline_pending_deinit(&pipeline->ended);
        pipeline_pending_deinit(&pipeline->outgoing);
        pthread_mutex_destroy(&pipeline->lock);
        free(pipeline->job);
        free(pipeline);
}

DEFINE_SCOPED(PerfdPipeline, pipeline_free);

int perfd_pipeline_open(PerfdPipeline **ret, PerfdClient *client, const char *job, double interval_s) {
        scoped(pipeline_freep) PerfdPipeline *pipeline = NULL;
        double interval_ns = (interval_s == 0 ? INTERVAL_S_DEFAULT : interval_s) * 1e9;

        if (!client || !(interval_ns >= (double)PIPELINE_RAW_INTERVAL_MIN_NS && interval_ns <= (double)PIPELINE_RAW_INTERVAL_MAX_NS))
                return PERFD_INVALID;

        pipeline = calloc(1, sizeof(*pipeline));
        if (!pipeline)
                return -ENOMEM;
        pipeline->client = client;
        pipeline->epoch_ns = clock_realtime_ns() - clock_boottime_ns();
        pthread_mutex_init(&pipeline->lock, NULL);
        if (pipeline_raw_new(&pipeline->raw, (uint64_t)interval_ns) < 0)
                return -ENOMEM;
        if (job && !(pipeline->job = strdup(job)))
                return -ENOMEM;
        *ret = TAKE(pipeline);
        return 0;
}

/* --- sending -------------------------------------------------------------------------------------- */

/* Moves the ended intervals to those that are sent. The caller holds the lock. */
static int move_ended(PerfdPipeline *pipeline) {
        PipelinePending *ended = &pipeline->ended;
        int r = 0;

        for (size_t i = 0; r == 0 && i < ended->n_intervals; i++)
                r = pipeline_pending_add_interval(&pipeline->outgoing, &ended->intervals[i]);
        if (r == 0)
                pipeline_pending_deinit(ended);
        return r;
}

/* Begins to send, unless another call does. Returns 0, < 0, or 1 if there is nothing to do. */
static int begin_to_send(PerfdPipeline *pipeline) {
        int r;

        LOCKED(&pipeline->lock);

        if (pipeline->is_sending)
                return 1;
        r = move_ended(pipeline);
        if (r == 0)
                r = pipeline_pending_is_empty(&pipeline->outgoing);
        pipeline->is_sending = r == 0;
        return r;
}

static bool may_succeed_later(int r) {
        return r < 0 || r == PERFD_UNAVAILABLE || r == PERFD_QUOTA;
}

static void end_sending(PerfdPipeline *pipeline, int r, uint64_t began_ns) {
        uint64_t now_ns = clock_boottime_ns();

        LOCKED(&pipeline->lock);

        pipeline->is_sending = false;
        pipeline->sending_ns = may_succeed_later(r) ? now_ns + PAUSE_PARTS * (now_ns - began_ns) : now_ns;
}

/* Sends one report. What perfd refuses for good is dropped. */
static int send_report(PerfdPipeline *pipeline) {
        uint64_t began_ns = clock_boottime_ns();
        PipelineReport report;
        int r = begin_to_send(pipeline);

        if (r != 0)
                return r < 0 ? r : 0;
        report = pipeline_pending_report(&pipeline->outgoing);
        report.producer = PRODUCER;
        r = libperfd_send_report(pipeline->client, pipeline->job, &report);
        if (!may_succeed_later(r))
                pipeline_pending_remove(&pipeline->outgoing, &report);
        end_sending(pipeline, r, began_ns);
        return r == PERFD_DUPLICATE ? 0 : r;
}

/* --- recording ------------------------------------------------------------------------------------ */

/* Takes the intervals that have ended. The caller holds the lock. */
static int take_intervals(PerfdPipeline *pipeline) {
        PipelineInterval interval;
        int r = 0;

        while (r == 0 && pipeline_raw_next(pipeline->raw, &interval))
                r = pipeline_pending_add_interval(&pipeline->ended, &interval);
        return r;
}

/* Lets the time pass to the present. The caller holds the lock. */
static int pass_time(PerfdPipeline *pipeline, uint64_t now_ns) {
        pipeline_raw_advance(pipeline->raw, pipeline->epoch_ns + now_ns);
        return take_intervals(pipeline);
}

/* The order of events is that in which they get the lock. Returns 0, < 0, or a status; *ret_is_due: there is something to send. */
static int add_event(PerfdPipeline *pipeline, PipelineRawEvent *event, bool *ret_is_due) {
        uint64_t now_ns;
        int r;

        LOCKED(&pipeline->lock);

        now_ns = clock_boottime_ns();
        event->time_ns = pipeline->epoch_ns + now_ns;
        r = pipeline_raw_add(pipeline->raw, event);
        if (r == PIPELINE_RAW_TOO_MANY_STAGES)
                return PERFD_QUOTA;
        if (r != 0)
                return r < 0 ? r : PERFD_INVALID;
        r = pass_time(pipeline, now_ns);
        *ret_is_due = now_ns >= pipeline->sending_ns && !pipeline->is_sending &&
                      !(pipeline_pending_is_empty(&pipeline->ended) && pipeline_pending_is_empty(&pipeline->outgoing));
        return r;
}

static int record(PerfdPipeline *pipeline, PipelineRawEvent event) {
        bool is_due = false;
        int r;

        if (!libperfd_label_is_valid(event.stage) || !(event.seconds >= 0 && event.seconds <= PIPELINE_RAW_SECONDS_MAX) ||
            event.n_items > PIPELINE_RAW_ITEMS_MAX)
                return PERFD_INVALID;
        r = add_event(pipeline, &event, &is_due);
        if (r == 0 && is_due)
                (void)send_report(pipeline);
        return r;
}

int perfd_pipeline_put(PerfdPipeline *pipeline, const char *stage, double seconds) {
        return record(pipeline, (PipelineRawEvent){ .stage = stage, .kind = PIPELINE_RAW_PUT, .seconds = seconds });
}

int perfd_pipeline_get(PerfdPipeline *pipeline, const char *stage, double seconds) {
        return record(pipeline, (PipelineRawEvent){ .stage = stage, .kind = PIPELINE_RAW_GET, .seconds = seconds });
}

int perfd_pipeline_task(PerfdPipeline *pipeline, const char *stage, double seconds, int failed) {
        PipelineRawKind kind = failed ? PIPELINE_RAW_FAILED_TASK : PIPELINE_RAW_TASK;

        return record(pipeline, (PipelineRawEvent){ .stage = stage, .kind = kind, .seconds = seconds });
}

int perfd_pipeline_level(PerfdPipeline *pipeline, const char *stage, uint32_t items, uint32_t buffer_size) {
        return record(pipeline, (PipelineRawEvent){ .stage = stage, .kind = PIPELINE_RAW_LEVEL, .n_items = items,
                                                    .buffer_size = buffer_size });
}

static int take_ended(PerfdPipeline *pipeline, bool is_end) {
        uint64_t now_ns = clock_boottime_ns();

        LOCKED(&pipeline->lock);

        if (is_end)
                pipeline_raw_finish(pipeline->raw, pipeline->epoch_ns + now_ns);
        return is_end ? take_intervals(pipeline) : pass_time(pipeline, now_ns);
}

int perfd_pipeline_send(PerfdPipeline *pipeline) {
        int r = take_ended(pipeline, false);

        return r == 0 ? send_report(pipeline) : r;
}

int perfd_pipeline_close(PerfdPipeline *pipeline) {
        uint64_t deadline_ns;
        int r, status = 0;

        if (!pipeline)
                return 0;
        deadline_ns = clock_boottime_ns() + libperfd_timeout_ns(pipeline->client);
        r = take_ended(pipeline, true);
        while (r == 0 && !(pipeline_pending_is_empty(&pipeline->ended) && pipeline_pending_is_empty(&pipeline->outgoing))) {
                status = send_report(pipeline) ?: status;
                r = may_succeed_later(status) ? status : clock_boottime_ns() > deadline_ns ? -ETIMEDOUT : 0;
        }
        pipeline_free(pipeline);
        return r ?: status;
}
