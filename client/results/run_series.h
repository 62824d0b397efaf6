/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Run series: the runs of --repeat, or the only run without --repeat
 *
 * A run that failed before it printed its indicator waits here until another run has printed it: the failed run is then recorded for
 * the same indicator, component and version, with the parameters that all other runs have. Otherwise it would be counted nowhere.
 */

#include <stddef.h>
#include <stdint.h>

#include "client/results/kept_parameters.h"
#include "client/results/run_results.h"
#include "client/results/summary.h"

typedef struct RunSeries {
        uint64_t n_runs, n_failed;
        uint64_t n_stored, n_kept, n_lost; /* results stored by perfd, kept in the spool, or lost */
        Summary summary;
        /* Name and component, once a run has printed them. */
        char name[NAME_MAX_BYTES + 1], component[COMPONENT_MAX_BYTES + 1];
        char *version; /* owned */
        KeptParameters parameters;
        RunResults *unnamed; /* owned: failed runs that wait */
        size_t n_unnamed, n_allocated;
} RunSeries;

void run_series_deinit(RunSeries *series);

/* Adds the results of one run. Results without a name are moved out of *results, which is left empty. 0 or -ENOMEM. */
int run_series_add(RunSeries *series, RunResults *results);

/* Completes missing names: the given ones, which may be NULL, else the name of the file that was run. */
void run_series_complete(RunSeries *series, const char *name, const char *component, const char *file);

/* Names a run that waited, after run_series_complete(). version: if no run printed one; or NULL. 0, RUN_SERIES_NO_NAME or -ENOMEM. */
enum {
        RUN_SERIES_NO_NAME = 1, /* the name of the series is not valid */
};
int run_series_name(RunSeries *series, RunResults *unnamed, const char *version);
