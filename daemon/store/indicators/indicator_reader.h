/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicator reader: indicators, their models and parameters. */

#include "json/json_text.h"
#include "store/read/reader.h"

/* A name and component with the number of its results and the latest time. */
typedef struct IndicatorRow {
        const char *name, *component;
        uint64_t n_results, latest_ms;
} IndicatorRow;

/* Begins a query of all indicators that have results, by name and component. 0 or an outcome of reader.h, as for all
 * functions here. */
int indicator_reader_list(Reader *reader);
/* As indicator_reader_list(), those with one of two names. */
int indicator_reader_list_named(Reader *reader, const char *name, const char *or_name);
/* As indicator_reader_list(), those to which a model of any user may apply, and those of `perfctl kpi submit`. */
int indicator_reader_list_kpis(Reader *reader);
READER_NEXT(indicator_reader_next, IndicatorRow)

/* A model's declaration of the results of a name. */
typedef struct ModelRow {
        const char *component;         /* NULL: all */
        JsonText results, declaration; /* {"rate":{"unit":…,"direction":"higher"},…}; the model as it was declared */
} ModelRow;

/*
 * Begins a query of models. Models of one component come first, and of models for the same component the one that
 * applies (daemon/indicators/models.h). A model of one user is listed for that user (uid; -1: unknown), or if no
 * other user has results to which the model would seem to apply.
 */
int indicator_reader_list_models(Reader *reader, const char *name, int64_t uid);
READER_NEXT(indicator_reader_next_model, ModelRow)

typedef struct RegisteredModelRow {
        const char *document; /* JSON, as json_raw() takes it */
        uint32_t uid;
        uint64_t by_admin;
} RegisteredModelRow;

/* Begins a query of the registered models of all users, in the order of their registration. */
int indicator_reader_list_registered(Reader *reader);
READER_NEXT(indicator_reader_next_registered, RegisteredModelRow)

/* A declaration of an accepted level (indicator_model.h). */
typedef struct AcceptedRow {
        JsonText declaration;
        const char *key; /* the component */
        uint64_t uid, time_ms; /* of the user who registered it, and when */
        uint64_t by_admin;     /* 1: for the questions of all users, else only for those of this user */
} AcceptedRow;

/* Begins a query of the accepted levels that apply to the verdicts of a user (-1: unknown). */
int indicator_reader_list_accepted(Reader *reader, int64_t uid);
READER_NEXT(indicator_reader_next_accepted, AcceptedRow)

/* Begins a query of the parameters of each series of a name (NULL: any name), unordered; these are all parameters of
 * indexed results. */
int indicator_reader_list_parameters(Reader *reader, const char *name);
READER_NEXT(indicator_reader_next_parameters, JsonText)
