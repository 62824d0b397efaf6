/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/wire/own_job.h"
#include "client/wire/user.h"
#include "client/wire/wire.h"
#include "document/condition.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "value/value_parse.h"

/* --- indicator path -------------------------------------------------------------------------------- */

void api_query_begin_path(Buffer *path, const char *name, const char *what) {
        buffer_puts(path, "/api/v1/indicators/");
        buffer_put_encoded(path, name);
        buffer_printf(path, "/%s", what);
}

void api_query_batch_path(Buffer *path, const char *id) {
        buffer_puts(path, "/api/v1/batches/");
        buffer_put_encoded(path, id);
}

void api_query_put_path(Buffer *path, const char *name, const char *value) {
        if (!value)
                return;

        buffer_printf(path, "%c%s=", path->text && strchr(path->text, '?') ? '&' : '?', name);
        buffer_put_encoded(path, value);
}

void api_query_put_path_list(Buffer *path, const char *name, const OptionTexts *values) {
        scoped(buffer_deinit) Buffer list = {};

        for (size_t i = 0; i < values->n; i++)
                buffer_printf(&list, "%s%s", i > 0 ? "," : "", values->items[i]);
        path->failed |= buffer_error(&list) < 0;
        api_query_put_path(path, name, list.text);
}

void api_query_put_age(Buffer *path, const char *name, uint64_t age_ns) {
        uint64_t now_ns = clock_realtime_ns();
        char time_ms[24];

        snprintf(time_ms, sizeof(time_ms), "%" PRIu64, (now_ns > age_ns ? now_ns - age_ns : 0) / NS_PER_MS);
        api_query_put_path(path, name, time_ms);
}

void api_query_select_path(Buffer *path, const SelectionOptions *selection) {
        for (size_t i = 0; i < selection->where.n; i++) {
                const char *text = selection->where.items[i];
                scoped(buffer_deinit) Buffer condition = {};

                for (size_t at = 0; condition_next(text, &at, &condition); buffer_clear(&condition))
                        api_query_put_path(path, "where", condition.text);
        }
        if (selection->since_ns.is_given)
                api_query_put_age(path, "since_ms", selection->since_ns.value);
        if (selection->until_ns.is_given)
                api_query_put_age(path, "until_ms", selection->until_ns.value);
}

/* --- api query --------------------------------------------------------------------------------------- */

#define REQUEST_TIMEOUT_NS (10 * NS_PER_S)

static int make_client(ApiQuery *query, const GlobalOptions *global, uint64_t timeout_ns) {
        *query = (ApiQuery){ .options = global->command };
        query->socket = http_client_path(global->http_socket, wire_path(global->socket));
        return query->socket ? http_client_new(&query->client, query->socket, timeout_ns) : -ENOMEM;
}

int api_query_init(ApiQuery *query, const GlobalOptions *global) {
        int r = make_client(query, global, REQUEST_TIMEOUT_NS);

        if (r == 0)
                return EXIT_DONE;

        if (r != -ENOPKG)
                return command_fail(r);
        message_print("this command needs libcurl.so.4 (Debian: apt-get install libcurl4): %s", dlerror());
        return EXIT_FAILED;
}

bool api_query_has_socket(const GlobalOptions *global) {
        scoped(freep) char *socket = http_client_path(global->http_socket, wire_path(global->socket));

        return socket && access(socket, F_OK) == 0;
}

void api_query_deinit(ApiQuery *query) {
        http_client_freep(&query->client);
        free(query->socket);
        buffer_deinit(&query->path);
        buffer_deinit(&query->body);
        arena_deinit(&query->arena);
}

static int parse_answer(ApiQuery *query) {
        ValueError error;

        arena_deinit(&query->arena);
        return value_parse_only(query->body.text, query->body.n, &query->arena, &query->answer, &error);
}

#define PARAMETER "query parameter '"

/* since_ms is set by --since, ignore_entry by --ignore-entry. */
static bool sets_parameter(const Option *option, const char *name, size_t n) {
        const char *own = option->parameter ?: option->name;

        for (size_t i = 0; i < n; i++)
                if (own[i] != name[i] && !(own[i] == '-' && name[i] == '_'))
                        return !own[i] && n - i == 3 && memcmp(name + i, "_ms", 3) == 0;
        return !own[n];
}

/* Returns the option of the command that sets a parameter of a query; NULL if there is none. */
static const char *find_option(const Option *options, const char *name, size_t n) {
        OptionTable table = {};

        option_table_add(&table, options, NULL);
        for (size_t i = 0; i < table.n; i++)
                if (sets_parameter(table.entries[i].option, name, n))
                        return table.entries[i].option->name;
        return NULL;
}

