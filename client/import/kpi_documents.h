/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI documents: KPIs of MatrixBenchmarking as indicators, and the model that describes them
 *
 * KPIs of one test, which have the same test_uuid and the same labels, become the results of one indicator. The
 * settings of the test are its parameters; what only identifies the run (run_id, test_path, urls, ci_engine,
 * test_uuid) is in the member @labels, so that it does not split a series. unit, help and lower_better become a
 * model.
 */


#include "client/import/kpi_text.h"
#include "document/indicator.h"
#include "request/request.h"

#define KPI_LABELS "@labels" /* member of a document: labels beside its parameters */

/* Reads KPIs of JSON: an object with the member kpis, or the object of kpis itself. 0, KPI_MALFORMED with a text, or
 * -ENOMEM. */
int kpi_documents_read(const Value *payload, Arena *arena, Kpi **ret, size_t *ret_n, const char **ret_error);

/* Sets `before` of the KPIs of a file. 0 or -ENOMEM. */
int kpi_documents_index(Kpi *kpis, size_t n);

/*
 * Makes the indicator of the KPIs from `at` on that belong together; *ret_n_used is their number. ret->id is the
 * test_uuid, where there is one, else zero. 0, INDICATOR_INVALID with a complaint, or -ENOMEM.
 */
int kpi_documents_make(const Kpi *kpis, size_t at, size_t n, const char *name, Arena *arena, Submission *ret,
                       size_t *ret_n_used, Complaint *ret_complaint);

/* A KPI that is submitted alone. All members are borrowed. */
typedef struct KpiValue {
        const char *name, *component, *version; /* component NULL: KPI_COMPONENT; version NULL: none */
        const Value *value;         /* a number, a list of numbers, or null */
        const char *const *labels, *const *parameters; /* each KEY=VALUE */
        size_t n_labels, n_parameters;
} KpiValue;

/* Makes the document of one KPI, whose name is that of the indicator and of its result. 0 or -ENOMEM. */
int kpi_documents_make_one(const KpiValue *kpi, Arena *arena, const Value **ret);

/* Makes the declaration of a model of all KPIs, which are indexed, and their settings. 0, KPI_TOO_MANY or -ENOMEM. */
enum {
        KPI_TOO_MANY = 1, /* for a model: MODEL_PROPERTIES_MAX */
};
int kpi_documents_model(const Kpi *kpis, size_t n, const char *name, Arena *arena, const Value **ret);

/* Returns "higher", "lower", or NULL. */
const char *kpi_documents_direction(const Value *kpi);
