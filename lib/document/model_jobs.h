/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Model jobs: the jobs that a model with `of: job` is about
 *
 * When such a job ends, a result of the model is stored, whose numbers are the metrics of the job.
 */

#include "document/model_reader.h"

#define MODEL_JOBS_PATTERN_MAX_BYTES 256U

typedef struct ModelJobs {
        bool is_set;         /* the model has `of: job` */
        const char *name;    /* pattern of the job's name, as for fnmatch(3); NULL: any */
        const Value *labels; /* object: pattern of each label that the job must have; NULL: none */
} ModelJobs;

/* Takes the members `of` and `match` of a declaration. 0 or MODEL_INVALID. */
int model_jobs_take(ModelReader *reader, const Value *document, ModelJobs *ret);

/* label: returns the value of the job's label, NULL if the job does not have it. */
bool model_jobs_fit(const ModelJobs *jobs, const char *name, const char *(*label)(const void *job, const char *key), const void *job);
