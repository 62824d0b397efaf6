/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/cli/text.h"
#include "client/commands/commands.h"
#include "client/deliver/spool.h"
#include "client/wire/hello.h"
#include "client/wire/wire.h"
#include "util/clock.h"

typedef struct Health {
        const char *path; /* of the socket for submissions */
        Reply hello;
        int error;        /* of the socket for submissions; 0: it answers */
        uint64_t hello_ns;
        const Value *node; /* NULL: the HTTP socket does not answer, or not yet */
        bool is_http_reachable;
        char spool[PATH_MAX];
        size_t n_spooled;
} Health;

static void ask_wire(Health *health, uint64_t deadline_ns) {
        uint64_t begin_ns = clock_boottime_ns();

        health->error = hello_ask(health->path, deadline_ns, &health->hello);
        health->hello_ns = clock_boottime_ns() - begin_ns;
}

static void read_spool(const char *directory, Health *health) {
        char **names;

        if (spool_find_directory(directory, health->spool) < 0)
                return;
        if (spool_list(health->spool, &names, &health->n_spooled) == 0)
                spool_names_free(names, health->n_spooled);
}

static bool is_store_well(const Health *health) {
        return answer_flag(value_get(health->node, "store"), "writable");
}

static int judge(const Health *health) {
        if (health->error < 0 || !health->is_http_reachable)
                return EXIT_UNREACHABLE;

        return health->hello.status == STATUS_OK && health->node && is_store_well(health) ? EXIT_DONE : EXIT_FAILED;
}

/* --- for programs --------------------------------------------------------------------------------- */

static int print_json(const Health *health, const ApiQuery *query) {
        scoped(buffer_deinit) Buffer out = {};
        int status = judge(health);
        Json json;

        json_init(&json, &out);
        json_object_begin(&json);
        json_put_bool(&json, "reachable", status != EXIT_UNREACHABLE);
        json_put_bool(&json, "healthy", status == EXIT_DONE);
        json_put_string(&json, "socket", health->path);
        json_put_bool(&json, "socket_answers", health->error == 0);
        json_put_string(&json, "http_socket", query->socket);
        json_put_bool(&json, "http_answers", health->is_http_reachable);
        json_put_string(&json, "server", health->error == 0 ? health->hello.server : NULL);
        json_put_uint(&json, "spooled", health->n_spooled);
        json_key(&json, "node");
        if (health->node)
                value_write_json(health->node, &json);
        else
                json_null(&json);
        json_object_end(&json);
        buffer_putc(&out, '\n');

        return output_print(&out) == EXIT_DONE ? status : EXIT_FAILED;
}

/* --- for people ----------------------------------------------------------------------------------- */

static void write_title(Screen *screen, const Health *health) {
        static const char *const words[] = { [EXIT_DONE] = "healthy", [EXIT_FAILED] = "not healthy", [EXIT_UNREACHABLE] = "unreachable" };
        int status = judge(health);

        screen_style_begin(screen, STYLE_BOLD);
        (void)screen_text(screen, health->error == 0 && health->hello.server[0] ? health->hello.server : "perfd");
        if (health->error == 0 && health->hello.node[0]) {
                buffer_puts(screen->out, " on ");
                (void)screen_text(screen, health->hello.node);
        }
        screen_style_end(screen);
        buffer_puts(screen->out, ": ");
        screen_styled(screen, status == EXIT_DONE ? STYLE_GOOD : STYLE_BAD, words[status]);
        buffer_putc(screen->out, '\n');
}

static void write_sockets(Screen *screen, const Health *health, const ApiQuery *query) {
        char text[PATH_MAX + 320], duration[TEXT_MAX];
        const char *http;

        snprintf(duration, sizeof(duration), "%.1f ms", (double)health->hello_ns / 1e6);
        snprintf(text, sizeof(text), "%s: %s%s", health->path, health->error == 0 ? "answers in " : strerrordesc_np(-health->error),
                 health->error == 0 ? duration : "");
        screen_field(screen, "socket", text);

        http = health->node ? "answers" : health->is_http_reachable ? "not ready" : http_client_error(query->client);
        snprintf(text, sizeof(text), "%s: %s", query->socket, http);
        screen_field(screen, "http", text);
}

