/* SPDX-License-Identifier: Apache-2.0 */
#include "client/deliver/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/wire/codec.h"
#include "util/array.h"
#include "value/shorten.h"
#include "value/value_parse.h"

#define TEXT_BYTES_FIRST 16384U
#define TEXT_BYTES_LEAST 256U

void fitted_deinit(Fitted *fitted) {
        for (size_t i = 0; i < fitted->n_arenas; i++)
                arena_deinit(&fitted->arenas[i]);
        free(fitted->arenas);
        free(fitted->items);
}

/* Makes a copy of the batch's items that can be modified. */
static int copy_items(Fitted *fitted, Batch *batch) {
        if (fitted->items)
                return 0;

        fitted->items = calloc(batch->n_items, sizeof(*fitted->items));
        if (!fitted->items)
                return -ENOMEM;

        memcpy(fitted->items, batch->items, batch->n_items * sizeof(*fitted->items));
        batch->items = fitted->items;
        return 0;
}

static int add_arena(Fitted *fitted, size_t n_bytes, Arena **ret) {
        if (ARRAY_EXTEND(fitted->arenas, fitted->n_arenas) < 0)
                return -ENOMEM;
        *ret = &fitted->arenas[fitted->n_arenas];
        if (arena_init(*ret, n_bytes) < 0)
                return -ENOMEM;
        fitted->n_arenas++;
        return 0;
}

int fitted_shorten(Fitted *fitted, Batch *batch, size_t i, size_t n_max) {
        const Value *whole = batch->items[i].run;
        Arena *arena = NULL;
        size_t size;
        int r;

        if (!whole)
                return FIT_TOO_LARGE;
        r = copy_items(fitted, batch);
        if (r == 0)
                r = codec_submission_size(&fitted->items[i], NULL, &size);
        if (r == 0)
                r = add_arena(fitted, value_parse_arena_size(size), &arena);
        if (r < 0)
                return r;

        for (size_t text_max = TEXT_BYTES_FIRST; text_max >= TEXT_BYTES_LEAST; text_max /= 2) {
                arena_reset(arena);
                r = shorten_value(whole, text_max, arena, &fitted->items[i].run);
                if (r == 0)
                        r = codec_submission_size(&fitted->items[i], NULL, &size);
                if (r < 0 || size <= n_max)
                        return r;
        }

        fitted->items[i].run = whole;
        return FIT_TOO_LARGE;
}
