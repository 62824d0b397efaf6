/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/text.h"
#include "client/report/report.h"
#include "util/scoped.h"

#define PHASES_SHOWN 6U
#define NAMES_MAX 256U /* different ones; those after them count with the rest */

#define NAME_COLUMNS_MIN 12U
#define NAME_COLUMNS_MAX 30U
#define TIME_COLUMNS 12U
#define CORES_COLUMNS 12U
#define BAR_COLUMNS_MIN 8U
#define BAR_COLUMNS_MAX 40U

/* All phases of one name: a phase that a loop marks repeatedly is one line. */
typedef struct PhaseLine {
        const char *name;
        unsigned n;
        double seconds;
        double cpu_seconds;   /* in `cores_seconds` of them */
        double cores_seconds; /* of those with a number of cores */
        bool is_exact;
        bool is_lasting;
        bool is_shown;
} PhaseLine;

typedef struct PhaseLines {
        PhaseLine items[NAMES_MAX];
        size_t n;
        size_t n_hidden;  /* names that are not shown */
        double seconds;   /* of all */
        bool has_cores;
        bool is_of_node;  /* cores: the node's, since the job has no numbers of its own */
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

        /* The seconds of a block around others are of all of it, and stand at its last part. */
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

/* The longest; in the order of time all the same. */
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

typedef struct PhaseColumns {
        size_t name, bar;
} PhaseColumns;

static void format_name(const PhaseLine *phase, Buffer *ret) {
        /* `perfctl time` goes back to what was before it. */
        buffer_puts(ret, *phase->name ? phase->name : phase->n > 1 ? "outside other phases" : "before the first mark");
        if (phase->n > 1)
                buffer_printf(ret, " (%u times%s)", phase->n, phase->is_lasting ? " so far" : "");
        else if (phase->is_lasting)
                buffer_puts(ret, " (so far)");
}

static PhaseColumns choose_columns(const Screen *screen, const PhaseLines *phases) {
        size_t n_fixed = 2 + 1 + TIME_COLUMNS + 2 + CORES_COLUMNS, longest = NAME_COLUMNS_MIN;
        PhaseColumns columns;

        for (size_t i = 0; i < phases->n; i++) {
                scoped(buffer_deinit) Buffer name = {}, text = {};
                Screen plain = { .out = &text };
                size_t n;

                if (!phases->items[i].is_shown)
                        continue;
                format_name(&phases->items[i], &name);
                n = screen_text(&plain, name.text ? name.text : "");
                longest = n > longest ? n : longest;
        }

        columns.name = longest < NAME_COLUMNS_MAX ? longest : NAME_COLUMNS_MAX;
        if (n_fixed + columns.name + BAR_COLUMNS_MIN > screen->width)
                columns.name = NAME_COLUMNS_MIN;
        columns.bar = screen->width > n_fixed + columns.name + BAR_COLUMNS_MIN ? screen->width - n_fixed - columns.name : BAR_COLUMNS_MIN;
        columns.bar = columns.bar < BAR_COLUMNS_MAX ? columns.bar : BAR_COLUMNS_MAX;
        return columns;
}

static void put_right(Screen *screen, const char *text, size_t n_columns) {
        screen_pad(screen, strlen(text), n_columns);
        buffer_puts(screen->out, text);
}

static void write_phase(Sheet *sheet, const PhaseLines *phases, const PhaseLine *phase, PhaseColumns columns) {
        scoped(buffer_deinit) Buffer name = {};
        char seconds[TEXT_MAX], cores[TEXT_MAX];
        Screen *screen = sheet->screen;

        buffer_puts(screen->out, "  ");
        format_name(phase, &name);
        screen_pad(screen, screen_text_cut(screen, name.text ? name.text : "", columns.name), columns.name);
        text_seconds(phase->seconds, seconds);
        put_right(screen, seconds, 1 + TIME_COLUMNS);
        buffer_puts(screen->out, "  ");
        screen_bar(screen, phases->seconds > 0 ? phase->seconds / phases->seconds : 0, columns.bar);
        if (phase->cores_seconds > 0) {
                text_cpus(phase->cpu_seconds / phase->cores_seconds, cores);
                put_right(screen, cores, CORES_COLUMNS - 1);
                buffer_puts(screen->out, sheet_mark(sheet, phase->is_exact));
        }
        buffer_putc(screen->out, '\n');
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
        PhaseColumns columns = choose_columns(sheet->screen, phases);
        Screen *screen = sheet->screen;

        buffer_putc(screen->out, '\n');
        screen_styled(screen, STYLE_BOLD, "Phases");
        screen_pad(screen, strlen("Phases"), 2 + columns.name);
        put_right(screen, "time", 1 + TIME_COLUMNS);
        buffer_puts(screen->out, "  share");
        if (phases->has_cores) {
                screen_pad(screen, strlen("share"), columns.bar);
                put_right(screen, phases->is_of_node ? "node's CPUs" : "cores", CORES_COLUMNS - 1);
        }
        buffer_putc(screen->out, '\n');

        for (size_t i = 0; i < phases->n; i++)
                if (phases->items[i].is_shown)
                        write_phase(sheet, phases, &phases->items[i], columns);
        write_rest(sheet, phases);
        if (is_truncated)
                buffer_puts(screen->out, "  and others, not listed\n");
}

void report_write_phases(Sheet *sheet) {
        const Value *list = value_get(sheet->job, "phases"), *is_truncated = value_get(sheet->job, "phases_truncated");
        PhaseLines phases = { .is_of_node = true };
        AnswerMetric cores;

        if (!list || list->type != VALUE_LIST || list->n_items == 0)
                return;

        for (size_t i = 0; i < list->n_items; i++)
                phases.is_of_node &= !answer_metric(&list->items[i], "job_cpus_used", &cores);
        for (size_t i = 0; i < list->n_items; i++)
                add_phase(sheet, &phases, &list->items[i]);
        choose_shown(&phases);
        write_table(sheet, &phases, is_truncated && is_truncated->type == VALUE_BOOL && is_truncated->boolean);
}
