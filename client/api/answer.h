/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answer: read members of the JSON documents that perfd returns */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"
#include "util/buffer.h"
#include "value/value.h"

/* Returns NAN if the member is missing or not a number: the value is unknown or not yet available. */
double answer_number(const Value *from, const char *key);
/* As answer_number(), but returns 0 instead of NAN. */
double answer_number_or_zero(const Value *from, const char *key);
/* Returns a time or a count; 0 if the member is missing or neither. */
uint64_t answer_time(const Value *from, const char *key);
/* Returns "" if the member is missing or not a string. */
const char *answer_text(const Value *from, const char *key);
/* Appends a text, a digest by its first 8 digits, or another value as JSON. */
void answer_put_value(Buffer *out, const Value *value);
/* Returns false if the member is missing or not a boolean. */
bool answer_flag(const Value *from, const char *key);
/* Returns false if a model, from the answer to /api/v1/models, applies only to results of another user. */
bool answer_model_applies(const Value *model);
/* Finds the declaration of an indicator by its model for the component, else by that for any. NULL: none. */
const Value *answer_find_declaration(const Value *models, const char *name, const char *component);
/* Returns the number of items of a list or of members of an object; 0 for any other value and for NULL. */
size_t answer_length(const Value *list);
size_t answer_n_members(const Value *object);
/* The first object of a list whose member `key` is that text; NULL: none, or no list. */
const Value *answer_find(const Value *list, const char *key, const char *text);

typedef struct AnswerMetric {
        double value; /* in `unit` */
        const char *unit;
        bool is_exact;
} AnswerMetric;

/* Finds a metric in the list `metrics` of a job or the node. Returns false if the metric is missing. */
bool answer_metric(const Value *from, const char *key, AnswerMetric *ret);
/* Formats a value with its unit: "43.1 %", "12.3 MiB"; hours and seconds as "1 h 50 min". */
void answer_metric_format(const AnswerMetric *metric, char ret[static TEXT_MAX]);

/* Refusals: users whose requests were recently refused by a limit, from the answer to /api/v1/quota */

/*
 * Returns the next user in the list, starting at *i, with a refusal in the last 10 minutes, and sets *i to the
 * following index. NULL if there is none.
 */
const Value *answer_next_refused(const Value *users, uint64_t now_ms, size_t *i);
/* Returns true if a resource of a user was refused in the last 10 minutes. */
bool answer_refusal_is_recent(const Value *resource, uint64_t now_ms);

/* Appends the user's name if this machine knows the uid, else perfd's term: "uid 1000", an address, or "unknown". */
void answer_put_refused_name(const Value *user, Buffer *out);
/*
 * Appends "alice: queries (12 refused since …, last …)" with each resource that was refused in the last 10 minutes.
 */
void answer_put_refused_user(const Value *user, uint64_t now_ms, Buffer *out);
