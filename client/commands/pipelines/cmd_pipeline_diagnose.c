/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/pipeline/rank_series.h"
#include "client/pipeline/stage_changes.h"
#include "client/pipeline/stored_stages.h"
#include "client/pipeline/straggler.h"
#include "client/pipeline/verdict.h"
#include "client/spdl/spdl_stages.h"
#include "document/indicator.h"
#include "json/json.h"
#include "util/parse.h"

typedef struct PipelineDiagnoseOptions {
        const char *producer; /* NULL: not given */
        const char *measure;  /* measure in the files; NULL: statistics of stages */
        uint64_t threads;
        bool json;
} PipelineDiagnoseOptions;

static const Option options_table[] = {
        OPTION_ROW_PRODUCER(PipelineDiagnoseOptions, producer),
        { "threads", 0, "N", "Threads of the pool that the stages share (default: unknown)",
          OPTION_COUNT(PipelineDiagnoseOptions, threads, 0, STAGE_SET_THREADS_MAX) },
        { "measure", 0, "MEASURE", "Measure of each rank in the files",
          OPTION_NAME(PipelineDiagnoseOptions, measure, pipeline_measure_names) },
        OPTION_ROW_JSON(PipelineDiagnoseOptions, json),
        {},
};

/* Before 0.8, SPDL counts an empty queue as ready until the next item arrives. */
static int parse_producer(const CommandLine *line, bool *ret_counts_open_periods) {
        const PipelineDiagnoseOptions *options = line->options;
        const char *text = options->producer ?: "";

        *ret_counts_open_periods = pipeline_report_counts_open_periods(text);
        if (options->producer && (strncmp(text, "spdl=", 5) != 0 || text[5] < '0' || text[5] > '9'))
                return command_refuse(line->command->name, "--producer expects spdl=VERSION such as spdl=0.6, not '%.80s'", text);
        return EXIT_DONE;
}

/* --- output --------------------------------------------------------------------------------------- */

/* Destination: text for a screen, or JSON if it is set. */
typedef struct Output {
        Screen *screen;
        Json *json;
} Output;

/* A file or a job. */
typedef struct DiagnosedSource {
        StageSet stages;
        StageChanges changes; /* within the run; not searched for in a file */
} DiagnosedSource;

static void write_json(const VerdictPipeline *pipeline, const StageChanges *changes, const RankFile *source, Json *json) {
        json_object_begin(json);
        json_put_string(json, source->is_job ? "job" : "file", source->name);
        json_put_uint(json, "pipeline", pipeline->stages[0].pipeline);
        verdict_put_members(pipeline, json);
        if (source->is_job && !changes->is_cut) {
                json_put_array_begin(json, "changes");
                stage_changes_put(changes, pipeline->stages[0].pipeline, json);
                json_array_end(json);
        }
        json_object_end(json);
}

static void write_changes(const StageChanges *changes, unsigned pipeline, Screen *screen) {
        for (size_t i = 0; i < changes->n; i++) {
                scoped(buffer_deinit) Buffer sentence = {};

                if (changes->items[i].stage.pipeline != pipeline)
                        continue;
                stage_changes_describe(&changes->items[i], &sentence);
                screen_text(screen, sentence.text ?: "");
                buffer_putc(screen->out, '\n');
        }
}

static int write_text(const VerdictPipeline *pipeline, const StageChanges *changes, const char *name, Screen *screen) {
        scoped(grid_deinit) Grid grid = {};
        scoped(buffer_deinit) Buffer sentence = {};
        int r;

        screen_text(screen, name);
        buffer_printf(screen->out, ", pipeline %u\n", pipeline->stages[0].pipeline);
        verdict_write_headline(pipeline, &sentence);
        buffer_putc(&sentence, ' ');
        verdict_write_sentence(pipeline, &sentence);
        screen_text(screen, sentence.text ?: "");
        buffer_printf(screen->out, " Confidence: %s.\n", pipeline_confidence_names[pipeline->diagnosis.confidence]);

        grid_init_heads(&grid, VERDICT_HEADS);
        verdict_fill_grid(pipeline, &grid);
        r = grid_write(&grid, screen, true);
        write_changes(changes, pipeline->stages[0].pipeline, screen);
        return buffer_error(&sentence) < 0 ? buffer_error(&sentence) : r;
}

/* Sum over the ranks, each a file or a job. */
typedef struct RankWait {
        double waited_s;
        size_t n_ranks; /* with a known wait */
} RankWait;

static void add_wait(RankWait *wait, const StageSet *stages, unsigned n_threads) {
        double waited_s = 0;
        VerdictPipeline pipeline;
        size_t at = 0;
        bool is_known = false;

        while (verdict_next(stages, n_threads, &at, &pipeline))
                if (!isnan(verdict_waited_s(&pipeline))) {
                        waited_s += verdict_waited_s(&pipeline);
                        is_known = true;
                }
        wait->waited_s += waited_s;
        wait->n_ranks += is_known;
}

