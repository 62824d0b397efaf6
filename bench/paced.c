/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that reads the files of a sample once a second, and does nothing else
 *
 * The lower limit for a daemon that samples once a second: its caches are as cold. Its first reading is half a second after its
 * start, so that one started just after a sample of perfd reads half a second after each of perfd's, and neither warms the
 * other's caches. Runs until it is killed.
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

        (void)prctl(PR_SET_TIMERSLACK, 1000000UL); /* as perfd */
        for (next_ns = clock_boottime_ns() + NS_PER_S / 2;; next_ns += NS_PER_S) {
                next = (struct timespec){ .tv_sec = (time_t)(next_ns / NS_PER_S), .tv_nsec = (long)(next_ns % NS_PER_S) };
                while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &next, NULL) == EINTR)
                        ;
                bare_read(&bare);
        }
}
