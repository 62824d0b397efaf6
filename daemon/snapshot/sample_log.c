/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/sample_log.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void free_groups(SampleLog *log) {
        for (size_t i = 0; i < N_SAMPLE_LOG_LEVELS; i++)
                free(log->levels[i].groups);
}

void sample_log_deinit(SampleLog *log) {
        free_groups(log);
        *log = (SampleLog){};
}

void sample_log_clear(SampleLog *log) {
        if (log->n == 0)
                return;
        free_groups(log);
        *log = (SampleLog){ .generation = log->generation + 1 };
}

static ExportSample *group_at(const SampleLogLevel *level, uint64_t at) {
        assert(at % SAMPLE_LOG_RING < level->n_allocated);
        return &level->groups[at % SAMPLE_LOG_RING];
}

/* Number of groups of the level that are complete. */
static uint64_t n_groups(const SampleLog *log, uint32_t level) {
        return log->n >> level;
}

/* Makes room for the first n groups of a level, of which the ring keeps the last. */
static int reserve_groups(SampleLogLevel *level, uint64_t n) {
        size_t n_asked = n < SAMPLE_LOG_RING ? (size_t)n : SAMPLE_LOG_RING, n_allocated = 2 * level->n_allocated;
        ExportSample *groups;

        if (n_asked <= level->n_allocated)
                return 0;
        if (n_allocated < n_asked)
                n_allocated = n_asked;
        if (n_allocated > SAMPLE_LOG_RING)
                n_allocated = SAMPLE_LOG_RING;
        groups = realloc(level->groups, n_allocated * sizeof(*groups));
        if (!groups)
                return -ENOMEM;
        level->groups = groups;
        level->n_allocated = n_allocated;
        return 0;
}

/* Makes room in each level that the next sample completes a group of. */
static int reserve(SampleLog *log) {
        for (uint32_t i = 0; i < N_SAMPLE_LOG_LEVELS && (log->n + 1) % (UINT64_C(1) << i) == 0; i++)
                if (reserve_groups(&log->levels[i], n_groups(log, i) + 1) < 0)
                        return -ENOMEM;
        return 0;
}

int sample_log_add(SampleLog *log, const ExportSample *sample) {
        ExportSample group = *sample;

        if (reserve(log) < 0)
                return -ENOMEM;

        for (uint32_t i = 0; i < N_SAMPLE_LOG_LEVELS; i++) {
                SampleLogLevel *above = i + 1 < N_SAMPLE_LOG_LEVELS ? &log->levels[i + 1] : NULL;

                *group_at(&log->levels[i], n_groups(log, i)) = group;
                if (!above)
                        break;
                if (!above->has_pending) {
                        above->pending = group;
                        above->has_pending = true;
                        break;
                }
                export_sample_merge(&above->pending, &group);
                group = above->pending;
                above->has_pending = false;
        }
        log->n++;
        return 0;
}

/* Copies the groups that the copy lacks. */
static int copy_level(const SampleLog *from, uint32_t i, SampleLog *to) {
        const SampleLogLevel *source = &from->levels[i];
        SampleLogLevel *level = &to->levels[i];
        uint64_t at = n_groups(to, i), end = n_groups(from, i);

        level->pending = source->pending;
        level->has_pending = source->has_pending;
        if (reserve_groups(level, end) < 0)
                return -ENOMEM;
        if (end - at > SAMPLE_LOG_RING)
                at = end - SAMPLE_LOG_RING;
        for (; at < end; at++)
                *group_at(level, at) = *group_at(source, at);
        return 0;
}

/* A level changes only if the level below has got a group. */
static bool has_changed(const SampleLog *from, uint32_t i, const SampleLog *to) {
        return i == 0 ? from->n != to->n : n_groups(from, i - 1) != n_groups(to, i - 1);
}

