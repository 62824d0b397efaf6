/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Derived numbers: results that a model computes from a document when it is read
 *
 * A model declares them as results with `from`. Documents stay as they are stored, so that a changed model also
 * applies to older results.
 */

#include "document/expression.h"
#include "json/json.h"
#include "json/json_text.h"

typedef struct DerivedNumber {
        char *name, *from; /* owned */
        Expression expression;
} DerivedNumber;

typedef struct DerivedModel {
        char *component; /* owned; NULL: any */
        DerivedNumber **items; /* owned */
        size_t n;
} DerivedModel;

/* Models of one name; the first that applies to a component is in effect for the component. */
typedef struct DerivedModels {
        DerivedModel *items; /* owned */
        size_t n;
} DerivedModels;

void derived_models_deinit(DerivedModels *models);
/* Adds a model. results: as the model declares them, JSON. 0 or -ENOMEM. */
int derived_models_add(DerivedModels *models, const char *component, JsonText results);
/* Returns the model in effect for a component, in any case; NULL: none. */
const DerivedModel *derived_models_find(const DerivedModels *models, const char *component);

/* Returns the expression of a result; NULL: the result is not derived. */
const Expression *derived_model_find(const DerivedModel *model, const char *name);
/* Writes {"NAME": {"value": 3.5}, "OTHER": {"value": null, "reason": "…"}} for a document. 0 or -ENOMEM. */
int derived_model_write(const DerivedModel *model, JsonText document, Json *json);
