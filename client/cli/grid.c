/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/grid.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "text/text.h"
#include "util/array.h"

#define GAP 2U
#define MINUTE_COLUMNS 16U /* width of "2026-11-20 21:58" */
#define WIDTH_MIN 8U /* minimum width of a text or bar column */
#define BAR_COLUMNS_MAX 40U

void grid_init(Grid *grid, size_t n_columns, size_t n_heads) {
        *grid = (Grid){ .n_columns = n_columns, .n_heads = n_heads };
}

void grid_deinit(Grid *grid) {
        for (size_t i = 0; i < grid->n; i++)
                free(grid->cells[i].text);
        free(grid->cells);
        *grid = (Grid){};
}

static void put(Grid *grid, const char *text, GridKind kind) {
        if (ARRAY_EXTEND(grid->cells, grid->n) < 0) {
                grid->has_failed = true;
                return;
        }

        grid->cells[grid->n] = (GridCell){ .text = strdup(text), .kind = kind };
        grid->has_failed |= !grid->cells[grid->n].text;
        grid->n += !grid->has_failed;
}

void grid_init_heads(Grid *grid, const char *heads) {
        scoped(freep) char *copy = strdup(heads);
        char *rest = copy, *head;

        *grid = (Grid){ .n_heads = 1, .has_failed = !copy };
        while ((head = strsep(&rest, "|"))) {
                put(grid, head + (*head == '>'), *head == '>' ? GRID_NUMBER : GRID_TEXT);
                grid->n_columns++;
        }
}

void grid_text(Grid *grid, const char *text) {
        put(grid, text, GRID_TEXT);
}

void grid_whole(Grid *grid, const char *text) {
        put(grid, text, GRID_WHOLE);
}

void grid_right(Grid *grid, const char *text) {
        put(grid, text, GRID_NUMBER);
}

void grid_style(Grid *grid, Style style) {
        if (grid->has_failed)
                return;

        grid->cells[grid->n - 1].has_style = true;
        grid->cells[grid->n - 1].style = style;
}

void grid_bar(Grid *grid, double ratio) {
        put(grid, "", GRID_BAR);
        if (!grid->has_failed)
                grid->cells[grid->n - 1].ratio = ratio;
}

void grid_number(Grid *grid, double v) {
        char text[TEXT_MAX] = "-";

        if (isfinite(v))
                snprintf(text, sizeof(text), "%.6g", v);
        grid_right(grid, text);
}

void grid_count(Grid *grid, uint64_t n) {
        char text[24];

        snprintf(text, sizeof(text), "%" PRIu64, n);
        grid_right(grid, text);
}

void grid_minute(Grid *grid, uint64_t realtime_ms) {
        char text[TEXT_MAX];

        text_time(realtime_ms, text);
        if (realtime_ms > 0)
                text[MINUTE_COLUMNS] = '\0';
        grid_whole(grid, text);
}

void grid_value(Grid *grid, const Value *value) {
        scoped(buffer_deinit) Buffer text = {};
        char digits[TEXT_MAX];

        if (!value || value->type == VALUE_NULL)
                grid_text(grid, "-");
        else if (value->type == VALUE_STRING)
                grid_text(grid, text_shorten_digest(value->string, digits));
        else {
                value_write_json(value, &(Json){ .out = &text });
                put(grid, text.text ? text.text : "", value_is_number(value) ? GRID_NUMBER : GRID_TEXT);
        }
}

/* Parameter names keep their case: n and N are two parameters. */
void grid_key(Grid *grid, const char *key) {
        static const char *const ours[][2] = {
                { "component", "COMPONENT" }, { "version", "VERSION" }, { "hardware", "HARDWARE" },
        };

        for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
                if (strcmp(key, ours[i][0]) == 0)
                        key = ours[i][1];
        grid_text(grid, key);
}

/* Returns the number of screen columns of a text. */
static size_t width_of(const Screen *screen, const char *text) {
        scoped(buffer_deinit) Buffer out = {};
        Screen aside = *screen;

        aside.out = &out;
        return screen_text(&aside, text);
}

/*
 * Computes the full and the minimum width of each column. Text columns can be truncated; number columns have the same
 * width in both.
 */
