/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * API query: a GET of perfd's HTTP API, and the answer as a Value
 *
 * Failures are reported here, on standard error.
 */

#include <stdbool.h>

#include "client/api/answer.h"
#include "client/api/http_client.h"
#include "client/cli/common_options.h"
#include "client/cli/screen.h"
#include "document/value.h"
#include "util/arena.h"

typedef struct ApiQuery {
        HttpClient *client;
        char *socket;
        Buffer body; /* JSON of the latest answer */
        Arena arena;
        const Value *answer; /* valid until the next request; NULL: none */
} ApiQuery;

/* EXIT_DONE, or the exit status after a message. api_query_deinit() in any case. */
int api_query_init(ApiQuery *query, const GlobalOptions *global);
void api_query_deinit(ApiQuery *query);

/* Requests a path. EXIT_DONE, or an exit status after a message; a status other than 2xx is a failure. */
int api_query_ask(ApiQuery *query, const char *path);
/* api_query_init() and api_query_ask(). */
int api_query_open(ApiQuery *query, const GlobalOptions *global, const char *path);
/*
 * The same for a job: its path, and `below` it, as "/samples". job: an id; or a name, for the newest job of this name; or NULL, for
 * $PERFD_JOB, else the newest job of this user. EXIT_USAGE after a message where `job` is neither.
 */
int api_query_open_job(ApiQuery *query, const GlobalOptions *global, const char *job, const char *below);
/* The node that a job ran on: the job's own member, or the answer to another query. NULL where perfd does not tell. */
const Value *api_query_node(ApiQuery *query, const Value *job);
/* As api_query_ask(), without a message when perfd is unreachable: EXIT_UNREACHABLE, and http_client_error() has the reason. */
int api_query_try(ApiQuery *query, const char *path);
/* As api_query_ask(), for an answer that is not JSON: `body` has the text, and `answer` is NULL. */
int api_query_ask_text(ApiQuery *query, const char *path);

/* EXIT_DONE if `id` can be a job id, else EXIT_USAGE after a message. */
int api_query_check_job_id(const char *id);

/* Prints the answer as JSON to standard output. */
int api_query_print_json(const ApiQuery *query);
