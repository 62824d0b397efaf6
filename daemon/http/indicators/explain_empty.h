/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Nothing: why no result meets what was asked for */

#include "http/exchange.h"
#include "store/indicators/points.h"

/*
 * A sentence for people, appended: which condition alone leaves nothing, or that all of them together do.
 * 0 or EXCHANGE_ANSWERED.
 */
int explain_empty(Exchange *exchange, const PointFilter *filter, Buffer *out);
