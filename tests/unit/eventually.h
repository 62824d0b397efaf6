/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waiting for the work of another thread, within a limit. Include cmocka.h before. */

#include <poll.h>

#include "util/clock.h"

#define DEADLINE_MS 60000

/* Repeats a check until the condition is true, for work of another thread. */
#define EVENTUALLY(condition)                                                              \
        do {                                                                               \
                uint64_t give_up_ns_ = clock_boottime_ns() + DEADLINE_MS * NS_PER_MS;      \
                                                                                           \
                while (!(condition)) {                                                     \
                        assert_true(clock_boottime_ns() < give_up_ns_);                    \
                        (void)poll(NULL, 0, 5);                                            \
                }                                                                          \
        } while (0)
