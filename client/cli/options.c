/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/options.h"

#include <stdio.h>
#include <string.h>

#include "analysis/latency.h"
#include "document/condition.h"
#include "document/indicator.h"
#include "util/clock.h"
#include "util/nearest.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "util/utf8.h"

const OptionInfo option_info[N_OPTIONS] = {
        [OPTION_HELP] = { "help", NULL, "Show this help", 'h' },
        [OPTION_VERSION] = { "version", NULL, "Show the version", 0 },
        [OPTION_JSON] = { "json", NULL, "Print JSON instead of text", 0 },
        [OPTION_NO_COLOR] = { "no-color", NULL, "Print no colours, as with NO_COLOR=1", 0 },
        [OPTION_SOCKET] = { "socket", "PATH", "perfd's socket (/run/perfd/perfd.sock)", 0 },
        [OPTION_HTTP_SOCKET] = { "http-socket", "PATH", "Its HTTP socket (http.sock beside the other)", 0 },
        [OPTION_JOB] = { "job", "ID", "The job's id", 'j' },
        [OPTION_TIMEOUT] = { "timeout", "SECONDS", "How long to try (5)", 't' },
        [OPTION_SPOOL] = { "spool", "DIRECTORY", "Where to keep what perfd cannot take now", 0 },
        [OPTION_NAME] = { "name", "NAME", "Name of the job, or of runs that failed early", 'n' },
        [OPTION_LABEL] = { "label", "KEY=VALUE", "A label of the job; may be repeated", 'l' },
        [OPTION_RANK] = { "rank", "N", "Rank of this process in a parallel run", 'r' },
        [OPTION_PID] = { "pid", "PID", "Process that stands for the job", 0 },
        [OPTION_UID] = { "uid", "UID", "Whose job it is; for root and administrators", 0 },
        [OPTION_INDICATOR] = { "indicator", "WHEN", "Submit what it measured: auto, yes or no", 'i' },
        [OPTION_VERBOSE] = { "verbose", NULL, "Say on stderr what is done", 'v' },
        [OPTION_EXIT_STATUS] = { "exit-status", "N", "How it ended, 0 to 255", 0 },
        [OPTION_STATE] = { "state", "STATE", "Only running, finished or interrupted ones", 0 },
        [OPTION_LIMIT] = { "limit", "N", "At most so many, newest first (50)", 0 },
        [OPTION_INTERVAL] = { "interval", "SECONDS", "Time between two updates (1)", 0 },
        [OPTION_COUNT] = { "count", "N", "End after so many updates", 'c' },
        [OPTION_RANKS] = { "ranks", "N", "How many ranks the run has in all", 0 },
        [OPTION_NODE] = { "node", "I", "Which of the run's nodes this is, from 0", 0 },
        [OPTION_NODES] = { "nodes", "N", "How many nodes the run has", 0 },
        [OPTION_WAIT] = { "wait", NULL, "Wait for all that the command started", 0 },
        [OPTION_ENCLOSURE] = { "enclosure", "KIND", "Best to try: scope, cgroup, subreaper, none", 0 },
        [OPTION_ROOT] = { "root", "DIRECTORY", "Look at the files of another machine, captured there", 0 },
        [OPTION_ALL_NODES] = { "all-nodes", NULL, "Merge reports of a run, printed with --json", 0 },
        [OPTION_LATENCIES] = { "latencies", NULL, "The files hold seconds of a model's batches", 0 },
        [OPTION_BATCH_LENGTH] = { "batch-length", "N", "Queries in each batch (1)", 0 },
        [OPTION_MLFLOW] = { "mlflow", NULL, "Print a JSON list as MLflow takes it", 0 },
        [OPTION_NAMES] = { "names", "WHICH", "Names in the list: sanitised or raw", 0 },
        [OPTION_PREFIX] = { "prefix", "TEXT", "What each name in the list begins with", 0 },
        [OPTION_COMPAT] = { "compat", NULL, "As perf.py reads it: totals since boot", 0 },
        [OPTION_OUTPUT] = { "output", "FILE", "Write to a file instead of standard output", 0 },
        [OPTION_COMPONENT] = { "component", "NAME", "What runs measure that failed early", 0 },
        [OPTION_REPEAT] = { "repeat", "N", "Run it so often, as a batch", 0 },
        [OPTION_WARMUP] = { "warmup", "K", "Run it so often before, and keep nothing of that", 0 },
        [OPTION_ENV] = { "env", "NAME", "Keep a variable with the results; may be repeated", 0 },
        [OPTION_WHERE] = { "where", "KEY=VALUE", "Also != < <= > >=; may be repeated", 'w' },
        [OPTION_GROUP_BY] = { "group-by", "KEY,…", "Parameters, component, version or hardware", 'g' },
        [OPTION_STAT] = { "stat", "STAT:RESULT,…", "As median:rate,p95:elapsed", 's' },
        [OPTION_SINCE] = { "since", "TIME", "Only results of the last TIME, as 30d or 12h", 0 },
        [OPTION_UNTIL] = { "until", "TIME", "Only results from before the last TIME", 0 },
        [OPTION_FORMAT] = { "format", "FORMAT", "schema: json, rdf or sql; query: table, json or csv", 'f' },
        [OPTION_BY] = { "by", "KEY,…", "What is compared (component,version)", 'b' },
        [OPTION_OBJECTIVE] = { "objective", "RESULT", "By which result (overall_score)", 'o' },
        [OPTION_DIRECTION] = { "direction", "WHICH", "Which is better: higher or lower", 0 },
        [OPTION_CONFIDENCE] = { "confidence", "P", "Of the intervals, 0.5 to 0.999 (0.95)", 0 },
        [OPTION_ACROSS] = { "across", "WHAT,…", "Compare all the same what differs in these", 0 },
        [OPTION_DIRECTORY] = { "output", "DIRECTORY", "Where the points' directories go", 0 },
        [OPTION_DRY_RUN] = { "dry-run", NULL, "Only list the points", 0 },
        [OPTION_KEEP_GOING] = { "keep-going", "WHEN", "After a point that failed: yes or no (yes)", 0 },
        [OPTION_RETRY_FAILED] = { "retry-failed", NULL, "Run recorded points that failed again", 0 },
        [OPTION_JOBS] = { "jobs", "N", "Points at once (1, or one for each node)", 0 },
        [OPTION_LAUNCHER] = { "launcher", "WORDS", "What starts a command: 'srun -N1 -w {node}'", 0 },
        [OPTION_NODE_LIST] = { "nodes", "A,B,C", "What {node} stands for, in turn", 0 },
        [OPTION_NO_PERFD] = { "no-perfd", NULL, "Make no jobs of the points", 0 },
        [OPTION_SPEC] = { "spec", "FILE", "Run the script of an Amun specification", 0 },
        [OPTION_KEEP] = { "keep", NULL, "Keep the directory that --spec made", 0 },
        [OPTION_LIMITS] = { "limits", "LIST", "Of its control group: cpu=500m,memory=4Gi", 0 },
};

