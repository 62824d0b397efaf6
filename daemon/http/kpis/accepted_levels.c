/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/accepted_levels.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator_model.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/points.h"
#include "util/array.h"

static void level_deinit(AcceptedLevel *level) {
        for (size_t i = 0; i < level->n_where; i++)
                free(level->texts[i]);
        free(level->texts);
        free(level->where);
        free(level->kpi);
        free(level->note);
        free(level->key);
}

void accepted_levels_deinit(AcceptedLevels *levels) {
        for (size_t i = 0; i < levels->n; i++)
                level_deinit(&levels->items[i]);
        free(levels->items);
        *levels = (AcceptedLevels){};
}

/* --- reading -------------------------------------------------------------------------------------- */

/* Copies a string; NULL if there is none, or no memory. */
static char *take_text(JsonText value) {
        Buffer text = {};

        if (json_text_kind(value) != JSON_KIND_STRING)
                return NULL;
        buffer_puts(&text, "");
        json_text_decode(value, &text);
        return buffer_take(&text);
}

/* The conditions were checked when the level was accepted. */
static int take_where(JsonText list, AcceptedLevel *level) {
        JsonWalk walk = json_text_walk(list);
        JsonText unused, item;

        level->texts = calloc(ACCEPTED_LEVEL_WHERE_MAX, sizeof(*level->texts));
        level->where = calloc(ACCEPTED_LEVEL_WHERE_MAX, sizeof(*level->where));
        if (!level->texts || !level->where)
                return -ENOMEM;
        while (list.text && level->n_where < ACCEPTED_LEVEL_WHERE_MAX && json_text_walk_next(&walk, &unused, &item)) {
                char *text = take_text(item);

                if (!text)
                        return -ENOMEM;
                level->texts[level->n_where] = text;
                (void)condition_parse(text, &level->where[level->n_where++]);
        }
        return 0;
}

static int add_level(AcceptedLevels *levels, const AcceptedRow *row) {
        JsonText declared = json_text_find(row->declaration, "accepted");
        double until_ms = 0;
        AcceptedLevel *level;

        if (ARRAY_EXTEND(levels->items, levels->n) < 0)
                return -ENOMEM;
        level = &levels->items[levels->n++];
        (void)json_text_double(json_text_find(declared, "until_ms"), &until_ms);
        *level = (AcceptedLevel){
                .kpi = take_text(json_text_find(declared, "kpi")), .note = take_text(json_text_find(declared, "note")),
                .key = strdup(row->key ?: ""), .until_ms = (uint64_t)until_ms, .time_ms = row->time_ms, .uid = row->uid,
                .by_admin = row->by_admin,
        };
        return level->kpi && level->key ? take_where(json_text_find(declared, "where"), level) : -ENOMEM;
}

int accepted_levels_read(const Target *target, const Sources *sources, Response *response, AcceptedLevels *ret) {
        AcceptedRow row;
        int r;

        r = indicator_reader_list_accepted(sources->reader, exchange_uid(target));
        while (r == 0 && (r = indicator_reader_next_accepted(sources->reader, &row)) == 0)
                r = add_level(ret, &row);
        return r == READER_END ? 0 : exchange_store_error(response, r);
}

/* --- finding -------------------------------------------------------------------------------------- */

bool accepted_levels_matches(const char *pattern, const char *indicator, const char *result) {
        size_t n = strlen(indicator);
        scoped(buffer_deinit) Buffer kpi = {};

        if (strncmp(pattern, indicator, n) == 0 &&
            (!pattern[n] || (pattern[n] == '.' && strcmp(pattern + n + 1, result) == 0)))
                return true;
        if (!strpbrk(pattern, "*?["))
                return false;
        buffer_printf(&kpi, "%s.%s", indicator, result);
        return kpi.text && (fnmatch(pattern, kpi.text, 0) == 0 || fnmatch(pattern, indicator, 0) == 0);
}

/* The conditions apply to the members that the results of a series have in common. */
static bool has_series(const AcceptedLevel *level, const char *labels) {
        JsonText all = json_text(labels, strlen(labels));
        scoped(freep) char *component = take_text(json_text_find(all, "component")),
                           *hardware = take_text(json_text_find(all, "hardware"));
        const PointRow row = { .component = component ?: "",
                               .hardware = hardware,
                               .parameters = json_text_find(all, "parameters") };

        return point_meets(&row, level->where, level->n_where);
}

const AcceptedLevel *accepted_levels_find(const AcceptedLevels *levels, const char *indicator, const char *result,
                                          const char *labels) {
        const AcceptedLevel *found = NULL;

        for (size_t i = 0; i < levels->n; i++) {
                const AcceptedLevel *level = &levels->items[i];

                if ((!found || level->until_ms >= found->until_ms) &&
                    accepted_levels_matches(level->kpi, indicator, result) &&
                    (level->n_where == 0 || has_series(level, labels)))
                        found = level;
        }
        return found;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

void accepted_levels_write(const AcceptedLevels *levels, Json *json) {
        json_put_array_begin(json, "accepted");
        for (size_t i = 0; i < levels->n; i++) {
                const AcceptedLevel *level = &levels->items[i];

                json_object_begin(json);
                json_put_string(json, "kpi", level->kpi);
                json_put_array_begin(json, "where");
                for (size_t k = 0; k < level->n_where; k++)
                        json_string(json, level->texts[k]);
                json_array_end(json);
                json_put_uint(json, "until_ms", level->until_ms);
                json_put_uint(json, "uid", level->uid);
                json_put_bool(json, "for_all", level->by_admin);
                json_put_uint(json, "time_ms", level->time_ms);
                json_put_string(json, "note", level->note);
                json_put_string(json, "key", level->key);
                json_object_end(json);
        }
        json_array_end(json);
}
