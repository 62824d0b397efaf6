/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MLPerf Storage: accelerator utilization from the result files of the benchmark
 *
 * Each rank emulates an accelerator: in each step it loads a batch, and then computes, which means that it sleeps for a fixed time. The
 * file N_output.json of a rank has, for each epoch and block of steps, the seconds of each step (`proc`), and of its parts `load` and
 * `compute`. The file per_epoch_stats.json has the durations of the blocks.
 *
 * The first step, in which the pipeline starts, is left out. The four shares are of the duration without the first step, and add up to
 * 100 %:
 *
 *     utilization  compute time of the other steps
 *     loading      load time of the other steps
 *     other        rest of the other steps
 *     outside      time in no step
 */

#include <stddef.h>
#include <stdint.h>

#include "value/value.h"

#define MLPERF_RANKS_MAX 100000U
#define MLPERF_BLOCK_MAX 32U

/* A block of an epoch, of one rank. */
typedef struct MlperfBlock {
        uint64_t rank, epoch;
        char name[MLPERF_BLOCK_MAX];
        size_t n_steps;                                  /* with the first */
        double duration_s, first_step_s, first_load_s;   /* NAN: not known, as for the shares */
        double utilization, loading, other, outside;     /* percent */
        char reason[128];                                /* why the shares are not known; "" if they are */
} MlperfBlock;

/* Initialize with zeros. */
typedef struct MlperfRun {
        MlperfBlock *blocks; /* owned; by rank, epoch and name after mlperf_run_sort() */
        size_t n_blocks, n_ranks;
        uint64_t n_accelerators; /* that the run had; 0: not known */
} MlperfRun;

void mlperf_run_deinit(MlperfRun *run);
/* Adds the blocks of a rank. output, stats: N_output.json and per_epoch_stats.json; NULL: there is none. Returns 0 or -ENOMEM. */
int mlperf_run_add_rank(MlperfRun *run, uint64_t rank, const Value *output, const Value *stats);
/* Sorts the blocks. Call after the last rank was added. */
void mlperf_run_sort(MlperfRun *run);

/* The utilization of one block over the ranks for which it is known. */
typedef struct MlperfSpread {
        uint64_t epoch;
        const char *block; /* borrowed */
        size_t n_ranks;    /* 0: of none; the numbers are NAN */
        double min, mean, max;
        uint64_t min_rank;
} MlperfSpread;

/* Gives the spread of each block, by epoch and name; caller frees *ret. Returns 0 or -ENOMEM. */
int mlperf_run_spreads(const MlperfRun *run, MlperfSpread **ret, size_t *ret_n);

/* Reads all files of a result directory, and sorts. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int mlperf_run_read(MlperfRun *run, const char *directory);
