/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schemas: models of indicators in the languages of others
 *
 * Whatever names, units and help texts have in them, it stays inside the quotes or the comment it is written in.
 */

#include "document/indicator_model.h"
#include "util/buffer.h"

/* {"models": [{"name", "component", "help", "parameters": […], "results": […]}]}, with every member in its long form. */
void schema_write_json(const IndicatorModel *models, size_t n, Buffer *out);
/* A schema of Dgraph's: what each property is, once, then a type for each model. */
void schema_write_rdf(const IndicatorModel *models, size_t n, Buffer *out);
/* A table for each model, and an index for each parameter that has one; for SQLite, PostgreSQL and their like. */
void schema_write_sql(const IndicatorModel *models, size_t n, Buffer *out);
