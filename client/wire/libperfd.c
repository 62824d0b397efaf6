/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libperfd
 *
 * A client consists of a mutex, a connection and the last error message. Each call sends one request and receives its
 * reply. All requests except a mark can be sent twice without harm (jobs and results have ids), so the library
 * repeats them when the connection is lost.
 */

#include "client/wire/perfd.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "client/wire/protocol.h"
#include "client/wire/id.h"
#include "client/wire/own_job.h"
#include "client/wire/wire.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/lock.h"
#include "util/utf8.h"
#include "value/value_parse.h"

#define TIMEOUT_MS_DEFAULT 5000U

struct PerfdClient {
        pthread_mutex_t lock;
        char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
        uint64_t timeout_ns;
        pid_t pid; /* process that connected: a forked child must not use its parent's connection */
        Wire wire;
        char error[COMPLAINT_PATH_MAX + COMPLAINT_TEXT_MAX + 64];
};

static void unrefp(PerfdClient **client) {
        perfd_client_close(*client);
}

int perfd_client_open(PerfdClient **ret, const char *socket_path, unsigned timeout_ms) {
        scoped(unrefp) PerfdClient *client = NULL;
        const char *path = wire_path(socket_path);

        if (strlen(path) >= sizeof(client->path))
                return -ENAMETOOLONG;

        client = calloc(1, sizeof(*client));
        if (!client)
                return -ENOMEM;

        pthread_mutex_init(&client->lock, NULL);
        strcpy(client->path, path);
        client->timeout_ns = (timeout_ms ? timeout_ms : TIMEOUT_MS_DEFAULT) * NS_PER_MS;
        wire_init(&client->wire);

        *ret = TAKE(client);
        return 0;
}

void perfd_client_close(PerfdClient *client) {
        if (!client)
                return;

        wire_deinit(&client->wire);
        pthread_mutex_destroy(&client->lock);
        free(client);
}

const char *perfd_client_error(const PerfdClient *client) {
        return client->error;
}

const char *perfd_version(void) {
        return PERFD_VERSION;
}

__attribute__((format(printf, 3, 4)))
static int fail(PerfdClient *client, int status, const char *format, ...) {
        va_list args;

        va_start(args, format);
        vsnprintf(client->error, sizeof(client->error), format, args);
        va_end(args);
        return status;
}

static int complain(PerfdClient *client, int status, const Complaint *complaint) {
        const char *member = protocol_find_member(complaint->path);

        if (member[0])
                return fail(client, status, "%s: %s", member, complaint->text);

        return fail(client, status, "%s", complaint->text[0] ? complaint->text : request_status_name((Status)status));
}

static int send_frame(PerfdClient *client, const Buffer *frame, uint64_t sequence, uint64_t deadline_ns, Reply *ret) {
        int r;

        if (!wire_is_connected(&client->wire)) {
                r = wire_connect(&client->wire, client->path, deadline_ns);
                if (r < 0)
                        return r;
                client->pid = getpid();
        }

        return wire_exchange(&client->wire, frame, sequence, deadline_ns, ret);
}

/* Effect of a request that reaches perfd twice. */
typedef enum Repetition {
        REPETITION_HARMLESS,
        REPETITION_COUNTS,
} Repetition;

/* Returns true if perfd closed the connection, for example for a restart, and the request may be sent again. */
static bool may_repeat(Repetition repetition, int r) {
        return r == -EPIPE || (r == -ECONNRESET && repetition == REPETITION_HARMLESS);
}

/* Returns the number of the next request. In a forked child, closes the copy of the parent's connection first. */
static uint64_t next_sequence(PerfdClient *client) {
        if (client->pid != getpid())
                wire_deinit(&client->wire);
        return wire_next_sequence(&client->wire);
}

/* Caller holds the lock. r: result of the encoder. */
static int ask_perfd(PerfdClient *client, int r, const Buffer *frame, uint64_t sequence, Repetition repetition) {
        uint64_t deadline_ns = clock_boottime_ns() + client->timeout_ns;
        bool is_fresh = !wire_is_connected(&client->wire);
        char reason[WIRE_ERROR_MAX];
        Reply reply;

        if (r == 0)
                r = send_frame(client, frame, sequence, deadline_ns, &reply);
        if (may_repeat(repetition, r) && !is_fresh)
                r = send_frame(client, frame, sequence, deadline_ns, &reply);

        if (r < 0) {
                wire_explain(client->path, r, reason);
                return fail(client, r, "%s", reason);
        }
        if (reply.status != STATUS_OK)
                return complain(client, (int)reply.status, &reply.complaint);
        if (reply.complaint.text[0])
                return fail(client, 0, "%s", reply.complaint.text);

        return 0;
}

