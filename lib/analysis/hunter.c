/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/hunter.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/student.h"
#include "util/scoped.h"

/* Half open range of a series. */
typedef struct Range {
        size_t begin, end;
} Range;

/* --- energy distance ------------------------------------------------------------------------------ */

void hunter_distances(const double *series, size_t n, double *ret) {
        double across = 0, before = 0, after = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = i + 1; k < n; k++)
                        after += fabs(series[i] - series[k]);

        for (size_t i = 0; i < n; i++) {
                double m = (double)i, k = (double)(n - i), q = 0, to_before = 0, to_after = 0;

                if (i > 0)
                        q += 2 * across / (m * k);
                if (i > 1)
                        q -= 2 * before / (m * (m - 1));
                if (i > 0 && n - i > 1)
                        q -= 2 * after / (k * (k - 1));
                ret[i] = i > 0 ? q * m * k / (m + k) : 0;

                for (size_t at = 0; at < i; at++)
                        to_before += fabs(series[at] - series[i]);
                for (size_t at = i + 1; at < n; at++)
                        to_after += fabs(series[at] - series[i]);
                across += to_after - to_before;
                before += to_before;
                after -= to_after;
        }
}

/* --- statistics of a point ------------------------------------------------------------------------ */

static double mean_of(const double *series, Range range) {
        double sum = 0;

        for (size_t i = range.begin; i < range.end; i++)
                sum += series[i];
        return sum / (double)(range.end - range.begin);
}

/* Divides by n, not by n - 1, as the original does. */
static double variance_of(const double *series, Range range, double mean) {
        double sum = 0;

        for (size_t i = range.begin; i < range.end; i++)
                sum += (series[i] - mean) * (series[i] - mean);
        return sum / (double)(range.end - range.begin);
}

static double t_test(const ChangePoint *point, double n_before, double n_after) {
        double df = n_before + n_after - 2, difference = point->mean_before - point->mean_after;
        double variance = ((n_before - 1) * point->sd_before * point->sd_before +
                           (n_after - 1) * point->sd_after * point->sd_after) /
                          df;

        if (df <= 0)
                return 1;
        if (variance == 0)
                return difference == 0 ? NAN : 0;
        return student_two_sided(difference / sqrt(variance * (1 / n_before + 1 / n_after)), df);
}

/* Compares the values from `begin` to the point with the values from the point to `end`; each side has at least one
 * value. */
static ChangePoint point_between(const double *series, size_t begin, size_t index, size_t end) {
        Range before = { begin, index }, after = { index, end };
        ChangePoint point = { .index = index,
                              .mean_before = mean_of(series, before),
                              .mean_after = mean_of(series, after) };

        point.sd_before = sqrt(variance_of(series, before, point.mean_before));
        point.sd_after = sqrt(variance_of(series, after, point.mean_after));
        point.relative = point.mean_after / point.mean_before - 1;
        point.p_value = t_test(&point, (double)(index - begin), (double)(end - index));
        return point;
}

static double magnitude_of(const ChangePoint *point) {
        double forward = fabs(point->mean_after / point->mean_before - 1),
               backward = fabs(point->mean_before / point->mean_after - 1);

        return backward > forward ? backward : forward;
}

/* --- candidates of a window ----------------------------------------------------------------------- */

/* Sorted indexes, with room for one more than it has. */
typedef struct Splits {
        size_t *at;
        size_t n;
} Splits;

static Range neighbours_of(const Splits *splits, size_t i, Range window) {
        return (Range){ i > 0 ? splits->at[i - 1] : window.begin, i < splits->n ? splits->at[i] : window.end };
}

/* Best split of a window: its index, the piece that it splits, and its place among the splits. */
typedef struct Candidate {
        size_t index, place;
        Range piece;
        double distance;
} Candidate;

static Candidate find_candidate(const double *series, const Splits *splits, Range window, double *distances) {
        Candidate best = { .distance = -INFINITY };

        for (size_t i = 0; i <= splits->n; i++) {
                Range piece = neighbours_of(splits, i, window);
                size_t n = piece.end - piece.begin, at = 0;

                hunter_distances(series + piece.begin, n, distances);
                for (size_t k = 1; k < n; k++)
                        if (distances[k] > distances[at])
                                at = k;
                if (n > 0 && distances[at] > best.distance)
                        best = (Candidate){ piece.begin + at, i, piece, distances[at] };
        }
        return best;
}

