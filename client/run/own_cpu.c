/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/own_cpu.h"

#include <sys/resource.h>

#include "util/clock.h"

static uint64_t microseconds(const struct timeval *time) {
        return (uint64_t)time->tv_sec * (NS_PER_S / NS_PER_US) + (uint64_t)time->tv_usec;
}

/* Neither part decreases: the kernel keeps the division into user and system time monotonic. */
ClientCpu own_cpu_since(const ClientCpu *since) {
        struct rusage rusage;

        if (getrusage(RUSAGE_SELF, &rusage) < 0)
                return (ClientCpu){};

        return (ClientCpu){
                .user_us = microseconds(&rusage.ru_utime) - since->user_us,
                .system_us = microseconds(&rusage.ru_stime) - since->system_us,
        };
}
