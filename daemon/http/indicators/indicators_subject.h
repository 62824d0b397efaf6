/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicators: results, comparisons of results, batches and models. */

#include "http/subject.h"

void indicators_subject_list(const Target *target, const Sources *sources, Response *response);
void indicators_subject_results(const Target *target, const Sources *sources, Response *response);
void indicators_subject_models(const Target *target, const Sources *sources, Response *response);
void indicators_subject_stacks(const Target *target, const Sources *sources, Response *response);
void indicators_subject_stack(const Target *target, const Sources *sources, Response *response);
void indicators_subject_stack_diff(const Target *target, const Sources *sources, Response *response);
void indicators_subject_specification(const Target *target, const Sources *sources, Response *response);
void indicators_subject_stacks_of_results(const Target *target, const Sources *sources, Response *response);
void indicators_subject_all_results(const Target *target, const Sources *sources, Response *response);
void indicators_subject_query(const Target *target, const Sources *sources, Response *response);
void indicators_subject_rank(const Target *target, const Sources *sources, Response *response);
void indicators_subject_batch(const Target *target, const Sources *sources, Response *response);

extern const Subject indicators_subject;
