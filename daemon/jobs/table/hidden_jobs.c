/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/hidden_jobs.h"

static uint64_t part_of(uint64_t keep_ns) {
        return keep_ns / (HIDDEN_JOBS_PARTS - 4) + 1;
}

void hidden_jobs_add(HiddenJobs *hidden, uint64_t ended_ns, uint64_t keep_ns) {
        uint64_t number;

        if (hidden->part_ns != part_of(keep_ns))
                *hidden = (HiddenJobs){ .part_ns = part_of(keep_ns) };

        number = ended_ns / hidden->part_ns;
        if (hidden->number[number % HIDDEN_JOBS_PARTS] != number)
                hidden->n[number % HIDDEN_JOBS_PARTS] = 0;
        hidden->number[number % HIDDEN_JOBS_PARTS] = number;
        hidden->n[number % HIDDEN_JOBS_PARTS]++;
}

uint64_t hidden_jobs_count(const HiddenJobs *hidden, uint64_t now_ns, uint64_t keep_ns) {
        uint64_t n = 0;

        if (hidden->part_ns != part_of(keep_ns))
                return 0;
        for (unsigned i = 0; i < HIDDEN_JOBS_PARTS; i++)
                if ((hidden->number[i] + 1) * hidden->part_ns + keep_ns > now_ns)
                        n += hidden->n[i];
        return n;
}
