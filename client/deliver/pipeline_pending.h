/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline pending: intervals and events that wait to be sent
 *
 * While perfd cannot be reached, the number of intervals is bounded by merging intervals of each stage: resolution
 * is lost, but no count. Further intervals are dropped only if there are thousands of stages. Intervals that were in
 * a report are not merged: perfd would not recognize them if it has stored them.
 */

#include "pipeline/pipeline_report.h"

#define PIPELINE_PENDING_MAX                                                                                           \
        20000U /* intervals, and events; further ones are dropped if merging frees too few places */

typedef struct PipelinePending {
        PipelineInterval *intervals; /* owned, with their labels; oldest first */
        size_t n_intervals, n_intervals_allocated;
        /* of the oldest intervals: were in a report, and may be stored although perfd did not answer */
        size_t n_reported;
        PipelineEvent *events;       /* owned, with their names */
        size_t n_events, n_events_allocated;
        char *description;           /* owned; NULL: none, or sent */
        char producer[PIPELINE_PRODUCER_MAX + 1];
        size_t n_merged, n_dropped;  /* intervals merged into another; intervals and events dropped */
        bool is_merged;              /* merging again before a report is sent would free too few places */
} PipelinePending;

void pipeline_pending_deinit(PipelinePending *pending);

/* Texts are copied. Each returns 0 or -ENOMEM. */
int pipeline_pending_add_interval(PipelinePending *pending, const PipelineInterval *interval);
int pipeline_pending_add_event(PipelinePending *pending, const PipelineEvent *event);
int pipeline_pending_describe(PipelinePending *pending, const char *producer, JsonText description);

bool pipeline_pending_is_empty(const PipelinePending *pending);

/* Returns the oldest that fit into one report, borrowed until the next change. The caller sets the job. */
PipelineReport pipeline_pending_report(PipelinePending *pending);
/* Removes the intervals and events that a report contained. */
void pipeline_pending_remove(PipelinePending *pending, const PipelineReport *sent);
/* Removes what perfd has refused: the item of the report that the path names, or the whole report. */
void pipeline_pending_remove_refused(PipelinePending *pending, const PipelineReport *sent, const char *path);
