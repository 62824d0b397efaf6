/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of a sample once per second
 *
 * This is the lower limit for a daemon that samples once per second with equally cold caches. The first reading is
 * half a second after the start: if started just after a sample of perfd, the process reads half a second after each
 * sample of perfd, and neither warms the other's caches. Runs until killed.
 */

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "bare.h"
#include "util/clock.h"

int main(void) {
        scoped(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct timespec next;
        uint64_t next_ns;
        Bare bare;

        if (root_fd < 0 || bare_init(&bare, root_fd) < 0) {
                fprintf(stderr, "paced: cannot read /\n");
                return 1;
        }

        (void)prctl(PR_SET_TIMERSLACK, 1000000UL); /* as in perfd */
        for (next_ns = clock_boottime_ns() + NS_PER_S / 2;; next_ns += NS_PER_S) {
                next = (struct timespec){ .tv_sec = (time_t)(next_ns / NS_PER_S),
                                          .tv_nsec = (long)(next_ns % NS_PER_S) };
                while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &next, NULL) == EINTR)
                        ;
                bare_read(&bare);
        }
}
