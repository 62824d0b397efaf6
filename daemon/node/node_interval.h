/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Node interval: the current point of the node's history
 *
 * Observations are collected for a checkpoint interval; the complete interval goes to the store as a timeline of one point.
 */

#include "node/recording.h"
#include "snapshot/window.h"
#include "store/store.h"

typedef struct NodeInterval {
        Recording point; /* the observations of the current interval */
        uint64_t length_ns;
} NodeInterval;

void node_interval_deinit(NodeInterval *interval);

/* Begins an interval at a sample, and drops the observations of the former interval. */
void node_interval_begin(NodeInterval *interval, const Sample *sample, uint64_t length_ns);
/* Adds an observation to the interval. */
void node_interval_observe(NodeInterval *interval, const Observation *observation);
/* Puts the interval into the store and begins the next. If the queue is full or memory is exhausted, this point is lost. */
void node_interval_put(NodeInterval *interval, Store *store, const Sample *sample, uint64_t length_ns);
