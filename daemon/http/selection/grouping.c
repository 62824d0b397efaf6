/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selection/grouping.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "util/array.h"
#include "util/hash.h"

#define N_SLOTS 32768U /* more than three for each possible group */

struct Grouping {
        Group *groups; /* owned */
        size_t n, n_max;
        uint32_t *slots; /* owned; index of a group plus 1, 0: free; released when the groups are sorted */
        size_t n_numbers, n_values;
        int64_t last_series; /* 0: none */
        size_t last_group;
        Buffer key;
};

static int make(Grouping **ret, size_t n_numbers) {
        scoped(grouping_freep) Grouping *grouping = calloc(1, sizeof(*grouping));

        if (!grouping)
                return -ENOMEM;

        assert(n_numbers <= POINT_NUMBERS_MAX);
        grouping->n_numbers = n_numbers;
        grouping->slots = calloc(N_SLOTS, sizeof(*grouping->slots));
        if (!grouping->slots)
                return -ENOMEM;

        *ret = TAKE(grouping);
        return 0;
}

Grouping *grouping_free(Grouping *grouping) {
        if (!grouping)
                return NULL;

        for (size_t i = 0; i < grouping->n; i++) {
                free(grouping->groups[i].key);
                free(grouping->groups[i].stacks);
                for (size_t k = 0; k < grouping->n_numbers; k++)
                        free(grouping->groups[i].numbers[k].values);
        }
        free(grouping->groups);
        free(grouping->slots);
        buffer_deinit(&grouping->key);
        free(grouping);
        return NULL;
}

/* --- keys ---------------------------------------------------------------------------------------- */

static void write_field(Json *json, const PointRow *row, const char *name) {
        const char *text;
        JsonText value;

        point_find(row, name, &value, &text);
        if (value.text)
                json_text_write(value, json);
        else if (text)
                json_string(json, text);
        else
                json_null(json);
}

static bool is_among(const char *const *names, size_t n, JsonText key) {
        for (size_t i = 0; i < n; i++) {
                const char *parameter = point_parameter_key(names[i]);

                if (parameter && json_text_is_string(key, parameter, strlen(parameter)))
                        return true;
        }
        return false;
}

static void write_parameters(Json *json, Buffer *out, const PointRow *row, const GroupFields *fields) {
        JsonWalk walk = json_text_walk(row->parameters);
        JsonText key, value;
        bool is_first = true;

        json_raw(json, "{");
        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                if (is_among(fields->names, fields->n, key) || is_among(fields->dropped, fields->n_dropped, key))
                        continue;
                if (!is_first)
                        buffer_putc(out, ',');
                is_first = false;
                buffer_put(out, key.text, key.n);
                buffer_putc(out, ':');
                buffer_put(out, value.text, value.n);
        }
        buffer_putc(out, '}');
}

static int write_key(Buffer *out, const PointRow *row, const GroupFields *fields) {
        Json json = { .out = out };

        buffer_clear(out);
        json_array_begin(&json);
        if (fields->has_parameters)
                write_parameters(&json, out, row, fields);
        for (size_t i = 0; i < fields->n; i++)
                write_field(&json, row, fields->names[i]);
        json_array_end(&json);
        return buffer_error(out);
}

/* --- groups -------------------------------------------------------------------------------------- */

static int add_group(Grouping *grouping, uint64_t h, size_t slot) {
        Group *group;

        if (grouping->n == GROUPS_MAX)
                return GROUPING_MANY_GROUPS;
        if (ARRAY_RESERVE(grouping->groups, grouping->n_max, grouping->n + 1) < 0)
                return -ENOMEM;

        group = &grouping->groups[grouping->n];
        *group = (Group){ .hash = h, .first_ms = UINT64_MAX };
        group->key = strdup(grouping->key.text);
        if (!group->key)
                return -ENOMEM;

        grouping->slots[slot] = (uint32_t)++grouping->n;
        return 0;
}

static int find_group(Grouping *grouping, const PointRow *row, const GroupFields *fields, size_t *ret) {
        size_t slot;
        uint64_t h;
        int r;

        r = write_key(&grouping->key, row, fields);
        if (r < 0)
                return r;

        h = hash_bytes(HASH_BEGIN, grouping->key.text, grouping->key.n);
        for (slot = h % N_SLOTS; grouping->slots[slot]; slot = (slot + 1) % N_SLOTS) {
                const Group *group = &grouping->groups[grouping->slots[slot] - 1];

                if (group->hash == h && strcmp(group->key, grouping->key.text) == 0) {
                        *ret = grouping->slots[slot] - 1;
                        return 0;
                }
        }

        r = add_group(grouping, h, slot);
        if (r == 0)
                *ret = grouping->n - 1;
        return r;
}

