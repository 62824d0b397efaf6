/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/run/spec.h"
#include "client/sweep/sweep_specification.h"
#include "util/array.h"
#include "util/nearest.h"
#include "util/utf8.h"

typedef struct PlanReader {
        const Value *file;
        const Value *specification; /* of the file that the file names */
        Arena *arena;
        SweepPlan *plan;
        SweepError *error;
} PlanReader;

void sweep_plan_deinit(SweepPlan *plan) {
        free(plan->points);
        plan->points = NULL;
        buffer_deinit(&plan->warnings);
}

#define refuse(reader, ...)                                                                                            \
        (utf8_format((reader)->error->text, sizeof((reader)->error->text), __VA_ARGS__), SWEEP_WRONG)

/* --- points ----------------------------------------------------------------------------------------- */

/* Returns the index of the point's value of setting i. */
static size_t point_choice(const SweepPlan *plan, const SweepPoint *point, size_t i) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t ordinal = point->ordinal;

        assert(point->block < plan->n_blocks && i < block->n);
        for (size_t k = block->n - 1; k > i; k--)
                ordinal /= block->settings[k].n;
        return ordinal % block->settings[i].n;
}

const char *sweep_plan_text(const SweepPlan *plan, const SweepPoint *point, size_t i) {
        return plan->blocks[point->block].settings[i].texts[point_choice(plan, point, i)];
}

Value sweep_plan_settings(const SweepPlan *plan, const SweepPoint *point, Member all[static SWEEP_SETTINGS_MAX]) {
        const SweepBlock *block = &plan->blocks[point->block];

        for (size_t i = 0; i < block->n; i++)
                all[i] = (Member){ block->settings[i].key, block->settings[i].values[point_choice(plan, point, i)] };
        return (Value){ .type = VALUE_OBJECT, .members = all, .n_members = block->n };
}

void sweep_plan_put_point(const SweepPlan *plan, const SweepPoint *point, Buffer *out) {
        const SweepBlock *block = &plan->blocks[point->block];

        for (size_t i = 0; i < block->n; i++)
                buffer_printf(out, "%s%s=%s", i > 0 ? " " : "", block->settings[i].key,
                              sweep_plan_text(plan, point, i));
}

void sweep_plan_bind(const SweepPlan *plan, const SweepPoint *point, const char *directory,
                     Binding all[static SWEEP_SETTINGS_MAX + 1], Bindings *ret) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n = 0;

        for (; n < block->n; n++)
                all[n] = (Binding){ .name = block->settings[n].key, .text = sweep_plan_text(plan, point, n) };
        all[n++] = (Binding){ .name = SWEEP_DIRECTORY, .text = directory };
        *ret = (Bindings){ .all = all, .n = n };
}

/* --- settings ------------------------------------------------------------------------------------- */

static const SweepSetting *find_setting(const SweepBlock *block, const char *key) {
        for (size_t i = 0; i < block->n; i++)
                if (strcmp(block->settings[i].key, key) == 0)
                        return &block->settings[i];
        return NULL;
}

static bool has_text(const SweepSetting *setting, const char *text) {
        return nearest_is_among(text, setting->texts, setting->n);
}

/* Returns the text of a scalar in the arena, or NULL without memory. */
static const char *text_of(const PlanReader *reader, const Value *value) {
        scoped(buffer_deinit) Buffer text = {};

        sweep_text_put(&text, value);
        return buffer_error(&text) == 0 ? arena_strndup(reader->arena, text.text ?: "", text.n) : NULL;
}

static int take_value(const PlanReader *reader, const char *where, SweepSetting *setting, const Value *value) {
        if (value->type == VALUE_LIST || value->type == VALUE_OBJECT)
                return refuse(reader,
                              "%s.%s: has %s in it: give a string, a number, true, false or null, or a list of them",
                              where, setting->key, value_type_text(value));

        setting->texts[setting->n] = text_of(reader, value);
        return setting->texts[setting->n++] ? 0 : -ENOMEM;
}

static int check_values(const PlanReader *reader, const char *where, const SweepSetting *setting) {
        scoped(freep) const char **sorted = malloc(setting->n * sizeof(*sorted));

        if (!sorted)
                return -ENOMEM;
        memcpy(sorted, setting->texts, setting->n * sizeof(*sorted));
        array_sort_texts(sorted, setting->n);
        for (size_t i = 1; i < setting->n; i++)
                if (strcmp(sorted[i - 1], sorted[i]) == 0)
                        return refuse(reader, "%s.%s: the value '%.80s' is given twice: remove one", where,
                                      setting->key, sorted[i]);
        return 0;
}