static int copy_text(char *to, size_t n_to, const char *from) {
        size_t n = from ? strlen(from) : 0;

        if (n >= n_to)
                return -EMSGSIZE;

        memcpy(to, from ? from : "", n + 1);
        return 0;
}

static int set_label(PerfdClient *client, JobLabel *label, const char *text) {
        const char *equals = strchr(text, '=');
        size_t n = equals ? (size_t)(equals - text) : 0;

        if (n == 0 || n >= sizeof(label->key))
                return fail(client, PERFD_INVALID, "labels: expected key=value with a key of 1…%zu bytes",
                            sizeof(label->key) - 1);
        memcpy(label->key, text, n);

        if (copy_text(label->value, sizeof(label->value), equals + 1) < 0)
                return fail(client, PERFD_INVALID, "labels: the value of '%s' is longer than %zu bytes", label->key,
                            sizeof(label->value) - 1);
        return 0;
}

static int set_labels(PerfdClient *client, JobInfo *info, const char *const *labels) {
        int r;

        if (!labels || !labels[0])
                return 0;

        info->labels = calloc(JOB_LABELS_MAX, sizeof(*info->labels));
        if (!info->labels)
                return fail(client, -ENOMEM, "out of memory");

        for (; labels[info->n_labels]; info->n_labels++) {
                if (info->n_labels == JOB_LABELS_MAX)
                        return fail(client, PERFD_INVALID, "labels: a job can have %u", JOB_LABELS_MAX);
                r = set_label(client, &info->labels[info->n_labels], labels[info->n_labels]);
                if (r != 0)
                        return r;
        }

        return 0;
}

static int check_job(PerfdClient *client, const char *what, const char *job) {
        if (job && indicator_name_is_valid(job, JOB_ID_MAX - 1))
                return 0;

        return fail(client, PERFD_INVALID, "%s: expected 1…%u characters of [A-Za-z0-9_.:-]", what, JOB_ID_MAX - 1);
}

/*
 * job NULL: the job of this process. perfd determines this job by the cgroup, and uses that of the environment if the
 * cgroup belongs to no job. id: place for an id, from which the reference is borrowed.
 */
static int find_job(PerfdClient *client, const char *job, char id[static JOB_ID_MAX], JobRef *ret) {
        const char *named = job ? job : own_job(id);
        int r = 0;

        if (named[0])
                r = check_job(client, job ? "job" : "$PERFD_JOB", named);
        if (r == 0)
                *ret = (JobRef){ .id = named, .is_inherited = !job && named[0] };
        return r;
}

/* Sets the job's rank and node in a run of several nodes and ranks. */
static int set_place(PerfdClient *client, JobInfo *info, const PerfdJob *job) {
        if (job->has_rank && job->rank < 0)
                return fail(client, PERFD_INVALID, "rank: expected 0 or more");
        if (job->has_node && job->node < 0)
                return fail(client, PERFD_INVALID, "node: expected 0 or more");

        info->rank = job->has_rank ? job->rank : -1;
        info->node = job->has_node ? job->node : -1;
        info->n_ranks = job->ranks;
        info->n_nodes = job->nodes;
        return 0;
}

static int set_info(PerfdClient *client, JobInfo *info, const char *id, const PerfdJob *job) {
        int r;

        r = check_job(client, "job", id);
        if (r != 0)
                return r;

        strcpy(info->id, id);
        info->uid = job && job->has_uid ? job->uid : geteuid();
        info->rank = info->node = -1;
        if (!job)
                return 0;

        if (copy_text(info->name, sizeof(info->name), job->name) < 0)
                return fail(client, PERFD_INVALID, "name: longer than %zu bytes", sizeof(info->name) - 1);
        r = set_place(client, info, job);
        if (r != 0)
                return r;

        utf8_copy_ellipsis(info->command, sizeof(info->command), job->command ?: "");
        info->pid = job->pid;
        info->isolation = job->fresh ? ISOLATION_CGROUP : ISOLATION_NONE;
        return set_labels(client, info, job->labels);
}

