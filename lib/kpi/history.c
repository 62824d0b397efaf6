/* SPDX-License-Identifier: Apache-2.0 */
#include "kpi/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "document/version.h"
#include "util/parse.h"
#include "util/scoped.h"

#define SIDE_MAX 30U /* runs of each side of a change for its interval */
#define NORMAL_95 1.959963984540054

const char *const history_order_names[N_HISTORY_ORDERS + 1] = {
        [HISTORY_BY_SEMVER] = "semver", [HISTORY_BY_VERSION] = "version", [HISTORY_BY_TIME] = "time",
        [HISTORY_BY_NUMBER] = "number",
};

/* --- order ---------------------------------------------------------------------------------------- */

static int compare_numbers(const char *a, const char *b) {
        double x = 0, y = 0;

        (void)parse_double(a, &x);
        (void)parse_double(b, &y);
        return COMPARE(x, y);
}

/* A run without a version comes first. */
static int compare_texts(const char *a, const char *b) {
        return strcmp(a ?: "", b ?: "");
}

static int compare_versions(const char *a, const char *b, HistoryOrder order) {
        switch (order) {
        case HISTORY_BY_SEMVER:
                return version_compare_semantic(a, b);
        case HISTORY_BY_VERSION:
                return version_compare(a, b);
        case HISTORY_BY_NUMBER:
                return compare_numbers(a, b);
        case HISTORY_BY_TIME:
        case N_HISTORY_ORDERS:
                break;
        }
        return 0;
}

/* Versions that nothing else orders have the order of their first runs, so that their runs are not mixed. */
static int compare_runs(const HistoryRun *a, const HistoryRun *b, HistoryOrder order) {
        return compare_versions(a->version, b->version, order) ?: COMPARE(a->first_ms, b->first_ms) ?:
               COMPARE(a->first_result, b->first_result) ?: COMPARE(a->time_ms, b->time_ms) ?:
               COMPARE(a->result, b->result);
}

static int compare(const void *a, const void *b, void *userdata) {
        return compare_runs(a, b, *(const HistoryOrder *)userdata);
}

/* first: another version of the history. */
static bool can_be_ordered(const char *version, const char *first, HistoryOrder order) {
        double unused;

        if (order == HISTORY_BY_TIME)
                return true;
        if (!version || !first)
                return false;
        if (order == HISTORY_BY_NUMBER)
                return parse_double(version, &unused) == 0;
        return order == HISTORY_BY_SEMVER ? version_is_semantic(version) && !version_is_extended(version)
                                          : version_is_ordered(version) && version_is_comparable(version, first);
}

static bool can_order(const HistoryRun *runs, size_t n, HistoryOrder order) {
        for (size_t i = 0; i < n; i++)
                if (!can_be_ordered(runs[i].version, runs[0].version, order))
                        return false;
        return true;
}

/* If a single version cannot be ordered, all versions are ordered by their first runs. */
static HistoryOrder find_order(const HistoryRun *runs, size_t n, HistoryOrder wanted) {
        if (can_order(runs, n, wanted))
                return wanted;
        return wanted == HISTORY_BY_SEMVER && can_order(runs, n, HISTORY_BY_VERSION) ? HISTORY_BY_VERSION
                                                                                     : HISTORY_BY_TIME;
}

static bool is_same(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}

static int compare_ages(const void *a, const void *b) {
        const HistoryRun *x = a, *y = b;

        return compare_texts(x->version, y->version) ?: COMPARE(x->time_ms, y->time_ms) ?:
               COMPARE(x->result, y->result);
}

static void find_first_runs(HistoryRun *runs, size_t n) {
        qsort(runs, n, sizeof(*runs), compare_ages);
        for (size_t i = 0; i < n; i++) {
                bool is_first = i == 0 || !is_same(runs[i].version, runs[i - 1].version);

                runs[i].first_ms = is_first ? runs[i].time_ms : runs[i - 1].first_ms;
                runs[i].first_result = is_first ? runs[i].result : runs[i - 1].first_result;
        }
}

/* --- batches -------------------------------------------------------------------------------------- */

static int compare_batches(const void *a, const void *b) {
        const HistoryRun *x = a, *y = b;

        return COMPARE(x->batch, y->batch) ?: compare_texts(x->version, y->version) ?: COMPARE(x->value, y->value);
}

