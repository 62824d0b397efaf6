/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Codec: requests to frames, frames to replies
 *
 * The codec's files are the client's only ones that know the generated protobuf types. The requests of each subject are encoded
 * in a file of its own: codec_jobs.c, codec_indicators.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "request/request.h"
#include "util/buffer.h"

typedef struct Reply {
        uint64_t sequence; /* of the request; 0: of the connection itself */
        Status status;
        Complaint complaint;
        bool has_item;
        uint32_t item;     /* which indicator of a submission is refused, from 0; the complaint's path begins with it */
        uint32_t frame_max_bytes; /* 0: the reply is none to a hello, the rest means nothing */
        uint32_t in_flight_max;
        bool durable;
        char server[65];
        char node[65];
        char job[JOB_ID_MAX];       /* of a mark: whose it was; "": the reply is none to a mark */
        char phase[PHASE_NAME_MAX]; /* of a mark: name of the phase that it ended */
} Reply;

/* Content of a job's begin. All pointers are borrowed. */
typedef struct JobBegin {
        const JobInfo *info; /* its gid, cgroup and pid_start_ticks are perfd's to find out */
        bool has_uid;        /* info->uid is whose job it is; else it is the sender's */
        int32_t member_pid;  /* a process in the cgroup that is the job's own; 0: none is named */
        bool is_fresh;       /* that cgroup was made for the job */
        uint64_t late_ms;    /* how long ago it began; 0: now */
} JobBegin;

/* Which job is meant. */
typedef struct JobRef {
        const char *id;    /* borrowed; "" for the one that this process is in */
        bool is_inherited; /* it is $PERFD_JOB's, which may be another job's */
} JobRef;

enum {
        CODEC_MALFORMED = 1,
};

/* Each appends one frame, header included, to `out`. 0 or -ENOMEM. */
int codec_encode_hello(uint64_t sequence, const char *client, Buffer *out);
int codec_encode_reload(uint64_t sequence, Buffer *out);
int codec_encode_job_begin(uint64_t sequence, const JobBegin *begin, Buffer *out);
int codec_encode_job_end(uint64_t sequence, const char *job, const JobEnd *end, Buffer *out);
/* wall_seconds: of the phase that ends; negative or NAN: not known. */
int codec_encode_mark(uint64_t sequence, const JobRef *job, const char *name, double wall_seconds, Buffer *out);
/* Takes all of each item but its model; of the indicator the document, and of a failed run name and component. */
int codec_encode_submit(uint64_t sequence, const Submission *items, size_t n_items, Buffer *out);
/* model: an object, as perfd-indicators(5) says. */
int codec_encode_register(uint64_t sequence, const Value *model, Buffer *out);
/* component: "" for the model that names none. */
int codec_encode_unregister(uint64_t sequence, const char *name, const char *component, Buffer *out);

/* Bytes that one item adds to a submit frame. */
int codec_submission_size(const Submission *item, size_t *ret);
/* The most a submit frame takes besides its items. */
#define CODEC_SUBMIT_OVERHEAD 32U

int codec_decode_reply(const Frame *frame, Reply *ret);
