/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schema reader: declarations of models from the JSON that model_schema_write_json() writes
 *
 * A schema lists each model's parameters and results, since their order has a meaning in it: {"name": "reps", "types": ["int"], …}.
 * A declaration, as described in perfd-indicators(5), has an object of them: {"reps": {"type": ["int"], …}}.
 */

#include "document/indicator_model.h"
#include "util/arena.h"

/* Returns the list of models of a schema, or NULL if the document is not a schema. */
const Value *schema_reader_models(const Value *document);

/*
 * Converts a model of a schema; a model that is a declaration already is returned unchanged. Members that are null are left out.
 * Values are borrowed from the schema and the arena. Returns 0, MODEL_INVALID with a complaint, or -ENOMEM.
 */
int schema_reader_declaration(const Value *model, Arena *arena, const Value **ret, Complaint *ret_complaint);
