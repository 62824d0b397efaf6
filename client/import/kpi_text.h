/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI text: KPIs of MatrixBenchmarking, as text
 *
 * Three forms are read: the form of TOPSAIL's documentation, the form that the code prints ("# HELP help, in unit",
 * the unit after the value, values in the notation of Python, nothing escaped), and OpenMetrics, with exemplars, or
 * the text of Prometheus. Each sample becomes an object with the members that the JSON form has: unit, help, value,
 * @timestamp if the sample has one, and the labels.
 */

#include <stddef.h>

#include "util/arena.h"
#include "value/value.h"

#define KPIS_MAX 20000U     /* KPIs of a file */
#define KPI_LABELS_MAX 128U /* labels of a KPI */

typedef struct Kpi {
        const char *name;
        const Value *object; /* unit, help, value, test_uuid, labels and so on */
        size_t before;       /* number of the KPIs up to the last one before that has this name; 0: none */
} Kpi;

/* Line of an error, and a message; n_not_finite is also set without an error: values that are NaN or infinite, and
 * null therefore. */
typedef struct KpiError {
        unsigned line;
        const char *text;
        size_t n_not_finite;
} KpiError;

enum {
        KPI_MALFORMED = 1,
};

/* Reads all KPIs of a text. *ret lives in the arena. 0, KPI_MALFORMED, or -ENOMEM. */
int kpi_text_parse(const char *text, size_t n, Arena *arena, Kpi **ret, size_t *ret_n, KpiError *ret_error);
/* Returns the bytes of an arena that suffice for a text of n bytes. */
size_t kpi_text_arena_size(size_t n);
