/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/api/api_query.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/pipeline/pipeline_line.h"
#include "client/pipeline/verdict_text.h"
#include "document/indicator.h"
#include "json/json.h"
#include "pipeline/pipeline_verdict.h"
#include "pipeline/straggler.h"
#include "text/text.h"
#include "util/clock.h"
#include "value/value_parse.h"

typedef struct PipelineShowOptions {
        const char *producer; /* NULL: not given */
        const char *measure;  /* measure in the files; NULL: statistics of stages */
        uint64_t threads, interval_ns;
        bool json, stages, watch;
} PipelineShowOptions;

/* Before 0.8, SPDL counts an empty queue as ready until the next item arrives. */
static int parse_producer(const CommandLine *line, bool *ret_counts_open_periods) {
        const PipelineShowOptions *options = line->options;
        const char *text = options->producer ?: "";

        *ret_counts_open_periods = pipeline_report_counts_open_periods(text);
        if (options->producer && (strncmp(text, "spdl=", 5) != 0 || text[5] < '0' || text[5] > '9'))
                return command_refuse(line->command->name,
                                      "--producer expects spdl=VERSION such as spdl=0.6, not '%.80s'", text);
        return EXIT_DONE;
}

/* --- output --------------------------------------------------------------------------------------- */

/* Destination: text for a screen, or JSON if it is set. */
typedef struct Output {
        Screen *screen;
        Json *json;
} Output;

/* A file or a job. */
typedef struct PipelineSource {
        char job[JOB_ID_MAX]; /* id; "": a file */
        bool is_running;
        ApiQuery query;        /* of a job: owns the verdicts */
        Arena arena;           /* of a file: owns the verdicts */
        const Value *verdicts; /* list; NULL: not known */
} PipelineSource;

static size_t n_verdicts(const PipelineSource *source) {
        return source->verdicts && source->verdicts->type == VALUE_LIST ? source->verdicts->n_items : 0;
}

static void write_json(const Value *verdict, const PipelineSource *source, const char *name, Json *json) {
        json_object_begin(json);
        json_put_string(json, source->job[0] ? "job" : "file", name);
        for (size_t i = 0; i < verdict->n_members; i++)
                value_put_json(&verdict->members[i].value, verdict->members[i].key, json);
        json_object_end(json);
}

static int write_text(const CommandLine *line, const Value *verdict, const char *name, Screen *screen) {
        const PipelineShowOptions *options = line->options;
        int64_t number = 0;

        screen_text(screen, name);
        (void)value_get_int(verdict, "pipeline", &number);
        buffer_printf(screen->out, ", pipeline %jd\n", (intmax_t)number);
        return verdict_text_write(verdict, options->stages, 0, screen);
}

/* Sum over the ranks, each a file or a job. */
typedef struct RankWait {
        double waited_s;
        size_t n_ranks; /* with a known wait */
} RankWait;

static void add_wait(RankWait *wait, const PipelineSource *source) {
        double seconds;
        bool is_known = false;

        for (size_t i = 0; i < n_verdicts(source); i++)
                if (value_get_double(&source->verdicts->items[i], "waited_seconds", &seconds)) {
                        wait->waited_s += seconds;
                        is_known = true;
                }
        wait->n_ranks += is_known;
}

static void write_wait(const RankWait *wait, Output *output) {
        char minutes[TEXT_MAX];

        text_number(wait->waited_s / 60, minutes);
        if (output->json)
                json_put_double_or_null(output->json, "rank_seconds_waited", wait->n_ranks > 0, wait->waited_s);
        else if (wait->n_ranks > 1)
                buffer_printf(output->screen->out,
                              "\nThe training loops of %zu ranks waited for data for %s rank-minutes.\n",
                              wait->n_ranks, minutes);
}

/* --- files ---------------------------------------------------------------------------------------- */

/* Writes each pipeline of a file or job. json: NULL for text. */
static int write_pipelines(const CommandLine *line, const PipelineSource *source, const char *name, Screen *screen,
                           Json *json) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_verdicts(source); i++) {
                const Value *verdict = &source->verdicts->items[i];
                const Value *changes = value_get(verdict, "changes");

                if (json)
                        write_json(verdict, source, name, json);
                else
                        r = write_text(line, verdict, name, screen);
                if (i == 0 && changes && changes->type == VALUE_NULL)
                        message_print("%s has too many intervals to find changes within the run", name);
        }
        if (!json && n_verdicts(source) == 0)
                buffer_printf(screen->out, "job %s has no statistics of a data pipeline yet\n", name);
        return r == 0 ? EXIT_DONE : command_fail(r);
}

