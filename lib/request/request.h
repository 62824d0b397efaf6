/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Request and Answer: decoded messages of the submission protocol
 *
 * ingest/codec.c converts frames to Requests; all later stages use these types.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "document/indicator_model.h"
#include "job/job.h"
#include "json/json_text.h"
#include "pipeline/pipeline_report.h"
#include "stack/stack.h"

/* X(id), with numbers as in the protocol. */
#define STATUSES(X) \
        X(OK) X(DUPLICATE) X(INVALID) X(TOO_LARGE) X(QUOTA) X(UNAVAILABLE) X(DENIED) X(NOT_FOUND) X(UNSUPPORTED)

typedef enum Status {
#define X(id) STATUS_##id,
        STATUSES(X)
#undef X
        N_STATUSES,
} Status;

const char *request_status_name(Status status); /* Returns "OK", "DUPLICATE", …. */

typedef enum RequestKind {
        REQUEST_HELLO,
        REQUEST_JOB_BEGIN,
        REQUEST_JOB_END,
        REQUEST_SUBMIT,
        REQUEST_MARK,
        REQUEST_REGISTER,
        REQUEST_UNREGISTER,
        REQUEST_RELOAD,
        REQUEST_PIPELINE_REPORT,
        REQUEST_FORGET,
        N_REQUEST_KINDS,
} RequestKind;

#define RESULT_ID_BYTES 16U
/* Number of leading zero bytes of the ids that perfd gives to its own results, which it must find again. Clients may
 * not use such ids. */
#define RESULT_ID_OWN_BYTES 8U

#define SUBMIT_STACKS_MAX 64U         /* stacks in one submission */
#define SUBMIT_SPECIFICATIONS_MAX 64U /* specifications in one submission */

/* The software that some items of a submission were measured with. */
typedef struct SubmissionStack {
        const Value *document; /* in the client */
        Stack stack;           /* in the daemon, with the size and SHA-256 of its canonical form */
        size_t n_bytes;
        uint8_t digest[STACK_DIGEST_BYTES];
} SubmissionStack;

typedef struct Submission {
        uint8_t id[RESULT_ID_BYTES];
        const char *job; /* "" if there is none */
        bool is_job_inherited; /* `job` is from $PERFD_JOB; the cgroup may determine another job */
        uint64_t time_ms; /* 0: the time of arrival */
        uint64_t claimed_ms; /* the sender's time if perfd uses the arrival time instead; else 0 */
        Indicator indicator; /* of a failed run: name and component; other members only if the run printed them, else
                              * NULL */
        bool has_exit_status;
        int32_t exit_status; /* other than 0: the run failed and has no result */
        bool has_batch;
        uint8_t batch[RESULT_ID_BYTES];
        uint32_t batch_index;
        bool replaces; /* a result with this id that the sender stored before gets this content */
        const Value *run; /* run record: an object, or NULL */
        const SubmissionStack *stack; /* borrowed, also by other items; NULL: unknown */
        /* object that describes what was to be run; borrowed, also by other items; NULL: none */
        const Value *specification;
        /*
         * Both objects as received; text is NULL if value_write_json() would write another text, which is stored
         * instead.
         */
        JsonText document_text, run_text;
        const IndicatorModel *model; /* model used for validation, scoring and indexing, or NULL. Borrowed from the
                                      * daemon */
} Submission;

static inline bool submission_has_failed(const Submission *submission) {
        return submission->has_exit_status && submission->exit_status != 0;
}

/* Sender of a request, from the kernel. */
typedef struct Peer {
        uint32_t uid, gid;
        int32_t pid;  /* pid at connect(); 0: not visible in this pid namespace */
        int pidfd;    /* refers to the same process without reuse; -1: unknown. Borrowed from the connection */
        bool is_vouched; /* for this request: the client was found to be inside the jobs that it names */
        bool is_blind;   /* for this request: jobs of others are as jobs that never began */
        bool is_admin; /* root or a member of the administrators' group, who may act on jobs of others */
} Peer;

/*
 * Reference to one unanswered request. A ticket may outlive its connection; it then refers to no request. All zero:
 * no request.
 */
typedef struct Ticket {
        uint32_t connection; /* number of the connection; numbers are reused */
        uint32_t generation; /* generation of that number, from 1 */
        uint64_t number;     /* sequence number of the request on its connection */
        uint64_t user;       /* uid + 1 of the sender */
} Ticket;

static inline bool ticket_is_set(Ticket ticket) {
        return ticket.generation != 0;
}

static inline bool ticket_is_same(Ticket a, Ticket b) {
        return a.connection == b.connection && a.generation == b.generation && a.number == b.number;
}

typedef struct Request {
        RequestKind kind;
        Peer peer;
        union {
                struct {
                        const char *client;
                } hello;
                struct {
                        JobInfo *info; /* borrowed; uid as requested, else the peer's; gid is the peer's; labels and
                                        * GPUs in the arena; cgroup NULL */
                        int32_t member_pid; /* a process in the job's cgroup; 0: the job has no cgroup of its own */
                        bool is_fresh;      /* the cgroup was created for the job */
                        uint64_t late_ms;   /* time since the job began, as reported by the client; 0: it begins now */
                        ClientCpu client_cpu; /* in the fresh cgroup before the job's command started */
                        /* between readings of the CPUs while the job runs; 0: as configured */
                        uint64_t cpu_interval_ns;
                } job_begin;
                struct {
                        const char *job;
                        JobEnd end;
                } job_end;
                struct {
                        const char *job; /* "": the job of the peer, determined by its cgroup */
                        bool is_job_inherited; /* as in Submission */
                        const char *name; /* of the phase that begins; may be "" */
                        bool has_wall_seconds;
                        double wall_seconds; /* duration of the phase that ends */
                } mark;
                struct {
                        const IndicatorModel *models; /* borrowed; not empty */
                        size_t n_models;
                } register_model;
                struct {
                        const char *name;
                        const char *component; /* NULL: the model without a component */
                } unregister_model;
                struct {
                        Submission *items;
                        size_t n_items;
                } submit;
                const PipelineReport *pipeline_report; /* borrowed */
                struct {
                        uint32_t uid;
                        uint64_t before_ms; /* 0: rows of any time */
                        bool removes_copies;
                } forget;
        };
} Request;

typedef struct Answer {
        Status status;
        Complaint complaint; /* path and message if the status is not OK; else "" or a remark */
        bool has_item;
        uint32_t item; /* index of the refused indicator of a submission, or of the model that the message is about,
                        * from 0 */
        uint64_t n_refused;             /* pipeline report: intervals that are not stored, with STATUS_OK */
        char job[JOB_ID_MAX];           /* mark: the job that was marked; else "" */
        char phase[PHASE_NAME_MAX];     /* mark: name of the phase that ended; else "" */
} Answer;
