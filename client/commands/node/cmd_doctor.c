/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/spool.h"
#include "client/doctor/checks.h"
#include "client/wire/wire.h"
#include "util/clock.h"
#include "util/error_text.h"

typedef struct DoctorOptions {
        const char *root;
        SpoolOptions common;
} DoctorOptions;

/* --- perfd ---------------------------------------------------------------------------------------- */

static const char without_perfd[] = "the store, the sources and the sampling of perfd were not checked";

static bool ask_hello(Checks *checks, const char *path, uint64_t deadline_ns) {
        Check *check = checks_add(checks, "perfd");
        uint64_t begin_ns = clock_boottime_ns();
        Reply reply;
        int r;

        r = wire_ask_hello(path, deadline_ns, &reply);
        if (r < 0) {
                check_detail(check, "does not answer: %s", error_text(-r));
                check_problem(check, CHECK_FAILED, "results are kept in the spool, or lost",
                              "systemctl start perfd; if that fails, journalctl -u perfd");
                return false;
        }

        check_detail(check, "%s answers in %.1f ms", reply.server, (double)(clock_boottime_ns() - begin_ns) / 1e6);
        if (reply.status != STATUS_OK) {
                check_problem(check, CHECK_FAILED, "requests are refused", "check [limits] in perfd.conf: %s",
                              reply.complaint.text);
        }
        return true;
}

/* Checks what perfd reports of itself. *ret_is_there: perfd answered, even if it is not ready. */
static void ask_node(Checks *checks, const GlobalOptions *global, uint64_t deadline_ns, bool *ret_is_there) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer metrics = {};
        uint64_t now_ns = clock_boottime_ns();
        unsigned status;
        Check *check;
        int r;

        *ret_is_there = true;
        if (api_query_init(&query, global) != EXIT_DONE) {
                check = checks_add(checks, "libcurl");
                check_detail(check, "cannot load libcurl.so.4");
                check_problem(check, CHECK_LIMITED,
                              "commands that query perfd, such as perfctl report and perfctl status, do not work",
                              "install it (Debian: apt-get install libcurl4); "
                              "instead of perfctl-static, use perfctl on the host");
                return;
        }

        checks_live_add_socket(checks, "http-socket", query.socket);
        http_client_set_timeout(query.client, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        r = api_query_try(&query, "/api/v1/node");
        check = checks_add(checks, "http");
        if (r != EXIT_DONE) {
                *ret_is_there = r != EXIT_UNREACHABLE || query.answer;
                check_detail(check, "%s", query.answer ? "not ready" : http_client_error(query.client));
                check_problem(check, CHECK_FAILED, without_perfd,
                              "systemctl start perfd; if that fails, journalctl -u perfd");
                return;
        }
        check_detail(check, "answers");
        if (http_client_get(query.client, "/metrics?collect%5B%5D=self", &status, &metrics) != 0 || status != 200)
                buffer_clear(&metrics);
        checks_live_add_node(checks, query.answer, metrics.n > 0 ? metrics.text : "", clock_realtime_ns() / NS_PER_MS);
        if (api_query_try(&query, "/api/v1/quota") == EXIT_DONE)
                checks_live_add_quota(checks, query.answer, clock_realtime_ns() / NS_PER_MS);
        if (api_query_try(&query, "/api/v1/models") == EXIT_DONE)
                checks_live_add_models(checks, query.answer);
}

/* --- output --------------------------------------------------------------------------------------- */

static int print_json(const Checks *checks) {
        scoped(buffer_deinit) Buffer text = {}, out = {};
        Screen screen = { .out = &out };
        Json json = { .out = &text };

        json_array_begin(&json);
        for (size_t i = 0; i < checks->n; i++) {
                const Check *check = &checks->items[i];

                json_object_begin(&json);
                json_put_string(&json, "check", check->name);
                json_put_string(&json, "state", check_state_name(check->state));
                json_put_string(&json, "detail", check->detail);
                json_put_text_or_null(&json, "effect", check->effect);
                json_put_text_or_null(&json, "fix", check->fix);
                json_object_end(&json);
        }
        json_array_end(&json);
        buffer_putc(&text, '\n');
        if (buffer_error(&text) == 0)
                screen_json(&screen, text.text, text.n);

        return output_print(&out);
}