static void write_wait(const RankWait *wait, Output *output) {
        if (output->json)
                json_put_double_or_null(output->json, "rank_seconds_waited", wait->n_ranks > 0, wait->waited_s);
        else if (wait->n_ranks > 1)
                buffer_printf(output->screen->out, "\nThe training loops of %zu ranks waited for data for %.3g rank-minutes.\n",
                              wait->n_ranks, wait->waited_s / 60);
}

/* --- files ---------------------------------------------------------------------------------------- */

/* Writes each pipeline of a file. json: NULL for text. */
static int write_pipelines(const CommandLine *line, const DiagnosedSource *diagnosed, const RankFile *source, Screen *screen,
                           Json *json) {
        const PipelineDiagnoseOptions *options = line->options;
        VerdictPipeline pipeline;
        size_t at = 0;
        int r = 0;

        while (r == 0 && verdict_next(&diagnosed->stages, (unsigned)options->threads, &at, &pipeline)) {
                if (json)
                        write_json(&pipeline, &diagnosed->changes, source, json);
                else
                        r = write_text(&pipeline, &diagnosed->changes, source->name, screen);
        }
        if (diagnosed->changes.is_cut)
                message_print("%s has too many intervals to find changes within the run", source->name);
        return r == 0 ? EXIT_DONE : command_fail(r);
}

static int read_file(const char *file, bool counts_open_periods, StageSet *ret) {
        char error[SPDL_FILE_ERROR_MAX];
        size_t n_left_out;
        int r;

        r = spdl_stages_read(ret, file, counts_open_periods, &n_left_out, error);
        if (r < 0)
                return command_fail(r);
        if (r == SPDL_FILE_INVALID) {
                message_print("%s: %s", input_name(file), error);
                return EXIT_FAILED;
        }
        if (n_left_out > 0)
                message_print("%s: left out %zu interval%s with missing values, repeated times or a truncated line", input_name(file),
                              n_left_out, n_left_out == 1 ? "" : "s");
        return EXIT_DONE;
}

/* --- jobs ----------------------------------------------------------------------------------------- */

/* A name that is not a file is the id or name of a job. */
static bool is_job(const char *argument) {
        return strcmp(argument, "-") != 0 && access(argument, F_OK) < 0 && errno == ENOENT &&
               indicator_name_is_valid(argument, JOB_ID_MAX - 1);
}

static int find_changes(const CommandLine *line, const char *job, StageChanges *ret) {
        scoped(api_query_deinit) ApiQuery query = {};
        int r;

        r = api_query_open_job_list(&query, &line->global, job, STAGE_CHANGES_PATH, "intervals", STAGE_CHANGES_INTERVALS_MAX);
        if (r != EXIT_DONE)
                return r;
        r = stage_changes_find(ret, query.answer);
        return r < 0 ? command_fail(r) : EXIT_DONE;
}

static int read_job(const CommandLine *line, const char *job, DiagnosedSource *ret) {
        scoped(api_query_deinit) ApiQuery query = {}, job_query = {};
        int r;

        r = api_query_open_job(&query, &line->global, job, "/pipeline");
        if (r == EXIT_DONE)
                r = api_query_open_job(&job_query, &line->global, job, "");
        if (r != EXIT_DONE)
                return r;
        r = stored_stages_read(query.answer, &ret->stages);
        if (r < 0)
                return command_fail(r);
        stored_stages_join_job(&ret->stages, job_query.answer);
        if (ret->stages.n > 0)
                return find_changes(line, job, &ret->changes);
        message_print("job %s has no statistics of a data pipeline; 'perfctl pipeline submit' sends them", job);
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
        screen_text(output->screen, text.text ?: "");
        buffer_putc(output->screen->out, '\n');
}

static int diagnose_ranks(const char *file, PipelineMeasure measure, Output *output) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(rank_series_deinit) RankSeries series = {};
        Straggler straggler = { .measure = measure, .value = NAN };
        const char *names[RANK_SERIES_PARTS];
        size_t found, turns[RANK_SERIES_PARTS];
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;
        r = rank_series_read(&series, input_name(file), &text);
        if (r < 0)
                return command_fail(r);
        if (r == RANK_SERIES_INVALID) {
                message_print("%s", series.error);
                return EXIT_FAILED;
        }
        straggler.n_ranks = series.n;
        straggler.in_turn = names;
        straggler.n_in_turn = rank_series_find_turns(&series, measure, turns);
        for (size_t i = 0; i < straggler.n_in_turn; i++)
                names[i] = series.names[turns[i]];
        found = pipeline_ranks_straggler(series.means, series.n, measure, &straggler.median);
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

typedef struct Diagnosed {
        DiagnosedSource *sources; /* owned */
        RankFile *files;          /* owned, borrow the stages of the sources */
        size_t n;
} Diagnosed;

