/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec_decode.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "ingest/codec/refuse.h"
#include "proto/perfd.pb-c.h"
#include "util/clock.h"
#include "util/utf8.h"

#define SIGNAL_MAX 127

static int take_label(Decoded *decoded, const Perfd__V1__Label *from, size_t i, JobInfo *info) {
        const char *list = "job_begin.labels";
        Answer *refusal = &decoded->refusal;
        JobLabel *label = &info->labels[i];
        const char *reason;

        if (!indicator_name_is_valid(from->key, sizeof(label->key) - 1))
                return refuse_item(refusal, list, i, "key", "a label's key is 1 to %zu " REFUSE_NAME_RULE,
                                   sizeof(label->key) - 1);
        for (size_t k = 0; k < i; k++)
                if (strcmp(info->labels[k].key, from->key) == 0)
                        return refuse_item(refusal, list, i, "key", "'%s' is given twice: keep one", from->key);

        reason = refuse_text_reason(from->value, sizeof(label->value) - 1);
        if (reason)
                return refuse_item(refusal, list, i, "value",
                                   "%s: it may be up to %zu bytes of UTF-8 without control characters", reason,
                                   sizeof(label->value) - 1);

        strcpy(label->key, from->key);
        strcpy(label->value, from->value);
        return 0;
}

static int take_labels(Decoded *decoded, Arena *arena, const Perfd__V1__JobBegin *from, JobInfo *info) {
        int r = 0;

        if (from->n_labels > JOB_LABELS_MAX)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.labels",
                              "has %zu labels, may have up to %d", from->n_labels, JOB_LABELS_MAX);

        info->n_labels = from->n_labels;
        info->labels = arena_alloc(arena, from->n_labels * sizeof(*info->labels));
        if (!info->labels)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < from->n_labels && r == 0; i++)
                r = take_label(decoded, from->labels[i], i, info);
        return r;
}

static int take_gpus(Decoded *decoded, Arena *arena, const Perfd__V1__JobBegin *from, JobInfo *info) {
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/-";

        if (from->n_gpus > JOB_GPUS_MAX)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.gpus", "has %zu GPUs, may have up to %u",
                              from->n_gpus, JOB_GPUS_MAX);
        if (from->n_gpus == 0)
                return 0;
        info->gpus = arena_alloc(arena, from->n_gpus * JOB_GPU_TEXT_MAX);
        if (!info->gpus)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < from->n_gpus; i++) {
                size_t n = strlen(from->gpus[i]);

                if (n == 0 || n >= JOB_GPU_TEXT_MAX || strspn(from->gpus[i], allowed) < n)
                        return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.gpus",
                                      "element %zu: a GPU is 1 to %u characters of A-Z a-z 0-9 _ . : / -", i,
                                      JOB_GPU_TEXT_MAX - 1);
                strcat(strcat(info->gpus, i > 0 ? "," : ""), from->gpus[i]);
        }
        return 0;
}

#define HAS_RANK(from) ((from)->rank_given_case == PERFD__V1__JOB_BEGIN__RANK_GIVEN_RANK)
#define HAS_NODE(from) ((from)->node_given_case == PERFD__V1__JOB_BEGIN__NODE_GIVEN_NODE)
#define HAS_UID(from) ((from)->uid_given_case == PERFD__V1__JOB_BEGIN__UID_GIVEN_UID)

static int check_job_texts(Decoded *decoded, const Perfd__V1__JobBegin *from) {
        int r;

        r = refuse_bad_job_id(&decoded->refusal, "job_begin.job", from->job);
        if (r == 0 && strcmp(from->job, JOB_LAST) == 0)
                r = refuse(&decoded->refusal, STATUS_INVALID, "job_begin.job",
                           "is 'last', which stands for the newest job of a user: choose another id");
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "job_begin.name", from->name,
                                    sizeof(((JobInfo *)NULL)->name) - 1);
        if (r != 0)
                return r;

        /* Cuts a command that is too long, and replaces line breaks, which many commands have. */
        if (!utf8_is_valid(from->command, strlen(from->command)))
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.command", "is not valid UTF-8");
        return 0;
}

