/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/judged_kpis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_text.h"
#include "util/array.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define SEPARATING_MAX 64U /* keys of parameters that are named as separating runs */

void judged_kpis_deinit(JudgedKpis *kpis) {
        arena_deinit(&kpis->texts);
        free(kpis->items);
        *kpis = (JudgedKpis){};
}

int judged_kpis_add(JudgedKpis *kpis, const JudgedKpi *kpi) {
        JudgedKpi kept = *kpi;
        const char **const texts[] = { &kept.name,
                                       &kept.unit,
                                       &kept.labels,
                                       &kept.profile,
                                       &kept.mixture,
                                       &kept.changes,
                                       &kept.verdict.judged.version,
                                       &kept.verdict.first.version,
                                       &kept.verdict.back_to.version,
                                       &kept.verdict.accepted.version };

        if (kpis->n == JUDGED_KPIS_MAX)
                return JUDGED_KPIS_FULL;
        if ((!kpis->texts.bytes && arena_init(&kpis->texts, JUDGED_KPIS_TEXT_MAX) < 0) ||
            ARRAY_RESERVE(kpis->items, kpis->n_max, kpis->n + 1) < 0)
                return -ENOMEM;

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (*texts[i] && !(*texts[i] = arena_strndup(&kpis->texts, *texts[i], strlen(*texts[i]))))
                        return JUDGED_KPIS_FULL;
        kpis->items[kpis->n++] = kept;
        return 0;
}