static void write_store(Screen *screen, const Value *store) {
        char size[TEXT_MAX], limit[TEXT_MAX], text[512];
        bool is_well = answer_flag(store, "writable");

        text_mib(answer_number_or_zero(store, "size_bytes") / 1048576, size);
        text_mib(answer_number_or_zero(store, "size_limit_bytes") / 1048576, limit);
        snprintf(text, sizeof(text), "%s%s, %s of %s%s%s", is_well ? "writable" : "not writable",
                 answer_flag(store, "volatile") ? " (volatile)" : "", size, limit,
                 is_well ? "" : ": ", is_well ? "" : answer_text(store, "error"));
        screen_field(screen, "store", text);
        if (*answer_text(store, "damage"))
                screen_field(screen, "damage", answer_text(store, "damage"));
        if (answer_flag(store, "salvaging"))
                screen_field(screen, "salvage", "in progress");
        else if (*answer_text(store, "salvage"))
                screen_field(screen, "salvage", answer_text(store, "salvage"));
        if (*answer_text(store, "sync_error"))
                screen_field(screen, "sync", answer_text(store, "sync_error"));
}

static void write_node(Screen *screen, const Value *node) {
        uint64_t started_ms = answer_time(node, "started_ms"), now_ms = clock_realtime_ns() / NS_PER_MS;
        char since[TEXT_MAX], uptime[TEXT_MAX], interval[TEXT_MAX], text[4 * TEXT_MAX];

        text_time(started_ms, since);
        text_duration((now_ms > started_ms ? now_ms - started_ms : 0) * NS_PER_MS, uptime);
        snprintf(text, sizeof(text), "%s, since %s", uptime, since);
        screen_field(screen, "up", text);

        text_duration(answer_time(node, "interval_ms") * NS_PER_MS, interval);
        snprintf(text, sizeof(text), "every %s", interval);
        screen_field(screen, "samples", text);

        snprintf(text, sizeof(text), "%ju running", (uintmax_t)answer_time(node, "jobs_running"));
        screen_field(screen, "jobs", text);
        write_store(screen, value_get(node, "store"));
}

static void write_spool(Screen *screen, const Health *health) {
        char text[PATH_MAX + 96];

        if (health->n_spooled == 0)
                return;

        snprintf(text, sizeof(text), "%zu files in %s; send them with 'perfctl flush'", health->n_spooled, health->spool);
        screen_field(screen, "spool", text);
}

static int print_text(const CommandLine *line, const Health *health, const ApiQuery *query) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        write_title(&screen, health);
        write_sockets(&screen, health, query);
        if (health->node)
                write_node(&screen, health->node);
        write_spool(&screen, health);

        return output_print(&out) == EXIT_DONE ? judge(health) : EXIT_FAILED;
}

/* One deadline for both sockets: the first has half of the time, the second the rest. */
static int status_run(const CommandLine *line) {
        const SpoolOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        Health health = { .path = wire_path(line->global.socket) };
        uint64_t now_ns = clock_boottime_ns(), deadline_ns = now_ns + options->timeout_ns;
        int r;

        ask_wire(&health, now_ns + options->timeout_ns / 2);
        read_spool(options->spool, &health);

        r = api_query_init(&query, &line->global);
        if (r != EXIT_DONE)
                return r;
        now_ns = clock_boottime_ns();
        http_client_allow(query.client, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        r = api_query_try(&query, "/api/v1/node");
        health.is_http_reachable = r != EXIT_UNREACHABLE || query.answer;
        health.node = r == EXIT_DONE ? query.answer : NULL;

        return options->json ? print_json(&health, &query) : print_text(line, &health, &query);
}

const Command cmd_status = {
        .name = "status",
        .arguments = "",
        .summary = "Show whether perfd is running and healthy",
        .help = "Checks both sockets. Exits with 3 when perfd is unreachable, and with 1 when it is not healthy.",
        .examples = { "perfctl status", "perfctl status --timeout 1 --json" },
        COMMAND_OPTIONS(SpoolOptions, spool_options),
        .run = status_run,
};
