/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/verdict_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/grid.h"
#include "pipeline/pipeline_changes.h"
#include "pipeline/pipeline_stage.h"
#include "text/text.h"
#include "util/buffer.h"

static const char *text_of(const Value *object, const char *key) {
        return value_get_string(object, key) ?: "";
}

static double number(const Value *object, const char *key) {
        double v;

        return value_get_double(object, key, &v) ? v : NAN;
}

/* --- table ---------------------------------------------------------------------------------------- */

/* All cells but names have a width that fits 80 columns. */
static void put_share(Grid *grid, double v) {
        char text[32] = "-";

        if (isfinite(v))
                (void)snprintf(text, sizeof(text), v > 0 && v < 0.01 ? "%.1f %%" : "%.0f %%", 100 * v);
        grid_right(grid, text);
}

static void put_seconds(Grid *grid, double v) {
        char text[TEXT_MAX];

        text_seconds_brief(v, text);
        grid_right(grid, text);
}

static void put_rate(Grid *grid, double v) {
        char text[TEXT_MAX] = "-";

        if (isfinite(v))
                text_number(v, text);
        grid_right(grid, text);
}

static void put_workers(Grid *grid, const Value *stage) {
        const Value *is_inferred = value_get(stage, "is_inferred");
        char text[32] = "-";

        if (is_inferred && is_inferred->type == VALUE_BOOL)
                (void)snprintf(text, sizeof(text), "%s%.0f", is_inferred->boolean ? "~" : "",
                               number(stage, "concurrency"));
        grid_right(grid, text);
}

static void fill_grid(const Value *verdict, Grid *grid) {
        const Value *stages = value_get(verdict, "stages");

        for (size_t i = 0; stages && stages->type == VALUE_LIST && i < stages->n_items; i++) {
                const Value *stage = &stages->items[i];
                double readiness = number(stage, "readiness");

                grid_text(grid, text_of(stage, "name"));
                put_workers(grid, stage);
                put_share(grid, number(stage, "busy"));
                put_share(grid, number(stage, "starved"));
                put_share(grid, number(stage, "blocked"));
                put_seconds(grid, number(stage, "mean_time_seconds"));
                put_rate(grid, number(stage, "normalized_items_per_second"));
                if (strcmp(text_of(stage, "readiness_state"), "stalled") == 0)
                        grid_right(grid, "stalled");
                else
                        put_share(grid, readiness);
                put_share(grid, number(stage, "failure_ratio"));
        }
}

/* --- verdict -------------------------------------------------------------------------------------- */

/* A name may be longer than a line. */
static void write_line(Screen *screen, const Buffer *text, size_t indent) {
        size_t begin = screen->out->n;

        screen_pad(screen, 0, indent);
        screen_wrap(screen, text->text ?: "", indent);
        screen_fold(screen, begin);
        screen->out->failed |= buffer_error(text) < 0;
}

static void write_changes(const Value *list, size_t indent, Screen *screen) {
        for (size_t i = 0; list && list->type == VALUE_LIST && i < list->n_items; i++) {
                const Value *from = &list->items[i];
                PipelineChange change = { .begin_ms = (uint64_t)fmax(0, number(from, "begin_ms")),
                                          .end_ms = (uint64_t)fmax(0, number(from, "end_ms")),
                                          .before_s = number(from, "before_seconds"),
                                          .during_s = number(from, "during_seconds") };
                scoped(buffer_deinit) Buffer text = {};

                (void)stpncpy(change.stage.name, text_of(from, "stage"), PIPELINE_STAGE_NAME_MAX);
                pipeline_changes_describe(&change, &text);
                write_line(screen, &text, indent);
        }
}

int verdict_text_write(const Value *verdict, bool is_table, size_t indent, Screen *screen) {
        const char *advice = text_of(verdict, "advice");
        scoped(buffer_deinit) Buffer text = {};
        scoped(grid_deinit) Grid grid = {};
        int r;

        buffer_printf(&text, "%s %s%s%s Confidence: %s.", text_of(verdict, "headline"), text_of(verdict, "sentence"),
                      *advice ? " " : "", advice, text_of(verdict, "confidence"));
        if (!is_table)
                write_line(screen, &text, indent);
        grid_init_heads(&grid, "STAGE|>WORKERS|>BUSY|>STARVED|>BLOCKED|>TIME|>ITEMS/S|>READY|>FAILED");
        grid.indent = indent;
        fill_grid(verdict, &grid);
        r = grid_write(&grid, screen, true);
        if (!is_table)
                write_changes(value_get(verdict, "changes"), indent, screen);
        return r;
}
