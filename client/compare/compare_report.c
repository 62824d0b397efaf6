/* SPDX-License-Identifier: Apache-2.0 */
#include "client/compare/compare_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/grid.h"
#include "json/json.h"
#include "text/text.h"

static const char *const verdict_names[N_PAIRED_VERDICTS] = {
        [PAIRED_UNKNOWN] = "unknown", [PAIRED_SAME] = "same", [PAIRED_LESS] = "less", [PAIRED_MORE] = "more"
};

static bool is_wall_time(const ComparisonRow *row) {
        return strcmp(row->series->name, comparison_resources[COMPARISON_WALL_TIME].name) == 0;
}

static void put_value(Buffer *out, const ComparisonRow *row, double value) {
        const char *unit = row->series->unit ?: "";
        char text[TEXT_MAX];

        if (!isfinite(value)) {
                buffer_putc(out, '-');
                return;
        }
        if (*unit == 's') {
                buffer_printf(out, fabs(value) < 1 ? "%#.4g ms" : "%.3f s", fabs(value) < 1 ? 1e3 * value : value);
                return;
        }
        if (*unit && fabs(value) < 1)
                (void)strcpy(text, "0 B");
        else if (*unit)
                text_mib(value / (1024.0 * 1024.0), text);
        else
                text_figure(value, text);
        buffer_puts(out, text);
}

/* Appends a shift: a percentage with as many decimals as the interval is precise, or a difference. */
static void put_shift(Buffer *out, const ComparisonRow *row, double shift, int sign) {
        double change = sign * (row->is_ratio ? expm1(shift) : shift);
        double width = row->is_ratio ? expm1(row->interval.high) - expm1(row->interval.low) : 0;
        int n_decimals = width < 0.001 ? 2 : width < 0.1 || fabs(change) < 0.01 ? 1 : 0;

        if (!row->is_ratio)
                put_value(out, row, fabs(change) < COMPARISON_EQUAL ? 0 : change);
        else /* no negative zero */
                buffer_printf(out, "%.*f", n_decimals, fabs(change) < 0.005 / pow(10, n_decimals) ? 0 : 100 * change);
}

/* Appends "2.1 % slower". */
static void put_side(Buffer *out, const ComparisonRow *row, double shift, bool is_less) {
        put_shift(out, row, shift, is_less ? -1 : 1);
        buffer_printf(out, "%s %s", row->is_ratio ? " %" : "",
                      is_wall_time(row) ? (is_less ? "faster" : "slower") : is_less ? "less" : "more");
}

/* Appends "2.1 % slower (1.6 to 2.7)", "same (-0.3 to 0.5 %)" or "unknown". */
static void put_verdict(Buffer *out, const ComparisonRow *row) {
        const PairedInterval *interval = &row->interval;
        bool is_less = row->verdict == PAIRED_LESS, is_change = is_less || row->verdict == PAIRED_MORE;

        if (is_change)
                put_side(out, row, interval->estimate, is_less);
        else
                buffer_puts(out, verdict_names[row->verdict]);
        if (!isfinite(interval->high - interval->low))
                return;
        buffer_puts(out, " (");
        put_shift(out, row, is_less ? interval->high : interval->low, is_less ? -1 : 1);
        buffer_puts(out, " to ");
        put_shift(out, row, is_less ? interval->low : interval->high, is_less ? -1 : 1);
        buffer_puts(out, row->is_ratio && !is_change ? " %)" : ")");
}

void compare_report_put_sentence(const ComparisonRow *row, Buffer *out) {
        if (row->verdict >= PAIRED_LESS && is_wall_time(row))
                buffer_puts(out, "B is ");
        else
                buffer_printf(out, "%s of B against A: ", row->series->name);
        if (row->verdict == PAIRED_UNKNOWN)
                buffer_puts(out, "unknown");
        else
                put_verdict(out, row);
        if (row->verdict == PAIRED_SAME && row->is_ratio)
                buffer_printf(out, ", within %g %%", 100 * expm1(row->margin));
        buffer_printf(out, "%s after %zu pair%s", row->verdict == PAIRED_UNKNOWN ? "" : ",", row->n,
                      row->n == 1 ? "" : "s");
        if (row->verdict != PAIRED_UNKNOWN || !isfinite(row->interval.high - row->interval.low))
                return;
        buffer_puts(out, ", at most ");
        put_side(out, row, row->interval.low, true);
        buffer_puts(out, " or ");
        put_side(out, row, row->interval.high, false);
}

/* Returns whether a row can be shown, and judges it. */
static bool judge(const PairedRuns *runs, size_t i, const ComparisonRow *decisive, const CompareFacts *facts,
                  ComparisonRow *ret) {
        if (&runs->series[i] == decisive->series)
                return false;
        *ret = comparison_judge(runs, &runs->series[i], COMPARISON_B, facts->within);
        return ret->n > 0;
}

