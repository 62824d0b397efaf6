/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Question: what a command asks of perfd, and the answer as a Value
 *
 * Messages about what went wrong are spoken here, in the words of the person's question.
 */

#include <stdbool.h>

#include "client/api/http_client.h"
#include "client/cli/options.h"
#include "client/cli/screen.h"
#include "document/value.h"
#include "util/arena.h"

typedef struct ApiQuery {
        HttpClient *asker;
        char *socket;
        Buffer body;  /* JSON, of the last answer */
        Arena arena;
        const Value *answer; /* lives until the next one */
} ApiQuery;

/* EXIT_DONE, or the exit status after saying why. api_query_deinit() in any case. */
int api_query_init(ApiQuery *question, const Options *options);
void api_query_deinit(ApiQuery *question);

/* 0, or an exit status after saying why; no answer with status 2xx is an error. */
int api_query_ask(ApiQuery *question, const char *path);
/* Both: the first question. */
int api_query_open(ApiQuery *question, const Options *options, const char *path);
/* The first question, about a job: its address, or what is below it, as "/samples". EXIT_USAGE after saying so where `id` is no job's. */
int api_query_open_job(ApiQuery *question, const Options *options, const char *id, const char *below);
/* As api_query_ask(), but says nothing when perfd cannot be reached: EXIT_UNREACHABLE, and http_client_error() has the reason. */
int api_query_try(ApiQuery *question, const char *path);

/* The same as api_query_ask() for an answer that is no JSON: it is in `body`, and there is no `answer`. */
int api_query_ask_text(ApiQuery *question, const char *path);

/* Prints the answer as JSON to standard output. */
int api_query_print_json(const ApiQuery *question);

/* --- what answers have in common ------------------------------------------------------------------ */

typedef struct MetricValue {
        double value; /* in `unit` */
        const char *unit;
        bool is_exact;
} MetricValue;

/* From the list `metrics` of a job or the node. False: absent. */
bool metric_value_get(const Value *from, const char *key, MetricValue *ret);
/* "43.1 %", "12.3 MiB"; hours and seconds as "1 h 50 min" */
void metric_value_format(const MetricValue *value, char ret[static TEXT_MAX]);

/* "3.10", "12.5", "32" */
void text_cpus(double cpus, char ret[static TEXT_MAX]);

/* NAN where it is not a number: nobody knows it, or not yet. */
double number_find(const Value *from, const char *key);
/* 0 there. */
double number_get(const Value *from, const char *key);
uint64_t time_get(const Value *from, const char *key);
/* "" where it is not a string. */
const char *text_get(const Value *from, const char *key);
