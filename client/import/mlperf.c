/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/mlperf.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"

void mlperf_run_deinit(MlperfRun *run) {
        free(run->blocks);
        *run = (MlperfRun){};
}

__attribute__((format(printf, 2, 3))) static bool refuse(MlperfBlock *block, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(block->reason, sizeof(block->reason), format, args);
        va_end(args);
        return false;
}

/* --- duration ------------------------------------------------------------------------------------- */

static const Value *find_stats(const Value *stats, uint64_t epoch, const char *block) {
        char key[24];

        (void)snprintf(key, sizeof(key), "%ju", (uintmax_t)epoch);
        return value_get(value_get(stats, key), block);
}

/* Prefers the two times, which have microseconds, to the duration, which is rounded to 10 ms. */
static bool read_duration(const Value *stats, double *ret) {
        const char *begin = value_get_string(stats, "start"), *end = value_get_string(stats, "end");
        const char *text = value_get_string(stats, "duration");
        uint64_t begin_ns, end_ns;

        if (begin && end && clock_parse_utc(begin, &begin_ns) == 0 && clock_parse_utc(end, &end_ns) == 0 && end_ns > begin_ns) {
                *ret = (double)(end_ns - begin_ns) / 1e9;
                return true;
        }
        if (text && parse_double(text, ret) == 0)
                return isfinite(*ret) && *ret > 0;
        return value_get_double(stats, "duration", ret) && *ret > 0;
}

/* --- steps ---------------------------------------------------------------------------------------- */

typedef enum StepPart {
        STEP_WHOLE,
        STEP_LOAD,
        STEP_COMPUTE,
        N_STEP_PARTS,
} StepPart;

static const char *const part_names[N_STEP_PARTS] = { "proc", "load", "compute" };

/* Seconds of the first step and of all others together. */
typedef struct StepSum {
        double first_s, rest_s;
} StepSum;

static bool sum_part(MlperfBlock *block, const char *part, const Value *seconds, StepSum *ret) {
        *ret = (StepSum){};
        for (size_t i = 0; i < seconds->n_items; i++) {
                const Value *item = &seconds->items[i];
                double v = value_is_number(item) ? value_number(item) : NAN;

                if (!(v >= 0) || !isfinite(v))
                        return refuse(block, "%s[%zu] is not a time in seconds", part, i);
                *(i == 0 ? &ret->first_s : &ret->rest_s) += v;
        }
        return true;
}

static bool sum_steps(MlperfBlock *block, const Value *epoch, StepSum ret[static N_STEP_PARTS]) {
        for (StepPart i = 0; i < N_STEP_PARTS; i++) {
                const Value *seconds = value_get(value_get(epoch, part_names[i]), block->name);

                if (!seconds || seconds->type != VALUE_LIST)
                        return refuse(block, "no list of %s times", part_names[i]);
                if (i > 0 && seconds->n_items != block->n_steps)
                        return refuse(block, "%zu %s times for %zu steps", seconds->n_items, part_names[i], block->n_steps);
                block->n_steps = seconds->n_items;
                if (!sum_part(block, part_names[i], seconds, &ret[i]))
                        return false;
        }
        return block->n_steps > 1 || refuse(block, "too few steps: %zu", block->n_steps);
}

/* --- shares --------------------------------------------------------------------------------------- */

static void compute_shares(MlperfBlock *block, const Value *epoch, const Value *stats) {
        StepSum sums[N_STEP_PARTS];
        const StepSum *whole = &sums[STEP_WHOLE];
        double rest_s;

        if (!sum_steps(block, epoch, sums))
                return;
        block->first_step_s = whole->first_s;
        block->first_load_s = sums[STEP_LOAD].first_s;
        if (!read_duration(find_stats(stats, block->epoch, block->name), &block->duration_s)) {
                block->duration_s = NAN;
                (void)refuse(block, "no duration in per_epoch_stats.json");
                return;
        }

        rest_s = block->duration_s - whole->first_s;
        if (rest_s <= 0) {
                (void)refuse(block, "the first step took as long as the block");
                return;
        }
        block->utilization = 100 * sums[STEP_COMPUTE].rest_s / rest_s;
        block->loading = 100 * sums[STEP_LOAD].rest_s / rest_s;
        block->other = 100 * (whole->rest_s - sums[STEP_COMPUTE].rest_s - sums[STEP_LOAD].rest_s) / rest_s;
        block->outside = 100 * (rest_s - whole->rest_s) / rest_s;
}

