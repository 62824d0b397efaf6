/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicators: results, comparisons of results, batches and models. */

#include "http/subject.h"

void api_indicators_list(Exchange *exchange);
void api_indicators_results(Exchange *exchange);
void api_indicators_models(Exchange *exchange);
void api_indicators_all_results(Exchange *exchange);
void api_query_answer(Exchange *exchange);
void api_rank_answer(Exchange *exchange);
void api_batch_answer(Exchange *exchange);

int metrics_indicators(Exposition *exposition, const Exchange *exchange);

extern const Subject indicators_subject;
