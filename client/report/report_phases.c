/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/cli/grid.h"
#include "client/report/report.h"

#define PHASES_SHOWN 6U
#define NAMES_MAX 256U /* maximum number of names; further names are only counted */

/* All phases with the same name: a phase that a loop marks repeatedly is one line. */
typedef struct PhaseLine {
        const char *name;
        unsigned n;
        double seconds;
        double cpu_seconds;   /* CPU time in the phases counted in cores_seconds */
        double cores_seconds; /* duration of the phases whose number of cores is known */
        bool is_exact;
        bool is_lasting;
        bool is_shown;
} PhaseLine;

typedef struct PhaseLines {
        PhaseLine items[NAMES_MAX];
        size_t n;
        size_t n_hidden;  /* number of names that are not shown */
        double seconds;   /* duration of all phases */
        bool has_cores;
        bool is_of_node;  /* cores are those of the node: the job has no metrics of its own */
} PhaseLines;

static bool find_cores(const Sheet *sheet, const Value *phase, bool is_of_node, AnswerMetric *ret) {
        if (!is_of_node)
                return answer_metric(phase, "job_cpus_used", ret);
        if (!answer_metric(phase, "cpu_avg_utilization_pct", ret) || !(answer_number_or_zero(sheet->on, "cpus") > 0))
                return false;

        ret->value *= answer_number_or_zero(sheet->on, "cpus") / 100;
        return true;
}

static double find_seconds(const Sheet *sheet, const Value *phase) {
        double seconds = answer_number(phase, "seconds"), lasted = 0;
        uint64_t begin_ms = answer_time(phase, "begin_ms"), end_ms = answer_time(phase, "end_ms");

        if (end_ms == 0)
                end_ms = answer_time(sheet->on, "time_ms");
        if (begin_ms > 0 && end_ms > begin_ms)
                lasted = (double)(end_ms - begin_ms) / 1e3;

        /*
         * For a block with nested blocks, the reported seconds cover the whole block and belong to its last part: the
         * shorter duration is correct.
         */
        return seconds >= 0 && (lasted == 0 || seconds < lasted) ? seconds : lasted;
}

static PhaseLine *find_name(PhaseLines *phases, const char *name) {
        for (size_t i = 0; i < phases->n; i++)
                if (strcmp(phases->items[i].name, name) == 0)
                        return &phases->items[i];
        if (phases->n == NAMES_MAX)
                return NULL;

        phases->items[phases->n] = (PhaseLine){ .name = name, .is_exact = true };
        return &phases->items[phases->n++];
}

static void add_phase(const Sheet *sheet, PhaseLines *phases, const Value *value) {
        PhaseLine *phase = find_name(phases, answer_text(value, "name"));
        double seconds = find_seconds(sheet, value);
        AnswerMetric cores;

        phases->seconds += seconds;
        if (!phase) {
                phases->n_hidden++;
                return;
        }

        phase->n++;
        phase->seconds += seconds;
        phase->is_lasting |= answer_time(value, "end_ms") == 0;
        if (!find_cores(sheet, value, phases->is_of_node, &cores))
                return;
        phases->has_cores = true;
        phase->cpu_seconds += seconds * cores.value;
        phase->cores_seconds += seconds;
        phase->is_exact &= cores.is_exact;
}

/* Selects the longest phases; they are still shown in chronological order. */
static void choose_shown(PhaseLines *phases) {
        for (size_t k = 0; k < PHASES_SHOWN && k < phases->n; k++) {
                PhaseLine *longest = NULL;

                for (size_t i = 0; i < phases->n; i++)
                        if (!phases->items[i].is_shown && (!longest || phases->items[i].seconds > longest->seconds))
                                longest = &phases->items[i];
                longest->is_shown = true;
        }

        if (phases->n > PHASES_SHOWN)
                phases->n_hidden += phases->n - PHASES_SHOWN;
}

/* --- the table ------------------------------------------------------------------------------------ */

static void format_name(const PhaseLine *phase, Buffer *ret) {
        /*
         * after a block, `perfctl time` returns to the previous phase, so a phase without a name may occur repeatedly
         */
        buffer_puts(ret, *phase->name ? phase->name : phase->n > 1 ? "outside other phases" : "before the first mark");
        if (phase->n > 1)
                buffer_printf(ret, " (%u times%s)", phase->n, phase->is_lasting ? " so far" : "");
        else if (phase->is_lasting)
                buffer_puts(ret, " (so far)");
}

static void put_phase(Sheet *sheet, Grid *grid, const PhaseLines *phases, const PhaseLine *phase) {
        scoped(buffer_deinit) Buffer name = {};
        char seconds[TEXT_MAX], cores[TEXT_MAX] = "", text[TEXT_MAX + 2];

        format_name(phase, &name);
        grid_text(grid, name.text ?: "");
        text_seconds(phase->seconds, seconds);
        grid_right(grid, seconds);
        grid_bar(grid, phases->seconds > 0 ? phase->seconds / phases->seconds : 0);
        if (!phases->has_cores)
                return;
        if (phase->cores_seconds > 0)
                text_cpus(phase->cpu_seconds / phase->cores_seconds, cores);
        snprintf(text, sizeof(text), "%s%s", cores, *cores && !phase->is_exact ? sheet_mark(sheet, false) : " ");
        grid_right(grid, text);
}

static void write_rest(Sheet *sheet, const PhaseLines *phases) {
        double seconds = phases->seconds;
        char text[TEXT_MAX];

        if (phases->n_hidden == 0)
                return;
        for (size_t i = 0; i < phases->n; i++)
                seconds -= phases->items[i].is_shown ? phases->items[i].seconds : 0;
        text_seconds(seconds > 0 ? seconds : 0, text);
        buffer_printf(sheet->screen->out, "  and %zu more, %s together\n", phases->n_hidden, text);
}

static void write_table(Sheet *sheet, const PhaseLines *phases, bool is_truncated) {
        scoped(grid_deinit) Grid grid = {};
        Buffer *out = sheet->screen->out;

        grid_init_heads(&grid, !phases->has_cores  ? "Phases|>time|share" :
                               phases->is_of_node ? "Phases|>time|share|>node's CPUs " :
                                                    "Phases|>time|share|>cores ");
        grid.indent = 2;
        for (size_t i = 0; i < phases->n; i++)
                if (phases->items[i].is_shown)
                        put_phase(sheet, &grid, phases, &phases->items[i]);
        buffer_putc(out, '\n');
        out->failed |= grid_write(&grid, sheet->screen, true) < 0;
        write_rest(sheet, phases);
        if (is_truncated)
                buffer_puts(out, "  and others, not listed\n");
}

void report_write_phases(Sheet *sheet) {
        const Value *list = value_get(sheet->job, "phases");
        PhaseLines phases = { .is_of_node = true };
        AnswerMetric cores;

        if (answer_length(list) == 0)
                return;

        for (size_t i = 0; i < list->n_items; i++)
                phases.is_of_node &= !answer_metric(&list->items[i], "job_cpus_used", &cores);
        for (size_t i = 0; i < list->n_items; i++)
                add_phase(sheet, &phases, &list->items[i]);
        choose_shown(&phases);
        write_table(sheet, &phases, answer_flag(sheet->job, "phases_truncated"));
}
