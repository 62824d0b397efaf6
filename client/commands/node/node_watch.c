/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/node/node_watch.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "util/clock.h"

#define LABEL_COLUMNS 10U
#define BAR_COLUMNS 40U

typedef struct Watch {
        const WatchOptions *options;
        ApiQuery query;
        Screen screen;
        Buffer out;
        uint64_t n_updates;
        bool is_redrawn;
        bool was_away;
        int signal_fd;
} Watch;

static void watch_deinit(Watch *watch) {
        if (watch->is_redrawn)
                (void)!write(STDOUT_FILENO, "\x1b[?25h", 6);
        api_query_deinit(&watch->query);
        buffer_deinit(&watch->out);
        closep(&watch->signal_fd);
}

/* --- one update ----------------------------------------------------------------------------------- */

/* An unknown number, such as a rate at the first sample, is NAN and shown as "-". */
static void format_number(double v, unsigned n_decimals, char ret[static TEXT_MAX]) {
        if (isnan(v))
                strcpy(ret, "-");
        else
                snprintf(ret, TEXT_MAX, "%.*f", (int)n_decimals, v);
}

static void format_bytes(double v, char ret[static TEXT_MAX]) {
        if (isnan(v))
                strcpy(ret, "-");
        else
                text_mib(v / 1048576, ret);
}

static void write_bar(Screen *screen, const char *label, double ratio, const char *more) {
        size_t n = screen->width > 50 ? screen->width - 40 : 10;

        char percent[TEXT_MAX];

        format_number(100 * ratio, 1, percent);
        buffer_printf(screen->out, "  %-*s%5s %% ", (int)LABEL_COLUMNS, label, percent);
        screen_bar(screen, ratio, n < BAR_COLUMNS ? n : BAR_COLUMNS);
        buffer_puts(screen->out, " ");
        screen_styled(screen, STYLE_DIM, more);
        buffer_putc(screen->out, '\n');
}

static void format_rate(double bytes_per_s, char ret[static TEXT_MAX]) {
        char text[TEXT_MAX];

        format_bytes(bytes_per_s, text);
        snprintf(ret, TEXT_MAX, "%.40s%s", text, isnan(bytes_per_s) ? "" : "/s");
}

typedef struct RateLine {
        const char *label;
        const char *words[2];
        const char *keys[2];
} RateLine;

static const RateLine rate_lines[] = {
        { "disks", { "read", "written" }, { "disk_read_bytes_per_second", "disk_written_bytes_per_second" } },
        { "network", { "received", "sent" }, { "network_received_bytes_per_second", "network_sent_bytes_per_second" } },
};

static void write_rates(Screen *screen, const RateLine *line, const Value *latest) {
        char first[TEXT_MAX], second[TEXT_MAX];

        format_rate(answer_number(latest, line->keys[0]), first);
        format_rate(answer_number(latest, line->keys[1]), second);
        buffer_printf(screen->out, "  %-*s%12s %-9s %12s %s\n", (int)LABEL_COLUMNS, line->label, first, line->words[0],
                      second, line->words[1]);
}

static void write_title(Screen *screen, const Value *node) {
        char time[TEXT_MAX];
        uint64_t n_jobs = answer_time(node, "jobs_running");

        text_time(answer_time(node, "time_ms"), time);
        screen_style_begin(screen, STYLE_BOLD);
        (void)screen_text(screen, answer_text(node, "hostname"));
        screen_style_end(screen);
        buffer_printf(screen->out, "  %ju CPUs  %ju job%s  %s\n\n", (uintmax_t)answer_time(node, "cpus"),
                      (uintmax_t)n_jobs, n_jobs == 1 ? "" : "s", time);
}

static void write_load(Screen *screen, const Value *load) {
        char first[TEXT_MAX], second[TEXT_MAX], third[TEXT_MAX];

        format_number(answer_number(load, "load1"), 2, first);
        format_number(answer_number(load, "load5"), 2, second);
        format_number(answer_number(load, "load15"), 2, third);
        buffer_printf(screen->out, "  %-*s%12s 1 min  %8s 5 min  %8s 15 min\n", (int)LABEL_COLUMNS, "load", first,
                      second, third);
}

static void write_screen(Screen *screen, const Value *node) {
        const Value *latest = value_get(node, "latest"), *cpu = value_get(latest, "cpu_utilization");
        const Value *memory = value_get(latest, "memory");
        char first[TEXT_MAX], second[TEXT_MAX], text[3 * TEXT_MAX];

        write_title(screen, node);

        format_number(100 * answer_number(cpu, "min"), 0, first);
        format_number(100 * answer_number(cpu, "max"), 0, second);
        snprintf(text, sizeof(text), "%s to %s %% of a CPU", first, second);
        write_bar(screen, "CPUs", answer_number(cpu, "mean"), text);
        format_bytes(answer_number(memory, "total_bytes") - answer_number(memory, "available_bytes"), first);
        format_bytes(answer_number(memory, "total_bytes"), second);
        snprintf(text, sizeof(text), "%s of %s", first, second);
        write_bar(screen, "memory", answer_number(latest, "memory_used_ratio"), text);
        write_bar(screen, "/", answer_number(latest, "root_filesystem_used_ratio"), "");

        buffer_putc(screen->out, '\n');
        for (size_t i = 0; i < N_ELEMENTS(rate_lines); i++)
                write_rates(screen, &rate_lines[i], latest);
        write_load(screen, value_get(latest, "load"));
}