/* where: "settings", "extra[2]", "exclude[0]". */
static int take_setting(const PlanReader *reader, const char *where, const Member *member, SweepSetting *ret) {
        bool is_list = member->value.type == VALUE_LIST;
        size_t n = is_list ? member->value.n_items : 1;
        int r = 0;

        if (!placeholder_name_is_valid(member->key))
                return refuse(reader, "%s.%.80s: is not a valid name: use 1 to 64 characters of [A-Za-z0-9_.:-], "
                              "optionally after an @", where, member->key);
        if (strcmp(member->key, SWEEP_DIRECTORY) == 0)
                return refuse(reader, "%s.%s: {%s} stands for the directory of a point: give the setting another name",
                              where, member->key, member->key);
        if (n == 0)
                return refuse(reader, "%s.%s: is an empty list: give it a value, or remove it", where, member->key);
        if (n > SWEEP_POINTS_MAX)
                return refuse(reader, "%s.%s: has more than %u values: split the sweep", where, member->key,
                              SWEEP_POINTS_MAX);

        *ret = (SweepSetting){
                .key = member->key,
                .values = is_list ? member->value.items : &member->value,
                .texts = arena_alloc(reader->arena, n * sizeof(*ret->texts)),
        };
        if (!ret->texts)
                return -ENOMEM;
        for (size_t i = 0; i < n && r == 0; i++)
                r = take_value(reader, where, ret, &ret->values[i]);
        return r == 0 ? check_values(reader, where, ret) : r;
}

/* Takes the settings of the first block, with those of the map in their place or behind them. */
static int take_block(const PlanReader *reader, const char *where, const SweepBlock *first, const Value *map,
                      SweepBlock *ret) {
        size_t n_first = first ? first->n : 0;
        int r = 0;

        if (map->type != VALUE_OBJECT)
                return refuse(reader, "%s: is %s: expected a mapping of names to values", where, value_type_text(map));

        *ret = (SweepBlock){ .settings = arena_alloc(reader->arena,
                                                     (n_first + map->n_members) * sizeof(SweepSetting)) };
        if (!ret->settings)
                return -ENOMEM;
        if (n_first > 0)
                memcpy(ret->settings, first->settings, n_first * sizeof(SweepSetting));
        ret->n = n_first;

        for (size_t i = 0; i < map->n_members && r == 0; i++) {
                const SweepSetting *there = find_setting(ret, map->members[i].key);

                r = take_setting(reader, where, &map->members[i],
                                 there ? &ret->settings[there - ret->settings] : &ret->settings[ret->n]);
                ret->n += there ? 0 : 1;
        }
        if (r == 0 && ret->n > SWEEP_SETTINGS_MAX)
                return refuse(reader, "%s: has more than %u settings: remove those that never change", where,
                              SWEEP_SETTINGS_MAX);
        return r;
}

static int get_list(const PlanReader *reader, const char *key, size_t n_max, const Value **ret) {
        static const Value none = { .type = VALUE_LIST };
        const Value *list = value_get(reader->file, key);

        *ret = list && list->type != VALUE_NULL ? list : &none;
        if ((*ret)->type != VALUE_LIST)
                return refuse(reader, "%s: is %s: expected a list", key, value_type_text(list));
        if (list && (*ret)->n_items == 0)
                return refuse(reader, "%s: is an empty list: remove it, or add an entry", key);
        if ((*ret)->n_items > n_max)
                return refuse(reader, "%s: has more than %zu entries: split the sweep", key, n_max);
        return 0;
}

static int take_blocks(const PlanReader *reader) {
        const Value *settings = value_get(reader->file, "settings"), *extra;
        SweepPlan *plan = reader->plan;
        bool is_bare = !settings || settings->type == VALUE_NULL ||
                       (settings->type == VALUE_OBJECT && settings->n_members == 0);
        char where[32];
        int r;

        r = get_list(reader, "extra", SWEEP_EXTRA_MAX, &extra);
        if (r != 0)
                return r;
        if (is_bare && extra->n_items == 0)
                return refuse(reader, "settings: missing: add at least one, such as 'settings: {threads: [1, 2, 4]}'");

        plan->blocks = arena_alloc(reader->arena, (1 + extra->n_items) * sizeof(*plan->blocks));
        if (!plan->blocks)
                return -ENOMEM;
        if (!is_bare)
                r = take_block(reader, "settings", NULL, settings, &plan->blocks[plan->n_blocks++]);

        for (size_t i = 0; i < extra->n_items && r == 0; i++) {
                (void)snprintf(where, sizeof(where), "extra[%zu]", i);
                r = take_block(reader, where, is_bare ? NULL : &plan->blocks[0], &extra->items[i],
                               &plan->blocks[plan->n_blocks++]);
                if (r == 0 && extra->items[i].n_members == 0)
                        r = refuse(reader, "%s: is an empty mapping: name the settings that differ", where);
        }
        return r;
}

