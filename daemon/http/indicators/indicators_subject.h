/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicators: results, comparisons of results, batches and models. */

#include "http/subject.h"

void indicators_subject_list(Exchange *exchange);
void indicators_subject_results(Exchange *exchange);
void indicators_subject_models(Exchange *exchange);
void indicators_subject_stacks(Exchange *exchange);
void indicators_subject_stack(Exchange *exchange);
void indicators_subject_stack_diff(Exchange *exchange);
void indicators_subject_specification(Exchange *exchange);
void indicators_subject_stacks_of_results(Exchange *exchange);
void indicators_subject_all_results(Exchange *exchange);
void indicators_subject_query(Exchange *exchange);
void indicators_subject_rank(Exchange *exchange);
void indicators_subject_batch(Exchange *exchange);

int indicators_subject_metrics(Exposition *exposition, const Snapshot *snapshot);

extern const Subject indicators_subject;