/* Checks the job's place in a run of several nodes and ranks. */
static int check_job_place(Decoded *decoded, const Perfd__V1__JobBegin *from) {
        if (HAS_RANK(from) && from->rank < 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.rank", "is negative: ranks count from 0");
        if (HAS_RANK(from) && from->ranks > 0 && from->rank >= from->ranks)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.rank",
                              "is %lld of %u ranks, which count from 0: give 0 to %u", (long long)from->rank,
                              from->ranks, from->ranks - 1);
        if (HAS_NODE(from) && from->nodes > 0 && from->node >= from->nodes)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.node",
                              "is %u of %u nodes, which count from 0: give 0 to %u", from->node, from->nodes,
                              from->nodes - 1);
        if (HAS_NODE(from) && from->node > INT32_MAX)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.node", "is %u, may be up to %d", from->node,
                              INT32_MAX);

        return 0;
}

/* Checks the processes of the job, and their owner. */
static int check_job_processes(Decoded *decoded, const Perfd__V1__JobBegin *from) {
        const Peer *peer = &decoded->request.peer;

        if (from->pid < 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.pid",
                              "is negative: give a process id, or 0 for none");
        if (from->member_pid < 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.member_pid",
                              "is negative: give a process id, or 0 for none");
        if (HAS_UID(from) && from->uid == UINT32_MAX) /* (uid_t)-1, which the kernel takes for "unchanged" */
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.uid", "is %u, which is not a valid user id",
                              from->uid);
        if (HAS_UID(from) && from->uid != peer->uid && !peer->is_admin)
                return refuse(&decoded->refusal, STATUS_DENIED, "job_begin.uid",
                              "is %u, and yours is %u: only root and [socket] admin_group may begin jobs for other "
                              "users",
                              from->uid, peer->uid);

        return 0;
}

/* Only perfd sets FOUND, and a cgroup needs a process that names it. */
static Isolation take_isolation(const Perfd__V1__JobBegin *from) {
        bool has_member = from->member_pid > 0;

        switch ((int)from->isolation) {
        case PERFD__V1__ISOLATION__SCOPE:
                return has_member ? ISOLATION_SCOPE : ISOLATION_NONE;
        case PERFD__V1__ISOLATION__CGROUP:
                return has_member ? ISOLATION_CGROUP : ISOLATION_NONE;
        case PERFD__V1__ISOLATION__SUBREAPER:
                return ISOLATION_SUBREAPER;
        default: /* an isolation of a newer client */
                return ISOLATION_NONE;
        }
}

static void take_job_info(const Peer *peer, const Perfd__V1__JobBegin *from, JobInfo *info) {
        info->uid = HAS_UID(from) ? from->uid : peer->uid;
        info->gid = peer->gid;
        info->pid = from->pid;
        info->rank = HAS_RANK(from) ? from->rank : -1;
        info->node = HAS_NODE(from) ? (int32_t)from->node : -1;
        info->n_nodes = from->nodes;
        info->n_ranks = from->ranks;
        info->isolation = take_isolation(from);
        strcpy(info->id, from->job);
        strcpy(info->name, from->name);
        utf8_copy_ellipsis(info->command, JOB_COMMAND_MAX, from->command);
}

/* Limits the values so that their sum does not overflow. */
static ClientCpu take_client_cpu(const Perfd__V1__CpuTime *from) {
        const uint64_t max_us = UINT64_MAX / 4;

        if (!from)
                return (ClientCpu){};
        return (ClientCpu){ from->user_us < max_us ? from->user_us : max_us,
                            from->system_us < max_us ? from->system_us : max_us };
}