int perfd_job_begin(PerfdClient *client, const char *id, const PerfdJob *job) {
        scoped(job_info_deinit) JobInfo info = {};
        scoped(buffer_deinit) Buffer frame = {};
        JobBegin begin = { .info = &info };
        uint64_t sequence;
        int r;

        LOCKED(&client->lock);

        r = set_info(client, &info, id, job);
        if (r != 0)
                return r;

        if (job) {
                begin.has_uid = job->has_uid;
                begin.member_pid = job->member_pid;
                begin.is_fresh = job->fresh;
        }
        sequence = next_sequence(client);
        return ask_perfd(client, protocol_encode_job_begin(sequence, &begin, &frame), &frame, sequence,
                         REPETITION_HARMLESS);
}

int perfd_job_end(PerfdClient *client, const char *id, int exit_status) {
        JobEnd end = {
                .has_exit_status = exit_status >= 0,
                .exit_status = exit_status >= 0 ? exit_status : 0,
                .realtime_ms = clock_realtime_ns() / NS_PER_MS,
        };
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence;
        int r;

        LOCKED(&client->lock);

        r = check_job(client, "job", id);
        if (r != 0)
                return r;
        if (exit_status > 255)
                return fail(client, PERFD_INVALID, "exit_status: expected -1…255, not %d", exit_status);

        sequence = next_sequence(client);
        return ask_perfd(client, protocol_encode_job_end(sequence, id, &end, &frame), &frame, sequence,
                         REPETITION_HARMLESS);
}

int perfd_mark(PerfdClient *client, const char *job, const char *name) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence;
        JobRef marked;
        char id[JOB_ID_MAX];
        int r;

        LOCKED(&client->lock);

        r = find_job(client, job, id, &marked);
        if (r != 0)
                return r;
        if (!name || strlen(name) >= PHASE_NAME_MAX || !utf8_is_line(name))
                return fail(client, PERFD_INVALID,
                            "name: expected at most %d bytes of UTF-8 without control characters", PHASE_NAME_MAX - 1);

        sequence = next_sequence(client);
        return ask_perfd(client, protocol_encode_mark(sequence, &marked, name, NAN, &frame), &frame, sequence,
                         REPETITION_COUNTS);
}

/* Parses exactly one document; a second one is an error. */
static int read_document(PerfdClient *client, const char *json, Arena *arena, const Value **ret) {
        ValueReader reader;
        ValueError error;
        const Value *rest;
        int r;

        value_parse_begin(&reader, json, strlen(json));
        r = value_parse_next(&reader, arena, ret, &error);
        if (r == 0 && reader.n_not_finite > 0)
                return fail(client, PERFD_INVALID,
                            "a number is NaN or infinite, which JSON cannot express: leave it out or use null");
        if (r == 0) {
                r = value_parse_next(&reader, arena, &rest, &error);
                if (r == 0)
                        return fail(client, PERFD_INVALID, "expected one JSON document, not several");
                if (r == VALUE_END)
                        return 0;
        }

        if (r == VALUE_END)
                return fail(client, PERFD_INVALID, "expected a JSON object, not an empty text");
        if (r == VALUE_MALFORMED)
                return fail(client, PERFD_INVALID, "%u:%u: %s", error.line, error.column, error.text);

        return fail(client, -ENOMEM, "out of memory");
}

int perfd_submit_json(PerfdClient *client, const char *job, const char *json) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer frame = {};
        Submission item = { .time_ms = clock_realtime_ns() / NS_PER_MS };
        Complaint complaint;
        const Value *document;
        uint64_t sequence;
        JobRef named;
        char id[JOB_ID_MAX];
        int r;

        LOCKED(&client->lock);

        if (!json)
                return fail(client, PERFD_INVALID, "expected a JSON object, not NULL");
        r = find_job(client, job, id, &named);
        if (r != 0)
                return r;
        item.job = named.id;
        item.is_job_inherited = named.is_inherited;

        r = arena_init(&arena, value_parse_arena_size(strlen(json)));
        if (r == 0)
                r = id_make_result(item.time_ms, item.id);
        if (r < 0)
                return fail(client, r, "%s", error_text(-r));

        r = read_document(client, json, &arena, &document);
        if (r != 0)
                return r;

        if (indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item.indicator, &complaint) != 0)
                return complain(client, PERFD_INVALID, &complaint);

        sequence = next_sequence(client);
        return ask_perfd(client, protocol_encode_submit(sequence, &item, 1, &frame), &frame, sequence,
                         REPETITION_HARMLESS);
}

/* --- data pipelines ------------------------------------------------------------------------------- */

