#pragma once

/*
 * Figures: the numbers of one scope
 *
 * A job has two tables of numbers: the node's while it ran (MetricSet), and its own (UsageSet). Whoever writes
 * them out walks both the same way.
 */

#include <stddef.h>
#include <stdint.h>

#include "measure/metric.h"
#include "measure/usage.h"

typedef enum Scope {
        SCOPE_NODE, /* all of the node meanwhile */
        SCOPE_JOB,  /* the job itself */
        N_SCOPES,
} Scope;

const char *scope_name(Scope scope); /* "node", "job" */
int scope_find(const char *name);    /* -1 when there is none */

/* The table, and what one window has for each of its lines; all borrowed. */
typedef struct Figures {
        Scope scope;
        size_t n;
        const MetricInfo *info;
        const double *value;
        const uint8_t *quality; /* Quality */
} Figures;

Figures figures_of_node(const MetricSet *metrics);
/* usage NULL: there is no job, and the table is empty. */
Figures figures_of_job(const UsageSet *usage);

static inline bool figures_has(const Figures *figures, size_t i) {
        return quality_is_present(figures->quality[i]);
}

/* In the unit of its key. */
static inline double figures_key_value(const Figures *figures, size_t i) {
        return figures->value[i] * figures->info[i].scale;
}
