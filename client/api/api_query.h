/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * API query: GET request to perfd's HTTP API, with the answer as a Value
 *
 * All functions report their own failures on standard error.
 */

#include <stdbool.h>

#include "client/api/answer.h"
#include "client/api/http_client.h"
#include "client/cli/common_options.h"
#include "client/wire/protocol.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

typedef struct ApiQuery {
        HttpClient *client;
        const Option *options; /* of the command, for messages; NULL: none */
        char *socket;
        Buffer path; /* of the job that was asked for */
        Buffer body; /* JSON of the latest answer */
        Arena arena;
        const Value *answer; /* valid until the next request; NULL if there is no JSON answer */
} ApiQuery;

/* Returns EXIT_DONE, or an exit status after a message. Call api_query_deinit() in both cases. */
int api_query_init(ApiQuery *query, const GlobalOptions *global);
void api_query_deinit(ApiQuery *query);

/* Whether perfd may be running on this machine: the socket exists. */
bool api_query_has_socket(const GlobalOptions *global);

/*
 * Requests a path. Returns EXIT_DONE, or an exit status after a message; an HTTP status other than 2xx is a failure.
 */
int api_query_ask(ApiQuery *query, const char *path);
/* Calls api_query_init(), then api_query_ask(). */
int api_query_open(ApiQuery *query, const GlobalOptions *global, const char *path);
/* As the two functions above, for a path that was put together in a buffer. */
int api_query_ask_path(ApiQuery *query, const Buffer *path);
int api_query_open_path(ApiQuery *query, const GlobalOptions *global, const Buffer *path);
/*
 * As api_query_open() for the path of a job, with `below` appended, for example "/samples". job: the id of a job; or
 * a name, for the newest job of this name; or "last", for the newest job of this user; or NULL, for own_job() or
 * $SLURM_JOB_ID, otherwise as "last".
 */
int api_query_open_job(ApiQuery *query, const GlobalOptions *global, const char *job, const char *below);
/*
 * Returns the node that a job ran on: the job's own member, or the answer to a second query. NULL if perfd does not
 * name the node.
 */
const Value *api_query_node(ApiQuery *query, const Value *job);
/*
 * As api_query_ask(), but prints no message if perfd is unreachable: returns EXIT_UNREACHABLE; http_client_error()
 * has the reason.
 */
int api_query_try(ApiQuery *query, const char *path);
/*
 * Requests what is shown only if perfd answers within a time: prints no message. Returns the answer, or NULL. Call
 * api_query_deinit() in both cases.
 */
const Value *api_query_peek(ApiQuery *query, const GlobalOptions *global, const char *path, uint64_t timeout_ns);
/*
 * As api_query_ask() for a display that a message would spoil. Returns the answer, or NULL with the reason appended to
 * `ret_reason`.
 */
const Value *api_query_read(ApiQuery *query, const char *path, Buffer *ret_reason);
/* As api_query_ask() for an answer that is not JSON: `body` contains the text, and `answer` is NULL. */
int api_query_ask_text(ApiQuery *query, const char *path);

/*
 * Finds the id of a job that is an id, a name or "last". Without an answer of perfd, an id is taken as such.
 * EXIT_DONE, or an exit status after a message.
 */
int api_query_find_job_id(const GlobalOptions *global, const char *job, char ret[static JOB_ID_MAX]);
/*
 * Finds the job that a command acts for: `given`, as above; else own_job(), else "", the job whose control group this
 * process is in.
 * id: place for an id. The reference is borrowed from there or from the environment.
 */
int api_query_find_own_job(const GlobalOptions *global, const char *given, char id[static JOB_ID_MAX], JobRef *ret);

/* Returns EXIT_DONE if `id` is a valid job id, else EXIT_USAGE after a message. */
int api_query_check_job_id(const char *id);

/* Prints a message if the answer says that its list, such as "indicators", is cut off. */
void api_query_say_cut(const ApiQuery *query, const char *list);

/* Prints the answer as JSON to standard output. */
int api_query_print_json(const ApiQuery *query);

/* Indicator path: URL paths of queries about indicators, with all user input percent-encoded */

/* Starts a path: "/api/v1/indicators/NAME/WHAT". */
void api_query_begin_path(Buffer *path, const char *name, const char *what);
/* Writes "/api/v1/batches/ID". */
void api_query_batch_path(Buffer *path, const char *id);
/* Appends a query parameter; does nothing if value is NULL. */
void api_query_put_path(Buffer *path, const char *name, const char *value);
/* Appends the values of a repeatable option as one parameter, with commas between; does nothing without a value. */
void api_query_put_path_list(Buffer *path, const char *name, const OptionTexts *values);
/* Appends the time in ms that was age_ns ago, as the parameter `name`. */
void api_query_put_age(Buffer *path, const char *name, uint64_t age_ns);
/* Appends the parameters of --where, --since and --until. */
void api_query_select_path(Buffer *path, const SelectionOptions *selection);
