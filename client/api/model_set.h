/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Model file: sets of indicator models, from files and from perfd
 */

#include "client/api/api_query.h"
#include "document/indicator_model.h"
#include "util/arena.h"

/* Owned by its user, zeroed at first. */
typedef struct ModelSet {
        IndicatorModel *models; /* each in an arena */
        size_t n;
        Arena *arenas; /* as many */
} ModelSet;

void model_set_deinit(ModelSet *set);

/* Adds all of the files, and reports each error with its place. "-" is standard input. The last exit status that is not EXIT_DONE. */
int model_set_add_files(ModelSet *set, char *const *files, int n);
/* Adds all models of an answer of perfd. */
int model_set_add_answer(ModelSet *set, const ApiQuery *query);
