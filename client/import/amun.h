/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Amun: submissions from result documents of Amun
 *
 * Amun ran a script in a cluster and wrote what it printed beside what it knows of the run. Over the years it has put the
 * script's own document at the top level, into `stdout`, and into that of `job_log` or `log`, as an object or as a string that holds
 * one; the end of the run is `datetime` or `end_datetime`, in UTC without saying so. All of it is read, and nothing is dropped: a run
 * that failed is a submission without a result.
 */

#include <stdbool.h>
#include <stddef.h>

#include "request/request.h"
#include "util/arena.h"

/* A run that ended well and yet printed nothing has failed as well, with EX_DATAERR of sysexits.h. */
#define AMUN_PRINTED_NOTHING 65

/* Context of a document. Each member may be NULL. */
typedef struct AmunContext {
        const char *name, *component, *version; /* of a run that failed before it could say so itself */
        const Value *printed;         /* in place of what such a run printed */
        const char *inspection;       /* its id */
        const Value *specification;   /* of the inspection */
        const Value *hwinfo;          /* where the document has none */
} AmunContext;

/* Whether the document was written by a runner instead of the script itself. */
bool amun_is_result(const Value *document);

/* Finds the document that the script printed; NULL when there is none. 0, INDICATOR_INVALID with a complaint, or -ENOMEM. */
int amun_find_printed(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint);

/*
 * Everything of a submission but its id, job and batch. What it refers to lives in the arena and in the document.
 * 0, INDICATOR_INVALID with the place, or -ENOMEM.
 */
int amun_read(const Value *document, const AmunContext *context, Arena *arena, Submission *ret, Complaint *ret_complaint);

/* Memory that reading a document of n bytes takes at most, its context included. */
size_t amun_arena_size(size_t n);