/* Rewrites a message for the command line: "--since" for "since_ms=" and for "query parameter 'since_ms'". */
static void put_message(const char *message, const Option *options, Buffer *out) {
        bool is_quoted = false;

        for (const char *p = message; *p;) {
                bool is_word = p == message || p[-1] == ' ',
                     is_parameter = is_word && strncmp(p, PARAMETER, strlen(PARAMETER)) == 0;
                const char *name = p + (is_parameter ? strlen(PARAMETER) : 0);
                size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
                const char *option = is_word && !is_quoted && name[n] == (is_parameter ? '\'' : '=')
                                             ? find_option(options, name, n)
                                             : NULL;

                if (option) {
                        p = name + n + 1;
                        buffer_printf(out, "--%s%s", option, !is_parameter && isalnum((unsigned char)*p) ? " " : "");
                        continue;
                }
                is_quoted ^= *p == '\'' && (is_quoted || is_word);
                buffer_putc(out, *p++);
        }
}

static int refuse(const ApiQuery *query, unsigned status) {
        const char *message = answer_text(value_get(query->answer, "error"), "message");
        scoped(buffer_deinit) Buffer text = {};

        put_message(message[0] ? message : "unexpected answer from perfd", query->options, &text);
        message_print("%s", text.text ?: message);
        if (status == 400 && strncmp(message, PARAMETER, strlen(PARAMETER)) == 0)
                return EXIT_USAGE;
        return status == 503 ? EXIT_UNREACHABLE : EXIT_FAILED;
}

static void print_unreachable(const ApiQuery *query) {
        if (access(query->socket, F_OK) < 0)
                message_print("perfd is not running (no socket %s)", query->socket);
        else
                message_print("cannot connect to perfd at %s: %s", query->socket, http_client_error(query->client));
}

/* EXIT_DONE: there is a status and maybe an answer; or EXIT_UNREACHABLE without a message, or EXIT_FAILED after a
 * message. */
static int get(ApiQuery *query, const char *path, unsigned *ret_status) {
        int r;

        *ret_status = 0;
        buffer_clear(&query->body);
        query->answer = NULL;
        r = http_client_get(query->client, path, ret_status, &query->body);
        if (r == HTTP_CLIENT_UNREACHABLE)
                return EXIT_UNREACHABLE;
        if (r == 0)
                r = parse_answer(query);
        if (r < 0)
                return command_fail(r);
        if (r > 0)
                query->answer = NULL;
        return EXIT_DONE;
}

static bool is_success(const ApiQuery *query, unsigned status) {
        return query->answer && status >= 200 && status < 300;
}

int api_query_try(ApiQuery *query, const char *path) {
        unsigned status;
        int r;

        r = get(query, path, &status);
        return r != EXIT_DONE || is_success(query, status) ? r : refuse(query, status);
}

const Value *api_query_peek(ApiQuery *query, const GlobalOptions *global, const char *path, uint64_t timeout_ns) {
        unsigned status;

        if (make_client(query, global, timeout_ns) < 0 ||
            http_client_get(query->client, path, &status, &query->body) != 0 || parse_answer(query) != 0 ||
            !is_success(query, status))
                return NULL;
        return query->answer;
}

const Value *api_query_read(ApiQuery *query, const char *path, Buffer *ret_reason) {
        unsigned status = 0;
        int r;

        buffer_clear(&query->body);
        query->answer = NULL;
        r = http_client_get(query->client, path, &status, &query->body);
        if (r == 0 && parse_answer(query) == 0 && is_success(query, status))
                return query->answer;

        buffer_puts(ret_reason, r == HTTP_CLIENT_UNREACHABLE ? http_client_error(query->client)
                                : r < 0                      ? error_text(-r)
                                : query->answer ? answer_text(value_get(query->answer, "error"), "message")
                                                : "unexpected answer from perfd");
        return NULL;
}

int api_query_ask(ApiQuery *query, const char *path) {
        int r;

        r = api_query_try(query, path);
        if (r == EXIT_UNREACHABLE && !query->answer)
                print_unreachable(query);
        return r;
}

int api_query_open(ApiQuery *query, const GlobalOptions *global, const char *path) {
        int r;

        r = api_query_init(query, global);
        return r == EXIT_DONE ? api_query_ask(query, path) : r;
}

int api_query_ask_path(ApiQuery *query, const Buffer *path) {
        return buffer_error(path) < 0 ? command_fail(-ENOMEM) : api_query_ask(query, path->text);
}

int api_query_open_path(ApiQuery *query, const GlobalOptions *global, const Buffer *path) {
        int r;

        r = api_query_init(query, global);
        return r == EXIT_DONE ? api_query_ask_path(query, path) : r;
}

int api_query_check_job_id(const char *id) {
        if (indicator_name_is_valid(id, JOB_ID_MAX - 1) && strcmp(id, JOB_LAST) != 0)
                return EXIT_DONE;

        message_print("invalid job id '%.80s': expected 1 to 128 characters of [A-Za-z0-9_.:-]%s", id,
                      strcmp(id, JOB_LAST) == 0 ? ", other than 'last', which stands for your newest job" : "");
        return EXIT_USAGE;
}

