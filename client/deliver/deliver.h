/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Delivery: sends batches to perfd before a deadline
 *
 * All results go into one request, or into several if they exceed perfd's frame limit; the end of the job follows in
 * a separate request. A result that is too large for any request is detected before the first request. If perfd is
 * unavailable or at a limit, a patient courier retries. Acknowledged results are not sent again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/deliver/spool.h"
#include "client/wire/wire.h"
#include "client/deliver/pipeline_pending.h"

typedef struct Courier {
        Wire wire;
        const char *path;     /* borrowed */
        uint64_t timeout_ns;
        uint64_t deadline_ns; /* CLOCK_BOOTTIME */
        bool is_by_answer;    /* the deadline moves with each answer; set by the owner */
        bool is_patient;
} Courier;

/* path: as given by --socket, or NULL. */
void deliver_courier_init(Courier *courier, const char *path, uint64_t timeout_ns);
void deliver_courier_deinit(Courier *courier);
/* Sets a new deadline, timeout_ns from now; the connection stays open. */
void deliver_courier_set_timeout(Courier *courier, uint64_t timeout_ns);

#define DELIVERY_WHOLE SIZE_MAX

typedef struct Delivery {
        size_t n_stored, n_duplicate;
        size_t n_requests; /* requests in which the results were sent */
        size_t n_acked;    /* results that need not be sent again */
        size_t refused;    /* index of the result that `reply` is about; DELIVERY_WHOLE: the reply is about the whole
                            * request */
        char remark[COMPLAINT_TEXT_MAX]; /* perfd's remark on results that it stored; may be "" */
        int error;         /* negative errno if perfd could not be reached, else 0 */
        bool may_be_taken; /* of a single request: perfd may have read it, and no reply arrived */
        Reply reply;       /* if error is 0: reply to the request that was not accepted */
} Delivery;

enum {
        /* perfd did not accept the request before the deadline; a later attempt may succeed */
        DELIVERY_UNAVAILABLE = 1,
        DELIVERY_REFUSED,  /* perfd refused the request permanently; see `reply` */
        DELIVERY_UNREACHABLE, /* perfd cannot be reached and a retry cannot help; see `error` */
};

/* Classifies a reply: 0, DELIVERY_UNAVAILABLE if perfd may accept the request later, or DELIVERY_REFUSED. */
int delivery_classify(const Reply *reply);

/* Returns 0, an outcome, or -ENOMEM. *ret is set in all cases. */
int deliver(Courier *courier, const Batch *batch, Delivery *ret);

/* A batch of which a refused result does not keep the others out. */
typedef struct DeliveryParts {
        Batch rest; /* set to the whole before; later what perfd has neither stored nor refused */
        void (*on_refused)(const Submission *item, Delivery *delivery, void *userdata);
        void *userdata;
        size_t n_stored, n_duplicate, n_refused;
        Delivery last;
} DeliveryParts;

/* Calls on_refused() for each result that perfd refuses, and sends the others. Returns as deliver(). */
int deliver_parts(Courier *courier, DeliveryParts *parts);
/* Begins a job. Never spooled: a job cannot begin in the past. */
int deliver_begin(Courier *courier, const JobBegin *begin, Delivery *ret);

/* Registers indicator models, objects as described in perfd-indicators(5): all or none. Never spooled. */
int deliver_models(Courier *courier, const Value *const *models, size_t n_models, Delivery *ret);
/* Removes a registered model. component: "" for the model without a component. */
int deliver_model_removal(Courier *courier, const char *name, const char *component, Delivery *ret);

/*
 * Sends those of a data pipeline's statistics that fit into one report, and removes them when perfd has stored or
 * refused them. Intervals that are sent again are ignored. Never spooled. Adds the number of stored intervals and
 * events to *n_sent.
 */
int deliver_pipeline_pending(Courier *courier, const JobRef *job, PipelinePending *pending, uint64_t *n_sent,
                             Delivery *ret);

/* Lets perfd read its configuration files again. Never spooled. */
int deliver_reload(Courier *courier, Delivery *ret);
/* Removes what is stored of a user. Never spooled, and tried once, since a failure may need an administrator.
 * before_ms: 0: rows of any time. */
int deliver_forget(Courier *courier, uint32_t uid, uint64_t before_ms, bool copies, Delivery *ret);

typedef struct MarkResult {
        char job[JOB_ID_MAX];          /* the job that the phase belongs to */
        char previous[PHASE_NAME_MAX]; /* name of the phase that ended; "" if there was none, or it had no name */
        char remark[COMPLAINT_TEXT_MAX]; /* perfd's remark; may be "" */
} MarkResult;

/*
 * Ends the current phase of a job and starts the next. wall_seconds: duration of the phase that ends, by the
 * caller's clock; NAN if unknown. A mark is never spooled and never sent twice: if the connection is lost before the
 * reply, returns DELIVERY_UNAVAILABLE with ret_delivery->error -ECONNRESET or -ETIMEDOUT, and perfd may or may not
 * have accepted the mark. *ret is set on 0 only.
 */
int deliver_mark(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret,
                 Delivery *ret_delivery);

#define DELIVERY_TEXT_MAX (COMPLAINT_PATH_MAX + COMPLAINT_TEXT_MAX + 128U)
/* Describes why the delivery failed. */
void delivery_explain(const Delivery *delivery, const Courier *courier, char ret[static DELIVERY_TEXT_MAX]);

#define FLUSH_SKIPPED_MAX 1024U

/* Result of sending the spool. */
typedef struct Flush {
        size_t n_stored, n_duplicate, n_ends;
        size_t n_unknown; /* ends of jobs unknown to perfd, which was unavailable when they began */
        size_t n_rejected, n_left; /* numbers of files */
        size_t n_skipped;          /* entries that are no files of this user, which stay in the spool */
        char skipped[FLUSH_SKIPPED_MAX]; /* "NAME: why" of the first ones, each in a line of its own */
        char reason[DELIVERY_TEXT_MAX]; /* reason for the last file that was rejected or left */
} Flush;

/*
 * Sends the files, oldest first, and stops at the first that perfd cannot accept now; of this file, what perfd has
 * is removed. Returns 0, or a negative errno if the spool cannot be read.
 */
int deliver_spool(Courier *courier, const char *directory, Flush *ret);
