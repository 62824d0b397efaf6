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

typedef struct Question {
        Asker *asker;
        char *socket;
        Buffer body;  /* JSON, of the last answer */
        Arena arena;
        const Value *answer; /* lives until the next one */
} Question;

/* EXIT_DONE, or the exit status after saying why. question_deinit() in any case. */
int question_init(Question *question, const Options *options);
void question_deinit(Question *question);

/* 0, or an exit status after saying why; no answer with status 2xx is an error. */
int question_ask(Question *question, const char *path);
/* Both: the first question. */
int question_open(Question *question, const Options *options, const char *path);
/* The first question, about a job: its address, or what is below it, as "/samples". EXIT_USAGE after saying so where `id` is no job's. */
int question_open_job(Question *question, const Options *options, const char *id, const char *below);
/* As question_ask(), but says nothing when perfd cannot be reached: EXIT_UNREACHABLE, and asker_error() has the reason. */
int question_try(Question *question, const char *path);

/* The same as question_ask() for an answer that is no JSON: it is in `body`, and there is no `answer`. */
int question_ask_text(Question *question, const char *path);

/* Prints the answer as JSON to standard output. */
int question_print_json(const Question *question);

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
