/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Protocol: encodes requests as frames and decodes replies
 *
 * In the client, only the files of this module use the generated protobuf types. The requests of each subject are
 * encoded in a separate file: protocol_jobs.c, protocol_indicators.c, protocol_pipelines.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "request/request.h"
#include "util/buffer.h"

typedef struct Reply {
        uint64_t sequence; /* of the request; 0: the reply concerns the connection */
        Status status;
        Complaint complaint;
        bool has_item;
        uint32_t item;     /* index of the refused indicator of a submission, from 0; the complaint's path begins with
                            * this index */
        uint32_t frame_max_bytes; /* 0: not a reply to a hello, and the following members are not set */
        uint32_t in_flight_max;
        bool durable;
        char server[65];
        char node[65];
        uint64_t n_refused;         /* pipeline report: intervals that are not stored, with STATUS_OK */
        char job[JOB_ID_MAX];       /* mark: the job that was marked; "": not a reply to a mark */
        char phase[PHASE_NAME_MAX]; /* mark: name of the phase that ended */
} Reply;

/* A request to begin a job. All pointers are borrowed. */
typedef struct JobBegin {
        const JobInfo *info; /* perfd determines gid, cgroup and pid_start_ticks */
        bool has_uid;        /* the owner is info->uid; otherwise the sender */
        int32_t member_pid;  /* a process in the job's cgroup; 0: the job has no cgroup of its own */
        bool is_fresh;       /* the cgroup was created for the job */
        uint64_t late_ms;    /* time since the job began; 0: it begins now */
        ClientCpu client_cpu; /* used in the fresh cgroup before the job's command started */
        uint64_t sample_ns;  /* interval of readings of the node's CPUs to ask for, in whole ms; 0: as configured */
} JobBegin;

/* Reference to a job. */
typedef struct JobRef {
        const char *id;    /* borrowed; "": the job of this process, determined by perfd */
        bool is_inherited; /* `id` is from $PERFD_JOB; the cgroup may determine another job */
} JobRef;

enum {
        PROTOCOL_MALFORMED = 1,
};

/* Each function appends one frame, including its header, to `out`. Returns 0 or -ENOMEM. */
int protocol_encode_hello(uint64_t sequence, const char *client, Buffer *out);
int protocol_encode_reload(uint64_t sequence, Buffer *out);
int protocol_encode_forget(uint64_t sequence, uint32_t uid, uint64_t before_ms, bool copies, Buffer *out);
int protocol_encode_job_begin(uint64_t sequence, const JobBegin *begin, Buffer *out);
int protocol_encode_job_end(uint64_t sequence, const char *job, const JobEnd *end, Buffer *out);
/* wall_seconds: duration of the phase that ends; negative or NAN if unknown. */
int protocol_encode_mark(uint64_t sequence, const JobRef *job, const char *name, double wall_seconds, Buffer *out);
/*
 * Encodes all members of each item except the model. Of the indicator, only the document is encoded, and for a failed
 * run name and component.
 */
int protocol_encode_submit(uint64_t sequence, const Submission *items, size_t n_items, Buffer *out);
/* models: objects as described in perfd-indicators(5); at least one. */
int protocol_encode_register(uint64_t sequence, const Value *const *models, size_t n_models, Buffer *out);
/* component: "" for the model without a component. */
int protocol_encode_unregister(uint64_t sequence, const char *name, const char *component, Buffer *out);
/* At most PIPELINE_REPORT_INTERVALS_MAX / 2 intervals. An interval is encoded with its means, so that sums are
 * rounded. */
int protocol_encode_pipeline_report(uint64_t sequence, const PipelineReport *report, Buffer *out);

/* Writes the number of bytes that one item adds to a submit frame after the item `before`, whose stack and
 * specification the frame has; NULL: the item is the first. */
int protocol_submission_size(const Submission *item, const Submission *before, size_t *ret);
/* Upper limit of the size of a submit frame without its items. */
#define PROTOCOL_SUBMIT_OVERHEAD 32U

/* Returns the member of a request that a complaint is about, without the request's name in the protocol. */
const char *protocol_find_member(const char *path);
int protocol_decode_reply(const Frame *frame, Reply *ret);
