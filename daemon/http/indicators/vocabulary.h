/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Vocabulary: keys of the results of an indicator, and their declarations in its models
 *
 * A misspelt key or value would match no result. Therefore each key of a request is looked up: in the models, in the
 * catalog, which has the parameters of indexed results, and else in the results.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/condition.h"
#include "http/exchange.h"
#include "http/selection/selection.h"
#include "util/buffer.h"

#define NAMES_MAX 256U

/* Keys of results, in the order in which they were added, each once. */
typedef struct Names {
        char *items[NAMES_MAX]; /* owned */
        size_t n;
} Names;

void vocabulary_names_deinit(Names *names);
/* Adds a copy, unless the name is empty or known, or the list is full. 0 or -ENOMEM. */
int vocabulary_names_add(Names *names, const char *name);

/*
 * Declaration of one parameter in the JSON text of a model
 *
 * A declaration is a type, a list of types, or an object with either as "type", and optionally "values"; null is any
 * type (perfd-indicators(5)).
 */

/* True if a result that conforms to the declaration can meet the condition, or, for !=, can fail to meet the
 * condition. */
bool vocabulary_allows(JsonText declaration, const Condition *condition);
/* Writes "int, one of 256, 512". */
void vocabulary_put_expected(JsonText declaration, Buffer *out);

typedef struct Vocabulary Vocabulary;

/* Reads the models of a name; NULL: an empty vocabulary. 0, or EXCHANGE_ANSWERED: the name has neither models nor
 * results. */
int vocabulary_new(Vocabulary **ret, const Target *target, const Sources *sources, Response *response,
                   const PointFilter *filter);
/* As vocabulary_new() for a name that has results, which is not checked again. */
int vocabulary_new_known(Vocabulary **ret, const Target *target, const Sources *sources, Response *response,
                         const PointFilter *filter);
Vocabulary *vocabulary_free(Vocabulary *vocabulary);
DEFINE_SCOPED(Vocabulary, vocabulary_free);

/*
 * Checks that each key of the selection exists, and that each value is possible for its key. Sets with_labels of the
 * filter for a key that is not in the catalog. 0 or EXCHANGE_ANSWERED.
 */
int vocabulary_check(Vocabulary *vocabulary, const Sources *sources, Response *response, Selection *selection);

/* Writes the answer of /api/v1/models without models that apply to other users only. */
void vocabulary_write_models(const Sources *sources, const Viewer *viewer, Buffer *out);

enum {
        VOCABULARY_UNKNOWN = 1, /* no model declares the member */
        VOCABULARY_AT_ODDS,     /* models of different components declare different values */
};
/* Appends a member of the models' declarations of a result, such as "unit". A document's overall_score is better
 * when higher, unless a model declares otherwise. 0, or an outcome: nothing is appended. */
int vocabulary_say(const Vocabulary *vocabulary, const char *key, const char *member, Buffer *out);
/* Returns a member of the declaration of a model, such as "compare_by"; of the first model that has it. Empty: none
 * has it. Borrowed. */
JsonText vocabulary_model_member(const Vocabulary *vocabulary, const char *member);
/* Returns a member of the declarations of a result, as above. */
JsonText vocabulary_result_member(const Vocabulary *vocabulary, const char *key, const char *member);
/* True if a model declares the parameter, or the result. */
bool vocabulary_declares_parameter(const Vocabulary *vocabulary, const char *name);
bool vocabulary_declares_result(const Vocabulary *vocabulary, const char *name);
/* Returns the i-th result that models declare, or NULL. Borrowed. */
const char *vocabulary_declared_result(const Vocabulary *vocabulary, size_t i);
/* Returns the numbers that models derive, for PointFilter.derived. Borrowed. */
const DerivedModels *vocabulary_derived(const Vocabulary *vocabulary);
/* Appends "elapsed, rate": results that models declare, else results of the newest result, without `but`. 0 or
 * EXCHANGE_ANSWERED. */
int vocabulary_list_results(Vocabulary *vocabulary, const Sources *sources, Response *response, const char *but,
                            Buffer *out);
/* True if the newest result has the number. 0 or EXCHANGE_ANSWERED. */
int vocabulary_newest_has(Vocabulary *vocabulary, const Sources *sources, Response *response, const char *name,
                          bool *ret);
/* Explains why no result of the filter's name is selected. 0 or EXCHANGE_ANSWERED. */
int vocabulary_explain_empty(Vocabulary *vocabulary, const Target *target, const Sources *sources, Response *response,
                             const Selection *selection, Buffer *out);
