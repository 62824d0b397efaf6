/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/answer.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/spool.h"
#include "client/wire/wire.h"
#include "util/clock.h"
#include "util/error_text.h"

#define LABEL_COLUMNS 12U

typedef struct Health {
        const char *path; /* of the socket for submissions */
        Reply hello;
        int error;        /* of the socket for submissions; 0: it answers */
        uint64_t hello_ns;
        const Value *node; /* NULL: the HTTP socket does not answer, or not yet */
        const Value *users; /* with their shares; NULL: not known */
        bool is_http_reachable;
        char spool[PATH_MAX];
        size_t n_spooled;
} Health;

static void ask_wire(Health *health, uint64_t deadline_ns) {
        uint64_t begin_ns = clock_boottime_ns();

        health->error = wire_ask_hello(health->path, deadline_ns, &health->hello);
        health->hello_ns = clock_boottime_ns() - begin_ns;
}

static void read_spool(const char *directory, Health *health) {
        struct dirent **entries;

        if (spool_find_directory(directory, health->spool) < 0)
                return;
        if (spool_list(health->spool, &entries, &health->n_spooled) == 0)
                spool_entries_free(entries, health->n_spooled);
}

static bool is_node_healthy(const Value *node) {
        return answer_flag(value_get(node, "store"), "writable") &&
               !*answer_text(value_get(node, "store"), "sync_error") &&
               !*answer_text(value_get(node, "http"), "error") &&
               !*answer_text(value_get(node, "configuration"), "error");
}

static int exit_status_of(const Health *health) {
        if (health->error < 0 || !health->is_http_reachable)
                return EXIT_UNREACHABLE;

        return health->hello.status == STATUS_OK && health->node && is_node_healthy(health->node) ? EXIT_DONE
                                                                                                  : EXIT_FAILED;
}

static uint64_t now_realtime_ms(void) {
        return clock_realtime_ns() / NS_PER_MS;
}

/* --- for programs --------------------------------------------------------------------------------- */

static void put_users_at_limit(Json *json, const Value *users) {
        uint64_t now_ms = now_realtime_ms();
        const Value *user;

        json_put_array_begin(json, "users_at_limit");
        for (size_t i = 0; (user = answer_next_refused(users, now_ms, &i));) {
                const Value *resources = value_get(user, "resources");
                scoped(buffer_deinit) Buffer name = {};

                answer_put_refused_name(user, &name);
                json_object_begin(json);
                json_put_string(json, "user", answer_text(user, "user"));
                json_put_string(json, "name", name.text);
                json_put_array_begin(json, "resources");
                for (size_t k = 0; k < answer_length(resources); k++)
                        if (answer_refusal_is_recent(&resources->items[k], now_ms))
                                value_write_json(&resources->items[k], json);
                json_array_end(json);
                json_object_end(json);
        }
        json_array_end(json);
}

static int print_json(const Health *health, const ApiQuery *query) {
        scoped(buffer_deinit) Buffer out = {};
        int status = exit_status_of(health);
        Json json = { .out = &out };

        json_object_begin(&json);
        json_put_bool(&json, "reachable", status != EXIT_UNREACHABLE);
        json_put_bool(&json, "healthy", status == EXIT_DONE);
        json_put_string(&json, "socket", health->path);
        json_put_bool(&json, "socket_answers", health->error == 0);
        json_put_string(&json, "http_socket", query->socket);
        json_put_bool(&json, "http_answers", health->is_http_reachable);
        json_put_string(&json, "server", health->error == 0 ? health->hello.server : NULL);
        json_put_uint(&json, "spooled", health->n_spooled);
        put_users_at_limit(&json, health->users);
        value_put_json(health->node, "node", &json);
        json_object_end(&json);
        buffer_putc(&out, '\n');

        return output_print(&out) == EXIT_DONE ? status : EXIT_FAILED;
}

/* --- for people ----------------------------------------------------------------------------------- */

