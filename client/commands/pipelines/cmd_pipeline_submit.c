/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/deliver.h"
#include "client/pipeline/pipeline_line.h"
#include "client/deliver/pipeline_pending.h"
#include "text/encoding.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "value/value_parse.h"

#define LINE_BYTES_MAX   (1U << 20)
#define TOO_LONG         "the line has more than 1 MiB"
#define COMPLAINTS_MAX   20U
#define SEND_INTERVAL_MS 1000U
/* The pipe's writer is a training run: a slow perfd must not stop it for long. */
#define SEND_TIMEOUT_NS (200 * NS_PER_MS)

typedef struct PipelineSubmitOptions {
        const char *job, *producer;
        uint64_t timeout_ns;
        bool json;
} PipelineSubmitOptions;

typedef struct Feed {
        const PipelineSubmitOptions *options;
        const char *name; /* of the input */
        int fd;
        JobRef job;
        Courier courier;
        PipelinePending pending;
        Buffer text; /* begins with the line that is not complete */
        Arena arena;
        uint64_t n_lines, n_sent, n_complaints;
        uint64_t n_refused;  /* intervals and events that perfd did not store */
        uint64_t sending_ns; /* when the next report may be sent */
        uint64_t last_ms;    /* time of the last line without one */
        bool is_skipping;    /* the rest of a line that is too long */
        bool is_away;        /* a message has reported that perfd cannot be reached */
        bool is_remarked;    /* perfd's remark, which follows each report of a file, was printed */
        bool counts_open_periods; /* intervals of the input do, by their producer */
} Feed;

static void feed_deinit(Feed *feed) {
        if (feed->fd > STDIN_FILENO)
                (void)close(feed->fd);
        deliver_courier_deinit(&feed->courier);
        pipeline_pending_deinit(&feed->pending);
        buffer_deinit(&feed->text);
        arena_deinit(&feed->arena);
}

/* --- lines ---------------------------------------------------------------------------------------- */

/* column 0: the whole line. */
static void complain(Feed *feed, unsigned column, const char *error) {
        char place[16] = "";

        if (column > 0)
                (void)snprintf(place, sizeof(place), ":%u", column);
        if (feed->n_complaints++ < COMPLAINTS_MAX)
                message_print("%s:%lu%s: %s", feed->name, (unsigned long)feed->n_lines, place, error);
        if (feed->n_complaints == COMPLAINTS_MAX + 1)
                message_print("%s: further errors are not printed", feed->name);
}

/* An interval without a time gets that of its arrival here, so that a repeated report has the same. Two intervals of a
 * stage with the same time are one. */
static int take_parsed(Feed *feed, PipelineLine *line) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        uint64_t end_ms = line->kind == PIPELINE_LINE_INTERVAL ? line->interval.end_ms
                          : line->event.begin_ms > 0 ? line->event.begin_ms + (uint64_t)(line->event.seconds * 1000)
                                                     : 0;
        int r = 0;

        if (end_ms > now_ms + CLOCK_AHEAD_MAX_MS) {
                complain(feed, 0, "it ends more than an hour ahead of this node's clock: correct \"time\", or omit it");
                return 0;
        }
        switch (line->kind) {
        case PIPELINE_LINE_INTERVAL:
                if (line->interval.end_ms == 0)
                        line->interval.end_ms = feed->last_ms = now_ms > feed->last_ms ? now_ms : feed->last_ms + 1;
                r = pipeline_pending_add_interval(&feed->pending, &line->interval);
                break;
        case PIPELINE_LINE_EVENT:
                line->event.begin_ms = line->event.begin_ms ?: now_ms - (uint64_t)(line->event.seconds * 1000);
                r = pipeline_pending_add_event(&feed->pending, &line->event);
                break;
        case PIPELINE_LINE_DESCRIPTION:
                if (line->producer)
                        feed->counts_open_periods = pipeline_report_counts_open_periods(line->producer);
                r = pipeline_pending_describe(&feed->pending, line->producer, line->description);
                break;
        }
        return r;
}

static int take_object(Feed *feed, const char *text) {
        char error[PIPELINE_LINE_ERROR_MAX];
        PipelineLine line;
        int r;

        arena_reset(&feed->arena);
        r = pipeline_line_read(text, strlen(text), feed->counts_open_periods, &feed->arena, &line, error);
        if (r == PIPELINE_LINE_INVALID) {
                complain(feed, line.error_column, error);
                return 0;
        }
        return r < 0 ? r : take_parsed(feed, &line);
}

/* text: n bytes and a NUL. Line ends of other systems may be within. */
static int take_line(Feed *feed, char *text, size_t n) {
        int r = 0;

        feed->n_lines++;
        if (feed->is_skipping) {
                feed->is_skipping = false;
                return 0;
        }
        if (n > LINE_BYTES_MAX) {
                complain(feed, 0, TOO_LONG);
                return 0;
        }
        if (encoding_unify(text, &n) == ENCODING_FOREIGN || strlen(text) < n) {
                complain(feed, 0, strlen(text) > 1 ? "has a NUL character" : ENCODING_FOREIGN_TEXT);
                return 0;
        }
        for (char *line; r == 0 && (line = strsep(&text, "\n"));)
                r = line[strspn(line, " \t")] ? take_object(feed, line) : 0;
        return r;
}

