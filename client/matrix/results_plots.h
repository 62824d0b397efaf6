/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results plots: the members plots, reports and visualize of a declaration
 *
 * They are checked here, and drawn by the page that has them as JSON (web/report/results.js). A report is a list of
 * parts; a plot that is chosen by its name is a report of its own.
 */

#include "document/indicator_model.h"
#include "document/model_reader.h"
#include "util/buffer.h"
#include "value/value.h"

/* Checks the members of a declaration. model: NULL if none is declared. 0 or MODEL_INVALID. */
int results_plots_check(ModelReader *reader, const Value *root, const IndicatorModel *model);

/* True if a plot shows the value: long lists that no plot shows are not put into a page. */
bool results_plots_show(const Value *root, const char *name);

/* Reports to be written. Names are borrowed from the declaration. */
typedef struct ResultsReports {
        const char **names; /* owned; without a declaration of reports: one, "report" */
        size_t n;
} ResultsReports;

/*
 * Chooses reports: those named by `wanted`, each a report, a plot, or an id of `visualize`; or, if nothing is wanted,
 * those of `visualize`, otherwise all. 0, -ENOMEM, or 1 with the first name that there is not.
 */
int results_plots_choose(const Value *root, const char *const *wanted, size_t n, ResultsReports *ret,
                         const char **ret_unknown);
/* Appends "; off: NAME, NAME": the reports of the declaration that are not among them. */
void results_plots_put_off(const Value *root, const ResultsReports *reports, Buffer *out);
void results_plots_reports_deinit(ResultsReports *reports);
