/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfctl-top: perfctl top on a terminal; the only user of ncurses
 *
 * A program of its own, which perfctl executes with the options of the command: no other command loads ncurses. The
 * screen is written as text by top_view.h and report.h, and drawn from there.
 */

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <wchar.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/report/report.h"
#include "client/top/top_options.h"
#include "client/top/top_view.h"
#include "util/clock.h"
#include "util/utf8.h"

#define STEP_MS 10000     /* as the history has it */
#define LEAP_MS 600000
#define ESCAPE_DELAY_MS 25
#define RETRY_NS (2 * NS_PER_S)
#define KEY_ESCAPE 27

/* The report of a job, in place of the list. */
typedef struct Page {
        char job[JOB_ID_MAX]; /* "": the list is shown */
        ApiQuery query;
        Buffer text;
        size_t first, n_lines;
} Page;

typedef struct Terminal {
        TopState state;
        TopWindow window;
        char selected[JOB_ID_MAX]; /* the id of the job, which keeps the selection when the order changes */
        Page page;
        Screen screen;
        Buffer out;
        SCREEN *curses;
} Terminal;

static void terminal_deinit(Terminal *terminal) {
        if (terminal->curses) {
                (void)endwin();
                delscreen(terminal->curses);
        }
        top_state_deinit(&terminal->state);
        api_query_deinit(&terminal->page.query);
        buffer_deinit(&terminal->page.text);
        buffer_deinit(&terminal->out);
}

/* --- drawing -------------------------------------------------------------------------------------- */

/* Sets what a code such as "1;31m" stands for. Returns the end of the code. */
static const char *take_style(const char *code) {
        attr_t attributes = A_NORMAL;
        char *end = (char *)code;

        do {
                long n = strtol(end, &end, 10);

                attributes |= n == 1              ? A_BOLD
                              : n == 2            ? A_DIM
                              : n >= 30 && n < 38 ? (attr_t)COLOR_PAIR(n - 29)
                                                  : A_NORMAL;
        } while (*end++ == ';');
        (void)attrset((int)attributes);
        return end;
}

/* A terminal of another character set shows a mark for each column of a character that is not ASCII. */
static size_t put_character(const char *text, size_t n, bool has_unicode) {
        size_t n_bytes = utf8_length(text, n);

        n_bytes = n_bytes > 0 ? n_bytes : 1;
        if (n_bytes == 1 || has_unicode)
                (void)addnstr(text, (int)n_bytes);
        else
                for (int i = wcwidth((wchar_t)utf8_decode(text, n_bytes)); i > 0; i--)
                        (void)addch('?');
        return n_bytes;
}

/* Draws lines of a text from line `first` on, in n_rows rows of the terminal. */
static void draw_lines(const Buffer *text, size_t first, int n_rows, bool has_unicode) {
        const char *p = text->text ?: "", *end = p + text->n;
        int row = -(int)first;

        (void)move(0, 0);
        while (p < end && row < n_rows) {
                if (*p == '\n') {
                        row++;
                        p++;
                        if (row >= 0 && row < n_rows)
                                (void)move(row, 0);
                } else if (row < 0)
                        p++;
                else if (p[0] == '\x1b' && p[1] == '[')
                        p = take_style(p + 2);
                else
                        p += put_character(p, (size_t)(end - p), has_unicode);
        }
        (void)attrset(A_NORMAL);
}

static void draw_last_line(Terminal *terminal, const char *keys) {
        const TopState *state = &terminal->state;
        Screen *screen = &terminal->screen;

        buffer_clear(&terminal->out);
        if (state->problem.n > 0) {
                scoped(buffer_deinit) Buffer text = {};
                char since[TEXT_MAX];

                text_time(state->answered_ms, since);
                buffer_printf(&text, "perfd does not answer since %s: %s", since, state->problem.text);
                screen_style_begin(screen, STYLE_BAD);
                (void)screen_text_cut(screen, text.text ?: "", screen->width - 1);
                screen_style_end(screen);
        } else
                (void)screen_text_cut(screen, keys, screen->width - 1);
        (void)move(LINES - 1, 0);
        for (size_t i = 0; i < terminal->out.n;) {
                const char *p = terminal->out.text + i;

                i = *p == '\x1b' ? (size_t)(take_style(p + 2) - terminal->out.text)
                                 : i + put_character(p, terminal->out.n - i, screen->has_unicode);
        }
        (void)attrset(A_NORMAL);
}

static void draw(Terminal *terminal) {
        bool has_unicode = terminal->screen.has_unicode;

        (void)erase();
        terminal->screen.width = COLS > 40 ? (unsigned)COLS : 40;
        if (terminal->page.job[0]) {
                draw_lines(&terminal->page.text, terminal->page.first, LINES - 1, has_unicode);
                draw_last_line(terminal, "Up Down scroll  Esc back  q quit");
        } else {
                buffer_clear(&terminal->out);
                terminal->window.n_rows = LINES > 0 ? (unsigned)LINES : 1;
                top_view_write(&terminal->screen, &terminal->state, &terminal->window);
                draw_lines(&terminal->out, 0, LINES - 1, has_unicode);
                if (terminal->window.selected_row > 0)
                        (void)mvchgat((int)terminal->window.selected_row, 0, -1, A_REVERSE, 0, NULL);
                draw_last_line(terminal, top_view_keys(&terminal->screen, &terminal->state.jobs));
        }
        (void)refresh();
}

