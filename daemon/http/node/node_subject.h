/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node: its state, its history and its metrics. */

#include "http/subject.h"

void node_subject_state(Exchange *exchange);
void node_subject_samples(Exchange *exchange);

int node_subject_metrics(Exposition *exposition, const Exchange *exchange);
int node_subject_metrics_percpu(Exposition *exposition, const Exchange *exchange);
int node_subject_metrics_sampling(Exposition *exposition, const Exchange *exchange);

extern const Subject node_subject;