int codec_decode_job_begin(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__JobBegin *from = (const Perfd__V1__JobBegin *)message;
        JobInfo *info;
        int r;

        assert(message->descriptor == &perfd__v1__job_begin__descriptor);
        r = check_job_texts(decoded, from);
        if (r == 0)
                r = check_job_place(decoded, from);
        if (r == 0)
                r = check_job_processes(decoded, from);
        if (r != 0)
                return r;

        info = arena_alloc(context->arena, sizeof(*info));
        if (!info)
                return refuse_no_room(&decoded->refusal);

        take_job_info(&decoded->request.peer, from, info);
        decoded->request.job_begin.info = info;
        decoded->request.job_begin.late_ms = from->late_ms;
        decoded->request.job_begin.member_pid = from->member_pid;
        decoded->request.job_begin.is_fresh = from->fresh && from->member_pid > 0;
        decoded->request.job_begin.cpu_interval_ns = from->sample_ms * NS_PER_MS;
        decoded->request.job_begin.client_cpu = take_client_cpu(from->client_cpu);
        r = take_gpus(decoded, context->arena, from, info);
        return r == 0 ? take_labels(decoded, context->arena, from, info) : r;
}

int codec_decode_mark(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Mark *from = (const Perfd__V1__Mark *)message;
        bool has_seconds = from->seconds_given_case == PERFD__V1__MARK__SECONDS_GIVEN_SECONDS;
        int r = 0;

        (void)context;
        assert(message->descriptor == &perfd__v1__mark__descriptor);
        if (from->job[0] != '\0')
                r = refuse_bad_job_id(&decoded->refusal, "mark.job", from->job);
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "mark.name", from->name, PHASE_NAME_MAX - 1);
        if (r != 0)
                return r;
        if (has_seconds && (!isfinite(from->seconds) || from->seconds < 0))
                return refuse(&decoded->refusal, STATUS_INVALID, "mark.seconds",
                              "must be a number of seconds, 0 or more");

        decoded->request.mark.job = from->job;
        decoded->request.mark.is_job_inherited = from->inherited;
        decoded->request.mark.name = from->name;
        decoded->request.mark.has_wall_seconds = has_seconds;
        decoded->request.mark.wall_seconds = has_seconds ? from->seconds : 0;
        return 0;
}

#define SECONDS_FIELDS(X) X(utime) X(stime)

static int take_rusage(Decoded *decoded, const Perfd__V1__Rusage *from, JobRusage *ret) {
#define X(field)                                                                                \
        if (!isfinite(from->field) || from->field < 0)                                          \
                return refuse(&decoded->refusal, STATUS_INVALID, "job_end.rusage." #field,                \
                              "must be a number of seconds, 0 or more");                        \
        ret->ru_##field = from->field;
        SECONDS_FIELDS(X)
#undef X

#define X(field)                                                                                \
        if (from->field < 0)                                                                    \
                return refuse(&decoded->refusal, STATUS_INVALID, "job_end.rusage." #field, "is negative");\
        ret->ru_##field = from->field;
        RUSAGE_COUNTS(X)
#undef X

        return 0;
}

int codec_decode_job_end(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__JobEnd *from = (const Perfd__V1__JobEnd *)message;
        bool has_exit_status = from->exit_status_given_case == PERFD__V1__JOB_END__EXIT_STATUS_GIVEN_EXIT_STATUS;
        JobEnd *end = &decoded->request.job_end.end;
        Answer *refusal = &decoded->refusal;
        int r;

        (void)context;
        assert(message->descriptor == &perfd__v1__job_end__descriptor);
        r = refuse_bad_job_id(refusal, "job_end.job", from->job);
        if (r != 0)
                return r;
        if (has_exit_status && (from->exit_status < 0 || from->exit_status > 255))
                return refuse(refusal, STATUS_INVALID, "job_end.exit_status", "is %d, must be 0 to 255 as in a shell",
                              from->exit_status);
        if (from->signal < 0 || from->signal > SIGNAL_MAX)
                return refuse(refusal, STATUS_INVALID, "job_end.signal", "is %d, must be 0 (none) to %d", from->signal,
                              SIGNAL_MAX);

        decoded->request.job_end.job = from->job;
        *end = (JobEnd){
                .has_exit_status = has_exit_status,
                .exit_status = has_exit_status ? from->exit_status : 0,
                .signal = from->signal,
                .has_rusage = from->rusage,
                .realtime_ms = from->time_ms,
                .is_rusage_partial = from->rusage_partial,
                .client_cpu = take_client_cpu(from->client_cpu),
        };

        return from->rusage ? take_rusage(decoded, from->rusage, &end->rusage) : 0;
}