/* Replaces the runs of a batch by one with their median, at the time of the newest. Returns the number of runs left. */
static size_t join_batches(HistoryRun *runs, size_t n) {
        size_t n_left = 0, end;
        bool has_batches = false;

        for (size_t i = 0; i < n; i++) {
                runs[i].n_repeats = 1;
                has_batches |= runs[i].batch != 0;
        }
        if (!has_batches)
                return n;
        qsort(runs, n, sizeof(*runs), compare_batches);
        for (size_t begin = 0; begin < n; begin = end) {
                HistoryRun joined = runs[begin];

                for (end = begin + 1; end < n && joined.batch != 0 && runs[end].batch == joined.batch &&
                                      is_same(runs[end].version, joined.version); end++)
                        if (runs[end].time_ms > joined.time_ms) {
                                joined.time_ms = runs[end].time_ms;
                                joined.result = runs[end].result;
                        }
                joined.value = runs[begin + (end - begin - 1) / 2].value / 2 +
                               runs[begin + (end - begin) / 2].value / 2;
                joined.n_repeats = (uint32_t)(end - begin);
                runs[n_left++] = joined;
        }
        return n_left;
}

/* --- selection ------------------------------------------------------------------------------------ */

/* True if run a is newer than run b; of runs at the same time, if its version is later. */
static bool is_newer(const HistoryRun *a, const HistoryRun *b, HistoryOrder order) {
        return a->time_ms != b->time_ms ? a->time_ms > b->time_ms : compare_runs(a, b, order) >= 0;
}

/* Returns the newest run of the version, or of all if it is NULL. */
static const HistoryRun *find_current(const HistoryRun *runs, size_t n, const char *version, HistoryOrder order) {
        const HistoryRun *newest = NULL;

        for (size_t i = 0; i < n; i++)
                if ((!version || is_same(runs[i].version, version)) && (!newest || is_newer(&runs[i], newest, order)))
                        newest = &runs[i];
        return newest;
}

/* Puts the judged runs in front, in order. Returns their number. */
static size_t put_in_order(HistoryRun *runs, size_t n, const HistoryRun *current, HistoryVerdict *verdict) {
        HistoryRun last = *current;
        size_t n_kept = 0;

        for (size_t i = 0; i < n; i++)
                if (compare_runs(&runs[i], &last, verdict->order) <= 0)
                        runs[n_kept++] = runs[i];
        verdict->excluded.n_later = n - n_kept;
        qsort_r(runs, n_kept, sizeof(*runs), compare, &verdict->order);
        if (n_kept <= HISTORY_RUNS_MAX)
                return n_kept;

        verdict->excluded.n_older = n_kept - HISTORY_RUNS_MAX;
        memmove(runs, &runs[verdict->excluded.n_older], HISTORY_RUNS_MAX * sizeof(*runs));
        return HISTORY_RUNS_MAX;
}

static int compare_for_compat(const void *a, const void *b) {
        const HistoryRun *x = a, *y = b;

        return compare_texts(x->version, y->version) ?: COMPARE(x->time_ms, y->time_ms);
}

/* Puts the runs in the order of MatrixBenchmarking, the judged last. Returns their number. */
static size_t put_in_compat_order(HistoryRun *runs, size_t n, const HistoryRun *current, HistoryVerdict *verdict) {
        HistoryRun last = *current;
        size_t n_kept = 0;

        qsort(runs, n, sizeof(*runs), compare_for_compat);
        for (size_t i = 0; i < n; i++)
                if (!is_same(runs[i].version, last.version) &&
                    (n_kept == 0 || !is_same(runs[i].version, runs[n_kept - 1].version)))
                        runs[n_kept++] = runs[i];
        verdict->excluded.n_repeated = n - n_kept - 1;
        if (n_kept >= HISTORY_RUNS_MAX) {
                verdict->excluded.n_older = n_kept - (HISTORY_RUNS_MAX - 1);
                n_kept = HISTORY_RUNS_MAX - 1;
                memmove(runs, &runs[verdict->excluded.n_older], n_kept * sizeof(*runs));
        }
        runs[n_kept++] = last;
        return n_kept;
}

/* --- size of a change ----------------------------------------------------------------------------- */

static size_t at_most(size_t n, size_t most) {
        return n < most ? n : most;
}

/* Hodges-Lehmann interval: the differences of all pairs, without the tails of the rank-sum test. The levels are those
 * from begin to at, and from there to end. */