int judged_kpis_limit(JudgedKpis *kpis, double rate) {
        scoped(freep) HistoryVerdict **verdicts = calloc(kpis->n + 1, sizeof(HistoryVerdict *));

        if (!verdicts)
                return -ENOMEM;
        for (size_t i = 0; i < kpis->n; i++)
                verdicts[i] = &kpis->items[i].verdict;
        (void)history_limit_false_changes(verdicts, kpis->n, rate);
        return 0;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_bool(Json *json, const char *key, BaselineBool value) {
        if (value == BASELINE_NONE)
                json_put_string(json, key, NULL);
        else
                json_put_bool(json, key, value == BASELINE_TRUE);
}

/* Writes the report of MatrixBenchmarking about the newest run. */
static void write_status(Json *json, const BaselineStatus *status) {
        json_put_object_begin(json, "compat");
        put_bool(json, "accepted", status->is_accepted);
        put_bool(json, "improved", status->is_improved);
        json_put_double(json, "rating", status->rating);
        json_put_string(json, "description", status->description);
        json_put_double(json, "mean", status->mean);
        json_put_double(json, "sd", status->sd);
        json_put_double(json, "score", status->score);
        json_object_end(json);
}

static void write_excluded(Json *json, const JudgedKpi *kpi) {
        json_put_object_begin(json, "excluded");
        json_put_uint(json, "later", kpi->verdict.excluded.n_later);
        json_put_uint(json, "older", kpi->verdict.excluded.n_older);
        json_put_uint(json, "repeated", kpi->verdict.excluded.n_repeated);
        json_put_uint(json, "batched", kpi->verdict.excluded.n_batched);
        json_put_uint(json, "failed", kpi->n_failed);
        json_put_uint(json, "accepted", kpi->verdict.excluded.n_accepted);
        json_object_end(json);
}

/* Writes the accepted level, with the user and the time. */
static void write_accepted(Json *json, const JudgedKpi *kpi) {
        json_put_object_begin(json, "accepted");
        json_put_string(json, "version", kpi->verdict.accepted.version);
        json_put_uint(json, "run_ms", kpi->verdict.accepted.time_ms);
        json_put_uint(json, "uid", kpi->accepted->uid);
        json_put_bool(json, "for_all", kpi->accepted->by_admin);
        json_put_uint(json, "time_ms", kpi->accepted->time_ms);
        json_put_string(json, "note", kpi->accepted->note);
        json_object_end(json);
}

static void write_verdict(Json *json, const HistoryVerdict *verdict) {
        json_put_string(json, "verdict", judge_verdict_names[verdict->verdict]);
        json_put_double(json, "value", verdict->value);
        if (verdict->of.n_values > 0)
                json_put_uint(json, "values", verdict->of.n_values);
        if (verdict->judged.time_ms > 0)
                json_put_uint(json, "time_ms", verdict->judged.time_ms);
        json_put_double(json, "relative_change", verdict->relative);
        json_put_double(json, "low", verdict->low);
        json_put_double(json, "high", verdict->high);
        json_put_double(json, "p_value", verdict->p_value);
        json_put_string(json, "version", verdict->judged.version);
        json_put_string(json, "since_version", verdict->first.version);
        if (verdict->first.time_ms > 0)
                json_put_uint(json, "since_ms", verdict->first.time_ms);
        json_put_string(json, "back_to_version", verdict->back_to.version);
        if (verdict->back_to.time_ms > 0)
                json_put_uint(json, "back_to_ms", verdict->back_to.time_ms);
        json_put_double(json, "smallest_change", verdict->smallest);
        json_put_uint(json, "smallest_change_runs", verdict->n_smallest);
        json_put_uint(json, "runs_before", verdict->n_before);
        json_put_uint(json, "runs_needed", verdict->n_needed);
        json_put_string(json, "order", history_order_names[verdict->order]);
        json_put_uint(json, "runs", verdict->n);
        json_put_uint(json, "repeats", verdict->of.n_repeats);
        json_put_uint(json, "versions", verdict->of.n_versions);
}

void judged_kpis_write_changes(const HistoryChanges *changes, JudgeDirection direction, Json *json) {
        json_array_begin(json);
        for (size_t i = 0; i < changes->n; i++) {
                const HistoryChange *change = &changes->items[i];
                bool is_worse = (change->after > change->before) == (direction == JUDGE_LOWER);

                json_object_begin(json);
                json_put_string(json, "verdict", judge_verdict_names[direction == JUDGE_NEITHER ? JUDGE_CHANGED
                                                                     : is_worse ? JUDGE_REGRESSION
                                                                                : JUDGE_IMPROVEMENT]);
                json_put_string(json, "version", change->first.version);
                json_put_uint(json, "time_ms", change->first.time_ms);
                json_put_double(json, "before", change->before);
                json_put_double(json, "after", change->after);
                json_put_double(json, "sd_before", change->sd_before);
                json_put_double(json, "sd_after", change->sd_after);
                json_put_double(json, "relative_change", change->relative);
                json_put_double(json, "low", change->low);
                json_put_double(json, "high", change->high);
                json_put_double(json, "p_value", change->p_value);
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_kpi(Json *json, const JudgedKpi *kpi) {
        json_object_begin(json);
        json_put_string(json, "kpi", kpi->name);
        if (kpi->unit)
                json_put_string(json, "unit", kpi->unit);
        json_put_string(json, "direction", judge_direction_names[kpi->direction]);
        json_key(json, "labels");
        (void)value_parse_write_kept(json_text(kpi->labels, strlen(kpi->labels)), json);
        write_verdict(json, &kpi->verdict);
        write_excluded(json, kpi);
        if (kpi->profile) {
                json_key(json, "profile");
                json_raw(json, kpi->profile);
        }
        if (kpi->mixture) {
                json_key(json, "mixture");
                json_raw(json, kpi->mixture);
        }
        if (kpi->changes) {
                json_key(json, "changes");
                json_raw(json, kpi->changes);
        }
        if (kpi->accepted)
                write_accepted(json, kpi);
        if (kpi->verdict.status.description)
                write_status(json, &kpi->verdict.status);
        json_object_end(json);
}

/* Adds the keys of the parameters of one KPI that another does not have, or not with this value. */
static void add_differing(const JudgedKpi *one, const JudgedKpi *other, JsonText keys[static SEPARATING_MAX],
                          size_t *n) {
        JsonText parameters = json_text_find(json_text(other->labels, strlen(other->labels)), "parameters");
        JsonWalk walk = json_text_walk(json_text_find(json_text(one->labels, strlen(one->labels)), "parameters"));
        JsonText key = {}, value = {};

        while (json_text_walk_next(&walk, &key, &value)) {
                bool is_new = *n < SEPARATING_MAX && !json_text_equals(value, json_text_find_key(parameters, key));

                for (size_t i = 0; i < *n; i++)
                        is_new &= !json_text_equals(keys[i], key);
                if (is_new)
                        keys[(*n)++] = key;
        }
}

/* After an import, each set of parameters often has one run: writes the keys that separate them. */
static void write_separating(const JudgedKpis *kpis, Json *json) {
        JsonText keys[SEPARATING_MAX];
        size_t n = 0, n_single = 0;

        while (n_single < kpis->n && kpis->items[n_single].verdict.n <= 1)
                n_single++;
        for (size_t i = 0; n_single == kpis->n && i < kpis->n; i++) {
                const JudgedKpi *first = kpis->items;

                while (strcmp(first->name, kpis->items[i].name) != 0)
                        first++;
                add_differing(first, &kpis->items[i], keys, &n);
                add_differing(&kpis->items[i], first, keys, &n);
        }
        json_put_array_begin(json, "separated_by");
        for (size_t i = 0; i < n; i++)
                json_text_write(keys[i], json);
        json_array_end(json);
}

void judged_kpis_write(const JudgedKpis *kpis, Json *json) {
        uint64_t counts[N_JUDGE_VERDICTS] = {};

        json_put_array_begin(json, "kpis");
        for (size_t i = 0; i < kpis->n; i++) {
                write_kpi(json, &kpis->items[i]);
                counts[kpis->items[i].verdict.verdict]++;
        }
        json_array_end(json);
        json_put_object_begin(json, "counts");
        for (JudgeVerdict i = 0; i < N_JUDGE_VERDICTS; i++)
                json_put_uint(json, judge_verdict_names[i], counts[i]);
        json_object_end(json);
        write_separating(kpis, json);
}