/* Takes the complete lines of the text, and at the end of the input also the last. */
static int take_lines(Feed *feed, bool is_end) {
        size_t at = 0;
        int r = 0;

        while (r == 0 && at < feed->text.n) {
                char *begin = feed->text.text + at, *end = memchr(begin, '\n', feed->text.n - at);
                size_t n = end ? (size_t)(end - begin) : feed->text.n - at;

                if (!end && !is_end)
                        break;
                begin[n] = '\0'; /* the buffer ends with a NUL */
                r = take_line(feed, begin, n);
                at += n + (end != NULL);
        }
        if (at > 0)
                memmove(feed->text.text, feed->text.text + at, feed->text.n - at);
        feed->text.n -= at;
        if (feed->text.n <= LINE_BYTES_MAX)
                return r;

        if (!feed->is_skipping) {
                feed->n_lines++;
                complain(feed, 0, TOO_LONG);
                feed->n_lines--;
        }
        feed->is_skipping = true;
        buffer_clear(&feed->text);
        return r;
}

/* Returns 0, < 0, or 1 at the end of the input. */
static int read_some(Feed *feed) {
        ssize_t n = buffer_read(&feed->text, feed->fd);

        if (n < 0)
                return n == -EINTR || n == -EAGAIN ? 0 : (int)n;

        return n == 0;
}

/* --- sending -------------------------------------------------------------------------------------- */

/* Keeps the statistics that perfd cannot accept now. Returns 0 or < 0. */
static int send_one(Feed *feed) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        size_t n_before;
        int r;

        n_before = feed->pending.n_intervals + feed->pending.n_events;
        r = deliver_pipeline_pending(&feed->courier, &feed->job, &feed->pending, &feed->n_sent, &delivery);
        if (r < 0)
                return r;
        if (r == 0) {
                feed->n_refused += delivery.reply.n_refused;
                /* A report that is sent again may have been stored before. */
                if (delivery.remark[0] && !feed->is_away && !feed->is_remarked) {
                        message_print("%s", delivery.remark);
                        feed->is_remarked = true;
                }
                feed->is_away = false;
                return 0;
        }

        delivery_explain(&delivery, &feed->courier, reason);
        if (r == DELIVERY_REFUSED) {
                if (feed->n_complaints++ < COMPLAINTS_MAX)
                        message_print("%s", reason);
                n_before -= feed->pending.n_intervals + feed->pending.n_events;
                feed->n_refused += n_before;
                feed->n_sent += n_before;
                return 0;
        }
        if (!feed->is_away)
                message_print("%s; the statistics are kept until perfd accepts them", reason);
        feed->is_away = true;
        return 0;
}

static int send_pending(Feed *feed, uint64_t timeout_ns) {
        size_t n_before;
        int r = 0;

        deliver_courier_set_timeout(&feed->courier, timeout_ns);
        do {
                n_before = feed->pending.n_intervals + feed->pending.n_events + (feed->pending.description != NULL);
                if (n_before > 0)
                        r = send_one(feed);
        } while (r == 0 && !feed->is_away && !pipeline_pending_is_empty(&feed->pending));
        feed->sending_ns = clock_boottime_ns() + SEND_INTERVAL_MS * NS_PER_MS;
        return r;
}

/* --- the command ---------------------------------------------------------------------------------- */

/* Returns the time to wait for input, in milliseconds; -1: without end. */
static int time_to_wait(const Feed *feed) {
        uint64_t now_ns = clock_boottime_ns();

        if (pipeline_pending_is_empty(&feed->pending))
                return -1;
        return now_ns >= feed->sending_ns ? 0 : (int)((feed->sending_ns - now_ns) / NS_PER_MS + 1);
}

/*
 * Returns true if the input is ahead of perfd, as a file is, whose writer may wait: all its intervals are sent
 * before some would be merged.
 */
static bool is_ahead(const Feed *feed) {
        return !feed->is_away && (feed->pending.n_intervals >= PIPELINE_REPORT_INTERVALS_MAX / N_PIPELINE_PARTS ||
                                  feed->pending.n_events >= PIPELINE_REPORT_EVENTS_MAX);
}

/* Reads to the end of the input, and sends about once a second. */
static int run_feed(Feed *feed) {
        int r = 0;

        feed->sending_ns = clock_boottime_ns() + SEND_INTERVAL_MS * NS_PER_MS;
        while (r == 0) {
                struct pollfd poll_fd = { .fd = feed->fd, .events = POLLIN };

                if (poll(&poll_fd, 1, time_to_wait(feed)) < 0 && errno != EINTR)
                        return -errno;
                if (poll_fd.revents)
                        r = read_some(feed);
                if (r >= 0) {
                        int taken = take_lines(feed, r == 1);

                        r = taken < 0 ? taken : r;
                }
                if (r == 0 && !pipeline_pending_is_empty(&feed->pending) &&
                    (clock_boottime_ns() >= feed->sending_ns || is_ahead(feed)))
                        r = send_pending(feed, is_ahead(feed) ? feed->options->timeout_ns : SEND_TIMEOUT_NS);
        }
        if (r < 0)
                return r;
        feed->courier.is_patient = true;
        return pipeline_pending_is_empty(&feed->pending) ? 0 : send_pending(feed, feed->options->timeout_ns);
}

