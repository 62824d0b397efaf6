/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

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

struct timespec clock_monotonic_after(uint64_t wait_ns) {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t ns = now_ns % NS_PER_S + wait_ns % NS_PER_S;

        return (struct timespec){
                .tv_sec = (time_t)(now_ns / NS_PER_S + wait_ns / NS_PER_S + ns / NS_PER_S),
                .tv_nsec = (long)(ns % NS_PER_S),
        };
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

/* Parses exactly n digits. */
static const char *parse_digits(const char *p, unsigned n, int *ret) {
        int v = 0;

        for (; p && n > 0; p++, n--) {
                if (*p < '0' || *p > '9')
                        return NULL;
                v = v * 10 + (*p - '0');
        }

        *ret = v;
        return p;
}

static const char *parse_character(const char *p, const char *of) {
        return p && *p && strchr(of, *p) ? p + 1 : NULL;
}

/* Parses "2020-08-18T16:33:32". */
static const char *parse_date_and_time(const char *p, struct tm *ret) {
        p = parse_digits(p, 4, &ret->tm_year);
        p = parse_digits(parse_character(p, "-"), 2, &ret->tm_mon);
        p = parse_digits(parse_character(p, "-"), 2, &ret->tm_mday);
        p = parse_digits(parse_character(p, "Tt "), 2, &ret->tm_hour);
        p = parse_digits(parse_character(p, ":"), 2, &ret->tm_min);
        return parse_digits(parse_character(p, ":"), 2, &ret->tm_sec);
}

static const char *parse_fraction(const char *p, uint64_t *ret_ns) {
        uint64_t ns = 0, unit = NS_PER_S / 10;

        if (*p != '.')
                return p;
        if (p[1] < '0' || p[1] > '9')
                return NULL;

        for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
                ns += unit * (unsigned)(*p - '0');
        *ret_ns = ns;
        return p;
}

static const char *parse_zone(const char *p, int64_t *ret_s) {
        int sign = *p == '-' ? -1 : 1, hours, minutes;

        if (*p == '\0')
                return p;
        if (*p == 'Z' || *p == 'z')
                return p + 1;

        p = parse_digits(parse_character(p, "+-"), 2, &hours);
        p = parse_digits(parse_character(p, ":"), 2, &minutes);
        if (p)
                *ret_s = sign * (hours * 3600 + minutes * 60);
        return p;
}

int clock_parse_utc(const char *text, uint64_t *ret_realtime_ns) {
        struct tm tm = {}, same;
        int64_t zone_s = 0, s;
        uint64_t ns = 0;
        const char *p;

        p = parse_date_and_time(text, &tm);
        if (p)
                p = parse_fraction(p, &ns);
        if (p)
                p = parse_zone(p, &zone_s);
        if (!p || *p || tm.tm_year < 1970 || tm.tm_year > 2553)
                return CLOCK_MALFORMED;

        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        same = tm;
        s = timegm(&same) - zone_s;
        /* timegm() normalizes the 31st of February to the third of March */
        if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday || same.tm_hour != tm.tm_hour ||
            same.tm_min != tm.tm_min || same.tm_sec != tm.tm_sec || s < 0)
                return CLOCK_MALFORMED;

        *ret_realtime_ns = (uint64_t)s * NS_PER_S + ns;
        return 0;
}

bool clock_is_synchronised(void) {
        struct timex state = { .modes = 0 }; /* modes 0: read only */
        long r = syscall(SYS_adjtimex, &state); /* glibc's adjtimex() calls clock_adjtime(2), which the system call
                                                 * filter of perfd.service denies */

        return r >= 0 && r != TIME_ERROR && !(state.status & STA_UNSYNC);
}
