/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Comparison: the numbers of pairs of runs of two commands, and the verdicts about them
 *
 * Each number that both commands have is a series, with a row of the table. One of them, the decisive one, ends the
 * comparison. Each interval holds with a confidence of 99 % at all numbers of pairs together; this is not corrected for
 * the number of rows, since only one decides.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/paired_comparison.h"

#define COMPARISON_SERIES_MAX 72U
#define COMPARISON_NAME_MAX 128U
#define COMPARISON_EQUAL 1e-12 /* differences of rounding */

typedef enum ComparisonSide {
        COMPARISON_A,
        COMPARISON_B,
        COMPARISON_A_AGAIN, /* for the noise floor */
        N_COMPARISON_SIDES,
} ComparisonSide;

/* Resources that each run uses. */
typedef enum ComparisonResource {
        COMPARISON_WALL_TIME,
        COMPARISON_CPU_TIME,
        COMPARISON_MEMORY,     /* of the largest process */
        COMPARISON_JOB_MEMORY, /* with the page cache */
        COMPARISON_READ,
        COMPARISON_WRITTEN,
        N_COMPARISON_RESOURCES,
} ComparisonResource;

typedef struct ComparisonResourceInfo {
        const char *name, *unit;
        const char *job_key; /* metric of a job, used instead of the usage of its first process; NULL: none */
} ComparisonResourceInfo;

extern const ComparisonResourceInfo comparison_resources[N_COMPARISON_RESOURCES];

typedef struct ComparisonSeries {
        char name[COMPARISON_NAME_MAX];
        const char *unit; /* "s" or "bytes"; NULL: of an indicator, of which is not known which direction is better */
        double values[PAIRED_PAIRS_MAX][N_COMPARISON_SIDES]; /* NAN where unknown */
} ComparisonSeries;

/* Large: on the heap. */
typedef struct PairedRuns {
        ComparisonSeries series[COMPARISON_SERIES_MAX];
        size_t n_series, n_pairs;
} PairedRuns;

/* Sets a number of a run, unless it is NAN or its series is beyond the limit. unit: borrowed. */
void comparison_put(PairedRuns *runs, size_t pair, ComparisonSide side, const char *name, const char *unit,
                    double value);
void comparison_put_resources(PairedRuns *runs, size_t pair, ComparisonSide side,
                              const double values[static N_COMPARISON_RESOURCES]);

/* Finds a series by its name or the last word of it, in upper or lower case; otherwise prints which there are. */
const ComparisonSeries *comparison_find(const PairedRuns *runs, const char *name);

typedef struct ComparisonRow {
        const ComparisonSeries *series;
        size_t n;      /* pairs with both numbers */
        double a, b;   /* medians */
        bool is_ratio; /* the interval is one of log(B / A); otherwise of B - A, since not all numbers are positive */
        double differences[PAIRED_PAIRS_MAX], margin; /* margin: largest one that counts as none */
        PairedInterval interval;
        PairedVerdict verdict;
} ComparisonRow;

/* Judges one series. side: compared with A. within: largest ratio that counts as none, such as 0.01. */
ComparisonRow comparison_judge(const PairedRuns *runs, const ComparisonSeries *series, ComparisonSide side,
                               double within);

/*
 * Returns by which ratio one side changed from the first half of the pairs to the second; 0 if chance explains it or
 * it is at most `within`. The test against a trend of H. B. Mann (Econometrica 13, 1945) decides, with a probability of
 * 0.001.
 */
double comparison_drift(const PairedRuns *runs, const ComparisonSeries *series, ComparisonSide side, double within);

/*
 * Node noise: for how long other work delayed the runs on this node
 *
 * Read before and after a run: the pressure of the node (PSI), the time that a hypervisor took, and the frequency of
 * the fastest CPU, each where the kernel has it. Delays that a command causes itself, such as waiting for its own
 * threads, are part of this: a disturbance is more than what is usual among the pairs of a comparison.
 */

typedef enum Noise {
        NOISE_CPU,
        NOISE_IO,
        NOISE_MEMORY,
        NOISE_STEAL,
        NOISE_THROTTLING,
        NOISE_FREQUENCY,
        N_NOISES,
} Noise;

extern const char *const noise_names[N_NOISES];

/* Seconds since boot, 0 if the kernel does not tell; kHz of NOISE_FREQUENCY. Of a pair: shares of the time of a run. */
typedef struct NodeNoise {
        double values[N_NOISES];
} NodeNoise;

/* All pairs so far. */
typedef struct NoiseHistory {
        double sums[N_NOISES]; /* of the shares */
        size_t n;              /* pairs */
        size_t n_disturbed[N_NOISES], n_disturbed_by_b; /* by_b: in which a run of B had the larger share */
        double top_khz;        /* highest frequency */
} NoiseHistory;

/* root_fd: of the file system with proc and sys. */
NodeNoise comparison_read_noise(int root_fd);
/* Adds a run to the shares of its command in a pair, each that of the worst run. throttled_s: lost to a CPU quota. */
void comparison_add_noise_run(NodeNoise *shares, const NodeNoise *begin, const NodeNoise *end, double wall_s,
                              double throttled_s, NoiseHistory *history);
/*
 * Adds a pair, with the shares of A and B. Returns whether it was disturbed: a share is at least a tenth and twice the
 * mean of the pairs before. Neither the times of its runs, nor which of them is which, nor later pairs enter the
 * decision.
 */
bool comparison_add_noise_pair(NoiseHistory *history, const NodeNoise shares[static 2]);
/* Returns the largest mean share, if it is at least a tenth, else 0. */
double comparison_usual_noise(const NoiseHistory *history, Noise *ret);
