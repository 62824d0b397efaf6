/* SPDX-License-Identifier: Apache-2.0 */
#include "client/top/top_options.h"

#include <time.h>

#include "client/top/top_state.h"

/* With a day, then without. */
static const char *const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                                       "%H:%M:%S", "%H:%M" };

uint64_t top_options_parse_time(const char *text, uint64_t now_ms) {
        time_t now = (time_t)(now_ms / 1000), t = -1;

        for (size_t i = 0; i < N_ELEMENTS(formats); i++) {
                struct tm tm;
                const char *end;

                (void)localtime_r(&now, &tm);
                tm.tm_sec = 0;
                tm.tm_isdst = -1; /* as on that day */
                end = strptime(text, formats[i], &tm);
                if (!end || *end)
                        continue;
                t = mktime(&tm);
                if (t > now && formats[i][1] == 'H') {
                        tm.tm_mday--;
                        tm.tm_isdst = -1;
                        t = mktime(&tm);
                }
                break;
        }
        return t > 0 ? (uint64_t)t * 1000 : 0;
}

static int parse_at(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS, at_ms = top_options_parse_time(value, now_ms);

        if (at_ms == 0 || at_ms > now_ms)
                return option_refuse(option, value, "a past time such as 03:00 or '2026-11-20 03:00'", ret_error);
        *(uint64_t *)place = at_ms;
        return 0;
}

const Option top_options[] = {
        { "once", 0, NULL, "Print the screen once, as text", OPTION_FLAG(TopOptions, once) },
        OPTION_ROW_JSON(TopOptions, json),
        { "sort", 0, "COLUMN", "Order of the jobs, the highest first", OPTION_NAME(TopOptions, sort, top_column_words), .initial = "cpu" },
        { "at", 0, "TIME", "Begin at this time of the history", .parse = parse_at, .offset = OPTION_PLACE(TopOptions, at_ms, uint64_t) },
        OPTION_ROW_INTERVAL(TopOptions, interval_ns),
        OPTION_ROW_UPDATES(TopOptions, limit),
        {},
};
