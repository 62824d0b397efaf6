/* SPDX-License-Identifier: Apache-2.0 */
#include "client/top/top_view.h"

#include <math.h>
#include <string.h>

#include "util/clock.h"

#define LABEL_COLUMNS 9U
#define BAR_MAX 40U
#define TREND_MIN 16U        /* columns for a part of the last ten minutes */
#define SHORT_ROWS 24U       /* a screen with fewer has no empty lines */
#define GPU_LINES_MAX 4U     /* more GPUs have a level each */

/* --- numbers -------------------------------------------------------------------------------------- */

static void format_percent(double ratio, char ret[static TEXT_MAX]) {
        (void)snprintf(ret, TEXT_MAX, isnan(ratio) ? "-" : "%.1f %%", 100 * ratio);
}

static void format_bytes(double v, const char *unit, char ret[static TEXT_MAX]) {
        char text[TEXT_MAX] = "-";

        if (!isnan(v))
                text_mib(v / 1048576, text);
        (void)snprintf(ret, TEXT_MAX, "%.40s%s", text, isnan(v) ? "" : unit);
}

/* For the end of a text; "" if unknown. */
static void format_power(double watts, char ret[static TEXT_MAX]) {
        ret[0] = '\0';
        if (!isnan(watts))
                (void)snprintf(ret, TEXT_MAX, ", %.0f W", watts);
}

static void format_column(TopColumn column, double v, char ret[static TEXT_MAX]) {
        switch (column) {
        case TOP_COLUMN_CPUS:
        case TOP_COLUMN_GPUS:
                (void)snprintf(ret, TEXT_MAX, isnan(v) ? "-" : "%.2f", v);
                return;
        case TOP_COLUMN_MEMORY:
        case TOP_COLUMN_IO:
                format_bytes(v, column == TOP_COLUMN_IO ? "/s" : "", ret);
                return;
        case TOP_COLUMN_WAITED:
                format_percent(v, ret);
                return;
        case N_TOP_COLUMNS:
                break;
        }
}

/* --- the node ------------------------------------------------------------------------------------- */

