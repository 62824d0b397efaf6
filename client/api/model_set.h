/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Model set: indicator models read from files or from perfd
 */

#include "client/api/api_query.h"
#include "document/indicator_model.h"
#include "util/arena.h"

/* Owned by the caller; initialize with zeros. */
typedef struct ModelSet {
        IndicatorModel *models;
        size_t n;
        Arena **arenas; /* memory of the models and their documents */
        size_t n_arenas;
} ModelSet;

void model_set_deinit(ModelSet *set);

/*
 * Adds the models of all files, and reports each error with its position. A file declares one model, or is a schema
 * that `perfctl model schema` printed. "-" is standard input. Returns EXIT_DONE, or the exit status of the last file
 * that failed.
 */
int model_set_add_files(ModelSet *set, char *const *files, int n);
/* Adds all models in an answer of perfd. */
int model_set_add_answer(ModelSet *set, const ApiQuery *query);

/*
 * Writes {"models": [{"name", "component", "help", "parameters": […], "results": […]}]}, with all members in long
 * form. Names, units and help texts are escaped, so that they cannot end the comment around them.
 */
void model_set_write_json(const ModelSet *set, Buffer *out);
/* Writes a Dgraph schema: the definition of each predicate, then a type for each model. */
void model_set_write_rdf(const ModelSet *set, Buffer *out);
