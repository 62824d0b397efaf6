/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the selected results into groups, for the routes query and rank. */

#include "http/exchange.h"
#include "http/selection/grouping.h"
#include "http/selection/selection.h"

/* 0 or EXCHANGE_ANSWERED; then *ret is NULL. */
int result_groups_read(const Sources *sources, Response *response, const Selection *selection, const GroupFields *fields,
                       Grouping **ret, uint64_t *ret_n_scanned);
/* Sets *ret to whether any result meets the filter. 0 or EXCHANGE_ANSWERED. */
int result_groups_any(const Sources *sources, Response *response, const PointFilter *filter, bool *ret);
