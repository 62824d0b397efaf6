/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statistics of the data pipelines of jobs. */

#include "http/subject.h"

extern const Subject pipelines_subject;

void pipelines_subject_stages(Exchange *exchange);
void pipelines_subject_intervals(Exchange *exchange);
void pipelines_subject_events(Exchange *exchange);

int pipelines_subject_metrics(Exposition *exposition, const Snapshot *snapshot);
int pipelines_subject_metrics_counts(Exposition *exposition, const Snapshot *snapshot);
