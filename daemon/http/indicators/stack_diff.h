/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack diff: in what the software stacks of results differ
 *
 *     [{"key": "package.numpy", "values": [{"value": "1.18", "results": 28, "failed": 0}, {"value": null, …}]}, …]
 *
 * The number of results is without failed ones; the value of stacks without the key is null. Packages of one version
 * and different builds differ in package.NAME.build.
 */

#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"
#include "http/selection/grouping.h"

#define STACK_DIFF_FACTS_MAX 200000U /* packages and other facts of all stacks together */

/*
 * Writes the list as the member `key`, without the keys in `without`. Stacks beyond STACK_DIFF_FACTS_MAX are
 * excluded, and their results added to *ret_n_excluded; NULL: they are refused with 413. 0 or EXCHANGE_ANSWERED.
 */
int stack_diff_write(const Sources *sources, Response *response, Json *json, const char *key, const StackCount *stacks,
                     size_t n, const char *const *without, size_t n_without, uint64_t *ret_n_excluded);
