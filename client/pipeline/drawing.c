/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 24U
#define BAR_COLUMNS  30U

typedef enum WorkerState {
        WORKER_BUSY,
        WORKER_BLOCKED,
        WORKER_STARVED,
        N_WORKER_STATES,
} WorkerState;

static const char *const marks[2][N_WORKER_STATES] = { { "#", "=", "." }, { "█", "▒", "·" } };

static void write_marks(Screen *screen, WorkerState state, size_t n) {
        static const Style styles[N_WORKER_STATES] = { STYLE_BAR, STYLE_WARN, STYLE_DIM };

        screen_style_begin(screen, styles[state]);
        while (n-- > 0)
                buffer_puts(screen->out, marks[screen->has_unicode][state]);
        screen_style_end(screen);
}

/* Draws the shares one after the other; rounding leaves the bar at its length or shorter. */
static void write_bar(Screen *screen, const StageAccounting *accounting) {
        const double shares[N_WORKER_STATES] = { accounting->busy, accounting->blocked, accounting->starved };
        size_t n_taken = 0;
        double sum = 0;

        for (WorkerState state = 0; state < N_WORKER_STATES; state++) {
                size_t end;

                sum += isfinite(shares[state]) && shares[state] > 0 ? shares[state] : 0;
                end = (size_t)lround(fmin(sum, 1) * BAR_COLUMNS);
                write_marks(screen, state, end - n_taken);
                n_taken = end;
        }
        buffer_printf(screen->out, "%*s", (int)(BAR_COLUMNS - n_taken), "");
}

static void write_name(Screen *screen, const PipelineStage *stage, const StageAccounting *accounting) {
        char workers[32] = "";
        size_t n;

        if (accounting)
                (void)snprintf(workers, sizeof(workers), " (%s%u)", accounting->is_inferred ? "~" : "", accounting->concurrency);
        n = screen_text_cut(screen, stage->name, NAME_COLUMNS - strlen(workers));
        screen_styled(screen, STYLE_DIM, workers);
        screen_pad(screen, n + strlen(workers), NAME_COLUMNS);
        buffer_puts(screen->out, "  ");
}

static void write_time(Buffer *out, const char *name, double sum_s, double n) {
        if (n > 0)
                buffer_printf(out, ", %s %.3g ms", name, 1e3 * sum_s / n);
}

static void write_queue(Screen *screen, const PipelineStage *stage) {
        const StageQueue *queue = &stage->queue;
        double readiness;

        buffer_printf(screen->out, "  %s ", screen->has_unicode ? "│" : "|");
        if (!queue->is_known) {
                buffer_puts(screen->out, "queue not measured\n");
                return;
        }
        buffer_printf(screen->out, "%.4g items/s", pipeline_stage_rate(stage));
        switch (pipeline_stage_readiness(stage, &readiness)) {
        case PIPELINE_READINESS_KNOWN:
                buffer_printf(screen->out, ", ready %.0f %%", 100 * readiness);
                break;
        case PIPELINE_READINESS_STALLED:
                buffer_puts(screen->out, ", ");
                screen_styled(screen, STYLE_BAD, "stalled");
                break;
        case PIPELINE_READINESS_NO_DATA:
                buffer_puts(screen->out, ", readiness: no data");
        }
        write_time(screen->out, "put", queue->put_s, queue->n_gets);
        write_time(screen->out, "get", queue->get_s, queue->n_gets);
        buffer_putc(screen->out, '\n');
}

static void write_shares(Screen *screen, const PipelineStage *stage, const StageAccounting *accounting) {
        buffer_printf(screen->out, "  busy %.0f %%", 100 * accounting->busy);
        if (isfinite(accounting->blocked))
                buffer_printf(screen->out, ", blocked %.0f %%", 100 * accounting->blocked);
        if (isfinite(accounting->starved))
                buffer_printf(screen->out, ", starved %.0f %%", 100 * accounting->starved);
        write_time(screen->out, "task", stage->tasks.success_time_s, stage->tasks.n - stage->tasks.n_failures);
        if (stage->tasks.n_failures > 0) {
                char text[48];

                (void)snprintf(text, sizeof(text), "%.3g %% failed", 100 * pipeline_stage_failure_ratio(stage));
                buffer_puts(screen->out, ", ");
                screen_styled(screen, STYLE_BAD, text);
        }
}

void drawing_write(const VerdictPipeline *pipeline, Screen *screen) {
        for (size_t i = 0; i < pipeline->n; i++) {
                const PipelineStage *stage = &pipeline->stages[i];
                StageAccounting accounting;
                bool has_workers = pipeline_accounting_of(stage, i > 0 ? stage - 1 : NULL, &accounting);

                write_name(screen, stage, has_workers ? &accounting : NULL);
                if (has_workers) {
                        write_bar(screen, &accounting);
                        write_shares(screen, stage, &accounting);
                }
                buffer_putc(screen->out, '\n');
                write_queue(screen, stage);
        }
        for (WorkerState state = 0; state < N_WORKER_STATES; state++) {
                static const char *const names[N_WORKER_STATES] = { " busy  ", " blocked on put  ", " starved: waits for items\n" };

                write_marks(screen, state, 1);
                buffer_puts(screen->out, names[state]);
        }
}
