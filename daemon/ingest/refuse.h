/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Refuse: why a request is not valid, in words
 *
 * All write *ret and return REFUSED, so that a check ends with `return refuse(…)`; those that look at something
 * return 0 when there is nothing wrong with it. Paths are the wire's: "job_begin.name".
 */

#include <stddef.h>

#include "request/request.h"

enum {
        REFUSED = 1,
};

#define REFUSE_NAME_RULE "letters, digits, or any of _ . : -"

int refuse(Answer *ret, Status status, const char *path, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* The same, INVALID, for field `field` of the i-th element of a repeated field. */
int refuse_item(Answer *ret, const char *list, size_t i, const char *field, const char *format, ...)
        __attribute__((format(printf, 5, 6)));
int refuse_no_room(Answer *ret);

/* Describes the error in a line of text of at most n_max bytes; NULL: none. */
const char *refuse_text_reason(const char *text, size_t n_max);
int refuse_bad_text(Answer *ret, const char *path, const char *text, size_t n_max);

int refuse_bad_job_id(Answer *ret, const char *path, const char *job);
