/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * IndicatorModel: declaration of an indicator's parameters and results
 *
 * A model is declared in a file (perfd-indicators(5)) or registered by a client; both are read as a tree of Values.
 * It declares types, units, which direction is better, and which parameters are indexed. Results are checked by
 * their model: by default, deviations are accepted and counted; with the policy `strict`, they are refused.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/condition.h"
#include "document/indicator.h"
#include "document/model_reader.h"
#include "document/property.h"
#include "util/arena.h"
#include "value/value.h"

#define MODEL_PROPERTIES_MAX 256U
#define MODEL_ENTRIES_MAX 64U /* values in ignore_entries */
#define MODEL_ANY_NAME "*" /* name of a model of all indicators of its component that have no other model */

/* Component of KPIs that come without one. Without a model, a result with the name of its indicator is a KPI. */
#define KPI_COMPONENT "kpi"

#define MODEL_JOBS_PATTERN_MAX_BYTES 256U

/* The jobs of a model with `of: job`. When such a job ends, a result of the model is stored, whose numbers are the
 * metrics of the job. */
typedef struct ModelJobs {
        bool is_set;         /* the model has `of: job` */
        const char *name;    /* pattern of the job's name, as for fnmatch(3); NULL: any */
        const Value *labels; /* object: pattern of each label that the job must have; NULL: none */
} ModelJobs;

/* Strings and values are borrowed from the tree from which the model was made. */
typedef struct IndicatorModel {
        const char *name;
        const char *component; /* NULL: all components */
        const char *help;      /* NULL: none */
        Property *properties;  /* parameters first, both in the order of declaration */
        /* the same properties sorted by name; names are unique across parameters and results */
        const Property **by_name;
        size_t n_properties;
        const char *settings_version; /* of the labels of a KPI; NULL: none */
        const char *kpi_name;         /* family of the model's only result in OpenMetrics; NULL: the result's name */
        /* lists of names of parameters, labels and fields, or NULL; names that differ along a history */
        const Value *compare_by;
        const Value *ignore;          /* names that may differ between the results of a history */
        const Value *sort_by;         /* names by which a report is sorted */
        ModelJobs jobs;               /* of which the model's results are; unset: results are submitted */
        /* object: value, or list of values, of the results that are not judged; NULL: none */
        const Value *ignore_entries;
        const Value *document; /* the declaration */
} IndicatorModel;

/*
 * Accepted level: the declaration that a KPI has a new level
 *
 *     {"name": "@accepted", "component": "5c0f…", "accepted": {"kpi": "PiMatmul.rate", "until_ms": 1795300000000,
 *      "where": ["matrix_size=512"], "note": "new compiler"}}
 *
 * The declaration is registered as a model is, and so has an owner, a place on disk and a limit. No indicator can
 * have its name. The component is a key that the client makes of the KPI and the conditions, so that accepting a
 * level again replaces the declaration.
 */
#define ACCEPTED_LEVEL_NAME "@accepted"
#define ACCEPTED_LEVELS_MAX 128U /* of a user */
#define ACCEPTED_LEVEL_KPI_MAX (NAME_MAX_BYTES + 1 + KEY_MAX_BYTES) /* bytes of INDICATOR.RESULT, or of a pattern */
#define ACCEPTED_LEVEL_WHERE_MAX CONDITIONS_MAX
#define ACCEPTED_LEVEL_NOTE_MAX 1024U

/* True for an accepted level, which applies to no results, and has no properties. */
bool indicator_model_is_accepted_level(const IndicatorModel *model);

/* Maximum memory in an arena for the properties of a model, without its tree. */
#define MODEL_ARENA_BYTES (MODEL_PROPERTIES_MAX * (sizeof(Property) + sizeof(Property *)) + 64)

/* Makes a model; the arena receives its properties. 0, MODEL_INVALID with the first complaint
 * ("parameters.reps.type"), or -ENOMEM if the arena is full. */
int indicator_model_from_value(const Value *document, Arena *arena, IndicatorModel *ret, Complaint *ret_complaint);

/* Returns NULL if the model declares no such parameter (or result). */
const Property *indicator_model_find(const IndicatorModel *model, const char *name, bool is_result);

typedef enum ModelPolicy {
        MODEL_ACCEPT, /* deviations are stored and counted */
        MODEL_STRICT, /* deviations are refused, with the key */
} ModelPolicy;

/* Checks whether an indicator conforms to its model. *ret_n_deviations: number of keys that are unknown, missing
 * though not optional, or of another type. 0, or MODEL_INVALID with the first complaint (strict only). */
int indicator_model_judge(const IndicatorModel *model, const Indicator *indicator, ModelPolicy policy,
                          size_t *ret_n_deviations, Complaint *ret_complaint);
/* label: returns the value of the job's label, NULL if the job does not have it. */
bool indicator_model_fits_job(const ModelJobs *jobs, const char *name,
                              const char *(*label)(const void *job, const char *key), const void *job);
