/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Node recent: the last minutes of the node and its cores at the sampling rate, as a list and as events. */

#include "http/exchange.h"

void node_recent_answer(const Target *target, const Sources *sources, Response *response);
void node_recent_stream(const Target *target, const Sources *sources, Response *response);
