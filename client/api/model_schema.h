/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schemas: indicator models as JSON, RDF and SQL
 *
 * Names, units and help texts are escaped, so that their content stays inside its quotes or comment.
 */

#include "document/indicator_model.h"
#include "util/buffer.h"

/* {"models": [{"name", "component", "help", "parameters": […], "results": […]}]}, with every member in its long form. */
void model_schema_write_json(const IndicatorModel *models, size_t n, Buffer *out);
/* A schema of Dgraph's: what each property is, once, then a type for each model. */
void model_schema_write_rdf(const IndicatorModel *models, size_t n, Buffer *out);
/* A table for each model, and an index for each parameter that has one; for SQLite, PostgreSQL and their like. */
void model_schema_write_sql(const IndicatorModel *models, size_t n, Buffer *out);
