/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* IndicatorsSnapshot: what the indicators' part of a Snapshot has: counts of results, and the models. */

#include <stddef.h>
#include <stdint.h>

typedef enum IndicatorOutcome {
        INDICATOR_STORED,
        INDICATOR_FAILED,  /* stored, but its run failed */
        INDICATOR_REFUSED, /* by its model */
        N_INDICATOR_OUTCOMES,
} IndicatorOutcome;

/* Results of one indicator and component since start. */
typedef struct IndicatorCount {
        const char *name, *component; /* live as long as any snapshot */
        uint64_t n[N_INDICATOR_OUTCOMES];
} IndicatorCount;

/* Since start. */
typedef struct IndicatorsStats {
        uint64_t n_stored;
        uint64_t n_odd_keys; /* keys of results that their models do not know, or know differently */
} IndicatorsStats;

typedef struct IndicatorsSnapshot {
        IndicatorCount *counts; /* owned; the last may count the rest together, with empty names */
        size_t n, n_allocated;
        IndicatorsStats stats;
        char *models; /* owned; JSON, as /api/v1/models returns; NULL: out of memory */
        uint64_t models_version;
} IndicatorsSnapshot;

void indicators_snapshot_deinit(IndicatorsSnapshot *indicators);
/* Room for n counts. 0 or -ENOMEM. */
int indicators_snapshot_reserve(IndicatorsSnapshot *indicators, size_t n);
/* Copies the models unless it has that version. Out of memory: it has no models until the next call. */
void indicators_snapshot_set_models(IndicatorsSnapshot *indicators, const char *models, uint64_t version);