void options_init(Options *options) {
        *options = (Options){
                .rank = -1,
                .node = -1,
                .enclosure = ENCLOSURE_SCOPE,
                .state = -1,
                .limit = 50,
                .timeout_ns = 5 * NS_PER_S,
                .interval_ns = NS_PER_S,
        };
}

/* --- values --------------------------------------------------------------------------------------- */

static int wrong(Options *options, OptionId id, const char *value, const char *expected) {
        snprintf(options->error, sizeof(options->error), "--%s expects %s, not '%.80s'", option_info[id].name, expected, value);
        return OPTIONS_WRONG;
}

static int parse_number(Options *options, OptionId id, const char *value, uint64_t min, uint64_t max, uint64_t *ret) {
        char expected[64];
        uint64_t v;

        if (parse_u64(value, &v) == 0 && v >= min && v <= max) {
                *ret = v;
                return 0;
        }

        if (max == INT64_MAX)
                snprintf(expected, sizeof(expected), "a number from %ju", (uintmax_t)min);
        else
                snprintf(expected, sizeof(expected), "a number from %ju to %ju", (uintmax_t)min, (uintmax_t)max);
        return wrong(options, id, value, expected);
}

static int parse_time(Options *options, OptionId id, const char *value, uint64_t min_ns, uint64_t *ret) {
        uint64_t ns;

        if (parse_duration_ns(value, &ns) != 0 || ns < min_ns)
                return wrong(options, id, value, min_ns > 0 ? "a time of at least 100ms such as 5, 0.5 or 250ms" :
                                                              "a time such as 5, 0.5 or 250ms");

        *ret = ns;
        return 0;
}