static void find_interval(const double *series, size_t begin, size_t at, size_t end, double *ret_low,
                          double *ret_high) {
        size_t n_before = at_most(at - begin, SIDE_MAX), n_after = at_most(end - at, SIDE_MAX), n = 0, k;
        const double *after = &series[at], *before = after - n_before;
        double differences[SIDE_MAX * SIDE_MAX], n_pairs = (double)(n_before * n_after), scale = 1, tail;
        bool is_logarithmic = true;

        for (size_t i = 0; i < n_before + n_after; i++)
                is_logarithmic &= before[i] > 0;
        if (!is_logarithmic) {
                double sorted[SIDE_MAX];

                memcpy(sorted, before, n_before * sizeof(*sorted));
                scale = fabs(statistics_median_in_place(sorted, n_before));
        }
        tail = n_pairs / 2 - NORMAL_95 * sqrt(n_pairs * (double)(n_before + n_after + 1) / 12);
        if (!(tail >= 1) || scale <= 0)
                return;

        for (size_t i = 0; i < n_before; i++)
                for (size_t j = 0; j < n_after; j++)
                        differences[n++] = is_logarithmic ? after[j] / before[i] - 1 : (after[j] - before[i]) / scale;
        statistics_sort(differences, n);
        k = (size_t)tail;
        *ret_low = differences[k - 1];
        *ret_high = differences[n - k];
}

static HistoryPlace place_of(const HistoryRun *run) {
        return (HistoryPlace){ run->version, run->time_ms };
}

static void describe_change(const double *series, size_t n, const HistoryRun *runs, const JudgeResult *judgement,
                            HistoryVerdict *verdict) {
        size_t since = judgement->since, begin = 0;

        verdict->since = since < n ? since : n;
        if (since >= n)
                return;
        verdict->first = place_of(&runs[since]);
        if (since > 0 && is_same(runs[since].version, runs[since - 1].version))
                verdict->first.version = NULL; /* the time tells where */
        for (size_t i = 0; i < judgement->n_points; i++)
                if (judgement->points[i].index < since)
                        begin = judgement->points[i].index;
        find_interval(series, begin, since, n, &verdict->low, &verdict->high);
}

static void describe_changes(const double *series, size_t n, const HistoryRun *runs, const JudgeResult *judgement,
                             HistoryChanges *changes) {
        const ChangePoint *points = judgement->points;
        size_t n_points = judgement->n_points;

        changes->n = 0;
        for (size_t i = n_points - at_most(n_points, HISTORY_CHANGES_MAX); i < n_points; i++) {
                HistoryChange *change = &changes->items[changes->n++];

                *change = (HistoryChange){
                        .first = place_of(&runs[points[i].index]),
                        .before = points[i].mean_before, .after = points[i].mean_after,
                        .sd_before = points[i].sd_before, .sd_after = points[i].sd_after,
                        .relative = points[i].relative, .low = NAN, .high = NAN, .p_value = points[i].p_value,
                };
                find_interval(series, i > 0 ? points[i - 1].index : 0, points[i].index,
                              i + 1 < n_points ? points[i + 1].index : n, &change->low, &change->high);
        }
}

/* --- the verdict ---------------------------------------------------------------------------------- */

/* Changes are allowed where the version changes, unless there is only one. */
static size_t find_allowed(const HistoryRun *runs, size_t n, bool *allowed) {
        size_t n_versions = n > 0;

        for (size_t i = 1; i < n; i++) {
                allowed[i] = !is_same(runs[i].version, runs[i - 1].version);
                n_versions += allowed[i];
        }
        return n_versions;
}

static bool has_status(const HistoryQuestion *question) {
        JudgeMethod method = question->judge.method;

        return question->is_compat && (method == JUDGE_HUNTER || method == JUDGE_STDEV || method == JUDGE_ZSCORE);
}

/* Doubts "no change" of the newest of several versions: the level may have changed while this version was run, or the
 * one run of the only version before may differ from all others, which is no level to compare with. */