static int send_report(PerfdClient *client, const char *job, PipelineReport *report) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence;
        JobRef named;
        char id[JOB_ID_MAX];
        int r;

        LOCKED(&client->lock);

        r = find_job(client, job, id, &named);
        if (r != 0)
                return r;
        report->job = named.id;
        report->is_job_inherited = named.is_inherited;
        sequence = next_sequence(client);
        return ask_perfd(client, protocol_encode_pipeline_report(sequence, report, &frame), &frame, sequence,
                         REPETITION_HARMLESS);
}

/* Fails with a message about an interval. */
static int refuse_interval(PerfdClient *client, size_t i, const char *text) {
        LOCKED(&client->lock);

        return fail(client, PERFD_INVALID, "intervals[%zu]%s", i, text);
}

static void set_tasks(const PerfdTaskStats *tasks, PipelineInterval *ret) {
        ret->sums = (PipelineSums){
                .elapsed_s = tasks->elapsed, .n = (double)tasks->num_tasks, .n_failures = (double)tasks->num_failures,
                .time_s = tasks->ave_time,
        };
        ret->percentiles = (PipelinePercentiles){ .p90_s = tasks->p90_time, .p99_s = tasks->p99_time };
}

static void set_queue(const PerfdQueueStats *queue, PipelineInterval *ret) {
        ret->buffer_size = queue->buffer_size;
        ret->sums = (PipelineSums){
                .elapsed_s = queue->elapsed, .n = (double)queue->num_items, .time_s = queue->ave_put_time,
                .get_s = queue->ave_get_time,
                .ready_s = queue->occupancy_rate >= 0 ? queue->occupancy_rate : (double)NAN,
        };
        ret->percentiles = (PipelinePercentiles){ queue->p90_put_time, queue->p99_put_time, queue->p90_get_time,
                                                  queue->p99_get_time };
}

/* 0, or PERFD_INVALID after a message. */
static int set_interval(PerfdClient *client, size_t i, const PerfdInterval *from, uint64_t now_ms,
                        PipelineReport *report) {
        if (!from->stage || !pipeline_report_label_is_valid(from->stage, strlen(from->stage)))
                return refuse_interval(client, i, ".stage: expected " PIPELINE_LABEL_EXPECTED);
        if (!from->tasks && !from->queue)
                return refuse_interval(client, i, ": expected tasks or queue");
        for (PipelinePart part = 0; part < N_PIPELINE_PARTS; part++) {
                PipelineInterval *ret = &report->intervals[report->n_intervals];
                ImpossibleNumber number;
                char text[128];

                if (part == PIPELINE_TASKS ? !from->tasks : !from->queue)
                        continue;
                *ret = (PipelineInterval){ .stage = from->stage, .part = part, .end_ms = from->end_ms ?: now_ms };
                if (part == PIPELINE_TASKS)
                        set_tasks(from->tasks, ret);
                else
                        set_queue(from->queue, ret);
                number = pipeline_report_take(ret, true);
                (void)snprintf(text, sizeof(text), ".%s.%s: is %g, expected 0 to %g",
                               part == PIPELINE_TASKS ? "tasks" : "queue", number.name ?: "", number.value, number.max);
                if (number.name)
                        return refuse_interval(client, i, text);
                if (part == PIPELINE_QUEUE && ret->sums.elapsed_s == 0)
                        return refuse_interval(client, i, ".queue.elapsed: expected an interval longer than 0");
                report->n_intervals++;
        }
        return 0;
}

/* An interval without a time gets that of this call, so that a request that is repeated has the same. */
int perfd_submit_intervals(PerfdClient *client, const char *job, const char *producer, const PerfdInterval *intervals,
                           size_t n) {
        scoped(freep) PipelineInterval *list = NULL;
        PipelineReport report = { .producer = producer ?: "" };
        int r = 0;
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;

        if (n == 0 || n > PERFD_INTERVALS_MAX)
                return refuse_interval(client, n, ": expected 1 to 1000 intervals");
        if (strlen(report.producer) > PIPELINE_PRODUCER_MAX || !utf8_is_line(report.producer))
                return refuse_interval(client, 0, ": expected a producer of up to 64 bytes without control characters");
        list = calloc(n * N_PIPELINE_PARTS, sizeof(*list));
        if (!list)
                return -ENOMEM;
        report.intervals = list;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = set_interval(client, i, &intervals[i], now_ms, &report);
        return r == 0 ? send_report(client, job, &report) : r;
}
