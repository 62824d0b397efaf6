/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

static int compare_doubles(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return COMPARE(x, y);
}

/* --- order --------------------------------------------------------------------------------------- */

#define DIGIT_BITS 11
#define DIGIT_VALUES (1U << DIGIT_BITS)
#define N_DIGITS ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define RADIX_MIN 1024U /* fewer values are sorted faster by comparisons */

/* Returns an integer with the order of the value: bits of positive doubles have their order, bits of negative
 * doubles the reverse. */
static uint64_t key_of(double value) {
        uint64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static unsigned digit_of(double value, unsigned i) {
        return key_of(value) >> (i * DIGIT_BITS) & (DIGIT_VALUES - 1);
}

/* Moves the values to *to, in the order of digit i; values with equal digits keep their order. n_of: number of
 * values with each digit. */
static void distribute(const double *values, size_t n, unsigned i, const size_t n_of[static DIGIT_VALUES], double *to) {
        size_t places[DIGIT_VALUES], place = 0;

        for (size_t digit = 0; digit < DIGIT_VALUES; digit++) {
                places[digit] = place;
                place += n_of[digit];
        }
        for (size_t k = 0; k < n; k++)
                to[places[digit_of(values[k], i)]++] = values[k];
}

/* Sorts by one digit after the other, the least significant first. A digit that all values share is left out. */
static void sort_by_digits(double *values, size_t n, double *room, size_t (*n_of)[DIGIT_VALUES]) {
        double *from = values, *to = room;

        assert(n > 0);
        for (size_t k = 0; k < n; k++)
                for (unsigned i = 0; i < N_DIGITS; i++)
                        n_of[i][digit_of(values[k], i)]++;
        for (unsigned i = 0; i < N_DIGITS; i++) {
                double *kept = from;

                if (n_of[i][digit_of(values[0], i)] == n)
                        continue;
                distribute(from, n, i, n_of[i], to);
                from = to;
                to = kept;
        }
        if (from != values)
                memcpy(values, from, n * sizeof(*values));
}

void statistics_sort(double *values, size_t n) {
        scoped(freep) double *room = n < RADIX_MIN ? NULL : malloc(n * sizeof(*room));
        scoped(freep) size_t (*n_of)[DIGIT_VALUES] = n < RADIX_MIN ? NULL : calloc(N_DIGITS, sizeof(*n_of));

        if (room && n_of)
                sort_by_digits(values, n, room, n_of);
        else
                qsort(values, n, sizeof(*values), compare_doubles);
}

double statistics_quantile_of_sorted(const double *values, size_t n, double q) {
        double place = q * (double)(n - 1), below = floor(place), part = place - below, low, high;

        assert(q >= 0 && q <= 1);
        if (n == 0)
                return NAN;

        low = values[(size_t)below];
        high = values[(size_t)below + 1 < n ? (size_t)below + 1 : n - 1];
        /* Interpolates from the nearer neighbour, so that a fraction of 1 yields the next value exactly. */
        return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

static void swap(double *a, double *b) {
        double kept = *a;

        *a = *b;
        *b = kept;
}

/*
 * Quickselect (Hoare): moves the k-th smallest value to index k, with no larger value before it and no smaller value
 * after it.
 */
static void select_place(double *values, size_t n, size_t k) {
        ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, place = (ptrdiff_t)k;

        assert(k < n);
        while (low < high) {
                ptrdiff_t i = low, j = high;
                double pivot = values[low + (high - low) / 2];

                while (i <= j) {
                        while (values[i] < pivot)
                                i++;
                        while (values[j] > pivot)
                                j--;
                        if (i <= j)
                                swap(&values[i++], &values[j--]);
                }
                if (place <= j)
                        high = j;
                else if (place >= i)
                        low = i;
                else
                        return;
        }
}

double statistics_median_in_place(double *values, size_t n) {
        double pair[2];

        if (n == 0)
                return NAN;

        select_place(values, n, (n - 1) / 2);
        if (n % 2 == 1)
                return values[n / 2];

        pair[0] = values[n / 2 - 1];
        pair[1] = values[n / 2];
        for (size_t i = n / 2 + 1; i < n; i++)
                if (values[i] < pair[1])
                        pair[1] = values[i];
        return statistics_quantile_of_sorted(pair, 2, 0.5);
}

/* --- exact sums --------------------------------------------------------------------------------- */

/*
 * A number as an unevaluated sum of two doubles, with about 106 bits (T. J. Dekker, 1971): deviations from the mean
 * keep their precision if values agree in most of their digits, and so do sums whose terms cancel.
 */
typedef struct Twofold {
        double high, low;
} Twofold;

static Twofold sum_exactly(double a, double b) {
        double sum = a + b, part = sum - a;

        return (Twofold){ sum, (a - (sum - part)) + (b - part) };
}

static Twofold add(Twofold a, Twofold b) {
        Twofold sum = sum_exactly(a.high, b.high);

        return sum_exactly(sum.high, sum.low + (a.low + b.low));
}

static Twofold multiply(Twofold a, Twofold b) {
        double product = a.high * b.high;

        return sum_exactly(product, fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
}

static Twofold divide(Twofold a, double b) {
        double quotient = a.high / b;

        return sum_exactly(quotient, (fma(-quotient, b, a.high) + a.low) / b);
}

/* Returns the power of two by which sorted values are divided, so that neither sums overflow nor cubes vanish. */
static int exponent_of(const double *values, size_t n) {
        int exponent;

        (void)frexp(fmax(fabs(values[0]), fabs(values[n - 1])), &exponent);
        return exponent;
}

static Twofold mean_of(const double *values, size_t n, int exponent) {
        Twofold sum = {};

        for (size_t i = 0; i < n; i++)
                sum = add(sum, (Twofold){ ldexp(values[i], -exponent), 0 });
        return divide(sum, (double)n);
}

/* Sums powers of the deviations from the mean; all numbers are divided by the power of two. */
static void sum_deviations(const double *values, size_t n, int exponent, Twofold mean, double *ret_squares,
                           double *ret_cubes) {
        Twofold squares = {}, cubes = {};

        for (size_t i = 0; i < n; i++) {
                Twofold deviation = add((Twofold){ ldexp(values[i], -exponent), 0 },
                                        (Twofold){ -mean.high, -mean.low });
                Twofold square = multiply(deviation, deviation);

                squares = add(squares, square);
                cubes = add(cubes, multiply(square, deviation));
        }

        *ret_squares = squares.high;
        *ret_cubes = cubes.high;
}

/* n / ((n - 1)(n - 2)) × Σ ((x - mean) / sd)³ */
static double skew_of(size_t n, double sd, double cubes) {
        double count = (double)n;

        if (n < 3)
                return NAN;
        return sd > 0 ? count / ((count - 1) * (count - 2)) * cubes / (sd * sd * sd) : 0;
}

static double ratio_of(double a, double b) {
        return b != 0 ? a / b : NAN;
}

static void take_spread(const double *values, size_t n, Twofold mean, int exponent, Statistics *ret) {
        double squares, cubes, sd;

        sum_deviations(values, n, exponent, mean, &squares, &cubes);
        sd = ret->min < ret->max ? sqrt(squares / (double)(n - 1)) : 0; /* no spread of equal values due to rounding */
        ret->sd = ldexp(sd, exponent);
        ret->standard_error = ret->sd / sqrt((double)n);
        ret->cov = ratio_of(ret->sd, ret->mean);
        ret->skew = skew_of(n, sd, cubes);
}

void statistics_order_of(double *values, size_t n, Statistics *ret) {
        *ret = (Statistics){
                .mean = NAN, .median = NAN, .sd = NAN, .standard_error = NAN, .min = NAN, .max = NAN, .q1 = NAN,
                .q3 = NAN, .iqr = NAN, .cov = NAN, .covm = NAN, .skew = NAN,
        };
        if (n == 0)
                return;

        statistics_sort(values, n);
        ret->n = n;
        ret->min = values[0];
        ret->max = values[n - 1];
        ret->median = statistics_quantile_of_sorted(values, n, 0.5);
        ret->q1 = statistics_quantile_of_sorted(values, n, 0.25);
        ret->q3 = statistics_quantile_of_sorted(values, n, 0.75);
        ret->iqr = ret->q3 - ret->q1;
        ret->covm = ratio_of(ret->iqr, ret->median);
}

void statistics_of(double *values, size_t n, Statistics *ret) {
        Twofold mean;
        int exponent;

        statistics_order_of(values, n, ret);
        if (n == 0)
                return;
        exponent = exponent_of(values, n);
        mean = mean_of(values, n, exponent);
        ret->mean = ldexp(mean.high, exponent);
        if (n >= 2)
                take_spread(values, n, mean, exponent, ret);
}

/*
 * The number of values below the median is binomial(n, 1/2): x[k] and x[n - 1 - k] enclose the median unless at most
 * k values are on one side of it.
 */
MedianInterval statistics_median_interval(const double *sorted, size_t n, double confidence) {
        double log_probability = -(double)n * M_LN2, outside = 0;
        MedianInterval interval = { .low = NAN, .high = NAN, .level = NAN };

        for (size_t k = 0; k < n / 2; k++) {
                outside += 2 * exp(log_probability);
                if (1 - outside < confidence)
                        break;
                interval = (MedianInterval){ .low = sorted[k], .high = sorted[n - 1 - k], .level = 1 - outside };
                log_probability += log((double)(n - k) / (double)(k + 1));
        }
        return interval;
}
