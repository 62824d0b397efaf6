/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/stage_changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/shift.h"
#include "text/text.h"
#include "util/array.h"
#include "util/scoped.h"

#define EFFECT_MIN 0.2  /* smaller changes of a task's time do not explain a run */
#define RETURN_MAX 0.25 /* of the change: a level so close to the earlier level counts as that level */

static double number_or_zero(const Value *row, const char *key) {
        double v = 0;

        (void)value_get_double(row, key, &v);
        return v;
}

static bool is_same_text(const Value *a, const Value *b, const char *key) {
        return strcmp(value_get_string(a, key) ?: "", value_get_string(b, key) ?: "") == 0;
}

/* True if the row before is a part of the sum. Times are rounded: the middle of the row decides. */
static bool is_part(const Value *before, const Value *sum) {
        return is_same_text(before, sum, "stage") && is_same_text(before, sum, "part") &&
               number_or_zero(before, "begin_ms") + number_or_zero(before, "end_ms") >
                       2 * number_or_zero(sum, "begin_ms");
}

int stage_changes_list_rows(IntervalRows *ret, const Value *answer) {
        const Value *list = value_get(answer, "intervals");
        size_t n = list && list->type == VALUE_LIST ? list->n_items : 0;

        *ret = (IntervalRows){ .items = calloc(n + 1, sizeof(*ret->items)) };
        if (!ret->items)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                const Value *row = &list->items[i];

                while (number_or_zero(row, "merged") > 1 && ret->n > 0 && is_part(ret->items[ret->n - 1], row))
                        ret->n--;
                ret->items[ret->n++] = row;
        }
        return 0;
}

void stage_changes_free_rows(IntervalRows *rows) {
        free(rows->items);
        *rows = (IntervalRows){};
}

/* An interval with tasks that succeeded. */
typedef struct ChangePlace {
        const char *label; /* borrowed from the answer */
        double end_ms, elapsed_s, time_s;
} ChangePlace;

typedef struct ChangePlaces {
        ChangePlace *items; /* owned */
        size_t n;
} ChangePlaces;

static void places_deinit(ChangePlaces *places) {
        free(places->items);
}

void stage_changes_deinit(StageChanges *changes) {
        free(changes->items);
        *changes = (StageChanges){};
}

static double number(const Value *object, const char *key) {
        const Value *value = value_get(object, key);

        return value && value_is_number(value) ? value_number(value) : NAN;
}

static int compare_places(const void *a, const void *b) {
        const ChangePlace *x = a, *y = b;
        int by_label = strcmp(x->label, y->label);

        return by_label != 0 ? by_label : (x->end_ms > y->end_ms) - (x->end_ms < y->end_ms);
}

static int collect(ChangePlaces *places, const IntervalRows *rows) {
        for (size_t i = 0; i < rows->n; i++) {
                const Value *from = rows->items[i];
                ChangePlace place = { value_get_string(from, "stage"), number(from, "end_ms"),
                                      number(from, "elapsed_s"), number(from, "ave_time") };

                if (!place.label || isnan(place.end_ms) || !isfinite(place.time_s))
                        continue;
                if (ARRAY_EXTEND(places->items, places->n) < 0)
                        return -ENOMEM;
                places->items[places->n++] = place;
        }
        if (places->n > 0)
                qsort(places->items, places->n, sizeof(*places->items), compare_places);
        return 0;
}

/* An interval of the first level begins where the one before ends. */
static uint64_t begin_of(const ChangePlace *place) {
        return (uint64_t)(place->elapsed_s > 0 ? place->end_ms - 1000 * place->elapsed_s : place[-1].end_ms);
}

/* Returns true if the level after the next change point is the level before this change point. */
static bool is_taken_back(const ChangePoint *point, const ChangePoint *next) {
        return fabs(next->mean_after - point->mean_before) <= RETURN_MAX * fabs(point->mean_after - point->mean_before);
}

static int add_changes(StageChanges *changes, const ChangePlace *places, const ChangePoint *points, size_t n_points) {
        PipelineStage stage;

        if (!pipeline_stage_parse(&stage, places->label, strlen(places->label)))
                return 0;
        for (size_t i = 0; i < n_points; i++) {
                StageChange change = { stage, begin_of(&places[points[i].index]), 0, points[i].mean_before,
                                       points[i].mean_after };

                if (ARRAY_EXTEND(changes->items, changes->n) < 0)
                        return -ENOMEM;
                if (i + 1 < n_points) {
                        change.end_ms = begin_of(&places[points[i + 1].index]);
                        i += is_taken_back(&points[i], &points[i + 1]);
                }
                changes->items[changes->n++] = change;
        }
        return 0;
}

/* places: the intervals of a stage after the first, which is places[-1]. */
static int find_in_stage(StageChanges *changes, const ChangePlace *places, size_t n) {
        scoped(freep) ChangePoint *points = NULL;
        scoped(freep) double *series = NULL;
        ShiftSettings settings = SHIFT_DEFAULTS;
        size_t n_points = 0;
        int r;

        if (n < SHIFT_POINTS_MIN)
                return 0;
        series = calloc(n, sizeof(*series));
        if (!series)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                series[i] = places[i].time_s;
        settings.effect_min = EFFECT_MIN;
        r = shift_find(series, n, &settings, &points, &n_points);
        return r < 0 ? r : add_changes(changes, places, points, n_points);
}

int stage_changes_find(StageChanges *ret, const Value *answer) {
        const Value *cut = value_get(answer, "truncated");
        scoped(stage_changes_free_rows) IntervalRows rows = {};
        scoped(places_deinit) ChangePlaces places = {};
        int r;

        *ret = (StageChanges){ .is_cut = cut && cut->type == VALUE_BOOL && cut->boolean };
        if (ret->is_cut)
                return 0;
        r = stage_changes_list_rows(&rows, answer);
        if (r == 0)
                r = collect(&places, &rows);
        for (size_t begin = 0, end; r == 0 && begin < places.n; begin = end) {
                for (end = begin + 1;
                     end < places.n && strcmp(places.items[end].label, places.items[begin].label) == 0;)
                        end++;
                r = find_in_stage(ret, &places.items[begin + 1], end - begin - 1);
        }
        return r;
}

void stage_changes_describe(const StageChange *change, Buffer *out) {
        char begin[TEXT_MAX], duration[TEXT_MAX];

        text_time(change->begin_ms, begin);
        buffer_printf(out, "From %s", begin);
        if (change->end_ms > change->begin_ms) {
                text_seconds((double)(change->end_ms - change->begin_ms) / 1e3, duration);
                buffer_printf(out, " for %s", duration);
        }
        buffer_printf(out, ", a task of %s took %.4g ms instead of %.4g ms.", change->stage.name,
                      1e3 * change->during_s, 1e3 * change->before_s);
}

void stage_changes_put(const StageChanges *changes, unsigned pipeline, Json *json) {
        for (size_t i = 0; i < changes->n; i++) {
                const StageChange *change = &changes->items[i];

                if (change->stage.pipeline != pipeline)
                        continue;
                json_object_begin(json);
                json_put_string(json, "stage", change->stage.name);
                json_put_uint(json, "begin_ms", change->begin_ms);
                json_put_int_or_null(json, "end_ms", change->end_ms > 0, (int64_t)change->end_ms);
                json_put_double(json, "before_seconds", change->before_s);
                json_put_double(json, "during_seconds", change->during_s);
                json_object_end(json);
        }
}
