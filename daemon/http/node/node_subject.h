/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node: its state, its history and its metrics. */

#include "http/subject.h"

void node_subject_metrics(Exposition *exposition, const Snapshot *snapshot);
void node_subject_metrics_percpu(Exposition *exposition, const Snapshot *snapshot);
void node_subject_metrics_sampling(Exposition *exposition, const Snapshot *snapshot);

extern const Subject node_subject;
