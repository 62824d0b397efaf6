/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options shared by several commands: groups with a table each, and single rows
 *
 * An option has the same placeholder, letter and help text in all commands.
 */

#include "client/cli/options.h"
#include "document/indicator.h"
#include "job/job.h"
#include "util/clock.h"

/* Accepted by every command, also before the command's name. */
typedef struct GlobalOptions {
        bool help, no_color;
        const char *socket, *http_socket;
        const char *job; /* of a command whose argument is a job, given as an option */
        const Option *command; /* the command's own options, for messages; NULL: none */
} GlobalOptions;

extern const Option global_options[];
/* Accepted by commands whose argument is a job, which may also be an option. */
extern const Option job_argument_options[];

/* Position of a process in a parallel run. */
typedef struct PlaceOptions {
        OptionNumber rank, node;
        uint64_t n_ranks, n_nodes; /* 0: not given */
} PlaceOptions;

extern const Option place_options[];

/*
 * Checks rank and node against the numbers of ranks and nodes. Returns 0, or OPTION_WRONG with a message in
 * ret_error.
 */
int common_options_check_place(const PlaceOptions *place, char ret_error[static OPTION_ERROR_MAX]);

/* Selection of an indicator's results. */
typedef struct SelectionOptions {
        OptionTexts where; /* validated conditions */
        OptionNumber since_ns, until_ns; /* age: nanoseconds before now */
} SelectionOptions;

extern const Option selection_options[];

/* Names for a run that fails before it prints a document; NULL if not given. */
typedef struct FailedRunOptions {
        const char *indicator, *component;
} FailedRunOptions;

extern const Option failed_run_options[];

/* Options of commands that use perfd and the spool. */
typedef struct SpoolOptions {
        uint64_t timeout_ns;
        const char *spool; /* NULL if not given */
        bool json;
} SpoolOptions;

extern const Option spool_options[];

/* Options of a command whose only option is --timeout. */
typedef struct TimeoutOptions {
        uint64_t timeout_ns;
} TimeoutOptions;

extern const Option timeout_options[];

/* Options of a command whose only option is --json. */
typedef struct JsonOptions {
        bool json;
} JsonOptions;

extern const Option json_options[];

OptionParse option_parse_job_id, option_parse_label, option_parse_condition;

#define OPTION_ROW_BY(type, member, of_query) \
        { "by", 'b', "KEY,…", "Keys to group by: parameters, component, version …", OPTION_LIST(type, member), .parameter = (of_query) }
#define OPTION_ROW_JSON(type, member) { "json", 0, NULL, "Print JSON instead of text", OPTION_FLAG(type, member) }
#define OPTION_ROW_JOB(type, member) \
        { "job", 'j', "JOB", "Id of a job; of an existing one also its name, or 'last'", OPTION_LINE(type, member, JOB_TEXT_MAX - 1), .value = OPTION_VALUE_JOB }
#define OPTION_ROW_NEW_JOB(type, member) \
        { "job", 'j', "JOB", "Id of a job; of an existing one also its name, or 'last'", .parse = option_parse_job_id, .offset = OPTION_PLACE(type, member, const char *) }
#define OPTION_ROW_NAME(type, member)                                                                                  \
        { "name", 'n', "NAME", "Name of the job", OPTION_LINE(type, member, JOB_TEXT_MAX - 1) }
#define OPTION_ROW_LABEL(type, member) \
        { "label", 'l', "KEY=VALUE", "Label; may be repeated", OPTION_TEXTS(type, member, JOB_LABELS_MAX, option_parse_label) }
#define OPTION_ROW_TIMEOUT(type, member) \
        { "timeout", 't', "TIME", "Maximum time to wait", OPTION_DURATION(type, member, 0), .initial = "5s" }
#define OPTION_ROW_REPLACE(type, member) \
        { "replace", 0, NULL, "Replace results that were imported before", OPTION_FLAG(type, member) }
#define OPTION_ROW_SPOOL(type, member) \
        { "spool", 0, "DIRECTORY", "Spool for results that perfd cannot accept now", OPTION_TEXT(type, member), .value = OPTION_VALUE_DIRECTORY }
#define OPTION_ROW_OUTPUT(type, member, kind) \
        { "output", 0, "PATH", "Write to this file or directory", OPTION_TEXT(type, member), .value = (kind) }
#define OPTION_ROW_COMPONENT(type, member)                                                                             \
        { "component", 0, "NAME", "Measured component", OPTION_LINE(type, member, COMPONENT_MAX_BYTES) }
#define OPTION_ROW_COMPONENT_VERSION(type, member) \
        { "component-version", 0, "VERSION", "Version of the measured component", OPTION_LINE(type, member, STRING_MAX_BYTES), \
          .parameter = "current" }
#define OPTION_ROW_AS(type, member, program)                                                                           \
        { "as", 0, "PROGRAM", "Use its formulas", OPTION_CHOICE(type, member, program) }
#define OPTION_ROW_USER(type, member) { "user", 'u', "USER", "User, a name or a number", OPTION_TEXT(type, member) }
#define OPTION_ROW_WHERE(type, member, n_max) \
        { "where", 'w', "CONDITION", "Select by KEY=VALUE, or != < <= > >=; may be repeated", \
          OPTION_TEXTS(type, member, n_max, option_parse_condition) }
#define OPTION_ROW_SINCE(type, member)                                                                                 \
        { "since", 0, "TIME", "Select from the last TIME, such as 30d or 12h", OPTION_AGE(type, member) }
#define OPTION_ROW_WATCH(type, member)                                                                                 \
        { "watch", 0, NULL, "Update the display as it changes", OPTION_FLAG(type, member) }
#define OPTION_ROW_INTERVAL(type, member) \
        { "interval", 0, "TIME", "Time between updates or readings, such as 100ms", OPTION_DURATION(type, member, 100 * NS_PER_MS), .initial = "1s" }
#define OPTION_ROW_UPDATES(type, member) { "limit", 0, "N", "Show at most N", OPTION_COUNT(type, member, 1, INT64_MAX) }
#define OPTION_ROW_PRODUCER(type, member) \
        { "producer", 0, "PRODUCER", "Name and version of the library that measured, such as spdl=0.8", OPTION_TEXT(type, member) }
/* The arguments are the second half of the row: OPTION_NAME(), OPTION_CHOICE() or OPTION_LIST(), and a default. */
#define OPTION_ROW_METHOD(...) { "method", 0, "METHOD", "Method of the analysis", __VA_ARGS__ }
#define OPTION_ROW_DIRECTION(...) { "direction", 0, "WHICH", "Which values are better", __VA_ARGS__ }
#define OPTION_ROW_IGNORE(type, member) \
        { "ignore", 0, "KEY,…", "Parameters that may differ in a history", OPTION_LIST(type, member) }
#define OPTION_ROW_ACROSS(...) { "across", 0, "WHAT,…", "Ignore differences in WHAT", __VA_ARGS__ }
#define OPTION_ROW_FORMAT(type, member, first, ...) \
        { "format", 'f', "FORMAT", "Output format", OPTION_CHOICE(type, member, first, __VA_ARGS__), .initial = first }