#define STATE_COLUMNS 9U
#define NAME_COLUMNS 15U
#define TEXT_COLUMN (STATE_COLUMNS + NAME_COLUMNS)

static void write_more(Screen *screen, const char *label, const char *text) {
        if (!*text)
                return;

        screen_pad(screen, 0, STATE_COLUMNS);
        screen_styled(screen, STYLE_DIM, label);
        screen_pad(screen, strlen(label), NAME_COLUMNS);
        screen_wrap(screen, text, TEXT_COLUMN);
}

static void write_check(Screen *screen, const Check *check) {
        static const Style styles[N_CHECK_STATES] = {
                [CHECK_OK] = STYLE_GOOD,
                [CHECK_LIMITED] = STYLE_WARN,
                [CHECK_FAILED] = STYLE_BAD,
        };
        const char *state = check_state_name(check->state);

        screen_styled(screen, styles[check->state], state);
        screen_pad(screen, strlen(state), STATE_COLUMNS);
        screen_styled(screen, STYLE_BOLD, check->name);
        screen_pad(screen, strlen(check->name), NAME_COLUMNS);
        screen_wrap(screen, check->detail, TEXT_COLUMN);
        write_more(screen, "  effect", check->effect);
        write_more(screen, "  fix", check->fix);
}

static int print_text(const Checks *checks, const CommandLine *line) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < checks->n; i++)
                write_check(&screen, &checks->items[i]);
        buffer_printf(&out, "\n%zu ok, %zu limited, %zu failed\n", checks_count(checks, CHECK_OK),
                      checks_count(checks, CHECK_LIMITED), checks_count(checks, CHECK_FAILED));

        return output_print(&out);
}

/* --- the command ---------------------------------------------------------------------------------- */

static int doctor_run(const CommandLine *line) {
        const DoctorOptions *options = line->options;
        const char *socket = wire_path(line->global.socket), *root = options->root;
        scoped(closep) int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool answers, is_http_there;
        char spool[PATH_MAX];
        uint64_t now_ns;
        Checks checks = {};
        int r;

        if (root_fd < 0) {
                message_print("cannot open %s: %s", root, error_text(errno));
                return EXIT_FAILED;
        }

        checks_add_tree(&checks, root_fd);
        checks_live_add_clock(&checks);
        checks_live_add_spool(&checks, spool_find_directory(options->common.spool, spool) == 0 ? spool : NULL);
        checks_live_add_socket(&checks, "socket", socket);
        /* One deadline for both sockets: the first has half of the time, the second what is left. */
        now_ns = clock_boottime_ns();
        answers = ask_hello(&checks, socket, now_ns + options->common.timeout_ns / 2);
        ask_node(&checks, &line->global, now_ns + options->common.timeout_ns, &is_http_there);

        r = options->common.json ? print_json(&checks) : print_text(&checks, line);
        if (r != EXIT_DONE)
                return r;
        if (!answers || !is_http_there)
                return EXIT_UNREACHABLE;

        return checks_worst(&checks) == CHECK_FAILED ? EXIT_FAILED : EXIT_DONE;
}

const Command cmd_doctor = {
        .name = "doctor",
        .summary = "Show what perfd cannot measure here, and how to enable it",
        .help = "Checks the kernel, the installation and perfd itself, which need not be running. Exits with 0 when "
                "no check failed (some may be limited), with 1 when a check failed, and with 3 when perfd is "
                "unreachable.",
        .examples = { "perfctl doctor", "perfctl doctor --json", "perfctl doctor --root /mnt/node17" },
        COMMAND_OPTION_ROWS(DoctorOptions,
                { "root", 0, "DIRECTORY", "Check the captured files of another machine", OPTION_TEXT(DoctorOptions, root), .initial = "/",
                  .value = OPTION_VALUE_DIRECTORY },
                OPTION_INCLUDE(DoctorOptions, common, SpoolOptions, spool_options)),
        .run = doctor_run,
};
