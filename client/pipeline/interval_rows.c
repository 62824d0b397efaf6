/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/interval_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double number(const Value *row, const char *key) {
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
               number(before, "begin_ms") + number(before, "end_ms") > 2 * number(sum, "begin_ms");
}

int interval_rows_init(IntervalRows *ret, const Value *answer) {
        const Value *list = value_get(answer, "intervals");
        size_t n = list && list->type == VALUE_LIST ? list->n_items : 0;

        *ret = (IntervalRows){ .items = calloc(n + 1, sizeof(*ret->items)) };
        if (!ret->items)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                const Value *row = &list->items[i];

                while (number(row, "merged") > 1 && ret->n > 0 && is_part(ret->items[ret->n - 1], row))
                        ret->n--;
                ret->items[ret->n++] = row;
        }
        return 0;
}

void interval_rows_deinit(IntervalRows *rows) {
        free(rows->items);
        *rows = (IntervalRows){};
}
