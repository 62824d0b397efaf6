/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Delivery: batches to perfd, before a deadline
 *
 * One request for all results, unless that is more than perfd takes in one; one for the end.
 * A result that is too large for any request is found before the first is sent.
 * While perfd is away or says that it cannot take more now, a patient courier tries again and
 * again. What was acknowledged is not sent again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/deliver/batch.h"
#include "client/wire/wire.h"

typedef struct Courier {
        Wire wire;
        const char *path;     /* borrowed */
        uint64_t deadline_ns; /* CLOCK_BOOTTIME */
        bool is_patient;
} Courier;

/* path: as given by --socket, or NULL. */
void courier_init(Courier *courier, const char *path, uint64_t timeout_ns);
void courier_deinit(Courier *courier);
/* A new deadline, so long from now; the connection stays. */
void courier_allow(Courier *courier, uint64_t timeout_ns);

#define DELIVERY_WHOLE SIZE_MAX

typedef struct Delivery {
        size_t n_stored, n_duplicate;
        size_t n_requests; /* the results were sent in so many */
        size_t n_acked;    /* results that need not be sent again */
        size_t refused;    /* the result that `reply` is about; DELIVERY_WHOLE: none in particular */
        char remark[COMPLAINT_TEXT_MAX]; /* of perfd's, on results that it took; "" for none */
        int error;         /* negative errno of the last try that reached nobody, else 0 */
        Reply reply;       /* else what perfd said: of the request that was not taken */
} Delivery;

enum {
        DELIVERY_AWAY = 1, /* not before the deadline; later may work */
        DELIVERY_REFUSED,  /* perfd will not take it: `reply` */
        DELIVERY_HOPELESS, /* nobody can be reached this way, ever: `error` */
};

/* What a reply means for its request: 0, DELIVERY_AWAY when it may be taken later, or DELIVERY_REFUSED. */
int delivery_judge(const Reply *reply);

/* 0, an outcome, or -ENOMEM. *ret is set in any case. */
int deliver(Courier *courier, const Batch *batch, Delivery *ret);
/* The begin of a job. It is never kept for later: a job cannot begin in the past. */
int deliver_begin(Courier *courier, const JobBegin *begin, Delivery *ret);

/* A model of an indicator, as perfd-indicators(5) says. Never kept for later. */
int deliver_model(Courier *courier, const Value *model, Delivery *ret);
/* That a registered one holds no longer; component: "" for the one that names none. */
int deliver_model_gone(Courier *courier, const char *name, const char *component, Delivery *ret);

typedef struct MarkResult {
        char job[JOB_ID_MAX];          /* whose phase it is */
        char previous[PHASE_NAME_MAX]; /* that ended; "": none had begun, or it had no name */
        char remark[COMPLAINT_TEXT_MAX]; /* of perfd's on that; "" for none */
} MarkResult;

/*
 * The end of one phase of a job and the begin of the next.
 * wall_seconds: how long the phase that ends took by the caller's clock, NAN when that is not known.
 * Never kept for later, and never sent twice: when the connection breaks before the reply, it is DELIVERY_AWAY
 * with ret_delivery->error -ECONNRESET or -ETIMEDOUT, and perfd may have taken it. *ret is set on 0 only.
 */
int deliver_mark(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret, Delivery *ret_delivery);

#define DELIVERY_TEXT_MAX (COMPLAINT_PATH_MAX + COMPLAINT_TEXT_MAX + 128U)
/* Why it was not taken. */
void delivery_explain(const Delivery *delivery, const Courier *courier, char ret[static DELIVERY_TEXT_MAX]);

/* What the spool held. */
typedef struct Flush {
        size_t n_stored, n_duplicate, n_ends;
        size_t n_unknown; /* ends of jobs that perfd does not know: it was away when they began */
        size_t n_rejected, n_left; /* files */
        char reason[DELIVERY_TEXT_MAX]; /* of the last file that was rejected or left */
} Flush;

/* Oldest first; stops at the first file that perfd cannot take now. 0, or < 0 when the spool cannot be read. */
int deliver_spool(Courier *courier, const char *directory, Flush *ret);
