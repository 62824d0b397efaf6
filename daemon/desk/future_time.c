/* SPDX-License-Identifier: Apache-2.0 */
#include "desk/future_time.h"

#include <stdio.h>

#include "util/clock.h"
#include "util/clock_sync.h"

#define AHEAD_MAX_MS (3600U * 1000U)

int future_time_check(uint64_t time_ms, uint64_t now_ms, char ret_text[static COMPLAINT_TEXT_MAX]) {
        char time[CLOCK_TEXT_MAX];

        if (time_ms <= now_ms + AHEAD_MAX_MS)
                return 0;
        if (!clock_sync_is_on())
                return FUTURE_TIME_UNTRUSTED;

        clock_format_utc(time_ms * NS_PER_MS, time);
        (void)snprintf(ret_text, COMPLAINT_TEXT_MAX, "is %s, more than an hour ahead of this node's synchronised clock; "
                                                     "correct the clock of the sender, or omit the time", time);
        return FUTURE_TIME_REFUSED;
}
