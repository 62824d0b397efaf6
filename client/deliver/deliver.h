/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Delivery: batches to perfd, before a deadline
 *
 * All results go into one request, or into several where perfd takes less at once; the end of the job follows in its own request.
 * A result that is too large for any request is found before the first is sent. While perfd is away or cannot take more, a
 * patient courier tries again. Results that were acknowledged are not sent again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/deliver/spool.h"
#include "client/wire/wire.h"

typedef struct Courier {
        Wire wire;
        const char *path;     /* borrowed */
        uint64_t deadline_ns; /* CLOCK_BOOTTIME */
        bool is_patient;
} Courier;

/* path: as given by --socket, or NULL. */
void deliver_courier_init(Courier *courier, const char *path, uint64_t timeout_ns);
void deliver_courier_deinit(Courier *courier);
/* Sets a new deadline, timeout_ns from now; the connection stays open. */
void deliver_courier_allow(Courier *courier, uint64_t timeout_ns);

#define DELIVERY_WHOLE SIZE_MAX

typedef struct Delivery {
        size_t n_stored, n_duplicate;
        size_t n_requests; /* requests that the results were sent in */
        size_t n_acked;    /* results that need not be sent again */
        size_t refused;    /* the result that `reply` is about; DELIVERY_WHOLE: none in particular */
        char remark[COMPLAINT_TEXT_MAX]; /* of perfd on results that it stored; "" for none */
        int error;         /* negative errno when perfd could not be reached, else 0 */
        Reply reply;       /* otherwise: to the request that was not taken */
} Delivery;

enum {
        DELIVERY_AWAY = 1, /* perfd did not take the request before the deadline; later may work */
        DELIVERY_REFUSED,  /* perfd refused the request for good: `reply` */
        DELIVERY_HOPELESS, /* perfd cannot be reached this way, ever: `error` */
};

/* Outcome of a request by its reply: 0, DELIVERY_AWAY when perfd may take it later, or DELIVERY_REFUSED. */
int delivery_judge(const Reply *reply);

/* 0, an outcome, or -ENOMEM. *ret is set in any case. */
int deliver(Courier *courier, const Batch *batch, Delivery *ret);
/* The begin of a job. It is never spooled: a job cannot begin in the past. */
int deliver_begin(Courier *courier, const JobBegin *begin, Delivery *ret);

/* Registers a model of an indicator, written as in perfd-indicators(5). Never spooled. */
int deliver_model(Courier *courier, const Value *model, Delivery *ret);
/* Removes a registered model. component: "" for the model that names none. */
int deliver_model_gone(Courier *courier, const char *name, const char *component, Delivery *ret);

/* Lets perfd read its configuration files again. Never spooled. */
int deliver_reload(Courier *courier, Delivery *ret);

typedef struct MarkResult {
        char job[JOB_ID_MAX];          /* the job that the phase belongs to */
        char previous[PHASE_NAME_MAX]; /* name of the phase that ended; "": no phase had begun, or it had no name */
        char remark[COMPLAINT_TEXT_MAX]; /* of perfd; "" for none */
} MarkResult;

/*
 * Ends one phase of a job and begins the next. wall_seconds: duration of the phase that ends, by the caller's clock; NAN: not known.
 * A mark is never spooled and never sent twice: when the connection breaks before the reply, the outcome is DELIVERY_AWAY
 * with ret_delivery->error -ECONNRESET or -ETIMEDOUT, and perfd may have taken the mark. *ret is set on 0 only.
 */
int deliver_mark(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret, Delivery *ret_delivery);

#define DELIVERY_TEXT_MAX (COMPLAINT_PATH_MAX + COMPLAINT_TEXT_MAX + 128U)
/* Describes why the delivery failed. */
void delivery_explain(const Delivery *delivery, const Courier *courier, char ret[static DELIVERY_TEXT_MAX]);

/* Counts of what was sent from the spool. */
typedef struct Flush {
        size_t n_stored, n_duplicate, n_ends;
        size_t n_unknown; /* ends of jobs that perfd does not know, since it was away when they began */
        size_t n_rejected, n_left; /* files */
        char reason[DELIVERY_TEXT_MAX]; /* why the last of these files was rejected or left */
} Flush;

/* Sends the oldest file first, and stops at the first that perfd cannot take now. 0, or < 0 when the spool cannot be read. */
int deliver_spool(Courier *courier, const char *directory, Flush *ret);