int sample_log_copy(const SampleLog *from, SampleLog *to) {
        if (to->generation != from->generation) {
                sample_log_deinit(to);
                to->generation = from->generation;
        }

        for (uint32_t i = 0; i < N_SAMPLE_LOG_LEVELS && has_changed(from, i, to); i++)
                if (copy_level(from, i, to) < 0) {
                        sample_log_deinit(to);
                        return -ENOMEM;
                }
        to->n = from->n;
        return 0;
}

/* --- spans ---------------------------------------------------------------------------------------- */

void sample_log_span_begin(SampleSpan *span, const SampleLog *log, uint64_t realtime_ms) {
        *span = (SampleSpan){ .begin = log->n, .begin_realtime_ms = realtime_ms };
}

/* First group of the span's level that is whole in the span. */
static uint64_t first_group(const SampleSpan *span) {
        return (span->begin + (UINT64_C(1) << span->level) - 1) >> span->level;
}

static size_t count(const SampleSpan *span, const SampleLog *log) {
        uint64_t first = first_group(span), end = n_groups(log, span->level);
        bool has_tail = log->n > (end << span->level);

        return (span->head != NULL) + (end > first ? (size_t)(end - first) : 0) + has_tail;
}

static void add_head(SampleSpan *span, const ExportSample *group) {
        if (span->head) {
                export_sample_merge(span->head, group);
                return;
        }

        span->head = malloc(sizeof(*span->head));
        if (span->head)
                *span->head = *group;
}

void sample_log_span_deinit(SampleSpan *span) {
        free(span->head);
        *span = (SampleSpan){};
}

void sample_log_span_follow(SampleSpan *span, const SampleLog *log) {
        while (count(span, log) > EXPORT_SAMPLES_MAX && span->level + 1 < N_SAMPLE_LOG_LEVELS) {
                uint64_t first = first_group(span);

                if (first % 2 != 0)
                        add_head(span, group_at(&log->levels[span->level], first));
                span->level++;
        }
}

/* Merges the samples behind the last whole group: a half group of each lower level, the oldest in the highest. */
static bool make_tail(const SampleSpan *span, const SampleLog *log, ExportSample *ret) {
        bool has = false;

        for (uint32_t i = span->level; i > 0; i--) {
                if (!log->levels[i].has_pending)
                        continue;
                if (has)
                        export_sample_merge(ret, &log->levels[i].pending);
                else
                        *ret = log->levels[i].pending;
                has = true;
        }
        return has;
}

/* Turns readings of the totals into amounts. */
static void count_from(ExportSamples *list, const Totals *begin, const Totals *end) {
        for (size_t c = 0; c < N_PERFPY_COUNTERS; c++) {
                uint64_t base = begin->value[perfpy_counters[c].total],
                         last = end->value[perfpy_counters[c].total] - base;
                bool has = begin->have & end->have & (1U << perfpy_counters[c].source);

                for (size_t i = 0; i < list->n; i++) {
                        uint64_t *bytes = &list->samples[i].counted_bytes[c];

                        *bytes = i + 1 < list->n ? *bytes - base : last;
                        if (!has)
                                *bytes = EXPORT_BYTES_UNKNOWN;
                }
        }
}

int sample_log_span_list(const SampleSpan *span, const SampleLog *log, const Totals *begin, const Totals *end,
                         ExportSamples *ret) {
        size_t n = count(span, log);
        ExportSamples list = {
                .begin_realtime_ms = span->begin_realtime_ms,
                .n_merged = UINT64_C(1) << span->level,
                .samples = calloc(n + 1, sizeof(*list.samples)),
        };

        if (!list.samples)
                return -ENOMEM;

        if (span->head)
                list.samples[list.n++] = *span->head;
        for (uint64_t at = first_group(span); at < n_groups(log, span->level); at++)
                list.samples[list.n++] = *group_at(&log->levels[span->level], at);
        list.n += make_tail(span, log, &list.samples[list.n]);
        assert(list.n == n && n <= EXPORT_SAMPLES_MAX);

        count_from(&list, begin, end);
        *ret = list;
        return 0;
}
