/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* perfd itself: whether it runs, its API and its own statistics. */

#include "http/subject.h"

void self_subject_quota(Exchange *exchange);

int self_subject_metrics(Exposition *exposition, const Snapshot *snapshot);
int self_subject_metrics_now(Exposition *exposition, const Exchange *exchange);

extern const Subject self_subject;
