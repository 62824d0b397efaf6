/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Refuse: the reason why a request is not valid
 *
 * All functions set *ret and return REFUSED, so that a check ends with `return refuse(…)`; functions that check
 * something return 0 if it is valid. Paths have the names of the protocol: "job_begin.name".
 */

#include <stddef.h>

#include "request/request.h"

enum {
        REFUSED = 1,
};

#define REFUSE_NAME_RULE "letters, digits, or any of _ . : -"

int refuse(Answer *ret, Status status, const char *path, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* As above, with status INVALID, for field `field` of the i-th element of a repeated field. */
int refuse_item(Answer *ret, const char *list, size_t i, const char *field, const char *format, ...)
        __attribute__((format(printf, 5, 6)));
int refuse_no_room(Answer *ret);

/* Describes an error in a line of text of at most n_max bytes; NULL: no error. */
const char *refuse_text_reason(const char *text, size_t n_max);
int refuse_bad_text(Answer *ret, const char *path, const char *text, size_t n_max);

int refuse_bad_job_id(Answer *ret, const char *path, const char *job);
