/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job results: results of models with `of: job`, made of a job's numbers when the job ends
 *
 * Such a result is a document as those that are submitted: @parameters has the declared parameters that are labels
 * of the job, and @result the metrics of the job, and the numbers of its data pipelines, that the model's
 * expressions name. The result is stored in the transaction of the job's end, and again, with the same id, when a
 * late report completes the end.
 */

#include "store/catalog/catalog.h"
#include "store/database/database.h"
#include "store/table/rowset.h"

#define JOB_RESULTS_COMPONENT "job" /* of a model without a component */
#define JOB_RESULTS_MAX 16U /* results of one job; further models are left out */

/* job: id of a job that has ended. Adds the set of the results to *derived. 0 or an outcome of database.h. */
int job_results_make(Database *database, Catalog *catalog, Field job, RowSet **derived);
