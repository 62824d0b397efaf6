/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schemas: indicator models as JSON and RDF
 *
 * Names, units and help texts are escaped, so that they cannot end the comment around them.
 */

#include "document/indicator_model.h"
#include "util/buffer.h"

/*
 * Writes {"models": [{"name", "component", "help", "parameters": […], "results": […]}]}, with all members in long
 * form.
 */
void model_schema_write_json(const IndicatorModel *models, size_t n, Buffer *out);
/* Writes a Dgraph schema: the definition of each predicate, then a type for each model. */
void model_schema_write_rdf(const IndicatorModel *models, size_t n, Buffer *out);
