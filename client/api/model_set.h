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

/* EXIT_DONE, or an exit status after saying what is wrong where. file: "-" for standard input. */
int model_set_add_file(ModelSet *set, const char *file);
/* All of the files, so that each error is reported. The last exit status that is not EXIT_DONE. */
int model_set_add_files(ModelSet *set, char *const *files, int n);
/* Adds all models of an answer of perfd. */
int model_set_add_answer(ModelSet *set, const ApiQuery *query);