/* --- exclude -------------------------------------------------------------------------------------- */

static bool is_known(const SweepPlan *plan, const char *key) {
        for (size_t b = 0; b < plan->n_blocks; b++)
                if (find_setting(&plan->blocks[b], key))
                        return true;
        return false;
}

static int take_excludes(const PlanReader *reader, SweepBlock **ret, size_t *ret_n) {
        const Value *list;
        SweepBlock *excludes;
        char where[32];
        int r;

        r = get_list(reader, "exclude", SWEEP_EXTRA_MAX, &list);
        if (r != 0)
                return r;

        excludes = arena_alloc(reader->arena, (1 + list->n_items) * sizeof(*excludes));
        if (!excludes)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_items; i++) {
                (void)snprintf(where, sizeof(where), "exclude[%zu]", i);
                r = take_block(reader, where, NULL, &list->items[i], &excludes[i]);
                if (r != 0)
                        return r;
                if (excludes[i].n == 0)
                        return refuse(reader,
                                      "%s: is an empty mapping, which would exclude every point: name a setting",
                                      where);
                for (size_t k = 0; k < excludes[i].n; k++)
                        if (!is_known(reader->plan, excludes[i].settings[k].key))
                                return refuse(reader, "%s.%s: no such setting: name one of settings or extra", where,
                                              excludes[i].settings[k].key);
        }

        *ret = excludes;
        *ret_n = list->n_items;
        return 0;
}

/* Returns true if the point has each setting of `some` with one of its values. */
static bool matches(const SweepPlan *plan, const SweepPoint *point, const SweepBlock *some) {
        const SweepBlock *block = &plan->blocks[point->block];

        for (size_t k = 0; k < some->n; k++) {
                const SweepSetting *setting = find_setting(block, some->settings[k].key);

                if (!setting ||
                    !has_text(&some->settings[k], sweep_plan_text(plan, point, (size_t)(setting - block->settings))))
                        return false;
        }
        return true;
}

static bool is_excluded(const SweepPlan *plan, const SweepPoint *point, const SweepBlock *excludes, size_t n,
                        bool *used) {
        bool is_out = false;

        for (size_t i = 0; i < n; i++)
                if (matches(plan, point, &excludes[i]))
                        is_out = used[i] = true;
        return is_out;
}

/* --- the product ---------------------------------------------------------------------------------- */

/* Returns the number of points, or a larger number than SWEEP_POINTS_MAX. */
static size_t product_of(const SweepBlock *block) {
        size_t n = 1;

        for (size_t i = 0; i < block->n && n <= SWEEP_POINTS_MAX; i++)
                n *= block->settings[i].n;
        return n;
}

static int count_points(const PlanReader *reader, size_t *ret) {
        const SweepPlan *plan = reader->plan;
        size_t n_all = 0;

        for (size_t b = 0; b < plan->n_blocks; b++) {
                n_all += product_of(&plan->blocks[b]);
                if (n_all > SWEEP_POINTS_MAX)
                        return refuse(reader,
                                      "settings: define more than %u points, before exclusions: split the sweep",
                                      SWEEP_POINTS_MAX);
        }

        *ret = n_all;
        return 0;
}

/* Refuses a point that an earlier block has too. Points of one block differ, since the values of a setting do. */
static int check_unique(const PlanReader *reader, const SweepPoint *point) {
        const SweepPlan *plan = reader->plan;

        for (uint32_t b = 0; b < point->block; b++) {
                scoped(buffer_deinit) Buffer text = {};

                if (plan->blocks[b].n != plan->blocks[point->block].n || !matches(plan, point, &plan->blocks[b]))
                        continue;
                sweep_plan_put_point(plan, point, &text);
                return refuse(reader, "extra: the point %.200s is given twice: remove it from extra", text.text);
        }
        return 0;
}