/* --- the report of a job -------------------------------------------------------------------------- */

static void read_page(Terminal *terminal) {
        scoped(buffer_deinit) Buffer path = {};
        Page *page = &terminal->page;
        Screen screen = terminal->screen;
        const Value *job;

        buffer_printf(&path, "/api/v1/jobs/%s", page->job);
        job = api_query_read(&page->query, path.text ?: "/", &terminal->state.problem);
        if (!job)
                return;
        buffer_clear(&page->text);
        screen.out = &page->text;
        report_write_job(&screen, job, terminal->state.query[TOP_QUERY_NODE].answer, NULL);
        page->n_lines = 0;
        for (size_t i = 0; i < page->text.n; i++)
                page->n_lines += page->text.text[i] == '\n';
}

static void open_page(Terminal *terminal) {
        const TopJobs *jobs = &terminal->state.jobs;

        if (terminal->window.selected >= jobs->n)
                return;
        (void)snprintf(terminal->page.job, sizeof(terminal->page.job), "%s",
                       answer_text(jobs->items[terminal->window.selected].of, "id"));
        terminal->page.first = 0;
        read_page(terminal);
}

/* --- keys ----------------------------------------------------------------------------------------- */

static void refresh_terminal(Terminal *terminal) {
        if (top_state_refresh(&terminal->state) && terminal->page.job[0])
                read_page(terminal);
}

static void move_by(size_t *place, size_t n, long by) {
        long next = (long)*place + by;

        *place = next < 0 || n == 0 ? 0 : (size_t)next >= n ? n - 1 : (size_t)next;
}

/* Finds the place of the selected job. */
static void find_selected(Terminal *terminal) {
        const TopJobs *jobs = &terminal->state.jobs;

        for (size_t i = 0; i < jobs->n; i++)
                if (strcmp(answer_text(jobs->items[i].of, "id"), terminal->selected) == 0)
                        terminal->window.selected = i;
}

static void select_by(Terminal *terminal, long by) {
        const TopJobs *jobs = &terminal->state.jobs;

        move_by(&terminal->window.selected, jobs->n, by);
        (void)snprintf(terminal->selected, sizeof(terminal->selected), "%s",
                       jobs->n > 0 ? answer_text(jobs->items[terminal->window.selected].of, "id") : "");
}

/* Shows another time; one that has not been yet is now. */
static void shift(Terminal *terminal, int64_t ms) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        int64_t at_ms = (int64_t)(terminal->state.at_ms ?: now_ms) + ms;

        terminal->state.at_ms = at_ms > 0 && at_ms < (int64_t)now_ms ? (uint64_t)at_ms : 0;
        refresh_terminal(terminal);
}

/* Returns false if the user wants to end. */
static bool press_in_page(Terminal *terminal, int key) {
        Page *page = &terminal->page;

        switch (key) {
        case 'q': return false;
        case KEY_ESCAPE: case KEY_LEFT: case '\n': case '\r': case KEY_ENTER: page->job[0] = '\0'; break;
        case KEY_UP: case 'k': move_by(&page->first, page->n_lines, -1); break;
        case KEY_DOWN: case 'j': move_by(&page->first, page->n_lines, 1); break;
        case KEY_PPAGE: move_by(&page->first, page->n_lines, -LINES / 2); break;
        case KEY_NPAGE: case ' ': move_by(&page->first, page->n_lines, LINES / 2); break;
        case KEY_RESIZE: read_page(terminal); break;
        }
        return true;
}

static bool press(Terminal *terminal, int key) {
        TopState *state = &terminal->state;

        if (terminal->page.job[0])
                return press_in_page(terminal, key);
        switch (key) {
        case 'q': return false;
        case KEY_UP: case 'k': select_by(terminal, -1); break;
        case KEY_DOWN: case 'j': select_by(terminal, 1); break;
        case KEY_PPAGE: select_by(terminal, -LINES / 2); break;
        case KEY_NPAGE: select_by(terminal, LINES / 2); break;
        case KEY_LEFT: shift(terminal, -STEP_MS); break;
        case KEY_RIGHT: shift(terminal, STEP_MS); break;
        case '[': shift(terminal, -LEAP_MS); break;
        case ']': shift(terminal, LEAP_MS); break;
        case 'n': shift(terminal, INT64_MAX / 2); break;
        case 'c': top_state_sort(state, TOP_COLUMN_CPUS); break;
        case 'g': top_state_sort(state, TOP_COLUMN_GPUS); break;
        case 'm': top_state_sort(state, TOP_COLUMN_MEMORY); break;
        case 'i': top_state_sort(state, TOP_COLUMN_IO); break;
        case 'p': top_state_sort(state, TOP_COLUMN_WAITED); break;
        case '\n': case '\r': case KEY_ENTER: open_page(terminal); break;
        }
        return true;
}

