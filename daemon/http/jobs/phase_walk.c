/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/phase_walk.h"

#include <assert.h>

#include "store/jobs/job_reader.h"

void phase_walk_begin(PhaseWalk *walk, Reader *reader, const char *job, const PhaseView *lasting, unsigned n_max) {
        *walk = (PhaseWalk){
                .reader = reader,
                .lasting = lasting,
                .n_left = n_max,
                .is_in_store = job_reader_list_phases(reader, job) == 0,
        };
}

/* Reads one more phase than the limit, to find out whether more exist and where the current phase begins. */
static bool next_ended(PhaseWalk *walk, PhaseView *ret) {
        int r;

        r = job_reader_next_phase(walk->reader, ret);
        if (r == 0)
                walk->next = ret->index + 1;
        if (r == 0 && walk->n_left-- > 0)
                return true;

        walk->has_all = r == READER_END;
        walk->is_in_store = false;
        reader_reset(walk->reader);
        return false;
}

bool phase_walk_next(PhaseWalk *walk, PhaseView *ret) {
        if (walk->is_in_store && next_ended(walk, ret))
                return true;
        if (!walk->lasting || walk->lasting->index < walk->next)
                return false;

        assert(!walk->is_in_store);
        *ret = *walk->lasting;
        walk->lasting = NULL;
        return true;
}

double phase_walk_seconds(const PhaseView *phase, uint64_t now_ms) {
        uint64_t end_ms = phase->end_realtime_ms ?: now_ms;

        if (phase->has_wall_seconds)
                return phase->wall_seconds;
        if (quality_is_present(phase->metrics.quality[METRIC_DURATION]))
                return phase->metrics.value[METRIC_DURATION];
        return end_ms > phase->begin_realtime_ms ? (double)(end_ms - phase->begin_realtime_ms) / 1e3 : 0;
}
