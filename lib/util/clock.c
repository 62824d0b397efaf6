#include "util/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t clock_read_ns(clockid_t id) {
        struct timespec t = {};

        (void)clock_gettime(id, &t);
        return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t clock_boottime_ns(void) {
        return clock_read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_realtime_ns(void) {
        return clock_read_ns(CLOCK_REALTIME);
}

uint64_t clock_monotonic_ns(void) {
        return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_process_cpu_ns(void) {
        return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void) {
        return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void clock_format_utc(uint64_t realtime_ns, char ret[static CLOCK_TEXT_MAX]) {
        time_t seconds = (time_t)(realtime_ns / NS_PER_S);
        struct tm tm = {};
        size_t n;

        (void)gmtime_r(&seconds, &tm);
        n = strftime(ret, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
        (void)snprintf(ret + n, CLOCK_TEXT_MAX - n, ".%03uZ", (unsigned)(realtime_ns / NS_PER_MS % 1000));
}
