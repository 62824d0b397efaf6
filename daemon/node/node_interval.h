/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Node interval: the point of the node's history that is being collected
 *
 * Observations are collected for a checkpoint interval; the complete interval goes to the store as a timeline of one point.
 */

#include "measure/window.h"
#include "series/recording.h"
#include "store/store.h"

typedef struct NodeInterval {
        Recording point; /* of the interval that is being collected */
        uint64_t length_ns;
} NodeInterval;

void node_interval_deinit(NodeInterval *interval);

/* Begins an interval at a sample, and drops what was collected of the one before. */
void node_interval_begin(NodeInterval *interval, const Sample *sample, uint64_t length_ns);
/* Adds an observation to the interval. */
void node_interval_observe(NodeInterval *interval, const Observation *observation);
/* Puts the interval into the store and begins the next. A full queue or missing memory costs this point alone. */
void node_interval_put(NodeInterval *interval, Store *store, const Sample *sample, uint64_t length_ns);