/* Makes the verdicts of a file as perfd makes those of a job. */
static int judge(const PipelineSet *set, unsigned n_threads, PipelineSource *ret) {
        scoped(buffer_deinit) Buffer text = {};
        Json json = { .out = &text };
        PipelineVerdict verdict;
        ValueError error;
        size_t at = 0;

        json_array_begin(&json);
        while (pipeline_verdict_next(set, n_threads, &at, &verdict)) {
                json_object_begin(&json);
                pipeline_verdict_put(&verdict, &json);
                json_object_end(&json);
        }
        json_array_end(&json);
        if (buffer_error(&text) < 0 || value_parse_only(text.text, text.n, &ret->arena, &ret->verdicts, &error) != 0)
                return command_fail(-ENOMEM);
        return EXIT_DONE;
}

static int read_file(const char *file, bool counts_open_periods, unsigned n_threads, PipelineSource *ret) {
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};
        char error[PIPELINE_LINE_ERROR_MAX], place[16] = "";
        unsigned column;
        size_t n_line;
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;
        r = pipeline_line_read_stages(&set, &text, counts_open_periods, &n_line, &column, error);
        if (r < 0)
                return command_fail(r);
        if (r == PIPELINE_LINE_INVALID && column > 0)
                (void)snprintf(place, sizeof(place), ":%u", column);
        if (r == PIPELINE_LINE_INVALID)
                message_print("%s:%zu%s: %s; 'python3 -m perfd_spdl import' writes such lines from files of SPDL",
                              input_name(file), n_line, place, error);
        return r == 0 ? judge(&set, n_threads, ret) : EXIT_FAILED;
}

/* --- jobs ----------------------------------------------------------------------------------------- */

/* A name that is not a file is the id or name of a job. */
static bool is_job(const char *argument) {
        return strcmp(argument, "-") != 0 && access(argument, F_OK) < 0 && errno == ENOENT &&
               indicator_name_is_valid(argument, JOB_ID_MAX - 1);
}

/* job: NULL for $PERFD_JOB, else the newest of this user. A job that is watched may not have statistics yet. */
static int read_job(const CommandLine *line, const char *job, PipelineSource *ret) {
        const PipelineShowOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery job_query = {};
        char below[64];
        int r;

        r = api_query_open_job(&job_query, &line->global, job, "");
        if (r != EXIT_DONE)
                return r;
        (void)stpncpy(ret->job, value_get_string(job_query.answer, "id") ?: "", sizeof(ret->job) - 1);
        ret->is_running = strcmp(value_get_string(job_query.answer, "state") ?: "", "running") == 0;
        (void)snprintf(below, sizeof(below), "/pipeline?threads=%u&changes=%d", (unsigned)options->threads,
                       !(options->watch && ret->is_running));
        r = api_query_open_job(&ret->query, &line->global, ret->job, below);
        if (r != EXIT_DONE)
                return r;
        ret->verdicts = value_get(ret->query.answer, "verdicts");
        if (!ret->verdicts)
                message_print("this perfd is older than perfctl and answers without verdicts; update it");
        else if (n_verdicts(ret) == 0 && !(options->watch && ret->is_running))
                message_print("job %s has no statistics of a data pipeline; 'perfctl pipeline submit' sends them",
                              ret->job);
        else
                return EXIT_DONE;
        return EXIT_FAILED;
}

/* --- ranks ---------------------------------------------------------------------------------------- */

static void write_straggler(const Straggler *straggler, void *userdata) {
        Output *output = userdata;
        scoped(buffer_deinit) Buffer text = {};

        if (output->json) {
                straggler_put_json(straggler, output->json);
                return;
        }
        straggler_put(straggler, &text);
        screen_wrap(output->screen, text.text ?: "", 0);
}

