/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node: its state, its history and its metrics. */

#include "http/subject.h"

void api_node_state(Exchange *exchange);
void api_node_samples(Exchange *exchange);

int metrics_node(Exposition *exposition, const Exchange *exchange);
int metrics_node_percpu(Exposition *exposition, const Exchange *exchange);
int metrics_node_sampling(Exposition *exposition, const Exchange *exchange);

extern const Subject node_subject;