static void diagnosed_deinit(Diagnosed *diagnosed) {
        for (size_t i = 0; i < diagnosed->n; i++) {
                stage_set_deinit(&diagnosed->sources[i].stages);
                stage_changes_deinit(&diagnosed->sources[i].changes);
        }
        free(diagnosed->sources);
        free(diagnosed->files);
}

static int read_files(const CommandLine *line, bool counts_open_periods, Diagnosed *ret) {
        size_t n = (size_t)line->n_arguments;
        int r = EXIT_DONE;

        ret->sources = calloc(n, sizeof(*ret->sources));
        ret->files = calloc(n, sizeof(*ret->files));
        if (!ret->sources || !ret->files)
                return command_fail(-ENOMEM);
        for (ret->n = 0; r == EXIT_DONE && ret->n < n; ret->n++) {
                DiagnosedSource *source = &ret->sources[ret->n];
                const char *argument = line->arguments[ret->n];
                bool of_job = is_job(argument);

                r = of_job ? read_job(line, argument, source) : read_file(argument, counts_open_periods, &source->stages);
                ret->files[ret->n] = (RankFile){ of_job ? argument : input_name(argument), of_job, source->stages.stages,
                                                    source->stages.n };
        }
        return r;
}

static int write_diagnoses(const CommandLine *line, const Diagnosed *diagnosed, Output *output) {
        int r = EXIT_DONE;

        for (size_t i = 0; r == EXIT_DONE && i < diagnosed->n; i++) {
                if (!output->json && i > 0)
                        buffer_putc(output->screen->out, '\n');
                r = write_pipelines(line, &diagnosed->sources[i], &diagnosed->files[i], output->screen, output->json);
        }
        return r;
}

static int diagnose_files(const CommandLine *line, Output *output) {
        const PipelineDiagnoseOptions *options = line->options;
        scoped(diagnosed_deinit) Diagnosed diagnosed = {};
        RankWait wait = {};
        bool counts_open_periods;
        int r;

        r = parse_producer(line, &counts_open_periods);
        if (r == EXIT_DONE)
                r = read_files(line, counts_open_periods, &diagnosed);
        if (r == EXIT_DONE && output->json)
                json_put_array_begin(output->json, "pipelines");
        if (r == EXIT_DONE)
                r = write_diagnoses(line, &diagnosed, output);
        if (r != EXIT_DONE)
                return r;
        for (size_t i = 0; i < diagnosed.n; i++)
                add_wait(&wait, &diagnosed.sources[i].stages, (unsigned)options->threads);
        if (output->json)
                json_array_end(output->json);
        write_wait(&wait, output);
        if (output->json)
                json_put_array_begin(output->json, "stragglers");
        r = straggler_find_all(diagnosed.files, diagnosed.n, write_straggler, output);
        return r == 0 ? EXIT_DONE : command_fail(r);
}

static int diagnose_all_ranks(const CommandLine *line, PipelineMeasure measure, Output *output) {
        int r = EXIT_DONE;

        if (output->json)
                json_put_array_begin(output->json, "stragglers");
        for (int i = 0; r == EXIT_DONE && i < line->n_arguments; i++)
                r = diagnose_ranks(line->arguments[i], measure, output);
        return r;
}

static int pipeline_diagnose_run(const CommandLine *line) {
        const PipelineDiagnoseOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };
        Screen screen;
        Output output = { .screen = &screen, .json = options->json ? &json : NULL };
        int r;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (options->json)
                json_object_begin(&json);
        if (options->measure)
                r = diagnose_all_ranks(line, strcmp(options->measure, "time") == 0 ? PIPELINE_MEASURE_TIME : PIPELINE_MEASURE_READINESS,
                                       &output);
        else
                r = diagnose_files(line, &output);
        if (r != EXIT_DONE)
                return r;
        if (options->json) {
                json_array_end(&json);
                json_object_end(&json);
                buffer_putc(&out, '\n');
        }
        return output_print(&out);
}

const Command cmd_pipeline_diagnose = {
        .name = "pipeline diagnose",
        .arguments = "JOB|FILE|-…",
        .summary = "Find the stage that limits a data pipeline",
        .help = "Reads the statistics of the data pipelines of jobs, or of SPDL pipelines from files, exported as JSON or from a log. "
                "Prints how long the training loop waited for data, which stage is the limit, and how the workers of each stage spend "
                "their time. If three or more jobs or files are the ranks of a run, a rank that is clearly slower than the others is "
                "named. A name that is not a file is the id or name of a job. Files do not need perfd.",
        .examples = { "perfctl pipeline diagnose train-17", "perfctl pipeline diagnose stats.json",
                      "perfctl pipeline diagnose --producer spdl=0.8 --threads 12 stats.json",
                      "perfctl pipeline diagnose --producer spdl=0.8 training.log" },
        COMMAND_OPTIONS(PipelineDiagnoseOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = pipeline_diagnose_run,
};