static int show_ranks(const char *file, StragglerMeasure measure, Output *output) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(straggler_series_deinit) RankSeries series = {};
        Straggler straggler = { .measure = measure, .value = NAN };
        const char *names[STRAGGLER_SERIES_PARTS];
        size_t found, turns[STRAGGLER_SERIES_PARTS];
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;
        r = straggler_series_read(&series, input_name(file), &text);
        if (r < 0)
                return command_fail(r);
        if (r == STRAGGLER_SERIES_INVALID) {
                message_print("%s", series.error);
                return EXIT_FAILED;
        }
        straggler.n_ranks = series.n;
        straggler.in_turn = names;
        straggler.n_in_turn = straggler_series_find_turns(&series, measure, turns);
        for (size_t i = 0; i < straggler.n_in_turn; i++)
                names[i] = series.names[turns[i]];
        found = straggler_find(series.means, series.n, measure, &straggler.median);
        if (found < series.n) {
                straggler.name = series.names[found];
                straggler.value = series.means[found];
        }
        if (found < series.n || straggler.n_in_turn > 0)
                write_straggler(&straggler, output);
        else if (!output->json)
                buffer_printf(output->screen->out, "None of the %zu ranks is a straggler.\n", series.n);
        return EXIT_DONE;
}

/* --- the command ---------------------------------------------------------------------------------- */

/* The job that --watch shows, which stays the same if others begin. */
typedef struct WatchedJob {
        char id[JOB_ID_MAX]; /* "": not known yet */
        bool is_running;
} WatchedJob;

typedef struct PipelineSources {
        PipelineSource *items;   /* owned */
        RankFile *files; /* owned, borrow names and stages of the items */
        size_t n;
} PipelineSources;

static void sources_deinit(PipelineSources *sources) {
        for (size_t i = 0; i < sources->n; i++) {
                api_query_deinit(&sources->items[i].query);
                arena_deinit(&sources->items[i].arena);
        }
        free(sources->items);
        free(sources->files);
}

static int read_sources(const CommandLine *line, const WatchedJob *watched, bool counts_open_periods,
                        PipelineSources *ret) {
        const PipelineShowOptions *options = line->options;
        size_t n = line->n_arguments > 0 ? (size_t)line->n_arguments : 1;
        int r = EXIT_DONE;

        ret->items = calloc(n, sizeof(*ret->items));
        ret->files = calloc(n, sizeof(*ret->files));
        if (!ret->items || !ret->files)
                return command_fail(-ENOMEM);
        for (ret->n = 0; r == EXIT_DONE && ret->n < n; ret->n++) {
                PipelineSource *source = &ret->items[ret->n];
                const char *argument = watched->id[0]          ? watched->id
                                       : line->n_arguments > 0 ? line->arguments[ret->n]
                                                               : NULL;
                bool of_job = watched->id[0] || !argument || is_job(argument);

                r = of_job ? read_job(line, argument, source)
                           : read_file(argument, counts_open_periods, (unsigned)options->threads, source);
                ret->files[ret->n] = (RankFile){ of_job ? source->job : input_name(argument), source->verdicts };
        }
        return r;
}

static int write_sources(const CommandLine *line, const PipelineSources *sources, Output *output) {
        int r = EXIT_DONE;

        for (size_t i = 0; r == EXIT_DONE && i < sources->n; i++) {
                if (!output->json && i > 0)
                        buffer_putc(output->screen->out, '\n');
                r = write_pipelines(line, &sources->items[i], sources->files[i].name, output->screen, output->json);
        }
        return r;
}

static int show_sources(const CommandLine *line, Output *output, WatchedJob *watched) {
        const PipelineShowOptions *options = line->options;
        scoped(sources_deinit) PipelineSources sources = {};
        RankWait wait = {};
        bool counts_open_periods;
        int r;

        r = parse_producer(line, &counts_open_periods);
        if (r == EXIT_DONE)
                r = read_sources(line, watched, counts_open_periods, &sources);
        if (r == EXIT_DONE && output->json)
                json_put_array_begin(output->json, "pipelines");
        if (r == EXIT_DONE)
                r = write_sources(line, &sources, output);
        if (r != EXIT_DONE)
                return r;
        if (options->watch) {
                watched->is_running = sources.items[0].is_running;
                (void)stpcpy(watched->id, sources.items[0].job);
        }
        if (!output->json && (options->stages || n_verdicts(&sources.items[0]) == 0))
                return EXIT_DONE;

        for (size_t i = 0; i < sources.n; i++)
                add_wait(&wait, &sources.items[i]);
        if (output->json)
                json_array_end(output->json);
        write_wait(&wait, output);
        if (output->json)
                json_put_array_begin(output->json, "stragglers");
        r = straggler_find_all(sources.files, sources.n, write_straggler, output);
        return r == 0 ? EXIT_DONE : command_fail(r);
}