#define ONE_SIDED_MIN 8U /* disturbed pairs: chance does not lay all in runs of the same command */

/* --- remarks -------------------------------------------------------------------------------------- */

static void put_left_out(const CompareFacts *facts, Buffer *out) {
        size_t n_by_b = facts->noise.n_disturbed_by_b, n = facts->n_failed + facts->n_timed_out + facts->n_disturbed;

        if (n == 0)
                return;
        buffer_printf(out, "left out: %zu pair%s: %zu failed, %zu timed out, %zu disturbed", n, n == 1 ? "" : "s",
                      facts->n_failed, facts->n_timed_out, facts->n_disturbed);
        for (Noise i = 0; i < N_NOISES; i++)
                if (facts->noise.n_disturbed[i] > 0)
                        buffer_printf(out, ", by %s %zu", noise_names[i], facts->noise.n_disturbed[i]);
        if (facts->n_disturbed >= ONE_SIDED_MIN && (n_by_b == 0 || n_by_b == facts->n_disturbed))
                buffer_printf(out, ", all in runs of %c, which may do that itself", "AB"[n_by_b > 0]);
        buffer_putc(out, '\n');
}

static void put_drift(const PairedRuns *runs, const ComparisonRow *row, const CompareFacts *facts, Buffer *out) {
        for (ComparisonSide side = COMPARISON_A; side <= COMPARISON_B; side++) {
                double drift = comparison_drift(runs, row->series, side, facts->within);

                if (drift != 0)
                        buffer_printf(out, "drift: %s of %c changed by %+.1f %% from the first half of the pairs to "
                                           "the second\n", row->series->name, "AB"[side], 100 * drift);
        }
}

/* A number that a command prints in some runs only is judged in these. */
static void put_missing(const PairedRuns *runs, const ComparisonRow *row, Buffer *out) {
        for (ComparisonSide side = COMPARISON_A; side <= COMPARISON_B; side++) {
                size_t n = 0;

                for (size_t i = 0; i < runs->n_pairs; i++)
                        n += !isfinite(row->series->values[i][side]);
                if (n > 0)
                        buffer_printf(out, "%c has no %s in %zu of %zu runs\n", "AB"[side], row->series->name, n,
                                      runs->n_pairs);
        }
}

/* Says how far from a verdict the pairs are. */
static void put_needed(const ComparisonRow *row, const CompareFacts *facts, Buffer *out) {
        size_t n = paired_comparison_count_needed(row->differences, row->n, -row->margin, row->margin);

        buffer_printf(out, "%zu pairs do not tell whether they are the same within %g %%; %s %zu would, if B stays ",
                      row->n, 100 * facts->within, n > 0 ? "about" : "not even", n ?: PAIRED_PAIRS_MAX);
        put_side(out, row, row->interval.estimate, row->interval.estimate < 0);
        buffer_putc(out, '\n');
}

/* Appends lines. */
static void put_remarks(const PairedRuns *runs, const ComparisonRow *decisive, const CompareFacts *facts,
                        Buffer *out) {
        Noise noise;
        double share = comparison_usual_noise(&facts->noise, &noise);

        if (facts->stop[0])
                buffer_printf(out, "stopped: %s\n", facts->stop);
        if (decisive->verdict == PAIRED_UNKNOWN && decisive->n < PAIRED_PAIRS_MIN)
                buffer_printf(out, "a verdict needs at least %u pairs\n", PAIRED_PAIRS_MIN);
        else if (decisive->verdict == PAIRED_UNKNOWN)
                put_needed(decisive, facts, out);
        if (decisive->verdict == PAIRED_UNKNOWN && share > 0)
                buffer_printf(out, "the machine was not quiet: %s, %.0f %% of the time\n", noise_names[noise],
                              100 * share);
        put_left_out(facts, out);
        for (size_t i = 0; i < 2; i++)
                if (facts->n_left[i] > 0)
                        buffer_printf(out, "%zu run%s of %c left processes running, which may delay later runs\n",
                                      facts->n_left[i], facts->n_left[i] == 1 ? "" : "s", "AB"[i]);
        put_missing(runs, decisive, out);
        put_drift(runs, decisive, facts, out);
        if (facts->has_floor) {
                ComparisonRow floor = comparison_judge(runs, decisive->series, COMPARISON_A_AGAIN, facts->within);

                buffer_puts(out, "noise floor, A against A: ");
                put_verdict(out, &floor);
                buffer_putc(out, '\n');
        }
        if (facts->is_stored)
                buffer_puts(out, "stored runs are paired in their order: if they were not taken in turn, a change of "
                                 "the machine between them counts as a difference\n");
        else if (!facts->has_perfd)
                buffer_puts(out, "without perfd: CPU time, memory and bytes are those of the process that was started "
                                 "and of the children that it waited for, and nothing is stored\n");
        if (facts->batches[0][0])
                buffer_printf(out, "stored: perfctl compare --runs %s %s\n", facts->batches[0], facts->batches[1]);
}

