/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/run_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/separation.h"
#include "document/property.h"
#include "store/indicators/result_reader.h"
#include "util/arena.h"

#define TEXT_BYTES (1024U * 1024U) /* of the labels of a history; the oldest runs are left out beyond */
#define NEWEST 8U                  /* runs: a label that none of them has is not compared */
#define P_VALUE_MAX 0.002          /* of all labels together */
/* If the sides are as far apart as chance divides no noise, fewer runs are enough; fewest if there is no verdict. */
#define SPREADS_CLEAR 6
#define P_VALUE_CLEAR_MAX 0.02
#define P_VALUE_UNKNOWN_MAX 0.1
#define LABELS_MAX 64U             /* compared; documents may have thousands, and each is looked for in all runs */

struct RunLabels {
        int64_t rows[HISTORY_RUNS_MAX]; /* results that were read last: the numbers of a series mostly have the same */
        JsonText objects[HISTORY_RUNS_MAX][2]; /* labels of the document, which come first, and of the run */
        size_t n, n_read;
        Arena texts;
};

/* A label, and the values that it has. */
typedef struct LabelGroups {
        JsonText key, values[SEPARATION_GROUPS_MAX]; /* a value is empty: of the runs without the label */
        Separation separation;
} LabelGroups;

RunLabels *run_labels_new(void) {
        RunLabels *labels = calloc(1, sizeof(*labels));

        if (labels && arena_init(&labels->texts, TEXT_BYTES) < 0)
                free(TAKE(labels));
        return labels;
}

RunLabels *run_labels_free(RunLabels *labels) {
        arena_deinit(&labels->texts);
        free(labels);
        return NULL;
}

/* --- labels --------------------------------------------------------------------------------------- */

static JsonText copy_member(RunLabels *labels, const char *text, const char *key) {
        JsonText member = text ? json_text_find(json_text(text, strlen(text)), key) : (JsonText){};
        const char *copy = member.text ? arena_strndup(&labels->texts, member.text, member.n) : NULL;

        return copy ? json_text(copy, member.n) : (JsonText){};
}

/* Reads the labels of the runs, newest first, unless the newest have none. */
static int read_labels(RunLabels *labels, Reader *reader, const HistoryRun *runs, size_t n) {
        bool is_same = n == labels->n;

        for (size_t i = 0; i < n; i++) {
                is_same &= labels->rows[i] == runs[i].result;
                labels->rows[i] = runs[i].result;
        }
        if (is_same)
                return 0;
        labels->n = n;
        arena_reset(&labels->texts);
        memset(labels->objects, 0, sizeof(labels->objects));
        for (size_t i = n; i-- > 0 && labels->n_read < RUN_LABELS_RUNS_MAX;) {
                ResultRow row = {};
                int r = i + NEWEST < n && labels->texts.n_used == 0
                                ? READER_END
                                : result_reader_find(reader, runs[i].result, &row);

                if (r != 0 && r != READER_END) /* READER_END: also if it was removed since the runs were read */
                        return r;
                labels->n_read += r == 0;
                labels->objects[i][0] = copy_member(labels, row.document, "@labels");
                labels->objects[i][1] = copy_member(labels, row.run, "labels");
        }
        return 0;
}

static JsonText find_value(const RunLabels *labels, size_t run, JsonText key) {
        JsonText value = json_text_find_key(labels->objects[run][0], key);

        return value.text ? value : json_text_find_key(labels->objects[run][1], key);
}

/* --- the label that separates --------------------------------------------------------------------- */

static bool names_label(const Names *names, const char *key) {
        for (size_t i = 0; i < names->n; i++) {
                const char *name = names->items[i];
                size_t n = strncmp(name, POINT_LABEL, strlen(POINT_LABEL)) == 0 ? strlen(POINT_LABEL) : 0;

                if (strcmp(name + n, key) == 0)
                        return true;
        }
        return false;
}

/* of: the object of the run that has the label. */
static bool is_compared(const RunLabels *labels, size_t run, size_t of, JsonText key, const KpiRules *rules) {
        scoped(buffer_deinit) Buffer name = {};

        if (of > 0 && json_text_find_key(labels->objects[run][0], key).text)
                return false; /* already */
        for (size_t newer = run + 1; newer < labels->n; newer++)
                if (find_value(labels, newer, key).text)
                        return false;
        json_text_decode(key, &name);
        return name.text && !property_identifies_run(name.text) && !names_label(&rules->compared, name.text) &&
               !names_label(&rules->ignored, name.text);
}

/* Compares the runs by one label, unless it has too many values. Returns the number of values, or -ENOMEM. */
static int compare(const RunLabels *labels, const HistoryRun *runs, JsonText key, LabelGroups *ret) {
        double values[HISTORY_RUNS_MAX];
        uint8_t groups[HISTORY_RUNS_MAX];
        size_t n_groups = 0;

        ret->key = key;
        for (size_t i = 0; i < labels->n; i++) {
                JsonText value = find_value(labels, i, key);
                uint8_t g = 0;

                while (g < n_groups && !json_text_equals(ret->values[g], value))
                        g++;
                if (g == SEPARATION_GROUPS_MAX)
                        return 0;
                ret->values[g] = value;
                n_groups += g == n_groups;
                groups[i] = g;
                values[i] = runs[i].value;
        }
        if (n_groups < 2)
                return (int)n_groups;
        return separation_find(values, groups, labels->n, SHIFT_DEFAULTS.effect_min, &ret->separation) ?: (int)n_groups;
}

static void write_groups(const LabelGroups *label, Buffer *out) {
        const Separation *separation = &label->separation;
        Json json = { .out = out };

        json_object_begin(&json);
        json_key(&json, "label");
        json_text_write(label->key, &json);
        json_put_array_begin(&json, "groups");
        for (size_t i = 0; i < separation->n_groups; i++) {
                json_object_begin(&json);
                json_key(&json, "value");
                json_text_write(label->values[separation->groups[i]], &json);
                json_put_double(&json, "median", separation->medians[i]);
                json_object_end(&json);
        }
        json_array_end(&json);
        json_object_end(&json);
}

int run_labels_find_separating(RunLabels *labels, Reader *reader, const HistoryRun *runs, size_t n,
                               const KpiRules *rules, bool is_unknown, Buffer *out) {
        LabelGroups least = { .separation.p_value = 1 }, label;
        size_t n_tried = 0, n_compared = 0;
        double p_max = P_VALUE_MAX;
        int r = read_labels(labels, reader, runs, n);

        for (size_t i = n; r == 0 && i-- > 0 && i + NEWEST >= n;)
                for (size_t of = 0; of < 2; of++) {
                        JsonWalk walk = json_text_walk(labels->objects[i][of]);
                        JsonText key = {}, unused;

                        while (r >= 0 && n_tried < LABELS_MAX && walk.is_object &&
                               json_text_walk_next(&walk, &key, &unused)) {
                                if (!is_compared(labels, i, of, key, rules))
                                        continue;
                                n_tried++;
                                r = compare(labels, runs, key, &label);
                                n_compared += r > 1;
                                if (r > 1 && label.separation.p_value < least.separation.p_value)
                                        least = label;
                        }
                        r = r > 0 ? 0 : r;
                }
        if (least.separation.spreads >= SPREADS_CLEAR)
                p_max = is_unknown ? P_VALUE_UNKNOWN_MAX : P_VALUE_CLEAR_MAX;
        if (r == 0 && least.separation.p_value * (double)n_compared <= p_max && least.separation.p_value < 1)
                write_groups(&least, out);
        return r != 0 ? r : buffer_error(out);
}
