/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Jobs: their list, their metrics and samples. */

#include "http/subject.h"

void api_jobs_list(Exchange *exchange);
void api_jobs_job(Exchange *exchange);
void api_jobs_metrics(Exchange *exchange);
void api_jobs_samples(Exchange *exchange);

int metrics_jobs(Exposition *exposition, const Exchange *exchange);
int metrics_jobs_counts(Exposition *exposition, const Exchange *exchange);

extern const Subject jobs_subject;
