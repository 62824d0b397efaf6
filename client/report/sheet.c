/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/sheet.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define NUMBER_COLUMNS 25U
#define WORDS_COLUMNS 18U
#define WORDS_WIDTH_MIN 76U /* minimum screen width for words after a share */
#define SHARE_COLUMNS 6U
#define CPU_HOURS_MIN_S 3600.0 /* CPU time is shown in hours from one hour on */
#define BAR_COLUMNS_MIN 8U
#define BAR_COLUMNS_MAX 40U

void sheet_init(Sheet *sheet, Screen *screen, const Value *job, const Value *node) {
        const Value *on = value_get(job, "on");

        *sheet = (Sheet){
                .screen = screen,
                .job = job,
                .on = on && on->type == VALUE_OBJECT ? on : node,
        };
}

const char *sheet_mark(Sheet *sheet, bool is_exact) {
        sheet->is_marked |= !is_exact;
        return is_exact ? "" : "~";
}

void sheet_format(Sheet *sheet, const AnswerMetric *value, char ret[static TEXT_MAX]) {
        char text[TEXT_MAX];

        answer_metric_format(value, text);
        snprintf(ret, TEXT_MAX, "%.60s%s", text, sheet_mark(sheet, value->is_exact));
}

bool sheet_text_get(Sheet *sheet, const char *key, char ret[static TEXT_MAX]) {
        AnswerMetric value;

        if (!answer_metric(sheet->job, key, &value))
                return false;

        sheet_format(sheet, &value, ret);
        return true;
}

/* Reasons are full sentences; they are changed here to follow the name of a metric. */
const char *sheet_absence(const Sheet *sheet, const char *key, char ret[static TEXT_MAX]) {
        const char *reason = answer_text(answer_find(value_get(sheet->job, "absent"), "key", key), "reason");
        size_t n;

        if (!*reason)
                return NULL;

        snprintf(ret, TEXT_MAX, "%s", reason);
        ret[0] = (char)tolower((unsigned char)ret[0]);
        n = strlen(ret);
        if (ret[n - 1] == '.')
                ret[n - 1] = '\0';
        return ret;
}

void sheet_text_share(double ratio, char ret[static TEXT_MAX]) {
        double percent = 100 * ratio;

        if (!isfinite(percent))
                strcpy(ret, "-");
        else if (percent > 0 && percent < 0.1)
                strcpy(ret, "<0.1 %");
        else
                snprintf(ret, TEXT_MAX, "%.*f %%", percent > 0 && percent < 9.95 ? 1 : 0, percent);
}

/* --- rows of text --------------------------------------------------------------------------------- */

void sheet_row_begin(SheetRow *row, Screen *screen, const char *label) {
        *row = (SheetRow){ .screen = screen, .indent = SHEET_INDENT, .column = SHEET_INDENT };

        buffer_puts(screen->out, "  ");
        screen_styled(screen, STYLE_DIM, label);
        screen_pad(screen, 2 + strlen(label), SHEET_INDENT);
}

void sheet_row_begin_item(SheetRow *row, Screen *screen, Style style, char mark) {
        *row = (SheetRow){ .screen = screen, .indent = 4, .column = 4 };

        buffer_puts(screen->out, "  ");
        screen_styled(screen, style, (char[]){ mark, '\0' });
        buffer_putc(screen->out, ' ');
}

static size_t piece_width_max(const SheetRow *row) {
        return row->screen->width > row->indent + 8 ? row->screen->width - row->indent : 8;
}

/* Formats a piece without colours, and returns its width. */
static size_t measure(const SheetRow *row, const char *text, Buffer *ret) {
        Screen plain = { .out = ret, .has_unicode = row->screen->has_unicode };

        return screen_text_cut(&plain, text, piece_width_max(row));
}

static void put_piece(SheetRow *row, const Style *style, const char *separator, const char *text) {
        scoped(buffer_deinit) Buffer piece = {};
        size_t n = measure(row, text, &piece), n_separator = row->has_pieces ? strlen(separator) : 0;
        size_t n_end = strlen(separator) > 1 ? 1 : 0; /* space for the comma before the next piece */

        if (row->has_pieces && row->column + n_separator + n + n_end > row->screen->width) {
                if (n_separator > 1)
                        buffer_put(row->screen->out, separator, n_separator - 1);
                buffer_putc(row->screen->out, '\n');
                screen_pad(row->screen, 0, row->indent);
                row->column = row->indent;
        } else {
                buffer_put(row->screen->out, separator, n_separator);
                row->column += n_separator;
        }

        if (style)
                screen_style_begin(row->screen, *style);
        buffer_put(row->screen->out, piece.text ? piece.text : "", piece.n);
        if (style)
                screen_style_end(row->screen);
        row->column += n;
        row->has_pieces = true;
}

void sheet_row_put(SheetRow *row, const char *text) {
        put_piece(row, NULL, ", ", text);
}

void sheet_row_put_styled(SheetRow *row, Style style, const char *text) {
        put_piece(row, &style, ", ", text);
}

