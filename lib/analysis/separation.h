/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Separation: values of a series that depend on the group of each, in groups that take turns
 *
 * The groups are divided in two by their medians, where the rank-sum test says most, and the probability is corrected
 * for the number of ways to divide them. The medians must differ by 1.5 spreads within the groups, and the series must
 * come back at least twice to groups of each side: a group that replaces another for good is a change over time.
 */

#include <stddef.h>
#include <stdint.h>

#define SEPARATION_GROUPS_MAX 16U

typedef struct Separation {
        double p_value;                         /* 1: not separated */
        double spreads;                         /* between the medians of the sides; infinite without noise */
        size_t n_groups;                        /* that have values */
        uint8_t groups[SEPARATION_GROUPS_MAX];  /* by ascending medians */
        double medians[SEPARATION_GROUPS_MAX];  /* of the groups in this order */
} Separation;

/* groups: of each value, below SEPARATION_GROUPS_MAX. effect_min: least relative difference. Returns 0 or -ENOMEM. */
int separation_find(const double *values, const uint8_t *groups, size_t n, double effect_min, Separation *ret);
