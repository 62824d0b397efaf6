/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"
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

static void look_at_spool(const Options *options, Health *health) {
        char **names;

        if (spool_find_directory(options->spool, health->spool) < 0)
                return;
        if (spool_list(health->spool, &names, &health->n_spooled) == 0)
                spool_names_free(names, health->n_spooled);
}

static bool is_store_well(const Health *health) {
        const Value *writable = value_get(value_get(health->node, "store"), "writable");

        return writable && writable->type == VALUE_BOOL && writable->boolean;
}

static int judge(const Health *health) {
        if (health->error < 0 || !health->is_http_reachable)
                return EXIT_UNREACHABLE;

        return health->hello.status == STATUS_OK && health->node && is_store_well(health) ? EXIT_DONE : EXIT_FAILED;
}

/* --- for programs --------------------------------------------------------------------------------- */

static int print_json(const Health *health, const ApiQuery *question) {
        scoped(buffer_deinit) Buffer out = {};
        int status = judge(health);
        Json json;

        json_init(&json, &out);
        json_object_begin(&json);
        json_put_bool(&json, "reachable", status != EXIT_UNREACHABLE);
        json_put_bool(&json, "well", status == EXIT_DONE);
        json_put_string(&json, "socket", health->path);
        json_put_bool(&json, "socket_answers", health->error == 0);
        json_put_string(&json, "http_socket", question->socket);
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

        return print_out(&out) == EXIT_DONE ? status : EXIT_FAILED;
}

/* --- for people ----------------------------------------------------------------------------------- */

static void write_title(Screen *screen, const Health *health) {
        static const char *const words[] = { [EXIT_DONE] = "well", [EXIT_FAILED] = "not well", [EXIT_UNREACHABLE] = "cannot be reached" };
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

static void write_sockets(Screen *screen, const Health *health, const ApiQuery *question) {
        char text[PATH_MAX + 320], duration[TEXT_MAX];
        const char *http;

        snprintf(duration, sizeof(duration), "%.1f ms", (double)health->hello_ns / 1e6);
        snprintf(text, sizeof(text), "%s: %s%s", health->path, health->error == 0 ? "answers in " : strerrordesc_np(-health->error),
                 health->error == 0 ? duration : "");
        screen_field(screen, "socket", text);

        http = health->node ? "answers" : health->is_http_reachable ? "not ready" : http_client_error(question->asker);
        snprintf(text, sizeof(text), "%s: %s", question->socket, http);
        screen_field(screen, "http", text);
}

static void write_store(Screen *screen, const Value *store) {
        char size[TEXT_MAX], limit[TEXT_MAX], text[512];
        const Value *writable = value_get(store, "writable"), *is_volatile = value_get(store, "volatile");
        bool is_well = writable && writable->type == VALUE_BOOL && writable->boolean;

        text_mib(number_get(store, "size_bytes") / 1048576, size);
        text_mib(number_get(store, "size_limit_bytes") / 1048576, limit);
        snprintf(text, sizeof(text), "%s%s, %s of %s%s%s", is_well ? "takes results" : "takes nothing",
                 is_volatile && is_volatile->type == VALUE_BOOL && is_volatile->boolean ? " (volatile)" : "", size, limit,
                 is_well ? "" : ": ", is_well ? "" : text_get(store, "error"));
        screen_field(screen, "store", text);
}

static void write_node(Screen *screen, const Value *node) {
        uint64_t started_ms = time_get(node, "started_ms"), now_ms = clock_realtime_ns() / NS_PER_MS;
        char since[TEXT_MAX], uptime[TEXT_MAX], interval[TEXT_MAX], text[4 * TEXT_MAX];

        text_time(started_ms, since);
        text_duration((now_ms > started_ms ? now_ms - started_ms : 0) * NS_PER_MS, uptime);
        snprintf(text, sizeof(text), "%s, since %s", uptime, since);
        screen_field(screen, "up", text);

        text_duration(time_get(node, "interval_ms") * NS_PER_MS, interval);
        snprintf(text, sizeof(text), "every %s", interval);
        screen_field(screen, "samples", text);

        snprintf(text, sizeof(text), "%ju running", (uintmax_t)time_get(node, "jobs_running"));
        screen_field(screen, "jobs", text);
        write_store(screen, value_get(node, "store"));
}

static void write_spool(Screen *screen, const Health *health) {
        char text[PATH_MAX + 96];

        if (health->n_spooled == 0)
                return;

        snprintf(text, sizeof(text), "%zu files in %s; 'perfctl flush' sends them", health->n_spooled, health->spool);
        screen_field(screen, "spool", text);
}

static int print_text(const Options *options, const Health *health, const ApiQuery *question) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        write_title(&screen, health);
        write_sockets(&screen, health, question);
        if (health->node)
                write_node(&screen, health->node);
        write_spool(&screen, health);

        return print_out(&out) == EXIT_DONE ? judge(health) : EXIT_FAILED;
}

/* One deadline for both sockets: the first has half of the time, the second what is left. */
int cmd_status(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {};
        Health health = { .path = wire_path(options->socket) };
        uint64_t now_ns = clock_boottime_ns(), deadline_ns = now_ns + options->timeout_ns;
        int r;

        ask_wire(&health, now_ns + options->timeout_ns / 2);
        look_at_spool(options, &health);

        r = api_query_init(&question, options);
        if (r != EXIT_DONE)
                return r;
        now_ns = clock_boottime_ns();
        http_client_allow(question.asker, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        r = api_query_try(&question, "/api/v1/node");
        health.is_http_reachable = r != EXIT_UNREACHABLE || question.answer;
        health.node = r == EXIT_DONE ? question.answer : NULL;

        return options_has(options, OPTION_JSON) ? print_json(&health, &question) : print_text(options, &health, &question);
}