static int parse_indicator_mode(Options *options, const char *value) {
        static const char *const words[] = { "auto", "yes", "no" };

        for (unsigned i = 0; i < N_ELEMENTS(words); i++) {
                if (strcmp(value, words[i]) == 0) {
                        options->indicator = (IndicatorMode)i;
                        return 0;
                }
        }

        return wrong(options, OPTION_INDICATOR, value, "auto, yes or no");
}

static int parse_names(Options *options, const char *value) {
        if (strcmp(value, "raw") != 0 && strcmp(value, "sanitised") != 0)
                return wrong(options, OPTION_NAMES, value, "sanitised or raw");

        options->has_raw_names = strcmp(value, "raw") == 0;
        return 0;
}

static int parse_keep_going(Options *options, const char *value) {
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
                return wrong(options, OPTION_KEEP_GOING, value, "yes or no");

        options->stops_at_failure = strcmp(value, "no") == 0;
        return 0;
}

static int parse_state(Options *options, const char *value) {
        int state = job_state_find(value);

        if (state < 0)
                return wrong(options, OPTION_STATE, value, "running, finished or interrupted");

        options->state = state;
        return 0;
}

static int parse_enclosure(Options *options, const char *value) {
        int enclosure = enclosure_find(value);

        if (enclosure < 0 || enclosure == ENCLOSURE_FOUND)
                return wrong(options, OPTION_ENCLOSURE, value, "scope, cgroup, subreaper or none");

        options->enclosure = (Enclosure)enclosure;
        return 0;
}

static int parse_text(Options *options, OptionId id, const char *value, size_t n_max, const char **ret) {
        if (strlen(value) >= n_max) {
                snprintf(options->error, sizeof(options->error), "--%s is longer than %zu bytes", option_info[id].name, n_max - 1);
                return OPTIONS_WRONG;
        }
        if (!utf8_is_line(value))
                return wrong(options, id, value, "UTF-8 without control characters");

        *ret = value;
        return 0;
}

static int parse_job(Options *options, const char *value) {
        if (!name_is_valid(value, JOB_ID_MAX - 1))
                return wrong(options, OPTION_JOB, value, "1 to 128 characters of [A-Za-z0-9_.:-]");

        options->job = value;
        return 0;
}

static int parse_env(Options *options, const char *value) {
        if (!value[0] || strchr(value, '=') || strlen(value) > 256 || !utf8_is_line(value))
                return wrong(options, OPTION_ENV, value, "the name of a variable");
        for (size_t i = 0; i < options->n_names; i++)
                if (strcmp(options->names[i], value) == 0)
                        return 0;
        if (options->n_names == ENV_NAMES_MAX) {
                snprintf(options->error, sizeof(options->error), "--env can be given for %u variables", ENV_NAMES_MAX);
                return OPTIONS_WRONG;
        }

        options->names[options->n_names++] = value;
        return 0;
}

