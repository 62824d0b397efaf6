/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statistics of the data pipelines of jobs. */

#include "http/subject.h"

extern const Subject pipelines_subject;

void pipelines_subject_stages(const Target *target, const Sources *sources, Response *response);
void pipelines_subject_intervals(const Target *target, const Sources *sources, Response *response);
void pipelines_subject_events(const Target *target, const Sources *sources, Response *response);

int pipelines_subject_metrics(Exposition *exposition, const Snapshot *snapshot);
int pipelines_subject_metrics_counts(Exposition *exposition, const Snapshot *snapshot);