static int print_sent(const Feed *feed) {
        scoped(buffer_deinit) Buffer out = {};
        size_t n_left = feed->pending.n_intervals + feed->pending.n_events, n_lost = n_left + feed->pending.n_dropped;

        if (feed->pending.n_merged > 0)
                message_print("perfd accepted nothing for a long time: %zu intervals were merged into others",
                              feed->pending.n_merged);
        if (feed->pending.n_dropped > 0)
                message_print("perfd accepted nothing for a long time: %zu intervals and events were dropped",
                              feed->pending.n_dropped);
        if (n_left > 0)
                message_print("%zu intervals and events are lost: perfd did not accept them", n_left);
        if (feed->options->json)
                buffer_printf(&out, "{\"sent\":%lu,\"refused\":%lu,\"refused_lines\":%lu,\"lost\":%zu}\n",
                              (unsigned long)feed->n_sent, (unsigned long)feed->n_refused,
                              (unsigned long)feed->n_complaints, n_lost);
        else if (feed->n_refused > 0)
                buffer_printf(&out, "%lu sent, %lu stored, %lu refused\n", (unsigned long)feed->n_sent,
                              (unsigned long)(feed->n_sent - feed->n_refused), (unsigned long)feed->n_refused);
        else
                buffer_printf(&out, "%lu sent\n", (unsigned long)feed->n_sent);
        return output_print(&out);
}

static int open_input(const CommandLine *line, Feed *feed) {
        const char *file = line->n_arguments > 0 ? line->arguments[0] : "-";

        feed->name = input_name(file);
        feed->fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
        if (feed->fd >= 0)
                return EXIT_DONE;
        message_print("cannot open %s: %s", file, error_text(errno));
        return EXIT_FAILED;
}

static int pipeline_submit_run(const CommandLine *line) {
        const PipelineSubmitOptions *options = line->options;
        scoped(feed_deinit) Feed feed = { .options = options, .fd = -1 };
        char id[JOB_ID_MAX];
        int r, status;

        deliver_courier_init(&feed.courier, line->global.socket, options->timeout_ns);
        feed.courier.is_patient = false;
        if (options->producer && strlen(options->producer) > PIPELINE_PRODUCER_MAX)
                return command_refuse(line->command->name, "--producer may have up to %u bytes", PIPELINE_PRODUCER_MAX);
        r = api_query_find_own_job(&line->global, options->job, id, &feed.job);
        if (r != EXIT_DONE)
                return r;
        r = open_input(line, &feed);
        if (r != EXIT_DONE)
                return r;
        if (options->producer)
                (void)stpncpy(feed.pending.producer, options->producer, PIPELINE_PRODUCER_MAX);
        feed.counts_open_periods = pipeline_report_counts_open_periods(feed.pending.producer);

        r = arena_init(&feed.arena, value_parse_arena_size(LINE_BYTES_MAX));
        if (r == 0)
                r = run_feed(&feed);
        if (r < 0) {
                message_print("cannot read %s: %s", feed.name, error_text(-r));
                return EXIT_FAILED;
        }
        status = print_sent(&feed);
        if (!pipeline_pending_is_empty(&feed.pending))
                return EXIT_UNREACHABLE;
        return feed.n_complaints + feed.n_refused + feed.pending.n_dropped > 0 ? EXIT_FAILED : status;
}

const Command cmd_pipeline_submit = {
        .name = "pipeline submit",
        .arguments = "[FILE|-]",
        .summary = "Submit statistics of the stages of a data pipeline",
        .help = "Reads a JSON object from each line of a file, or of a pipe that stays open, and sends the objects "
                "about once a second. A line has the statistics of the tasks of a stage or of its queue over an "
                "interval, with the names of SPDL's TaskPerfStats and QueuePerfStats; an event; or a description of "
                "the pipeline. The job is --job, else $PERFD_JOB, else the job whose control group this process is "
                "in. An invalid line is reported, and the other lines are sent.",
        .examples = { "perfctl pipeline submit --job train-17 stats.jsonl",
                      "./train.py | perfctl pipeline submit --producer spdl=0.8",
                      "python3 -m perfd_spdl import stats.db | perfctl pipeline submit --job train -" },
        COMMAND_OPTION_ROWS(PipelineSubmitOptions,
                OPTION_ROW_JOB(PipelineSubmitOptions, job),
                OPTION_ROW_PRODUCER(PipelineSubmitOptions, producer),
                OPTION_ROW_TIMEOUT(PipelineSubmitOptions, timeout_ns),
                OPTION_ROW_JSON(PipelineSubmitOptions, json)),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = pipeline_submit_run,
};