/* A request that perfd does not answer ends at a key. */
static void watch_keys(Terminal *terminal) {
        for (size_t i = 0; i < N_TOP_QUERIES; i++)
                http_client_set_wake(terminal->state.query[i].client, STDIN_FILENO);
        http_client_set_wake(terminal->page.query.client, STDIN_FILENO);
}

/* --- the loop ------------------------------------------------------------------------------------- */

/* Text is UTF-8. The locale has its widths, also where the user's locale is not installed. */
static bool set_locale(const Screen *screen) {
        if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
                return true;
        return setlocale(LC_CTYPE, "C.UTF-8") && screen->has_unicode;
}

static const struct {
        const char *code;
        int key;
} arrows[] = { { "\x1b[A", KEY_UP }, { "\x1b[B", KEY_DOWN }, { "\x1b[C", KEY_RIGHT }, { "\x1b[D", KEY_LEFT } };

/* Returns whether the description of the terminal is there and tells how to move the cursor. newterm() would leak. */
static bool has_cursor(const char *name) {
        int error;
        bool ret;

        if (!name || !*name || setupterm(name, STDOUT_FILENO, &error) != OK)
                return false;
        ret = cursor_address != NULL;
        (void)del_curterm(cur_term);
        return ret;
}

static int open_terminal(Terminal *terminal, const GlobalOptions *global) {
        Screen *screen = &terminal->screen;
        const char *name = getenv("TERM");

        screen_init(screen, &terminal->out, STDOUT_FILENO, global->no_color);
        screen->has_unicode = set_locale(screen);
        (void)set_escdelay(ESCAPE_DELAY_MS);
        terminal->curses = has_cursor(name) ? newterm(NULL, stdout, stdin) : NULL;
        if (!terminal->curses) {
                message_print("the terminal '%s' cannot show a screen: set TERM, or use --once or --json", name ?: "");
                return EXIT_FAILED;
        }
        (void)cbreak();
        (void)noecho();
        (void)keypad(stdscr, TRUE);
        (void)nodelay(stdscr, TRUE);
        (void)curs_set(0);
        /* Some terminals send these whatever their description says. */
        for (size_t i = 0; i < N_ELEMENTS(arrows); i++)
                (void)define_key(arrows[i].code, arrows[i].key);
        screen->has_color = screen->has_color && has_colors() && start_color() == OK && use_default_colors() == OK;
        for (short i = 0; screen->has_color && i < 8; i++)
                (void)init_pair((short)(i + 1), i, -1);
        return EXIT_DONE;
}

/* Waits for a key until a time. ERR: there is none. False: the terminal is gone. */
static bool read_key(uint64_t until_ns, int *ret_key) {
        struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
        uint64_t now_ns = clock_boottime_ns();

        *ret_key = getch(); /* ncurses may have read more than one */
        if (*ret_key != ERR)
                return true;
        (void)poll(&input, 1, until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0);
        *ret_key = getch();
        return !(input.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void run(Terminal *terminal, const TopOptions *options) {
        uint64_t next_ns = 0;

        for (uint64_t n = 0; options->limit == 0 || n <= options->limit;) {
                int key;

                if (clock_boottime_ns() >= next_ns) {
                        if (++n > 1 && terminal->state.at_ms == 0)
                                refresh_terminal(terminal);
                        next_ns = clock_boottime_ns() +
                                  (terminal->state.problem.n > 0 ? RETRY_NS : options->interval_ns);
                }
                find_selected(terminal);
                draw(terminal);
                if (!read_key(next_ns, &key) || (key != ERR && !press(terminal, key)))
                        return;
        }
}

int main(int argc, char **argv) {
        struct { GlobalOptions global; TopOptions own; } options = {};
        scoped(terminal_deinit) Terminal terminal = {};
        char error[OPTION_ERROR_MAX];
        OptionTable table = {};
        Arguments arguments;
        int r;

        option_table_add(&table, global_options, &options.global);
        option_table_add(&table, top_options, &options.own);
        if (options_parse(&table, "perfctl top", argc, argv, false, &arguments, error) != 0)
                return command_refuse("top", "%s", error);

        r = top_state_init(&terminal.state, &options.global);
        if (r == EXIT_DONE)
                r = api_query_init(&terminal.page.query, &options.global);
        if (r != EXIT_DONE)
                return r;
        terminal.state.at_ms = options.own.at_ms;
        top_state_sort_by_word(&terminal.state, options.own.sort);
        (void)top_state_refresh(&terminal.state);
        r = open_terminal(&terminal, &options.global);
        watch_keys(&terminal);
        if (r == EXIT_DONE)
                run(&terminal, &options.own);
        return r;
}
