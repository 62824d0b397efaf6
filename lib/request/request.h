/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Request and Answer: the wire, past the door
 *
 * ingest/codec.c turns frames into Requests; everything after speaks these.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "document/indicator_model.h"
#include "job/job.h"
#include "util/json_text.h"

/* Numbers are the wire's. */
typedef enum Status {
        STATUS_OK,
        STATUS_DUPLICATE,
        STATUS_INVALID,
        STATUS_TOO_LARGE,
        STATUS_QUOTA,
        STATUS_UNAVAILABLE,
        STATUS_DENIED,
        STATUS_NOT_FOUND,
        STATUS_UNSUPPORTED,
        N_STATUSES,
} Status;

const char *request_status_name(Status status); /* "OK", "DUPLICATE", … */

typedef enum RequestKind {
        REQUEST_HELLO,
        REQUEST_JOB_BEGIN,
        REQUEST_JOB_END,
        REQUEST_SUBMIT,
        REQUEST_MARK,
        REQUEST_REGISTER,
        REQUEST_UNREGISTER,
        REQUEST_RELOAD,
        N_REQUEST_KINDS,
} RequestKind;

#define RESULT_ID_BYTES 16U

typedef struct Submission {
        uint8_t id[RESULT_ID_BYTES];
        const char *job; /* "" when none */
        bool is_job_inherited; /* it is that of an environment, which may be another job's */
        uint64_t time_ms; /* 0: on arrival */
        uint64_t claimed_ms; /* the time that the sender gave, where perfd uses the arrival instead; else 0 */
        Indicator indicator; /* of a failed run: name and component; the rest only where it printed it, else NULL */
        bool has_exit_status;
        int32_t exit_status; /* not 0: the run failed, and has no result */
        bool has_batch;
        uint8_t batch[RESULT_ID_BYTES];
        uint32_t batch_index;
        const Value *run; /* how it was measured: an object, or NULL */
        /* The two objects as received; text NULL where value_write_json() would write another text, which then is kept instead. */
        JsonText document_text, run_text;
        const IndicatorModel *model; /* that it is judged and indexed by; NULL: none. The daemon's; borrowed */
} Submission;

static inline bool submission_has_failed(const Submission *submission) {
        return submission->has_exit_status && submission->exit_status != 0;
}

/* Sender of a request, from the kernel. */
typedef struct Peer {
        uint32_t uid, gid;
        int32_t pid;  /* when it connected; 0: of a pid namespace we do not see */
        int pidfd;    /* the same process, unmistakably; -1: not known. Borrowed from its connection */
        bool is_vouched; /* for this request: the client is in the jobs that it names */
        bool is_admin; /* root, or a member of the administrators' group: may act for others' jobs */
} Peer;

/* Names one unanswered request. Stays valid, and harmless, after its connection is gone. All zero: no request. */
typedef struct Ticket {
        uint32_t connection; /* number of the connection; numbers are used again */
        uint32_t generation; /* of that number, from 1 on */
        uint64_t number;     /* of the request on its connection */
} Ticket;

static inline bool ticket_is_set(Ticket ticket) {
        return ticket.generation != 0;
}

typedef struct Request {
        RequestKind kind;
        Peer peer;
        union {
                struct {
                        const char *client;
                } hello;
                struct {
                        JobInfo *info; /* borrowed; uid as asked for, else the peer's; gid the peer's; labels in the arena; cgroup NULL */
                        int32_t member_pid; /* a process in the cgroup that is the job's own; 0: none is named */
                        bool is_fresh;      /* that cgroup was made for the job */
                        uint64_t late_ms;   /* how long ago it began, as the client says; 0: now */
                } job_begin;
                struct {
                        const char *job;
                        JobEnd end;
                } job_end;
                struct {
                        const char *job; /* "": the one the peer is in */
                        bool is_job_inherited; /* as a Submission's */
                        const char *name; /* of the phase that begins; "" for one without a name */
                        bool has_wall_seconds;
                        double wall_seconds; /* of the phase that ends */
                } mark;
                struct {
                        IndicatorModel *model; /* borrowed */
                } register_model;
                struct {
                        const char *name;
                        const char *component; /* NULL: the one that names none */
                } unregister_model;
                struct {
                        Submission *items;
                        size_t n_items;
                } submit;
        };
} Request;

typedef struct Answer {
        Status status;
        Complaint complaint; /* path and sentence when not OK; else "", or a sentence of what is remarkable */
        bool has_item;
        uint32_t item;       /* which indicator of a submission is refused, from 0 */
        char job[JOB_ID_MAX];           /* of a mark: whose it was; else "" */
        char phase[PHASE_NAME_MAX];     /* of a mark: name of the phase that it ended; else "" */
} Answer;