static int parse_label(Options *options, const char *value) {
        const JobLabel *limits = NULL;
        const char *equals = strchr(value, '=');
        char key[sizeof(limits->key)];
        size_t n = equals ? (size_t)(equals - value) : 0;

        if (n == 0 || n >= sizeof(key) || strlen(equals + 1) >= sizeof(limits->value))
                return wrong(options, OPTION_LABEL, value, "KEY=VALUE with up to 64 and 256 bytes");

        memcpy(key, value, n);
        key[n] = '\0';
        if (!name_is_valid(key, sizeof(key) - 1))
                return wrong(options, OPTION_LABEL, value, "a KEY of [A-Za-z0-9_.:-]");
        if (!utf8_is_line(equals + 1))
                return wrong(options, OPTION_LABEL, value, "a VALUE of UTF-8 without control characters");
        for (size_t i = 0; i < options->n_labels; i++)
                if (strncmp(options->labels[i], value, n + 1) == 0)
                        return wrong(options, OPTION_LABEL, value, "each KEY once");
        if (options->n_labels == JOB_LABELS_MAX) {
                snprintf(options->error, sizeof(options->error), "A job can have %u labels", JOB_LABELS_MAX);
                return OPTIONS_WRONG;
        }

        options->labels[options->n_labels++] = value;
        return 0;
}

static int parse_i32(Options *options, OptionId id, const char *value, uint64_t min, uint64_t max, int32_t *ret) {
        uint64_t v;
        int r;

        r = parse_number(options, id, value, min, max, &v);
        if (r == 0)
                *ret = (int32_t)v;
        return r;
}

static int parse_rank(Options *options, const char *value) {
        uint64_t v;
        int r;

        r = parse_number(options, OPTION_RANK, value, 0, INT64_MAX, &v);
        if (r == 0)
                options->rank = (int64_t)v;
        return r;
}

/* The largest is nobody to the kernel. */
static int parse_uid(Options *options, const char *value) {
        uint64_t v;
        int r;

        r = parse_number(options, OPTION_UID, value, 0, UINT32_MAX - 1, &v);
        if (r == 0)
                options->uid = (uint32_t)v;
        return r;
}

static int parse_where(Options *options, const char *value) {
        Condition condition;

        if (options->n_where == OPTION_WHERE_MAX) {
                snprintf(options->error, sizeof(options->error), "--where can be given %u times", OPTION_WHERE_MAX);
                return OPTIONS_WRONG;
        }
        switch (condition_parse(value, &condition)) {
        case CONDITION_MALFORMED:
                return wrong(options, OPTION_WHERE, value, "KEY=VALUE, or with != < <= > >=");
        case CONDITION_NOT_A_NUMBER:
                return wrong(options, OPTION_WHERE, value, "a number after < and >");
        }

        options->where[options->n_where++] = value;
        return 0;
}

static int parse_direction(Options *options, const char *value) {
        if (strcmp(value, "higher") != 0 && strcmp(value, "lower") != 0)
                return wrong(options, OPTION_DIRECTION, value, "higher or lower");

        options->direction = value;
        return 0;
}

static int parse_ago(Options *options, OptionId id, const char *value, uint64_t *ret_ns) {
        if (parse_duration_ns(value, ret_ns) != 0)
                return wrong(options, id, value, "a time such as 30d, 12h or 90min");
        return 0;
}

/* Where a text goes that is taken as it is; NULL: the option is checked, or has none. */
static const char **plain_text(Options *options, OptionId id) {
        const struct {
                OptionId id;
                const char **text;
        } texts[] = {
                { OPTION_SOCKET, &options->socket },
                { OPTION_HTTP_SOCKET, &options->http_socket },
                { OPTION_SPOOL, &options->spool },
                { OPTION_ROOT, &options->root },
                { OPTION_OUTPUT, &options->output },
                { OPTION_DIRECTORY, &options->output },
                { OPTION_LAUNCHER, &options->launcher },
                { OPTION_SPEC, &options->spec },
                { OPTION_LIMITS, &options->limits },
                { OPTION_NODE_LIST, &options->node_list },
                { OPTION_GROUP_BY, &options->group_by },
                { OPTION_STAT, &options->stat },
                { OPTION_BY, &options->by },
                { OPTION_OBJECTIVE, &options->objective },
                { OPTION_CONFIDENCE, &options->confidence },
                { OPTION_ACROSS, &options->across },
                { OPTION_FORMAT, &options->format },
        };

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (texts[i].id == id)
                        return texts[i].text;
        return NULL;
}

