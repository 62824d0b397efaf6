/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/rusage.h"

void rusage_take(const struct rusage *from, JobRusage *ret) {
        ret->ru_utime = (double)from->ru_utime.tv_sec + (double)from->ru_utime.tv_usec / 1e6;
        ret->ru_stime = (double)from->ru_stime.tv_sec + (double)from->ru_stime.tv_usec / 1e6;
#define X(field) ret->field = from->field;
        RUSAGE_FIELDS(X)
#undef X
}

void rusage_add(JobRusage *to, const JobRusage *more) {
        int64_t maxrss = to->ru_maxrss > more->ru_maxrss ? to->ru_maxrss : more->ru_maxrss;

        to->ru_utime += more->ru_utime;
        to->ru_stime += more->ru_stime;
#define X(field) to->field += more->field;
        RUSAGE_FIELDS(X)
#undef X
        to->ru_maxrss = maxrss;
}