/* Names that Slurm gives to jobs: two numbers and what is between them. */
static const struct {
        char between;
        const char *first, *second; /* labels that have the numbers */
} slurm_names[] = {
        { '_', "array_job_id", "array_task_id" },
        { '+', "het_job_id", "het_job_offset" },
        { '.', "slurm_job", "step" },
};

/*
 * Puts the query for the newest of the jobs that have `value` under `key`. key NULL: the job that Slurm calls so, a
 * job (5001, if perfd has another id for it), a task of an array (5000_7), a part of a heterogeneous job (5000+1) or a
 * step (5001.0). False: it is no such name.
 */
static bool put_jobs_query(Buffer *path, const char *key, const char *value) {
        size_t n = strspn(value, "0123456789"), i = 0;
        const char *rest = value[n] ? value + n + 1 : "";

        if (key) {
                buffer_printf(path, "/api/v1/jobs?limit=1&%s=", key);
                buffer_put_encoded(path, value);
                return buffer_error(path) == 0;
        }
        if (n > 0 && !value[n]) {
                buffer_printf(path, "/api/v1/jobs?limit=1&label=slurm_job%%3D%s", value);
                return buffer_error(path) == 0;
        }
        while (i < N_ELEMENTS(slurm_names) && slurm_names[i].between != value[n])
                i++;
        if (n == 0 || i == N_ELEMENTS(slurm_names) || !*rest || rest[strspn(rest, "0123456789")])
                return false;
        buffer_printf(path, "/api/v1/jobs?limit=1&label=%s%%3D%.*s&label=%s%%3D%s", slurm_names[i].first, (int)n,
                      value, slurm_names[i].second, rest);
        return buffer_error(path) == 0;
}

/* Asks for the newest of the jobs of put_jobs_query(). *ret: its id; "": there is none. */
static int find_newest(ApiQuery *query, const char *key, const char *value, char ret[static JOB_ID_MAX]) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *jobs;
        int r;

        ret[0] = '\0';
        if (!put_jobs_query(&path, key, value))
                return EXIT_DONE;
        r = api_query_ask_path(query, &path);
        jobs = r == EXIT_DONE ? value_get(query->answer, "jobs") : NULL;
        if (answer_length(jobs) > 0)
                (void)snprintf(ret, JOB_ID_MAX, "%s", answer_text(&jobs->items[0], "id"));
        return r;
}

#define JOB_PEEK_NS (150 * NS_PER_MS) /* a mark must not wait for long */

/* Finds the newest job of this user. */
static int find_last(ApiQuery *query, char ret[static JOB_ID_MAX]) {
        char user[sizeof((JobInfo){}.user)], number[16];
        int r;

        user_name_or_number(geteuid(), user, sizeof(user));
        (void)snprintf(number, sizeof(number), "%u", geteuid()); /* perfd may not know the name */
        r = find_newest(query, "user", user, ret);
        if (r == EXIT_DONE && !ret[0])
                r = find_newest(query, "user", number, ret);
        if (r == EXIT_DONE && !ret[0]) {
                message_print("no job of user %s; specify a job (perfctl job list)", user);
                return EXIT_FAILED;
        }
        return r;
}

static int ask_job(ApiQuery *query, const char *id, const char *below, unsigned *ret_status) {
        int r;

        buffer_clear(&query->path);
        buffer_printf(&query->path, "/api/v1/jobs/%s%s", id, below);
        if (buffer_error(&query->path) < 0)
                return command_fail(-ENOMEM);
        r = get(query, query->path.text, ret_status);
        if (r == EXIT_UNREACHABLE)
                print_unreachable(query);
        return r;
}

static int open_named(ApiQuery *query, const char *name, const char *below) {
        char id[JOB_ID_MAX];
        unsigned status;
        int r;

        r = find_newest(query, "name", name, id);
        if (r == EXIT_DONE && !id[0])
                r = find_newest(query, NULL, name, id);
        if (r != EXIT_DONE)
                return r;
        if (!id[0]) {
                message_print("no job '%.80s' on this node, by id or by name; see 'perfctl job list'", name);
                return EXIT_FAILED;
        }

        r = ask_job(query, id, below, &status);
        return r != EXIT_DONE || is_success(query, status) ? r : refuse(query, status);
}