static int add_block(MlperfRun *run, uint64_t rank, uint64_t number, const char *name, const Value *epoch, const Value *stats) {
        MlperfBlock *block;
        int r;

        r = ARRAY_EXTEND(run->blocks, run->n_blocks);
        if (r < 0)
                return r;

        block = &run->blocks[run->n_blocks++];
        *block = (MlperfBlock){
                .rank = rank, .epoch = number, .duration_s = NAN, .first_step_s = NAN, .first_load_s = NAN,
                .utilization = NAN, .loading = NAN, .other = NAN, .outside = NAN,
        };
        (void)snprintf(block->name, sizeof(block->name), "%s", name);
        compute_shares(block, epoch, stats);
        return 0;
}

/* Blocks of training have steps in `proc`; the members whose keys are not numbers describe the host. */
static int add_epoch(MlperfRun *run, uint64_t rank, const Member *member, const Value *stats) {
        const Value *blocks = value_get(&member->value, part_names[STEP_WHOLE]);
        uint64_t number;
        int r = 0;

        if (parse_u64(member->key, &number) != 0 || !blocks || blocks->type != VALUE_OBJECT)
                return 0;
        for (size_t i = 0; i < blocks->n_members && r == 0; i++)
                if (strlen(blocks->members[i].key) < MLPERF_BLOCK_MAX)
                        r = add_block(run, rank, number, blocks->members[i].key, &member->value, stats);
        return r;
}

int mlperf_run_add_rank(MlperfRun *run, uint64_t rank, const Value *output, const Value *stats) {
        int r = 0;

        run->n_ranks++;
        if (output->type != VALUE_OBJECT)
                return 0;
        for (size_t i = 0; i < output->n_members && r == 0; i++)
                r = add_epoch(run, rank, &output->members[i], stats);
        return r;
}

/* --- ranks together ------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

static int compare_place(const MlperfBlock *a, const MlperfBlock *b) {
        return a->epoch != b->epoch ? compare_u64(a->epoch, b->epoch) : strverscmp(a->name, b->name);
}

static int by_rank(const void *a, const void *b) {
        const MlperfBlock *x = a, *y = b;

        return x->rank != y->rank ? compare_u64(x->rank, y->rank) : compare_place(x, y);
}

void mlperf_run_sort(MlperfRun *run) {
        if (run->n_blocks > 0)
                qsort(run->blocks, run->n_blocks, sizeof(*run->blocks), by_rank);
}

static int by_place(const void *a, const void *b) {
        const MlperfBlock *x = *(const MlperfBlock *const *)a, *y = *(const MlperfBlock *const *)b;
        int r = compare_place(x, y);

        return r != 0 ? r : compare_u64(x->rank, y->rank);
}

/* Returns the number of blocks from the first on that have its epoch and name. */
static size_t spread_of(const MlperfBlock *const *blocks, size_t n, MlperfSpread *ret) {
        size_t i;

        *ret = (MlperfSpread){ .epoch = blocks[0]->epoch, .block = blocks[0]->name, .min = NAN, .mean = NAN, .max = NAN };
        for (i = 0; i < n && compare_place(blocks[i], blocks[0]) == 0; i++) {
                double v = blocks[i]->utilization;

                if (isnan(v))
                        continue;
                if (ret->n_ranks == 0 || v < ret->min) {
                        ret->min = v;
                        ret->min_rank = blocks[i]->rank;
                }
                ret->max = ret->n_ranks == 0 || v > ret->max ? v : ret->max;
                ret->n_ranks++;
                ret->mean = ret->n_ranks == 1 ? v : ret->mean + (v - ret->mean) / (double)ret->n_ranks;
        }
        assert(i > 0);
        return i;
}

int mlperf_run_spreads(const MlperfRun *run, MlperfSpread **ret, size_t *ret_n) {
        scoped(freep) const MlperfBlock **sorted = calloc(run->n_blocks + 1, sizeof(*sorted));
        scoped(freep) MlperfSpread *spreads = calloc(run->n_blocks + 1, sizeof(*spreads));
        size_t n = 0;

        if (!sorted || !spreads)
                return -ENOMEM;
        for (size_t i = 0; i < run->n_blocks; i++)
                sorted[i] = &run->blocks[i];
        qsort(sorted, run->n_blocks, sizeof(*sorted), by_place);

        for (size_t i = 0; i < run->n_blocks;)
                i += spread_of(&sorted[i], run->n_blocks - i, &spreads[n++]);
        *ret = TAKE(spreads);
        *ret_n = n;
        return 0;
}
