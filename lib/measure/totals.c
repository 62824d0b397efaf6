/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/totals.h"

const char *const total_names[N_TOTALS] = {
#define X(id, ...) [TOTAL_##id] = #id,
        TOTALS(X)
#undef X
};

const Record totals_record = RECORD(Totals,
        RECORD_VALUE(Totals, boottime_ns),
        RECORD_VALUE(Totals, realtime_ns),
        RECORD_BITS_OF(Totals, have, N_SOURCES, sample_source_names),
        RECORD_BITS_OF(Totals, none, N_SOURCES, sample_source_names),
        RECORD_BITS_OF(Totals, unknown, N_EQUIPMENT_TOTALS, total_names + TOTAL_FIRST_EQUIPMENT),
        RECORD_BITS_OF(Totals, partial, N_EQUIPMENT_TOTALS, total_names + TOTAL_FIRST_EQUIPMENT),
        RECORD_COUNTS_OF(Totals, doubts, sample_source_names),
        RECORD_COUNTS_OF(Totals, value, total_names));
