/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Regress pass: judges the numbers of one indicator of one component. */

#include "http/exchange.h"
#include "http/kpis/accepted_levels.h"
#include "http/kpis/judged_kpis.h"

/* The common part of the passes of a request; strings are borrowed. */
typedef struct RegressRequest {
        const char *pattern; /* KPIs to judge, such as *.rate, by fnmatch(3); NULL: by the name of the indicator or result */
        const char *result;  /* the only result; NULL: all that models declare and do not ignore for this */
        HistoryQuestion question;
        double fdr;
        AcceptedLevels accepted; /* owned */
        uint64_t until_ns; /* 0: without a limit */
        JudgedKpis kpis;   /* owned */
        uint64_t n_scanned;
        size_t n_profiles; /* read; at most KPI_PROFILES_MAX */
        Buffer note; /* owned; why no result was read */
} RegressRequest;

/* Answers 503 if the time of the request is over. 0 or EXCHANGE_ANSWERED. */
int regress_pass_check_time(Response *response, const RegressRequest *request);

/* Adds the verdicts for an indicator; component NULL: of any component. 0 or EXCHANGE_ANSWERED. */
int regress_pass(const Target *target, const Sources *sources, Response *response, RegressRequest *request, const char *name,
                 const char *component);
