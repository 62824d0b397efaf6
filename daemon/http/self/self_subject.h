/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* perfd itself: whether it runs, its API and its own statistics. */

#include "http/subject.h"

void self_subject_quota(const Target *target, const Sources *sources, Response *response);

int self_subject_metrics(Exposition *exposition, const Snapshot *snapshot);
int self_subject_metrics_now(Exposition *exposition, const Sources *sources);

extern const Subject self_subject;