static void measure(const Grid *grid, const Screen *screen, size_t *widths, size_t *minimums) {
        bool are_text[GRID_COLUMNS_MAX] = {};

        for (size_t i = 0; i < grid->n_columns; i++)
                widths[i] = minimums[i] = 0;
        for (size_t i = 0; i < grid->n; i++) {
                GridKind kind = grid->cells[i].kind;
                size_t column = i % grid->n_columns,
                       n = kind == GRID_BAR ? BAR_COLUMNS_MAX : width_of(screen, grid->cells[i].text);

                if (n > widths[column])
                        widths[column] = n;
                if ((kind == GRID_WHOLE || kind == GRID_NUMBER) && n > minimums[column])
                        minimums[column] = n;
                are_text[column] |= kind == GRID_TEXT || kind == GRID_BAR;
        }
        for (size_t i = 0; i < grid->n_columns; i++)
                if (are_text[i] && minimums[i] < WIDTH_MIN)
                        minimums[i] = WIDTH_MIN;
}

/* Returns the width of a line. */
static size_t sum_of(const Grid *grid, const size_t *widths) {
        size_t n = grid->indent + (grid->n_columns - 1) * GAP;

        for (size_t i = 0; i < grid->n_columns; i++)
                n += widths[i];
        return n;
}

/* Narrows the widest text column until the line fits. Returns false if all columns have their minimum width. */
static bool narrow_columns(const Grid *grid, const Screen *screen, size_t *widths, const size_t *minimums) {
        size_t n = sum_of(grid, widths);

        while (n > screen->width) {
                size_t widest = SIZE_MAX;

                for (size_t i = 0; i < grid->n_columns; i++)
                        if (widths[i] > minimums[i] && (widest == SIZE_MAX || widths[i] > widths[widest]))
                                widest = i;
                if (widest == SIZE_MAX)
                        return false;
                widths[widest]--;
                n--;
        }
        return true;
}

/* Returns the number of columns written. */
static size_t write_content(Screen *screen, const GridCell *cell, size_t width) {
        if (cell->kind != GRID_BAR)
                return screen_text_cut(screen, cell->text, cell->kind == GRID_TEXT ? width : SIZE_MAX);

        width = width < BAR_COLUMNS_MAX ? width : BAR_COLUMNS_MAX;
        screen_bar(screen, cell->ratio, width);
        return width;
}

static void write_cell(const Grid *grid, Screen *screen, size_t i, size_t width) {
        const GridCell *cell = &grid->cells[i];
        bool is_last = i % grid->n_columns == grid->n_columns - 1;
        size_t n;

        if (cell->kind == GRID_NUMBER)
                screen_pad(screen, width_of(screen, cell->text), width);
        if (cell->has_style)
                screen_style_begin(screen, cell->style);
        n = write_content(screen, cell, width);
        if (cell->has_style)
                screen_style_end(screen);
        if (cell->kind != GRID_NUMBER && !is_last)
                screen_pad(screen, n, width);
        if (!is_last)
                screen_pad(screen, 0, GAP);
}

/* Removes the blanks that an empty cell leaves at the end of a line. */
static void trim(Buffer *out) {
        while (!out->failed && out->n > 0 && out->text[out->n - 1] == ' ')
                out->text[--out->n] = '\0';
}

/*
 * Writes a cell on a line of its own, with its heading before it and the unit from the second heading after it:
 * "median:rate  203.4 GFLOP/s".
 */
static void write_labelled(const Grid *grid, Screen *screen, size_t row, size_t column, size_t width) {
        size_t n, n_left = screen->width > width + GAP + WIDTH_MIN ? screen->width - width - GAP : WIDTH_MIN;
        const GridCell *cell = &grid->cells[row * grid->n_columns + column];

        screen_style_begin(screen, STYLE_BOLD);
        n = screen_text_cut(screen, grid->cells[column].text, width);
        screen_style_end(screen);
        screen_pad(screen, n, width + GAP);
        if (cell->kind == GRID_TEXT && strchr(cell->text, '=')) {
                screen_wrap(screen, cell->text, width + GAP); /* the name of a row is whole */
                return;
        }
        n = write_content(screen, cell, n_left);
        for (size_t i = 1; i < grid->n_heads; i++) {
                const char *unit = grid->cells[i * grid->n_columns + column].text;

                if (!*unit || n + 1 + width_of(screen, unit) > n_left)
                        continue;
                buffer_putc(screen->out, ' ');
                screen_styled(screen, STYLE_DIM, unit);
        }
        trim(screen->out);
        buffer_putc(screen->out, '\n');
}