static void write_title(Screen *screen, const Health *health) {
        static const char *const words[] = {
                [EXIT_DONE] = "healthy", [EXIT_FAILED] = "not healthy", [EXIT_UNREACHABLE] = "unreachable"
        };
        int status = exit_status_of(health);

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

__attribute__((format(printf, 3, 4))) static void write_field(Screen *screen, const char *label, const char *format,
                                                              ...) {
        scoped(buffer_deinit) Buffer text = {};
        va_list args;

        va_start(args, format);
        buffer_vprintf(&text, format, args);
        va_end(args);
        buffer_puts(screen->out, "  ");
        screen_styled(screen, STYLE_DIM, label);
        screen_pad(screen, strlen(label), LABEL_COLUMNS);
        (void)screen_text(screen, text.text ?: "");
        buffer_putc(screen->out, '\n');
}

static void write_sockets(Screen *screen, const Health *health, const ApiQuery *query) {
        if (health->error == 0)
                write_field(screen, "socket", "%s: answers in %.1f ms", health->path, (double)health->hello_ns / 1e6);
        else
                write_field(screen, "socket", "%s: %s", health->path, error_text(-health->error));
        write_field(screen, "http", "%s: %s", query->socket,
                    health->node                ? "answers"
                    : health->is_http_reachable ? "not ready"
                                                : http_client_error(query->client));
}

static void write_error(Screen *screen, const char *label, const Value *from, const char *key) {
        if (*answer_text(from, key))
                write_field(screen, label, "%s", answer_text(from, key));
}

static void write_store(Screen *screen, const Value *store) {
        char size[TEXT_MAX], limit[TEXT_MAX];
        bool is_writable = answer_flag(store, "writable");

        text_mib(answer_number_or_zero(store, "size_bytes") / 1048576, size);
        text_mib(answer_number_or_zero(store, "size_limit_bytes") / 1048576, limit);
        write_field(screen, "store", "%s%s, %s of %s%s%s", is_writable ? "writable" : "not writable",
                    answer_flag(store, "volatile") ? " (volatile)" : "", size, limit, is_writable ? "" : ": ",
                    is_writable ? "" : answer_text(store, "error"));
        write_error(screen, "damage", store, "damage");
        if (answer_flag(store, "salvaging"))
                write_field(screen, "salvage", "in progress");
        else
                write_error(screen, "salvage", store, "salvage");
        write_error(screen, "sync", store, "sync_error");
        if (answer_number_or_zero(store, "clock_ahead_seconds") > 0)
                write_field(screen, "clock",
                            "not synchronised, %.1f days ahead of the newest row: no rows are removed because of "
                            "their age",
                            answer_number_or_zero(store, "clock_ahead_seconds") / 86400);
}

/* "4, 1.28 active, 771 W, GPU 3: lost" */
static void put_gpus(Buffer *out, const Value *latest, const Value *gpus) {
        const char *key = value_get(latest, "gpus_active") ? "gpus_active" : "gpus_utilized";
        size_t n = 0;

        for (size_t i = 0; i < answer_length(gpus); i++)
                n += !value_get(&gpus->items[i], "parent"); /* without instances */
        buffer_printf(out, "%zu", n);
        if (value_get(latest, key))
                buffer_printf(out, ", %.2f %s", answer_number(latest, key), key + strlen("gpus_"));
        if (value_get(latest, "gpu_power_watts"))
                buffer_printf(out, ", %.0f W", answer_number(latest, "gpu_power_watts"));
        for (size_t i = 0; i < answer_length(gpus); i++) {
                const char *state = answer_text(&gpus->items[i], "state");

                if (*state && strcmp(state, "ok") != 0)
                        buffer_printf(out, ", GPU %s: %s", answer_text(&gpus->items[i], "gpu"), state);
        }
}

static void put_ports(Buffer *out, const Value *latest, const Value *ports) {
        double n_active = 0;

        (void)latest;
        for (size_t i = 0; i < answer_length(ports); i++)
                n_active += answer_number_or_zero(&ports->items[i], "fabric_active");
        buffer_printf(out, "%.0f of %zu ports active", n_active, answer_length(ports));
}

static void put_mounts(Buffer *out, const Value *latest, const Value *mounts) {
        (void)latest;
        buffer_printf(out, "%zu mounted", answer_length(mounts));
}

static void put_power(Buffer *out, const Value *latest, const Value *meters) {
        (void)meters;
        if (value_get(latest, "power_watts"))
                buffer_printf(out, "%.0f W (processors and memory)", answer_number(latest, "power_watts"));
}

/* Writes a line for each kind of equipment that the node has. */
static void write_equipment(Screen *screen, const Value *node) {
        static const struct {
                const char *source, *list, *label;
                void (*put)(Buffer *out, const Value *latest, const Value *items);
        } kinds[] = {
                { "gpu", "gpus", "GPUs", put_gpus },
                { "fabric", "fabric_ports", "fabric", put_ports },
                { "netfs", "network_filesystems", "netfs", put_mounts },
                { "energy", "energy_meters", "power", put_power },
        };
        const Value *latest = value_get(node, "latest"), *sources = value_get(node, "sources");

        for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
                scoped(buffer_deinit) Buffer text = {};
                const Value *items = value_get(latest, kinds[i].list);

                if (answer_length(items) > 0)
                        kinds[i].put(&text, latest, items);
                for (size_t k = 0; k < answer_length(sources); k++)
                        if (strcmp(answer_text(&sources->items[k], "name"), kinds[i].source) == 0 &&
                            !answer_flag(&sources->items[k], "up"))
                                buffer_printf(&text, "cannot be read: %s", answer_text(&sources->items[k], "error"));
                if (text.n > 0)
                        write_field(screen, kinds[i].label, "%s", text.text);
        }
}