/* Appends the splits of a window that a t-test accepts. */
static void split_window(const double *series, Range window, double p_value_max, double *distances, Splits *splits) {
        Splits own = { .at = splits->at + splits->n };

        for (;;) {
                Candidate found = find_candidate(series, &own, window, distances);
                ChangePoint point;

                if (found.index == found.piece.begin || isinf(found.distance))
                        break;
                point = point_between(series, found.piece.begin, found.index, found.piece.end);
                if (!(point.p_value <= p_value_max))
                        break;
                memmove(&own.at[found.place + 1], &own.at[found.place], (own.n - found.place) * sizeof(*own.at));
                own.at[found.place] = found.index;
                own.n++;
        }
        splits->n += own.n;
}

static void split(const double *series, size_t n, const HunterSettings *settings, double *distances, Splits *splits) {
        /* candidates need a tenth of the confidence */
        double p_value_max = settings->p_value_max * 10;

        for (size_t begin = 0; begin < n;) {
                size_t n_before = splits->n, next = begin + settings->window / 2;
                Range window = { begin, begin + settings->window < n ? begin + settings->window : n };

                split_window(series, window, p_value_max, distances, splits);
                begin = splits->n > n_before && splits->at[splits->n - 1] > next ? splits->at[splits->n - 1] : next;
        }
}

/* --- removal of weak points ----------------------------------------------------------------------- */

static void measure(const double *series, size_t n, ChangePoint *points, size_t n_points, size_t at) {
        if (at < n_points)
                points[at] = point_between(series, at > 0 ? points[at - 1].index : 0, points[at].index,
                                           at + 1 < n_points ? points[at + 1].index : n);
}

/* Returns the point to remove, or n_points. Comparisons are false for NAN: a point without a p-value is removed when
 * it is first. */
static size_t find_weakest(const ChangePoint *points, size_t n_points, const HunterSettings *settings) {
        size_t weakest = 0;

        for (size_t i = 1; i < n_points; i++)
                if (points[i].p_value > points[weakest].p_value)
                        weakest = i;
        if (!(points[weakest].p_value < settings->p_value_max))
                return weakest;

        weakest = 0;
        for (size_t i = 1; i < n_points; i++)
                if (magnitude_of(&points[i]) < magnitude_of(&points[weakest]))
                        weakest = i;
        return magnitude_of(&points[weakest]) > settings->magnitude_min ? n_points : weakest;
}

/* Measures the points at the place of the removed point and behind it again, as the original does; the one before
 * keeps its numbers. */
static size_t remove_weak(const double *series, size_t n, const HunterSettings *settings, ChangePoint *points,
                          size_t n_points) {
        while (n_points > 0) {
                size_t weakest = find_weakest(points, n_points, settings);

                if (weakest == n_points)
                        break;
                n_points--;
                memmove(&points[weakest], &points[weakest + 1], (n_points - weakest) * sizeof(*points));
                measure(series, n, points, n_points, weakest);
                measure(series, n, points, n_points, weakest + 1);
        }
        return n_points;
}

int hunter_find(const double *series, size_t n, const HunterSettings *settings, ChangePoint **ret, size_t *ret_n) {
        scoped(freep) double *distances = calloc(settings->window + 1, sizeof(*distances));
        scoped(freep) size_t *at = calloc(n + 2, sizeof(*at));
        scoped(freep) ChangePoint *points = NULL;
        Splits splits = { .at = at };

        assert(settings->window >= 2);
        if (!distances || !at)
                return -ENOMEM;

        split(series, n, settings, distances, &splits);
        points = calloc(splits.n + 1, sizeof(*points));
        if (!points)
                return -ENOMEM;

        for (size_t i = 0; i < splits.n; i++)
                points[i].index = splits.at[i];
        for (size_t i = 0; i < splits.n; i++)
                measure(series, n, points, splits.n, i);
        *ret_n = remove_weak(series, n, settings, points, splits.n);
        *ret = TAKE(points);
        return 0;
}
