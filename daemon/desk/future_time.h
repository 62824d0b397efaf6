/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Ahead: times of senders that are more than an hour in the future, which would stay the newest for a long time. */

#include <stdint.h>

#include "request/request.h"

enum {
        AHEAD_UNKNOWN = 1, /* the clock is not synchronised: use the time of arrival */
        AHEAD_REFUSED,     /* *ret_text is the reason */
};

/* Judges a time in ms since 1970. 0: neither. */
int ahead_check(uint64_t time_ms, uint64_t now_ms, char ret_text[static COMPLAINT_TEXT_MAX]);
