/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <poll.h>

#include "client/cli/program.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/top/top_options.h"
#include "client/top/top_view.h"

#define PROGRAM "perfctl-top"
#define LIBRARY "libncursesw.so.6"

/* --- without a terminal --------------------------------------------------------------------------- */

/* Rates need two samples. */
static void wait_for_sample(const TopState *state, const TopOptions *options) {
        uint64_t ms = options->interval_ns / NS_PER_MS;

        (void)poll(NULL, 0, (int)(ms > state->node.interval_ms || state->at_ms > 0 ? ms : state->node.interval_ms));
}

static int print_state(const TopState *state, const TopOptions *options, bool no_color) {
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, no_color);
        if (options->json)
                top_view_write_json(state, &json);
        else
                top_view_write(&screen, state, &(TopWindow){});
        return output_print(&out);
}

static int print(const GlobalOptions *global, const TopOptions *options) {
        uint64_t limit = options->once ? 1 : options->limit;
        scoped(top_state_deinit) TopState state;
        bool is_away = false;
        int r;

        r = top_state_init(&state, global);
        state.at_ms = options->at_ms;
        top_state_sort_by_word(&state, options->sort);
        if (r == EXIT_DONE && state.at_ms == 0)
                (void)top_state_refresh(&state);
        for (uint64_t n = 0; r == EXIT_DONE && (limit == 0 || n < limit); n += !is_away) {
                if (n > 0 || state.at_ms == 0)
                        wait_for_sample(&state, options);
                if (top_state_refresh(&state))
                        r = print_state(&state, options, global->no_color);
                else if (!is_away)
                        message_print("perfd is away, trying again: %s", state.problem.text);
                is_away = state.problem.n > 0;
        }
        return r;
}

/* --- on a terminal -------------------------------------------------------------------------------- */

static void add_words(const char **words, size_t *n, const char *option, const char *value) {
        if (!value)
                return;
        words[(*n)++] = option;
        words[(*n)++] = value;
}

/* Returns only on failure. */
static int execute(const GlobalOptions *global, const TopOptions *options) {
        char at[TEXT_MAX], interval[32], limit[32];
        const char *words[16] = { PROGRAM };
        size_t n = 1;

        if (!dlopen(LIBRARY, RTLD_LAZY)) {
                message_print("on a terminal, this command needs " LIBRARY " (Debian: apt-get install libncursesw6); "
                              "--once and --json do not: %s", dlerror());
                return EXIT_FAILED;
        }
        text_time(options->at_ms, at);
        (void)snprintf(interval, sizeof(interval), "%jums", (uintmax_t)(options->interval_ns / NS_PER_MS));
        (void)snprintf(limit, sizeof(limit), "%ju", (uintmax_t)options->limit);
        add_words(words, &n, "--sort", options->sort);
        add_words(words, &n, "--interval", interval);
        add_words(words, &n, "--limit", options->limit > 0 ? limit : NULL);
        add_words(words, &n, "--at", options->at_ms > 0 ? at : NULL);
        add_words(words, &n, "--socket", global->socket);
        add_words(words, &n, "--http-socket", global->http_socket);
        if (global->no_color)
                words[n++] = "--no-color";
        return program_become(PROGRAM, "perfctl", (char *const *)words);
}

static int top_run(const CommandLine *line) {
        const TopOptions *options = line->options;

        if (options->once || options->json)
                return print(&line->global, options);
        if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
                return command_refuse(line->command->name, "standard input or output is not a terminal: use --once or "
                                                           "--json");
        return execute(&line->global, options);
}

const Command cmd_top = {
        .name = "top",
        .summary = "Show what the node and its jobs do, now or earlier",
        .help = "CPUs, memory, disks, network and pressure of the node, and its running jobs by CPU, memory, I/O or "
                "waiting. Enter shows the report of a job; the arrow keys left and right go through the history. The "
                "last line lists the keys. With --once or --json, no terminal is needed.",
        .examples = { "perfctl top", "perfctl top --at 03:00", "perfctl top --once --sort memory",
                      "perfctl top --json --interval 5s --limit 12 > minute.json" },
        COMMAND_OPTIONS(TopOptions, top_options),
        .run = top_run,
};