static void write_line(Screen *screen, const Value *node, bool is_first) {
        const Value *latest = value_get(node, "latest");
        char text[TEXT_MAX], cpu[TEXT_MAX], memory[TEXT_MAX];

        if (is_first)
                buffer_printf(screen->out, "%-19s %6s %6s %14s %14s %14s %14s %5s\n",
                              "time", "cpu %", "mem %", "read", "written", "received", "sent", "jobs");

        text_time(answer_time(node, "time_ms"), text);
        format_number(100 * answer_number(value_get(latest, "cpu_utilization"), "mean"), 1, cpu);
        format_number(100 * answer_number(latest, "memory_used_ratio"), 1, memory);
        buffer_printf(screen->out, "%-19s %6s %6s", text, cpu, memory);
        for (size_t i = 0; i < 2 * N_ELEMENTS(rate_lines); i++) {
                format_rate(answer_number(latest, rate_lines[i / 2].keys[i % 2]), text);
                buffer_printf(screen->out, " %14s", text);
        }
        buffer_printf(screen->out, " %5ju\n", (uintmax_t)answer_time(node, "jobs_running"));
}

/* Writes one document on a line: time and latest sample. */
static void write_json(Screen *screen, const Value *node) {
        Json json = { .out = screen->out };

        json_object_begin(&json);
        json_put_uint(&json, "time_ms", answer_time(node, "time_ms"));
        json_put_uint(&json, "jobs_running", answer_time(node, "jobs_running"));
        value_put_json(value_get(node, "latest"), "latest", &json);
        json_object_end(&json);
        buffer_putc(screen->out, '\n');
}

/* The rest of each line may still show the end of a longer line. */
static void erase_line_ends(Buffer *out) {
        scoped(buffer_deinit) Buffer lines = {};

        for (size_t i = 0; i < out->n; i++) {
                if (out->text[i] == '\n')
                        buffer_puts(&lines, "\x1b[K");
                buffer_putc(&lines, out->text[i]);
        }
        buffer_puts(&lines, "\x1b[J");

        buffer_clear(out);
        buffer_put(out, lines.text, lines.n);
}

static int update(Watch *watch) {
        Screen *screen = &watch->screen;
        const Value *node;
        int r;

        /* Waits for perfd only if it answered before. */
        r = watch->n_updates == 0 ? api_query_ask(&watch->query, "/api/v1/node")
                                  : api_query_try(&watch->query, "/api/v1/node");
        if (r == EXIT_UNREACHABLE && watch->n_updates > 0) {
                if (!watch->was_away)
                        message_print("perfd is unreachable at %s: %s; waiting", watch->query.socket,
                            http_client_error(watch->query.client));
                watch->was_away = true;
                return EXIT_DONE;
        }
        if (r != EXIT_DONE)
                return r;

        node = watch->query.answer;
        watch->was_away = false;
        buffer_clear(&watch->out);
        if (watch->options->json)
                write_json(screen, node);
        else if (watch->is_redrawn) {
                /* Clears the screen once, then overwrites line by line, so that nothing flickers. */
                buffer_puts(&watch->out, watch->n_updates == 0 ? "\x1b[?25l\x1b[2J\x1b[H" : "\x1b[H");
                write_screen(screen, node);
                erase_line_ends(&watch->out);
        } else
                write_line(screen, node, watch->n_updates == 0);

        watch->n_updates++;
        return output_print(&watch->out);
}

/* --- the loop ------------------------------------------------------------------------------------- */

static int take_signals(Watch *watch) {
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGINT);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGHUP);
        watch->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
        if (watch->signal_fd < 0 || sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        return 0;
}

/* Returns false if the user asked to end. */
static bool wait_for_next(const Watch *watch, uint64_t next_ns) {
        struct pollfd pollfd = { .fd = watch->signal_fd, .events = POLLIN };
        uint64_t now_ns = clock_boottime_ns(), ns = next_ns > now_ns ? next_ns - now_ns : 0;

        return ppoll(&pollfd, 1,
                     &(struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) },
                     NULL) == 0;
}

int node_watch_run(const GlobalOptions *global, const WatchOptions *options) {
        scoped(watch_deinit) Watch watch = { .options = options, .signal_fd = -1 };
        uint64_t next_ns = clock_boottime_ns();
        int r;

        screen_init(&watch.screen, &watch.out, STDOUT_FILENO, global->no_color);
        watch.is_redrawn = watch.screen.can_move && !options->json;
        r = api_query_init(&watch.query, global);
        if (r == EXIT_DONE && take_signals(&watch) < 0)
                r = EXIT_FAILED;

        while (r == EXIT_DONE) {
                r = update(&watch);
                if (options->limit > 0 && watch.n_updates >= options->limit)
                        break;

                next_ns += options->interval_ns;
                if (!wait_for_next(&watch, next_ns))
                        break;
        }

        return r;
}
