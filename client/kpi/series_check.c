/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/series_check.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/kpi/series_input.h"
#include "json/json.h"

#define POINTS_MAX 20000U /* perfd's method takes n^2 steps */

/* --- output --------------------------------------------------------------------------------------- */

static void put_point(Json *json, const ChangePoint *point, const SeriesInput *input) {
        const SeriesPoint *first = &input->points[point->index];

        json_object_begin(json);
        json_put_uint(json, "index", first->at);
        if (first->time)
                json_put_string(json, "time", first->time);
        json_put_double(json, "mean_before", point->mean_before);
        json_put_double(json, "mean_after", point->mean_after);
        json_put_double(json, "relative_change", point->relative);
        json_put_double(json, "p_value", point->p_value);
        json_object_end(json);
}

static void put_verdict(Json *json, const JudgeResult *judgement, const SeriesInput *input) {
        json_put_object_begin(json, "verdict");
        json_put_string(json, "verdict", judge_verdict_names[judgement->verdict]);
        json_put_double(json, "relative_change", judgement->relative);
        json_put_double(json, "p_value", judgement->p_value);
        if (judgement->since < input->n)
                json_put_uint(json, "since", input->points[judgement->since].at);
        json_object_end(json);
}

static void put_bool(Json *json, const char *key, BaselineBool v) {
        json_key(json, key);
        if (v == BASELINE_NONE)
                json_null(json);
        else
                json_bool(json, v == BASELINE_TRUE);
}

static void put_status(Json *json, JudgeMethod method, const BaselineStatus *status) {
        json_put_object_begin(json, "compat");
        put_bool(json, "accepted", status->is_accepted);
        put_bool(json, "improved", status->is_improved);
        json_put_double(json, "rating", status->rating);
        json_put_string(json, "description", status->description);
        json_put_double(json, "historical_mean", status->mean);
        json_put_double(json, "stddev", status->sd);
        json_put_double(json, method == JUDGE_ZSCORE ? "zscore" : "change", status->score);
        json_object_end(json);
}

static void write_json(const JudgeSettings *settings, const SeriesInput *input, const JudgeResult *judgement, const BaselineStatus *status,
                       Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_string(&json, "method", judge_method_names[settings->method]);
        json_put_uint(&json, "n", input->n);
        json_put_uint(&json, "missing", input->n_read - input->n);
        json_put_array_begin(&json, "change_points");
        for (size_t i = 0; i < judgement->n_points; i++)
                put_point(&json, &judgement->points[i], input);
        json_array_end(&json);
        put_verdict(&json, judgement, input);
        if (status)
                put_status(&json, settings->method, status);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

static void write_text(const SeriesInput *input, const JudgeResult *judgement, const BaselineStatus *status, Screen *screen) {
        for (size_t i = 0; i < judgement->n_points; i++) {
                const ChangePoint *point = &judgement->points[i];
                const SeriesPoint *first = &input->points[point->index];

                buffer_printf(screen->out, "index %zu", first->at);
                if (first->time) {
                        buffer_puts(screen->out, " (");
                        screen_text(screen, first->time);
                        buffer_putc(screen->out, ')');
                }
                buffer_printf(screen->out, ": %.6g to %.6g, %+.1f %%", point->mean_before, point->mean_after, 100 * point->relative);
                if (!isnan(point->p_value))
                        buffer_printf(screen->out, ", p = %.2g", point->p_value);
                buffer_putc(screen->out, '\n');
        }

        buffer_printf(screen->out, "%zu change point%s in %zu values. Newest value: %s", judgement->n_points,
                      judgement->n_points == 1 ? "" : "s", input->n, judge_verdict_names[judgement->verdict]);
        if (judgement->verdict == JUDGE_UNKNOWN)
                buffer_puts(screen->out, " (too few values)");
        else if (!isnan(judgement->relative))
                buffer_printf(screen->out, " (%+.1f %%)", 100 * judgement->relative);
        if (status)
                buffer_printf(screen->out, "; status of MatrixBenchmarking: %s", status->description);
        buffer_putc(screen->out, '\n');
}

/* --- check ---------------------------------------------------------------------------------------- */

static int print(const SeriesCheck *check, const SeriesInput *input, const JudgeResult *judgement, const BaselineStatus *status) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, check->no_color);
        if (check->is_json)
                write_json(&check->settings, input, judgement, status, &out);
        else
                write_text(input, judgement, status, &screen);
        return output_print(&out);
}

static int judge(const SeriesCheck *check, const SeriesInput *input, JudgeVerdict *ret) {
        scoped(freep) double *series = calloc(input->n + 1, sizeof(*series));
        bool is_compat = check->is_compat && input->n > 0;
        scoped(judge_deinit) JudgeResult judgement = {};
        BaselineStatus status;
        int r;

        if (!series)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < input->n; i++)
                series[i] = input->points[i].value;

        r = judge_series(series, input->n, &check->settings, &judgement);
        if (r < 0)
                return command_fail(r);
        if (is_compat)
                status = judge_compat_status(series, input->n, &check->settings, &judgement);
        *ret = judgement.verdict;
        return print(check, input, &judgement, is_compat ? &status : NULL);
}

int series_check(const SeriesCheck *check, JudgeVerdict *ret) {
        const char *name = input_name(check->file);
        scoped(series_input_deinit) SeriesInput input = {};
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = input_read(check->file, &text);
        if (r != EXIT_DONE)
                return r;

        r = series_input_read(&input, name, &text, check->column);
        if (r < 0)
                return command_fail(r);
        if (r == SERIES_INVALID)
                message_print("%s", input.error);
        else if (input.n > POINTS_MAX)
                message_print("%s: %zu values; at most %u can be judged: pass only the newest", name, input.n, POINTS_MAX);
        if (r == SERIES_INVALID || input.n > POINTS_MAX)
                return EXIT_FAILED;

        if (input.was_sorted)
                message_print("%s: sorted by time; indexes are those of the sorted values", name);
        return judge(check, &input, ret);
}
