/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Future time: a sender's time that is more than an hour ahead would stay the newest for a long time. */

#include <stdint.h>

#include "request/request.h"

enum {
        FUTURE_TIME_UNTRUSTED = 1, /* the clock of this node is not synchronised: use the time of arrival instead */
        FUTURE_TIME_REFUSED,       /* *ret_text is the reason */
};

/* Checks a time in ms since 1970. Returns 0 if the time is at most an hour ahead, or an outcome. */
int future_time_check(uint64_t time_ms, uint64_t now_ms, char ret_text[static COMPLAINT_TEXT_MAX]);
