/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Explains why no result matches a request */

#include "http/exchange.h"
#include "store/indicators/points.h"

/*
 * Appends a sentence: which condition alone matches no result, or that only their combination matches none.
 * 0 or EXCHANGE_ANSWERED.
 */
int explain_empty(Exchange *exchange, const PointFilter *filter, Buffer *out);
