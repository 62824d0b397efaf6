/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node: its state, its history and its metrics. */

#include "http/subject.h"

int node_subject_metrics(Exposition *exposition, const Exchange *exchange);
int node_subject_metrics_percpu(Exposition *exposition, const Exchange *exchange);
int node_subject_metrics_sampling(Exposition *exposition, const Exchange *exchange);

extern const Subject node_subject;
