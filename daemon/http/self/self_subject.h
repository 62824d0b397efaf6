/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* perfd itself: whether it runs, its API and its own statistics. */

#include "http/subject.h"

void api_self_healthy(Exchange *exchange);
void api_self_ready(Exchange *exchange);
void api_self_openapi(Exchange *exchange);

int metrics_self(Exposition *exposition, const Exchange *exchange);

extern const Subject self_subject;