static int take_value(Options *options, OptionId id, const char *value) {
        const char **text = plain_text(options, id);

        if (text) {
                *text = value;
                return 0;
        }

        switch (id) {
        case OPTION_JOB:
                return parse_job(options, value);
        case OPTION_TIMEOUT:
                return parse_time(options, id, value, 0, &options->timeout_ns);
        case OPTION_NAME:
                return parse_text(options, id, value, JOB_TEXT_MAX, &options->name);
        case OPTION_REPEAT:
                return parse_number(options, id, value, 1, 100000, &options->repeat);
        case OPTION_WARMUP:
                return parse_number(options, id, value, 0, 100000, &options->warmup);
        case OPTION_ENV:
                return parse_env(options, value);
        case OPTION_COMPONENT:
                return parse_text(options, id, value, COMPONENT_MAX_BYTES + 1, &options->component);
        case OPTION_LABEL:
                return parse_label(options, value);
        case OPTION_RANK:
                return parse_rank(options, value);
        case OPTION_RANKS:
                return parse_i32(options, id, value, 1, INT32_MAX, &options->n_ranks);
        case OPTION_NODE:
                return parse_i32(options, id, value, 0, INT32_MAX - 1, &options->node);
        case OPTION_NODES:
                return parse_i32(options, id, value, 1, INT32_MAX, &options->n_nodes);
        case OPTION_PID:
                return parse_i32(options, id, value, 1, INT32_MAX, &options->pid);
        case OPTION_UID:
                return parse_uid(options, value);
        case OPTION_INDICATOR:
                return parse_indicator_mode(options, value);
        case OPTION_ENCLOSURE:
                return parse_enclosure(options, value);
        case OPTION_EXIT_STATUS:
                return parse_i32(options, id, value, 0, 255, &options->exit_status);
        case OPTION_STATE:
                return parse_state(options, value);
        case OPTION_LIMIT:
                return parse_number(options, id, value, 1, 1000, &options->limit);
        case OPTION_INTERVAL:
                return parse_time(options, id, value, 100 * NS_PER_MS, &options->interval_ns);
        case OPTION_COUNT:
                return parse_number(options, id, value, 1, INT64_MAX, &options->count);
        case OPTION_BATCH_LENGTH:
                return parse_number(options, id, value, 1, LATENCY_LENGTH_MAX, &options->batch_length);
        case OPTION_KEEP_GOING:
                return parse_keep_going(options, value);
        case OPTION_JOBS:
                return parse_number(options, id, value, 1, OPTION_JOBS_MAX, &options->n_jobs);
        case OPTION_NAMES:
                return parse_names(options, value);
        case OPTION_PREFIX:
                return parse_text(options, id, value, METRIC_PREFIX_MAX, &options->prefix);
        case OPTION_WHERE:
                return parse_where(options, value);
        case OPTION_SINCE:
                return parse_ago(options, id, value, &options->since_ns);
        case OPTION_UNTIL:
                return parse_ago(options, id, value, &options->until_ns);
        case OPTION_DIRECTION:
                return parse_direction(options, value);
        default: /* those without a value */
                return 0;
        }
}

/* --- words ---------------------------------------------------------------------------------------- */

/*
 * Not getopt_long(3): it takes any unambiguous beginning for an option, and does not tell which word
 * it disliked.
 */
typedef struct Words {
        char **words;
        int n, at;
        OptionSet accepted;
} Words;

static int find_long(OptionSet accepted, const char *name, size_t n) {
        for (unsigned id = 0; id < N_OPTIONS; id++)
                if (accepted & OPTION_BIT(id) && strlen(option_info[id].name) == n && strncmp(name, option_info[id].name, n) == 0)
                        return (int)id;

        return -1;
}

static int find_letter(OptionSet accepted, char letter) {
        for (unsigned id = 0; id < N_OPTIONS; id++)
                if (accepted & OPTION_BIT(id) && option_info[id].letter == letter)
                        return (int)id;

        return -1;
}