static int take_points(const PlanReader *reader) {
        SweepPlan *plan = reader->plan;
        SweepBlock *excludes = NULL;
        size_t n_max = 0, n_excludes = 0;
        bool used[SWEEP_EXTRA_MAX] = {};
        int r;

        r = take_excludes(reader, &excludes, &n_excludes);
        if (r == 0)
                r = count_points(reader, &n_max);
        if (r != 0)
                return r;

        plan->points = calloc(n_max, sizeof(*plan->points));
        if (!plan->points)
                return -ENOMEM;
        for (uint32_t b = 0; b < plan->n_blocks; b++) {
                for (uint32_t i = 0; i < product_of(&plan->blocks[b]); i++) {
                        SweepPoint point = { .block = b, .ordinal = i };

                        if (is_excluded(plan, &point, excludes, n_excludes, used))
                                continue;
                        r = check_unique(reader, &point);
                        if (r != 0)
                                return r;
                        plan->points[plan->n_points++] = point;
                }
        }

        for (size_t i = 0; i < n_excludes; i++)
                if (!used[i])
                        buffer_printf(&plan->warnings, "exclude[%zu]: matches no point\n", i);
        return plan->n_points > 0 ? 0 : refuse(reader, "exclude: no point is left: remove an entry");
}

/* --- the command ---------------------------------------------------------------------------------- */

static int take_words(const PlanReader *reader, const Value *list) {
        const char **words = arena_alloc(reader->arena, (list->n_items + 1) * sizeof(*words));

        if (!words)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_items; i++) {
                if (list->items[i].type == VALUE_LIST || list->items[i].type == VALUE_OBJECT ||
                    list->items[i].type == VALUE_NULL)
                        return refuse(reader,
                                      "command[%zu]: is %s: expected a word; quote a word that begins with a brace: "
                                      "'{threads}'",
                                      i, value_type_text(&list->items[i]));
                words[i] = text_of(reader, &list->items[i]);
                if (!words[i])
                        return -ENOMEM;
        }

        reader->plan->words = words;
        reader->plan->n_words = list->n_items;
        return 0;
}

static int take_specification(const PlanReader *reader, const Value *specification) {
        if (reader->specification)
                specification = reader->specification;
        if (specification->type != VALUE_OBJECT)
                return refuse(reader, "specification: is %s: expected the path of a file, or a mapping",
                              value_type_text(specification));
        if (value_get(reader->file, "command"))
                return refuse(reader, "command: the script of the specification is run: remove one of them");

        reader->plan->specification = specification;
        reader->plan->specification_script = value_get_string(reader->file, "script");
        return 0;
}

static int take_command(const PlanReader *reader) {
        const Value *command = value_get(reader->file, "command"),
                    *specification = value_get_given(reader->file, "specification");

        if (specification)
                return take_specification(reader, specification);
        if (value_get(reader->file, "script"))
                return refuse(reader,
                              "script: requires a specification: add 'specification', or name the file in 'command'");
        if (command && command->type == VALUE_STRING && command->string[0]) {
                reader->plan->script = command->string;
                return 0;
        }
        if (command && command->type == VALUE_LIST && command->n_items > 0)
                return take_words(reader, command);

        return refuse(
                reader,
                "command: %s%s: give a list of words, such as [./bench, --threads, '{threads}'], or a script for sh",
                command ? "is " : "missing",
                !command                                                       ? ""
                : command->type == VALUE_STRING || command->type == VALUE_LIST ? "empty"
                                                                               : value_type_text(command));
}

/* Checks the specification, and that each setting is one of its fields. */
static int check_fields(const PlanReader *reader) {
        scoped(spec_deinit) Spec spec = {};
        SweepPlan *plan = reader->plan;
        SweepUse uses[SWEEP_SETTINGS_MAX];
        Member all[SWEEP_SETTINGS_MAX];
        SpecError error;
        int r;

        r = spec_read(plan->specification, plan->specification_script, &spec, &error);
        if (r != 0)
                return r == SPEC_WRONG ? refuse(reader, "specification: %s", error.text) : r;
        for (uint32_t b = 0; b < plan->n_blocks; b++) {
                const Value settings = sweep_plan_settings(plan, &(SweepPoint){ .block = b }, all);
                scoped(buffer_deinit) Buffer out = {};

                if (sweep_specification_write(plan->specification, &settings, &out, uses) < 0)
                        return -ENOMEM;
                for (size_t i = 0; i < settings.n_members; i++)
                        if (uses[i] == SWEEP_USE_NONE)
                                return refuse(reader,
                                              "settings.%s: the specification has no such field: give the path of a "
                                              "field, such as run.requests.cpu or environment.NAME",
                                              all[i].key);
                        else if (uses[i] == SWEEP_USE_ADDED && b == 0)
                                buffer_printf(&plan->warnings, "settings.%s: no field of the specification: added\n",
                                              all[i].key);
        }
        return 0;
}