static int doubt(const double *series, size_t n, size_t n_versions, JudgeSettings settings, JudgeResult *judgement) {
        scoped(judge_deinit) JudgeResult found = {};
        double reversed[HISTORY_RUNS_MAX];
        size_t newest = n - 1;
        bool is_single;
        int r;

        if (judgement->verdict != JUDGE_NO_CHANGE || settings.method != JUDGE_PERFD || n_versions < 2)
                return 0;
        while (!settings.shift.allowed[newest])
                newest--;
        is_single = n_versions == 2 && newest == 1;
        if (!is_single && n - newest <= settings.shift.n_min_last)
                return 0;
        for (size_t i = 0; i < n; i++)
                reversed[i] = series[n - 1 - i];
        settings.shift.allowed = NULL;
        r = judge_series(is_single ? reversed : series, n, &settings, &found);
        if (r < 0 || (is_single ? found.since != n - 1
                                : found.n_points == 0 || found.since != found.points[found.n_points - 1].index ||
                                          found.since <= newest))
                return r;
        judgement->verdict = JUDGE_UNKNOWN;
        judgement->since = is_single ? 1 : found.since;
        judgement->n_before = is_single ? 1 : found.n_before;
        judgement->n_needed = is_single ? SHIFT_BASE - 1 : 0;
        judgement->relative = is_single ? (series[n - 1] - series[0]) / fabs(series[0]) : found.relative;
        judgement->p_value = found.p_value;
        return 0;
}

static int judge(const HistoryRun *runs, size_t n, const HistoryQuestion *question, HistoryVerdict *verdict) {
        double series[HISTORY_RUNS_MAX];
        bool allowed[HISTORY_RUNS_MAX] = {};
        JudgeSettings settings = question->judge;
        scoped(judge_deinit) JudgeResult judgement = {};
        int r;

        assert(n > 0 && n <= HISTORY_RUNS_MAX);
        verdict->of.n_repeats = 0;
        for (size_t i = 0; i < n; i++) {
                series[i] = runs[i].value;
                verdict->of.n_repeats += question->is_compat ? 1 : runs[i].n_repeats;
        }
        verdict->n = n;
        verdict->value = runs[n - 1].value;
        verdict->of.n_values = runs[n - 1].n_values;
        verdict->judged.time_ms = runs[n - 1].time_ms;
        verdict->of.n_versions = find_allowed(runs, n, allowed);
        settings.shift.allowed = verdict->of.n_versions > 1 ? allowed : NULL;
        if (question->is_compat && settings.direction == JUDGE_NEITHER)
                settings.direction = JUDGE_HIGHER;

        r = judge_series(series, n, &settings, &judgement);
        if (r == 0)
                r = doubt(series, n, verdict->of.n_versions, settings, &judgement);
        if (r < 0)
                return r;
        judge_refuse_noise(&judgement);
        verdict->verdict = judgement.verdict;
        verdict->relative = judgement.relative;
        verdict->p_value = judgement.p_value;
        verdict->n_needed = judgement.n_needed;
        verdict->n_before = judgement.n_before;
        verdict->smallest = judgement.smallest.change;
        verdict->n_smallest = judgement.smallest.n_after;
        if (judgement.back_to < n)
                verdict->back_to = place_of(&runs[judgement.back_to]);
        if (has_status(question))
                verdict->status = judge_compat_status(series, n, &settings, &judgement);
        describe_change(series, n, runs, &judgement, verdict);
        if (question->changes)
                describe_changes(series, n, runs, &judgement, question->changes);
        return 0;
}

/* --- accepted levels ------------------------------------------------------------------------------ */

/* Returns the newest run that is not after a time, or NULL. */
static const HistoryRun *find_accepted(const HistoryRun *runs, size_t n, uint64_t until_ms, HistoryOrder order) {
        const HistoryRun *newest = NULL;

        for (size_t i = 0; i < n; i++)
                if (runs[i].time_ms <= until_ms && (!newest || is_newer(&runs[i], newest, order)))
                        newest = &runs[i];
        return newest;
}

/* Finds the first run of the level of run `at`: the first that differs, whether or not that is certain; if none does,
 * the first of all, since its level was no news. Of too few runs, it is this run. */
static int find_level(const HistoryRun *runs, size_t at, const HistoryQuestion *question, size_t *ret) {
        HistoryVerdict verdict = {};
        int r = judge(runs, at + 1, question, &verdict);

        *ret = verdict.since <= at ? verdict.since : at + 1 >= SHIFT_POINTS_MIN ? 0 : at;
        return r;
}