static int unknown(Options *options, OptionSet accepted, const char *word, size_t n_word) {
        const char *names[N_OPTIONS], *nearest = NULL;
        char name[NEAREST_WORD_MAX + 1] = "";
        size_t n = 0;

        for (unsigned id = 0; id < N_OPTIONS; id++)
                if (accepted & OPTION_BIT(id))
                        names[n++] = option_info[id].name;

        if (n_word > 2 && n_word - 2 < sizeof(name)) {
                memcpy(name, word + 2, n_word - 2);
                nearest = words_nearest(name, names, n);
        }

        snprintf(options->error, sizeof(options->error), "There is no option '%.*s' here%s%s%s", n_word < 60 ? (int)n_word : 60, word,
                 nearest ? ". Did you mean '--" : "", nearest ? nearest : "", nearest ? "'?" : "");
        return OPTIONS_WRONG;
}

/* `value`: what was glued to the option, or NULL for the next word. */
static int take_one(Options *options, Words *words, OptionId id, const char *value) {
        const OptionInfo *info = &option_info[id];
        int r;

        if (info->argument && !value && words->at < words->n)
                value = words->words[words->at++];
        if (info->argument && !value) {
                snprintf(options->error, sizeof(options->error), "--%s needs an argument: --%s %s", info->name, info->name, info->argument);
                return OPTIONS_WRONG;
        }
        if (!info->argument && value) {
                snprintf(options->error, sizeof(options->error), "--%s takes no argument", info->name);
                return OPTIONS_WRONG;
        }

        r = take_value(options, id, value);
        if (r == 0)
                options->given |= OPTION_BIT(id);
        return r;
}

/* --name, --name=value */
static int take_long(Options *options, Words *words, const char *word) {
        size_t n = strcspn(word, "=");
        int id = find_long(words->accepted, word + 2, n - 2);

        if (id < 0)
                return unknown(options, words->accepted, word, n);

        return take_one(options, words, (OptionId)id, word[n] == '=' ? word + n + 1 : NULL);
}

/* -x, -xvalue, -xyz */
static int take_letters(Options *options, Words *words, const char *word) {
        int id, r;

        for (const char *letter = word + 1; *letter; letter++) {
                id = find_letter(words->accepted, *letter);
                if (id < 0)
                        return unknown(options, words->accepted, (char[]){ '-', *letter, '\0' }, 2);
                if (option_info[id].argument)
                        return take_one(options, words, (OptionId)id, letter[1] ? letter + 1 : NULL);

                r = take_one(options, words, (OptionId)id, NULL);
                if (r != 0)
                        return r;
        }

        return 0;
}

/* `which` counts from 0; `all` is 0 when it is not given. */
static int check_place(Options *options, OptionId id, int64_t which, OptionId id_all, int32_t all) {
        if (all == 0 || which < all)
                return 0;

        snprintf(options->error, sizeof(options->error), "--%s %jd is none of --%s %d: they are 0 to %d", option_info[id].name,
                 (intmax_t)which, option_info[id_all].name, all, all - 1);
        return OPTIONS_WRONG;
}

static int check_together(Options *options) {
        int r;

        r = check_place(options, OPTION_RANK, options->rank, OPTION_RANKS, options->n_ranks);
        return r == 0 ? check_place(options, OPTION_NODE, options->node, OPTION_NODES, options->n_nodes) : r;
}

/* What is no option moves to the front of argv, which the options have left free. */
int options_parse(Options *options, int argc, char **argv, OptionSet accepted, bool stop_early) {
        Words words = { .words = argv, .n = argc, .at = 1, .accepted = accepted };
        int n_arguments = 0, r;

        options->n_before_dashes = -1;
        while (words.at < argc) {
                char *word = argv[words.at++];

                if (strcmp(word, "--") == 0) {
                        options->n_before_dashes = n_arguments;
                        break;
                }
                if (word[0] == '-' && word[1] != '\0') {
                        r = word[1] == '-' ? take_long(options, &words, word) : take_letters(options, &words, word);
                        if (r != 0)
                                return r;
                        continue;
                }
                if (stop_early) {
                        words.at--;
                        break;
                }
                argv[n_arguments++] = word;
        }

        while (words.at < argc)
                argv[n_arguments++] = argv[words.at++];

        argv[n_arguments] = NULL;
        options->arguments = argv;
        options->n_arguments = n_arguments;
        return check_together(options);
}