/* Writes each cell on its own line, with an empty line before each row. */
static void write_cells_on_lines(const Grid *grid, Screen *screen) {
        size_t width = 0, width_max = screen->width / 2;

        for (size_t column = 0; column < grid->n_columns && column < grid->n; column++) {
                size_t n = width_of(screen, grid->cells[column].text);

                width = n > width ? n : width;
        }
        width = width > width_max ? width_max : width;

        for (size_t row = grid->n_heads; row < grid->n / grid->n_columns; row++) {
                if (screen->out->n > 0)
                        buffer_putc(screen->out, '\n');
                for (size_t column = 0; column < grid->n_columns; column++)
                        write_labelled(grid, screen, row, column, width);
        }
}

/* --- what all rows have in common ----------------------------------------------------------------- */

/* Returns the length of the item at the start of a text: words up to the next KEY=VALUE. */
static size_t item_length(const char *text) {
        const char *end = text + strcspn(text, " "), *word;

        while (*(word = end + strspn(end, " ")) && !memchr(word, '=', strcspn(word, " ")))
                end = word + strcspn(word, " ");
        return (size_t)(end - text);
}

/* Returns true if one of the items of a text is this item. */
static bool has_item(const char *text, const char *item, size_t n_item) {
        for (size_t n; *text; text += n, text += strspn(text, " ")) {
                n = item_length(text);
                if (n == n_item && memcmp(text, item, n) == 0)
                        return true;
        }
        return false;
}

/* Returns true if all rows have the item in the column. */
static bool is_common(const Grid *grid, size_t column, const char *item, size_t n) {
        if (n == 1 && *item == '-')
                return false;
        for (size_t i = grid->n_heads * grid->n_columns + column; i < grid->n; i += grid->n_columns)
                if ((grid->cells[i].kind != GRID_TEXT && (grid->cells[i].kind != GRID_WHOLE || column > 0)) ||
                    !has_item(grid->cells[i].text, item, n))
                        return false;
        return true;
}

/* Appends the common items of the column, or the other items of a text. */
static void put_items(const char *text, const Grid *grid, size_t column, const char *common, Buffer *out) {
        size_t begin = out->n;

        for (size_t n; *text; text += n, text += strspn(text, " ")) {
                n = item_length(text);
                if (common ? has_item(common, text, n) : !is_common(grid, column, text, n))
                        continue;
                buffer_puts(out, out->n > begin ? " " : "");
                buffer_put(out, text, n);
        }
}

/* Copies a column without its common items. */
static void copy_column(const Grid *grid, size_t column, const char *common, Grid *to, size_t at) {
        for (size_t row = 0; row < grid->n / grid->n_columns; row++) {
                const GridCell *from = &grid->cells[row * grid->n_columns + column];
                scoped(buffer_deinit) Buffer rest = {};
                GridCell *cell = &to->cells[row * to->n_columns + at];

                buffer_puts(&rest, "");
                if (row < grid->n_heads || !*common)
                        buffer_puts(&rest, from->text);
                else
                        put_items(from->text, grid, column, common, &rest);
                *cell = *from;
                cell->text = buffer_take(&rest);
                to->has_failed |= !cell->text;
        }
}

/* Returns true if all cells of the column are the text. */
static bool has_only(const Grid *grid, size_t column, const char *text) {
        for (size_t i = grid->n_heads * grid->n_columns + column; i < grid->n; i += grid->n_columns)
                if (strcmp(grid->cells[i].text, text) != 0)
                        return false;
        return true;
}

