/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Live KPIs: the newest numbers of results whose model declares a direction, for /metrics
 *
 * A series is a result of an indicator of a user, with a component and values of the declared parameters. Users may
 * have families in common, but neither a series nor a clash of names. Values are taken from a submission before it
 * is packed, and are shown when the store has it. After a restart, a series appears with its next result. The number
 * of series is limited: a further one replaces the least recently used series of the user with the most series.
 */

#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "snapshot/snapshot.h"

#define LIVE_KPIS_MAX 400U
#define LIVE_KPIS_PER_RESULT_MAX 64U
#define LIVE_KPIS_LABELS_MAX 1024U /* bytes of the labels of a series */
#define LIVE_KPIS_HELP_MAX 256U    /* bytes of the help text in the model that are shown */
#define LIVE_KPIS_DERIVED_MAX                                                                                          \
        131072U /* nodes of all expressions of a result times bytes of the document: no more is computed */

typedef struct LiveKpi {
        char *indicator, *base; /* owned, as all texts; base: the name of the family, unless it clashes */
        char *unit, *help;
        char *labels;  /* one of them is the uid */
        uint64_t hash; /* of indicator, base and labels */
        double value;
        uint64_t time_ms;
        uint64_t used;  /* sequence number of the last use */
        uint64_t since; /* sequence number of the first use */
        uint32_t uid;   /* user of the results */
} LiveKpi;

typedef struct LiveKpis {
        LiveKpi *items; /* owned; at most LIVE_KPIS_MAX */
        size_t n;
        uint64_t version, n_uses;
        uint64_t n_not_exposed; /* with labels that are too long, or replaced by others */
} LiveKpis;

void live_kpis_deinit(LiveKpis *kpis);
/*
 * Adds the first LIVE_KPIS_PER_RESULT_MAX numbers of an item with a model, measured or derived. Out of memory:
 * numbers are missing.
 * arrived_ms: time of an item without one. Returns the work, about one for each number that was added.
 */
size_t live_kpis_add(LiveKpis *kpis, uint32_t uid, const Submission *item, uint64_t arrived_ms);
/* Moves all series of `from`, which is empty then, unless `kpis` has newer values of them. */
void live_kpis_merge(LiveKpis *kpis, LiveKpis *from);
/* Removes a user's series whose values are from before a time. */
void live_kpis_forget(LiveKpis *kpis, uint32_t uid, uint64_t before_ms);
/* Counts series that were dropped elsewhere. */
void live_kpis_count_not_exposed(LiveKpis *kpis, size_t n);
/* Fills the snapshot if something is new. A family that two indicators of a user have is preceded by the name of its
 * indicator. 0 or -ENOMEM. */
int live_kpis_publish(const LiveKpis *kpis, KpisSnapshot *ret);