/* Removes the runs before the accepted level. An accepted run of a version later than the judged version is ignored. */
static int drop_accepted(HistoryRun *runs, size_t *n, const HistoryRun *accepted, const HistoryQuestion *question,
                         HistoryVerdict *verdict) {
        size_t at = *n, level;
        int r;

        for (size_t i = 0; i < *n; i++)
                if (runs[i].time_ms == accepted->time_ms && is_same(runs[i].version, accepted->version))
                        at = i;
        if (compare_runs(accepted, &runs[*n - 1], verdict->order) > 0)
                return 0;
        if (at == *n) { /* older than all that are compared */
                verdict->accepted = place_of(accepted);
                return 0;
        }

        r = find_level(runs, at, question, &level);
        if (r < 0 || level == 0)
                return r;
        verdict->accepted = place_of(accepted);
        verdict->excluded.n_accepted = level;
        *n -= level;
        memmove(runs, &runs[level], *n * sizeof(*runs));
        return 0;
}

int history_judge(HistoryRun *runs, size_t n, const HistoryQuestion *question, HistoryVerdict *ret) {
        size_t n_joined = question->is_compat ? n : join_batches(runs, n);
        HistoryOrder order = find_order(runs, n_joined, question->order);
        const HistoryRun *current, *found;
        HistoryRun accepted = {};
        int r;

        find_first_runs(runs, n_joined);
        current = find_current(runs, n_joined, question->current, order);

        *ret = (HistoryVerdict){
                .verdict = JUDGE_UNKNOWN,
                .value = NAN,
                .relative = NAN,
                .low = NAN,
                .high = NAN,
                .p_value = NAN,
                .smallest = NAN,
                .order = order,
                .excluded.n_batched = n - n_joined,
                .since = n,
        };
        if (!current)
                return HISTORY_NO_CURRENT;
        ret->judged.version = current->version;
        if (question->is_compat)
                return judge(runs, put_in_compat_order(runs, n_joined, current, ret), question, ret);

        found = find_accepted(runs, n_joined, question->accepted_ms, order);
        accepted = found ? *found : accepted;
        n_joined = put_in_order(runs, n_joined, current, ret);
        r = found ? drop_accepted(runs, &n_joined, &accepted, question, ret) : 0;
        return r < 0 ? r : judge(runs, n_joined, question, ret);
}

void history_refuse_mixture(HistoryVerdict *verdict) {
        verdict->verdict = JUDGE_UNKNOWN;
        verdict->relative = verdict->low = verdict->high = verdict->p_value = verdict->smallest = NAN;
        verdict->n_smallest = verdict->n_before = verdict->n_needed = 0;
        verdict->since = verdict->n;
        verdict->first = verdict->back_to = (HistoryPlace){};
}

void history_ask_rerun(HistoryVerdict *verdict) {
        verdict->n_needed = 1;
        verdict->verdict = JUDGE_RUN_AGAIN;
}

/* --- many verdicts -------------------------------------------------------------------------------- */

/* True for the changes that count; the number of all verdicts that were tested is the number of the tests. */
static bool is_counted(const HistoryVerdict *verdict) {
        return !isnan(verdict->p_value) &&
               (verdict->verdict == JUDGE_REGRESSION || verdict->verdict == JUDGE_IMPROVEMENT ||
                verdict->verdict == JUDGE_RETURNED || verdict->verdict == JUDGE_CHANGED);
}

/* Returns the p-value up to which changes are kept: the largest p(i) <= i / n × rate of the sorted p-values. */
static double find_limit(HistoryVerdict *const *verdicts, size_t n, size_t n_tested, double rate) {
        double limit = -1;

        for (size_t i = 0; i < n; i++) {
                size_t n_below = 0;

                if (!is_counted(verdicts[i]) || verdicts[i]->p_value <= limit)
                        continue;
                for (size_t k = 0; k < n; k++)
                        n_below += is_counted(verdicts[k]) && verdicts[k]->p_value <= verdicts[i]->p_value;
                if (verdicts[i]->p_value <= (double)n_below / (double)n_tested * rate)
                        limit = verdicts[i]->p_value;
        }
        return limit;
}

size_t history_limit_false_changes(HistoryVerdict *const *verdicts, size_t n, double rate) {
        size_t n_tested = 0, n_changed = 0;
        double limit;

        for (size_t i = 0; i < n; i++)
                n_tested += verdicts[i]->verdict != JUDGE_UNKNOWN;
        limit = find_limit(verdicts, n, n_tested, rate);
        for (size_t i = 0; i < n; i++)
                if (is_counted(verdicts[i]) && verdicts[i]->p_value > limit) {
                        history_ask_rerun(verdicts[i]);
                        n_changed++;
                }
        return n_changed;
}
