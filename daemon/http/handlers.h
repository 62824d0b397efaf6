/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions that answer, one for each route. Each leaves the exchange answered. */

#include "http/exchange.h"

void answer_landing(Exchange *exchange);
void answer_job_page(Exchange *exchange);
void answer_indicator_page(Exchange *exchange);
void answer_openapi(Exchange *exchange);
void answer_healthy(Exchange *exchange);
void answer_ready(Exchange *exchange);
void answer_metrics(Exchange *exchange);

void answer_node(Exchange *exchange);
void answer_node_samples(Exchange *exchange);

void answer_jobs(Exchange *exchange);
void answer_job(Exchange *exchange);
void answer_job_metrics(Exchange *exchange);
void answer_job_samples(Exchange *exchange);

void answer_indicators(Exchange *exchange);
void answer_indicator_results(Exchange *exchange);
void answer_indicator_query(Exchange *exchange);
void answer_indicator_rank(Exchange *exchange);
void answer_batch(Exchange *exchange);
void answer_models(Exchange *exchange);
void answer_results(Exchange *exchange);
