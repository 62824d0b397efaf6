/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Clocks
 *
 * CLOCK_BOOTTIME orders and measures (it counts through suspend and never steps);
 * CLOCK_REALTIME only labels.
 */

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

uint64_t clock_boottime_ns(void);
uint64_t clock_realtime_ns(void);
uint64_t clock_monotonic_ns(void); /* for the service manager only */
/* A moment of CLOCK_MONOTONIC, for pthread_cond_timedwait(). */
struct timespec clock_monotonic_after(uint64_t wait_ns);
/* CPU time of this process / this thread. */
uint64_t clock_process_cpu_ns(void);
uint64_t clock_thread_cpu_ns(void);

#define CLOCK_TEXT_MAX 32
/* "2026-11-20T21:58:18.123Z", UTC, milliseconds. */
void clock_format_utc(uint64_t realtime_ns, char ret[static CLOCK_TEXT_MAX]);

enum {
        CLOCK_MALFORMED = 1,
};

/*
 * "2020-08-18T16:33:32.052043" and what RFC 3339 makes of it: a blank for the T, up to nine decimals or none, and Z or an offset
 * such as +02:00 at the end. Without one it is UTC. From 1970 to 2554.
 */
int clock_parse_utc(const char *text, uint64_t *ret_realtime_ns);
