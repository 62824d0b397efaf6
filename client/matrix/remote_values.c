/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/remote_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "util/clock.h"

#define PROMETHEUS_LOGIN "PERFD_PROMETHEUS_LOGIN"
#define TIMEOUT_NS (30 * NS_PER_S)
#define POINTS_MAX 1000.0 /* of a series; Prometheus has a limit of 11,000 */

void remote_values_deinit(RemoteValues *remote) {
        if (remote->has_perfd)
                api_query_deinit(&remote->perfd);
        json_server_deinit(&remote->prometheus);
}

/* --- Prometheus ----------------------------------------------------------------------------------- */

/* Takes a sample, [SECONDS, "NUMBER"]. False: it is none, or is not finite. */
static bool take_sample(const Value *sample, double *ret_s, double *ret_value) {
        char *end;

        if (sample->type != VALUE_LIST || sample->n_items != 2 || !value_is_number(&sample->items[0]) ||
            sample->items[1].type != VALUE_STRING)
                return false;
        *ret_s = value_number(&sample->items[0]);
        *ret_value = strtod(sample->items[1].string, &end);
        return *end == '\0' && isfinite(*ret_value);
}

/* The value of a series; NAN without samples. A sample holds until the next one, and for a step at most. */
static double reduce(const Value *samples, ValueTake take, double step_s) {
        double sum = 0, weights = 0, found = NAN, s, value, next_s, unused;

        for (size_t i = 0; samples && samples->type == VALUE_LIST && i < samples->n_items; i++) {
                double weight = step_s;

                if (!take_sample(&samples->items[i], &s, &value))
                        continue;
                if (i + 1 < samples->n_items && take_sample(&samples->items[i + 1], &next_s, &unused))
                        weight = fmin(next_s - s, step_s);
                else if (i + 1 == samples->n_items && i > 0)
                        weight = 0; /* the time of the test ends with the last sample */
                sum += weight * value;
                weights += weight;
                found = isnan(found) || take == VALUE_TAKE_LAST || take == VALUE_TAKE_MEAN ? value
                        : take == VALUE_TAKE_MIN                                           ? fmin(found, value)
                                                                                           : fmax(found, value);
        }
        return take == VALUE_TAKE_MEAN && weights > 0 ? sum / weights : found;
}

static int put_series(const Value *series, const ValueRule *rule, double step_s, Buffer *out, Buffer *ret_reason) {
        Json json = { .out = out };
        double most = NAN;

        if (series->n_items > 1 && rule->series == VALUE_SERIES_ONE) {
                buffer_printf(ret_reason, "%zu series match; select one, or add 'series: max' or 'series: all'",
                              series->n_items);
                return REMOTE_VALUES_WRONG;
        }
        for (size_t i = 0; i < series->n_items; i++)
                most = fmax(most, reduce(value_get(&series->items[i], "values"), rule->take, step_s));
        if (isnan(most)) {
                buffer_puts(ret_reason, "no data in the time of the test");
                return REMOTE_VALUES_NONE;
        }
        if (rule->series != VALUE_SERIES_ALL) {
                json_double(&json, most);
                return buffer_error(out);
        }
        json_array_begin(&json);
        for (size_t i = 0; i < series->n_items; i++)
                json_double(&json, reduce(value_get(&series->items[i], "values"), rule->take, step_s));
        json_array_end(&json);
        return buffer_error(out);
}

int remote_values_query(RemoteValues *remote, const char *prometheus, const ValueRule *rule, uint64_t start_ns,
                        uint64_t end_ns, Buffer *out, Buffer *ret_reason) {
        JsonServer *server = &remote->prometheus;
        scoped(buffer_deinit) Buffer path = {};
        double start_s = (double)start_ns / (double)NS_PER_S, end_s = (double)end_ns / (double)NS_PER_S;
        double step_s = fmax((end_s - start_s) / POINTS_MAX, 1);
        const Value *series;
        int r = 0;

        if (end_ns < start_ns) {
                buffer_puts(ret_reason, "the test ends before it starts");
                return REMOTE_VALUES_NONE;
        }
        if (!server->url)
                r = json_server_open(server, prometheus, PROMETHEUS_LOGIN, TIMEOUT_NS);
        buffer_puts(&path, "/api/v1/query_range?query=");
        buffer_put_encoded(&path, rule->from);
        buffer_printf(&path, "&start=%.3f&end=%.3f&step=%.3f", start_s, end_s, step_s);
        if (r == 0)
                r = buffer_error(&path);
        if (r == 0)
                r = json_server_ask(server, path.text, NULL);
        if (r > 0)
                buffer_puts(ret_reason, server->reason);
        if (r != 0)
                return r < 0 ? r : r == JSON_SERVER_AWAY ? REMOTE_VALUES_AWAY : REMOTE_VALUES_WRONG;
        series = value_get(value_get(server->answer, "data"), "result");
        if (series && series->type == VALUE_LIST)
                return put_series(series, rule, step_s, out, ret_reason);
        buffer_printf(ret_reason, "%s: the answer is not one of Prometheus", prometheus);
        return REMOTE_VALUES_WRONG;
}

/* --- perfd ---------------------------------------------------------------------------------------- */

int remote_values_metric(RemoteValues *remote, const char *job, const char *metric, Buffer *out, Buffer *ret_reason) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *answer;
        double value;

        if (!remote->has_perfd && (!remote->global || !api_query_has_socket(remote->global) ||
                                   api_query_init(&remote->perfd, remote->global) != EXIT_DONE)) {
                buffer_puts(ret_reason, "perfd is away");
                return REMOTE_VALUES_AWAY;
        }
        remote->has_perfd = true;
        buffer_puts(&path, "/api/v1/jobs/");
        buffer_put_encoded(&path, job);
        if (buffer_error(&path) < 0)
                return buffer_error(&path);
        answer = api_query_read(&remote->perfd, path.text, ret_reason);
        if (!answer)
                return remote->perfd.answer ? REMOTE_VALUES_NONE : REMOTE_VALUES_AWAY;
        value = answer_number(answer_find(value_get(answer, "metrics"), "key", metric), "value");
        if (isnan(value)) {
                buffer_printf(ret_reason, "the job %.80s has no metric %.80s", job, metric);
                return REMOTE_VALUES_NONE;
        }
        json_double(&(Json){ .out = out }, value);
        return buffer_error(out);
}
