/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/separation.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/rank_sum.h"
#include "analysis/statistics.h"
#include "util/scoped.h"

#define RETURNS_MIN 2U  /* to groups of each side */
#define SPREADS_MIN 1.5 /* between the medians of the sides */
#define MAD_TO_SD 1.4826

/* Sorted values of the groups that are low, or are not. Returns their number. */
static size_t collect(const double *values, const uint8_t *groups, size_t n, const bool *is_low, bool low,
                      double *ret) {
        size_t n_found = 0;

        for (size_t i = 0; i < n; i++)
                if (is_low[groups[i]] == low)
                        ret[n_found++] = values[i];
        statistics_sort(ret, n_found);
        return n_found;
}

/* Puts the groups in the order of their medians. Returns the spread of the values around these. */
static double find_medians(const double *values, const uint8_t *groups, size_t n, double *room, Separation *ret) {
        double medians[SEPARATION_GROUPS_MAX];

        for (uint8_t g = 0; g < SEPARATION_GROUPS_MAX; g++) {
                bool is_low[SEPARATION_GROUPS_MAX] = {};
                size_t at = ret->n_groups;

                is_low[g] = true;
                medians[g] = statistics_quantile_of_sorted(room, collect(values, groups, n, is_low, true, room), 0.5);
                if (isnan(medians[g]))
                        continue;
                for (; at > 0 && ret->medians[at - 1] > medians[g]; at--) {
                        ret->groups[at] = ret->groups[at - 1];
                        ret->medians[at] = ret->medians[at - 1];
                }
                ret->groups[at] = g;
                ret->medians[at] = medians[g];
                ret->n_groups++;
        }
        for (size_t i = 0; i < n; i++)
                room[i] = fabs(values[i] - medians[groups[i]]);
        return MAD_TO_SD * statistics_median_in_place(room, n);
}

/* True if groups of both sides come again after groups of the other side. */
static bool takes_turns(const uint8_t *groups, size_t n, const bool *is_low) {
        bool has_come[SEPARATION_GROUPS_MAX] = {};
        size_t n_returns[2] = {};

        for (size_t i = 0; i < n; i++) {
                n_returns[is_low[groups[i]]] += i > 0 && has_come[groups[i]] &&
                                                is_low[groups[i - 1]] != is_low[groups[i]];
                has_come[groups[i]] = true;
        }
        return n_returns[0] >= RETURNS_MIN && n_returns[1] >= RETURNS_MIN;
}

int separation_find(const double *values, const uint8_t *groups, size_t n, double effect_min, Separation *ret) {
        scoped(freep) double *low = malloc((2 * n + RANK_SUM_SCRATCH) * sizeof(*low));
        double *high, *scratch, spread, ways;
        bool is_low[SEPARATION_GROUPS_MAX] = {};

        if (!low)
                return -ENOMEM;
        high = low + n;
        scratch = high + n;
        *ret = (Separation){ .p_value = 1 };
        spread = find_medians(values, groups, n, low, ret);
        ways = exp2((double)ret->n_groups - 1) - 1;
        for (size_t i = 0; i + 1 < ret->n_groups; i++) {
                size_t n_low, n_high;
                double median, difference, p;

                is_low[ret->groups[i]] = true;
                n_low = collect(values, groups, n, is_low, true, low);
                n_high = collect(values, groups, n, is_low, false, high);
                median = statistics_quantile_of_sorted(low, n_low, 0.5);
                difference = statistics_quantile_of_sorted(high, n_high, 0.5) - median;
                if (difference < effect_min * fabs(median) || difference < SPREADS_MIN * spread ||
                    !takes_turns(groups, n, is_low))
                        continue;
                p = ways * rank_sum_test(low, n_low, high, n_high, 0, scratch).two_sided;
                if (p < ret->p_value) {
                        ret->p_value = p;
                        ret->spreads = difference / spread * (1 - (double)ret->n_groups / (double)n);
                }
        }
        return 0;
}