/* Writes a share from 0 to 1 as one character. */
static void write_level(Screen *screen, double share) {
        static const char *const levels[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        size_t level = isnan(share) ? 0 : (size_t)(share > 1 ? 7 : share * 7 + 0.5);

        buffer_puts(screen->out, isnan(share)          ? " "
                                 : screen->has_unicode ? levels[level]
                                                       : (const char[]){ ".:-=+*%#"[level], '\0' });
}

/* Writes a level for each share or, if there are too many for the lines, for the highest of each few. */
static void write_levels(Screen *screen, const char *label, const double *shares, size_t n, size_t n_lines_max) {
        size_t n_columns = screen->width - LABEL_COLUMNS, n_places = n_columns * n_lines_max;
        size_t n_each = (n + n_places - 1) / n_places;

        for (size_t i = 0, column = 0; i < n; i += n_each, column++) {
                double busiest = NAN;

                if (column % n_columns == 0)
                        buffer_printf(screen->out, "%s%-*s", column > 0 ? "\n" : "", (int)LABEL_COLUMNS,
                                      column > 0 ? "" : label);
                for (size_t k = i; k < i + n_each && k < n; k++)
                        busiest = fmax(busiest, shares[k]);
                screen_style_begin(screen, STYLE_BAR);
                write_level(screen, busiest);
                screen_style_end(screen);
        }
        if (n > 0)
                buffer_putc(screen->out, '\n');
}

/* Writes the last ten minutes as a line of levels: of a ratio, or of the sum of two rates, relative to its highest. */
static void write_trend(Screen *screen, const TopNode *node, const TopNumber *numbers, size_t n_numbers,
                        size_t n_columns) {
        size_t n = n_columns < TOP_TREND_MAX ? n_columns : TOP_TREND_MAX;
        double sum[TOP_TREND_MAX], highest = 1;

        for (size_t i = 0; i < TOP_TREND_MAX; i++) {
                sum[i] = node->trend[numbers[0]][i] + (n_numbers > 1 ? node->trend[numbers[1]][i] : 0);
                highest = n_numbers > 1 ? fmax(highest, sum[i]) : 1;
        }
        screen_style_begin(screen, STYLE_BAR);
        for (size_t i = TOP_TREND_MAX - n; i < TOP_TREND_MAX; i++)
                write_level(screen, sum[i] / highest);
        screen_style_end(screen);
}

/* Ends a row of the node: a text, cut, and the trend of one or two numbers where there is space behind `end`. */
static void end_row(Screen *screen, const TopNode *node, size_t column, const char *text, size_t end,
                    const TopNumber *numbers, size_t n_numbers) {
        bool has_trend = n_numbers > 0 && screen->width >= end + TREND_MIN;

        end = has_trend ? end : screen->width;
        if (end > column)
                column += screen_text_cut(screen, text, end - column);
        if (has_trend) {
                screen_pad(screen, column, end + 1);
                write_trend(screen, node, numbers, n_numbers, screen->width - end - 1);
        }
        buffer_putc(screen->out, '\n');
}

/* trend: the number whose course is shown; N_TOP_NUMBERS: none */
static void write_bar_row(Screen *screen, const TopNode *node, const char *label, double ratio, const char *text,
                          TopNumber trend) {
        size_t n = screen->width / 3 > BAR_MAX ? BAR_MAX : screen->width / 3;
        char percent[TEXT_MAX];

        format_percent(ratio, percent);
        buffer_printf(screen->out, "%-*s%7s ", (int)LABEL_COLUMNS, label, percent);
        screen_bar(screen, ratio, n);
        buffer_putc(screen->out, ' ');
        end_row(screen, node, LABEL_COLUMNS + n + 9, text, LABEL_COLUMNS + n + 30, &trend, trend < N_TOP_NUMBERS);
}

static void write_number_row(Screen *screen, const TopNode *node, const char *label, TopNumber number,
                             const char *text) {
        write_bar_row(screen, node, label, node->number[number], text, number == TOP_ROOT ? N_TOP_NUMBERS : number);
}

/* The number, and the next: of what goes in, and out. */
static void write_rate_row(Screen *screen, const TopNode *node, const char *label, TopNumber number, const char *in,
                           const char *out) {
        char first[TEXT_MAX], second[TEXT_MAX], text[3 * TEXT_MAX];
        const TopNumber both[] = { number, number + 1 };

        format_bytes(node->number[number], "/s", first);
        format_bytes(node->number[number + 1], "/s", second);
        (void)snprintf(text, sizeof(text), "%s %s, %s %s", first, in, second, out);
        buffer_printf(screen->out, "%-*s", (int)LABEL_COLUMNS, label);
        end_row(screen, node, LABEL_COLUMNS, text, screen->width >= 100 ? LABEL_COLUMNS + BAR_MAX + 30 : 57, both, 2);
}

/* The share of its multiprocessors that works or, where that is not known, the share of time in which a kernel runs. */
static double activity_of(const TopGpu *gpu) {
        return isnan(gpu->number[TOP_GPU_ACTIVE]) ? gpu->number[TOP_GPU_UTILIZATION] : gpu->number[TOP_GPU_ACTIVE];
}

static void write_gpu(Screen *screen, const TopNode *node, const TopGpu *gpu) {
        char label[TEXT_MAX], used[TEXT_MAX], total[TEXT_MAX], power[TEXT_MAX], text[4 * TEXT_MAX];
        bool is_utilization = isnan(gpu->number[TOP_GPU_ACTIVE]) && !isnan(gpu->number[TOP_GPU_UTILIZATION]);

        format_bytes(gpu->number[TOP_GPU_MEMORY_USED], "", used);
        format_bytes(gpu->number[TOP_GPU_MEMORY_TOTAL], "", total);
        format_power(gpu->number[TOP_GPU_POWER], power);
        (void)snprintf(label, sizeof(label), "GPU %.4s ", gpu->name);
        if (isnan(activity_of(gpu)) && gpu->state[0])
                (void)snprintf(text, sizeof(text), "%s", gpu->state);
        else
                (void)snprintf(text, sizeof(text), "%s%s of %s%s", is_utilization ? "utilized, " : "", used, total,
                               power);
        write_bar_row(screen, node, label, activity_of(gpu), text, N_TOP_NUMBERS);
}

/* A line for each of a few GPUs; otherwise a line for all, and a level for each if there is space. */
static void write_gpus(Screen *screen, const TopNode *node, bool has_space) {
        bool is_active = !isnan(node->number[TOP_GPUS_ACTIVE]);
        double n_busy = node->number[is_active ? TOP_GPUS_ACTIVE : TOP_GPUS_UTILIZED], levels[TOP_GPUS_MAX];
        char busy[TEXT_MAX], power[TEXT_MAX], text[3 * TEXT_MAX];

        if (has_space && node->n_gpus > 0 && node->n_gpus <= GPU_LINES_MAX) {
                for (size_t i = 0; i < node->n_gpus; i++)
                        write_gpu(screen, node, &node->gpus[i]);
                return;
        }
        if (isnan(n_busy) || node->n_gpus_counted == 0)
                return;
        text_cpus(n_busy, busy);
        format_power(node->number[TOP_GPUS_POWER], power);
        (void)snprintf(text, sizeof(text), "%s of %zu %s%s", busy, node->n_gpus_counted,
                       is_active ? "active" : "utilized", power);
        write_bar_row(screen, node, "GPUs", n_busy / (double)node->n_gpus_counted, text, N_TOP_NUMBERS);
        for (size_t i = 0; i < node->n_gpus; i++)
                levels[i] = activity_of(&node->gpus[i]);
        if (has_space)
                write_levels(screen, "each GPU", levels, node->n_gpus, 1);
}

static void write_pressure_row(Screen *screen, const TopNode *node) {
        static const char *const labels[] = { "CPU", "mem", "I/O" };
        size_t n = (screen->width - LABEL_COLUMNS) / N_TOP_PRESSURES;

        buffer_printf(screen->out, "%-*s", (int)LABEL_COLUMNS, "waited");
        for (size_t i = 0; i < N_TOP_PRESSURES; i++) {
                double ratio = node->number[TOP_PRESSURE_CPU + i];
                char percent[TEXT_MAX];

                if (n <= 16) {
                        (void)snprintf(percent, sizeof(percent), isnan(ratio) ? "-" : "%.0f %%", 100 * ratio);
                        buffer_printf(screen->out, "%s %5s%s", labels[i], percent, i + 1 < N_TOP_PRESSURES ? " " : "");
                        continue;
                }
                format_percent(ratio, percent);
                buffer_printf(screen->out, "%s %7s ", labels[i], percent);
                screen_bar(screen, ratio, n - 14);
                buffer_puts(screen->out, "  ");
        }
        buffer_putc(screen->out, '\n');
}

static void write_node(Screen *screen, const TopNode *node, bool has_space) {
        char first[TEXT_MAX], second[TEXT_MAX], text[3 * TEXT_MAX];

        text[0] = '\0';
        if (!isnan(node->number[TOP_CORE_MAX]))
                (void)snprintf(text, sizeof(text), "cores %.0f to %.0f %%", 100 * node->number[TOP_CORE_MIN],
                               100 * node->number[TOP_CORE_MAX]);
        write_number_row(screen, node, "CPUs", TOP_CPU, text);
        write_levels(screen, "cores", node->core, node->n_cores, has_space ? 4 : 1);
        format_bytes(node->number[TOP_MEMORY] * node->memory_bytes, "", first);
        format_bytes(node->memory_bytes, "", second);
        (void)snprintf(text, sizeof(text), "%s of %s", first, second);
        write_number_row(screen, node, "memory", TOP_MEMORY, text);
        write_gpus(screen, node, has_space);
        write_number_row(screen, node, "disk /", TOP_ROOT, "");
        write_rate_row(screen, node, "disks", TOP_DISK_READ, "read", "written");
        write_rate_row(screen, node, "network", TOP_NET_RECEIVED, "received", "sent");
        if (!isnan(node->number[TOP_FABRIC_RECEIVED]))
                write_rate_row(screen, node, "fabric", TOP_FABRIC_RECEIVED, "received", "sent");
        if (!isnan(node->number[TOP_NETFS_READ]))
                write_rate_row(screen, node, "netfs", TOP_NETFS_READ, "read", "written");
        write_pressure_row(screen, node);
}

/* --- jobs ----------------------------------------------------------------------------------------- */

/* A column of the table, which a narrower screen leaves out. */
typedef struct TopField {
        const char *head;
        unsigned n_columns, width_min;
        bool is_left; /* aligned; otherwise right */
} TopField;

/* After those of TopColumn. */
enum { FIELD_USER = N_TOP_COLUMNS, FIELD_TIME, FIELD_COMMAND, N_FIELDS };

static const TopField fields[N_FIELDS] = {
        [TOP_COLUMN_CPUS] = { "CPUS", 7, 0, false }, [TOP_COLUMN_MEMORY] = { "MEMORY", 10, 0, false },
        [TOP_COLUMN_IO] = { "I/O", 12, 60, false },  [TOP_COLUMN_WAITED] = { "WAITED", 8, 0, false },
        [TOP_COLUMN_GPUS] = { "GPUS", 7, 0, false },
        [FIELD_USER] = { "USER", 10, 76, true },     [FIELD_TIME] = { "TIME", 12, 64, false },
        [FIELD_COMMAND] = { "COMMAND", 40, 116, true },
};
static const unsigned field_order[N_FIELDS] = { FIELD_USER,        FIELD_TIME,    TOP_COLUMN_CPUS,   TOP_COLUMN_GPUS,
                                                TOP_COLUMN_MEMORY, TOP_COLUMN_IO, TOP_COLUMN_WAITED, FIELD_COMMAND };

static bool shows_field(const Screen *screen, const TopJobs *jobs, unsigned i) {
        return screen->width >= fields[i].width_min && (i != TOP_COLUMN_GPUS || jobs->has_gpus);
}

/* Name and command share what the others leave. */
#define NAME_MAX_COLUMNS 40U

static size_t columns_left(const Screen *screen, const TopJobs *jobs) {
        size_t n = screen->width - 1;

        for (unsigned i = 0; i < N_FIELDS; i++)
                if (shows_field(screen, jobs, i))
                        n -= fields[i].n_columns;
        return n;
}

static size_t name_columns(const Screen *screen, const TopJobs *jobs) {
        size_t n = columns_left(screen, jobs);

        return n > NAME_MAX_COLUMNS ? NAME_MAX_COLUMNS : n;
}

static size_t field_columns(const Screen *screen, const TopJobs *jobs, unsigned i) {
        return fields[i].n_columns +
               (i == FIELD_COMMAND ? columns_left(screen, jobs) - name_columns(screen, jobs) : 0);
}

static void write_cell(Screen *screen, const TopJobs *jobs, unsigned i, const char *text) {
        size_t n = field_columns(screen, jobs, i);

        if (!fields[i].is_left) {
                screen_pad(screen, strlen(text), n);
                buffer_puts(screen->out, text);
                return;
        }
        buffer_putc(screen->out, ' ');
        screen_pad(screen, screen_text_cut(screen, text, n - 1) + 1, n);
}

static void write_heads(Screen *screen, const TopJobs *jobs, TopColumn sort) {
        screen_style_begin(screen, STYLE_BOLD);
        buffer_puts(screen->out, " JOB");
        screen_pad(screen, 3, name_columns(screen, jobs));
        for (size_t i = 0; i < N_FIELDS; i++) {
                char text[TEXT_MAX];

                (void)snprintf(text, sizeof(text), "%s%s", field_order[i] == sort ? "*" : "",
                               fields[field_order[i]].head);
                if (shows_field(screen, jobs, field_order[i]))
                        write_cell(screen, jobs, field_order[i], text);
        }
        screen_style_end(screen);
        buffer_putc(screen->out, '\n');
}

static const char *format_field(const TopNode *node, const TopJob *job, unsigned field, char room[static TEXT_MAX]) {
        uint64_t begin_ms = answer_time(job->of, "begin_ms");

        if (field == FIELD_USER && *answer_text(job->of, "user"))
                return answer_text(job->of, "user");
        if (field == FIELD_COMMAND)
                return answer_text(job->of, "command");
        if (field == FIELD_USER)
                (void)snprintf(room, TEXT_MAX, "uid %ju", (uintmax_t)answer_time(job->of, "uid"));
        else if (field == FIELD_TIME)
                text_duration((node->time_ms > begin_ms ? node->time_ms - begin_ms : 0) / 1000 * NS_PER_S, room);
        else
                format_column(field, job->value[field], room);
        return room;
}

static void write_job(Screen *screen, const TopState *state, const TopJob *job, bool is_selected) {
        const char *name = answer_text(job->of, "name");
        size_t n = name_columns(screen, &state->jobs);
        char room[TEXT_MAX];

        buffer_putc(screen->out, is_selected ? '>' : ' ');
        screen_pad(screen, screen_text_cut(screen, *name ? name : answer_text(job->of, "id"), n), n);
        for (size_t i = 0; i < N_FIELDS; i++)
                if (shows_field(screen, &state->jobs, field_order[i]))
                        write_cell(screen, &state->jobs, field_order[i],
                                   format_field(&state->node, job, field_order[i], room));
        buffer_putc(screen->out, '\n');
}

/* --- the screen ----------------------------------------------------------------------------------- */

static void write_title(Screen *screen, const TopState *state) {
        const TopNode *node = &state->node;
        scoped(buffer_deinit) Buffer text = {};
        size_t n_jobs = state->jobs.n;
        char time[TEXT_MAX], power[TEXT_MAX];
        size_t n;

        text_time(node->time_ms, time);
        format_power(node->number[TOP_POWER], power);
        screen_style_begin(screen, STYLE_BOLD);
        n = screen_text_cut(screen, node->hostname, screen->width / 3);
        screen_style_end(screen);
        buffer_printf(&text, "  %s%s  %ju CPUs%s  %zu job%s", time, state->at_ms > 0 ? " (past)" : "",
                      (uintmax_t)node->n_cpus, power, n_jobs, n_jobs == 1 ? "" : "s");
        if (state->n_hidden > 0)
                buffer_printf(&text, " and %ju of others", (uintmax_t)state->n_hidden);
        (void)screen_text_cut(screen, text.text ?: "", screen->width - n);
        buffer_putc(screen->out, '\n');
}

static void write_jobs(Screen *screen, const TopState *state, TopWindow *window, size_t n_lines) {
        size_t n = state->jobs.n, last = n > 0 ? n - 1 : 0;

        window->selected = window->selected < n ? window->selected : last;
        if (window->selected < window->first)
                window->first = window->selected;
        if (window->selected >= window->first + n_lines)
                window->first = window->selected + 1 - n_lines;
        for (size_t i = window->first; i < n && i < window->first + n_lines; i++)
                write_job(screen, state, &state->jobs.items[i], window->n_rows > 0 && i == window->selected);
        if (n == 0)
                buffer_puts(screen->out, state->n_hidden > 0 ? " Jobs of other users are shown to them.\n"
                                         : state->at_ms > 0  ? " No job ran then.\n"
                                                             : " No job runs. perfctl run -- COMMAND runs one.\n");
}

static size_t count_lines(const Buffer *out) {
        size_t n = 0;

        for (size_t i = 0; i < out->n; i++)
                n += out->text[i] == '\n';
        return n;
}

void top_view_write(Screen *screen, const TopState *state, TopWindow *window) {
        bool has_blanks = window->n_rows == 0 || window->n_rows >= SHORT_ROWS;
        size_t n;

        write_title(screen, state);
        if (has_blanks)
                buffer_putc(screen->out, '\n');
        write_node(screen, &state->node, has_blanks);
        if (has_blanks)
                buffer_putc(screen->out, '\n');
        write_heads(screen, &state->jobs, state->sort);
        n = count_lines(screen->out) + 1; /* and the line with the keys */
        write_jobs(screen, state, window,
                   window->n_rows == 0 ? SIZE_MAX / 2 : window->n_rows > n ? window->n_rows - n : 1);
        window->selected_row = state->jobs.n > 0 ? (unsigned)(n - 1 + window->selected - window->first) : 0;
}

const char *top_view_keys(const Screen *screen, const TopJobs *jobs) {
        if (!screen->has_unicode)
                return jobs->has_gpus ? "Enter report  c g m i p sort  left right 10 s  [ ] 10 min  n now  q quit"
                                      : "Enter report  c m i p sort  left right 10 s  [ ] 10 min  n now  q quit";
        if (screen->width < 72)
                return jobs->has_gpus ? "Enter report  cgmip sort  ←→ time  n now  q quit"
                                      : "Enter report  cmip sort  ←→ time  n now  q quit";
        return jobs->has_gpus ? "↑↓ Enter report  c g m i p sort  ←→ 10 s  [ ] 10 min  n now  q quit"
                              : "↑↓ Enter report  c m i p sort  ←→ 10 s  [ ] 10 min  n now  q quit";
}

/* --- for programs --------------------------------------------------------------------------------- */

static const char *const number_keys[] = {
#define X(id, key, ...) key,
        TOP_NUMBERS(X)
#undef X
};
static const char *const column_keys[] = {
#define X(id, word, key) key,
        TOP_COLUMNS(X)
#undef X
};
static const char *const identity_keys[] = { "id", "name", "user", "command" };

static void put_numbers(Json *json, const char *const *keys, const double *values, size_t n) {
        for (size_t i = 0; i < n; i++)
                json_put_double_or_null(json, keys[i], !isnan(values[i]), values[i]);
}

/* Puts the numbers from `first` to before `end` that are known. */
static void put_known(Json *json, const char *const *keys, const double *values, size_t first, size_t end) {
        for (size_t i = first; i < end; i++)
                if (!isnan(values[i]))
                        json_put_double(json, keys[i], values[i]);
}

static void put_gpus(Json *json, const TopNode *node) {
        if (node->n_gpus == 0)
                return;
        json_put_array_begin(json, "gpus");
        for (size_t i = 0; i < node->n_gpus; i++) {
                json_object_begin(json);
                json_put_string(json, "gpu", node->gpus[i].name);
                if (node->gpus[i].state[0])
                        json_put_string(json, "state", node->gpus[i].state);
                put_known(json, top_state_gpu_keys, node->gpus[i].number, 0, N_TOP_GPU_NUMBERS);
                json_object_end(json);
        }
        json_array_end(json);
}

void top_view_write_json(const TopState *state, Json *json) {
        const TopNode *node = &state->node;

        json_object_begin(json);
        json_put_string(json, "hostname", node->hostname);
        json_put_uint(json, "time_ms", node->time_ms);
        json_put_bool(json, "past", state->at_ms > 0);
        json_put_uint(json, "cpus", node->n_cpus);
        json_put_double_or_null(json, "memory_bytes", !isnan(node->memory_bytes), node->memory_bytes);
        put_numbers(json, number_keys, node->number, TOP_FABRIC_RECEIVED);
        put_known(json, number_keys, node->number, TOP_FABRIC_RECEIVED, TOP_PRESSURE_CPU);
        put_numbers(json, number_keys + TOP_PRESSURE_CPU, node->number + TOP_PRESSURE_CPU, N_TOP_PRESSURES);
        put_gpus(json, node);
        json_put_uint(json, "others_running", state->n_hidden);
        json_put_array_begin(json, "jobs");
        for (size_t i = 0; i < state->jobs.n; i++) {
                const TopJob *job = &state->jobs.items[i];

                json_object_begin(json);
                for (size_t k = 0; k < N_ELEMENTS(identity_keys); k++)
                        json_put_string(json, identity_keys[k], answer_text(job->of, identity_keys[k]));
                json_put_uint(json, "begin_ms", answer_time(job->of, "begin_ms"));
                put_numbers(json, column_keys, job->value, TOP_COLUMN_GPUS);
                put_known(json, column_keys, job->value, TOP_COLUMN_GPUS, TOP_COLUMN_GPUS + 1);
                put_numbers(json, column_keys + TOP_COLUMN_MEMORY, job->value + TOP_COLUMN_MEMORY,
                            N_TOP_COLUMNS - TOP_COLUMN_MEMORY);
                json_object_end(json);
        }
        json_array_end(json);
        json_object_end(json);
        buffer_putc(json->out, '\n');
}
