/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of the command line
 *
 * One list of options with one meaning each; a command accepts some of them. Names are never
 * abbreviated, so that a new option cannot change what an old script says. An error is a
 * sentence in `error`, with the option that was probably meant.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

typedef enum OptionId {
        OPTION_HELP,
        OPTION_VERSION,
        OPTION_JSON,
        OPTION_NO_COLOR,
        OPTION_SOCKET,
        OPTION_HTTP_SOCKET,
        OPTION_JOB,
        OPTION_TIMEOUT,
        OPTION_SPOOL,
        OPTION_NAME,
        OPTION_LABEL,
        OPTION_RANK,
        OPTION_PID,
        OPTION_UID,
        OPTION_INDICATOR,
        OPTION_VERBOSE,
        OPTION_EXIT_STATUS,
        OPTION_STATE,
        OPTION_LIMIT,
        OPTION_INTERVAL,
        OPTION_COUNT,
        OPTION_ROOT,
        OPTION_ALL_NODES,
        OPTION_RANKS,
        OPTION_NODE,
        OPTION_NODES,
        OPTION_WAIT,
        OPTION_ENCLOSURE,
        OPTION_LATENCIES,
        OPTION_BATCH_LENGTH,
        OPTION_MLFLOW,
        OPTION_NAMES,
        OPTION_PREFIX,
        OPTION_COMPAT,
        OPTION_OUTPUT,
        OPTION_FORMAT,
        OPTION_COMPONENT,
        OPTION_REPEAT,
        OPTION_WARMUP,
        OPTION_ENV,
        OPTION_WHERE,
        OPTION_GROUP_BY,
        OPTION_STAT,
        OPTION_SINCE,
        OPTION_UNTIL,
        OPTION_BY,
        OPTION_OBJECTIVE,
        OPTION_DIRECTION,
        OPTION_CONFIDENCE,
        OPTION_ACROSS,
        OPTION_DIRECTORY,
        OPTION_DRY_RUN,
        OPTION_KEEP_GOING,
        OPTION_RETRY_FAILED,
        OPTION_JOBS,
        OPTION_LAUNCHER,
        OPTION_NODE_LIST,
        OPTION_NO_PERFD,
        OPTION_SPEC,
        OPTION_KEEP,
        OPTION_LIMITS,
        N_OPTIONS,
} OptionId;

/* A bit for each of them, of which there will be more than 64. */
typedef unsigned __int128 OptionSet;
static_assert(N_OPTIONS <= 128, "a set has no room for so many options");

#define OPTION_BIT(id) ((OptionSet)1 << (id))
#define OPTION(id) OPTION_BIT(OPTION_##id)
/* What every command accepts, before its name as well. */
#define OPTIONS_GLOBAL (OPTION(HELP) | OPTION(NO_COLOR) | OPTION(SOCKET) | OPTION(HTTP_SOCKET))

typedef struct OptionInfo {
        const char *name;
        const char *argument; /* "SECONDS"; NULL: takes none */
        const char *help;
        char letter; /* 0: none */
} OptionInfo;

#define OPTION_JOBS_MAX 1024 /* at once */
#define METRIC_PREFIX_MAX 201 /* with NUL; with a name behind it, it is no longer than MLflow's 250 */

extern const OptionInfo option_info[N_OPTIONS];

#define ENV_NAMES_MAX 64U

typedef enum IndicatorMode {
        INDICATOR_AUTO,
        INDICATOR_YES,
        INDICATOR_NO,
} IndicatorMode;

#define OPTION_WHERE_MAX 16U

/* Strings are borrowed from the arguments. */
typedef struct Options {
        OptionSet given;
        const char *socket;
        const char *http_socket;
        const char *job;
        const char *spool;
        const char *root;
        const char *name;
        const char *component; /* of an indicator */
        const char *output; /* file, or directory, to write to */
        const char *launcher;
        const char *spec;   /* file */
        const char *limits; /* not checked */
        const char *node_list; /* names with commas between them */
        uint64_t n_jobs; /* at once; 0: not given */
        bool stops_at_failure;
        const char *format; /* to write; NULL: not given. Which there are, the command knows */
        const char *prefix; /* of the names of metrics */
        const char *labels[JOB_LABELS_MAX]; /* key=value, checked */
        size_t n_labels;
        const char *names[ENV_NAMES_MAX]; /* of environment variables */
        size_t n_names;
        uint64_t repeat, warmup; /* 0: not given */
        int64_t rank;
        int32_t node;
        int32_t n_nodes, n_ranks; /* 0: not given */
        int32_t pid;
        uint32_t uid;
        int32_t exit_status;
        IndicatorMode indicator;
        Enclosure enclosure; /* the best that is tried */
        int state; /* JobState; -1: all */
        uint64_t limit;
        uint64_t count;
        uint64_t batch_length;
        bool has_raw_names; /* of metrics */
        const char *where[OPTION_WHERE_MAX]; /* conditions, checked */
        size_t n_where;
        const char *group_by, *stat, *by, *objective, *direction, *confidence, *across;
        uint64_t since_ns, until_ns; /* before now */
        uint64_t timeout_ns;
        uint64_t interval_ns;
        char **arguments; /* what is no option */
        int n_arguments;
        int n_before_dashes; /* of the arguments, so many were before `--`; -1: there was none */
        char error[256];
} Options;

static inline bool options_has(const Options *options, OptionId id) {
        return options->given & OPTION_BIT(id);
}

enum {
        OPTIONS_WRONG = 1, /* `error` says how */
};

void options_init(Options *options);

/*
 * Takes argv[1…] in, on top of what is there. With stop_early the first word that is no option ends them, else they may
 * stand anywhere before `--`. What is left over is moved to the front of argv (argv[0] is overwritten) and ends with NULL.
 */
int options_parse(Options *options, int argc, char **argv, OptionSet accepted, bool stop_early);