/* Fills the templates with the first point of the block; `all` remembers which placeholders were used. */
static int try_block(const PlanReader *reader, uint32_t b, Binding *all, Bindings *bindings) {
        const SweepPlan *plan = reader->plan;
        scoped(buffer_deinit) Buffer out = {};
        PlaceholderError error;
        int r = 0;

        sweep_plan_bind(plan, &(SweepPoint){ .block = b }, "", all, bindings);
        if (plan->script)
                r = placeholder_fill_script(plan->script, bindings, &out, &error);
        for (size_t i = 0; i < plan->n_words && r == 0; i++)
                r = placeholder_fill(plan->words[i], bindings, &out, &error);
        return r == PLACEHOLDER_WRONG ? refuse(reader, "command: %s", error.text) : r;
}

/* Settings that begin with @ number repetitions, and need not be used. */
static int check_templates(const PlanReader *reader) {
        Binding all[SWEEP_SETTINGS_MAX + 1];
        Bindings bindings;
        int r = 0;

        for (uint32_t b = 0; b < reader->plan->n_blocks && r == 0; b++) {
                r = try_block(reader, b, all, &bindings);
                for (size_t i = 0; b == 0 && r == 0 && !reader->plan->specification && i < reader->plan->blocks[0].n;
                     i++)
                        if (!all[i].is_used && all[i].name[0] != '@')
                                buffer_printf(&reader->plan->warnings, "settings.%s: the command does not use {%s}\n",
                                              all[i].name, all[i].name);
        }
        return r;
}

/* --- the file ------------------------------------------------------------------------------------- */

static int check_keys(const PlanReader *reader) {
        static const char *const keys[] = { "command", "specification", "script", "settings",
                                            "extra",   "exclude",       "name",   "output" };

        if (reader->file->type != VALUE_OBJECT)
                return refuse(reader, "is %s: expected a mapping with 'command' and 'settings'",
                              value_type_text(reader->file));
        for (size_t i = 0; i < reader->file->n_members; i++) {
                const char *key = reader->file->members[i].key, *nearest = nearest_word(key, keys, N_ELEMENTS(keys));

                if (!nearest_is_among(key, keys, N_ELEMENTS(keys)))
                        return refuse(reader,
                                      "%.80s: unknown key%s%s%s; expected command, specification, script, settings, "
                                      "extra, exclude, name and output",
                                      key, nearest ? ": did you mean '" : "", nearest ?: "", nearest ? "'?" : "");
        }
        return 0;
}

static int take_line(const PlanReader *reader, const char *key, size_t n_max, const char **ret) {
        const Value *value = value_get(reader->file, key);

        if (!value || value->type == VALUE_NULL)
                return 0;
        if (value->type != VALUE_STRING || !value->string[0] || strlen(value->string) > n_max ||
            !utf8_is_line(value->string))
                return refuse(reader, "%s: expected a string of 1 to %zu bytes without control characters", key, n_max);
        *ret = value->string;
        return 0;
}

int sweep_plan_read(const Value *file, const Value *specification, Arena *arena, SweepPlan *ret,
                    SweepError *ret_error) {
        scoped(sweep_plan_deinit) SweepPlan plan = {};
        const PlanReader reader = {
                .file = file, .specification = specification, .arena = arena, .plan = &plan, .error = ret_error
        };
        int r;

        r = check_keys(&reader);
        if (r == 0)
                r = take_line(&reader, "name", SWEEP_NAME_MAX, &plan.name);
        if (r == 0)
                r = take_line(&reader, "output", 4000, &plan.output);
        if (r == 0)
                r = take_command(&reader);
        if (r == 0)
                r = take_blocks(&reader);
        if (r == 0)
                r = take_points(&reader);
        if (r == 0)
                r = check_templates(&reader);
        if (r == 0 && plan.specification)
                r = check_fields(&reader);
        if (r == 0)
                r = buffer_error(&plan.warnings);
        if (r != 0)
                return r;

        *ret = plan;
        plan = (SweepPlan){};
        return 0;
}

/* Builds the complete list of settings of each extra block. */
size_t sweep_plan_arena_size(size_t n) {
        return 65536 + 128 * n + (SWEEP_EXTRA_MAX + 1) * (SWEEP_SETTINGS_MAX + 16) * sizeof(SweepSetting);
}