int grouping_sequence_add(Sequence *sequence, double value) {
        if (ARRAY_RESERVE(sequence->values, sequence->n_max, sequence->n + 1) < 0)
                return -ENOMEM;

        sequence->values[sequence->n++] = value;
        return 0;
}

static int add_value(Grouping *grouping, Sequence *sequence, double value) {
        if (!isfinite(value))
                return 0;
        if (grouping->n_values == VALUES_MAX)
                return GROUPING_MANY_VALUES;

        grouping->n_values++;
        return grouping_sequence_add(sequence, value);
}

/* Results of a stack often follow each other. */
static int count_stack(Group *group, const PointRow *row) {
        size_t i = group->last_stack;

        if (row->stack == 0)
                return 0;
        if (i >= group->n_stacks || group->stacks[i].stack != row->stack)
                for (i = 0; i < group->n_stacks && group->stacks[i].stack != row->stack; i++)
                        ;
        if (i == GROUP_STACKS_MAX) {
                group->n_of_further_stacks++;
                return 0;
        }
        if (i == group->n_stacks) {
                if (ARRAY_EXTEND(group->stacks, group->n_stacks) < 0)
                        return -ENOMEM;
                group->stacks[group->n_stacks++] = (StackCount){ .stack = row->stack };
        }

        group->last_stack = i;
        group->stacks[i].n += !row->has_failed;
        group->stacks[i].n_failed += row->has_failed;
        return 0;
}

/* Adds a row to the group of its fields. 0, an outcome or -ENOMEM. */
static int add_row(Grouping *grouping, const PointRow *row, const GroupFields *fields) {
        Group *group;
        int r = 0;

        assert(grouping->slots); /* not sorted yet */
        if (row->series == 0 || row->series != grouping->last_series) {
                r = find_group(grouping, row, fields, &grouping->last_group);
                if (r != 0)
                        return r;
                grouping->last_series = row->series;
        }

        group = &grouping->groups[grouping->last_group];
        r = count_stack(group, row);
        if (r < 0)
                return r;
        if (row->time_ms < group->first_ms)
                group->first_ms = row->time_ms;
        if (row->time_ms > group->last_ms)
                group->last_ms = row->time_ms;
        if (row->has_failed) {
                group->n_failed++;
                return 0;
        }

        group->n++;
        for (size_t i = 0; r == 0 && i < grouping->n_numbers; i++) {
                const PointList *list = row->lists && !fields->has_medians ? &row->lists[i] : NULL;

                if (!list || list->n == 0)
                        r = add_value(grouping, &group->numbers[i], row->numbers[i]);
                for (size_t k = 0; r == 0 && list && k < list->n; k++)
                        r = add_value(grouping, &group->numbers[i], list->items[k]);
        }
        return r;
}

/* --- order --------------------------------------------------------------------------------------- */

static bool is_digit(JsonText text, size_t i) {
        return i < text.n && text.text[i] >= '0' && text.text[i] <= '9';
}

/* Skips the leading zeros of a number in a text and finds the number's end. */
static size_t end_of_digits(JsonText text, size_t *i) {
        size_t end;

        while (is_digit(text, *i) && text.text[*i] == '0')
                (*i)++;
        for (end = *i; is_digit(text, end); end++)
                ;
        return end;
}

/* Compares numbers in texts by value: version 1.9 is before 1.10. 0: the numbers are equal. */
static int compare_naturally(JsonText a, JsonText b) {
        size_t i = 0, j = 0;

        while (i < a.n && j < b.n) {
                if (is_digit(a, i) && is_digit(b, j)) {
                        size_t end_a = end_of_digits(a, &i), end_b = end_of_digits(b, &j);
                        int r = memcmp(a.text + i, b.text + j, end_a - i < end_b - j ? end_a - i : end_b - j);

                        if (end_a - i != end_b - j)
                                return end_a - i > end_b - j ? 1 : -1;
                        if (r != 0)
                                return r;
                        i = end_a;
                        j = end_b;
                } else if (a.text[i] != b.text[j])
                        return (unsigned char)a.text[i] > (unsigned char)b.text[j] ? 1 : -1;
                else {
                        i++;
                        j++;
                }
        }
        return COMPARE(a.n - i, b.n - j);
}