static void write_node(Screen *screen, const Value *node) {
        const Value *configuration = value_get(node, "configuration");
        uint64_t started_ms = answer_time(node, "started_ms"), now_ms = now_realtime_ms();
        char since[TEXT_MAX], uptime[TEXT_MAX], interval[TEXT_MAX];

        text_time(started_ms, since);
        text_duration((now_ms > started_ms ? now_ms - started_ms : 0) * NS_PER_MS, uptime);
        text_duration(answer_time(node, "interval_ms") * NS_PER_MS, interval);
        write_field(screen, "up", "%s, since %s", uptime, since);
        write_field(screen, "samples", "every %s", interval);
        write_field(screen, "jobs", "%ju running", (uintmax_t)answer_time(node, "jobs_running"));
        write_equipment(screen, node);
        write_store(screen, value_get(node, "store"));
        write_error(screen, "http port", value_get(node, "http"), "error");
        if (*answer_text(configuration, "error"))
                write_field(screen, "config",
                            "configuration error, previous settings still active, next start will fail: %s",
                            answer_text(configuration, "error"));
        else if (*answer_text(configuration, "edited"))
                write_field(screen, "config", "%s was edited and not reloaded, previous settings still active",
                            answer_text(configuration, "edited"));
        if (*answer_text(configuration, "unknown_names"))
                write_field(screen, "config", "unknown users or groups, looked for each minute: %s",
                            answer_text(configuration, "unknown_names"));
        write_error(screen, "restart", configuration, "restart");
        if (*answer_text(configuration, "ignored"))
                write_field(screen, "config", "no effect, since perfd.socket opens the sockets: %s",
                            answer_text(configuration, "ignored"));
}

#define USERS_SHOWN_MAX 5U

static void write_users_at_limit(Screen *screen, const Value *users) {
        uint64_t now_ms = now_realtime_ms();
        const Value *user;
        size_t n = 0;

        for (size_t i = 0; (user = answer_next_refused(users, now_ms, &i)); n++) {
                scoped(buffer_deinit) Buffer text = {};

                if (n >= USERS_SHOWN_MAX)
                        continue;
                answer_put_refused_user(user, now_ms, &text);
                write_field(screen, "at limit", "%s", text.text ?: "");
        }
        if (n > USERS_SHOWN_MAX)
                write_field(screen, "at limit", "and %zu more users; see 'perfctl quota --all'", n - USERS_SHOWN_MAX);
}

static int print_text(const CommandLine *line, const Health *health, const ApiQuery *query) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        write_title(&screen, health);
        write_sockets(&screen, health, query);
        if (health->node)
                write_node(&screen, health->node);
        write_users_at_limit(&screen, health->users);
        if (health->n_spooled > 0)
                write_field(&screen, "spool", "%zu file%s in %s; 'perfctl flush' sends the results", health->n_spooled,
                            health->n_spooled == 1 ? "" : "s", health->spool);

        return output_print(&out) == EXIT_DONE ? exit_status_of(health) : EXIT_FAILED;
}

/* Returns false if the query cannot be set up. *ret: exit status. */
static bool ask_http(ApiQuery *query, const GlobalOptions *global, const char *path, uint64_t deadline_ns, int *ret) {
        uint64_t now_ns = clock_boottime_ns();

        *ret = api_query_init(query, global);
        if (*ret != EXIT_DONE)
                return false;
        http_client_set_timeout(query->client, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        *ret = api_query_try(query, path);
        return true;
}

/* One deadline for both sockets: the first has half of the time, the second the rest. */
static int status_run(const CommandLine *line) {
        const SpoolOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {}, quota = {};
        Health health = { .path = wire_path(line->global.socket) };
        uint64_t now_ns = clock_boottime_ns(), deadline_ns = now_ns + options->timeout_ns;
        int r;

        ask_wire(&health, now_ns + options->timeout_ns / 2);
        read_spool(options->spool, &health);

        if (!ask_http(&query, &line->global, "/api/v1/node", deadline_ns, &r))
                return r;
        health.is_http_reachable = r != EXIT_UNREACHABLE || query.answer;
        health.node = r == EXIT_DONE ? query.answer : NULL;
        if (health.node && ask_http(&quota, &line->global, "/api/v1/quota", deadline_ns, &r) && r == EXIT_DONE)
                health.users = value_get(quota.answer, "users");

        return options->json ? print_json(&health, &query) : print_text(line, &health, &query);
}

const Command cmd_status = {
        .name = "status",
        .summary = "Show whether perfd is healthy",
        .help = "Checks both sockets. Exits with 3 when perfd is unreachable, and with 1 when it does not provide "
                "everything that its configuration requires.",
        .examples = { "perfctl status", "perfctl status --timeout 1 --json" },
        COMMAND_OPTIONS(SpoolOptions, spool_options),
        .run = status_run,
};