int api_query_open_job(ApiQuery *query, const GlobalOptions *global, const char *job, const char *below) {
        char last[JOB_ID_MAX], id[JOB_ID_MAX];
        const char *own = own_job(id), *slurm = own_job_slurm();
        bool is_given = job ? strcmp(job, JOB_LAST) != 0 : !*own && slurm;
        unsigned status;
        int r;

        r = api_query_init(query, global);
        if (r == EXIT_DONE && !job && indicator_name_is_valid(own, JOB_ID_MAX - 1))
                job = own;
        else if (r == EXIT_DONE && !job && is_given)
                job = slurm;
        else if (r == EXIT_DONE && !is_given) {
                r = find_last(query, last);
                job = last;
        }
        if (r != EXIT_DONE)
                return r;
        if (!indicator_name_is_valid(job, JOB_ID_MAX - 1))
                return open_named(query, job, below);

        r = ask_job(query, job, below, &status);
        if (r != EXIT_DONE || is_success(query, status))
                return r;
        return status == 404 && is_given ? open_named(query, job, below) : refuse(query, status);
}

/* Finds an id by a query whose answer is only waited for briefly. False: none is known. */
static bool peek_id(const GlobalOptions *global, const char *key, const char *value, char ret[static JOB_ID_MAX]) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        const Value *jobs;

        if (!put_jobs_query(&path, key, value))
                return false;
        jobs = value_get(api_query_peek(&query, global, path.text, JOB_PEEK_NS), "jobs");
        if (answer_length(jobs) == 0)
                return false;
        (void)snprintf(ret, JOB_ID_MAX, "%s", answer_text(&jobs->items[0], "id"));
        return true;
}

static bool is_id(const GlobalOptions *global, const char *job) {
        scoped(api_query_deinit) ApiQuery query = {};
        char path[JOB_ID_MAX + 32];

        (void)snprintf(path, sizeof(path), "/api/v1/jobs/%s", job);
        return api_query_peek(&query, global, path, JOB_PEEK_NS) != NULL;
}

int api_query_find_job_id(const GlobalOptions *global, const char *job, char ret[static JOB_ID_MAX]) {
        bool may_be_id = indicator_name_is_valid(job, JOB_ID_MAX - 1) && strcmp(job, JOB_LAST) != 0;
        char user[sizeof((JobInfo){}.user)], number[16];

        user_name_or_number(geteuid(), user, sizeof(user));
        (void)snprintf(number, sizeof(number), "%u", geteuid());
        if (may_be_id && is_id(global, job))
                (void)snprintf(ret, JOB_ID_MAX, "%s", job);
        else if (strcmp(job, JOB_LAST) == 0 ? peek_id(global, "user", user, ret) || peek_id(global, "user", number, ret)
                                            : peek_id(global, "name", job, ret) || peek_id(global, NULL, job, ret))
                return EXIT_DONE;
        else if (may_be_id)
                (void)snprintf(ret, JOB_ID_MAX, "%s", job);
        else {
                message_print("no job '%.80s' on this node, by id or by name; see 'perfctl job list'", job);
                return EXIT_FAILED;
        }
        return EXIT_DONE;
}

int api_query_find_own_job(const GlobalOptions *global, const char *given, char id[static JOB_ID_MAX], JobRef *ret) {
        const char *job;

        if (given) {
                *ret = (JobRef){ .id = id };
                return api_query_find_job_id(global, given, id);
        }

        job = own_job(id);
        *ret = (JobRef){ .id = job, .is_inherited = *job };
        if (!*job || indicator_name_is_valid(job, JOB_ID_MAX - 1))
                return EXIT_DONE;
        message_print("invalid job id '%.200s' in $PERFD_JOB: expected 1 to 128 characters of [A-Za-z0-9_.:-]", job);
        return EXIT_USAGE;
}

const Value *api_query_node(ApiQuery *query, const Value *job) {
        const Value *on = value_get(job, "on");

        if (on && on->type == VALUE_OBJECT)
                return on;

        return api_query_try(query, "/api/v1/node") == EXIT_DONE ? query->answer : NULL;
}

int api_query_ask_text(ApiQuery *query, const char *path) {
        unsigned status = 0;
        int r;

        buffer_clear(&query->body);
        query->answer = NULL;
        r = http_client_get(query->client, path, &status, &query->body);
        if (r == 0 && status >= 200 && status < 300)
                return EXIT_DONE;
        if (r == HTTP_CLIENT_UNREACHABLE) {
                print_unreachable(query);
                return EXIT_UNREACHABLE;
        }
        if (r < 0)
                return command_fail(r);

        (void)parse_answer(query);
        return refuse(query, status);
}

void api_query_say_cut(const ApiQuery *query, const char *list) {
        if (answer_flag(query->answer, "truncated"))
                message_print("perfd lists the first %zu %s only, as many as fit into an answer",
                              answer_length(value_get(query->answer, list)), list);
}

int api_query_print_json(const ApiQuery *query) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen = { .out = &out };

        screen_json(&screen, query->body.text, query->body.n);
        if (out.n == 0 || out.text[out.n - 1] != '\n')
                buffer_putc(&out, '\n');
        return output_print(&out);
}
