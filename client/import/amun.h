/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Amun: reads submissions from result documents of Amun
 *
 * Amun ran scripts in a cluster and stored their output together with facts about the run. Its document format
 * changed over the years: the script's document is at the top level, in `stdout`, or in the `stdout` of `job_log` or
 * `log`, as an object or as a string that contains one; the end of the run is `datetime` or `end_datetime`, in UTC
 * without a time zone. An answer of its REST API has the document in `result`, and in `parameters` what was asked. All
 * variants are supported. A failed run is a submission without a result.
 */

#include <stdbool.h>
#include <stddef.h>

#include "request/request.h"
#include "util/arena.h"

/* Exit status of a run that exited with 0 but printed no result: EX_DATAERR of sysexits.h. */
#define AMUN_PRINTED_NOTHING 65

/* Context of a document. Each member may be NULL. */
typedef struct AmunContext {
        const char *name, *component, *version; /* names for a run that failed before it printed a document */
        const Value *printed;         /* replaces the output of such a run */
        const char *inspection;       /* id of the inspection */
        const Value *specification;   /* specification of the inspection */
        const Value *hwinfo;          /* used if the document has no hardware information */
} AmunContext;

/* Returns true if the document was written by Amun's runner, not by the script. */
bool amun_is_result(const Value *document);

/*
 * Finds the document that the script printed; NULL if there is none. Returns 0, INDICATOR_INVALID with a complaint,
 * or -ENOMEM.
 */
int amun_find_printed(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint);

/*
 * Fills all members of a submission except id, job and batch. Pointers in it are borrowed from the arena and the
 * document. Returns 0, INDICATOR_INVALID with a complaint, or -ENOMEM.
 */
int amun_read(const Value *document, const AmunContext *context, Arena *arena, Submission *ret,
              Complaint *ret_complaint);

/* Returns the maximum memory for reading a document of n bytes, including its context. */
size_t amun_arena_size(size_t n);
