/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/run_series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/facts/script.h"
#include "util/array.h"

void run_series_deinit(RunSeries *series) {
        summary_deinit(&series->summary);
        kept_parameters_deinit(&series->parameters);
        for (size_t i = 0; i < series->n_unnamed; i++)
                run_results_deinit(&series->unnamed[i]);
        free(series->unnamed);
        free(series->version);
}

/* Takes the name and component from the first run that has them. */
static void set_names(RunSeries *series, const Indicator *indicator) {
        if (!series->name[0])
                (void)snprintf(series->name, sizeof(series->name), "%s", indicator->name);
        if (!series->component[0] && indicator->component)
                (void)snprintf(series->component, sizeof(series->component), "%s", indicator->component);
        if (!series->version && indicator->version)
                series->version = strdup(indicator->version); /* without memory it is not known */
}

static int update_from_results(RunSeries *series, const RunResults *results) {
        int r = 0;

        if (results->n_items > 0)
                set_names(series, &results->items[0].indicator);
        for (size_t i = 0; i < results->n_items && r == 0; i++) {
                r = kept_parameters_add(&series->parameters, &results->items[i].indicator);
                if (r == 0 && !submission_has_failed(&results->items[i]))
                        r = summary_add(&series->summary, &results->items[i].indicator);
        }
        return r;
}

static int defer_unnamed(RunSeries *series, RunResults *results) {
        if (ARRAY_RESERVE(series->unnamed, series->n_allocated, series->n_unnamed + 1) < 0)
                return -ENOMEM;
        series->unnamed[series->n_unnamed++] = *results;
        *results = (RunResults){};
        return 0;
}

int run_series_add(RunSeries *series, RunResults *results) {
        return results->is_unnamed ? defer_unnamed(series, results) : update_from_results(series, results);
}

void run_series_complete(RunSeries *series, const char *name, const char *component, const char *file) {
        if (!series->name[0] && name && indicator_name_is_valid(name, NAME_MAX_BYTES))
                (void)snprintf(series->name, sizeof(series->name), "%s", name);
        if (!series->name[0])
                script_base_name(file, series->name, sizeof(series->name));
        if (!series->component[0] && component)
                (void)snprintf(series->component, sizeof(series->component), "%s", component);
}

int run_series_name(RunSeries *series, RunResults *unnamed, const char *version) {
        const IndicatorGiven given = { series->name, series->component, series->version ?: version };
        const Value *document;
        Complaint complaint;
        int r;

        r = kept_parameters_document(&series->parameters, &document);
        if (r < 0)
                return r;
        if (indicator_from_failed_run(document, &given, DOCUMENT_LIMITS_NONE, &unnamed->items[0].indicator, &complaint) != 0)
                return RUN_SERIES_NO_NAME;

        unnamed->is_unnamed = false;
        return 0;
}