/* Makes a grid without what all rows have in common, which is appended to `out`, and without columns of "-". */
static void take_common(const Grid *grid, Grid *ret, Buffer *out) {
        size_t n_rows = grid->n / grid->n_columns, n_columns = 0;
        Buffer common[GRID_COLUMNS_MAX] = {};
        bool is_left_out[GRID_COLUMNS_MAX];

        for (size_t i = 0; i < grid->n_columns; i++) {
                buffer_puts(&common[i], "");
                put_items(grid->cells[grid->n_heads * grid->n_columns + i].text, grid, i, NULL, &common[i]);
                is_left_out[i] = has_only(grid, i, common[i].n > 0 ? common[i].text : "-");
                n_columns += !is_left_out[i];
                if (common[i].n == 0)
                        continue;
                if (out->n > 0)
                        buffer_puts(out, ", ");
                if (is_left_out[i] && !strchr(common[i].text, '='))
                        buffer_printf(out, "%s ", grid->cells[i].text);
                buffer_puts(out, common[i].text);
        }
        *ret = (Grid){ .n_columns = n_columns, .n_heads = grid->n_heads, .indent = grid->indent };
        ret->cells = calloc(n_rows * n_columns + 1, sizeof(*ret->cells));
        ret->has_failed = !ret->cells;
        ret->n = ret->cells ? n_rows * n_columns : 0;
        for (size_t i = 0, at = 0; i < grid->n_columns; i++) {
                if (!is_left_out[i] && ret->cells)
                        copy_column(grid, i, common[i].text ?: "", ret, at++);
                ret->has_failed |= buffer_error(&common[i]) < 0;
                buffer_deinit(&common[i]);
        }
}

/* Returns true if two rows have the same beginning of a text in the column, and the rest is cut off. */
static bool hides_difference(const Grid *grid, const Screen *screen, const size_t *widths) {
        for (size_t i = grid->n_heads * grid->n_columns; i < grid->n; i++) {
                const char *text = grid->cells[i].text;
                size_t width = widths[i % grid->n_columns];

                if (grid->cells[i].kind != GRID_TEXT || !strchr(text, '=') || width_of(screen, text) <= width)
                        continue;
                for (size_t k = i % grid->n_columns + grid->n_heads * grid->n_columns; k < i; k += grid->n_columns)
                        if (strncmp(grid->cells[k].text, text, width - 1) == 0 &&
                            strcmp(grid->cells[k].text, text) != 0)
                                return true;
        }
        return false;
}

static int write_rows(const Grid *grid, Screen *screen, bool is_cut) {
        size_t widths[GRID_COLUMNS_MAX], minimums[GRID_COLUMNS_MAX];

        if (grid->has_failed)
                return -ENOMEM;

        measure(grid, screen, widths, minimums);
        if (is_cut && (!narrow_columns(grid, screen, widths, minimums) || hides_difference(grid, screen, widths))) {
                write_cells_on_lines(grid, screen);
                return 0;
        }

        for (size_t i = 0; i < grid->n; i++) {
                size_t row = i / grid->n_columns, column = i % grid->n_columns;

                if (column == 0 && row < grid->n_heads)
                        screen_style_begin(screen, row == 0 ? STYLE_BOLD : STYLE_DIM);
                else if (column == 0)
                        screen_pad(screen, 0, grid->indent);
                write_cell(grid, screen, i, widths[column] + (column == 0 && row < grid->n_heads ? grid->indent : 0));
                if (column == grid->n_columns - 1) {
                        trim(screen->out);
                        if (row < grid->n_heads)
                                screen_style_end(screen);
                        buffer_putc(screen->out, '\n');
                }
        }
        return 0;
}

int grid_write(const Grid *grid, Screen *screen, bool is_cut) {
        size_t widths[GRID_COLUMNS_MAX], minimums[GRID_COLUMNS_MAX];
        scoped(buffer_deinit) Buffer common = {};
        scoped(grid_deinit) Grid rest = {};

        if (grid->has_failed)
                return -ENOMEM;
        measure(grid, screen, widths, minimums);
        if (!is_cut || sum_of(grid, widths) <= screen->width || grid->n < (grid->n_heads + 2) * grid->n_columns)
                return write_rows(grid, screen, is_cut);

        take_common(grid, &rest, &common);
        if (common.n > 0)
                screen_line(screen, "All rows: %s", common.text);
        return write_rows(&rest, screen, is_cut);
}

int grid_print(const Grid *grid, bool no_color) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, no_color);
        if (grid_write(grid, &screen, isatty(STDOUT_FILENO) == 1) < 0) {
                message_print("out of memory");
                return EXIT_FAILED;
        }
        return output_print(&out);
}
