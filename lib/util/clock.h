/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Clocks
 *
 * Use CLOCK_BOOTTIME to order and measure (it counts during suspend and is never set), CLOCK_REALTIME only for
 * timestamps.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

uint64_t clock_boottime_ns(void);
uint64_t clock_realtime_ns(void);
uint64_t clock_monotonic_ns(void); /* only for the service manager's protocol */
/* Returns the time of CLOCK_MONOTONIC after wait_ns, for pthread_cond_timedwait(). */
struct timespec clock_monotonic_after(uint64_t wait_ns);
/* Return the CPU time of this process and of this thread. */
uint64_t clock_process_cpu_ns(void);
uint64_t clock_thread_cpu_ns(void);

#define CLOCK_TEXT_MAX 32
/* Formats "2026-11-20T21:58:18.123Z": UTC with milliseconds. */
void clock_format_utc(uint64_t realtime_ns, char ret[static CLOCK_TEXT_MAX]);

enum {
        CLOCK_MALFORMED = 1,
};

/*
 * Parses RFC 3339 times such as "2020-08-18T16:33:32.052043": with T or a blank, up to nine decimals, and an optional
 * Z or offset such as +02:00. The default is UTC. Range: 1970 to 2554.
 */
int clock_parse_utc(const char *text, uint64_t *ret_realtime_ns);

/*
 * Returns true if a time service, such as chrony or systemd-timesyncd, keeps the wall clock synchronised; see
 * adjtimex(2).
 */
bool clock_is_synchronised(void);
/* How far a time that a program gives may be ahead of this node's clock. */
#define CLOCK_AHEAD_MAX_MS (3600U * 1000U)