void sheet_row_printf(SheetRow *row, const char *format, ...) {
        scoped(buffer_deinit) Buffer text = {};
        va_list args;

        va_start(args, format);
        buffer_vprintf(&text, format, args);
        va_end(args);

        sheet_row_put(row, text.text ? text.text : "");
}

static void put_words(SheetRow *row, const Style *style, const char *text) {
        scoped(buffer_deinit) Buffer word = {};

        while (*text) {
                size_t n = strcspn(text, " ");

                buffer_clear(&word);
                buffer_put(&word, text, n);
                if (n > 0 && word.text)
                        put_piece(row, style, " ", word.text);
                text += n;
                text += strspn(text, " ");
        }
}

void sheet_row_put_words(SheetRow *row, const char *text) {
        put_words(row, NULL, text);
}

void sheet_row_put_words_styled(SheetRow *row, Style style, const char *text) {
        put_words(row, &style, text);
}

void sheet_row_end(SheetRow *row) {
        buffer_putc(row->screen->out, '\n');
}

void sheet_row_write(Screen *screen, const char *label, const Style *style, const char *text) {
        SheetRow row;

        sheet_row_begin(&row, screen, label);
        put_piece(&row, style, "", text);
        sheet_row_end(&row);
}

/* --- bars ----------------------------------------------------------------------------------------- */

static double clamp(double ratio) {
        return !(ratio > 0) ? 0 : ratio < 1 ? ratio : 1;
}

/* Draws the ratio with partial cells, then the cells up to the peak in a lighter shade. */
static void write_bar(Screen *screen, double ratio, double peak_ratio, size_t n) {
        double cells = clamp(ratio) * (double)n;
        size_t n_ratio = (size_t)ceil(cells - 1.0 / 16), n_peak = (size_t)lround(clamp(peak_ratio) * (double)n);

        if (!screen->has_unicode)
                n_ratio = (size_t)lround(cells);
        screen_bar(screen, n_ratio > 0 ? cells / (double)n_ratio : 0, n_ratio);
        screen_style_begin(screen, STYLE_BAR);
        for (size_t i = n_ratio; i < n_peak; i++)
                buffer_puts(screen->out, screen->has_unicode ? "▒" : "+");
        screen_style_end(screen);
        n_ratio = n_peak > n_ratio ? n_peak : n_ratio;
        screen_bar(screen, 0, n - n_ratio);
}

void sheet_bar_row(Sheet *sheet, const char *label, const char *text, double ratio, double peak_ratio,
                   const char *words) {
        Screen *screen = sheet->screen;
        bool has_words = screen->width >= WORDS_WIDTH_MIN;
        size_t n_taken, n_bar, n_text, n_number;
        char share[TEXT_MAX];
        SheetRow row;

        sheet_row_begin(&row, screen, label);
        n_text = screen_text(screen, text);
        n_number = n_text < NUMBER_COLUMNS ? NUMBER_COLUMNS : n_text + 1;
        screen_pad(screen, n_text, n_number);
        n_taken = SHEET_INDENT + n_number + 1 + (has_words ? WORDS_COLUMNS : SHARE_COLUMNS);
        n_bar = screen->width > n_taken + BAR_COLUMNS_MIN ? screen->width - n_taken : BAR_COLUMNS_MIN;
        write_bar(screen, ratio, peak_ratio, n_bar < BAR_COLUMNS_MAX ? n_bar : BAR_COLUMNS_MAX);
        sheet_text_share(ratio, share);
        buffer_printf(screen->out, " %s%s%s", share, has_words && *words ? " " : "", has_words ? words : "");
        sheet_row_end(&row);
}

static void format_cpu_time(double s, bool in_hours, char ret[static TEXT_MAX]) {
        if (in_hours)
                text_number(s / 3600, ret);
        else
                text_seconds(s, ret);
}

void sheet_cpu_time_row(Sheet *sheet, double used_s, double given_s, bool is_exact, const char *words) {
        char used[TEXT_MAX], given[TEXT_MAX], unused[TEXT_MAX];
        bool is_given = !isnan(given_s), in_hours = (is_given ? given_s : used_s) >= CPU_HOURS_MIN_S;
        SheetRow row;

        format_cpu_time(used_s, in_hours, used);
        sheet_row_begin(&row, sheet->screen, in_hours ? "CPU hours" : "CPU time");
        if (is_given) {
                format_cpu_time(given_s, in_hours, given);
                format_cpu_time(given_s > used_s ? given_s - used_s : 0, in_hours, unused);
                sheet_row_printf(&row, "%s%s of %s used%s", used, sheet_mark(sheet, is_exact), given, words);
                sheet_row_printf(&row, "%s unused", unused);
        } else
                sheet_row_printf(&row, "%s%s used%s", used, sheet_mark(sheet, is_exact), words);
        sheet_row_end(&row);
}

void sheet_heading(Screen *screen, const char *title, const char *words) {
        if (screen->out->n > 0)
                buffer_putc(screen->out, '\n');
        screen_styled(screen, STYLE_BOLD, title);
        (void)screen_text_cut(screen, words, screen->width > strlen(title) + 8 ? screen->width - strlen(title) : 8);
        buffer_putc(screen->out, '\n');
}
