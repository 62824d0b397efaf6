/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KpisSnapshot: the current values of KPIs, by family, for /metrics. */

#include <stddef.h>
#include <stdint.h>

#define KPIS_FAMILY_MAX 95U /* bytes of the name of a family */

/* Texts are borrowed from `texts`. */
typedef struct KpiSample {
        const char *family, *unit, *help; /* unit: "" unless the name of the family ends with it */
        const char *labels;               /* key="value" pairs, escaped */
        double value;
} KpiSample;

typedef struct KpisSnapshot {
        KpiSample *samples; /* owned; those of a family are together */
        size_t n;
        char *texts; /* owned */
        uint64_t version;
        uint64_t n_left_out; /* series that are not shown: since start because of a limit, and now because of their name */
} KpisSnapshot;

void kpis_snapshot_deinit(KpisSnapshot *kpis);