static int show_all_ranks(const CommandLine *line, StragglerMeasure measure, Output *output) {
        int r = EXIT_DONE;

        if (output->json)
                json_put_array_begin(output->json, "stragglers");
        for (int i = 0; r == EXIT_DONE && i < line->n_arguments; i++)
                r = show_ranks(line->arguments[i], measure, output);
        return r;
}

static int show_once(const CommandLine *line, WatchedJob *watched) {
        const PipelineShowOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };
        Screen screen;
        Output output = { .screen = &screen, .json = options->json ? &json : NULL };
        int r;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (options->watch && screen.can_move)
                buffer_puts(&out, "\x1b[H\x1b[J");
        if (options->json)
                json_object_begin(&json);
        if (options->measure)
                r = show_all_ranks(line,
                                   strcmp(options->measure, "time") == 0 ? STRAGGLER_MEASURE_TIME
                                                                         : STRAGGLER_MEASURE_READINESS,
                                   &output);
        else
                r = show_sources(line, &output, watched);
        if (r != EXIT_DONE)
                return r;
        if (options->json) {
                json_array_end(&json);
                json_object_end(&json);
                buffer_putc(&out, '\n');
        }
        return output_print(&out);
}

static int check_options(const CommandLine *line) {
        const PipelineShowOptions *options = line->options;

        if (options->measure && line->n_arguments == 0)
                return command_refuse(line->command->name, "--measure expects a file");
        if (options->watch &&
            (options->measure || line->n_arguments > 1 || (line->n_arguments == 1 && !is_job(line->arguments[0]))))
                return command_refuse(line->command->name, "--watch expects a job");
        return EXIT_DONE;
}

static int pipeline_show_run(const CommandLine *line) {
        const PipelineShowOptions *options = line->options;
        const struct timespec interval = { (time_t)(options->interval_ns / NS_PER_S),
                                           (long)(options->interval_ns % NS_PER_S) };
        WatchedJob watched = {};
        int r = check_options(line);

        if (r != EXIT_DONE)
                return r;
        while ((r = show_once(line, &watched)) == EXIT_DONE && watched.is_running)
                (void)nanosleep(&interval, NULL);
        return r;
}

const Command cmd_pipeline_show = {
        .name = "pipeline show",
        .arguments = "[JOB|FILE|-]…",
        .summary = "Show what limits a data pipeline, and its stages",
        .help = "Reads the statistics of the data pipelines of jobs, or of files with lines of 'perfctl pipeline "
                "submit'. Prints how long the training loop waited for data, which stage is the limit, and how the "
                "workers of each stage spend their time. If three or more jobs or files are the ranks of a run, a "
                "rank that is clearly slower than the others is named. A name that is not a file is the id or name "
                "of a job; default: $PERFD_JOB, else the newest job of this user. Files do not need perfd.",
        .examples = { "perfctl pipeline show train-17", "perfctl pipeline show --watch",
                      "perfctl pipeline show --producer spdl=0.8 --threads 12 stats.jsonl",
                      "python3 -m perfd_spdl import log | perfctl pipeline show --producer spdl=0.8 -" },
        COMMAND_OPTION_ROWS(PipelineShowOptions,
                { "stages", 0, NULL, "Print only the table of the stages", OPTION_FLAG(PipelineShowOptions, stages) },
                OPTION_ROW_WATCH(PipelineShowOptions, watch),
                OPTION_ROW_INTERVAL(PipelineShowOptions, interval_ns),
                OPTION_ROW_PRODUCER(PipelineShowOptions, producer),
                { "threads", 0, "N", "Threads of the pool that the stages share (default: unknown)",
                  OPTION_COUNT(PipelineShowOptions, threads, 0, PIPELINE_SET_THREADS_MAX) },
                { "measure", 0, "MEASURE", "Measure of each rank in the files",
                  OPTION_NAME(PipelineShowOptions, measure, straggler_measure_names) },
                OPTION_ROW_JSON(PipelineShowOptions, json)),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_JOB,
        .run = pipeline_show_run,
};