/* --- text ----------------------------------------------------------------------------------------- */

static void add_row(Grid *grid, const ComparisonRow *row) {
        scoped(buffer_deinit) Buffer a = {}, b = {}, verdict = {};

        put_value(&a, row, row->a);
        put_value(&b, row, row->b);
        put_verdict(&verdict, row);
        grid_text(grid, row->series->name);
        grid_right(grid, a.text ?: "");
        grid_right(grid, b.text ?: "");
        grid_whole(grid, verdict.text ?: "");
}

int compare_report_write(const PairedRuns *runs, const ComparisonRow *decisive, const CompareFacts *facts,
                         Screen *screen) {
        scoped(grid_deinit) Grid grid = {};
        scoped(buffer_deinit) Buffer remarks = {};
        char *line, *rest;
        ComparisonRow row;
        int r;

        screen_line(screen, "A: %s", facts->names[0]);
        screen_line(screen, "B: %s", facts->names[1]);
        buffer_putc(screen->out, '\n');
        grid_init_heads(&grid, "MEDIAN|>A|>B|B AGAINST A");
        add_row(&grid, decisive);
        for (size_t i = 0; i < runs->n_series; i++)
                if (judge(runs, i, decisive, facts, &row))
                        add_row(&grid, &row);
        r = grid_write(&grid, screen, false);
        buffer_putc(screen->out, '\n');
        compare_report_put_sentence(decisive, &remarks);
        buffer_putc(&remarks, '\n');
        put_remarks(runs, decisive, facts, &remarks);
        rest = remarks.text;
        while (rest && (line = strsep(&rest, "\n")))
                if (line[0] && facts->batches[0][0] && !rest[0]) /* not folded, since users copy it */
                        buffer_printf(screen->out, "%s\n", line);
                else if (line[0])
                        screen_line(screen, "%s", line);
        return r < 0 || buffer_error(&remarks) < 0 ? -ENOMEM : buffer_error(screen->out);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_row(Json *json, const ComparisonRow *row) {
        const struct {
                const char *key;
                double value;
        } numbers[] = {
                { "a", row->a },
                { "b", row->b },
                { "change", row->is_ratio ? expm1(row->interval.estimate) : row->interval.estimate },
                { "low", row->is_ratio ? expm1(row->interval.low) : row->interval.low },
                { "high", row->is_ratio ? expm1(row->interval.high) : row->interval.high },
        };

        json_object_begin(json);
        json_put_string(json, "name", row->series->name);
        json_put_string(json, "unit", row->series->unit);
        json_put_string(json, "verdict", verdict_names[row->verdict]);
        json_put_uint(json, "pairs", row->n);
        json_put_string(json, "change_is", row->is_ratio ? "ratio" : "difference");
        for (size_t i = 0; i < N_ELEMENTS(numbers); i++)
                json_put_double_or_null(json, numbers[i].key, isfinite(numbers[i].value), numbers[i].value);
        json_object_end(json);
}

int compare_report_write_json(const PairedRuns *runs, const ComparisonRow *decisive, const CompareFacts *facts,
                              Buffer *out) {
        scoped(buffer_deinit) Buffer sentence = {}, remarks = {};
        Json json = { .out = out };
        ComparisonRow row;
        char *line, *rest;

        compare_report_put_sentence(decisive, &sentence);
        put_remarks(runs, decisive, facts, &remarks);
        json_object_begin(&json);
        json_put_string(&json, "verdict", verdict_names[decisive->verdict]);
        json_put_string(&json, "sentence", sentence.text);
        json_put_double(&json, "confidence", PAIRED_CONFIDENCE);
        json_put_double(&json, "within", facts->within);
        json_put_uint(&json, "failed", facts->n_failed);
        json_put_uint(&json, "timed_out", facts->n_timed_out);
        json_put_uint(&json, "disturbed", facts->n_disturbed);
        json_put_string(&json, "batch_a", facts->batches[0][0] ? facts->batches[0] : NULL);
        json_put_string(&json, "batch_b", facts->batches[1][0] ? facts->batches[1] : NULL);
        json_put_array_begin(&json, "rows");
        put_row(&json, decisive);
        for (size_t i = 0; i < runs->n_series; i++)
                if (judge(runs, i, decisive, facts, &row))
                        put_row(&json, &row);
        json_array_end(&json);
        json_put_array_begin(&json, "remarks");
        rest = remarks.text;
        while (rest && (line = strsep(&rest, "\n")))
                if (line[0])
                        json_string(&json, line);
        json_array_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
        return buffer_error(&sentence) < 0 || buffer_error(&remarks) < 0 ? -ENOMEM : buffer_error(out);
}
