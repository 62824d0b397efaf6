/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statistics of the data pipelines of jobs. */

#include "http/subject.h"

extern const Subject pipelines_subject;

void pipelines_subject_stages(const Target *target, const Sources *sources, Response *response);
void pipelines_subject_intervals(const Target *target, const Sources *sources, Response *response);
void pipelines_subject_events(const Target *target, const Sources *sources, Response *response);
