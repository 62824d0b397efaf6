/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Weights: the setting [limits] weights
 *
 * "ci=4 @hpc=2 1000=10": a user, or the members of a group, and how many users' shares each of them has. The first entry that names a
 * user applies.
 */

#include "shares/shares.h"

#define WEIGHT_MAX 1000U

/* 0; or WEIGHTS_INVALID: an entry is malformed, names nobody, or there are too many users. *ret is written on success only. */
enum {
        WEIGHTS_INVALID = 1,
};
int weights_parse(const char *text, SharesWeights *ret);
