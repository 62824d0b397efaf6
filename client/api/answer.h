/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answer: members of the JSON that perfd returns */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/text.h"
#include "document/value.h"

/* NAN where the member is no number: unknown, or not known yet. */
double answer_number(const Value *from, const char *key);
/* 0 in that case. */
double answer_number_or_zero(const Value *from, const char *key);
/* A time or a count. 0 where the member is none. */
uint64_t answer_time(const Value *from, const char *key);
/* "" where the member is no string. */
const char *answer_text(const Value *from, const char *key);
/* False where the member is no boolean. */
bool answer_flag(const Value *from, const char *key);
/* False for a model, of the answer to /api/v1/models, that applies to the results of another user only. */
bool answer_model_applies(const Value *model);
/* Number of items of a list, or of members of an object; 0 for any other value and for NULL. */
size_t answer_length(const Value *list);
size_t answer_n_members(const Value *object);
/* The first object of a list whose member `key` is that text; NULL: none, or no list. */
const Value *answer_find(const Value *list, const char *key, const char *text);

typedef struct AnswerMetric {
        double value; /* in `unit` */
        const char *unit;
        bool is_exact;
} AnswerMetric;

/* From the list `metrics` of a job or the node. False: absent. */
bool answer_metric(const Value *from, const char *key, AnswerMetric *ret);
/* "43.1 %", "12.3 MiB"; hours and seconds as "1 h 50 min" */
void answer_metric_format(const AnswerMetric *metric, char ret[static TEXT_MAX]);
