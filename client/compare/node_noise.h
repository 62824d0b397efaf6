/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Node noise: for how long other work delayed the runs on this node
 *
 * Read before and after a run: the pressure of the node (PSI), the time that a hypervisor took, and the frequency of
 * the fastest CPU, each where the kernel has it. Delays that a command causes itself, such as waiting for its own
 * threads, are part of this: a disturbance is more than what is usual among the pairs of a comparison.
 */

#include <stdbool.h>
#include <stddef.h>

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
        size_t n_disturbed[N_NOISES];
        double top_khz;        /* highest frequency */
} NoiseHistory;

/* root_fd: of the file system with proc and sys. */
NodeNoise node_noise_read(int root_fd);
/* Adds a run to the shares of its pair, each that of the worst run. throttled_s: time lost to a CPU quota. */
void node_noise_add_run(NodeNoise *shares, const NodeNoise *begin, const NodeNoise *end, double wall_s,
                        double throttled_s, NoiseHistory *history);
/*
 * Adds a pair. Returns whether it was disturbed: a share is at least a tenth and twice the mean of the pairs before.
 * Neither the times of its runs, nor which of them is which, nor later pairs enter the decision.
 */
bool node_noise_add_pair(NoiseHistory *history, const NodeNoise *shares);
/* Returns the largest mean share, if it is at least a tenth, else 0. */
double node_noise_usual(const NoiseHistory *history, Noise *ret);
