/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/cli/grid.h"
#include "client/report/report.h"

#define LINES_MAX 64U /* further steps, of several nodes, are counted with the others */

enum { STEP_CPU, STEP_MEMORY, STEP_READ, STEP_WRITTEN, N_STEP_NUMBERS };
static const char *const keys[N_STEP_NUMBERS] = { "cpu_seconds", "memory_peak_bytes", "read_bytes", "written_bytes" };

/* A step, on all nodes. */
typedef struct StepLine {
        const char *name; /* "": several steps; NULL: outside of all steps */
        double n, seconds, unobserved;
        double numbers[N_STEP_NUMBERS]; /* NAN: unknown */
} StepLine;

typedef struct StepLines {
        StepLine items[LINES_MAX + 2];
        size_t n;
} StepLines;

static StepLine *find_line(StepLines *lines, const char *name) {
        if (name && *name && lines->n >= LINES_MAX)
                name = "";
        for (size_t i = 0; i < lines->n; i++)
                if (name ? lines->items[i].name && strcmp(lines->items[i].name, name) == 0 : !lines->items[i].name)
                        return &lines->items[i];
        lines->items[lines->n] = (StepLine){ .name = name, .numbers = { NAN, NAN, NAN, NAN } };
        return &lines->items[lines->n++];
}

static void add_step(StepLines *lines, const RankReport *report, const Value *step) {
        bool is_rest = strcmp(answer_text(step, "kind"), "rest") == 0;
        StepLine *line = find_line(lines, is_rest ? NULL : answer_text(step, "name"));
        uint64_t begin_ms = answer_time(step, "begin_ms"), end_ms = answer_time(step, "end_ms");
        double lasted;

        end_ms = end_ms > 0 ? end_ms : report_run_rank_end_ms(report);
        lasted = begin_ms > 0 && end_ms > begin_ms ? (double)(end_ms - begin_ms) / 1e3 : 0;
        line->seconds = fmax(line->seconds, lasted);
        line->n = fmax(line->n, answer_number_or_zero(step, "n_steps"));
        line->unobserved = fmax(line->unobserved, answer_number_or_zero(step, "unobserved_seconds"));
        for (size_t i = 0; i < N_STEP_NUMBERS; i++) {
                double value = answer_number(step, keys[i]), *sum = &line->numbers[i];

                if (isnan(value))
                        continue;
                *sum = isnan(*sum) || i == STEP_MEMORY ? fmax(value, *sum) : value + *sum;
        }
}

static void put_line(Sheet *sheet, Grid *grid, const StepLine *line) {
        char text[TEXT_MAX], marked[TEXT_MAX + 2];

        if (line->name && !*line->name)
                snprintf(text, sizeof(text), "%.0f others", line->n);
        grid_text(grid, !line->name ? "in no step" : *line->name ? line->name : text);
        text_seconds(line->name ? line->seconds : NAN, text);
        grid_right(grid, text);
        for (size_t i = 0; i < N_STEP_NUMBERS; i++) {
                bool is_known = !isnan(line->numbers[i]);

                if (i == STEP_CPU)
                        text_seconds(line->numbers[i], text);
                else
                        text_mib(line->numbers[i] / 1048576, text);
                snprintf(marked, sizeof(marked), "%s%s", is_known ? text : "-",
                         is_known && line->unobserved > 0 ? sheet_mark(sheet, false) : " ");
                grid_right(grid, marked);
        }
}

void report_write_steps(Sheet *sheet, const ReportRun *run) {
        scoped(grid_deinit) Grid grid = {};
        Buffer *out = sheet->screen->out;
        StepLines lines = {};

        for (size_t i = 0; i < run->n_reports; i++) {
                const Value *list = run->reports[i].counts ? value_get(run->reports[i].job, "steps") : NULL;

                for (size_t k = 0; k < answer_length(list); k++)
                        add_step(&lines, &run->reports[i], &list->items[k]);
        }
        if (lines.n == 0)
                return;

        grid_init_heads(&grid, "Steps|>time|>CPU time |>memory peak |>read |>written ");
        grid.indent = 2;
        for (size_t i = 0; i < lines.n; i++)
                if (!run->step || (lines.items[i].name && strcmp(lines.items[i].name, run->step) == 0))
                        put_line(sheet, &grid, &lines.items[i]);
        buffer_putc(out, '\n');
        out->failed |= grid_write(&grid, sheet->screen, true) < 0;
}
