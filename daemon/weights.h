/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Weights: the setting [limits] weights
 *
 * In "ci=4 @hpc=2 1000=10", each entry gives a user, or each member of a group, a multiple of the default share. The
 * first entry that names a user applies.
 */

#include "shares/shares.h"

#define WEIGHT_MAX 1000U

/*
 * Returns 0, or WEIGHTS_INVALID if an entry is malformed, names an unknown user or group, or there are too many
 * users. *ret is written on success only.
 */
enum {
        WEIGHTS_INVALID = 1,
};
int weights_parse(const char *text, SharesWeights *ret);
