/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Observe: the node's samples, handed to everything that runs
 */

#include "state.h"

/* At each tick: a sample, which every running job sees. 0 or < 0. */
int observe_tick(Service *service);

/* The same for a begin, an end or a mark, unless the last sample is as good as new: many at once share one. 0 or < 0. */
int observe_bracket(Service *service);
