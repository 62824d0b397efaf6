/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "client/report/report_run.h"

/* List of ranges, in the format of the kernel's CPU lists. */
typedef struct Ranges {
        Buffer *out;
        int64_t first, last; /* the current range; first -1: none */
} Ranges;

static void ranges_end(Ranges *ranges) {
        if (ranges->first < 0)
                return;

        buffer_printf(ranges->out, "%s%" PRId64, ranges->out->n > 0 ? "," : "", ranges->first);
        if (ranges->last > ranges->first)
                buffer_printf(ranges->out, "-%" PRId64, ranges->last);
        ranges->first = -1;
}

static void ranges_add(Ranges *ranges, int64_t first, int64_t last) {
        if (ranges->first >= 0 && first == ranges->last + 1) {
                ranges->last = last;
                return;
        }

        ranges_end(ranges);
        ranges->first = first;
        ranges->last = last;
}

void report_run_missing_ranks(const ReportRun *run, Buffer *ret) {
        Ranges ranges = { .out = ret, .first = -1 };
        int64_t next = 0;

        if (run->n_ranks == 0 || run->reports[0].rank < 0)
                return;

        for (size_t i = 0; i < run->n_reports && run->reports[i].rank >= 0; i++) {
                if (run->reports[i].rank > next)
                        ranges_add(&ranges, next, run->reports[i].rank - 1);
                next = run->reports[i].rank + 1;
        }
        if (next < run->n_ranks)
                ranges_add(&ranges, next, run->n_ranks - 1);
        ranges_end(&ranges);
}

static bool is_of_kind(const RankReport *report, RankKind kind) {
        switch (kind) {
        case RANKS_FAILED:
                return !report_run_rank_is_good(report);
        case RANKS_RUNNING:
                return report_run_rank_is_running(report);
        case RANKS_ALL:
                return true;
        }
        return false;
}

void report_run_ranks(const ReportRun *run, RankKind kind, Buffer *ret, size_t *ret_n) {
        Ranges ranges = { .out = ret, .first = -1 };
        size_t n = 0;

        for (size_t i = 0; i < run->n_reports; i++) {
                const RankReport *report = &run->reports[i];

                if (!is_of_kind(report, kind))
                        continue;
                n++;
                if (report->rank >= 0)
                        ranges_add(&ranges, report->rank, report->rank);
        }

        ranges_end(&ranges);
        *ret_n = n;
}

const char *report_run_rank_advice(const RankReport *report, const char *rule) {
        const Value *advice = answer_find(value_get(report->job, "advice"), "rule", rule);

        return advice ? answer_text(advice, "text") : NULL;
}

void report_run_advised_ranks(const ReportRun *run, const char *rule, Buffer *ret) {
        Ranges ranges = { .out = ret, .first = -1 };

        for (size_t i = 0; i < run->n_reports; i++)
                if (run->reports[i].rank >= 0 && report_run_rank_advice(&run->reports[i], rule))
                        ranges_add(&ranges, run->reports[i].rank, run->reports[i].rank);
        ranges_end(&ranges);
}

void report_run_rank_name(const RankReport *report, Buffer *ret) {
        if (report->rank >= 0)
                buffer_printf(ret, "rank %" PRId64, report->rank);
        else
                buffer_puts(ret, *report->hostname ? report->hostname : report->id);
}
