/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Explains why no result matches a request */

#include "http/exchange.h"
#include "store/indicators/points.h"

/* Appends a sentence that names the condition without a matching result, or says that only the combination of the conditions
 * has no matching result. 0 or EXCHANGE_ANSWERED. */
int explain_empty(Exchange *exchange, const PointFilter *filter, Buffer *out);