static int compare_values(JsonText a, JsonText b) {
        double x, y;

        /* Compares integers that have the same double as text: different numbers never compare equal. */
        if (json_text_double(a, &x) && json_text_double(b, &y) && (x < y || x > y))
                return x > y ? 1 : -1;
        return compare_naturally(a, b) ?: memcmp(a.text, b.text, a.n < b.n ? a.n : b.n) ?: COMPARE(a.n, b.n);
}

/* Compares objects member by member, so that parameters such as the size of a matrix are in numeric order. */
static int compare_fields(JsonText a, JsonText b) {
        JsonWalk walk_a = json_text_walk(a), walk_b = json_text_walk(b);
        JsonText key_a = {}, key_b = {}, value_a, value_b;

        while (walk_a.is_object && walk_b.is_object) {
                bool has_a = json_text_walk_next(&walk_a, &key_a, &value_a),
                     has_b = json_text_walk_next(&walk_b, &key_b, &value_b);
                int r;

                if (!has_a || !has_b)
                        return has_a - has_b;
                r = compare_values(key_a, key_b);
                if (r == 0)
                        r = compare_values(value_a, value_b);
                if (r != 0)
                        return r;
        }
        return compare_values(a, b);
}

static int on_compare(const void *a, const void *b) {
        const char *x = ((const Group *)a)->key, *y = ((const Group *)b)->key;
        JsonWalk walk_x = json_text_walk(json_text(x, strlen(x))), walk_y = json_text_walk(json_text(y, strlen(y)));
        JsonText unused, field_x, field_y;
        int r = 0;

        while (r == 0 && json_text_walk_next(&walk_x, &unused, &field_x) &&
               json_text_walk_next(&walk_y, &unused, &field_y))
                r = compare_fields(field_x, field_y);
        return r;
}

Group *grouping_sorted(Grouping *grouping, size_t *ret_n) {
        /* Sorting moves the groups. */
        free(TAKE(grouping->slots));
        if (grouping->n > 0)
                qsort(grouping->groups, grouping->n, sizeof(*grouping->groups), on_compare);

        *ret_n = grouping->n;
        return grouping->groups;
}

JsonText grouping_field(const Group *group, size_t i) {
        JsonWalk walk = json_text_walk(json_text(group->key, strlen(group->key)));
        JsonText unused, value = {};

        for (size_t k = 0; k <= i; k++)
                if (!json_text_walk_next(&walk, &unused, &value))
                        return (JsonText){};
        return value;
}

/* --- results ------------------------------------------------------------------------------------------ */

static int refuse_size(Response *response, int outcome) {
        if (outcome == GROUPING_MANY_GROUPS)
                return exchange_error(response, 413,
                                      "the selected results form more than %u groups; group by fewer fields, "
                                      "or select fewer with where= or component=",
                                      GROUPS_MAX);
        if (outcome == GROUPING_MANY_VALUES)
                return exchange_error(response, 413,
                                      "the selected results have more than %u numbers, the limit of one request; "
                                      "select fewer with where=, component=, since_ms= or until_ms=, or name fewer "
                                      "results",
                                      VALUES_MAX);
        return exchange_store_error(response, outcome);
}

int grouping_read(const Sources *sources, Response *response, const Selection *selection, const GroupFields *fields,
                       Grouping **ret, uint64_t *ret_n_scanned) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        scoped(points_freep) Points *points = NULL;
        PointFilter filter = selection->filter;
        uint64_t n = 0;
        PointRow row;
        int r, of_group = 0;

        filter.fields = fields->names;
        filter.n_fields = fields->n;
        r = make(&grouping, selection->filter.n_numbers);
        if (r == 0)
                r = points_new(&points, sources->reader, &filter);
        while (r == 0 && (r = points_next(points, &row)) == 0) {
                of_group = add_row(grouping, &row, fields);
                if (of_group != 0)
                        return of_group > 0 ? refuse_size(response, of_group)
                                            : exchange_store_error(response, of_group);
                n++;
        }
        if (r != 0 && r != READER_END)
                return exchange_store_error(response, r);

        *ret = TAKE(grouping);
        *ret_n_scanned = n;
        return 0;
}

int grouping_has_any(const Sources *sources, Response *response, const PointFilter *filter, bool *ret) {
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        r = points_new(&points, sources->reader, filter);
        if (r == 0)
                r = points_next(points, &row);
        if (r != 0 && r != READER_END)
                return exchange_store_error(response, r);

        *ret = r == 0;
        return 0;
}
